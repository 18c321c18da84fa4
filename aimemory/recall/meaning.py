"""The second stage of ranking: the best pages by words once more, with how near they come to what the query means.

The score by words stays and nearness is added, since nearness alone ranks worse. Where there are no vectors nothing
changes; a page without one is neither lifted nor sunk. Events are left as they are: no weight gained anything.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from aimemory.index.read import Plan
from aimemory.index.vectors import page_versions
from aimemory.recall.fusion import Fused

SIGNAL = "meaning"
RESCORED = 30
"""So many of the best rows are looked at: as good as all of them, on each set that was measured."""

_MOVED = ("authority", "feedback", "superseded")
"""Shares that are a part of the score by words."""


class Meaning(Protocol):
    """What one query means. weight: what the nearest page gets, where the best words get 1."""

    @property
    def weight(self) -> float: ...

    def of_pages(self, pages: Sequence[tuple[int, str, str]]) -> Mapping[int, float]:
        """Cosines by row number, of those that have vectors. pages: row, path, version."""


def rescored(ranked: Sequence[Fused], meaning: Meaning | None) -> Plan[Sequence[Fused]]:
    """Pages, the first `RESCORED` in the order of both; all others behind, as they were."""
    top, rest = ranked[:RESCORED], ranked[RESCORED:]
    if meaning is None or len(top) < 2:
        return ranked
    rows = [fused.row for fused in top]
    found = meaning.of_pages((yield from page_versions(rows)))
    near = {row: max(0.0, cosine) for row, cosine in found.items()}
    best = max(near.values(), default=0.0)
    if best <= 0:
        return ranked
    usual = sum(near.values()) / len(near)
    again = [_with(fused, meaning.weight * near.get(fused.row, usual) / best) for fused in top]
    return (*sorted(again, key=lambda f: (-f.score, -f.row)), *rest)


def _with(fused: Fused, share: float) -> Fused:
    """What readers say, and being superseded, count for this share as for the others."""
    before = fused.score - sum(fused.shares.get(name, 0.0) for name in _MOVED)
    share *= fused.score / before if before > 0 else 1.0
    return Fused(fused.row, fused.score + share, {**fused.shares, SIGNAL: share})
