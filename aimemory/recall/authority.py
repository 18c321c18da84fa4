"""How much what readers said of a page moves it: a little, and it never takes a page out. Pure."""

from collections.abc import Iterable

STEP = {"helpful": 0.02, "not helpful": -0.02, "stale": -0.06, "wrong": -0.1}
"""Part of its score that one voice gives to a page or takes from it; `docs/benchmarks.md` says what that does."""

_MOST = 3
"""Voices of a kind that count; more say nothing new."""
_OF_TEXT = frozenset({"stale", "wrong"})
"""Verdicts that speak of the text that stood: they end when it changes."""


def authority(said: Iterable[tuple[str, bool]]) -> float:
    """The part of its score that a page gains or, negative, loses: between -0.2 and 0.06.

    said: verdicts, one a voice, each with whether it was said of the text that stands.
    """
    counted: dict[str, int] = {}
    for verdict, is_current in said:
        if is_current or verdict not in _OF_TEXT:
            counted[verdict] = min(_MOST, counted.get(verdict, 0) + 1)
    return max(-0.2, sum(STEP.get(verdict, 0.0) * count for verdict, count in counted.items()))
