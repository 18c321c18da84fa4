"""What events do to handoffs while sessions go on: a claim, and the page before a compaction or at a limit."""

import asyncio
from dataclasses import dataclass

from aimemory import points
from aimemory.errors import AimemoryError, Conflict
from aimemory.handoff.handover import NOTHING, Handover
from aimemory.handoff.used import takes
from aimemory.index.events import observations_of
from aimemory.index.events import session as session_row
from aimemory.model.event import Event, EventKind
from aimemory.model.handoff import FINAL, Handoff, HandoffId, HandoffOp, HandoffState, Party
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock, Pulse, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize_tree
from aimemory.store.claims import Claims
from aimemory.store.places import Places
from aimemory.store.reader import Reader
from aimemory.wiki.frontmatter import split

_DAY_NS = 86_400_000_000_000
_SETTLED_NS = 60_000_000_000
"""A claim may come a moment before the event that reopens its session; after this long it came behind the closing."""

_COMMANDS = {
    "done": HandoffOp.DONE, "cancelled": HandoffOp.CANCEL, "canceled": HandoffOp.CANCEL, "expired": HandoffOp.EXPIRE,
}  # fmt: skip
"""What a person may write as `status` of a handoff's page."""

_FRONT_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class _Taking:
    """A session did something that takes the handoffs it was offered."""

    session: SessionId
    harness: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A session's page is due before the session is over."""

    session: SessionId
    how: str


