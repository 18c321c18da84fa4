"""Writes handoffs: at a session's close, before it is over, or because somebody asked for one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aimemory import points
from aimemory.errors import Conflict, NotFound, Unavailable, UserError
from aimemory.facts.look import look
from aimemory.handoff.build import handoff_page, handoff_place, handoff_title, later
from aimemory.handoff.generated import Generated, front_fields
from aimemory.handoff.used import used_since
from aimemory.index.events import observations_of
from aimemory.index.events import session as session_row
from aimemory.index.handoffs import given_back_by, handoff_ids
from aimemory.model.gitfacts import GitSummary
from aimemory.model.handoff import FINAL, Handoff, HandoffId, HandoffOp, HandoffState, Party, automatic_handoff_id
from aimemory.model.ids import ProjectId, SessionId, digest
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor, Project
from aimemory.model.session import SessionState
from aimemory.privacy import Sanitized, sanitize, sanitize_tree
from aimemory.sessions.quoting import clip, one_line
from aimemory.sessions.reader import Sessions
from aimemory.sessions.title import plain_title
from aimemory.store.claims import Claims
from aimemory.store.pages import Pages
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.wiki.frontmatter import render

_GIT_TIMEOUT_S = 2.0
_MAX_HANDOFFS = 1000
_DECLARED_BYTES = 16_384
_TO_CHARS = 80

NOTHING = sanitize_tree({})


@dataclass(frozen=True, slots=True)
class Declared:
    """What an agent or a person says of the work; sanitised by `Handover`. Empty texts keep what was said before."""

    summary: str = ""
    next_steps: str = ""
    title: str = ""
    to: str | None = None


class Handover:
    """The one writer of handoff pages."""

    def __init__(
        self, *, claims: Claims, generated: Generated, pages: Pages, reader: Reader, projects: Projects,
        sessions: Sessions, actor: Actor, clock: Clock, title_of: Callable[[str], str], home: str,
    ) -> None:  # fmt: skip
        self._claims = claims
        self._generated = generated
        self._pages = pages
        self._reader = reader
        self._projects = projects
        self._sessions = sessions
        self._actor = actor
        self._clock = clock
        self._title_of = title_of
        self._home = home

    async def at_close(
        self, state: SessionState, project: Project, git: GitSummary | None, session_page: str | None, how: str
    ) -> tuple[HandoffId | None, str]:
        """The handoff of a session that is being closed, and why there is one or none.

        What the session had taken is done if it used it, else given back. Safe to repeat.
        """
        held = self._claims.held_by(state.id)
        used = await self._give_back_unused(state, held)
        if not state.did_work and not used:
            return None, "it did nothing: no request of a user, or neither a tool call nor an answer"
        if not used and (given_back := held[0].id if held else await self._given_back(state)):
            return None, f"it took handoff {given_back}, ran and wrote nothing, and gave it back"
        continues = used[0].id if used else None
        written, why = await self._write(state, project, git, session_page, how, continues=continues)
        await self._finish_used(state, used)
        return written, why

    async def settle(self, session: SessionId) -> None:
        """As `at_close` does with what the session had taken, for one whose own handoff is written already."""
        await self._claims.level()
        state = await self._sessions.state(session)
        if state is not None:
            await self._finish_used(state, await self._give_back_unused(state, self._claims.held_by(session)))

    async def _give_back_unused(self, state: SessionState, held: Sequence[Handoff]) -> list[Handoff]:
        """Returns those that the session used."""
        used = [handoff for handoff in held if await self._was_used(handoff, state.id)]
        because = _because("its receiver closed without using it")
        for handoff in (one for one in held if one not in used):
            await self._claims.note(HandoffOp.RELEASE, handoff.id, self._party(state), because, must=False)
        return used

    async def _finish_used(self, state: SessionState, used: Sequence[Handoff]) -> None:
        for handoff in used:
            await self.finish(HandoffOp.DONE, handoff.id, self._party(state), "its receiver used it and closed")

    async def checkpoint(
        self, session: SessionId, how: str, declared: Declared | None = None
    ) -> tuple[HandoffId | None, str]:
        """Write a session's handoff before the session is over; it is offered when the session is quiet or closed.

        Nothing that the session has taken becomes done by this.
        """
        await self._claims.level()
        state = await self._sessions.enriched(session)
        row = await self._reader.read(session_row(session))
        if state is None or row is None:
            return None, "nothing of this session was recorded"
        if not state.did_work and declared is None:
            return None, "it did nothing yet: no request of a user, or neither a tool call nor an answer"
        project = self._projects.by_id(row.project) or self._projects.unfiled
        git = await self._look(state)
        continues = self.continued_by(session)
        return await self._write(state, project, git, row.page, how, continues=continues, declared=declared)

    async def write_taken(self, taken: Handoff) -> None:
        """The page of a handoff that was taken before its session was closed."""
        await self._claims.level()
        state = await self._sessions.enriched(taken.session) if taken.session else None
        if state is None:
            return
        project = self._projects.by_id(taken.project) or self._projects.unfiled
        how = f"not closed, last event {rfc3339_local(state.last_at_ns)}"
        page = await self._page_of_session(taken.session)
        git, checkout = await self._look(state), await self._checkout(state.cwd)
        held = self.continued_by(state.id)
        await self._put(taken, state, project, git, page, how, checkout, None, held)

    async def pages_of(self, session: SessionId) -> list[str]:
        """Paths of the pages of the handoffs that this session left, oldest first."""
        ids = await self._reader.read(handoff_ids(session=session, limit=_MAX_HANDOFFS))
        found = [await self._claims.find(HandoffId(identifier)) for identifier in ids]
        pages = sorted((handoff.opened_at_ns, handoff.page) for handoff in found if handoff and handoff.page)
        there = await self._pages.existing([page for _, page in pages])
        return [page for _, page in pages if page in there]

    def continued_by(self, session: SessionId) -> HandoffId | None:
        """The handoff that this session has taken and goes on with."""
        held = self._claims.held_by(session)
        return held[0].id if held else None

    async def begin(self, by: Party, project: Project, declared: Declared, *, cwd: str | None) -> Handoff:
        """A handoff by hand, for the session of `by` or for none; a second one of the session rewrites the first.

        Raises UserError without a summary, and for a session in which nothing was done.
        """
        if not declared.summary.strip():
            raise UserError("Say in the summary what is done, what is open and what failed; nothing was handed over.")
        await self._claims.level()
        state = await self._sessions.enriched(by.session) if by.session else None
        if state is not None and not state.did_work:
            raise UserError("Nothing was done in this session yet, so there is nothing to hand over.")
        known = next((h for h in self._claims.live() if h.manual and _is_open_of(h, by.session)), None)
        identifier = known.id if known else _manual_id(by, self._clock.now_ns())
        page = await self._page_of_session(by.session)
        how = f"handed over by hand {rfc3339_local(self._clock.now_ns())}"
        git = await self._look(state) if state is not None else await self._look_at(cwd, None)
        draft = known or Handoff(
            id=identifier, session=by.session, project=project.id, harness=by.harness or "", manual=True,
            state=HandoffState.OPEN, opened_at_ns=self._clock.now_ns(), changed_at_ns=self._clock.now_ns(),
        )  # fmt: skip
        checkout = await self._checkout(state.cwd if state else cwd)
        continues = self.continued_by(by.session) if by.session else None
        written, why = await self._put(draft, state, project, git, page, how, checkout, declared, continues)
        if written is None or (found := self._claims.get(written)) is None:
            raise Conflict(f"The handoff was not written: {why}.")
        for other in self._claims.live():
            if not other.manual and _is_open_of(other, by.session):  # a session has one open handoff at a time
                await self.finish(HandoffOp.CANCEL, other.id, by, f"handed over by hand as handoff {found.id}")
        return found

    async def finish(self, op: HandoffOp, handoff: HandoffId, by: Party, why: str) -> Handoff:
        """Done, cancelled or expired: in the journal, then in the page's `status`. Raises Conflict if it can't be."""
        after = await self._claims.note(op, handoff, by, _because(why))
        assert after is not None
        points.reached("handoff.finished")
        await self._set_status(after)
        return after

    async def moved(self, handoff: Handoff, path: str) -> Handoff | None:
        """Follow a page of this handoff that was found here; None while one lies where it was written."""
        if handoff.page is None or handoff.state in FINAL or await self._pages.existing([handoff.page]):
            return None
        about = sanitize_tree(described(handoff, path) | {"why": "its page was moved by hand"})
        return await self._claims.note(HandoffOp.OPEN, handoff.id, self._by_us(), about, must=False)

    async def _set_status(self, handoff: Handoff) -> None:
        try:
            async with self._projects.places.kept():
                page = (self._claims.get(handoff.id) or handoff).page
                if page is not None:
                    await self._generated.set_field(page, "status", handoff.state.value, f"Handoff {handoff.state}")
        except (NotFound, Conflict, UserError, Unavailable):  # the journal has it; the page is a person's by now
            return

    # -- writing -----------------------------------------------------------------------------------------------------

    async def _write(
        self, state: SessionState, project: Project, git: GitSummary | None, session_page: str | None, how: str, *,
        continues: HandoffId | None, declared: Declared | None = None,
    ) -> tuple[HandoffId | None, str]:  # fmt: skip
        draft = await self.own(state, project.id)
        if isinstance(draft, str):
            return None, draft
        checkout = await self._checkout(state.cwd)
        return await self._put(draft, state, project, git, session_page, how, checkout, declared, continues)

    async def _put(
        self, draft: Handoff, state: SessionState | None, project: Project, git: GitSummary | None,
        session_page: str | None, how: str, checkout: str | None, declared: Declared | None,
        continues: HandoffId | None,
    ) -> tuple[HandoffId | None, str]:  # fmt: skip
        """Page first, then the line: after a crash in between the same id leads to the same page."""
        async with self._projects.places.kept():
            known = self._claims.get(draft.id)
            draft = (
                replace(draft, page=known.page) if known is not None else draft
            )  # it may have moved with its project
            project = self._projects.by_id(project.id) or project
            if state is not None:
                session_page = await self._page_of_session(state.id) or session_page
            return await self._put_there(draft, state, project, git, session_page, how, checkout, declared, continues)

    async def _put_there(
        self, draft: Handoff, state: SessionState | None, project: Project, git: GitSummary | None,
        session_page: str | None, how: str, checkout: str | None, declared: Declared | None,
        continues: HandoffId | None,
    ) -> tuple[HandoffId | None, str]:  # fmt: skip
        harness = self._title_of(draft.harness) if draft.harness else f"{self._actor.user}, by hand"
        said = _sanitised(declared or Declared())
        handoff = replace(
            draft, summary=said["summary"] or draft.summary, next_steps=said["next_steps"] or draft.next_steps,
            to=said["to"] or draft.to, branch=(git.branch if git else None) or draft.branch, checkout=checkout,
            continues=continues or draft.continues, upto=_heard_upto(state) if state is not None else None,
        )  # fmt: skip
        before = await self._claims.find(handoff.continues) if handoff.continues else None
        handoff = replace(handoff, title=said["title"] or draft.title or handoff_title(state, harness, before))
        page = handoff_page(
            handoff, state, git, actor=self._actor, project=project, harness_name=harness, how=how,
            session_page=session_page, now_ns=self._clock.now_ns(), before=before,
        )  # fmt: skip
        started_ns = state.first_at_ns if state is not None else draft.opened_at_ns
        path = draft.page or handoff_place(handoff, page.title, started_ns, project, self._actor)
        content = sanitize(render(front_fields(page), page.body))
        is_there = await self._generated.put(
            path, content, sanitize(later(handoff, state, how)), was_written=draft.page is not None, summary="Handoff"
        )
        if not is_there:
            await self._claims.note(
                HandoffOp.CANCEL, handoff.id, self._by_us(), _because("its page was deleted by hand"), must=False
            )
            return None, "its page was deleted by hand, so it is not written again"
        points.reached("handoff.page-written")
        about = sanitize_tree(described(handoff, path) | {"why": how})
        done = await self._claims.note(HandoffOp.OPEN, handoff.id, self._by_us(handoff), about, must=False)
        if done is None and (final := self._claims.get(handoff.id)) is not None:
            await self._set_status(final)
        return (handoff.id, how) if done else (None, "it became final in this very moment")

    async def own(self, state: SessionState, project: ProjectId) -> Handoff | str:
        """The session's open handoff to write anew, or the next one, not known to anybody yet; or why there is none.

        Only work counts as new, also work from before a claim that was heard of after it. An end alone, which may come
        a minute after the work was taken, does not. The next one continues what the session took, else the one before.
        """
        await self._claims.ready()
        mine = [h for h in self._claims.live() if h.session == state.id]
        manual = next((h for h in mine if h.manual and h.state is HandoffState.OPEN), None)
        if manual is not None:
            return manual
        before = await self._made_by_hand(state.id)
        for number in range(_MAX_HANDOFFS):
            identifier = automatic_handoff_id(state.id, number)
            known = await self._claims.find(identifier)
            if known is not None and known.state is HandoffState.OPEN:
                return known
            if known is None:
                passed = next((h for h in before if _tells_all(h, state)), None)
                if passed is not None:
                    return f"handoff {passed.id} tells of all of it, and is {passed.state}"
                return Handoff(
                    id=identifier, session=state.id, project=project, harness=state.harness, manual=False,
                    state=HandoffState.OPEN, opened_at_ns=state.last_at_ns, changed_at_ns=state.last_at_ns,
                    continues=self.continued_by(state.id) or (before[-1].id if before else None),
                )  # fmt: skip
            before.append(known)
        return f"it has had {_MAX_HANDOFFS} handoffs"

    async def _made_by_hand(self, session: SessionId) -> list[Handoff]:
        """What the session handed over by hand, also what became final long ago."""
        ids = await self._reader.read(handoff_ids(session=session, limit=_MAX_HANDOFFS))
        found = [await self._claims.find(HandoffId(identifier)) for identifier in ids]
        return [handoff for handoff in found if handoff is not None and handoff.manual]

    # -- helpers -----------------------------------------------------------------------------------------------------

    async def _given_back(self, state: SessionState) -> str | None:
        """What it gave back after its last work: at a closing that a crash cut off, or before it was opened again."""
        released = await self._reader.read(given_back_by(state.id))
        return next((event.handoff for event in released if event.at_ns >= state.worked_at_ns), None)

    async def _was_used(self, handoff: Handoff, session: SessionId) -> bool:
        observations = await self._reader.read(observations_of(session))
        return used_since(observations, handoff.claimed_at_ns or 0, handoff.offered_at_ns(session))

    async def _look(self, state: SessionState) -> GitSummary | None:
        return await self._look_at(state.cwd, state.first_at_ns)

    async def _look_at(self, cwd: str | None, since_ns: int | None) -> GitSummary | None:
        if cwd is None:
            return None
        checkout = await self._projects.checkout(cwd)
        return await look(checkout, _GIT_TIMEOUT_S, self._clock, self._home, since_ns=since_ns)

    async def _checkout(self, cwd: str | None) -> str | None:
        return None if cwd is None else await self._projects.checkout(cwd) or cwd

    async def _page_of_session(self, session: SessionId | None) -> str | None:
        row = await self._reader.read(session_row(session)) if session else None
        return row.page if row else None

    def _party(self, state: SessionState) -> Party:
        return Party(state.id, state.harness, self._actor.user, self._actor.machine)

    def _by_us(self, handoff: Handoff | None = None) -> Party:
        session, harness = (handoff.session, handoff.harness) if handoff else (None, None)
        return Party(session, harness, self._actor.user, self._actor.machine)


def _because(why: str) -> Sanitized[dict[str, Any]]:
    return sanitize(why).derive(lambda text: {"why": text})


def _is_open_of(handoff: Handoff, session: SessionId | None) -> bool:
    return session is not None and handoff.session == session and handoff.state is HandoffState.OPEN


def _manual_id(by: Party, now_ns: int) -> HandoffId:
    return HandoffId(digest("manual", by.session or "", by.user, str(now_ns), size=6))


def _sanitised(declared: Declared) -> dict[str, Any]:
    clean: dict[str, Any] = sanitize_tree(
        {
            "summary": declared.summary.strip(), "next_steps": declared.next_steps.strip(),
            "title": declared.title, "to": declared.to or "",
        },
        leaf_cap_bytes=_DECLARED_BYTES,
    ).value  # fmt: skip
    return clean | {"title": plain_title(clean["title"]), "to": clip(one_line(clean["to"]), _TO_CHARS) or None}


def _tells_all(handoff: Handoff, state: SessionState) -> bool:
    """Whether a handoff that is no longer open tells of all the work of its session."""
    if handoff.upto is not None:
        return handoff.upto >= _heard_upto(state)
    return (handoff.claimed_at_ns or handoff.changed_at_ns) >= state.worked_at_ns


def _heard_upto(state: SessionState) -> int:
    """Journal position of the session's latest work; what only a transcript tells of has none."""
    return min(state.worked_seq, state.last_seq)


def described(handoff: Handoff, page: str | None = None) -> dict[str, Any]:
    """What a handoff is, for a line that is the first to say so."""
    names = ("session", "project", "harness", "manual", "title", "branch", "checkout", "to", "continues", "summary",
             "next_steps", "upto")  # fmt: skip
    told = {name: getattr(handoff, name) for name in names}
    return {name: value for name, value in told.items() if value not in (None, "")} | ({"page": page} if page else {})
