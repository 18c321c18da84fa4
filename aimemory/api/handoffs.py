"""Handoffs as operations: what agents, HTTP and the command line do with them."""

from dataclasses import replace

from aimemory.api.history import History
from aimemory.api.lookup import Lookup, refuse_where_off
from aimemory.brief.compose import Composer, Moment, Occasion
from aimemory.config import Config
from aimemory.errors import Conflict, UserError
from aimemory.handoff.batons import Batons
from aimemory.handoff.handover import NOTHING, Declared, Handover, described
from aimemory.handoff.lifecycle import has
from aimemory.index.handoffs import handoff_ids
from aimemory.model.answers import Caller, HandoffList, HandoffView, Step
from aimemory.model.handoff import Handoff, HandoffId, HandoffOp, HandoffState, Party
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.privacy import sanitize_tree
from aimemory.sessions.liveness import Liveness
from aimemory.sessions.reader import Sessions
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_MAX_LISTED = 200
_OFFERS = 2
MCP = "mcp"
"""The harness of a client whose name we don't know."""


class Handoffs:
    """Reached as `Memory.handoffs`. No question changes anything, but a brief that an agent asks for: it offers."""

    def __init__(
        self, *, lookup: Lookup, history: History, claims: Claims, handover: Handover, batons: Batons,
        composer: Composer, sessions: Sessions, reader: Reader, projects: Projects, config: Config, clock: Clock,
    ) -> None:  # fmt: skip
        self._lookup = lookup
        self._history = history
        self._claims = claims
        self._handover = handover
        self._batons = batons
        self._composer = composer
        self._sessions = sessions
        self._reader = reader
        self._projects = projects
        self._config = config
        self._clock = clock
        self._takers: dict[HandoffId, int] = {}
        """By which process a handoff was taken for a session that isn't known: it may ask again."""

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
        where = await self._lookup.where(project, caller)
        limit = max(1, min(limit, _MAX_LISTED))
        views: list[HandoffView] = []
        if state in (None, HandoffState.OPEN):
            for found in await self._lookup.open_handoffs(where.project, caller):
                views.append(self._view(found.handoff, found.standing))
        shown = {view.id for view in views}
        projects = [where.project.id] if where.project else []
        open_first = [["open"], [str(s) for s in HandoffState if s is not HandoffState.OPEN]]
        for states in [[state]] if state else open_first:
            for identifier in await self._reader.read(handoff_ids(projects, states, limit=limit)):
                handoff = await self._claims.find(HandoffId(identifier))
                if handoff is not None and identifier not in shown:
                    views.append(self._view(handoff, None))
                    shown.add(identifier)
        name = where.project.path if where.project else None
        return HandoffList(tuple(views[:limit]), name, where.how)

    async def get(self, handoff: str, caller: Caller) -> tuple[HandoffView, list[Step]]:
        """One handoff by its id, the beginning of it, or its page; and what happened to it."""
        found = await self._lookup.handoff(handoff, caller)
        return self._view(found, await self._lookup.standing(found)), await self._history.steps(found.id)

    # -- doing -------------------------------------------------------------------------------------------------------

    async def begin(
        self, *, caller: Caller, summary: str, next_steps: str = "", title: str = "", to: str | None = None,
        project: str | None = None, by_hand: bool = False,
    ) -> HandoffView:  # fmt: skip
        """Hand over on purpose; `by_hand`: a person does, not an agent's tool.

        Raises UserError without a summary, or when nothing was done in the session.
        """
        await self._claims.level()
        where = await self._lookup.where(project, caller)
        refuse_where_off(where.off_by, caller, project)
        by = await self._lookup.party(caller)
        if by.harness is None and not by_hand:
            by = replace(by, harness=MCP)
        home = where.project or self._projects.unfiled
        await self._projects.ensure(home)
        declared = Declared(summary, next_steps, title, to or None)
        return self._view(await self._handover.begin(by, home, declared, cwd=caller.cwd), Liveness.ENDED)

    async def claim(self, *, caller: Caller, handoff: str) -> tuple[HandoffView, str]:
        """Take a handoff: it, and what it carries as a fenced text. Raises Conflict that says who has it."""
        found = await self._lookup.handoff(handoff, caller)
        by = await self._lookup.party(caller)
        if has(found, by) or (found.state is HandoffState.CLAIMED and self._is_taker(found.id, caller)):
            return self._view(found, None), await self._text(found, by)
        if found.session is not None and found.session == by.session:
            raise UserError("This handoff is of your own session; another one can take it.")
        if self._claims.get(found.id) is None:  # provisional: the journal doesn't know it yet
            await self._claims.note(HandoffOp.OFFER, found.id, by, sanitize_tree(described(found)))
        taken = await self._batons.claim(found.id, by)
        if by.session is None and caller.peer is not None:
            self._takers[found.id] = caller.peer
        return self._view(taken, None), await self._text(taken, by)

    async def release(self, *, caller: Caller, handoff: str) -> HandoffView:
        """Give a taken handoff back, so that another session is offered it."""
        found = await self._lookup.handoff(handoff, caller)
        after = await self._claims.note(HandoffOp.RELEASE, found.id, await self._lookup.party(caller), NOTHING)
        return self._view(after or found, None)

    async def cancel(self, *, caller: Caller, handoff: str, reason: str = "") -> HandoffView:
        """Nobody is offered it any more. Raises Conflict when it is done, cancelled or expired already."""
        found = await self._lookup.handoff(handoff, caller)
        by = await self._lookup.party(caller)
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
        refuse_where_off((await self._lookup.where(None, caller)).off_by, caller, None)
        by = await self._lookup.party(caller)
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

        Returns the fenced text ("" when there is nothing to tell, or in a folder that is off), the project and how it
        was found.
        """
        await self._claims.level()
        where = await self._lookup.where(project, caller)
        if where.off_by is not None:
            raise UserError(f"`aimemory off` holds for {where.off_by}: no brief is given there.")
        by = await self._lookup.party(caller)
        occasion = Occasion(
            cwd=caller.cwd, session=by.session, harness=by.harness, moment=Moment.ASKED,
            budget_chars=self._config.brief.chars, git_s=self._config.brief.git_ms / 1000,
        )  # fmt: skip
        name = where.project.path if where.project else None
        for _ in range(_OFFERS):
            brief = await self._composer.compose(where.project, occasion)
            if brief.offer is None or by.session is None:
                break
            offered = brief.offer.handoff
            about = sanitize_tree(described(offered))
            if await self._claims.note(HandoffOp.OFFER, offered.id, by, about, must=False) is not None:
                self._claims.given(offered.id, by.session, self._clock.now_ns())
                break  # else it was taken by another just now
        return brief.text.value, name, where.how

    def _is_taker(self, handoff: HandoffId, caller: Caller) -> bool:
        return caller.peer is not None and self._takers.get(handoff) == caller.peer

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
