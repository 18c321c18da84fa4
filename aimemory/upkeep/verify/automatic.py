"""The self-check: `aimemory verify` by the clock and after a crash, as a process that stands back for others.

What it found last is kept in the cache, so it survives restarts.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aimemory.datadir import write_atomic
from aimemory.model.protocols import Clock, Pulse, rfc3339_local
from aimemory.privacy import sanitize_tree
from aimemory.upkeep.child import Child, Start
from aimemory.upkeep.verify.index import REINDEX

_HOUR_NS = 3_600_000_000_000
_AFTER_START_NS = 600_000_000_000
"""One that is due by the clock waits so long after a start: then there is other work."""
_LIMIT_NS = 2 * _HOUR_NS
_NICE = 15
_READ_BYTES = 8 << 20
_NAMED = 3


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """every_hours: 0 checks never. command: `verify --json`. record: the file for what was found. after_crash: the
    daemon before this one did not stop by itself, so one is due at once.
    """

    every_hours: int
    command: Sequence[str]
    env: Mapping[str, str]
    record: Path
    after_crash: bool


class SelfCheck:
    """Starts a check when it is due and looks how it came out. Never waits for it."""

    def __init__(
        self, plan: CheckPlan, clock: Clock, *, is_ready: Callable[[], bool],
        on_damaged_index: Callable[[str], None], start: Start = subprocess.Popen,
    ) -> None:  # fmt: skip
        """is_ready: False while the index is being built, which a check waits for. on_damaged_index: called when of all
        that was looked at only the index, a cache, is not right; another check follows."""
        self._plan = plan
        self._clock = clock
        self._on_damaged_index = on_damaged_index
        self._child = Child(start)
        self._started_ns = clock.now_ns()
        self._begun_ns = 0
        self._is_ready = is_ready
        self._is_due_now = plan.after_crash
        self._is_second = False  # after one that had the index built anew
        self._failed_ns = 0
        self._reason: str | None = None
        self._last = _load(plan.record)

    async def step(self, pulse: Pulse) -> None:
        """What the scheduler calls every few seconds."""
        if (code := self._child.ended()) is not None:
            self._settle(pulse, code)
        elif self._child.is_running and self._clock.now_ns() - self._begun_ns > _LIMIT_NS:
            self._fail(pulse, f"it was not done after {_LIMIT_NS // _HOUR_NS} hours")
        if not self._child.is_running and self._is_due():
            self._is_due_now = False
            self._begun_ns = self._clock.now_ns()
            self._child.begin(self._plan.command, self._plan.env, nice=_NICE)

    def close(self) -> None:
        """End one that runs: it only reads. Twice is fine."""
        self._child.close()

    def problem(self) -> str | None:
        """A sentence for `status` while the last check found damage, or failed."""
        if self._reason is not None:
            return f"The self-check of {rfc3339_local(self._failed_ns)} failed: {self._reason}"
        if not self._last or not self._last["problems"]:
            return None
        first = self._last["findings"][0]
        return (
            f"The self-check of {rfc3339_local(self._last['at_ns'])} found {self._last['problems']} problems, the "
            f"first in {first['where']}: {first['what']} `aimemory verify` lists all with what to do."
        )

    def as_data(self) -> dict[str, Any]:
        """For `status`: when it was last made, and what it found."""
        last = self._last or {}
        return {
            "every_hours": self._plan.every_hours,
            "running": self._child.is_running,
            "last_at": rfc3339_local(last["at_ns"]) if last else None,
            "problems": last.get("problems"),
            "findings": last.get("findings", []),
            "last_failure_at": rfc3339_local(self._failed_ns) if self._failed_ns else None,
            "reason": self._reason,
        }

    def _is_due(self) -> bool:
        if not self._plan.every_hours:
            return False
        now = self._clock.now_ns()
        if self._is_due_now:
            return self._is_ready()
        if now - self._started_ns < _AFTER_START_NS or (self._failed_ns and now - self._failed_ns < _HOUR_NS):
            return False
        return now - (self._last["at_ns"] if self._last else 0) >= self._plan.every_hours * _HOUR_NS

    def _settle(self, pulse: Pulse, code: int) -> None:
        try:
            found = json.loads(self._child.printed(_READ_BYTES))
            damage = [one for one in found["findings"] if one["level"] == "damage"]
            hidden = int(found["left_out"])
        except (ValueError, KeyError, TypeError, OverflowError):
            self._fail(pulse, self._child.complaint() or f"it ended with {code}")
            return
        named = [{"part": one["part"], "where": one["where"], "what": one["what"]} for one in damage[:_NAMED]]
        said = {"at_ns": self._begun_ns, "problems": len(damage) + (hidden if damage else 0), "findings": named}
        self._last = sanitize_tree(said).value
        self._reason = None
        self._child.close()
        try:
            write_atomic(self._plan.record, json.dumps(self._last).encode())
        except OSError:  # it is made again after the next start
            pass
        pulse.beat(last="a self-check")
        pulse.over("self-check: ")
        if damage and not self._is_second and all(one["do"] == REINDEX for one in damage):
            self._is_due_now = self._is_second = True
            self._on_damaged_index(
                f"the self-check found the index not right in {len(damage)} places; it is built anew"
            )
        else:
            self._is_second = False

    def _fail(self, pulse: Pulse, reason: str) -> None:
        self._failed_ns = self._clock.now_ns()
        self._reason = str(sanitize_tree({"reason": reason}).value["reason"])
        pulse.fail(f"self-check: {self._reason}")
        self._child.close()


def _load(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
        return found if {"at_ns", "problems", "findings"} <= found.keys() else None
    except (OSError, ValueError, AttributeError):
        return None
