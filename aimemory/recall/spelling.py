"""Words that occur nowhere: the nearest words of the index's own vocabulary. Pure but for the plan."""

import re
from collections.abc import Iterable, Sequence

from aimemory.index.read import Plan
from aimemory.index.search import Scope, scope_counts
from aimemory.index.vocabulary import words_beginning
from aimemory.recall.words import stem_start

MOST_WORDS = 3
"""So many misspelt words of one query are looked up; each costs a walk over the words that begin alike."""

_SHORTEST = 4
_LONG = 8
_PART = 3
"""At most one of so many letters may be wrong."""
_BEGINNING = 2
_ALTERNATIVES = 2
_LOOKED_AT = 40
_UMLAUT = re.compile("ae|oe|ue")


def may_be_misspelt(word: str) -> bool:
    """Letters only and long enough that one wrong letter doesn't make it another word."""
    return word.isalpha() and word.isascii() and len(word) >= _SHORTEST


def nearest(word: str, seen: Scope) -> Plan[tuple[str, ...]]:
    """The words that differ least, commonest first, at most two; none where nothing is near.

    A word with `ue`, `oe` or `ae` is taken as written with an umlaut first. Else one wrong, missing, added or exchanged
    letter, two in words of eight letters and more, never more than a third of them; the first two letters must be
    right, or exchanged. Only words that stand in a row of `seen`: what another project holds is never told.
    """
    umlauts = with_umlauts(word)
    if umlauts != word and (yield from _there([umlauts], seen)):
        return (umlauts,)
    allowed = _allowed(word)
    beginnings = dict.fromkeys((word[:_BEGINNING], word[1] + word[0]))
    stem = stem_start(word)  # words of events are known by their stems only
    found: list[tuple[int, int, str]] = []
    for beginning in beginnings:
        for known, rows in (yield from words_beginning(beginning, len(stem) - allowed, len(word) + allowed)):
            distance = min((d for d in (_distance(word, known), _distance(stem, known)) if d), default=0)
            if distance:
                found.append((distance, -rows, known))
    found = sorted(found)[:_LOOKED_AT]
    there = yield from _there([known for _, _, known in found], seen)
    near = [(distance, known) for distance, _, known in found if known in there]
    return tuple(known for distance, known in near if distance == near[0][0])[:_ALTERNATIVES]


def with_umlauts(word: str) -> str:
    """The word as folded where it was written with umlauts: `mueller` is `muller`."""
    return _UMLAUT.sub(lambda found: found[0][0], word)


def _allowed(word: str) -> int:
    return 2 if len(word) >= _LONG else 1


def _distance(word: str, known: str) -> int:
    """How many letters are wrong, 0 where none is or too many are."""
    allowed = _allowed(word)
    distance = edits(word, known, allowed)
    return distance if distance <= allowed and distance * _PART <= min(len(word), len(known)) else 0


def _there(words: Sequence[str], seen: Scope) -> Plan[set[str]]:
    matches = [f'"{word}"' for word in words]
    found: set[str] = set()
    for table in ("page", "observation"):
        counts = yield from scope_counts(table, matches, seen, 1)
        found.update(word for word, rows in zip(words, counts, strict=True) if rows)
    return found


def edits(a: str, b: str, most: int) -> int:
    """How many letters must be changed, added, taken out or exchanged with the next to make one of the other.

    Counts up to `most`; anything beyond is `most` + 1.
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def said(words: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    """What was taken for what, one sentence each."""
    return [
        f"'{typed}' occurs nowhere; taken as {' or '.join(repr(word) for word in taken)}." for typed, taken in words
    ]
