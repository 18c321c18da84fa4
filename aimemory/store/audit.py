"""The journal's `audit` lines: what changed the memory's state and has no line of its own.

Pages, handoffs, projects and closings have theirs. These are of what is done beside: switches, names, agents' settings,
hand edits, a restore.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aimemory.errors import AimemoryError
from aimemory.journal.lines import Record
from aimemory.model.protocols import Clock, Pulse
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize_tree
from aimemory.store.committer import DELETED_BY_HAND, EDITED_BY_HAND, Change
from aimemory.store.outside import waiting_deeds
from aimemory.store.writer import Writer

_NAMED = 50


class AuditLog:
    """Writes `audit` lines; takes in what the command line left."""

    def __init__(self, writer: Writer, deeds: Path, clock: Clock, actor: Actor) -> None:
        self._writer = writer
        self._actor = actor
        self._deeds = deeds
        self._clock = clock

    async def record(self, op: str, about: Mapping[str, Any], actor: Actor) -> None:
        """One line, durable on return. Raises Busy and Unavailable as the writer does."""
        who = {"user": actor.user, "machine": actor.machine, "harness": actor.harness, "session": actor.session}
        data = sanitize_tree({"op": op} | {k: v for k, v in who.items() if v is not None} | dict(about))
        await self._writer.record(Record("audit", self._clock.now_ns(), data))

    async def committed(self, changes: Sequence[Change]) -> None:
        """Of a commit, what a person did outside of us: a line a page, so that one can be forgotten; of many together
        the rest is a number. Where the journal takes nothing just then, git alone has it, under the person's name."""
        said: list[dict[str, Any]] = []
        for summary, op in ((EDITED_BY_HAND, "edit-by-hand"), (DELETED_BY_HAND, "delete-by-hand")):
            who = {"op": op, "user": self._actor.user, "machine": self._actor.machine}
            paths = [change.path for change in changes if change.summary == summary]
            said += [who | {"path": path} for path in sorted(paths)[:_NAMED]]
            said += [who | {"and_more": len(paths) - _NAMED}] if len(paths) > _NAMED else []
        now = self._clock.now_ns()
        try:
            await asyncio.gather(*(self._writer.submit(Record("audit", now, sanitize_tree(one))) for one in said))
        except AimemoryError:
            return

    async def drain(self, pulse: Pulse) -> None:
        """Take in what waits. A kill between line and file gives the line twice, with one id; readers count it once."""
        for deed in await asyncio.to_thread(lambda: list(waiting_deeds(self._deeds))):
            await self._writer.record(Record("audit", deed.at_ns, deed.data))
            await asyncio.to_thread(deed.path.unlink, missing_ok=True)
