"""Backups by the clock: a process of its own, so that whoever acknowledges events does none of the work.

When the last one was made is read from the names of the archives, so it survives restarts and somebody's cleaning up.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aimemory.model.protocols import Clock, Pulse, rfc3339_local
from aimemory.upkeep.backup.make import automatic_names
from aimemory.upkeep.child import Child, Start

_HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """every_hours: 0 makes none. command: makes one backup and exits, 0 when it is good. folder: where they lie."""

    every_hours: int
    folder: Path
    machine: str
    command: Sequence[str]
    env: Mapping[str, str]


class Automatic:
    """Starts a backup when it is due and looks how the one that runs came out. Never waits for it."""

    def __init__(self, plan: Plan, clock: Clock, start: Start = subprocess.Popen):
        self._plan = plan
        self._clock = clock
        self._child = Child(start)
        self._failed_ns = 0
        self._reason: str | None = None

    async def step(self, pulse: Pulse) -> None:
        """What the scheduler calls every few seconds."""
        if (code := self._child.ended()) is not None:
            self._settle(pulse, code)
        if not self._child.is_running and self._is_due():
            self._child.begin(self._plan.command, self._plan.env)

    def close(self) -> None:
        """End one that runs; what it leaves unfinished the next one removes. Twice is fine."""
        self._child.close()

    def problem(self) -> str | None:
        """A sentence for `status` while the last attempt failed."""
        if self._reason is None:
            return None
        return f"The automatic backup of {rfc3339_local(self._failed_ns)} failed: {self._reason}"

    def as_data(self) -> dict[str, Any]:
        """For `status`: whether they are made, and how the last ones came out."""
        last = self._last_ns()
        return {
            "every_hours": self._plan.every_hours,
            "folder": str(self._plan.folder),
            "running": self._child.is_running,
            "last_success_at": rfc3339_local(last) if last else None,
            "last_failure_at": rfc3339_local(self._failed_ns) if self._failed_ns else None,
            "reason": self._reason,
        }

    def _is_due(self) -> bool:
        """After a failure it is tried again within the hour."""
        if not self._plan.every_hours:
            return False
        now = self._clock.now_ns()
        if self._failed_ns and now - self._failed_ns < _HOUR_NS:
            return False
        return now - self._last_ns() >= self._plan.every_hours * _HOUR_NS

    def _last_ns(self) -> int:
        """The newest archive's time; 0 when there is none, or the folder can't be read."""
        try:
            names = automatic_names(self._plan.folder, self._plan.machine)
        except OSError:
            return 0
        times = [datetime.strptime(name.split("-")[3], "%Y%m%dT%H%M%SZ") for name in names]
        return max((int(time.replace(tzinfo=UTC).timestamp()) * 10**9 for time in times), default=0)

    def _settle(self, pulse: Pulse, code: int) -> None:
        if code == 0:
            self._reason = None
            pulse.beat(last="a backup")
            pulse.over("backup: ")
        else:
            self._failed_ns = self._clock.now_ns()
            self._reason = self._child.complaint() or f"it ended with {code}"
            pulse.fail(f"backup: {self._reason}")
        self._child.close()
