"""Whether a stored event is answered with a brief, and with which bytes.

Once per session, unless it was compacted or what there is to tell has changed when it resumes. An answer that comes
too late, or that nobody waits for any more, counts as not given: the session's next prompt gets it.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from aimemory import points
from aimemory.brief.compose import BriefText, Composer, Moment, Occasion
from aimemory.config import Config
from aimemory.errors import AimemoryError
from aimemory.handoff.handover import NOTHING, described
from aimemory.harness.answer import answer
from aimemory.harness.registry import Registry
from aimemory.harness.spec import HarnessSpec
from aimemory.index.events import briefs_of
from aimemory.index.events import session as session_row
from aimemory.intake.counters import Counters
from aimemory.intake.decide import Outcome
from aimemory.journal.lines import Record
from aimemory.model.event import Delivery, Event, EventKind
from aimemory.model.handoff import Handoff, HandoffOp, Party
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.store.claims import Claims
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer

log = logging.getLogger(__name__)

_LATE_NS = 650_000_000
"""The client waits 700 ms from its capture time on; what is ready later than this would not be printed."""

_READ_UNTIL_S = 0.5
"""After which no transcript is begun for a reply: what is left is for filling, the offer's line and the way back."""

_NOTING_S = 0.2
"""How long a prompt waits for the line of the answer before it; none comes where that went onto a broken connection."""

_REMEMBERED = 2000
_TRIES = 2
_AGAIN = ("compact",)
_LOOK_AGAIN = ("resume", "clear", "fork")
_GOES_ON = ("resume", "fork")
"""Its conversation is kept, and with it what it was told."""

_FORGOTTEN = ("compact", "clear")
"""Its conversation is gone, and with it what it was told."""


@dataclass(frozen=True, slots=True)
class _Given:
    """The last brief of a session. content: digest of all there was to tell. live: whom it named as at work. at_ns:
    when it was given; None for one that was due and had nothing to tell."""

    content: str
    live: tuple[SessionId, ...]
    at_ns: int | None


@dataclass(slots=True)
class _Ready:
    """The bytes to print, once a handoff in them is being offered: from then on they are given, however slow the disk.

    brief: what they say. is_due: whether it is the session's brief, or what came after one.
    """

    text: bytes = b""
    brief: BriefText | None = None
    is_due: bool = False


@dataclass(frozen=True, slots=True)
class _Sending:
    """A brief on its way to its session, given at this instant; `given` is what is remembered of it."""

    brief: BriefText
    given: _Given
    at_ns: int


