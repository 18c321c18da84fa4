"""Dates and times that callers give."""

import re
from datetime import datetime, timedelta

from aimemory.errors import UserError

_DAY = re.compile(r"\d{4}-?\d\d-?\d\d|\d{4}-?W\d\d(?:-?\d)?")


def instant_ns(text: str | None, name: str, *, is_end: bool = False) -> int | None:
    """Nanoseconds since the epoch from a date or an RFC 3339 time; one without offset is local.

    is_end: a day without a time means its last moment, not its first.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        if is_end and _DAY.fullmatch(text.strip()):
            return int((moment + timedelta(days=1)).astimezone().timestamp()) * 1_000_000_000 - 1
        return int(moment.astimezone().timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{name} is {text[:40]!r}; give a date like 2026-11-30 or a time like 2026-11-30T14:12."
        ) from None
