"""Closing a session: its page is written once, however often it is asked for.

An intent line (session, page) goes before the page and a done line after it, so that a start after a crash finishes
what was begun; the page's place is taken from the first intent, so nothing doubles. A page that a person has edited
since is only appended to; one he deleted is not made again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from aimemory import points
from aimemory.errors import AimemoryError
from aimemory.facts.look import look
from aimemory.handoff.generated import Generated, front_fields
from aimemory.handoff.handover import Handover
from aimemory.index.events import SessionRow, closing_of, open_closings, unclosed_sessions
from aimemory.index.events import session as session_row
from aimemory.index.links import paths_of_names
from aimemory.journal.lines import Record
from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId, SessionId, digest
from aimemory.model.links import file_name
from aimemory.model.protocols import Clock, Pulse, instant, rfc3339_local
from aimemory.model.scope import Actor, Project
from aimemory.model.session import SessionState
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.processes import Processes
from aimemory.sessions.continuation import continuation
from aimemory.sessions.digest import SessionPage, session_page
from aimemory.sessions.liveness import Start, Verdict, closed_by_time
from aimemory.sessions.reader import Sessions
from aimemory.sessions.successor import replaced_by
from aimemory.sessions.title import page_title
from aimemory.store.claims import Claims
from aimemory.store.pages import Pages
from aimemory.store.places import Places
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer
from aimemory.wiki.frontmatter import render
from aimemory.wiki.names import slug

_GIT_TIMEOUT_S = 2.0
_SUFFIX_BYTES = (2, 4, 6)
_PAUSE_S = 5.0
_MAX_PAUSE_S = 600.0
_STARTS = 1000

HarnessTitle = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a session's page goes. was_done: a closing with it was finished, so its absence is somebody's wish."""

    path: str
    was_done: bool


@dataclass(frozen=True, slots=True)
class _Pause:
    """After a failure: no attempt of our own before `until_s` of the monotonic clock; then for the same reason."""

    until_s: float
    length_s: float
    verdict: Verdict | None


