"""Times as people and agents give them."""

from datetime import datetime

from aimemory.errors import UserError


def instant_ns(text: str | None, name: str) -> int | None:
    """Nanoseconds since the epoch from a date or an RFC 3339 time; one without offset is local."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return int(moment.astimezone().timestamp()) * 1_000_000_000
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{name} is {text[:40]!r}; give a date like 2026-11-30 or a time like 2026-11-30T14:12."
        ) from None
