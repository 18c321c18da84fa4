"""Going on where an answer ended: a cursor holds how many hits were shown, and a digest of which.

The ranking is made anew for every part of an answer. What came before must be what it was, else a hit would be shown
twice or never: then the cursor is refused. New pages and events that change nothing before it don't matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.errors import UserError
from aimemory.model.ids import digest
from aimemory.model.page import COUNTED
from aimemory.recall.hits import Place

_HEX = frozenset("0123456789abcdef")
_DIGEST_BYTES = 6


@dataclass(frozen=True, slots=True)
class Cursor:
    """offset: hits that were shown. seen: digest of them and of what was asked, "" at the beginning."""

    offset: int = 0
    seen: str = ""


def cursor_of(text: str | None) -> Cursor:
    """Raises UserError for what `next_cursor` never made."""
    if text is None:
        return Cursor()
    number, _, seen = text.partition("-")
    if not (
        number.isascii() and number.isdigit() and 0 < int(number[:8]) <= COUNTED
        and len(number) <= len(str(COUNTED)) and len(seen) == 2 * _DIGEST_BYTES and set(seen) <= _HEX
    ):  # fmt: skip
        raise UserError("That cursor is not one of ours. Use the one in the answer before, or none.")
    return Cursor(int(number), seen)


def next_cursor(asked: Sequence[str], shown: Sequence[Place]) -> str:
    """The cursor behind these hits, all that were shown from the first on. asked: all that makes a search."""
    return f"{len(shown)}-{_digest(asked, shown)}"


def check_cursor(cursor: Cursor, asked: Sequence[str], ranked: Sequence[Place]) -> None:
    """Raises UserError where what was shown is not what the answer begins with now, or another query was asked."""
    if cursor.offset and _digest(asked, ranked[: cursor.offset]) != cursor.seen:
        raise UserError(
            "That cursor is stale: what it follows has changed since (pages or events were added, changed or removed), "
            "or it belongs to another search. Search again without it."
        )


def _digest(asked: Sequence[str], shown: Sequence[Place]) -> str:
    return digest("cursor", *asked, *(f"{place.table} {place.row}" for place in shown), size=_DIGEST_BYTES)
