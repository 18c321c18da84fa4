"""What a check found, and what the checks look at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aimemory.config import Config
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
    from something else. fix: the one thing to do, "" where nothing is. repair: does it; None where a person has to.
    """

    check: str
    level: Level
    said: str
    evidence: str = ""
    proven: bool = True
    fix: str = ""
    repair: Callable[[], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Records:
    """What an agent's own records on this disk say. newest_ns: when its latest transcript was written, if any was."""

    harness: str
    title: str
    newest_ns: int | None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What the checks look at. config: defaults where it can't be read; `config_problem` says why. status: of the
    daemon, None when none answers. agents: those used on this machine. records: their transcripts. version: of this
    program.
    """

    config: Config
    config_problem: str | None
    status: Mapping[str, Any] | None
    agents: Sequence[State]
    records: Sequence[Records]
    version: str
    now_ns: int
