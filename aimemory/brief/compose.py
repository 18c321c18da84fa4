"""Collects what a brief is made of, and makes it: for a hook's answer, for a tool and for `aimemory brief` alike."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from aimemory.brief.fence import fence
from aimemory.brief.fill import fill
from aimemory.brief.parts import (
    RANK_GIT,
    RANK_RELATED,
    BriefHandoff,
    BriefPart,
    BriefSession,
    git_part,
    handoff_parts,
    last_session_parts,
    live_sessions_part,
    news_part,
    open_handoffs_part,
    other_sessions_part,
    own_session_part,
    recent_pages_part,
    related_part,
    rules_part,
)
from aimemory.errors import UserError
from aimemory.facts.look import look
from aimemory.handoff.lifecycle import taker
from aimemory.handoff.offers import Asking, Candidate
from aimemory.handoff.survey import Choice, Survey, Surveyor, choose
from aimemory.index.events import SessionRow
from aimemory.index.pages import PageInfo, newest_pages, rules_and_pinned
from aimemory.index.search import Scope
from aimemory.model.gitfacts import GitSummary
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.ids import PageId, SessionId, Version, digest
from aimemory.model.page import Page
from aimemory.model.protocols import Clock
from aimemory.model.scope import GLOBAL_FOLDER, Actor, Project
from aimemory.model.session import SessionState
from aimemory.privacy import Sanitized, sanitize
from aimemory.recall.answer import Request, search
from aimemory.recall.hits import is_past
from aimemory.sessions.reader import Sessions
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_EARLIER = 5
_TRANSCRIPT_S = 0.2
_READ_S = 0.05
_PAGES = 8
_RELATED = 4
_LIVE = 4
_QUERY_FILES = 8
_PROMPT_CHARS = 300
_RESUME_CHARS = 2_500
_COMPACT_CHARS = 4_000
_OF_THE_MOMENT = (RANK_GIT, RANK_RELATED)
"""What a session's own work changes all the time: no reason to tell all of it again when it is resumed."""

_PAGE_KINDS = ("decision", "gotcha", "concept", "procedure", "note")
_COMMON_BRANCHES = ("main", "master", "trunk", "develop", "dev", "head")


class Moment(StrEnum):
    """Why a brief is made: a session starts, goes on with what it knew, lost sight of it, or somebody asks."""

    START = "start"
    RESUME = "resume"
    COMPACT = "compact"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Occasion:
    """Who is briefed, when and how much. session None: a person who asks. prompt: the request it comes with. since_ns:
    what a session that goes on was told last, so that only what is newer is told; None for all.

    git_s: limit for git, in seconds; what takes longer reads as not checked. until_s: on the event loop's clock, after
    which a transcript is not read any more; None for no hurry.
    """

    cwd: str | None
    session: SessionId | None
    budget_chars: int
    git_s: float
    harness: str | None = None
    moment: Moment = Moment.START
    prompt: str | None = None
    since_ns: int | None = None
    until_s: float | None = None
    budget_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BriefText:
    """The fenced text, empty when there is nothing to tell. told: the sessions it speaks of. offer: the handoff that
    it offers. live: sessions it names as at work, whose work may be offered later. news: handoffs of which it says who
    took them. content: a digest of all there is to tell, equal while nothing changed, whatever the occasion.
    """

    text: Sanitized[str]
    content: str = ""
    told: tuple[SessionId, ...] = ()
    offer: Candidate | None = None
    live: tuple[SessionId, ...] = ()
    news: tuple[Handoff, ...] = ()


