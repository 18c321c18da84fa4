"""A brief at 10,000 pages and 100,000 recorded events: through the socket, with git and without, as a hook asks for it.

The memory is written straight to its files, as the daemon would have left it, and indexed by its own rebuild.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from acting import Agent, closed
from living import Daemon, git, repository

from aimemory.journal.segments import Journal

PAGES, EVENTS, SESSIONS, ROUNDS = 10_000, 100_000, 80, 60
WORDS = [
    "parser",
    "token",
    "buffer",
    "cache",
    "index",
    "query",
    "brief",
    "session",
    "handoff",
    "branch",
    "merge",
    "release",
    "export",
    "import",
    "render",
]


def say(what: str, **figures: object) -> None:
    print(json.dumps({"bench": "brief", "what": what, **figures}), flush=True)


def pages(folder: Path) -> None:
    for number in range(PAGES):
        kind = ("decision", "gotcha", "note")[number % 3]
        place = folder / f"{kind}s"
        place.mkdir(parents=True, exist_ok=True)
        words = " ".join(WORDS[(number * 7 + n * n) % len(WORDS)] for n in range(480))
        front = f"type: {kind}\ntitle: {WORDS[number % len(WORDS)]} number {number}\ncreated: 2026-03-01T09:00:00Z"
        (place / f"page-{number:05}.md").write_text(f"---\n{front}\n---\n\n{words}\n")


def events(data: Path, project: str, cwd: Path) -> None:
    """Sessions of 1,250 events each, side by side; the daemon closes them all when it starts."""
    journal = Journal(data / "journal", 64 << 20, time.time_ns)
    journal.open()
    start = time.time_ns() - (SESSIONS + 2) * 3_600_000_000_000
    batch = []
    for number in range(EVENTS):
        session, at = number % SESSIONS, start + number * 3_600_000_000_000 // (EVENTS // SESSIONS)
        kind = "prompt" if number < SESSIONS else "post-tool"
        row = {
            "id": f"bench{number:08}", "key": f"key{number:08}", "session": f"s{session:011}", "project": project,
            "harness": "codex", "event": "PostToolUse", "kind": kind, "native_session": f"n{session}", "cwd": str(cwd),
            "tool": "Bash", "command": f"make {WORDS[number % len(WORDS)]} {number % 50}", "output": "line\n" * 20,
        }  # fmt: skip
        if kind == "prompt":
            row |= {"prompt": f"Work on the {WORDS[session % len(WORDS)]}", "event": "UserPromptSubmit"}
        batch.append(("observation", at, json.dumps(row)))
        if len(batch) == 512:
            journal.append(batch)
            batch = []
    if batch:
        journal.append(batch)
    journal.close()


def spread(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {"p50_ms": round(statistics.median(times) * 1e3, 1), "p95_ms": round(times[int(len(times) * 0.95)] * 1e3, 1)}


def asked(daemon: Daemon, cwd: Path) -> dict[str, float]:
    times = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        text = daemon.get("/api/v1/brief", cwd=str(cwd))["text"]
        times.append(time.perf_counter() - before)
        assert text
    return spread(times)


def hooked(daemon: Daemon, cwd: Path) -> dict[str, object]:
    """Session starts, each of a new session: what the agent waits for, launcher and client left out."""
    times, given = [], 0
    for number in range(ROUNDS):
        agent = Agent(daemon, "codex", f"reader-{number}-{time.time_ns()}", cwd)
        before = time.perf_counter()
        given += bool(agent.start())
        times.append(time.perf_counter() - before)
    return {**spread(times), "given": f"{given} of {ROUNDS}"}


def ends(daemon: Daemon, cwd: Path) -> dict[str, float]:
    """How long the event that ends a session takes; page and handoff are written after it was answered."""
    times = []
    done = len(daemon.lines("done"))
    for number in range(10):
        agent = Agent(daemon, "claude-code", f"ending-{number}", cwd).works()
        before = time.perf_counter()
        agent.ends()
        times.append(time.perf_counter() - before)
    closed(daemon, done + 10)
    return spread(times)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-brief-") as folder:
        root = Path(folder)
        daemon = Daemon(root).start()
        app = repository(root / "home" / "app")
        for number in range(200):
            (app / f"module_{number}.py").write_text("x = 1\n")
        git(app, "add", "-A")
        git(app, "commit", "-qm", "modules")
        (app / "module_1.py").write_text("x = 2\n")
        Agent(daemon, "claude-code", "last", app, ago_s=60).works()
        project = daemon.wait(lambda: daemon.lines("observation"), "a first event")[0]["data"]["project"]
        daemon.stop()
        pages(daemon.data.wiki / "default" / "app")
        events(daemon.data.root, project, app)
        daemon.data.index.unlink()
        before = time.perf_counter()
        daemon.start()
        daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is built", limit_s=300)
        say("rebuild", seconds=round(time.perf_counter() - before, 1), pages=PAGES, events=EVENTS)
        daemon.wait(lambda: len(daemon.lines("done")) >= SESSIONS, "all sessions are closed", limit_s=300)
        say("closing all sessions", seconds=round(time.perf_counter() - before, 1), sessions=SESSIONS)
        say("brief asked for, with git", **asked(daemon, app))
        say("brief as a session starts, with git", **hooked(daemon, app))
        say("end of a session", **ends(daemon, app))
        daemon.stop()
        daemon.settings["brief_git_ms"] = 0
        daemon.start()
        say("brief asked for, without git", **asked(daemon, app))
        say("brief as a session starts, without git", **hooked(daemon, app))
        daemon.close()


if __name__ == "__main__":
    main()
