"""The one interface for handoffs' lives: what is open, who was offered it, who has it.

Compare-and-set lies in the writer's thread, over what this class keeps in memory, so that two claims in the same
millisecond meet there and never at an index that lags. What the lines mean comes in as pure functions.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from aimemory.errors import Conflict, Unavailable
from aimemory.index.handoffs import handoff_events, live_handoffs, told_offers
from aimemory.journal.lines import Record
from aimemory.model.handoff import FINAL, Handoff, HandoffId, HandoffOp, HandoffState, Party
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.protocols import Clock
from aimemory.privacy import Sanitized, sanitize_tree
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Append, Writer

Apply = Callable[[Handoff | None, Mapping[str, Any], int], Handoff | None]
Refusal = Callable[[Handoff | None, HandoffOp, Party], str | None]
ChangesNothing = Callable[[Handoff | None, HandoffOp, Party], bool]

_READY_S = 30.0
_KEPT_FINAL = 500


class Claims:
    """Every handoff that is open or claimed, and the way to change one."""

    def __init__(
        self, *, writer: Writer, projector: Projector, reader: Reader, clock: Clock, apply: Apply, refusal: Refusal,
        changes_nothing: ChangesNothing,
    ) -> None:  # fmt: skip
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._clock = clock
        self._apply = apply
        self._refusal = refusal
        self._changes_nothing = changes_nothing
        self._known: dict[HandoffId, Handoff] = {}
        self._told: dict[tuple[HandoffId, SessionId], int] = {}
        self._loaded = asyncio.Event()
        self.awaiting: dict[SessionId, int] = {}
        """Sessions that hold an offer of an open handoff and were told of it: since when, in ns."""

    async def load(self) -> None:
        """Read what is open from the index, once it shows all that was written before this start."""
        if self._loaded.is_set():
            return
        await self._projector.settled()
        await self._projector.reached(self._projector.applied_seq + self._projector.lag)
        for event in await self._reader.read(live_handoffs()):
            known = HandoffId(event.handoff)
            after = self._apply(self._known.get(known), event.data, event.at_ns)
            if after is not None:
                self._known[known] = after
        for handoff, session, at_ns in await self._reader.read(told_offers()):
            self._told.setdefault((HandoffId(handoff), SessionId(session)), at_ns)
        self._look_for_offers()
        self._loaded.set()

    async def reload(self) -> None:
        """Read everything anew: what the journal said has changed."""
        self._loaded.clear()
        self._known = {}
        await self.load()

    async def ready(self) -> None:
        """Wait until `load` is done. Raises Unavailable when it takes long: a rebuild is under way."""
        if not self._loaded.is_set():
            try:
                async with asyncio.timeout(_READY_S):
                    await self._loaded.wait()
            except TimeoutError:
                raise Unavailable("Handoffs are not known yet: the index is being built. Try again.") from None

    async def level(self) -> None:
        """Wait until the index shows every line that is durable now: what a page tells of is read from it."""
        await self._projector.reached(self._writer.last_seq)

    @property
    def is_ready(self) -> bool:
        return self._loaded.is_set()

    def get(self, handoff: HandoffId) -> Handoff | None:
        """One that is open or claimed, or became final lately."""
        return self._known.get(handoff)

    async def find(self, handoff: HandoffId) -> Handoff | None:
        """As `get`, for one that became final long ago too: what is open is always in memory."""
        if handoff not in self._known:
            found: Handoff | None = None
            for event in await self._reader.read(handoff_events([handoff])):
                found = self._apply(found, event.data, event.at_ns)
            if found is not None:
                self._known.setdefault(handoff, found)
        return self._known.get(handoff)

    def live(self, project: ProjectId | None = None) -> list[Handoff]:
        """Open and claimed ones, the latest change first."""
        found = [h for h in list(self._known.values()) if h.state not in FINAL and project in (None, h.project)]
        return sorted(found, key=lambda h: (-h.changed_at_ns, h.id))

    def held_by(self, session: SessionId) -> list[Handoff]:
        """What this session has claimed."""
        return [h for h in self.live() if h.state is HandoffState.CLAIMED and h.holder == session]

    def offered_to(self, session: SessionId) -> list[Handoff]:
        """What this session was told of and does not have, open or taken by another."""
        return [h for h in self.live() if self.told_at_ns(h, session) is not None and h.holder != session]

    def told_at_ns(self, handoff: Handoff, session: SessionId) -> int | None:
        """From when on what this session does takes the handoff; None while it can't have read of it.

        An offer is durable before its brief is given: a crash, or a disk that fails, may come in between.
        """
        offered, told = handoff.offered_at_ns(session), self._told.get((handoff.id, session))
        return None if offered is None or told is None else max(offered, told)

    def given(self, handoff: HandoffId, session: SessionId, at_ns: int) -> None:
        """The session is being given the brief that tells it of this offer."""
        self._told.setdefault((handoff, session), at_ns)
        self._look_for_offers()

    async def note(
        self, op: HandoffOp, handoff: HandoffId, by: Party, about: Sanitized[dict[str, Any]], *, must: bool = True,
        wait: bool = True,
    ) -> Handoff | None:  # fmt: skip
        """Write one line about a handoff, if its present state allows it; returns it as it is then.

        about: with `open`, and with the offer of a provisional one, what the handoff is; else nothing or `why`.
        must: False gives None where the state does not allow it. wait: until the index shows it. Raises Conflict that
        says why, Busy and Unavailable as the writer does. The line is durable when this returns.
        """
        await self.ready()
        await self.find(handoff)
        at_ns = self._clock.now_ns()
        who = {"session": by.session, "harness": by.harness, "user": by.user, "machine": by.machine}
        named = sanitize_tree({k: v for k, v in who.items() if v is not None})  # a client names its harness as it likes
        head = {"op": op.value, "handoff": handoff, "by": named.value}
        data = about.derive(lambda more: head | more)

        def change(append: Append) -> tuple[Handoff | None, str | None]:
            known = self._known.get(handoff)
            if self._changes_nothing(known, op, by):
                return known, None
            if refused := self._refusal(known, op, by):
                return known, refused
            append(Record("handoff", at_ns, data))
            after = self._apply(known, data.value, at_ns)
            if after is not None:
                self._known[handoff] = after
                self._forget_old()
                self._look_for_offers()
            return after, None

        after, refused = await self._writer.call(change)
        if refused is not None:
            if must:
                raise Conflict(refused)
            return None
        if wait:
            await self._projector.reached(self._writer.last_seq)
        return after

    def refile(self, change: Callable[[Handoff], Handoff]) -> None:
        """Say of each known handoff what it is now, after a line that moved pages or sessions."""
        self._known = {name: change(handoff) for name, handoff in self._known.items()}

    def _look_for_offers(self) -> None:
        awaiting: dict[SessionId, int] = {}
        for handoff in list(self._known.values()):  # `find` may add one meanwhile, from another thread
            for offer in handoff.offers if handoff.state is HandoffState.OPEN else ():
                if (since := self.told_at_ns(handoff, offer.session)) is not None:
                    awaiting[offer.session] = min(since, awaiting.get(offer.session, since))
        self.awaiting = awaiting

    def _forget_old(self) -> None:
        final = [h for h in list(self._known.values()) if h.state in FINAL]
        for old in sorted(final, key=lambda h: h.changed_at_ns)[: max(0, len(final) - _KEPT_FINAL)]:
            del self._known[old.id]
            self._told = {key: at_ns for key, at_ns in self._told.items() if key[0] != old.id}
