"""Which recorded session a tool call belongs to: what an agent writes joins the session that its hooks report.

Reads only. What becomes of a call without a session is for its user to decide.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aimemory.errors import Unavailable
from aimemory.index.events import SessionRow, unclosed_sessions
from aimemory.index.events import session as session_row
from aimemory.model.answers import Caller
from aimemory.model.ids import SessionId, session_id
from aimemory.model.process import Process
from aimemory.processes import Processes
from aimemory.sessions.liveness import IsAlive, is_gone
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

Place = Callable[[str], Awaitable[str]]
"""The checkout of a directory, or the directory itself."""


@dataclass(frozen=True, slots=True)
class CallerSession:
    """session: None if the call belongs to none. how: one phrase, why. row: what is recorded of it, None for nothing
    yet."""

    session: SessionId | None
    how: str
    row: SessionRow | None = None


class CallerSessions:
    """Answers for the daemon's own machine."""

    def __init__(self, reader: Reader, projects: Projects, processes: Processes) -> None:
        self._reader = reader
        self._projects = projects
        self._processes = processes

    async def find(self, caller: Caller) -> CallerSession:
        """The session of a call, as of what the index shows."""
        named = None
        if caller.session and caller.harness:
            identifier = session_id(caller.harness, caller.session)
            row = await self._reader.read(session_row(identifier))
            named = CallerSession(identifier, "the session that the caller named", row)
        process = self._processes.harness_of(caller.peer) if caller.peer is not None else None
        open_rows = await self._reader.read(unclosed_sessions())
        return await choose(caller, named, process, open_rows, self._processes.is_alive, self._place)

    async def _place(self, cwd: str) -> str:
        try:
            return await self._projects.checkout(cwd) or cwd
        except Unavailable:  # its directory doesn't answer: then only the very same path is the same place
            return cwd


async def choose(
    caller: Caller, named: CallerSession | None, process: Process | None, rows: Sequence[SessionRow],
    is_alive: IsAlive, place: Place,
) -> CallerSession:  # fmt: skip
    """The session of a call, of those whose pages are not written yet (`rows`).

    The one that the caller names, while it is live. Claude Code gives its MCP servers the id with which they were
    started: after `/clear` that is the one before, and from 2.1.154 to 2.1.162 another one when it was resumed
    (anthropics/claude-code#65497, #64412). So a named one that is not live gives way to the live one of the process
    that both run in, and that failing, to the only live one of this harness in this place. Two in one place are never
    guessed between.
    """
    live = [row for row in rows if not row.has_ended and not is_gone(row, is_alive)]
    if named is not None and any(row.id == named.session for row in live):
        return named
    mine = [row for row in live if caller.harness in (None, row.harness)]
    if process is not None and (same := [row for row in mine if row.process == process]):
        latest = max(same, key=lambda row: row.last_at_ns)
        return CallerSession(latest.id, "the session of the process that the caller runs in", latest)
    how = "the caller names no session"
    if caller.harness and caller.cwd:
        here = await _in_place(mine, caller.cwd, place)
        if len(here) == 1:
            return CallerSession(here[0].id, f"the only live session of {caller.harness} in this directory", here[0])
        how = f"{len(here) or 'no'} sessions of {caller.harness} are live in this directory"
    return named or CallerSession(None, how)


async def _in_place(rows: Sequence[SessionRow], cwd: str, place: Place) -> list[SessionRow]:
    """Those that began in the very directory, else those in its checkout."""
    exact = [row for row in rows if row.cwd == cwd]
    if exact or not rows:
        return exact
    wanted = await place(cwd)
    return [row for row in rows if row.cwd is not None and await place(row.cwd) == wanted]