class Composer:
    """Makes briefs. key: secret of the fence's tag. title_of: a harness's name as people write it. offer: content,
    notice or off.
    """

    def __init__(
        self, *, reader: Reader, sessions: Sessions, projects: Projects, surveyor: Surveyor, claims: Claims, key: bytes,
        title_of: Callable[[str], str], clock: Clock, home: str, actor: Actor, offer: str,
    ) -> None:  # fmt: skip
        self._projects = projects
        self._surveyor = surveyor
        self._claims = claims
        self._home = home
        self._clock = clock
        self._reader = reader
        self._sessions = sessions
        self._key = key
        self._title_of = title_of
        self._actor = actor
        self._offer = offer

    async def compose(self, project: Project | None, occasion: Occasion) -> BriefText:
        """The brief for a session that starts or goes on, or for a person who asks."""
        if project is None:
            return BriefText(sanitize(""))
        git_task = asyncio.ensure_future(self._git(occasion.cwd, occasion.git_s))
        try:
            survey = await self._surveyor.survey(project, session=occasion.session, cwd=occasion.cwd)
            rules = await self._rules(project)
            git = await git_task
        finally:
            git_task.cancel()
            await asyncio.gather(git_task, return_exceptions=True)
        survey, choice = _newer(survey, choose(survey, await self._asking(occasion, git)), occasion)
        parts, told, live = await self._about_sessions(survey, choice, occasion, git)
        if occasion.since_ns is not None:
            if not any(part.items for part in parts if part.rank != RANK_GIT):
                return BriefText(sanitize(""))
        elif occasion.moment is not Moment.COMPACT:
            related = await self._related(project, occasion, git, rules)
            shown = {page.path for page in related}
            recent = [page for page in await self._pages(project) if page.path not in shown]
            parts += [related_part(related), recent_pages_part(recent)]
        if occasion.since_ns is None:
            parts.append(rules_part(rules))
        if not any(part.items for part in parts):
            return BriefText(sanitize(""))
        if not any(part.rank == RANK_GIT for part in parts):
            parts.append(git_part(git))
        lasting = [part for part in parts if part.rank not in _OF_THE_MOMENT]
        whole = fill(lasting, occasion.budget_chars, budget_bytes=occasion.budget_bytes).text
        offer = choice.offer if self._offer != "off" else None
        return BriefText(self._filled(parts, occasion), digest("brief", whole), told, offer, live)

    async def follow_up(
        self, project: Project | None, occasion: Occasion, live_before: Sequence[SessionId]
    ) -> BriefText:
        """What a session is told at a later request: who took what it was offered, and the work of those it knows as
        live once they are quiet. live_before: whom its brief named as live; the answer says who of them still is.
        """
        session = occasion.session
        if project is None or session is None:
            return BriefText(sanitize(""))
        news = [
            h for h in self._claims.offered_to(session) if h.state is HandoffState.CLAIMED and session not in h.told
        ]
        parts = (
            [news_part([f"Handoff {h.id}, which you were offered, was taken by {taker(h)}" for h in news])]
            if news
            else []
        )
        offer, left = None, tuple(live_before)
        if live_before and self._offer != "off":
            survey = await self._surveyor.survey(project, session=session, cwd=occasion.cwd)
            choice = choose(survey, await self._asking(occasion, None))
            if choice.offer is not None and choice.offer.handoff.session in live_before:
                offer = choice.offer
                left = tuple(one for one in live_before if one != offer.handoff.session)
                git = await self._git(occasion.cwd, occasion.git_s)
                parts += handoff_parts(
                    await self._brief_handoff(offer.handoff, until_s=occasion.until_s),
                    git,
                    here=occasion.cwd,
                    notice=self._offer == "notice",
                )
        text = self._filled(parts, occasion) if parts else sanitize("")
        return BriefText(text, "", (), offer, left, tuple(news))

    async def handoff_text(self, handoff: Handoff, reader: SessionId | None, budget_chars: int) -> Sanitized[str]:
        """What a handoff carries, fenced, for one that asks for it by name."""
        occasion = Occasion(cwd=handoff.checkout, session=reader, budget_chars=budget_chars, git_s=0)
        brief = await self._brief_handoff(handoff, reader)
        return self._filled([part for part in handoff_parts(brief, None) if part.rank != RANK_GIT], occasion)

    def _filled(self, parts: list[BriefPart], occasion: Occasion) -> Sanitized[str]:
        limits = {Moment.RESUME: _RESUME_CHARS, Moment.COMPACT: _COMPACT_CHARS}
        budget = min(occasion.budget_chars, limits.get(occasion.moment, occasion.budget_chars))
        filled = fill(parts, budget, budget_bytes=occasion.budget_bytes)
        text = sanitize(filled.text)
        if not text.value:
            return text
        return text.derive(lambda body: fence(body, key=self._key, session=occasion.session or ""))

    async def _about_sessions(
        self, survey: Survey, choice: Choice, occasion: Occasion, git: GitSummary | None
    ) -> tuple[list[BriefPart], tuple[SessionId, ...], tuple[SessionId, ...]]:
        """What sessions did and do: the handoff or the last session, who is at work, what else is open, what was."""
        parts: list[BriefPart] = []
        given = survey.held or (choice.offer.handoff if choice.offer else None)
        if given is not None and self._offer != "off":
            brief = await self._brief_handoff(given, occasion.session, until_s=occasion.until_s)
            parts += handoff_parts(
                brief,
                git,
                here=occasion.cwd,
                notice=self._offer == "notice" or (brief.is_yours and occasion.moment is Moment.COMPACT),
            )
        if occasion.moment is Moment.COMPACT and occasion.session is not None:
            parts += await self._own(occasion.session)
        busy = [told for row in survey.live[:_LIVE] if (told := await self._told(row)) is not None]
        parts.append(live_sessions_part(busy, here=occasion.cwd))
        live = tuple(told.state.id for told in busy)
        others = choice.others if self._offer != "off" else ()
        parts.append(
            open_handoffs_part([await self._brief_handoff(c.handoff, is_whole=False) for c in others[:_EARLIER]])
        )
        skip = {occasion.session, *live, given.session if given else None}
        earlier = await self._worked((row for row in survey.rows if row.id not in skip), survey, one_more=given is None)
        if given is None and earlier:
            parts += last_session_parts(earlier[0], git, here=occasion.cwd)
            rest = earlier[1:]
        else:
            rest = earlier
        parts.append(other_sessions_part(rest))
        told_of = [given.session] if given is not None and given.session else []
        return parts, (*told_of, *(told.state.id for told in earlier), *live), live

    async def _own(self, session: SessionId) -> list[BriefPart]:
        state = await self._sessions.state(session)
        if state is None or not state.prompt_count:
            return []
        own = BriefSession(state, harness_name=self._title_of(state.harness))
        return [own_session_part(own, "before its context was compacted")]

    async def _worked(self, rows: Iterable[SessionRow], survey: Survey, *, one_more: bool) -> list[BriefSession]:
        """The latest sessions in which something was asked."""
        found: list[BriefSession] = []
        for row in rows:
            if not row.prompts:
                continue
            told = await self._told(row, survey.taken.get(row.id))
            if told is not None:
                found.append(told)
            if len(found) >= _EARLIER + one_more:
                break
        return found

    async def _told(self, row: SessionRow, taken: Handoff | None = None) -> BriefSession | None:
        state = await self._sessions.state(row.id)
        if state is None or not state.prompt_count:
            return None
        note = f"Its handoff {taken.id} was taken by {taker(taken)}" if taken is not None else None
        return BriefSession(state, page=row.page, harness_name=self._title_of(state.harness), note=note)

    async def _brief_handoff(
        self, handoff: Handoff, reader: SessionId | None = None, *, is_whole: bool = True, until_s: float | None = None
    ) -> BriefHandoff:
        """is_whole: told with all it carries, not named only; reading the transcripts of many would take too long."""
        state = None
        if handoff.session:
            whole = (
                self._with_transcript(handoff.session, until_s) if is_whole else self._sessions.state(handoff.session)
            )
            state = await whole
        name = self._title_of(handoff.harness) if handoff.harness else f"{self._actor.user}, by hand"
        is_yours = handoff.state is HandoffState.CLAIMED and handoff.holder == reader
        before = await self._claims.find(handoff.continues) if handoff.continues and self._claims.is_ready else None
        return BriefHandoff(handoff, state, name, before, is_yours=is_yours)

    async def _with_transcript(self, session: SessionId, until_s: float | None) -> SessionState | None:
        """The state with what the harness's own record adds, if that can be had while a hook waits."""
        left_s = _TRANSCRIPT_S if until_s is None else until_s - asyncio.get_running_loop().time() - _READ_S
        limit_s = min(_TRANSCRIPT_S, left_s)
        if limit_s < _READ_S:
            return await self._sessions.state(session)
        try:
            async with asyncio.timeout(limit_s + _READ_S):
                return await self._sessions.enriched(session, limit_s=limit_s)
        except TimeoutError:
            return await self._sessions.state(session)

    async def _asking(self, occasion: Occasion, git: GitSummary | None) -> Asking:
        checkout = None if occasion.cwd is None else await self._projects.checkout(occasion.cwd) or occasion.cwd
        return Asking(
            session=occasion.session, harness=occasion.harness, user=self._actor.user, machine=self._actor.machine,
            cwd=occasion.cwd, checkout=checkout, branch=git.branch if git else None,
        )  # fmt: skip

    async def _rules(self, project: Project) -> list[Page]:
        found = await self._reader.read(rules_and_pinned([project.id, GLOBAL_FOLDER]))
        return [_page(row, text) for row, text in found]

    async def _pages(self, project: Project) -> list[Page]:
        return [
            _page(row) for row in await self._reader.read(newest_pages([project.id], _PAGE_KINDS, _PAGES, current=True))
        ]

    async def _related(
        self, project: Project, occasion: Occasion, git: GitSummary | None, rules: Sequence[Page]
    ) -> list[Page]:
        """Pages that this branch, the changed files or the request speak of."""
        words = _query(git, occasion.prompt)
        if not words:
            return []
        scope = Scope(projects=(project.id, GLOBAL_FOLDER), kinds=_PAGE_KINDS, observations=False)
        try:
            answer = await self._reader.read(search(Request(words, scope, _RELATED, None)))
        except UserError:
            return []
        known = {page.path for page in rules}
        return [
            Page(
                path=hit.path,
                id=PageId(""),
                kind=hit.kind,
                title=hit.title,
                text="",
                version=hit.version or Version(""),
                description=hit.snippet,
            )
            for hit in answer.hits
            if hit.path is not None and hit.path not in known and not is_past(hit)
        ]

    async def _git(self, cwd: str | None, limit_s: float) -> GitSummary | None:
        if cwd is None:
            return None
        return await look(await self._projects.checkout(cwd), limit_s, self._clock, self._home)


