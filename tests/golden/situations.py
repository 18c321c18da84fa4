"""Twelve situations played on a real daemon and a real repository: what is written, and what the next agent is told.

What differs between two runs is given one form: directories, the machine's id, the tag's secret, and times, which count
from the start of the worker's session; `<now>` is a time outside of it.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from acting import SECOND, Agent, closed
from living import Daemon, git, repository

HERE = Path(__file__).parent / "situations"
PATIENT = Path(__file__).parents[1] / "helpers" / "patient.py"
_SHOWN_START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")


class Stage:
    """One data directory, one project, and a clock that stands two hours back and moves a second an event."""

    def __init__(self, root: Path, in_git: bool = True) -> None:
        self.daemon = Daemon(root, session_idle_minutes=10_080, brief_git_ms=10_000)
        self.daemon.program = [sys.executable, "-I", str(PATIENT)]
        self.start = datetime.now(UTC).replace(microsecond=0, second=0) - timedelta(hours=2)
        self.now_ns = int(self.start.timestamp()) * SECOND
        self.app = root / "home" / "app"
        if in_git:
            day_before = (self.start - timedelta(days=1)).isoformat()
            repository(self.app, GIT_AUTHOR_DATE=day_before, GIT_COMMITTER_DATE=day_before)
        else:
            self.app.mkdir(parents=True)
        self.daemon.start()

    def tick(self) -> int:
        self.now_ns += SECOND
        return self.now_ns

    def worker(self, harness: str = "claude-code", session: str = "worker", cwd: Path | None = None) -> Agent:
        return Agent(self.daemon, harness, session, cwd or self.app, clock=self.tick)

    def reader(self, harness: str = "codex", session: str = "reader", cwd: Path | None = None) -> Agent:
        return Agent(self.daemon, harness, session, cwd or self.app)

    def ends(self, *agents: Agent) -> None:
        for agent in agents:
            agent.ends()
        closed(self.daemon, len(agents))

    def shown(self, brief: str) -> str:
        """The brief and every session and handoff page, in one form."""
        parts = [f"===== what the next agent is told =====\n{brief or '(nothing)'}\n"]
        for page in self.daemon.pages("*/*/handoffs/**/*.md") + self.daemon.pages("*/*/sessions/**/*.md"):
            parts.append(f"===== {page.relative_to(self.daemon.data.wiki)} =====\n{page.read_text()}")
        return self._one_form("\n".join(parts))

    def _one_form(self, text: str) -> str:
        machine = json.loads((self.daemon.data.root / "actor.json").read_text())["machine"]
        head = git(self.app, "rev-parse", "HEAD").strip()[:12] if (self.app / ".git").exists() else machine
        for found, shown in (
            (str(self.daemon.root), "/home/dev"), (f'"{machine}"', machine), (machine, "MACHINE"), (head, "HEAD"),
            (f"{self.start:%Y/%m}", f"{_SHOWN_START:%Y/%m}"), (f"{self.start:%m%d-%H%M}", f"{_SHOWN_START:%m%d-%H%M}"),
        ):  # fmt: skip
            text = text.replace(found, shown)
        text = re.sub(r"aimemory-[0-9a-f]{12}", "aimemory-TAG", text)
        return _RFC3339.sub(self._time, text)

    def _time(self, found: re.Match[str]) -> str:
        ago = datetime.fromisoformat(found[0]) - self.start
        if not timedelta(0) <= ago < timedelta(hours=1):
            return "<now>"
        return (_SHOWN_START + ago).isoformat()


def fresh_project(stage: Stage) -> str:
    return stage.shown(stage.reader().start())


def same_branch(stage: Stage) -> str:
    (stage.app / "parser.py").write_text("x")
    worker = stage.worker().works("Fix the parser for empty files")
    worker.stops("The parser still fails for empty files; the test says why.")
    stage.ends(worker)
    return stage.shown(stage.reader().start())


def other_branch(stage: Stage) -> str:
    git(stage.app, "checkout", "-q", "-b", "feature/empty-files")
    stage.ends(stage.worker().works("Fix the parser for empty files"))
    git(stage.app, "checkout", "-q", "main")
    return stage.shown(stage.reader().start())


def parallel_sessions(stage: Stage) -> str:
    stage.ends(stage.worker().works("Fix the parser for empty files"))
    live = Agent(stage.daemon, "claude-code", "live", stage.app)
    live.prompt("Write the release notes")
    live.edits("NEWS.md")
    return stage.shown(stage.reader().start())


def nothing_done(stage: Stage) -> str:
    worker = stage.worker()
    worker.start()
    worker.prompt("Hello?")
    stage.ends(worker)
    return stage.shown(stage.reader().start())


def crash(stage: Stage) -> str:
    (stage.app / "parser.py").write_text("x")
    worker = stage.worker().works("Fix the parser for empty files")
    worker.send("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "make lint"}, "tool_use_id": "t-running"})
    return stage.shown(stage.reader().start())


def limit(stage: Stage) -> str:
    worker = stage.worker().works("Fix the parser for empty files")
    worker.send("StopFailure", {"error": "rate_limit", "error_details": "5-hour limit reached"})
    stage.daemon.wait(lambda: stage.daemon.pages("*/*/handoffs/**/*.md"), "the page is written at the limit")
    return stage.shown(stage.reader().start())


def after_compaction(stage: Stage) -> str:
    worker = stage.worker().works("Fix the parser for empty files")
    worker.send("PreCompact", {"trigger": "auto"})
    stage.daemon.wait(lambda: stage.daemon.pages("*/*/handoffs/**/*.md"), "the page is written before the compaction")
    return stage.shown(stage.reader("claude-code", "worker").start("compact"))


def resume(stage: Stage) -> str:
    worker = stage.worker().works("Fix the parser for empty files")
    stage.ends(worker)
    other = stage.worker("codex", "other")
    other.prompt("Write the docs")
    other.runs("make docs")
    other.stops("The docs are written.")
    other.ends()
    closed(stage.daemon, 2)
    return stage.shown(stage.reader("claude-code", "worker").start("resume"))


def monorepo_subfolder(stage: Stage) -> str:
    folder = stage.app / "services" / "api"
    folder.mkdir(parents=True)
    stage.ends(stage.worker(cwd=folder).works("Fix the parser for empty files"))
    return stage.shown(stage.reader(cwd=stage.app).start())


def non_git_folder(stage: Stage) -> str:
    stage.ends(stage.worker().works("Fix the parser for empty files"))
    return stage.shown(stage.reader().start())


def over_full(stage: Stage) -> str:
    worker = stage.worker()
    worker.prompt("Rename every module. " + "Keep the old names as aliases. " * 200)
    for number in range(60):
        worker.edits(f"package/module_{number:03}.py")
        worker.runs(f"pytest tests/test_module_{number:03}.py", f"FAILED test_{number:03} - assert {number}", code=1)
    worker.stops("I renamed all of them. " * 400)
    stage.ends(worker)
    folder = stage.daemon.data.wiki / "default" / "app" / "decisions"
    before = stage.daemon.status()["counts"]["pages"]
    folder.mkdir()
    for number in range(30):
        front = f"type: decision\ntitle: Decision number {number:02}\ncreated: 2026-03-{number + 1:02}T09:00:00Z"
        (folder / f"decision-{number:02}.md").write_text(f"---\n{front}\n---\n\n{'We chose it. ' * 40}\n")
    stage.daemon.wait(lambda: stage.daemon.status()["counts"]["pages"] == before + 30, "what people wrote is in")
    last = {"title": "The last decision", "body": "A write takes in what people changed.", "kind": "decision"}
    stage.daemon.post("/api/v1/page", {**last, "cwd": str(stage.app)})
    return stage.shown(re.sub(r"(the-last-decision)-[0-9a-f]{4}", r"\1-ID", stage.reader().start()))


SITUATIONS: dict[str, Callable[[Stage], str]] = {
    play.__name__.replace("_", "-"): play
    for play in (
        fresh_project, same_branch, other_branch, parallel_sessions, nothing_done, crash, limit, after_compaction,
        resume, monorepo_subfolder, non_git_folder, over_full,
    )
}  # fmt: skip


def play(name: str, root: Path) -> str:
    """The text of one situation, played below `root`."""
    stage = Stage(root, in_git=name != "non-git-folder")
    try:
        return SITUATIONS[name](stage)
    finally:
        stage.daemon.close()


def regenerate() -> int:
    """Write every golden file anew; how many there are."""
    HERE.mkdir(exist_ok=True)
    for name in SITUATIONS:
        root = Path(tempfile.mkdtemp(prefix="situation-"))
        try:
            (HERE / f"{name}.txt").write_text(play(name, root), encoding="utf-8")
        finally:
            shutil.rmtree(root)
    return len(SITUATIONS)
