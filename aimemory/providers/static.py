"""Static vectors: one per token, summed with a weight for how rare the token is. No network, no neural network.

Weights and vocabulary are two files in the wheel `wordllama`, which are read as they lie; its code is never imported.
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aimemory.errors import Unavailable
from aimemory.privacy import Sanitized
from aimemory.providers.vectors import Matrix, Model, unit

PROVIDER = "static"

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_MOST_HEADER = 1 << 20
_MOST_WEIGHT = 8.0
_END = 0xFFFF
"""Between two chunks' tokens; no token has that number."""

Tokens = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Counted:
    """In how many chunks each token stands, and how many chunks that were."""

    chunks: int
    counts: Counts

    def weights(self) -> Matrix:
        """How much each token says: nothing where all have it, at most 8."""
        rest = np.maximum(self.chunks - self.counts, 0) + 0.5
        return np.minimum(_MOST_WEIGHT, np.log1p(rest / (self.counts + 0.5))).astype(np.float32)


class StaticModel:
    """The vocabulary with its vectors. May be used by several threads."""

    def __init__(self, folder: Path) -> None:
        """folder: of the wheel. Blocks for some 0.2 s. Raises Unavailable for files of another kind."""
        try:
            from tokenizers import Tokenizer

            weights = folder / _WEIGHTS
            raw = weights.read_bytes()
            self._vectors = _tensor(weights, raw)
            vocabulary = (folder / _TOKENIZER).read_bytes()
            self._tokenizer = Tokenizer.from_str(vocabulary.decode())
        except (ImportError, OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"The files of the wheel wordllama can't be used ({type(error).__name__}).") from error
        self._size, dimension = self._vectors.shape
        if self._tokenizer.get_vocab_size() > self._size or self._size >= _END:
            raise Unavailable("The files of the wheel wordllama don't fit each other.")
        known = hashlib.blake2b(raw + vocabulary, digest_size=6).hexdigest()
        self.model = Model(PROVIDER, f"{weights.stem} {known}", dimension)

    def tokens(self, texts: Iterable[Sanitized[str]]) -> list[Tokens]:
        """The numbers of each text's tokens."""
        return [self._of(text.value) for text in texts]

    def vectors(self, texts: Sequence[Tokens], weights: Matrix) -> Matrix:
        """One row for each text, of length 1."""
        rows = np.zeros((len(texts), self.model.dimension), np.float32)
        for row, tokens in zip(rows, texts, strict=True):
            row[:] = weights[tokens] @ self._vectors[tokens].astype(np.float32)
        return unit(rows)

    def count(self, texts: Iterable[Tokens]) -> Counted:
        """In how many of the texts each token stands."""
        counts, chunks = np.zeros(self._size, np.int32), 0
        for tokens in texts:
            counts[np.unique(tokens)] += 1
            chunks += 1
        return Counted(chunks, counts)

    def fits(self, tokens: Tokens) -> bool:
        """Are these numbers of this vocabulary?"""
        return not tokens.size or int(tokens.max()) < self._size

    def counted(self, chunks: int, counts: bytes) -> Counted | None:
        """From what was stored; None where it is of another vocabulary."""
        found = np.frombuffer(counts, np.int32) if len(counts) == self._size * 4 else None
        return None if found is None else Counted(chunks, found)

    def _of(self, text: str) -> Tokens:
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.uint16)


def wheel_folder() -> Path | None:
    """Where the wheel lies, without importing it; None where it isn't installed."""
    spec = importlib.util.find_spec("wordllama")
    places = spec.submodule_search_locations if spec else None
    for place in places or ():
        if (Path(place) / _WEIGHTS).is_file():
            return Path(place)
    return None


def joined(texts: Sequence[Tokens]) -> bytes:
    """A page's chunks for storing."""
    return b"".join(tokens.tobytes() + _END.to_bytes(2, "little") for tokens in texts)


def parted(stored: bytes) -> list[Tokens]:
    """What `joined` stored."""
    whole = np.frombuffer(stored[: len(stored) // 2 * 2], np.uint16)
    return [part[part != _END] for part in np.split(whole, np.flatnonzero(whole == _END) + 1)[:-1]]


def _tensor(path: Path, raw: bytes) -> npt.NDArray[np.float16]:
    """The one table of a safetensors file: a length, a header in JSON, then the numbers. Mapped, not read."""
    length = int.from_bytes(raw[:8], "little")
    if length > _MOST_HEADER:
        raise ValueError("the header is too long")
    (about,) = (v for k, v in json.loads(raw[8 : 8 + length]).items() if k != "__metadata__")
    if about["dtype"] != "F16" or len(about["shape"]) != 2:
        raise ValueError("not a table of halves")
    first, last = about["data_offsets"]
    rows, columns = about["shape"]
    if last - first != rows * columns * 2 or 8 + length + last > len(raw):
        raise ValueError("the table is cut off")
    return np.memmap(path, np.float16, "r", offset=8 + length + first, shape=(rows, columns))
