"""Takes one raw event and decides: stored, duplicate, dropped, or refused.

The order is: the privacy boundary first, so that nothing behind it ever holds raw text; then decoding by the
harness's data file, capture rules, identity, journal. The answer is given when the journal line is synced.
"""

import asyncio
import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Protocol

from aimemory.config import Config
from aimemory.errors import AimemoryError, TooLarge, Unavailable, UserError
from aimemory.harness.decode import decode
from aimemory.harness.registry import Registry
from aimemory.intake.capture import Capture, kept_by
from aimemory.intake.counters import Counters
from aimemory.intake.origin import Origins
from aimemory.intake.rejects import Rejects
from aimemory.journal.lines import Record
from aimemory.model.event import Delivery, Event, EventKind, Json
from aimemory.model.ids import ObservationId, Seq, SessionId, digest, observation_id, session_id
from aimemory.model.observation import event_data
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor, Project
from aimemory.privacy import Sanitized, sanitize_payload, sanitize_tree
from aimemory.privacy.capture import Dropped
from aimemory.privacy.folders import OFF_REASON, Folders
from aimemory.privacy.mask import masked
from aimemory.privacy.worker import Worker
from aimemory.sessions.liveness import Start
from aimemory.store.dedupe import Dedupe, Known
from aimemory.store.forgotten import EVENT_REASON, REASON, Forgotten
from aimemory.store.projects import Filing, Projects
from aimemory.store.writer import Writer

