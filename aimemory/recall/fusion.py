"""Several signals in one order: each divided by its best, weighed, summed; what each gave is kept. Pure.

The sum of normalised scores keeps the gaps between them, which ranks by position would throw away.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PAGE_WEIGHTS: Mapping[str, float] = {
    "words": 1.0, "phrases": 0.4, "near": 0.3, "cover": 0.4, "exact": 0.3, "title": 0.4, "paths": 0.3, "idents": 0.2,
    "date": 1.5,
}  # fmt: skip
"""Chosen on four sets of queries; `docs/ARCHITECTURE.md` says how, `bench/retrieval` measures them."""

OBSERVATION_WEIGHTS: Mapping[str, float] = {"words": 1.0, "phrases": 0.4, "context": 2.0, "who": 0.5, "date": 1.5}

ABSOLUTE = frozenset({"date", "who"})
"""Signals that are a part of 1 already."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A row with its score and what each signal gave to it; the shares add up to the score."""

    row: int
    score: float
    shares: Mapping[str, float]


def fuse(signals: Mapping[str, Mapping[int, float]], weights: Mapping[str, float]) -> list[Fused]:
    """All rows that any signal knows, best first, higher row numbers (newer) before lower ones of equal score.

    A signal without a weight, or with nothing positive, gives nothing.
    """
    scaled: list[tuple[str, float, Mapping[int, float]]] = []
    totals: dict[int, float] = {}
    for name, found in signals.items():
        weight = weights.get(name, 0.0)
        best = 1.0 if name in ABSOLUTE else max(found.values(), default=0.0)
        if weight <= 0 or best <= 0:
            continue
        part = weight / best
        scaled.append((name, part, found))
        for row, value in found.items():
            if value > 0:
                totals[row] = totals.get(row, 0.0) + part * value
    order = sorted(zip(totals.values(), totals, strict=True), reverse=True)
    return [
        Fused(row, score, {name: part * found[row] for name, part, found in scaled if found.get(row, 0.0) > 0})
        for score, row in order
    ]