class Batons:
    """`on_event` says what is to be done, `run` does it in order: claims before pages."""

    def __init__(
        self,
        *,
        claims: Claims,
        handover: Handover,
        reader: Reader,
        actor: Actor,
        clock: Clock,
        expire_days: int,
        making: Places,
    ) -> None:
        self._claims = claims
        self._handover = handover
        self._reader = reader
        self._actor = actor
        self._clock = clock
        self._making = making
        self._expire_ns = expire_days * _DAY_NS
        self._taking: dict[SessionId, _Taking] = {}
        self._due: dict[SessionId, _Checkpoint] = {}
        self._edited: dict[str, bytes] = {}
        self._wake = asyncio.Event()

    def on_event(self, session: SessionId, event: Event, at_ns: int) -> None:
        """A newly stored event; cheap, for it runs with every one."""
        kind = event.kind
        if session in self._claims.awaiting and takes(event) and at_ns >= self._claims.awaiting[session]:
            self._taking.setdefault(session, _Taking(session, event.harness, at_ns))
            self._wake.set()
        if kind is EventKind.COMPACT and not event.event.lower().startswith("post"):
            self._ask(session, f"its context was about to be compacted {rfc3339_local(at_ns)}")
        elif kind is EventKind.TURN_END and event.failed and event.agent_id is None:
            self._ask(session, f"its last turn ended with an error {rfc3339_local(at_ns)}")

    def on_edit(self, path: str, raw: bytes) -> None:
        """A page was edited by hand: a `status` that a person wrote in a handoff's page is a command."""
        if b"\nhandoff:" in raw[:_FRONT_BYTES]:
            self._edited[path] = raw
            self._wake.set()

    def _ask(self, session: SessionId, how: str) -> None:
        self._due[session] = _Checkpoint(session, how)
        self._wake.set()

    async def run(self, pulse: Pulse) -> None:
        """Until cancelled. What fails is reported and left: a page is written at the session's close in any case."""
        await self._claims.load()
        await self._write_missing(pulse)
        await self._catch_up()
        pulse.beat(queue=0)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._taking or self._edited or self._due:
                try:
                    async with self._making.kept():
                        pulse.beat(last=await self._next())
                        pulse.over()
                except AimemoryError as error:
                    pulse.fail(str(error))
            pulse.beat(queue=0)

    async def _next(self) -> str:
        if self._taking:
            return await self._take(self._taking.pop(next(iter(self._taking))))
        if self._edited:
            return await self._obey(*self._edited.popitem())
        due = self._due.pop(next(iter(self._due)))
        return (await self._handover.checkpoint(due.session, due.how))[1]

    async def _obey(self, path: str, raw: bytes) -> str:
        front = split(raw.decode("utf-8", "replace")).front or {}
        name, status = front.get("handoff"), front.get("status")
        is_ours = isinstance(name, str) and "imported" not in front
        handoff = await self._claims.find(HandoffId(str(name))) if is_ours else None
        if handoff is not None and handoff.page != path:
            handoff = await self._handover.moved(handoff, path)
        if handoff is None:
            return f"{path}: no handoff of ours"
        op = _COMMANDS.get(status.strip().lower()) if isinstance(status, str) else None
        if op is None or handoff.state in FINAL:
            return f"{handoff.id}: nothing to do"
        about = sanitize_tree({"why": "its page says so, edited by hand"})
        await self._claims.note(op, handoff.id, self._us(), about, must=False)
        return f"{handoff.id}: {op} by hand"

    async def look_after(self, pulse: Pulse) -> None:
        """From time to time: what a failure or a crash left behind, and what is too old."""
        if self._claims.is_ready:
            await self._write_missing(pulse)
            await self.settle()
            await self.expire()

    async def expire(self) -> None:
        """Handoffs that nobody took for the set number of days."""
        now = self._clock.now_ns()
        for handoff in self._claims.live():
            if handoff.state is HandoffState.OPEN and now - handoff.changed_at_ns > self._expire_ns:
                why = f"nobody took it for {self._expire_ns // _DAY_NS} days"
                try:
                    await self._handover.finish(HandoffOp.EXPIRE, handoff.id, self._us(), why)
                except Conflict:  # taken in this very moment
                    continue

    async def settle(self) -> None:
        """What closed sessions still hold: their claim was noted after their closing had looked for it."""
        now = self._clock.now_ns()
        for handoff in self._claims.live():
            if handoff.state is not HandoffState.CLAIMED or handoff.holder is None:
                continue
            if now - handoff.changed_at_ns > _SETTLED_NS and await self._is_closed(handoff.holder):
                await self._handover.settle(handoff.holder)

    async def claim(self, handoff: HandoffId, by: Party, since_ns: int | None = None) -> Handoff:
        """Take a handoff; one that is provisional gets its page now. Raises Conflict when it can't be had."""
        async with self._making.kept():
            return await self._claim(handoff, by, since_ns)

    async def _claim(self, handoff: HandoffId, by: Party, since_ns: int | None) -> Handoff:
        about = sanitize_tree({"since": since_ns}) if since_ns is not None else NOTHING
        taken = await self._claims.note(HandoffOp.CLAIM, handoff, by, about)
        assert taken is not None
        points.reached("handoff.claimed")
        if taken.page is None and taken.session is not None:
            await self._handover.write_taken(taken)
        return self._claims.get(handoff) or taken

    async def _take(self, taking: _Taking) -> str:
        said = []
        for handoff in self._claims.offered_to(taking.session):
            if handoff.state is not HandoffState.OPEN:
                continue  # somebody else was first: its next prompt tells
            by = Party(taking.session, taking.harness, self._actor.user, self._actor.machine)
            try:
                await self.claim(handoff.id, by, taking.at_ns)
                said.append(f"{handoff.id} claimed by {taking.session}")
            except Conflict as error:  # somebody else was first
                said.append(str(error))
        return "; ".join(said) or "nothing to claim"

    async def _write_missing(self, pulse: Pulse) -> None:
        """Pages of taken handoffs that a stop or a full disk kept away; one that fails holds up no other."""
        for handoff in self._claims.live():
            if handoff.state is HandoffState.CLAIMED and handoff.page is None and handoff.session is not None:
                try:
                    await self._handover.write_taken(handoff)
                except AimemoryError as error:
                    pulse.fail(str(error))

    async def _catch_up(self) -> None:
        """What a stop left between event and claim."""
        for handoff in self._claims.live():
            for offer in handoff.offers if handoff.state is HandoffState.OPEN else ():
                since = self._claims.told_at_ns(handoff, offer.session)
                if since is None or await self._is_closed(offer.session):
                    continue  # it never read of it, or would keep it for ever: nothing closes it once more
                for found in await self._reader.read(observations_of(offer.session)):
                    if found.at_ns >= since and takes(found.event):
                        self._taking.setdefault(offer.session, _Taking(offer.session, found.event.harness, found.at_ns))
                        self._wake.set()
                        break

    async def _is_closed(self, session: SessionId) -> bool:
        row = await self._reader.read(session_row(session))
        return row is not None and row.is_closed

    def _us(self) -> Party:
        return Party(None, None, self._actor.user, self._actor.machine)