LIMIT_BYTES = 10 << 20
_INLINE_BYTES = 256 << 10
_LEAF_BYTES = 64 << 10
_REMEMBERED = 512
_SESSIONS_OFF = 1000
_FAR_FUTURE_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an event. `outcome` is stored, duplicate or dropped; `reason` says why it was dropped.

    at_ns: capture time of a stored event.
    """

    outcome: str
    id: ObservationId | None = None
    seq: Seq | None = None
    reason: str | None = None
    session: SessionId | None = None
    project: Project | None = None
    event: Event | None = None
    at_ns: int | None = None


class OnStored(Protocol):
    """Told of every newly stored observation, on the event loop."""

    def __call__(self, outcome: Outcome) -> None: ...


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Intake:
    """`take` is the one door for events."""

    def __init__(
        self, *, registry: Registry, config: Config, writer: Writer, dedupe: Dedupe, projects: Projects, actor: Actor,
        clock: Clock, worker: Worker, rejects: Rejects, counters: Counters, origins: Origins, folders: Folders,
        forgotten: Forgotten, on_stored: OnStored,
    ) -> None:  # fmt: skip
        self._registry = registry
        self._config = config
        self._writer = writer
        self._dedupe = dedupe
        self._projects = projects
        self._actor = actor
        self._clock = clock
        self._worker = worker
        self._rejects = rejects
        self._counters = counters
        self._origins = origins
        self._folders = folders
        self._forgotten = forgotten
        self._began_in: OrderedDict[SessionId, str] = OrderedDict()
        self._on_stored = on_stored
        self._own_root = str(config.data.root)
        self._session_ids: dict[tuple[str, str], SessionId] = {}
        self._deliveries: dict[tuple[str | None, ...], Sanitized[Delivery]] = {}
        self._capture = Capture(projects, config.capture.mode)

    async def take(self, delivery: Delivery, body: bytes, peer: int | None = None) -> Outcome:
        """Store one event; returns when it is durable, a duplicate, or dropped by a rule.

        peer: pid at the other end of the Unix socket, None for what came another way.
        Raises UserError when the request can't be understood (the event then lies sanitised in
        the reject file and is counted), Busy when the queue is full, Unavailable when the disk refuses.
        """
        if not delivery.harness or not delivery.event:
            raise await self._reject(delivery, body, "the request names no harness or no event")
        if not body.strip():
            raise await self._reject(delivery, body, "the body is empty, which is not JSON")
        try:
            payload = await self.sanitise(body)
        except ValueError as error:
            raise await self._reject(delivery, body, f"the body is not JSON ({error})") from None
        return await self.take_sanitised(delivery, payload, peer)

    async def take_sanitised(self, delivery: Delivery, payload: Sanitized[Json], peer: int | None = None) -> Outcome:
        """As `take`, for a payload that has passed the boundary already."""
        said = self._said(delivery)
        spec = self._registry.get(said.value.harness)
        caps = self._config.capture
        decoded = decode(payload, said, spec, prompt_bytes=caps.prompt_bytes, tool_bytes=caps.tool_bytes)
        event = decoded.value
        now = self._clock.now_ns()
        at_ns = event.at_ns if event.at_ns is not None and 0 < event.at_ns < now + _FAR_FUTURE_NS else now
        session = self._session_id(event.harness, event.native_session)
        if event.cwd is not None and _is_below(event.cwd, self._own_root):
            return self._dropped(event, "it ran in the data directory of aimemory itself", session)
        if self._is_switched_off(event, session):
            return self._dropped(event, OFF_REASON, session)
        await self._dedupe.primed()
        if self._forgotten.is_session(session):  # before it is filed: it doesn't even make a project
            return self._dropped(event, REASON, session)
        filing = await self._projects.file(session, event.cwd)
        if filing.place != event.cwd and await self._is_off_by_a_link(event.cwd, filing.place):
            return self._dropped(event, OFF_REASON, session)

        def whole() -> Event:
            return decode(payload, said, spec, prompt_bytes=_LEAF_BYTES, tool_bytes=_LEAF_BYTES).value

        verdict = await self._capture.verdict(event, whole, filing, session, payload.value)
        kept = kept_by(verdict, decoded)
        if isinstance(kept, Dropped):
            return self._dropped(event, kept.reason, session)
        if verdict.level == "metadata":  # not even a digest of its texts
            payload = payload.derive(masked)
        known = identify(event, payload, at_ns, session)
        found = await self._dedupe.find(known)
        if found is None and known.hash is not None and self._forgotten.redacted:
            found = await self._dedupe.find(replace(known, key=self._forgotten.veiled_key(known.key), hash=None))
        if found is not None:
            return await self._duplicate(found, filing, session, event)
        if self._forgotten.is_event(known.key):
            return self._dropped(event, EVENT_REASON, session)
        if (process := self._origins.news(event, session, peer, spec)) is not None:
            kept = kept.derive(lambda value: replace(value, process=process))
        return await self._store(known, kept, filing, session)

    def _session_id(self, harness: str, native: str | None) -> SessionId | None:
        if not native:
            return None
        known = self._session_ids.get((harness, native))
        if known is None:
            if len(self._session_ids) >= _REMEMBERED:
                self._session_ids.clear()
            known = self._session_ids[harness, native] = session_id(harness, native)
        return known

    def _said(self, delivery: Delivery) -> Sanitized[Delivery]:
        """`sanitise_delivery`, remembered: harness, event and directory are the same for most events."""
        key = (delivery.harness, delivery.event, delivery.cwd, delivery.session_id)
        texts = self._deliveries.get(key)
        if texts is None:
            texts = sanitise_delivery(delivery)
            if len(self._deliveries) >= _REMEMBERED:
                self._deliveries.clear()
            self._deliveries[key] = texts
        at_ns, pid, reply = delivery.at_ns, delivery.pid, delivery.reply
        return texts.derive(lambda t: Delivery(t.harness, t.event, at_ns, pid, t.cwd, t.session_id, reply))

    async def sanitise(self, body: bytes) -> Sanitized[Json]:
        """A JSON body through the privacy boundary, a large one in the worker. Raises ValueError if it is no JSON."""
        if len(body) <= _INLINE_BYTES:
            return sanitize_payload(body, leaf_cap_bytes=_LEAF_BYTES)
        return await asyncio.wrap_future(self._worker.submit(body, _LEAF_BYTES))

    def _is_switched_off(self, event: Event, session: SessionId | None) -> bool:
        """Whether nothing may be recorded where it happened, or where its session began: a step aside does not make
        that session's work another folder's. Raises Unavailable when that can't be told."""
        if not self._folders.is_off(event.cwd, self._began_in.get(session) if session is not None else None):
            return False
        is_beginning = event.kind is EventKind.SESSION_START and event.reason != "compact"
        if is_beginning and session is not None and event.cwd is not None:
            self._began_in.setdefault(session, event.cwd)
            if len(self._began_in) > _SESSIONS_OFF:
                self._began_in.popitem(last=False)
        return True

    async def _is_off_by_a_link(self, cwd: str | None, session_place: str | None) -> bool:
        """As `_is_switched_off`, of the places behind links: the table has no links."""
        if cwd is None or not self._folders.table():
            return self._folders.is_off(session_place)
        return self._folders.is_off(session_place, await self._projects.place(cwd))

    def _dropped(self, event: Event, reason: str, session: SessionId | None) -> Outcome:
        self._counters.dropped(event.harness, event.event, reason)
        return Outcome("dropped", reason=reason, session=session, event=event)

    async def _duplicate(
        self, found: tuple[Known, "asyncio.Future[Seq] | None"], filing: Filing, session: SessionId | None, event: Event
    ) -> Outcome:
        known, pending = found
        seq = await asyncio.shield(pending) if pending is not None else None
        self._counters.duplicate(event.harness, event.event)
        return Outcome(
            "duplicate", id=observation_id(known.key), seq=seq, session=session, project=filing.project, event=event
        )

    async def _store(self, known: Known, kept: Sanitized[Event], filing: Filing, session: SessionId | None) -> Outcome:
        event = kept.value
        identifier = observation_id(known.key)
        actor, project = self._actor, filing.project

        def line(value: Event) -> dict[str, Any]:
            own: dict[str, Any] = {"id": identifier, "key": known.key}
            if known.hash is not None:
                own["hash"] = known.hash
            if session is not None:
                own["session"] = session
            return own | {"project": project.id, "user": actor.user, "machine": actor.machine} | event_data(value)

        stored = self._writer.submit(Record("observation", known.at_ns, kept.derive(line)))
        self._dedupe.add(known, stored)
        try:
            seq = await asyncio.shield(stored)  # the write goes on, and is known, also when the client goes away
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._dedupe.forget_failed(known)
            self._origins.forget(session)
            raise
        self._counters.stored(event.harness, event.event)
        outcome = Outcome(
            "stored", id=identifier, seq=seq, session=session, project=project, event=event, at_ns=known.at_ns
        )
        self._on_stored(outcome)
        return outcome

    def refused(self, delivery: Delivery, error: AimemoryError) -> None:
        """Count an event that did not get in for a reason that is not its own form: too large, no room, no disk."""
        if isinstance(error, TooLarge | Unavailable):
            said = sanitise_delivery(delivery).value
            reason = {"TooLarge": "larger than 10 MiB", "Busy": "the queue was full"}.get(type(error).__name__)
            self._counters.rejected(said.harness or "unknown", said.event, reason or "could not be stored just then")

    async def _reject(self, delivery: Delivery, body: bytes, reason: str) -> UserError:
        said = sanitise_delivery(delivery)
        self._counters.rejected(said.value.harness or "unknown", said.value.event, reason)
        if self._folders.is_off(said.value.cwd):
            return UserError(f"Not stored: {reason}. Nothing of it is kept: {OFF_REASON}.")
        await asyncio.to_thread(self._rejects.keep, said, body, reason)
        return UserError(f"Not stored: {reason}. The event is kept in spool/rejects of the data directory.")


