"""What sessions and handoffs did, and why a handoff was or wasn't written, offered or taken: asked, never changed."""

from collections.abc import Callable
from typing import Any

from aimemory.api.lookup import Lookup
from aimemory.config import Config
from aimemory.errors import NotFound
from aimemory.handoff.lifecycle import apply, taker
from aimemory.handoff.offers import Asking, Candidate, withheld
from aimemory.handoff.survey import Surveyor
from aimemory.index.events import SessionRow, closing_of, sessions
from aimemory.index.handoffs import handoff_events, handoff_ids
from aimemory.model.answers import Caller, SessionView, Step
from aimemory.model.handoff import FINAL, Handoff, HandoffId
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.model.session import SessionState
from aimemory.sessions.liveness import Liveness
from aimemory.sessions.reader import Sessions
from aimemory.sessions.sections import failing
from aimemory.sessions.title import page_title
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_MAX_LISTED = 200


class History:
    """Reached as `Memory.history`."""

    def __init__(
        self, *, lookup: Lookup, claims: Claims, surveyor: Surveyor, sessions: Sessions, reader: Reader,
        projects: Projects, config: Config, actor: Actor, clock: Clock, title_of: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._lookup = lookup
        self._claims = claims
        self._surveyor = surveyor
        self._sessions = sessions
        self._reader = reader
        self._projects = projects
        self._config = config
        self._actor = actor
        self._clock = clock
        self._title_of = title_of

    async def session_list(
        self, *, caller: Caller, project: str | None = None, limit: int = 20
    ) -> tuple[list[SessionView], str | None, str]:
        """Sessions by their last event, newest first; with the project and how it was found."""
        await self._claims.level()
        where = await self._lookup.where(project, caller)
        rows = await self._reader.read(
            sessions([where.project.id] if where.project else [], limit=max(1, min(limit, _MAX_LISTED)))
        )
        views = [view for row in rows if (view := await self._session_view(row)) is not None]
        return views, where.project.path if where.project else None, where.how

    async def session_get(self, session: str) -> SessionView:
        """One session by its id or the beginning of it. Raises NotFound, UserError when several begin so."""
        row = await self._lookup.session_row(session)
        view = await self._session_view(row)
        if view is None:
            raise NotFound(f"Nothing of session {session[:40]!r} can be read.")
        return view

    async def trail(
        self, *, caller: Caller, project: str | None = None, limit: int = 20
    ) -> tuple[list[Step], str | None, str]:
        """What sessions and handoffs did in a project, oldest first: who worked, who took what from whom."""
        views, name, how = await self.session_list(caller=caller, project=project, limit=limit)
        steps: list[tuple[int, Step]] = []
        for view in (one for one in views if one.prompts or one.tools):
            facts = [_many(view.files, "file edited", "files edited")] * bool(view.files)
            facts += [_many(view.failing, "command failing", "commands failing")] * bool(view.failing)
            tail = f" ({', '.join(facts)})" if facts else ""
            about = f"{self._title_of(view.harness)}: {view.title}{tail}"
            steps.append((view.started_ns, Step(view.started, "session", about, view.page, view.id)))
            for identifier in await self._reader.read(handoff_ids(session=view.id, limit=10)):
                steps += [(at, step) for at, step in await self._timed_steps(identifier) if step.kind != "open"]
        for handoff in await self._without_session(project, caller, limit):
            steps += await self._timed_steps(handoff.id)
        steps.sort(key=lambda pair: pair[0])
        return [step for _, step in steps], name, how

    async def why(self, *, caller: Caller, about: str | None = None, project: str | None = None) -> list[Step]:
        """Why a handoff was or wasn't written, offered or claimed: of a session, a handoff, or all of this project."""
        await self._claims.ready()
        await self._claims.level()
        if about is not None:
            try:
                row = await self._lookup.session_row(about)
            except NotFound:
                try:
                    found = await self._lookup.handoff(about, caller)
                except NotFound:
                    raise NotFound(f"There is no session or handoff {about[:80]!r}.") from None
                return [*await self.steps(found.id), await self._now(found, caller)]
            return await self._why_session(row, caller)
        where = await self._lookup.where(project, caller)
        steps: list[Step] = []
        for row in (await self._reader.read(sessions([where.project.id] if where.project else [], limit=10)))[::-1]:
            steps += await self._why_session(row, caller)
        for handoff in await self._without_session(project, caller, 10):
            steps += [*await self.steps(handoff.id), await self._now(handoff, caller)]
        return steps

    async def steps(self, handoff: str) -> list[Step]:
        """What happened to a handoff, oldest first."""
        return [step for _, step in await self._timed_steps(handoff)]

    # -- how it is made ----------------------------------------------------------------------------------------------

    async def _without_session(self, project: str | None, caller: Caller, limit: int) -> list[Handoff]:
        """Handoffs that no session began: made by hand, or by a client that we saw nothing of."""
        where = await self._lookup.where(project, caller)
        ids = await self._reader.read(handoff_ids([where.project.id] if where.project else [], limit=limit))
        found = [await self._claims.find(HandoffId(identifier)) for identifier in ids]
        return [handoff for handoff in found if handoff is not None and handoff.session is None]

    async def _session_view(self, row: SessionRow) -> SessionView | None:
        state = await self._sessions.state(row.id)
        if state is None:
            return None
        return SessionView(
            id=row.id, harness=row.harness, native=row.native, project=self._projects.name_of(row.project),
            title=page_title(state, self._title_of(row.harness)), started=rfc3339_local(row.started_at_ns),
            last=rfc3339_local(row.last_at_ns), standing=self._surveyor.standing(row).value, page=row.page,
            prompts=row.prompts, tools=row.tools, files=len(state.files_written), failing=len(failing(state)),
            cwd=row.cwd, started_ns=row.started_at_ns,
        )  # fmt: skip

    async def _timed_steps(self, handoff: str) -> list[tuple[int, Step]]:
        steps: list[tuple[int, Step]] = []
        after: Handoff | None = None
        for event in await self._reader.read(handoff_events([handoff])):
            after = apply(after, event.data, event.at_ns)
            said, page = _said(event.op, event.data, after), after.page if after else None
            steps.append((event.at_ns, Step(rfc3339_local(event.at_ns), event.op, said, page, handoff)))
        return steps

    async def _why_session(self, row: SessionRow, caller: Caller) -> list[Step]:
        """Its handoffs' lives, and why there is one or none."""
        steps: list[tuple[int, Step]] = []
        ids = await self._reader.read(handoff_ids(session=row.id, limit=20))
        for identifier in ids:
            steps += await self._timed_steps(identifier)
        steps.sort(key=lambda pair: pair[0])
        told = [step for _, step in steps]
        state = await self._sessions.state(row.id)
        told.append(await self._verdict(row, state, bool(ids)))
        for identifier in ids:
            handoff = await self._claims.find(HandoffId(identifier))
            if handoff is not None and handoff.state not in FINAL:
                told.append(await self._now(handoff, caller))
        return told

    async def _now(self, handoff: Handoff, caller: Caller) -> Step:
        kept = await self._kept_back(handoff, caller)
        said = f"not offered, for {kept}" if kept else "the next session here can be offered it"
        at = rfc3339_local(self._clock.now_ns())
        return Step(at, "now", f"Handoff {handoff.id}: {said}", handoff.page, handoff.id)

    async def _kept_back(self, handoff: Handoff, caller: Caller) -> str | None:
        """Why a session that starts now would not be offered it; by the same rules as for a brief."""
        if self._config.handoff.offer == "off":
            return "`handoff.offer` is off"
        if not await self._surveyor.has_page(handoff):
            return "its page is not where it was written"
        standing = await self._lookup.standing(handoff) or Liveness.ENDED
        asking = Asking(
            session=SessionId("-"), harness=caller.harness, user=self._actor.user, machine=self._actor.machine,
            cwd=caller.cwd,
        )  # fmt: skip
        return withheld(Candidate(handoff, standing, handoff.page is None), asking)

    async def _verdict(self, row: SessionRow, state: SessionState | None, has_handoff: bool) -> Step:
        name = f"Session {row.id} of {self._title_of(row.harness)}"
        standing = self._surveyor.standing(row)
        closing = await self._reader.read(closing_of(row.id)) if row.is_closed else None
        if row.is_closed:
            why = closing.why if closing is not None else None
            said = f"{name} is closed; its handoff: {why}" if why else f"{name} is closed"
        elif state is None or not state.did_work:
            said = f"{name} did nothing yet: no request of a user, or neither a tool call nor an answer; no handoff"
        elif standing is Liveness.LIVE:
            quiet = self._config.handoff.quiet_seconds
            said = f"{name} is at work, last event {rfc3339_local(row.last_at_ns)}; offered after {quiet} s of quiet"
        elif has_handoff:
            said = f"{name} is {standing.value}; its handoff is above"
        else:
            said = f"{name} is {standing.value}, not closed: offered provisionally to the next session here"
        if self._config.handoff.offer == "off" and not row.is_closed:
            said += "; but `handoff.offer` is off, so nothing is offered"
        return Step(rfc3339_local(row.last_at_ns), "session", said, row.page, row.id)


def _said(op: str, data: dict[str, Any], after: Handoff | None) -> str:
    by = data.get("by") or {}
    who = f"{by.get('harness') or 'an agent'} (session {by['session']})" if by.get("session") else by.get("user", "")
    why = f": {data['why']}" if data.get("why") else ""
    handoff = f"Handoff {data.get('handoff', '')}"
    match op:
        case "open":
            return f"{handoff} was written{why}"
        case "offer":
            return f"{handoff} was offered to {who}"
        case "claim":
            return f"{handoff} was taken by {taker(after) if after else who}"
        case "release":
            return f"{handoff} was given back by {who}{why}"
        case "tell":
            return f"{who} was told who took {handoff}"
        case _:
            return f"{handoff} is {after.state if after else op}{why}"


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
