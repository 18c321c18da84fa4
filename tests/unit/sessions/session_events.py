"""Observations made by hand: one call says only what matters to the test."""

from collections.abc import Iterator
from itertools import count

from aimemory.model.event import Event, EventKind
from aimemory.model.ids import ObservationId, ProjectId, Seq, SessionId
from aimemory.model.observation import Observation

SECOND = 1_000_000_000
START_NS = 1_796_028_000 * SECOND


class Events:
    """Observations of one session, a second apart."""

    def __init__(self, harness: str = "claude-code", cwd: str | None = "/w/app", session: str = "5e55") -> None:
        self._harness, self._cwd, self._session = harness, cwd, SessionId(session)
        self._ticks: Iterator[int] = count(1)

    def __call__(self, kind: EventKind, *, after_s: float | None = None, **said: object) -> Observation:
        tick = next(self._ticks)
        at_ns = START_NS + int((tick if after_s is None else after_s) * SECOND)
        fields: dict[str, object] = {"event": kind.value, "cwd": self._cwd, "native_session": "n1", **said}
        event = Event(harness=self._harness, kind=kind, **fields)  # type: ignore[arg-type]
        return Observation(Seq(tick), ObservationId(f"o{tick}"), self._session, ProjectId("p"), at_ns, event)

    def start(self, **said: object) -> Observation:
        return self(EventKind.SESSION_START, **said)

    def prompt(self, text: str, **said: object) -> Observation:
        return self(EventKind.PROMPT, prompt=text, **said)

    def ran(self, command: str, failed: bool | None = False, **said: object) -> Observation:
        return self(EventKind.POST_TOOL, tool="Bash", command=command, failed=failed, **said)

    def wrote(self, *paths: str, **said: object) -> Observation:
        return self(EventKind.POST_TOOL, tool="Write", files_written=paths, **said)

    def answer(self, message: str | None, **said: object) -> Observation:
        return self(EventKind.TURN_END, message=message, **said)

    def end(self, reason: str | None = None, **said: object) -> Observation:
        return self(EventKind.SESSION_END, reason=reason, **said)
