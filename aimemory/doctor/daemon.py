"""The daemon as it answers: version, clock, addresses, parts, what it reports itself."""

import http.client
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from aimemory.datadir import DataDir, lock_holder
from aimemory.doctor.finding import Finding, Level, Situation

_LAG_LINES = 5_000
_CLOCK_S = 120
_TCP_S = 3.0
_DOING = ("running", "starting")


def check_daemon(situation: Situation) -> Iterator[Finding]:
    status = situation.status
    if status is None:
        if situation.config.data.root.is_dir():
            yield _silent(situation)
        return
    yield Finding("daemon.answers", Level.OK, f"The daemon answers, process {status['pid']}.", str(status["endpoint"]))
    if status["version"] != situation.version:
        yield Finding(
            "daemon.version", Level.WARNING, "The daemon runs another version than this program.",
            f"daemon {status['version']}, program {situation.version}", fix="aimemory restart",
        )  # fmt: skip
    yield from _clock(situation)
    yield from _addresses(situation)
    yield from _parts(situation)
    watch = status["wiki"].get("watch_problem")
    if watch:
        yield Finding(
            "daemon.watches", Level.WARNING, "The system gives no file events, so hand edits are found by walking.",
            watch, fix="Allow more: sudo sysctl fs.inotify.max_user_watches=1048576 fs.inotify.max_user_instances=1024",
        )  # fmt: skip
    else:
        yield Finding("daemon.watches", Level.OK, "The system tells of hand edits as they happen.")
    check = status.get("self_check")  # a daemon of an earlier version has none
    if check and check["last_at"] and not check["problems"]:
        yield Finding("daemon.self_check", Level.OK, f"Last verified {check['last_at']}, 0 problems.")
    elif check and not check["last_at"]:
        yield Finding("daemon.self_check", Level.OK, "Not verified yet; aimemory verify does it now.")
    for problem in status["problems"]:
        if problem != watch:
            yield Finding("daemon.problem", Level.WARNING, problem, "reported by the daemon")


def _silent(situation: Situation) -> Finding:
    """No answer: is there no daemon, or what keeps it from answering?"""
    data, said = situation.config.data, "No daemon answers: nothing is indexed, no agent gets a brief."
    holder = lock_holder(data)
    if holder is None:
        fix = "Correct the settings, then: aimemory up" if situation.config_problem else "aimemory up"
        return Finding("daemon.answers", Level.FAILURE, said, f"nobody holds {data.lock_file}", fix=fix)
    why, fix = _why_silent(data, holder)
    seen = f"process {holder} holds {data.lock_file}; {why or situation.silence}"
    return Finding("daemon.answers", Level.FAILURE, said, seen, fix=fix)


def _why_silent(data: DataDir, holder: int) -> tuple[str, str]:
    """What a running process can lack to be heard, and the way out of it."""
    if _is_paused(holder):
        return f"process {holder} is paused (stopped by a signal)", f"kill -CONT {holder}"
    if not data.socket.exists():
        return f"its socket {data.socket} is gone", "aimemory restart"
    if data.socket.stat().st_uid != os.getuid():
        return f"{data.socket} belongs to another user", f"rm {data.socket}; aimemory restart"
    return "", f"kill {holder}, then: aimemory up"


def _is_paused(pid: int) -> bool:
    """Only where the system shows it."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return found.rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _clock(situation: Situation) -> Iterator[Finding]:
    assert situation.status is not None
    try:
        started = datetime.fromisoformat(situation.status["started_at"])
    except ValueError:
        return
    off_s = situation.now_ns / 1e9 - (started.timestamp() + situation.status["uptime_s"])
    if abs(off_s) > _CLOCK_S:
        yield Finding(
            "daemon.clock", Level.WARNING, "The machine's clock was set while the daemon ran.", f"by {off_s:+.0f} s",
            proven=False, fix="Mind the times of what was recorded since; aimemory restart",
        )  # fmt: skip
    else:
        yield Finding("daemon.clock", Level.OK, "The daemon and this program have the same time.")
    here = started.astimezone()
    if here.utcoffset() != started.utcoffset():
        yield Finding(
            "daemon.zone", Level.WARNING, "The daemon counts in another time zone than this terminal.",
            f"daemon {started:%z}, here {here:%z}; names of pages hold its local time",
            fix="aimemory restart, from where the time zone is the one that you mean",
        )  # fmt: skip


def _addresses(situation: Situation) -> Iterator[Finding]:
    """TCP: the port that was asked for, and whether the token in the file is the daemon's."""
    assert situation.status is not None
    server, endpoint = situation.config.server, situation.status["endpoint"]
    if not server.tcp:
        return
    url = endpoint.get("tcp")
    if url is None:
        yield Finding(
            "daemon.port", Level.WARNING, "The daemon listens on no port: only what uses its socket reaches it.",
            f"port {server.port} on {server.host}", fix="aimemory restart; choose another one by [server] port",
        )  # fmt: skip
        return
    if note := endpoint.get("note"):
        yield Finding(
            "daemon.port", Level.WARNING, "The daemon listens on another port than the settings name; "
            "clients over HTTP that name that one reach somebody else.", f"{note}; it listens on {url}",
            fix="Free that port or choose another by [server] port, then: aimemory restart",
        )  # fmt: skip
    answer = _tcp_answer(url, situation.config.data)
    if answer == 200:
        yield Finding("daemon.token", Level.OK, "The daemon answers over TCP, with the token of the file.", url)
    elif answer == 401:
        yield Finding(
            "daemon.token", Level.FAILURE, "The token in the file is not the running daemon's: no HTTP client gets in.",
            f"{url} refuses {situation.config.data.token_file}", fix="aimemory restart",
        )  # fmt: skip
    else:
        yield Finding(
            "daemon.port", Level.FAILURE, "The daemon's port does not answer as the daemon does.",
            f"{url}: {answer}", fix="aimemory restart",
        )  # fmt: skip


def _tcp_answer(url: str, data: DataDir) -> int | str:
    """The status with which the daemon answers there, or what happened instead."""
    place = urlsplit(url)
    try:
        token = data.token_file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        return f"{data.token_file}: {error.strerror}"
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TCP_S)
    try:
        connection.request("GET", "/healthz", headers={"Authorization": f"Bearer {token}"})
        found = connection.getresponse()
        return found.status if found.getheader("x-aimemory") is not None else "somebody else answers"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()


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
