"""Which texts say nearly the same, so that a list shows one of them. Pure.

Short texts must be the same but for case and white space, since one word changes what they say; of longer ones nine of
ten stretches of three words must be shared.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W_]+")
"""A letter of Chinese, Japanese or Korean is a word here."""
_SHORT = 24
_SHARED = 0.9
_MAX_WORDS = 5_000
_LONG_CHARS = 600
_LENGTHS = 0.8
_PROBES = 4
_PROBE_CHARS = 16


@dataclass(frozen=True, slots=True)
class Signature:
    """words: how many. begin: all of a short text, nothing of a long one. stretches: of three words each."""

    words: int
    begin: tuple[str, ...]
    stretches: frozenset[int]


def signature(text: str) -> Signature:
    """Of what a text says, as far as its first 5,000 words do."""
    words = _WORD.findall(text.lower())[:_MAX_WORDS]
    if len(words) < _SHORT:
        return Signature(len(words), tuple(words), frozenset())
    return Signature(len(words), (), frozenset(map(hash, zip(words, words[1:], words[2:], strict=False))))


def alike(one: Signature, other: Signature) -> bool:
    """Whether two texts say nearly the same; those without any word never do."""
    if not one.words or not other.words or bool(one.stretches) != bool(other.stretches):
        return False
    if not one.stretches:
        return one.begin == other.begin
    fewer, more = sorted((len(one.stretches), len(other.stretches)))
    if fewer < _SHARED * more:
        return False
    shared = len(one.stretches & other.stretches)
    return shared >= _SHARED * (fewer + more - shared)


def fold(items: Sequence[tuple[T, object, str]]) -> list[tuple[T, list[T]]]:
    """Each item that is like none before it, with those after it that are like it, all in order.

    items: with what must be equal beside the text (such as its kind), and the text.
    """
    kept: list[tuple[T, list[T], object, _Text]] = []
    for item, group, text in items:
        mine = _Text(text)
        for _, like, other_group, other in kept:
            if group == other_group and mine.is_like(other):
                like.append(item)
                break
        else:
            kept.append((item, [], group, mine))
    return [(item, like) for item, like, _, _ in kept]


class _Text:
    """A text whose signature is made when it is needed: that costs a millisecond for a long one, and few need it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._chars = len(text)
        self._probes: list[str] = []
        self._signature: Signature | None = None

    def is_like(self, other: "_Text") -> bool:
        return self._may_be_like(other) and alike(self._signed(), other._signed())

    def _may_be_like(self, other: "_Text") -> bool:
        """False only for long texts that differ in length, or share none of a few places of theirs."""
        shorter, longer = (self, other) if self._chars < other._chars else (other, self)
        if longer._chars < _LONG_CHARS:
            return True
        if shorter._chars < _LENGTHS * longer._chars:
            return False
        text = longer._text
        return any(probe in text for probe in shorter._probed())

    def _probed(self) -> list[str]:
        if not self._probes:
            step = max(1, (self._chars - _PROBE_CHARS) // _PROBES)
            places = range(step // 2, self._chars - _PROBE_CHARS, step)
            self._probes = [self._text[at : at + _PROBE_CHARS] for at in places]
        return self._probes

    def _signed(self) -> Signature:
        if self._signature is None:
            self._signature = signature(self._text)
        return self._signature
