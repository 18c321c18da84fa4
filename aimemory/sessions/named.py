"""The session that somebody names: by our id, its beginning, or the harness's own id."""

from aimemory.errors import NotFound, UserError
from aimemory.index.events import SessionRow, sessions_named
from aimemory.index.events import session as session_row
from aimemory.store.reader import Reader

_MIN_PREFIX = 4


async def session_named(reader: Reader, name: str) -> SessionRow:
    """Raises NotFound, UserError when several fit."""
    wanted = name.strip()
    row = await reader.read(session_row(wanted))
    if row is not None:
        return row
    rows = await reader.read(sessions_named(wanted)) if len(wanted) >= _MIN_PREFIX else []
    if len(rows) == 1:
        return rows[0]
    if rows:
        raise UserError(f"{name[:40]!r} fits several sessions: {', '.join(r.id for r in rows)}.")
    raise NotFound(f"There is no session {name[:80]!r}. `aimemory sessions` lists them.")
