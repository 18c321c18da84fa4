"""What a surface's words mean: which project, session or handoff, and who calls."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from aimemory.errors import NotFound, UserError
from aimemory.handoff.offers import Candidate
from aimemory.handoff.survey import Surveyor
from aimemory.index.events import SessionRow
from aimemory.index.events import session as session_row
from aimemory.index.handoffs import handoffs_like
from aimemory.model.answers import Caller
from aimemory.model.handoff import Handoff, HandoffId, Party
from aimemory.model.scope import Actor, Project
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.liveness import Liveness
from aimemory.sessions.named import session_named
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_MIN_PREFIX = 4


class Located(Protocol):
    """The project an operation works in, and how it was found. off_by: the folder that switches the caller's off.
    is_named: the caller named it, so that nothing else is meant."""

    @property
    def project(self) -> Project | None: ...
    @property
    def how(self) -> str: ...
    @property
    def off_by(self) -> str | None: ...
    @property
    def is_named(self) -> bool: ...


Where = Callable[[str | None, Caller], Awaitable[Located]]


def none_here(wanted: str, where: Located, paths: str) -> NotFound:
    """Says that the project which was named has no such page, and where there is one."""
    place = where.project.path if where.project else "any project"
    return NotFound(f"There is no page {wanted[:80]!r} in {place}. Elsewhere there is: {paths}.")


def refuse_where_off(off_by: str | None, caller: Caller, project: str | None) -> None:
    """Raises UserError where nothing is to be recorded. A person who names a project means it; an agent may not."""
    if off_by is not None and (caller.harness or not project):
        raise UserError(f"`aimemory off` holds for {off_by}: nothing of it is recorded. Nothing was written.")


class Lookup:
    """Reads only; the answers are as of every line that is durable."""

    def __init__(
        self, *, where: Where, claims: Claims, surveyor: Surveyor, callers: CallerSessions, reader: Reader,
        projects: Projects, actor: Actor,
    ) -> None:  # fmt: skip
        self.where = where
        self._claims = claims
        self._surveyor = surveyor
        self._callers = callers
        self._reader = reader
        self._projects = projects
        self._actor = actor

    async def open_handoffs(self, project: Project | None, caller: Caller) -> Sequence[Candidate]:
        """What could be offered now, provisional ones too, the latest change first. No project means all."""
        projects = [project] if project is not None else [*self._projects.all(), self._projects.unfiled]
        found: list[Candidate] = []
        for one in projects:
            found += (await self._surveyor.survey(one, session=None, cwd=caller.cwd)).candidates
        return sorted(found, key=lambda c: (-c.handoff.changed_at_ns, c.handoff.id))

    async def handoff(self, name: str, caller: Caller) -> Handoff:
        """By id, the beginning of one, or the path of its page; provisional ones too.

        Raises NotFound, UserError when several begin so.
        """
        await self._claims.ready()
        await self._claims.level()
        wanted = name.strip().removeprefix("handoff-").lower()
        if wanted.endswith(".md"):
            known = [h for h in self._claims.live() if h.page == name.strip()]
            if known:
                return known[0]
        found = await self._claims.find(HandoffId(wanted))
        if found is not None:
            return found
        matching: dict[str, Handoff] = {}
        if len(wanted) >= _MIN_PREFIX:
            for identifier in await self._reader.read(handoffs_like(wanted)):
                if (handoff := await self._claims.find(HandoffId(identifier))) is not None:
                    matching[identifier] = handoff
            for candidate in await self.open_handoffs(None, replace(caller, cwd=None)):
                if candidate.handoff.id.startswith(wanted):
                    matching.setdefault(candidate.handoff.id, candidate.handoff)
        if len(matching) == 1:
            return next(iter(matching.values()))
        if matching:
            raise UserError(f"{name[:40]!r} fits several handoffs: {', '.join(sorted(matching))}.")
        if wanted and len(wanted) < _MIN_PREFIX:
            raise UserError(f"{name[:40]!r} is too short: give at least {_MIN_PREFIX} characters of the id.")
        raise NotFound(f"There is no handoff {name[:80]!r}. `aimemory handoffs` lists them.")

    async def session_row(self, name: str) -> SessionRow:
        """By id, the beginning of one, or the harness's own id. Raises NotFound, UserError when several fit."""
        return await session_named(self._reader, name)

    async def party(self, caller: Caller) -> Party:
        """Who does something to a handoff: the calling session, or a person."""
        found = await self._callers.find(caller)
        harness = caller.harness or (found.row.harness if found.row is not None else None)
        return Party(found.session, harness, self._actor.user, self._actor.machine)

    async def standing(self, handoff: Handoff) -> Liveness | None:
        """How the session stands whose work it carries; None for one that is of no recorded session."""
        row = await self._reader.read(session_row(handoff.session)) if handoff.session else None
        return self._surveyor.standing(row) if row is not None else None
