"""Collects what a brief is made of, and makes it: for a hook's answer and for `aimemory brief` alike."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from aimemory.brief.fence import fence
from aimemory.brief.fill import fill
from aimemory.brief.parts import (
    BriefPart,
    BriefSession,
    git_part,
    last_session_parts,
    other_sessions_part,
    recent_pages_part,
)
from aimemory.facts.look import look
from aimemory.index.events import SessionRow, sessions
from aimemory.index.pages import newest_pages
from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import SessionId
from aimemory.model.page import Page
from aimemory.model.protocols import Clock
from aimemory.model.scope import UNFILED_FOLDER, Project
from aimemory.privacy import Sanitized, sanitize
from aimemory.sessions.reader import Sessions
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

_LOOK_BACK = 30
_EARLIER = 5
_PAGES = 8
_PAGE_KINDS = ("decision", "gotcha", "concept", "procedure", "note", "rule")


@dataclass(frozen=True, slots=True)
class BriefText:
    """The fenced text, empty when there is nothing to tell; told: the sessions it speaks of."""

    text: Sanitized[str]
    told: tuple[SessionId, ...] = ()


class Composer:
    """Makes briefs. key: secret of the fence's tag. title_of: a harness's name as people write it."""

    def __init__(
        self, *, reader: Reader, sessions: Sessions, projects: Projects, key: bytes, title_of: Callable[[str], str],
        clock: Clock, home: str,
    ) -> None:  # fmt: skip
        self._projects = projects
        self._home = home
        self._clock = clock
        self._reader = reader
        self._sessions = sessions
        self._key = key
        self._title_of = title_of

    async def compose(
        self, project: Project | None, *, cwd: str | None, session: SessionId | None, budget_chars: int, git_s: float,
        budget_bytes: int | None = None,
    ) -> BriefText:  # fmt: skip
        """The brief for a session (None: for a person who asks) that starts in `cwd`.

        git_s: limit for git, in seconds; what takes longer reads as not checked.
        """
        empty = sanitize("")
        if project is None:
            return BriefText(empty)
        git_task = asyncio.ensure_future(self._git(cwd, git_s))
        try:
            last, earlier = await self._worked(project, session, cwd)
            pages = await self._pages(project)
            git = await git_task
        finally:
            git_task.cancel()
        parts: list[BriefPart] = []
        if last is not None:
            parts += last_session_parts(last, git, here=cwd)
        elif pages:
            parts.append(git_part(git))
        parts += [other_sessions_part(earlier), recent_pages_part(pages)]
        if last is None and not pages:
            return BriefText(empty)
        filled = fill(parts, budget_chars, budget_bytes=budget_bytes)
        if not filled.text:
            return BriefText(empty)
        text = sanitize(filled.text).derive(lambda body: fence(body, key=self._key, session=session or ""))
        told = [s.state.id for s in ([last] if last else []) + earlier]
        return BriefText(text, tuple(told))

    async def _worked(
        self, project: Project, but: SessionId | None, cwd: str | None
    ) -> tuple[BriefSession | None, list[BriefSession]]:
        """The last session in which something was done, and some before it."""
        found: list[BriefSession] = []
        for row in await self._reader.read(sessions([project.id], limit=_LOOK_BACK)):
            if row.id == but or not row.prompts or (project.id == UNFILED_FOLDER and row.cwd != cwd):
                continue  # what is under no project has nothing in common but that
            told = await self._told(row)
            if told is not None:
                found.append(told)
            if len(found) > _EARLIER:
                break
        return (found[0], found[1:]) if found else (None, [])

    async def _told(self, row: SessionRow) -> BriefSession | None:
        state = await self._sessions.state(row.id)
        if state is None or not state.prompt_count:
            return None
        return BriefSession(state, page=row.page, harness_name=self._title_of(state.harness))

    async def _pages(self, project: Project) -> list[Page]:
        rows = await self._reader.read(newest_pages([project.id], _PAGE_KINDS, limit=_PAGES))
        return [
            Page(
                path=r.path, id=r.id, kind=r.kind, title=r.title, text="", version=r.version, description=r.description
            )
            for r in rows
        ]

    async def _git(self, cwd: str | None, limit_s: float) -> GitSummary | None:
        if cwd is None:
            return None
        return await look(await self._projects.checkout(cwd), limit_s, self._clock, self._home)
