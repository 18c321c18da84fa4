"""What a check found, and what the checks look at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from aimemory.config import Config
from aimemory.install.agent import Agent
from aimemory.install.state import State


class Level(StrEnum):
    """ok; a note, which asks for nothing; a warning: something is lost or will be; a failure: it does not work now."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """check: its name, `group.what`. said: one sentence. evidence: what was seen. proven: seen itself, not inferred
    from something else. fix: the one thing to do, "" where nothing is. repair: does it; route: of the daemon,
    where that has to do it; neither where a person has to.
    """

    check: str
    level: Level
    said: str
    evidence: str = ""
    proven: bool = True
    fix: str = ""
    repair: Callable[[], None] | None = field(default=None, compare=False)
    route: str = ""

    def as_data(self) -> dict[str, object]:
        """As JSON."""
        return {
            "check": self.check, "level": self.level.value, "said": self.said, "evidence": self.evidence,
            "proven": self.proven, "fix": self.fix, "can_fix": self.repair is not None or bool(self.route),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """What an agent's own records on this disk say. newest_ns: when its latest transcript was written, if any was."""

    harness: str
    title: str
    newest_ns: int | None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class SelfTested:
    """What became of an event that was sent as this agent sends its own."""

    harness: str
    ok: bool
    said: str


@dataclass(frozen=True, slots=True)
class Situation:
    """What the checks look at. config: defaults where it can't be read; `config_problem` says why. status: of the
    daemon, None when none answers; `silence` says how it did not. agents, states: those used on this machine, and how
    they stand. connected: files that `connect` has written to. records: transcripts. tests: none where none were made.
    reply_events: what the hook launcher has to know. cwd, place: the directory that is asked about, and how it
    resolves. version: of this program. deep: read every object of the wiki's git, which takes longer.
    """

    config: Config
    config_problem: str | None
    status: Mapping[str, Any] | None
    silence: str
    agents: Sequence[Agent]
    states: Sequence[State]
    connected: Sequence[str]
    records: Sequence[Records]
    tests: Sequence[SelfTested]
    reply_events: Mapping[str, Sequence[str]]
    cwd: Path | None
    place: Mapping[str, Any] | None
    version: str
    now_ns: int
    deep: bool = False
