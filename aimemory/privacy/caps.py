"""Cutting text and JSON values to a size, with a mark where something is missing. Knows nothing of secrets."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `model.event` brings dataclasses along, which the hook client's child can do without
    from aimemory.model.event import Json

MAX_DEPTH = 64
DEPTH_MARK = "[… deeper levels cut …]"
_MARK = r"\[… ([\d,]{1,20}) bytes cut …\]"
_ENTRY_COUNTS = (1024, 256, 64, 16, 4, 1)


def cap_text(text: str, cap_bytes: int) -> str:
    """`text`, or its head and tail around a mark `[… 12,345 bytes cut …]`.

    The result is at most `cap_bytes` long in UTF-8, no character is split, and capping it again changes nothing.
    Where even the mark has no room, the head alone is left. A mark that falls into the cut is added to the new one.
    """
    if len(text) * 4 <= cap_bytes:
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= cap_bytes:
        return text
    room = cap_bytes - len(_mark(len(data) + _cut_before(text)).encode())
    if room < 0:
        return _head(data, max(cap_bytes, 0)).decode("utf-8", "surrogatepass")
    head = _head(data, (room + 1) // 2)
    tail = _tail(data, room // 2)
    missing = data[len(head) : len(data) - len(tail)]
    mark = _mark(len(missing) + _cut_before(missing.decode("utf-8", "surrogatepass")))
    return head.decode("utf-8", "surrogatepass") + mark + tail.decode("utf-8", "surrogatepass")


def cap_tree(value: "Json", cap_bytes: int) -> "Json":
    """A JSON value cut to roughly `cap_bytes` in all, counted as UTF-8 without escapes.

    The structure stays. Short strings are kept whole, long ones share what is left, each by head and tail; where there
    are too many entries, the first and last stay around a mark. Capping the result again changes nothing.
    """
    total, leaves = _measure(value)
    if total <= cap_bytes:
        return value
    for most in _ENTRY_COUNTS:
        thin = value if most == _ENTRY_COUNTS[0] and total - sum(leaves) <= cap_bytes // 2 else _thin(value, most, 0)
        total, leaves = _measure(thin)
        room = cap_bytes - (total - sum(leaves))
        share = _share(leaves, room)
        if share is not None:
            return _cap_leaves(thin, share, 0)
    return cap_text(f"[… {total:,} bytes cut …]", cap_bytes)


def _mark(missing: int) -> str:
    return f"[… {missing:,} bytes cut …]"


def _cut_before(text: str) -> int:
    """Bytes that marks in `text` say were cut earlier, less the marks themselves."""
    if " bytes cut …]" not in text:
        return 0
    found = re.finditer(_MARK, text)
    return sum(max(0, int(m[1].replace(",", "")) - len(m[0].encode())) for m in found if m[1].strip(","))


def _head(data: bytes, size: int) -> bytes:
    while 0 < size < len(data) and data[size] & 0xC0 == 0x80:
        size -= 1
    return data[:size]


def _tail(data: bytes, size: int) -> bytes:
    start = len(data) - size
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _measure(value: "Json") -> tuple[int, list[int]]:
    """Bytes of a value in compact JSON without escapes, and the bytes of each string value in it."""
    total, leaves, stack = 0, [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            leaves.append(_size(item))
            total += leaves[-1] + 2
        elif isinstance(item, dict):
            total += 2 + sum(_size(str(key)) + 4 for key in item)
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            total += 2 + len(item)
            stack.extend(item)
        else:
            total += len(str(item))
    return total, leaves


def _share(leaves: list[int], room: int) -> int | None:
    """The largest size per string with which all of them fit into `room`, or None if that leaves no room for marks."""
    left, count = room, len(leaves)
    for size in sorted(leaves):
        share = left // count
        if size > share:
            return share if share >= len(_mark(size).encode()) else None
        left -= size
        count -= 1
    return max(leaves, default=0) if room >= 0 else None


def _cap_leaves(value: "Json", share: int, depth: int) -> "Json":
    if isinstance(value, str):
        return cap_text(value, share)
    if depth >= MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        return DEPTH_MARK
    if isinstance(value, dict):
        return {key: _cap_leaves(item, share, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cap_leaves(item, share, depth + 1) for item in value]
    return value


def _thin(value: "Json", most: int, depth: int) -> "Json":
    """The first and last entries of every container, `most` in all, around a mark; long keys cut."""
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth >= MAX_DEPTH:
        return DEPTH_MARK
    first, last = (most + 1) // 2, most // 2
    missing = len(value) - most
    if isinstance(value, dict):
        entries = [
            (cap_text(str(key), 256), _thin(item, most, depth + 1)) for key, item in _ends(list(value.items()), most)
        ]
        if missing > 0:
            entries.insert(first, (f"[… {missing:,} entries cut …]", None))
        return dict(entries)
    items = [_thin(item, most, depth + 1) for item in _ends(list(value), most)]
    if missing > 0:
        items.insert(len(items) - last, f"[… {missing:,} entries cut …]")
    return items


def _ends(items: "list[Json]", most: int) -> "list[Json]":
    return items if len(items) <= most else items[: (most + 1) // 2] + items[len(items) - most // 2 :]
