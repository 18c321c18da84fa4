"""Closing a session: its page is written once, however often it is asked for.

An intent line (session, page) goes before the page and a done line after it, so that a start after a crash finishes
what was begun; the page's place is taken from the first intent, so nothing doubles. A page that a person has edited
since is only appended to; one he deleted is not made again.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from aimemory.errors import AimemoryError, Conflict, NotFound
from aimemory.facts.look import look
from aimemory.index.events import SessionRow, closing_of, unclosed_sessions, written
from aimemory.index.events import session as session_row
from aimemory.journal.lines import Record
from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId, SessionId, Version, digest
from aimemory.model.protocols import Clock, Pulse, instant
from aimemory.model.scope import Actor, Project
from aimemory.model.session import SessionState
from aimemory.privacy import Sanitized, sanitize
from aimemory.sessions.continuation import continuation
from aimemory.sessions.digest import SessionPage, session_page
from aimemory.sessions.reader import Sessions
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer
from aimemory.wiki.frontmatter import render
from aimemory.wiki.names import slug
from aimemory.wiki.nodes import Value

_GIT_TIMEOUT_S = 2.0
_SUFFIX_BYTES = (2, 4, 6)
_PAUSE_S = 5.0
_MAX_PAUSE_S = 600.0

HarnessTitle = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a session's page goes. current: the version there now, is_ours: one that we wrote.

    was_done: a closing with this page was finished before, so that its absence is somebody's wish.
    """

    path: str
    current: Version | None
    is_ours: bool
    was_done: bool


@dataclass(frozen=True, slots=True)
class _Pause:
    """After a failure: no attempt of our own before `until_s` of the monotonic clock."""

    until_s: float
    length_s: float


