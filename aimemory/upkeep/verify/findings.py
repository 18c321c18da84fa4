"""What a check found, and the bound on how much of it is told."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from aimemory.privacy import sanitize

Level = Literal["damage", "note"]
_TOLD = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. where: file below the data directory, with `:line` where there is one. do: what helps.

    level: `damage` is data that is not what we wrote; `note` is a state that a start or a person's edit settles.
    """

    level: Level
    part: str
    where: str
    what: str
    do: str


class Findings:
    """Collects them in order; of each part and level the first hundred are kept, the others counted."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.counts: Counter[str] = Counter()
        """What was looked at: lines, segments, pages, …"""
        self.left_out = 0
        self._told: Counter[tuple[str, str]] = Counter()

    def add(self, level: Level, part: str, where: str, what: str, do: str) -> None:
        self._told[level, part] += 1
        if self._told[level, part] <= _TOLD:  # they are kept, and a person names files as he likes
            self.found.append(Finding(level, part, sanitize(where).value, sanitize(what).value, do))
        else:
            self.left_out += 1

    @property
    def is_damaged(self) -> bool:
        return any(finding.level == "damage" for finding in self.found)
