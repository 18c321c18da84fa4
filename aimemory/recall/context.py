"""What stands around an event: the words of a question are often in the event before the answer.

Made when it is asked for, from the events around the best ones, so that the index holds nothing that a late neighbour
would change. Each word counts once for the stretch, more for occurring in several events of it, with less for each.
"""

import math
from collections import Counter
from collections.abc import Sequence

REACH = 2
"""How many events before and after count as what stands around."""

CENTRES = 60
"""Around so many of the best events others are looked at."""

NEIGHBOURS = 1
"""How far from a centre an event may be that is found by what stands around it alone."""

_SATURATION = 1.2


def rarity(rows: int, matching: int) -> float:
    """How much a word says that stands in `matching` of so many rows; never below zero."""
    return math.log(1 + max(0.0, rows - matching + 0.5) / (matching + 0.5))


def coverage(rows_of_words: Sequence[tuple[float, Sequence[int]]], wanted: set[int]) -> dict[int, float]:
    """For each wanted row the summed rarity of the different words it has. rows_of_words: (rarity, its rows)."""
    found: dict[int, float] = {}
    for weight, rows in rows_of_words:
        for row in wanted.intersection(rows):
            found[row] = found.get(row, 0.0) + weight
    return found


def around(
    stretches: Sequence[tuple[int, Sequence[int]]], rows_of_words: Sequence[tuple[float, Sequence[int]]]
) -> tuple[dict[int, float], dict[int, int]]:
    """What stands around the events near each centre, and how many different words that is.

    stretches: a centre with the events around it in the order of their time, itself among them, `REACH` +
    `NEIGHBOURS` to either side.
    """
    windows: dict[int, Sequence[int]] = {}
    for centre, stretch in stretches:
        middle = stretch.index(centre)
        for i in range(max(0, middle - NEIGHBOURS), min(len(stretch), middle + NEIGHBOURS + 1)):
            windows.setdefault(stretch[i], stretch[max(0, i - REACH) : i + REACH + 1])
    seen_by: dict[int, list[int]] = {}
    for row, window in windows.items():
        for other in window:
            seen_by.setdefault(other, []).append(row)
    inside = set(seen_by)
    score: dict[int, float] = {}
    words: dict[int, int] = {}
    for weight, rows in rows_of_words:
        counts = Counter(row for other in inside.intersection(rows) for row in seen_by[other])
        for row, count in counts.items():
            score[row] = score.get(row, 0.0) + weight * count * (_SATURATION + 1) / (count + _SATURATION)
            words[row] = words.get(row, 0) + 1
    return score, words
