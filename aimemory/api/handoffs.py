"""Handoffs and sessions as operations: what agents, HTTP and the command line do with them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from aimemory.brief.compose import Composer, Moment, Occasion
from aimemory.config import Config
from aimemory.errors import Conflict, NotFound, UserError
from aimemory.handoff.batons import Batons
from aimemory.handoff.handover import NOTHING, Declared, Handover, described
from aimemory.handoff.lifecycle import fold, taker
from aimemory.handoff.offers import Asking, Candidate, withheld
from aimemory.handoff.survey import Surveyor
from aimemory.index.events import SessionRow, closing_of, sessions
from aimemory.index.events import session as session_row
from aimemory.index.handoffs import handoff_events, handoff_ids, handoffs_like
from aimemory.model.answers import Caller, HandoffList, HandoffView, SessionView, Step
from aimemory.model.handoff import FINAL, Handoff, HandoffId, HandoffOp, HandoffState, Party
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor, Project
from aimemory.model.session import SessionState
from aimemory.privacy import sanitize_tree
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.digest import failing
from aimemory.sessions.liveness import Liveness
from aimemory.sessions.named import session_named
from aimemory.sessions.reader import Sessions
from aimemory.sessions.title import page_title
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_MAX_LISTED = 200
_MIN_PREFIX = 4


class Located(Protocol):
    """The project an operation works in, and how it was found."""

    @property
    def project(self) -> Project | None: ...
    @property
    def how(self) -> str: ...


Where = Callable[[str | None, Caller], Awaitable[Located]]


class Handoffs:
    """Reached as `Memory.handoffs`. No question changes anything: only begin, claim, release, cancel and close do."""

    def __init__(
        self, *, where: Where, claims: Claims, handover: Handover, batons: Batons, surveyor: Surveyor,
        composer: Composer, sessions: Sessions, callers: CallerSessions, reader: Reader, projects: Projects,
        config: Config, actor: Actor, clock: Clock, title_of: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._where = where
        self._claims = claims
        self._handover = handover
        self._batons = batons
        self._surveyor = surveyor
        self._composer = composer
        self._sessions = sessions
        self._callers = callers
        self._reader = reader
        self._projects = projects
        self._config = config
        self._actor = actor
        self._clock = clock
        self._title_of = title_of

    # -- asking ------------------------------------------------------------------------------------------------------

    async def listed(
        self, *, caller: Caller, project: str | None = None, state: str | None = None, limit: int = 20
    ) -> HandoffList:
        """Handoffs, what can be taken first: those with a page and those of quiet sessions that nobody closed.

        state: open, claimed, done, cancelled or expired. Raises UserError for another word.
        """
        if state is not None and state not in list(HandoffState):
            raise UserError(f"state is {state[:40]!r}; it must be one of {', '.join(HandoffState)}.")
        await self._claims.ready()
        await self._claims.level()
        where = await self._where(project, caller)
        limit = max(1, min(limit, _MAX_LISTED))
        views: list[HandoffView] = []
        if state in (None, HandoffState.OPEN):
            for found in await self._open(where.project, caller):
                views.append(self._view(found.handoff, found.standing))
        shown = {view.id for view in views}
        states = [state] if state else [s for s in HandoffState if s is not HandoffState.OPEN]
        projects = [where.project.id] if where.project else []
        for identifier in await self._reader.read(handoff_ids(projects, states, limit=limit)):
            handoff = await self._claims.find(HandoffId(identifier))
            if handoff is not None and identifier not in shown:
                views.append(self._view(handoff, None))
        name = where.project.path if where.project else None
        return HandoffList(tuple(views[:limit]), name, where.how)

    async def get(self, handoff: str, caller: Caller) -> tuple[HandoffView, list[Step]]:
        """One handoff by its id, the beginning of it, or its page; and what happened to it."""
        found = await self._find(handoff, caller)
        return self._view(found, await self._standing(found)), await self._steps(found.id)

    async def session_list(
        self, *, caller: Caller, project: str | None = None, limit: int = 20
    ) -> tuple[list[SessionView], str | None, str]:
        """Sessions by their last event, newest first; with the project and how it was found."""
        where = await self._where(project, caller)
        rows = await self._reader.read(
            sessions([where.project.id] if where.project else [], limit=max(1, min(limit, _MAX_LISTED)))
        )
        views = [view for row in rows if (view := await self._session_view(row)) is not None]
        return views, where.project.path if where.project else None, where.how

    async def session_get(self, session: str) -> SessionView:
        """One session by its id or the beginning of it. Raises NotFound, UserError when several begin so."""
        row = await session_named(self._reader, session)
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
        steps.sort(key=lambda pair: pair[0])
        return [step for _, step in steps], name, how

    async def why(self, *, caller: Caller, about: str | None = None, project: str | None = None) -> list[Step]:
        """Why a handoff was or wasn't written, offered or claimed: of a session, a handoff, or all of this project."""
        await self._claims.ready()
        if about is not None:
            try:
                row = await session_named(self._reader, about)
            except NotFound:
                found = await self._find(about, caller)
                return [*await self._steps(found.id), await self._now(found, caller)]
            return await self._why_session(row, caller)
        where = await self._where(project, caller)
        steps: list[Step] = []
        for row in (await self._reader.read(sessions([where.project.id] if where.project else [], limit=10)))[::-1]:
            steps += await self._why_session(row, caller)
        return steps

    # -- doing -------------------------------------------------------------------------------------------------------

    async def begin(
        self, *, caller: Caller, summary: str, next_steps: str = "", title: str = "", to: str | None = None,
        project: str | None = None,
    ) -> HandoffView:  # fmt: skip
        """Hand over by hand. Raises UserError without a summary, or when nothing was done in the session."""
        await self._claims.level()
        where = await self._where(project, caller)
        by = await self._party(caller)
        home = where.project or self._projects.unfiled
        await self._projects.ensure(home)
        declared = Declared(summary, next_steps, title, to or None)
        return self._view(await self._handover.begin(by, home, declared, cwd=caller.cwd), Liveness.ENDED)

    async def claim(self, *, caller: Caller, handoff: str) -> tuple[HandoffView, str]:
        """Take a handoff: it, and what it carries as a fenced text. Raises Conflict that says who has it."""
        found = await self._find(handoff, caller)
        by = await self._party(caller)
        if found.state is HandoffState.CLAIMED and found.claimed_by == by:
            return self._view(found, None), await self._text(found, by)
        if found.session is not None and found.session == by.session:
            raise UserError("This handoff is of your own session; another one can take it.")
        if self._claims.get(found.id) is None:  # provisional: the journal doesn't know it yet
            await self._claims.note(HandoffOp.OFFER, found.id, by, sanitize_tree(described(found)))
        taken = await self._batons.claim(found.id, by)
        return self._view(taken, None), await self._text(taken, by)

    async def release(self, *, caller: Caller, handoff: str) -> HandoffView:
        """Give a taken handoff back, so that another session is offered it."""
        found = await self._find(handoff, caller)
        after = await self._claims.note(HandoffOp.RELEASE, found.id, await self._party(caller), NOTHING)
        return self._view(after or found, None)

    async def cancel(self, *, caller: Caller, handoff: str, reason: str = "") -> HandoffView:
        """Nobody is offered it any more. Raises Conflict when it is done, cancelled or expired already."""
        found = await self._find(handoff, caller)
        by = await self._party(caller)
        if self._claims.get(found.id) is None:
            await self._claims.note(HandoffOp.OFFER, found.id, by, sanitize_tree(described(found)))
        why = reason.strip() or "cancelled by hand"
        return self._view(await self._handover.finish(HandoffOp.CANCEL, found.id, by, why), None)

    async def session_close(self, *, caller: Caller, summary: str, next_steps: str = "") -> HandoffView:
        """What the calling agent declares at its end: it goes into its session's handoff, as declared.

        The session itself is closed by its own end or by silence; a later event of it needs no reopening.
        """
        if not summary.strip():
            raise UserError("Say in the summary what is done, what is open and what failed; nothing was recorded.")
        await self._claims.level()
        by = await self._party(caller)
        state = await self._sessions.state(by.session) if by.session else None
        if by.session is None or state is None:
            return await self.begin(caller=caller, summary=summary, next_steps=next_steps)
        how = f"summed up by its agent {rfc3339_local(self._clock.now_ns())}"
        written, why = await self._handover.checkpoint(by.session, how, Declared(summary, next_steps))
        found = self._claims.get(written) if written else None
        if found is None:
            raise Conflict(f"No handoff was written: {why}.")
        return self._view(found, Liveness.LIVE)

    async def session_brief(self, *, caller: Caller, project: str | None = None) -> tuple[str, str | None, str]:
        """The brief for the calling session, at any time; a handoff in it is offered by this, or is the caller's.

        Returns the fenced text ("" when there is nothing to tell), the project and how it was found.
        """
        await self._claims.level()
        where = await self._where(project, caller)
        by = await self._party(caller)
        occasion = Occasion(
            cwd=caller.cwd, session=by.session, harness=by.harness, moment=Moment.ASKED,
            budget_chars=self._config.brief.chars, git_s=self._config.brief.git_ms / 1000,
        )  # fmt: skip
        brief = await self._composer.compose(where.project, occasion)
        if brief.offer is not None and by.session is not None:
            offered = brief.offer.handoff
            about = sanitize_tree(described(offered))
            if await self._claims.note(HandoffOp.OFFER, offered.id, by, about, must=False) is None:
                brief = await self._composer.compose(where.project, occasion)  # taken by another just now
        return brief.text.value, where.project.path if where.project else None, where.how

    # -- finding -----------------------------------------------------------------------------------------------------

    async def _open(self, project: Project | None, caller: Caller) -> Sequence[Candidate]:
        projects = [project] if project is not None else [*self._projects.all(), self._projects.unfiled]
        found: list[Candidate] = []
        for one in projects:
            found += (await self._surveyor.survey(one, session=None, cwd=caller.cwd)).candidates
        return sorted(found, key=lambda c: (-c.handoff.changed_at_ns, c.handoff.id))

    async def _find(self, name: str, caller: Caller) -> Handoff:
        """By id, the beginning of one, or the path of its page; provisional ones too."""
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
            for candidate in await self._open(None, replace(caller, cwd=None)):
                if candidate.handoff.id.startswith(wanted):
                    matching.setdefault(candidate.handoff.id, candidate.handoff)
        if len(matching) == 1:
            return next(iter(matching.values()))
        if matching:
            raise UserError(f"{name[:40]!r} fits several handoffs: {', '.join(sorted(matching))}.")
        raise NotFound(f"There is no handoff {name[:80]!r}. `aimemory handoffs` lists them.")

    async def _party(self, caller: Caller) -> Party:
        found = await self._callers.find(caller)
        harness = caller.harness or (found.row.harness if found.row is not None else None)
        return Party(found.session, harness, self._actor.user, self._actor.machine)

    # -- showing -----------------------------------------------------------------------------------------------------

    async def _text(self, handoff: Handoff, by: Party) -> str:
        return (await self._composer.handoff_text(handoff, by.session, self._config.brief.chars)).value

    def _view(self, handoff: Handoff, standing: Liveness | None) -> HandoffView:
        by = handoff.claimed_by
        return HandoffView(
            id=handoff.id, state=handoff.state.value, title=handoff.title, page=handoff.page,
            project=self._projects.name_of(handoff.project), session=handoff.session, harness=handoff.harness,
            manual=handoff.manual, branch=handoff.branch, checkout=handoff.checkout, to=handoff.to,
            continues=handoff.continues, opened=rfc3339_local(handoff.opened_at_ns),
            changed=rfc3339_local(handoff.changed_at_ns), claimed_by=by.session if by else None,
            claimed_by_harness=by.harness if by else None, claimed_by_user=by.user if by else None,
            claimed=rfc3339_local(handoff.claimed_at_ns) if handoff.claimed_at_ns else None,
            offered_to=tuple(offer.session for offer in handoff.offers),
            its_session=standing.value if standing else None,
        )  # fmt: skip

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

    async def _standing(self, handoff: Handoff) -> Liveness | None:
        row = await self._reader.read(session_row(handoff.session)) if handoff.session else None
        return self._surveyor.standing(row) if row is not None else None

    async def _steps(self, handoff: str) -> list[Step]:
        return [step for _, step in await self._timed_steps(handoff)]

    async def _timed_steps(self, handoff: str) -> list[tuple[int, Step]]:
        steps = []
        events = await self._reader.read(handoff_events([handoff]))
        for number, event in enumerate(events):
            after = fold((e.at_ns, e.data) for e in events[: number + 1])
            said = _said(event.op, event.data, after)
            page = after.page if after else None
            steps.append((event.at_ns, Step(rfc3339_local(event.at_ns), event.op, said, page, handoff)))
        return steps

    async def _now(self, handoff: Handoff, caller: Caller) -> Step:
        standing = await self._standing(handoff) or Liveness.ENDED
        asking = Asking(session=SessionId("-"), harness=caller.harness, user=self._actor.user, cwd=caller.cwd)
        kept = withheld(Candidate(handoff, standing, handoff.page is None), asking)
        said = f"Handoff {handoff.id}: " + (
            f"not offered, for {kept}" if kept else "the next session here is offered it"
        )
        return Step(rfc3339_local(self._clock.now_ns()), "now", said, handoff.page, handoff.id)

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

    async def _verdict(self, row: SessionRow, state: SessionState | None, has_handoff: bool) -> Step:
        name = f"Session {row.id} of {self._title_of(row.harness)}"
        standing = self._surveyor.standing(row)
        closing = await self._reader.read(closing_of(row.id)) if row.is_closed else None
        if closing is not None and closing.why:
            said = f"{name} is closed; its handoff: {closing.why}"
        elif state is None or not state.did_work:
            said = f"{name} did nothing yet: no request of a user, or neither a tool call nor an answer; no handoff"
        elif standing is Liveness.LIVE:
            quiet = self._config.handoff.quiet_seconds
            said = f"{name} is at work, last event {rfc3339_local(row.last_at_ns)}; offered after {quiet} s of quiet"
        elif has_handoff:
            said = f"{name} is {standing.value}; its handoff is above"
        else:
            said = f"{name} is {standing.value}, not closed: offered provisionally to the next session here"
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