class Closer:
    """Closes sessions one after the other; `request` asks for one."""

    def __init__(
        self, *, writer: Writer, projector: Projector, reader: Reader, pages: Pages, projects: Projects,
        sessions: Sessions, generated: Generated, handover: Handover, claims: Claims, processes: Processes,
        actor: Actor, clock: Clock, idle_ns: int, title_of: HarnessTitle, home: str, making: Places,
    ) -> None:  # fmt: skip
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._pages = pages
        self._projects = projects
        self._sessions = sessions
        self._generated = generated
        self._handover = handover
        self._claims = claims
        self._processes = processes
        self._actor = actor
        self._clock = clock
        self._idle_ns = idle_ns
        self._title_of = title_of
        self._home = home
        self._making = making
        self._queue: dict[SessionId, Verdict | None] = {}
        self._starts: deque[Start] = deque(maxlen=_STARTS)
        self._pauses: dict[SessionId, _Pause] = {}
        self._wake = asyncio.Event()

    def request(self, session: SessionId, verdict: Verdict | None = None) -> None:
        """Close this session soon; asking twice is asking once. verdict: why, if it did not end by itself."""
        self._queue[session] = verdict or self._queue.get(session)
        self._wake.set()

    def began(self, start: Start) -> None:
        """A session began: close those that it replaces."""
        self._starts.append(start)
        self._wake.set()

    async def run(self, pulse: Pulse) -> None:
        """Close what was asked for until cancelled. A session whose page can't be written now is tried again later."""
        while True:
            pulse.beat(queue=len(self._queue))
            await self._wake.wait()
            self._wake.clear()
            while self._queue or self._starts:
                if self._starts:
                    await self._look_for_replaced(self._starts.popleft(), pulse)
                    continue
                session = next(iter(self._queue))
                verdict = self._queue.pop(session)
                try:
                    page = await self.close(session, verdict)
                    pulse.beat(queue=len(self._queue), last=page or "nothing to write")
                    self._pauses.pop(session, None)
                    if not self._pauses:
                        pulse.over()
                except AimemoryError as error:
                    pulse.fail(str(error))
                    before = self._pauses.get(session)
                    length_s = min(before.length_s * 2, _MAX_PAUSE_S) if before else _PAUSE_S
                    self._pauses[session] = _Pause(time.monotonic() + length_s, length_s, verdict)

    async def sweep(self) -> None:
        """Ask for every session that counts as closed and whose page does not tell all of it yet.

        What failed waits longer each time: every attempt costs lines in the journal.
        """
        begun = {one.session: one.data for one in await self._reader.read(open_closings())}
        for row in await self._reader.read(unclosed_sessions()):
            pause = self._pauses.get(row.id)
            if pause is not None and time.monotonic() < pause.until_s:
                continue
            verdict = pause.verdict if pause is not None else None
            reason, upto = begun.get(row.id, {}).get("reason"), begun.get(row.id, {}).get("upto")
            if isinstance(reason, str) and isinstance(upto, int):  # begun before a crash, for a reason that may be past
                verdict = Verdict(row.id, reason, upto)
            if self._counts_as_closed(row, verdict)[0]:
                self.request(row.id, verdict)

    async def _look_for_replaced(self, start: Start, pulse: Pulse) -> None:
        try:
            await self._projector.reached(self._writer.last_seq)
            for verdict in await replaced_by(
                start, reader=self._reader, projects=self._projects, is_alive=self._processes.is_alive
            ):
                self.request(verdict.session, verdict)
        except AimemoryError as error:  # silence closes them later
            pulse.fail(str(error))

    def _counts_as_closed(self, row: SessionRow, verdict: Verdict | None) -> tuple[bool, str | None]:
        """Whether it does, and why where its end event doesn't say."""
        if row.has_ended:
            return True, None
        if verdict is not None and verdict.last_seq == row.last_seq:
            return True, verdict.reason
        reason = closed_by_time(row, self._clock.now_ns(), self._idle_ns, self._processes.is_alive)
        return reason is not None, reason

    async def close(self, session: SessionId, verdict: Verdict | None = None) -> str | None:
        """Write the session's page and its handoff; returns the page's path, or None for a session that did nothing, or
        that goes on.

        verdict: why it counts as closed, if somebody saw more than its row tells; void if an event came since.
        """
        async with self._making.kept():  # what is read here is not forgotten before the page is written
            return await self._close(session, verdict)

    async def _close(self, session: SessionId, verdict: Verdict | None) -> str | None:
        await self._claims.ready()
        await self._projector.reached(self._writer.last_seq)
        row = await self._reader.read(session_row(session))
        state = await self._sessions.state(session)
        if row is None or state is None or row.is_closed:
            return row.page if row else None
        is_closed, reason = self._counts_as_closed(row, verdict)
        if not is_closed:
            return None  # it went on; the sweep comes back
        project = self._projects.by_id(row.project) or self._projects.unfiled
        how = _how(state, reason)
        if not state.prompt_count and not state.tool_count:
            await self._note("intent", session, None, row.last_seq, reason)
            _, why = await self._handover.at_close(state, project, None, None, how)
            await self._note("done", session, None, row.last_seq, reason, why)
            return None
        state = await self._sessions.enriched(session) or state
        git = await self._git(state)
        points.reached("close.looked")
        async with self._projects.places.kept():  # a rename may have come while transcript and git were read
            filed = await self._reader.read(session_row(session)) or row
            project = self._projects.by_id(filed.project) or self._projects.unfiled
            target = await self._target(filed, page_title(state, self._harness(state)), project)
            await self._note("intent", session, target.path, row.last_seq, reason)
            points.reached("close.intended")
            _, why = await self._handover.at_close(state, project, git, target.path, how)
            points.reached("close.handed-over")
            handoffs = await self._handover.pages_of(session)  # known by now, so that the session's page links to them
            page = self._page(state, git, project, reason, handoffs)
            await self._write(target, page, state)
            points.reached("close.page-written")
            await self._note("done", session, target.path, row.last_seq, reason, why)
            return target.path

    async def _git(self, state: SessionState) -> GitSummary | None:
        if state.cwd is None:
            return None
        checkout = await self._projects.checkout(state.cwd)
        return await look(checkout, _GIT_TIMEOUT_S, self._clock, self._home, since_ns=state.first_at_ns)

    def _page(
        self, state: SessionState, git: GitSummary | None, project: Project, reason: str | None, handoffs: list[str]
    ) -> SessionPage:
        return session_page(
            state, git, page_id=PageId(f"session-{state.id}"), actor=self._actor, now_ns=self._clock.now_ns(),
            project=project.path, harness_name=self._harness(state), closed_by=reason, project_page=project.page,
            handoffs=handoffs,
        )  # fmt: skip

    def _harness(self, state: SessionState) -> str:
        return self._title_of(state.harness)

    async def _target(self, row: SessionRow, title: str, project: Project) -> _Target:
        begun = await self._reader.read(closing_of(row.id))
        path = begun.data.get("page") if begun is not None else None
        if isinstance(path, str):
            return _Target(path, was_done=row.page == path)
        place = ""
        for size in _SUFFIX_BYTES:
            place = _place(row, title, project, self._actor, size)
            name = file_name(place)
            if await self._pages.version(place) is None and not await self._reader.read(paths_of_names([name])):
                break
        return _Target(place, was_done=False)

    async def _write(self, target: _Target, page: SessionPage, state: SessionState) -> None:
        summary = "Session went on" if target.was_done else "Close session"
        content = sanitize(render(front_fields(page), page.body))
        await self._generated.put(
            target.path, content, sanitize(continuation(state)), was_written=target.was_done, summary=summary
        )

    async def _note(
        self, kind: str, session: SessionId, page: str | None, upto: int, reason: str | None, why: str | None = None
    ) -> None:
        """reason: why it counts as closed. why: what became of its handoff."""
        own = {"id": session, "session": session, "upto": upto, "user": self._actor.user}
        texts = sanitize_tree({"page": page, "reason": reason, "handoff": why})
        record = texts.derive(lambda told: own | {name: text for name, text in told.items() if text})
        await self._writer.record(Record(kind, self._clock.now_ns(), record))


def _how(state: SessionState, reason: str | None) -> str:
    """How the session came to its end, as a phrase."""
    if state.ended_at_ns is not None:
        said = f" ({state.end_reason})" if state.end_reason else ""
        return f"ended {rfc3339_local(state.ended_at_ns)}{said}"
    because = f"; closed: {reason}" if reason else ""
    return f"no end reported, last event {rfc3339_local(state.last_at_ns)}{because}"


def _place(row: SessionRow, title: str, project: Project, actor: Actor, size: int) -> str:
    """`<project>/sessions/<user>/2026/11/1130-1412-add-pdf-export-3f9a.md`; the machine's local time at the start."""
    start = instant(row.started_at_ns).astimezone()
    name = slug(title, fallback=row.harness, max_bytes=50)
    return (
        f"{project.path}/sessions/{slug(actor.user, fallback='user')}/{start:%Y/%m}/"
        f"{start:%m%d-%H%M}-{name}-{digest('suffix', row.id, size=size)}.md"
    )
