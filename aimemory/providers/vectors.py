"""What all providers of vectors share. Vectors are rows of a numpy matrix, of length 1, so that a product is a cosine.

numpy belongs to the extra: this module and its neighbours are imported when vectors are wanted, never at a start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aimemory.privacy import Sanitized

Matrix = npt.NDArray[np.float32]

_STORED = np.float16
_LEAST_NORM = 1e-9


@dataclass(frozen=True, slots=True)
class Model:
    """What made a vector. Vectors of another model, or of another dimension, can't be compared."""

    provider: str
    model: str
    dimension: int


class Dense(Protocol):
    """A model that makes a vector of a text in one go."""

    @property
    def model(self) -> Model: ...

    def embed(self, texts: Sequence[Sanitized[str]], limit_s: float) -> Matrix:
        """One row for each text, of length 1. Blocks. Raises Unavailable, also when `limit_s` is over."""


def unit(matrix: Matrix) -> Matrix:
    """Each row made as long as 1; rows of nothing stay."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    made: Matrix = matrix / np.maximum(norms, _LEAST_NORM)
    return made


def packed(matrix: Matrix) -> bytes:
    """For storing: half the room, next to nothing lost."""
    return matrix.astype(_STORED).tobytes()


def best_cosine(query: Matrix, stored: bytes) -> float | None:
    """Of a text's vectors the nearest to the query's; None for bytes that are no vectors of that dimension."""
    size = query.shape[0] * _STORED().itemsize
    if not stored or len(stored) % size:
        return None
    rows = np.frombuffer(stored, _STORED).reshape(-1, query.shape[0]).astype(np.float32)
    best = float((rows @ query).max())
    return best if best == best else None  # NaN: a damaged file
