"""Agents as the data files describe them, with their settings in a folder of a test."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from aimemory.config import load_config
from aimemory.datadir import DataDir
from aimemory.doctor.known import known_agents, launchers
from aimemory.install.agent import Agent, Launchers
from aimemory.install.apply import Applier, Done
from aimemory.install.change import Job, jobs
from aimemory.install.record import read_record


class Desk:
    """A user's home with a data directory, and what connect and disconnect do there."""

    def __init__(self, root: Path, monkeypatch) -> None:
        self.home = root / "home"
        self.home.mkdir(exist_ok=True)
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("AIMEMORY_DATA_DIR", str(root / "data"))
        self.data = DataDir(root / "data")
        self.clock = 0

    def agent(self, name: str) -> Agent:
        return known_agents(load_config()).agents[name]

    def launchers(self) -> Launchers:
        return launchers(load_config())

    def jobs(self, agent: str, *, removing: bool = False, only=None) -> list[Job]:
        written = read_record(self.data.connect_record)
        return jobs(self.agent(agent), self.launchers(), only, removing=removing, written=written)

    def run(self, agent: str, *, removing: bool = False, only=None) -> list[Done]:
        self.clock += 1
        applier = Applier(self.data, datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.clock))
        return [applier.apply(job, job.plan()) for job in self.jobs(agent, removing=removing, only=only)]

    def connect(self, agent: str, **more) -> list[Done]:
        return self.run(agent, **more)

    def disconnect(self, agent: str, **more) -> list[Done]:
        return self.run(agent, removing=True, **more)

    def put(self, file: str, content: bytes | str) -> Path:
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def problems(done: list[Done]) -> list[str]:
    return [text for one in done for text in (one.change.problem, one.error) if text]
