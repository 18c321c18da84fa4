"""The shape in which we write front matter ourselves: which texts may stand plain in it, and reading it without YAML.

`frontmatter` writes it, and asks here first when it reads; everything else is `nodes`' to read. An index made anew
reads the front matter of every page, and this takes 10 µs where the YAML library's events take 50.
"""

import re

from aimemory.wiki.nodes import Value

RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that some YAML reader takes for something else than text."""

_FLOW_SYNTAX = re.compile(r"[,\[\]{}:]")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_ITEM = "  - "


def is_plain(value: str, flow: bool = False) -> bool:
    """Whether YAML readers that take nothing for a number or a date read the plain value as this very text.

    flow: within `[…]` or `{…}`.
    """
    return (
        value[:1].isalnum()
        and value.isprintable()
        and not value.endswith((" ", ":"))
        and ": " not in value
        and " #" not in value
        and value.lower() not in RESERVED
        and not (flow and _FLOW_SYNTAX.search(value))
    )


def own_fields(front_text: str) -> dict[str, Value] | None:
    """The fields of front matter in our own shape, exactly as `nodes.read_front` gives them; None for any other.

    That shape: a field a line; its value plain, in double quotes without escapes, `[…]`, `{…}`, or a list with an item
    a line behind `  - `. Says None where anything is in doubt (comments, empty lines, escapes, a field twice, …).
    """
    lines = front_text.split("\n")
    if lines.pop():
        return None  # the last line has no end
    fields: dict[str, Value] = {}
    items: list[Value] | None = None
    for line in lines:
        value: Value | None
        if items is not None and line.startswith(_ITEM):
            if (value := _value(line[len(_ITEM) :])) is None:
                return None
            items.append(value)
            continue
        if items == []:
            return None  # a field without a value
        key, colon, text = line.partition(": ")
        if colon:
            value, items = _value(text), None
        elif line.endswith(":"):
            key, items = line[:-1], []
            value = items
        else:
            return None
        if value is None or key in fields or not _KEY.fullmatch(key):
            return None
        fields[key] = value
    return None if items == [] else fields


def _value(text: str) -> Value | None:
    if text[:1] == "[":
        return _list(text[1:-1]) if text.endswith("]") else None
    if text[:1] == "{":
        return _mapping(text[1:-1]) if text.endswith("}") else None
    return _text(text, flow=False)


def _list(inside: str) -> Value | None:
    items: list[Value] = []
    for part in inside.split(", ") if inside else ():
        if (item := _text(part, flow=True)) is None:
            return None
        items.append(item)
    return items


def _mapping(inside: str) -> Value | None:
    found: dict[str, Value] = {}
    for part in inside.split(", ") if inside else ():
        key, colon, text = part.partition(": ")
        item = _text(text, flow=True)
        if not colon or item is None or key in found or not _KEY.fullmatch(key):
            return None
        found[key] = item
    return found


def _text(text: str, flow: bool) -> str | None:
    if text[:1] != '"':
        return text if is_plain(text, flow) else None
    # a part of a quoted text that `, ` was taken apart in has one quote, and is refused here
    is_whole = len(text) >= 2 and text[-1] == '"' and '"' not in text[1:-1]
    return text[1:-1] if is_whole and "\\" not in text and text.isprintable() else None
