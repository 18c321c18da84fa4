"""How much a page's weight moves it: what readers said, its kind, who wrote it. A little, and it hides none. Pure."""

from collections.abc import Iterable

MOVES = {
    "helpful": (0.02, 0.04, 0.06), "not helpful": (-0.02, -0.04, -0.06), "stale": (-0.02, -0.08, -0.15),
    "wrong": (-0.02, -0.1, -0.2),
}  # fmt: skip
"""Part of its score that one, two, three and more voices give to a page or take from it.

One voice can be mistaken or mean harm, so it does no more than decide between equals; `docs/benchmarks.md` says what
each does. The label that it puts on the page weighs more with a reader than its place.
"""

_OF_TEXT = frozenset({"stale", "wrong"})
"""Verdicts that speak of the text that stood: they end when it changes."""


def authority(said: Iterable[tuple[str, bool]]) -> float:
    """The part of its score that a page gains or, negative, loses: between -0.2 and 0.06.

    said: verdicts, one a voice, each with whether it was said of the text that stands.
    """
    counted: dict[str, int] = {}
    for verdict, is_current in said:
        if verdict in MOVES and (is_current or verdict not in _OF_TEXT):
            counted[verdict] = counted.get(verdict, 0) + 1
    return max(-0.2, sum(MOVES[verdict][min(count, 3) - 1] for verdict, count in counted.items()))


LASTING = frozenset({"rule", "decision", "gotcha", "procedure", "concept"})
"""Kinds of pages that somebody wrote down as knowledge; others tell what happened or note something."""

_KIND = _PINNED = 0.03
_SESSION, _SESSIONS = 0.01, 3


def weight(kind: str, is_pinned: bool, sessions: int) -> float:
    """The part of its score that a page gains by what it is, at most 0.09. sessions: how many wrote it."""
    more = min(_SESSIONS, max(0, sessions - 1))
    return _KIND * (kind in LASTING) + _PINNED * is_pinned + _SESSION * more
