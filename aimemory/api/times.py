"""Dates and times that callers give."""

import re
from datetime import datetime, timedelta

from aimemory.errors import UserError

_DAY = re.compile(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d(?:-?\d)?")
_SECONDS = re.compile(r"\d\d:\d\d:\d\d")


def instant_ns(text: str | None, name: str, *, is_end: bool = False) -> int | None:
    """Nanoseconds since the epoch from a date or an RFC 3339 time; one without offset is local.

    is_end: a day without a time means its last moment, not its first.
    """
    if not text:
        return None
    try:
        if is_end and _DAY.fullmatch(text.strip()):
            return last_ns(text.strip())
        return int(datetime.fromisoformat(text.strip()).astimezone().timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{name} is {text[:40]!r}; give a date like 2026-11-30 or a time like 2026-11-30T14:12."
        ) from None


def last_ns(text: str) -> int:
    """The last nanosecond of a local day, or of the minute or second of a time.

    Raises ValueError, OverflowError or OSError for what is neither.
    """
    step = timedelta(days=1) if _DAY.fullmatch(text) else timedelta(seconds=1 if _SECONDS.search(text) else 60)
    end = datetime.fromisoformat(text).replace(microsecond=0) + step
    return int(end.astimezone().timestamp()) * 1_000_000_000 - 1