def _newer(survey: Survey, choice: Choice, occasion: Occasion) -> tuple[Survey, Choice]:
    """What of both is newer than what the session was told last; all of it for one that was told nothing."""
    since = occasion.since_ns
    if since is None:
        return survey, choice
    offer = choice.offer if choice.offer is not None and choice.offer.handoff.changed_at_ns > since else None
    others = tuple(one for one in choice.others if one.handoff.changed_at_ns > since)
    live = tuple(row for row in survey.live if row.started_at_ns > since)
    rows = tuple(row for row in survey.rows if row.last_at_ns > since)
    return replace(survey, held=None, live=live, rows=rows), replace(choice, offer=offer, others=others)


def _page(row: PageInfo, text: str = "") -> Page:
    return Page(
        path=row.path, id=row.id, kind=row.kind, title=row.title, text=text, version=row.version,
        description=row.description,
    )  # fmt: skip


def _query(git: GitSummary | None, prompt: str | None) -> str:
    """Words by which pages about this branch, its changed files and this request are found; "" without any."""
    words: list[str] = []
    if git is not None and git.branch and git.branch.lower() not in _COMMON_BRANCHES:
        words += [part for part in git.branch.replace("_", "-").replace("/", "-").split("-") if len(part) > 2]
    if git is not None:
        words += [path.rpartition("/")[2] for path in (git.uncommitted or ())[:_QUERY_FILES]]
    if prompt:
        words.append(prompt[:_PROMPT_CHARS])
    return " ".join(words)
