"""Bytes to a JSON value, as tolerant as can be without guessing: broken UTF-8, BOM, any depth, no infinite numbers."""

import json
import re
from typing import TYPE_CHECKING

from aimemory.privacy.caps import DEPTH_MARK, MAX_DEPTH

if TYPE_CHECKING:  # `model.event` brings dataclasses along, which the hook client's child can do without
    from aimemory.model.event import Json

_TOKEN = r'(?s)"(?>(?:[^"\\]|\\.)*)"|[\[{]|[\]}]'


def parsed(body: bytes) -> "Json":
    """The JSON value in `body`.

    Bytes that are no UTF-8 become U+FFFD, a byte order mark is skipped, control characters in strings are taken as
    they are, NaN and infinite numbers become null, and what lies much deeper than a tree may is cut.
    Raises ValueError for anything that is not JSON; its message has the position and nothing of the content.
    """
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return _decoded(text)
    except RecursionError:
        return _decoded(_cut_depth(text))


def _decoded(text: str) -> "Json":
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:  # not chained: that error holds the whole text
        problem = f"it breaks off or goes wrong at character {error.pos} (line {error.lineno}, column {error.colno})"
    except ValueError:
        problem = "it holds a number of too many digits"
    raise ValueError(f"The payload is not JSON: {problem}. Send one JSON value in UTF-8.")


def _no_number(name: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if number - number == 0 else None


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_number, parse_float=_finite)


def _cut_depth(text: str) -> str:
    """The JSON text with everything below a few levels more than allowed replaced by a mark."""
    parts: list[str] = []
    depth, at = 0, 0
    for m in re.compile(_TOKEN).finditer(text):
        if m[0] in "[{":
            depth += 1
            if depth == MAX_DEPTH + 2:
                parts.append(text[at : m.start()])
        elif m[0] in "]}":
            if depth == MAX_DEPTH + 2:
                parts.append(json.dumps(DEPTH_MARK))
                at = m.end()
            depth -= 1
    return "".join(parts) + text[at:] if depth < MAX_DEPTH + 2 else "".join(parts)
