"""From which process a session's events come: looked up seldom, and noted with an event only when it is news."""

from collections import OrderedDict
from dataclasses import dataclass, replace

from aimemory.harness.spec import HarnessSpec
from aimemory.model.event import Event, EventKind
from aimemory.model.ids import SessionId
from aimemory.model.process import Process
from aimemory.processes import Processes

_SESSIONS = 5000


@dataclass(slots=True)
class _Known:
    process: Process | None


class Origins:
    """Keeps the last process of each session.

    A session's starts and prompts are looked up, which costs some 60 µs; the others only until the process is
    confirmed, so that tool calls don't pay for it.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._known: OrderedDict[SessionId, _Known] = OrderedDict()

    def news(self, event: Event, session: SessionId | None, peer: int | None, spec: HarnessSpec) -> Process | None:
        """What is to be noted with this event: the process at each start of a session, and where it has changed or is
        now confirmed; else None.

        peer: the process at the other end of the socket, None for an event that came another way. It must be the hook
        client itself: others may send for somebody else, and a client in a container names another pid than we see.
        """
        if session is None or peer is None or peer != event.pid or spec.hooks.parent == "server":
            return None
        known = self._known.get(session)
        is_start = event.kind is EventKind.SESSION_START
        is_looked_at = is_start or event.kind is EventKind.PROMPT
        if known is not None and not is_looked_at and (known.process is None or known.process.confirmed):
            return None
        found = self._processes.harness_of(peer)
        before = known.process if known is not None else None
        if found is not None and found == before:
            found = replace(found, confirmed=True)
        if found is None and (before is not None or not self._processes.exists(peer)):
            return None  # the hook ended before we looked: the next event is looked at
        self._remember(session, found)
        is_news = found is not None and (before != found or before.confirmed != found.confirmed)
        return found if is_start or is_news else None

    def forget(self, session: SessionId | None) -> None:
        """What was noted for this session did not become durable."""
        if session is not None:
            self._known.pop(session, None)

    def _remember(self, session: SessionId, process: Process | None) -> None:
        self._known[session] = _Known(process)
        self._known.move_to_end(session)
        if len(self._known) > _SESSIONS:
            self._known.popitem(last=False)
