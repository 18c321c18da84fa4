"""A JSON value made clean: every string and key by itself, and values by the key or neighbour that announces them."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aimemory.privacy.assignment import may_name
from aimemory.privacy.caps import DEPTH_MARK, MAX_DEPTH
from aimemory.privacy.judge import Place, place_of
from aimemory.privacy.prefilter import NOTHING, Active, lowered, narrowed
from aimemory.privacy.rules import RuleSet
from aimemory.privacy.scrub import ONE_PIECE, called_for, repair, scrubbed

if TYPE_CHECKING:  # `model.event` brings dataclasses along, which the hook client's child can do without
    from aimemory.model.event import Json

_SHORT = 256
"""Strings below this length, in characters, are asked all together first: there are many, and most call for nothing."""
_NAMES = ("name", "key", "header", "field", "variable")
_VALUES = ("value", "val")
_SECRET_OF_JWK = ("d", "p", "q", "dp", "dq", "qi", "k")
"""The members of a JSON Web Key that are not public (RFC 7518, section 6)."""
_JWK = Place("private-key", 2, quoted=True)


def clean_tree(value: "Json", rules: RuleSet, cap_bytes: int | None, counts: "Counter[str]") -> "Json":
    """The value without what must not be kept. May be `value` itself where nothing had to change.

    Raises TypeError, with the type's name, for what JSON can't hold.
    """
    texts: list[str] = []
    too_deep = _gather(value, texts, 0)
    joined = "\n".join(texts)
    broken = repair(joined) != joined
    called = called_for(joined, rules)
    long = cap_bytes is not None and len(joined) * 4 > cap_bytes and any(len(text) * 4 > cap_bytes for text in texts)
    if broken:
        texts = [repair(text) for text in texts]
        joined = "\n".join(texts)
        called = called_for(joined, rules)
    shorts = "\n".join([text for text in texts if len(text) < _SHORT])
    # a key can announce its value, or say what the object is (`kty`), without a text that calls for a pattern
    names = may_name(lowered(shorts))
    if called == NOTHING and not (too_deep or broken or long or names or "kty" in shorts):
        return value
    short = narrowed(shorts, called, rules)
    # what makes up most of the payload calls for about what all of it does; a long one is asked window by window
    most = max(_SHORT, len(joined) // 2) if len(joined) <= ONE_PIECE else ONE_PIECE
    return _Cleaner(rules, called, short, names or short.assigned, most, cap_bytes, counts, broken).value(
        value, 0, None
    )


def plain_copy(value: "Json", depth: int = 0) -> "Json":
    """A copy that shares no container with the original, so that nobody can change it afterwards."""
    if depth > MAX_DEPTH:
        return DEPTH_MARK if isinstance(value, (dict, list, tuple)) else value
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else _key(key): item if type(item) is str else plain_copy(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [item if type(item) is str else plain_copy(item, depth + 1) for item in value]
    return value


def _key(key: object) -> str:
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, (int, float)):
        return str(key)
    raise TypeError(f"A key of type {type(key).__name__} has no place in JSON.")


def _gather(value: "Json", texts: list[str], depth: int) -> bool:
    """Append every string and key; True if containers lie deeper than they may."""
    kind = type(value)
    if kind is str:
        texts.append(value)
    elif kind is dict:
        if depth >= MAX_DEPTH:
            return True
        texts.extend(value)
        return _gather_all(value.values(), texts, depth + 1)
    elif kind is list:
        return depth >= MAX_DEPTH or _gather_all(value, texts, depth + 1)
    elif value is not None and kind not in (bool, int, float):
        raise TypeError(f"A value of type {kind.__name__} has no place in JSON.")
    return False


def _gather_all(values: "Iterable[Json]", texts: list[str], depth: int) -> bool:
    too_deep = False
    for value in values:
        too_deep = _gather(value, texts, depth) or too_deep
    return too_deep


class _Cleaner:
    def __init__(
        self,
        rules: RuleSet,
        called: Active,
        short: Active,
        names: bool,
        most: int,
        cap_bytes: int | None,
        counts: "Counter[str]",
        broken: bool,
    ) -> None:
        self._rules = rules
        self._called = called
        self._short = short
        self._names = names
        self._most = most
        self._cap_bytes = cap_bytes
        self._counts = counts
        self._broken = broken
        self._shorts_stay = short == NOTHING and not broken and (cap_bytes is None or cap_bytes >= _SHORT * 4)

    def value(self, value: "Json", depth: int, place: Place | None) -> "Json":
        """place: what the key above, or the neighbour before, announces."""
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, (dict, list)):
            if depth >= MAX_DEPTH:
                return DEPTH_MARK
            return self._dict(value, depth) if isinstance(value, dict) else self._list(value, depth, place)
        if place is not None and place.rank == 3 and type(value) in (int, float) and len(str(value)) >= 4:
            return self._text(str(value), place)
        return value

    def _text(self, text: str, place: Place | None = None) -> str:
        if self._shorts_stay and place is None and len(text) < _SHORT:
            return text
        if self._broken:
            text = repair(text)
        among = self._short if len(text) < _SHORT else self._called
        called = among if among == NOTHING or len(text) > self._most else narrowed(text, among, self._rules)
        if called == NOTHING and place is None and (self._cap_bytes is None or len(text) * 4 <= self._cap_bytes):
            return text
        return scrubbed(text, self._rules, called, self._cap_bytes, self._counts, place)

    def _dict(self, value: "dict[str, Json]", depth: int) -> "dict[str, Json]":
        announced = _announced(value) if self._names else None
        clean: dict[str, Json] = {}
        for key, item in value.items():
            place = _quoted(place_of(key)) if self._names else None
            if announced and key.lower() in _VALUES:
                place = announced
            elif "kty" in value and key in _SECRET_OF_JWK:
                place = _JWK
            clean[_unused(self._text(key), clean)] = self.value(item, depth + 1, place)
        return clean

    def _list(self, value: "list[Json]", depth: int, place: Place | None) -> "list[Json]":
        if not self._names:
            return [self.value(item, depth + 1, None) for item in value]
        pairs = all(isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in value)
        clean: list[Json] = []
        before: Json = None
        for item in value:
            here = place
            if (
                isinstance(before, str)
                and before.startswith("-")
                and isinstance(item, str)
                and not item.startswith("-")
            ):
                here = _quoted(place_of(before)) or place  # `["tool", "--password", "…"]`
            if pairs and depth + 1 < MAX_DEPTH:
                clean.append([self._text(item[0]), self.value(item[1], depth + 2, _quoted(place_of(item[0])))])
            else:
                clean.append(self.value(item, depth + 1, here))
            before = item
        return clean


def _quoted(place: Place | None) -> Place | None:
    return place._replace(quoted=True) if place else None


def _announced(value: "dict[str, Json]") -> Place | None:
    """What `{"name": "Authorization", "value": …}` says of its value."""
    low = {key.lower(): item for key, item in value.items()}
    if not any(name in low for name in _VALUES):
        return None
    named: Iterable[Json] = (low.get(name) for name in _NAMES)
    return next((_quoted(place) for name in named if isinstance(name, str) and (place := place_of(name))), None)


def _unused(key: str, among: "dict[str, Json]") -> str:
    """The key, numbered if two keys became one by redaction."""
    free, number = key, 2
    while free in among:
        free, number = f"{key} ({number})", number + 1
    return free
