"""Takes undelivered events from the spool through the same intake.

A file goes when its event is stored, a duplicate or dropped by a rule; it moves to the rejects when it can't be
understood; it stays when the daemon can't store it now.
"""

import asyncio
import json
from collections import Counter
from pathlib import Path

from aimemory import points
from aimemory.errors import Damaged, Unavailable, UserError
from aimemory.intake.decide import Intake
from aimemory.model.event import Delivery
from aimemory.model.protocols import Pulse
from aimemory.model.spool import DROPPED_FILE, REJECTED_FILE, SpoolFile, name_at_ns, name_kind, parse

_AT_ONCE = 2000
_REFUSALS = 5
"""So many in one go mean that nothing can be stored just now."""


class Drain:
    """`drain` empties the spool; the daemon's lock makes it the only one."""

    def __init__(self, spool: Path, rejects: Path, intake: Intake) -> None:
        self._spool = spool
        self._lock = asyncio.Lock()
        self._rejects = rejects
        self._intake = intake

    async def drain(self, pulse: Pulse | None = None) -> int:
        """Take in what lies in the spool, oldest first; returns how many events are settled.

        Raises Unavailable when some could not be stored now; they stay in the spool, and the others are settled.
        """
        async with self._lock:
            return await self._drain(pulse)

    async def _drain(self, pulse: Pulse | None) -> int:
        settled = 0
        refused: list[Unavailable] = []
        for name in (await asyncio.to_thread(self._names))[:_AT_ONCE]:
            path = self._spool / name
            try:
                entry = parse(await asyncio.to_thread(path.read_bytes), name)
            except OSError:  # gone, or not to be read just now: it stays for the next time
                continue
            except Damaged:
                await asyncio.to_thread(self._set_aside, path)
                continue
            try:
                await self._take(entry)
            except Unavailable as error:  # this one can't be filed now, or none can: the others decide
                refused.append(error)
                if len(refused) >= _REFUSALS:
                    break
                continue
            except (UserError, RecursionError):  # not to be understood, this time as little as the next
                await asyncio.to_thread(self._set_aside, path)
                continue
            points.reached("spool.stored")
            await asyncio.to_thread(path.unlink, missing_ok=True)
            settled += 1
            if pulse is not None:
                pulse.beat(last=f"{settled} events from the spool")
        if refused:
            raise refused[-1]
        return settled

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

    def _set_aside(self, path: Path) -> None:
        try:
            path.replace(self._rejects / path.name)
        except OSError:
            path.unlink(missing_ok=True)

    def state(self) -> dict[str, object]:
        """For `status`: events waiting, the oldest, what a bound forced out. Blocks."""
        names = self._names()
        try:
            dropped = json.loads((self._spool / DROPPED_FILE).read_bytes())
        except (OSError, ValueError):
            dropped = {}
        try:
            refused = json.loads((self._rejects / REJECTED_FILE).read_bytes())
        except (OSError, ValueError):
            refused = {}
        return {
            "refused_by_status": refused if isinstance(refused, dict) else {},
            "events": len(names),
            "oldest_at_ns": name_at_ns(names[0]) if names else None,
            "dropped": dropped if isinstance(dropped, dict) else {},
            "kinds": dict(Counter(name_kind(name) for name in names)),
        }