class Replies:
    """Called with each stored event that asks for a reply; returns the bytes to print."""

    def __init__(
        self, *, composer: Composer, registry: Registry, claims: Claims, writer: Writer, projector: Projector,
        reader: Reader, config: Config, actor: Actor, clock: Clock, counters: Counters,
    ) -> None:  # fmt: skip
        self._composer = composer
        self._registry = registry
        self._claims = claims
        self._actor = actor
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._config = config
        self._clock = clock
        self._counters = counters
        self._given: OrderedDict[SessionId, _Given] = OrderedDict()
        self._awaits: OrderedDict[SessionId, None] = OrderedDict()
        self._sending: dict[SessionId, _Sending] = {}
        self._noting: dict[SessionId, asyncio.Event] = {}

    async def __call__(
        self, outcome: Outcome, delivery: Delivery, still_listening: Callable[[], Awaitable[bool]]
    ) -> bytes:
        """The bytes to print; none when there is nothing to tell, or no brief can be had in time."""
        harness = outcome.event.harness if outcome.event else delivery.harness
        ready = _Ready()
        try:
            async with asyncio.timeout(_LATE_NS / 1e9):
                return await self._reply(outcome, delivery, still_listening, ready)
        except TimeoutError:
            if ready.text and ready.brief is not None:
                self._give(outcome, ready.brief, ready.is_due)
                return ready.text
            self._counters.brief(harness, "late")
        except Exception as error:  # the event is stored all the same; status tells of what failed
            if not isinstance(error, AimemoryError):
                log.error("brief failed", exc_info=error, extra={"harness": harness})
            self._counters.brief(harness, "failed")
        self._await_next(outcome)
        return b""

    async def sent(self, outcome: Outcome) -> None:
        """The bytes were handed to the session's hook: make durable that it was told.

        Not before: a crash in between would leave a session that counts as told, and that nobody told anything.
        """
        sending = self._sending.pop(outcome.session, None) if outcome.session is not None else None
        if sending is None or outcome.session is None or outcome.event is None:
            return
        try:
            points.reached("brief.sent")
            await self._note(outcome.session, outcome, sending)
            points.reached("brief.noted")
            for handoff in sending.brief.news:
                party = self._party(outcome.session, outcome.event)
                await self._claims.note(HandoffOp.TELL, handoff.id, party, NOTHING, must=False, wait=False)
        except (AimemoryError, OSError):  # after a restart it is told once more
            self._counters.brief(outcome.event.harness, "failed")
        finally:
            if noting := self._noting.pop(outcome.session, None):
                noting.set()

    async def _reply(
        self, outcome: Outcome, delivery: Delivery, still_listening: Callable[[], Awaitable[bool]], ready: _Ready
    ) -> bytes:
        event, session = outcome.event, outcome.session
        if event is None or session is None or outcome.project is None or event.agent_id is not None:
            return b""
        spec = self._registry.get(event.harness)
        if not spec.row(event.event).reply:
            return b""
        is_due = await self._is_due(outcome)
        if not is_due and event.kind is not EventKind.PROMPT:
            return b""
        for _ in range(_TRIES):
            brief = await (self._brief(outcome, spec) if is_due else self._follow_up(outcome, spec))
            text = answer(spec, event.event, brief.text)
            if not text:
                if is_due:
                    known = self._given.get(session)
                    self._remember(session, known or _Given(brief.content, brief.live, None))
                    self._counters.brief(event.harness, "empty")
                return b""
            if self._is_late(delivery) or not await still_listening():
                self._await_next(outcome)
                self._counters.brief(event.harness, "late")
                return b""
            ready.text, ready.brief, ready.is_due = text, brief, is_due
            if brief.offer is None or await self._offer(brief.offer.handoff, session, event):
                points.reached("brief.offered")
                self._give(outcome, brief, is_due)
                return text
            ready.text = b""
        return b""  # whatever was offered was taken by others in this very moment; the next prompt tells

    async def _brief(self, outcome: Outcome, spec: HarnessSpec) -> BriefText:
        """The brief that is due; empty when the session was told all of it already."""
        event, session = outcome.event, outcome.session
        assert event is not None and session is not None
        await self._projector.reached(outcome.seq or 0)
        brief = await self._composer.compose(outcome.project, self._occasion(outcome, spec))
        known = self._given.get(session)
        is_known = known is not None and known.content == brief.content
        goes_on = event.kind is EventKind.PROMPT or event.reason in _GOES_ON
        if is_known and goes_on and brief.offer is None:  # an offer that it doesn't hold (any more) is news in any case
            return replace(brief, text=sanitize(""))
        return brief

    async def _follow_up(self, outcome: Outcome, spec: HarnessSpec) -> BriefText:
        """What came to pass since the session's brief, if anything did."""
        session = outcome.session
        assert session is not None
        if noting := self._noting.get(session):  # what it was told a moment ago is not on the disk yet
            with suppress(TimeoutError):
                async with asyncio.timeout(_NOTING_S):
                    await noting.wait()
        given = await self._last_given(session)
        live = given.live if given is not None else ()
        if not live and not self._claims.offered_to(session):
            return BriefText(sanitize(""))
        return await self._composer.follow_up(outcome.project, self._occasion(outcome, spec), live)

    def _occasion(self, outcome: Outcome, spec: HarnessSpec) -> Occasion:
        event = outcome.event
        assert event is not None
        moment = Moment.START
        if event.reason in _AGAIN:
            moment = Moment.COMPACT
        elif event.reason in _GOES_ON:
            moment = Moment.RESUME
        since_ns = self._given_at(outcome.session) if moment is Moment.RESUME else None
        return Occasion(
            cwd=event.cwd, session=outcome.session, harness=event.harness, moment=moment, prompt=event.prompt,
            since_ns=since_ns, until_s=asyncio.get_running_loop().time() + _READ_UNTIL_S,
            budget_chars=min(self._config.brief.chars, spec.inject.limit_chars or self._config.brief.chars),
            budget_bytes=spec.inject.limit_bytes, git_s=self._config.brief.git_ms / 1000,
        )  # fmt: skip

    def _given_at(self, session: SessionId | None) -> int | None:
        known = self._given.get(session) if session is not None else None
        return known.at_ns if known is not None else None

    async def _offer(self, handoff: Handoff, session: SessionId, event: Event) -> bool:
        """Record that this session is told of it; False if another was faster to take it."""
        by = self._party(session, event)
        about = sanitize_tree(described(handoff))
        return await self._claims.note(HandoffOp.OFFER, handoff.id, by, about, must=False, wait=False) is not None

    def _party(self, session: SessionId, event: Event) -> Party:
        return Party(session, event.harness, self._actor.user, self._actor.machine)

    def _give(self, outcome: Outcome, brief: BriefText, is_due: bool) -> None:
        """From here on, in this process, the session knows what the brief says."""
        event, session = outcome.event, outcome.session
        assert event is not None and session is not None
        before = self._given.get(session)
        content, live = brief.content, brief.live
        if before is not None and not is_due:
            content = before.content
        elif before is not None and event.reason in _GOES_ON:  # told of what is newer only
            live = (*live, *(one for one in before.live if one not in live))
        given, at_ns = _Given(content, live, self._clock.now_ns()), self._clock.now_ns()
        self._remember(session, given)
        self._counters.brief(event.harness, "given")
        self._sending[session] = _Sending(brief, given, at_ns)
        self._noting[session] = asyncio.Event()
        if brief.offer is not None:
            self._claims.given(brief.offer.handoff.id, session, at_ns)

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

    async def _last_given(self, session: SessionId) -> "_Given | None":
        if session not in self._given:
            rows = await self._reader.read(briefs_of(session))
            if not rows:
                return None
            self._remember(session, _Given(rows[-1].digest or "", rows[-1].live, rows[-1].at_ns))
        return self._given[session]

    def _is_late(self, delivery: Delivery) -> bool:
        return delivery.at_ns is not None and self._clock.now_ns() - delivery.at_ns > _LATE_NS

    async def _note(self, session: SessionId, outcome: Outcome, sending: _Sending) -> None:
        content, named = sending.given.content, sending.given.live
        project = outcome.project.id if outcome.project else None
        harness = outcome.event.harness if outcome.event else None
        said = {"session": session, "project": project, "harness": harness, "digest": content}
        live = {"live": list(named)} if named else {}
        data = sending.brief.text.derive(lambda text: {**said, "chars": len(text), **live})
        await self._writer.record(Record("brief", sending.at_ns, data))

    def _remember(self, session: SessionId, given: "_Given") -> None:
        self._awaits.pop(session, None)
        self._given[session] = given
        self._given.move_to_end(session)
        if len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)

    def _await_next(self, outcome: Outcome) -> None:
        """The session's next prompt is given what was due; all of it, if what it knew before is gone."""
        session, event = outcome.session, outcome.event
        if session is None or event is None:
            return
        known = self._given.get(session)
        if known is not None and event.reason in _FORGOTTEN:
            self._given[session] = replace(known, content="")
        self._awaits[session] = None
        if len(self._awaits) > _REMEMBERED:
            self._awaits.popitem(last=False)
