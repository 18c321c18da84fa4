"""The session that somebody names: by our id, its beginning, or the harness's own id."""

from aimemory.errors import NotFound, UserError
from aimemory.index.events import SessionRow, sessions
from aimemory.index.events import session as session_row
from aimemory.store.reader import Reader

_MIN_PREFIX = 4
_LOOK_BACK = 1000


async def session_named(reader: Reader, name: str) -> SessionRow:
    """Raises NotFound, UserError when several fit. A beginning or a harness's id is looked for in the latest 1,000."""
    name = name.strip()
    row = await reader.read(session_row(name))
    if row is not None:
        return row
    if len(name) >= _MIN_PREFIX:
        latest = await reader.read(sessions(limit=_LOOK_BACK))
        rows = [r for r in latest if r.id.startswith(name)] or [r for r in latest if r.native == name]
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise UserError(f"{name[:40]!r} fits several sessions: {', '.join(r.id for r in rows[:5])}.")
    raise NotFound(f"There is no session {name[:80]!r}. `aimemory sessions` lists them.")