class Closer:
    """Closes sessions one after the other; `request` asks for one."""

    def __init__(
        self, *, writer: Writer, projector: Projector, reader: Reader, pages: Pages, projects: Projects,
        sessions: Sessions, actor: Actor, clock: Clock, idle_ns: int, title_of: HarnessTitle, home: str,
    ) -> None:  # fmt: skip
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._pages = pages
        self._projects = projects
        self._sessions = sessions
        self._actor = actor
        self._clock = clock
        self._idle_ns = idle_ns
        self._title_of = title_of
        self._home = home
        self._queue: dict[SessionId, None] = {}
        self._pauses: dict[SessionId, _Pause] = {}
        self._wake = asyncio.Event()

    def request(self, session: SessionId) -> None:
        """Close this session soon; asking twice is asking once."""
        self._queue[session] = None
        self._wake.set()

    async def run(self, pulse: Pulse) -> None:
        """Close what was asked for until cancelled. A session whose page can't be written now is tried again later."""
        while True:
            pulse.beat(queue=len(self._queue))
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                session = next(iter(self._queue))
                del self._queue[session]
                try:
                    page = await self.close(session)
                    pulse.beat(queue=len(self._queue), last=page or "nothing to write")
                    self._pauses.pop(session, None)
                except AimemoryError as error:
                    pulse.fail(str(error))
                    before = self._pauses.get(session)
                    length_s = min(before.length_s * 2, _MAX_PAUSE_S) if before else _PAUSE_S
                    self._pauses[session] = _Pause(time.monotonic() + length_s, length_s)

    async def sweep(self) -> None:
        """Ask for every session that ended or fell silent and whose page does not tell all of it yet.

        What failed waits longer each time: every attempt costs lines in the journal.
        """
        now = self._clock.now_ns()
        for row in await self._reader.read(unclosed_sessions()):
            paused = row.id in self._pauses and time.monotonic() < self._pauses[row.id].until_s
            if not paused and (row.has_ended or now - row.last_at_ns >= self._idle_ns):
                self.request(row.id)

    async def close(self, session: SessionId) -> str | None:
        """Write the session's page; returns its path, or None for a session that did nothing."""
        await self._projector.reached(self._writer.last_seq)
        row = await self._reader.read(session_row(session))
        state = await self._sessions.state(session)
        if row is None or state is None or row.is_closed:
            return row.page if row else None
        if not row.has_ended and self._clock.now_ns() - row.last_at_ns < self._idle_ns:
            return None  # it went on; the sweep comes back
        if not state.prompt_count and not state.tool_count:
            await self._note("intent", session, None, row.last_seq)
            await self._note("done", session, None, row.last_seq)
            return None
        state = await self._sessions.enriched(session) or state
        project = self._projects.by_id(row.project) or self._projects.unfiled
        git = await self._git(state.cwd)
        page = self._page(state, git, project, row)
        target = await self._target(row, page, project)
        await self._note("intent", session, target.path, row.last_seq)
        await self._write(target, page, state)
        await self._note("done", session, target.path, row.last_seq)
        return target.path

    async def _git(self, cwd: str | None) -> GitSummary | None:
        if cwd is None:
            return None
        return await look(await self._projects.checkout(cwd), _GIT_TIMEOUT_S, self._clock, self._home)

    def _page(self, state: SessionState, git: GitSummary | None, project: Project, row: SessionRow) -> SessionPage:
        silent = None if row.has_ended else f"silent for {self._idle_ns // 60_000_000_000} minutes"
        return session_page(
            state, git, page_id=PageId(f"session-{state.id}"), actor=self._actor, now_ns=self._clock.now_ns(),
            project=project.path, harness_name=self._title_of(state.harness), closed_by=silent,
        )  # fmt: skip

    async def _target(self, row: SessionRow, page: SessionPage, project: Project) -> _Target:
        begun = await self._reader.read(closing_of(row.id))
        path = begun.data.get("page") if begun is not None else None
        if isinstance(path, str):
            current = await self._pages.version(path)
            ours = (await self._reader.read(written([path]))).get(path)
            return _Target(path, current, ours is not None and ours.is_ours(current), was_done=row.page == path)
        place = ""
        for size in _SUFFIX_BYTES:
            place = _place(row, page, project, self._actor, size)
            if await self._pages.version(place) is None:
                break
        return _Target(place, None, is_ours=False, was_done=False)

    async def _write(self, target: _Target, page: SessionPage, state: SessionState) -> None:
        if target.current is None and target.was_done:
            return  # a person deleted it
        if target.current is not None and not target.is_ours:
            await self._append(target, state)
            return
        content = sanitize(render(_fields(page), page.body))
        summary_line = "Session went on" if target.was_done else "Close session"
        try:
            await self._pages.write(
                target.path, content, expected=target.current, actor=self._actor, summary=summary_line
            )
        except (Conflict, NotFound):  # edited or deleted in this very moment: the person's version stands
            return

    async def _append(self, target: _Target, state: SessionState) -> None:
        """A person wrote in this page: keep every byte of it and add what came since, once."""
        text, version = await self._pages.read(target.path)
        addition = continuation(state)
        if not addition or addition in text:
            return
        joined: Sanitized[str] = sanitize(addition).derive(lambda added: f"{text.rstrip()}\n\n{added}")
        await self._pages.write(target.path, joined, expected=version, actor=self._actor, summary="Session went on")

    async def _note(self, kind: str, session: SessionId, page: str | None, upto: int) -> None:
        record = sanitize(page or "").derive(
            lambda path: (
                {"id": session, "session": session, "upto": upto, "user": self._actor.user}
                | ({"page": path} if page else {})
            )
        )
        await self._writer.record(Record(kind, self._clock.now_ns(), record))


def _fields(page: SessionPage) -> dict[str, Value]:
    """Front matter in the type that its writer takes: mappings are invariant, so a copy."""
    return {name: value if isinstance(value, str) else _copied(value) for name, value in page.fields.items()}


def _copied(value: list[str] | dict[str, str]) -> Value:
    return [*value] if isinstance(value, list) else {**value}


def _place(row: SessionRow, page: SessionPage, project: Project, actor: Actor, size: int) -> str:
    """`<project>/sessions/<user>/2026/11/1130-1412-add-pdf-export-3f9a.md`; the machine's local time at the start."""
    start = instant(row.started_at_ns).astimezone()
    name = slug(page.title, fallback=row.harness, max_bytes=50)
    return (
        f"{project.path}/sessions/{slug(actor.user, fallback='user')}/{start:%Y/%m}/"
        f"{start:%m%d-%H%M}-{name}-{digest('suffix', row.id, size=size)}.md"
    )
