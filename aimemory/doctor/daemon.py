"""The daemon as it answers: version, parts, what it reports itself."""

from collections.abc import Iterator
from datetime import datetime

from aimemory.doctor.finding import Finding, Level, Situation

_LAG_LINES = 5_000
_CLOCK_S = 120
_DOING = ("running", "starting")


def check_daemon(situation: Situation) -> Iterator[Finding]:
    status = situation.status
    if status is None:
        if situation.config.data.root.is_dir():
            yield Finding(
                "daemon.answers", Level.FAILURE, "No daemon answers: nothing is indexed, no agent gets a brief.",
                str(situation.config.data.socket), fix="aimemory up",
            )  # fmt: skip
        return
    yield Finding("daemon.answers", Level.OK, f"The daemon answers, process {status['pid']}.", str(status["endpoint"]))
    if status["version"] != situation.version:
        yield Finding(
            "daemon.version", Level.WARNING, "The daemon runs another version than this program.",
            f"daemon {status['version']}, program {situation.version}", fix="aimemory restart",
        )  # fmt: skip
    yield from _clock(situation)
    yield from _parts(situation)
    for problem in status["problems"]:
        yield Finding("daemon.problem", Level.WARNING, problem, "reported by the daemon")


def _clock(situation: Situation) -> Iterator[Finding]:
    assert situation.status is not None
    try:
        started = datetime.fromisoformat(situation.status["started_at"]).timestamp()
    except ValueError:
        return
    off_s = situation.now_ns / 1e9 - (started + situation.status["uptime_s"])
    if abs(off_s) > _CLOCK_S:
        yield Finding(
            "daemon.clock", Level.WARNING, "The machine's clock was set while the daemon ran.", f"by {off_s:+.0f} s",
            proven=False, fix="Mind the times of what was recorded since; aimemory restart",
        )  # fmt: skip


def _parts(situation: Situation) -> Iterator[Finding]:
    status = situation.status
    assert status is not None
    idle = [task for task in status["tasks"] if task["state"] not in _DOING]
    for task in idle:
        yield Finding(
            "daemon.task", Level.FAILURE, f"The daemon's part {task['name']} is {task['state']}.",
            task["error"] or "no error was recorded", fix="aimemory restart",
        )  # fmt: skip
    if not idle:
        yield Finding("daemon.task", Level.OK, "All parts of the daemon run.", f"{len(status['tasks'])} parts")
    index = status["index"]
    if index["state"] != "level" or index["lag"] > _LAG_LINES:
        yield Finding(
            "daemon.index", Level.WARNING, "The index is behind: searches and briefs don't know the latest.",
            f"{index['state']}, {index['lag']} lines behind", fix="Wait; if it stays so: aimemory reindex",
        )  # fmt: skip
    else:
        yield Finding(
            "daemon.index", Level.OK, "The index is level with the journal.", f"line {index['applied_seq']:,}"
        )
