"""Whether a stored event is answered with a brief, and with which bytes.

Once per session, unless it was compacted or what there is to tell has changed when it resumes. An answer that comes
too late, or that nobody waits for any more, counts as not given: the session's next prompt gets it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from aimemory.brief.compose import Composer
from aimemory.config import Config
from aimemory.errors import AimemoryError
from aimemory.harness.answer import answer
from aimemory.harness.registry import Registry
from aimemory.index.events import briefs_of
from aimemory.index.events import session as session_row
from aimemory.intake.counters import Counters
from aimemory.intake.decide import Outcome
from aimemory.journal.lines import Record
from aimemory.model.event import Delivery, EventKind
from aimemory.model.ids import SessionId, digest
from aimemory.model.protocols import Clock
from aimemory.privacy import Sanitized
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer

_LATE_NS = 650_000_000
"""The client waits 700 ms from its capture time on; what is ready later than this would not be printed."""

_REMEMBERED = 2000
_AGAIN = ("compact",)
_LOOK_AGAIN = ("resume", "clear", "fork")


class Replies:
    """Called with each stored event that asks for a reply; returns the bytes to print."""

    def __init__(
        self, *, composer: Composer, registry: Registry, writer: Writer, projector: Projector, reader: Reader,
        config: Config, clock: Clock, counters: Counters,
    ) -> None:  # fmt: skip
        self._composer = composer
        self._registry = registry
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._config = config
        self._clock = clock
        self._counters = counters
        self._given: OrderedDict[SessionId, str] = OrderedDict()
        self._awaits: OrderedDict[SessionId, None] = OrderedDict()

    async def __call__(
        self, outcome: Outcome, delivery: Delivery, still_listening: Callable[[], Awaitable[bool]]
    ) -> bytes:
        """The bytes to print; none when there is nothing to tell, or no brief can be had in time."""
        harness = outcome.event.harness if outcome.event else delivery.harness
        try:
            async with asyncio.timeout(_LATE_NS / 1e9):
                return await self._reply(outcome, delivery, still_listening)
        except TimeoutError:
            self._counters.brief(harness, "late")
        except AimemoryError:  # the event is stored all the same; status tells of what failed
            self._counters.brief(harness, "failed")
        if outcome.session is not None:
            self._await_next(outcome.session)
        return b""

    async def _reply(
        self, outcome: Outcome, delivery: Delivery, still_listening: Callable[[], Awaitable[bool]]
    ) -> bytes:
        event, session = outcome.event, outcome.session
        if event is None or session is None or outcome.project is None or event.agent_id is not None:
            return b""
        spec = self._registry.get(event.harness)
        if not spec.row(event.event).reply or not await self._is_due(outcome):
            return b""
        await self._projector.reached(outcome.seq or 0)
        brief = await self._composer.compose(
            outcome.project, cwd=event.cwd, session=session,
            budget_chars=min(self._config.brief.chars, spec.inject.limit_chars or self._config.brief.chars),
            budget_bytes=spec.inject.limit_bytes, git_s=self._config.brief.git_ms / 1000,
        )  # fmt: skip
        content = digest("brief", brief.text.value)
        text = answer(spec, event.event, brief.text)
        if not text or (self._given.get(session) == content and event.reason not in _AGAIN):
            self._remember(session, content)
            self._counters.brief(event.harness, "empty")
            return b""
        if self._is_late(delivery) or not await still_listening():
            self._await_next(session)
            self._counters.brief(event.harness, "late")
            return b""
        await self._note(session, outcome, brief.text, content)
        self._remember(session, content)
        self._counters.brief(event.harness, "given")
        return text

    async def _is_due(self, outcome: Outcome) -> bool:
        event, session = outcome.event, outcome.session
        assert event is not None and session is not None
        given = await self._last_given(session)
        if event.kind is EventKind.SESSION_START:
            return given is None or event.reason in (*_AGAIN, *_LOOK_AGAIN)
        if event.kind is not EventKind.PROMPT:
            return False
        if session in self._awaits:
            return True
        if given is not None:
            return False
        await self._projector.reached(outcome.seq or 0)
        row = await self._reader.read(session_row(session))
        return row is None or row.prompts <= 1  # a session that is well under way is not interrupted by a brief

    async def _last_given(self, session: SessionId) -> str | None:
        if session not in self._given:
            rows = await self._reader.read(briefs_of(session))
            if not rows:
                return None
            self._remember(session, rows[-1].digest or "")
        return self._given[session]

    def _is_late(self, delivery: Delivery) -> bool:
        return delivery.at_ns is not None and self._clock.now_ns() - delivery.at_ns > _LATE_NS

    async def _note(self, session: SessionId, outcome: Outcome, text: Sanitized[str], content: str) -> None:
        project = outcome.project.id if outcome.project else None
        harness = outcome.event.harness if outcome.event else None
        data = text.derive(
            lambda t: {"session": session, "project": project, "harness": harness, "digest": content, "chars": len(t)}
        )
        await self._writer.record(Record("brief", self._clock.now_ns(), data))

    def _remember(self, session: SessionId, content: str) -> None:
        self._awaits.pop(session, None)
        self._given[session] = content
        self._given.move_to_end(session)
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)

    def _await_next(self, session: SessionId) -> None:
        self._awaits[session] = None
        if len(self._awaits) > _REMEMBERED:
            self._awaits.popitem(last=False)
