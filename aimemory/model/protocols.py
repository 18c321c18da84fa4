"""Small capabilities that are passed in, so that tests need no patching and a body need not know the daemon."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The time now. `now_ns` counts from the Unix epoch, UTC."""

    def now_ns(self) -> int: ...


class SystemClock:
    def now_ns(self) -> int:
        return time.time_ns()


def instant(ns: int) -> datetime:
    """An aware UTC datetime from nanoseconds since the epoch."""
    return datetime.fromtimestamp(ns / 1e9, tz=UTC)


def rfc3339_local(ns: int) -> str:
    """RFC 3339 with the machine's local offset, whole seconds: what pages and briefs show."""
    return instant(ns).astimezone().isoformat(timespec="seconds")


class Pulse(Protocol):
    """How a long-lived task reports. `beat` after each piece of work, `fail` when one went wrong, `over` when what had
    gone wrong has gone well since (only where the error begins with `what`: a task may have several jobs)."""

    def beat(self, *, queue: int | None = None, last: str | None = None) -> None: ...

    def fail(self, error: str) -> None: ...

    def over(self, what: str = "") -> None: ...


@dataclass(slots=True)
class TaskPulse:
    """A `Pulse` that remembers, for `status`: age of the last beat, queue depth, last success, last error and since
    when that is over (0: it is not, as far as is known)."""

    name: str
    clock: Callable[[], int] = time.time_ns
    started_ns: int = 0
    beat_ns: int = 0
    queue: int = 0
    last: str | None = None
    error: str | None = None
    error_ns: int = 0
    over_ns: int = 0
    failures: int = 0
    state: str = "starting"

    def beat(self, *, queue: int | None = None, last: str | None = None) -> None:
        self.beat_ns = self.clock()
        self.state = "running"
        if queue is not None:
            self.queue = queue
        if last is not None:
            self.last = last

    def fail(self, error: str) -> None:
        self.error = error
        self.error_ns = self.clock()
        self.over_ns = 0
        self.failures += 1

    def over(self, what: str = "") -> None:
        if self.error is not None and not self.over_ns and self.error.startswith(what):
            self.over_ns = self.clock()
