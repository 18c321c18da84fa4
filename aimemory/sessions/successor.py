"""Which sessions a newer start closes: the rules of `liveness`, asked of those that it may concern."""

from aimemory.errors import Unavailable
from aimemory.index.events import unclosed_sessions
from aimemory.sessions.liveness import IsAlive, Start, Verdict, closed_by_start
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader


async def replaced_by(start: Start, *, reader: Reader, projects: Projects, is_alive: IsAlive) -> list[Verdict]:
    """The sessions that this start closes. The index must show the start already.

    One whose directory doesn't answer is left to its silence.
    """
    found = []
    place: str | None = None
    for row in await reader.read(unclosed_sessions(start.project)):
        reason = closed_by_start(row, start, is_alive)
        if reason is None or row.cwd is None:
            continue
        try:
            place = place or await _place(start.cwd, projects)
            is_same = row.cwd == start.cwd or await _place(row.cwd, projects) == place
        except Unavailable:
            continue
        if is_same:
            found.append(Verdict(row.id, reason, row.last_seq))
    return found


async def _place(cwd: str, projects: Projects) -> str:
    """The checkout, which is what two sessions would disturb each other in; outside of git the directory."""
    return await projects.checkout(cwd) or cwd
