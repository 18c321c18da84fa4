"""Takes undelivered events from the spool through the same intake.

A file goes when its event is stored, a duplicate or dropped by a rule; it moves to the rejects when it can't be
understood; it stays when the daemon can't store or read it now. What stays waits a while before it is tried again, so
that it costs little and keeps nothing back that is newer.
"""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from aimemory import points
from aimemory.errors import Damaged, Unanswered, Unavailable, UserError
from aimemory.intake.decide import Intake
from aimemory.intake.rejects import Rejects
from aimemory.model.event import Delivery
from aimemory.model.protocols import Pulse
from aimemory.model.spool import DROPPED_FILE, REJECTED_FILE, SpoolFile, name_at_ns, name_kind, read

_AT_ONCE = 2000
_REFUSALS = 5
"""So many in one go mean that nothing can be stored just now."""
_REFUSED_S = 5.0
_SILENT_S = 30.0
_UNREAD_S = 60.0
_UNREAD_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class _Staying:
    """until: when to try again, by the monotonic clock. why: what keeps it from being read; None: it was refused."""

    until: float
    why: str | None


class Drain:
    """`drain` empties the spool; the daemon's lock makes it the only one."""

    def __init__(self, spool: Path, rejects: Rejects, intake: Intake) -> None:
        self._spool = spool
        self._lock = asyncio.Lock()
        self._rejects = rejects
        self._intake = intake
        self._staying: dict[str, _Staying] = {}

    async def drain(self, pulse: Pulse | None = None) -> int:
        """Take in what lies in the spool, oldest first; returns how many events are settled.

        Raises Unavailable when some could not be stored now; they stay in the spool, and the others are settled.
        """
        async with self._lock:
            return await self._drain(pulse)

    def try_all_again(self) -> None:
        """With the next `drain`, also what would wait a while longer."""
        self._staying.clear()

    async def _drain(self, pulse: Pulse | None) -> int:
        settled = 0
        refused: list[Unavailable] = []
        silent: set[str | None] = set()
        for name in self._chosen(await asyncio.to_thread(self._names)):
            path = self._spool / name
            try:
                entry = await asyncio.to_thread(read, str(path))
            except FileNotFoundError:
                continue
            except OSError as error:
                self._stays(name, _UNREAD_S, error.strerror or type(error).__name__)
                continue
            except Damaged:
                await self._set_aside(path)
                continue
            if entry.cwd is not None and entry.cwd in silent:
                self._stays(name, _SILENT_S, None)
                continue
            try:
                await self._take(entry)
            except Unanswered:  # its directory hangs: that says nothing of the others
                self._stays(name, _SILENT_S, None)
                silent.add(entry.cwd)
                continue
            except Unavailable as error:  # this one can't be filed now, or none can: the others decide
                self._stays(name, _REFUSED_S, None)
                refused.append(error)
                if len(refused) >= _REFUSALS:
                    break
                continue
            except (UserError, RecursionError):  # not to be understood, this time as little as the next
                await self._set_aside(path)
                continue
            points.reached("spool.stored")
            settled += 1
            try:
                await asyncio.to_thread(path.unlink, missing_ok=True)
            except OSError as error:  # known by its key, it is stored once all the same
                self._stays(name, _UNREAD_S, f"its event is stored, but it can't be removed: {error.strerror}")
            if pulse is not None:
                pulse.beat(last=f"{settled} events from the spool")
        if refused:
            raise refused[-1]
        return settled

    def _chosen(self, names: list[str]) -> list[str]:
        """What to try now, oldest first: what hasn't been tried, then some of what has waited."""
        self._staying = {name: self._staying[name] for name in names if name in self._staying}
        now = time.monotonic()
        fresh = [name for name in names if name not in self._staying]
        again = [name for name, staying in self._staying.items() if staying.until <= now]
        return fresh[:_AT_ONCE] + again[:_UNREAD_AT_ONCE]

    def _stays(self, name: str, for_s: float, why: str | None) -> None:
        self._staying[name] = _Staying(time.monotonic() + for_s, why)

    async def _take(self, entry: SpoolFile) -> None:
        delivery = Delivery(harness=entry.harness, event=entry.event, at_ns=entry.at_ns, pid=entry.pid, cwd=entry.cwd)
        content: object = entry.body
        if entry.body is None and entry.text is not None:
            content = {"text": entry.text, "incomplete": entry.incomplete}
        # sanitised by the client already; once more costs little and covers rules that are newer than the file
        payload = await self._intake.sanitise(json.dumps(content).encode())
        await self._intake.take_sanitised(delivery, payload)

    def _names(self) -> list[str]:
        try:
            names = [entry.name for entry in self._spool.iterdir() if name_kind(entry.name) is not None]
        except FileNotFoundError:
            return []
        return sorted(names, key=name_at_ns)

    async def _set_aside(self, path: Path) -> None:
        try:
            await asyncio.to_thread(self._rejects.take, path)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._stays(path.name, _UNREAD_S, f"it is no event, and can't be moved to the rejects: {error.strerror}")

    def state(self) -> dict[str, object]:
        """For `status`: events waiting, the oldest, those that can't be read, what a bound forced out. Blocks."""
        names = self._names()
        try:
            dropped = json.loads((self._spool / DROPPED_FILE).read_bytes())
        except (OSError, ValueError):
            dropped = {}
        try:
            refused = json.loads((self._rejects.folder / REJECTED_FILE).read_bytes())
        except (OSError, ValueError):
            refused = {}
        unread = {name: staying.why for name, staying in list(self._staying.items()) if staying.why is not None}
        first = next(iter(unread), None)
        return {
            "unread": {
                "files": len(unread),
                "first": first and str(self._spool / first),
                "why": first and unread[first],
            },
            "refused_by_status": refused if isinstance(refused, dict) else {},
            "events": len(names),
            "oldest_at_ns": name_at_ns(names[0]) if names else None,
            "dropped": dropped if isinstance(dropped, dict) else {},
            "kinds": dict(Counter(name_kind(name) for name in names)),
        }
