"""Making vectors of pages, in a thread: of what text, by which model, with which weights. Imports the extra."""

import sqlite3
from collections.abc import Sequence
from typing import Protocol

from aimemory.errors import Unavailable
from aimemory.index import vectors as file
from aimemory.index.vectors import PageSource, VectorRow
from aimemory.index.words import SPACELESS
from aimemory.privacy import Sanitized, sanitize
from aimemory.providers.chunks import chunks
from aimemory.providers.static import StaticModel, Tokens, joined, parted
from aimemory.providers.vectors import Dense, Matrix, Model, packed

_GROWN = 1.25
"""Weights are counted anew when there are so many times as many chunks as when they were."""
_AGAIN_AT_ONCE = 50
_BUILD_S = 30.0
_WEIGHT = 0.7
"""Published with the sets, not fitted on them. MiniLM may have twice as much, but who knows what an endpoint has."""
_WEIGHT_SPACELESS = 0.4
"""The static model has learnt from English. On Chinese .7 costs a point; on Japanese and Korean .4 gains as much."""


class Maker(Protocol):
    """What differs between static vectors and those of a model that sees a whole text."""

    @property
    def model(self) -> Model: ...
    @property
    def generation(self) -> int:
        """Of the weights, from 1; 0 while there are none, -1 where none are needed."""

    @property
    def is_quick(self) -> bool:
        """Does a query take less than a millisecond?"""

    def row(self, source: PageSource) -> VectorRow:
        """A page's vectors. Raises Unavailable."""

    def weight(self, query: str) -> float:
        """What nearness weighs in ranking, beside 1 for the best words."""

    def go_on(self, db: sqlite3.Connection) -> bool:
        """One piece of what is left to do when all pages were looked at; False when nothing is."""

    def query(self, text: Sanitized[str], limit_s: float) -> Matrix | None:
        """A query's vector, or None while nothing can be compared. Raises Unavailable."""


class StaticMaker:
    """Keeps the tokens of every chunk, so that weights can follow the pages."""

    is_quick = True

    def __init__(self, model: StaticModel, db: sqlite3.Connection) -> None:
        self._static = model
        self.model = model.model
        generation, chunk_count, counts = file.counted(db)
        found = model.counted(chunk_count, counts) if generation else None
        self._now = (generation if found else 0, found.weights() if found else None, chunk_count if found else 0)

    @property
    def generation(self) -> int:
        return self._now[0]

    def row(self, source: PageSource) -> VectorRow:
        generation, weights, _ = self._now
        tokens = self._static.tokens(_texts(source))
        vectors = b"" if weights is None else packed(self._static.vectors(tokens, weights))
        return _row(source, self.model, generation, len(tokens), joined(tokens), vectors)

    def weight(self, query: str) -> float:
        spaceless = sum(len(run) for run in SPACELESS.findall(query))
        return _WEIGHT_SPACELESS if 2 * spaceless > sum(map(str.isalpha, query)) else _WEIGHT

    def go_on(self, db: sqlite3.Connection) -> bool:
        generation, weights, counted = self._now
        _, _, there = file.counts(db, generation)
        if there and (weights is None or there >= _GROWN * counted):
            found = self._static.count(part for tokens in file.all_tokens(db) for part in self._parts(tokens))
            generation, weights = generation + 1, found.weights()
            file.put_counted(db, generation, found.chunks, found.counts.tobytes())
            self._now = (generation, weights, found.chunks)
        if weights is None:
            return False
        again = file.of_other_generation(db, generation, _AGAIN_AT_ONCE)
        file.put_vectors(
            db, generation,
            [(path, packed(self._static.vectors(self._parts(tokens), weights))) for path, tokens in again],
        )  # fmt: skip
        return bool(again)

    def query(self, text: Sanitized[str], limit_s: float) -> Matrix | None:
        weights = self._now[1]
        return None if weights is None else self._static.vectors(self._static.tokens([text]), weights)[0]

    def _parts(self, tokens: bytes) -> list[Tokens]:
        return [part for part in parted(tokens) if self._static.fits(part)]


class DenseMaker:
    """Vectors of a model that makes them of a text in one go."""

    generation = -1
    is_quick = False

    def __init__(self, model: Dense) -> None:
        self._dense = model

    @property
    def model(self) -> Model:
        return self._dense.model

    def row(self, source: PageSource) -> VectorRow:
        texts = _texts(source)
        vectors = packed(self._dense.embed(texts, _BUILD_S))
        return _row(source, self.model, self.generation, len(texts), b"", vectors)

    def weight(self, query: str) -> float:
        return _WEIGHT

    def go_on(self, db: sqlite3.Connection) -> bool:
        return False

    def query(self, text: Sanitized[str], limit_s: float) -> Matrix | None:
        found: Matrix = self._dense.embed([text], limit_s)[0]
        return found


def take(maker: Maker, db: sqlite3.Connection, sources: Sequence[PageSource]) -> dict[str, str]:
    """Make what is missing of these pages and store it; returns those that it failed for, with the reason.

    Raises Unavailable where two in a row fail, and what was made by then is stored: one page that an endpoint refuses
    must not keep the others waiting, and an endpoint that is down must not be asked for each.
    """
    model = maker.model
    mine = (model.provider, model.model, model.dimension)
    known = file.known(db, [source.path for source in sources])
    renamed: list[tuple[str, str]] = []
    made: list[VectorRow] = []
    failed: dict[str, str] = {}
    was_failure = False
    try:
        for source in sources:
            version, digest, theirs = known.get(source.path, ("", "", ()))
            if theirs != mine or digest != source.hash:
                try:
                    made.append(maker.row(source))
                    was_failure = False
                except Unavailable as error:
                    if was_failure:
                        raise
                    failed[source.path], was_failure = str(error), True
            elif version != source.version:
                renamed.append((source.path, source.version))
    finally:
        file.put(db, made)
        file.same_text(db, renamed)
    return failed


def _texts(source: PageSource) -> list[Sanitized[str]]:
    return [sanitize(part) for part in chunks(source.title, source.body)]


def _row(
    source: PageSource, model: Model, generation: int, chunk_count: int, tokens: bytes, vectors: bytes
) -> VectorRow:
    return VectorRow(
        source.path, source.version, source.hash, model.provider, model.model, model.dimension, generation, chunk_count,
        tokens, vectors,
    )  # fmt: skip