def sanitise_delivery(delivery: Delivery) -> Sanitized[Delivery]:
    """The delivery with its texts through the boundary."""
    texts = sanitize_tree([delivery.harness, delivery.event, delivery.cwd, delivery.session_id], leaf_cap_bytes=4096)
    return texts.derive(
        lambda t: Delivery(
            harness=t[0],
            event=t[1],
            cwd=t[2],
            session_id=t[3],
            at_ns=delivery.at_ns,
            pid=delivery.pid,
            reply=delivery.reply,
        )
    )


def identify(event: Event, payload: Sanitized[Json], at_ns: int, session: SessionId | None) -> Known:
    """How this event is recognised when it comes again.

    With identity fields: by them, for ever. Without: by the hash of its sanitised payload together with the instant
    and process of its capture, and within two seconds by the hash alone (see `store.dedupe`).
    """
    if event.identity:
        key = digest("identity", event.harness, event.native_session or "", event.event, *event.identity, size=16)
        return Known(key=key, hash=None, at_ns=at_ns, session=session)
    canonical = _CANONICAL.encode(payload.value)
    about = (event.harness, event.event, event.native_session or "", event.cwd or "")
    content = digest("hash", *about, canonical, size=16)
    key = digest("capture", content, str(at_ns), str(event.pid or 0), size=16)
    return Known(key=key, hash=content, at_ns=at_ns, session=session)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def ends_session(outcome: Outcome) -> bool:
    """A stored event that closes its session. The end of a sub-agent is not that of its parent."""
    event = outcome.event
    return (
        event is not None
        and event.kind is EventKind.SESSION_END
        and event.agent_id is None
        and outcome.outcome == "stored"
    )


def begins_session(outcome: Outcome) -> Start | None:
    """The start that a stored event reports, where it may concern other sessions. A sub-agent's concerns none."""
    event, session, project, at_ns = outcome.event, outcome.session, outcome.project, outcome.at_ns
    if event is None or event.kind is not EventKind.SESSION_START or event.agent_id is not None or event.cwd is None:
        return None
    if outcome.outcome != "stored" or session is None or project is None or at_ns is None:
        return None
    return Start(session, event.harness, project.id, event.cwd, at_ns, event.reason or "", event.process)
