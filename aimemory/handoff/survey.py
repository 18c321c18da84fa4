"""What a project has to hand over just now: what can be offered to whom, who is at work, who took what."""

from dataclasses import dataclass, field, replace

from aimemory.handoff.handover import Handover
from aimemory.handoff.offers import Asking, Candidate, by_rank, withheld
from aimemory.index.events import SessionRow, sessions, unclosed_sessions
from aimemory.index.events import session as session_row
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock
from aimemory.model.scope import UNFILED_FOLDER, Project
from aimemory.model.session import SessionState
from aimemory.sessions.liveness import IsAlive, Liveness, liveness
from aimemory.sessions.reader import Sessions
from aimemory.store.claims import Claims
from aimemory.store.pages import Pages
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_LOOK_BACK = 30
_MAX_WRITTEN = 10
_MAX_PROVISIONAL = 8
"""So many of the newest are looked at, of those written: of this work tree and of others, for anyone and for somebody.
Older ones than these nobody goes on with, and a brief can't wait for them."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found; `choose` says what of it is for whom. candidates: open handoffs, in no order. held: what the
    asking session has already, taken or offered. live: other sessions at work. rows: the project's latest sessions.
    taken: the handoff of each session whose work somebody has taken.
    """

    candidates: tuple[Candidate, ...] = ()
    held: Handoff | None = None
    live: tuple[SessionRow, ...] = ()
    rows: tuple[SessionRow, ...] = ()
    taken: dict[SessionId, Handoff] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """offer: the best for who asks, None if it has one already. others: more that it could take, best first.
    withheld: each other one and why not.
    """

    offer: Candidate | None
    others: tuple[Candidate, ...]
    withheld: tuple[tuple[Candidate, str], ...]


def choose(survey: Survey, asking: Asking) -> Choice:
    """What of the survey is for this session."""
    judged = [(candidate, withheld(candidate, asking)) for candidate in by_rank(list(survey.candidates), asking)]
    held = survey.held.id if survey.held else None
    free = [candidate for candidate, why in judged if why is None and candidate.handoff.id != held]
    kept = tuple((candidate, why) for candidate, why in judged if why is not None)
    if survey.held is not None:
        return Choice(None, tuple(free), kept)
    return Choice(free[0] if free else None, tuple(free[1:]), kept)


class Surveyor:
    """quiet_ns: silence after which the work of an unclosed session is offered."""

    def __init__(
        self, *, claims: Claims, handover: Handover, pages: Pages, sessions: Sessions, reader: Reader,
        projects: Projects, clock: Clock, quiet_ns: int, is_alive: IsAlive,
    ) -> None:  # fmt: skip
        self._claims = claims
        self._handover = handover
        self._pages = pages
        self._sessions = sessions
        self._reader = reader
        self._projects = projects
        self._clock = clock
        self._quiet_ns = quiet_ns
        self._is_alive = is_alive

    async def survey(self, project: Project, *, session: SessionId | None, cwd: str | None) -> Survey:
        """Look at the project for one who asks; without handoffs while those aren't known yet."""
        rows = await self._rows(project)
        if project.id == UNFILED_FOLDER:  # what is under no project has nothing in common but the directory
            rows = [row for row in rows if cwd is None or row.cwd == cwd]
        live = tuple(r for r in rows if r.id != session and self.standing(r) is Liveness.LIVE and r.prompts)
        if not self._claims.is_ready:
            return Survey(live=live, rows=tuple(rows))
        handoffs = self._claims.live(project.id)
        if project.id == UNFILED_FOLDER:
            here = {row.id for row in rows}
            handoffs = [
                h for h in handoffs if (h.session in here if h.session else cwd is None or h.checkout == cwd)
            ]  # by hand, without a session: its directory too
        checkout = None if cwd is None else await self._projects.checkout(cwd) or cwd
        candidates = [*await self._written(handoffs, rows, checkout), *await self._provisional(rows, handoffs)]
        taken = {h.session: h for h in handoffs if h.session and h.state is HandoffState.CLAIMED}
        return Survey(tuple(candidates), self._held(session), live, tuple(rows), taken)

    def standing(self, row: SessionRow) -> Liveness:
        """How a session stands now."""
        if row.is_closed:
            return Liveness.ENDED
        return liveness(row, self._clock.now_ns(), self._is_alive, self._quiet_ns)

    async def has_page(self, handoff: Handoff) -> bool:
        """Whether its page lies where it was written; what has none yet lacks nothing."""
        return handoff.page is None or bool(await self._pages.existing([handoff.page]))

    async def _rows(self, project: Project) -> list[SessionRow]:
        latest = await self._reader.read(sessions([project.id], limit=_LOOK_BACK))
        known = {row.id for row in latest}
        return latest + [r for r in await self._reader.read(unclosed_sessions(project.id)) if r.id not in known]

    def _held(self, session: SessionId | None) -> Handoff | None:
        if session is None:
            return None
        offered = [h for h in self._claims.offered_to(session) if h.state is HandoffState.OPEN]
        return next(iter([*self._claims.held_by(session), *offered]), None)

    async def _written(self, handoffs: list[Handoff], rows: list[SessionRow], checkout: str | None) -> list[Candidate]:
        by_id = {row.id: row for row in rows}
        open_ones = [h for h in handoffs if h.page is not None and h.state is HandoffState.OPEN]
        kinds: dict[tuple[bool, bool], list[Handoff]] = {}
        for handoff in sorted(open_ones, key=lambda h: (not h.manual, -h.changed_at_ns)):
            kinds.setdefault((handoff.checkout == checkout, handoff.to is None), []).append(handoff)
        chosen = [handoff for kind in kinds.values() for handoff in kind[:_MAX_WRITTEN]]
        there = await self._pages.existing([h.page for h in chosen if h.page is not None])
        found = []
        for handoff in chosen:
            if handoff.page not in there:
                continue  # a person deleted it: he wants it offered to nobody
            row = by_id.get(handoff.session) if handoff.session else None
            if row is None and handoff.session is not None:
                row = await self._reader.read(session_row(handoff.session))
            found.append(Candidate(handoff, self.standing(row) if row is not None else Liveness.ENDED))
        return found

    async def _provisional(self, rows: list[SessionRow], handoffs: list[Handoff]) -> list[Candidate]:
        """Of sessions that nobody closed and that are quiet."""
        written = {h.session for h in handoffs if h.page is not None and h.state is HandoffState.OPEN}
        found: list[Candidate] = []
        for row in sorted(rows, key=lambda r: -r.last_at_ns):
            if len(found) >= _MAX_PROVISIONAL:
                break
            standing = self.standing(row)
            if row.is_closed or standing is Liveness.LIVE or row.id in written or not row.prompts:
                continue
            state = await self._sessions.state(row.id)
            if state is not None and state.did_work and (draft := await self._draft(state, row)) is not None:
                found.append(Candidate(draft, standing, provisional=True))
        return found

    async def _draft(self, state: SessionState, row: SessionRow) -> Handoff | None:
        draft = await self._handover.own(state, row.project)
        if isinstance(draft, str) or draft.checkout is not None or state.cwd is None:
            return None if isinstance(draft, str) else draft
        return replace(draft, checkout=await self._projects.checkout(state.cwd) or state.cwd)
