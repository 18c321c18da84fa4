"""Takes in what people and their programs do to the wiki, while they do it.

Where the system gives no file events the tree is walked again and again, more seldom the longer a walk takes.
"""

import asyncio
import time
from pathlib import Path

from aimemory.errors import AimemoryError, Unavailable
from aimemory.model.protocols import Pulse
from aimemory.store.handedits import HandEdits
from aimemory.wiki.watch import changes, unwatched

_POLL_S = 1.0
_SHARE = 20
"""Polling takes at most one part in twenty of a processor."""

_TRY_AGAIN_S = 300.0
_WATCH_TRIES, _WATCH_PAUSE_S = 10, 0.2
_AGAIN_S = 0.1
"""Between two folders of the same name; somebody may be moving them about."""


class Watcher:
    """`problem` says why it polls; None while the system gives events."""

    def __init__(self, hand_edits: HandEdits, root: Path) -> None:
        self._hand_edits = hand_edits
        self._root = root
        self.problem: str | None = None

    async def run(self, pulse: Pulse) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._watch(pulse)
                await asyncio.sleep(_AGAIN_S)
            except Unavailable as error:
                self.problem = f"{error} Hand edits are found by walking the tree."
                pulse.fail(str(error))
                await self._poll(pulse)

    async def _watch(self, pulse: Pulse) -> None:
        """Until the folder is another one, or not all of it is watched."""
        began = unsure = False
        async for paths in changes(self._root):
            if not began:  # what happened before the system began to tell
                began, paths = True, None
            elif unsure:  # not at once: a folder that was replaced is watched with the next call
                await self._require_watches()
            unsure = paths is None
            if not unsure:
                self.problem = None
            if paths is None or paths:
                await self._look(paths, pulse)

    async def _require_watches(self) -> None:
        """Raises Unavailable when folders stay without a watch; a new one gets its own within milliseconds."""
        missing = 0
        for _ in range(_WATCH_TRIES):
            missing = await asyncio.to_thread(unwatched, self._root)
            if not missing:
                return
            await asyncio.sleep(_WATCH_PAUSE_S)
        raise Unavailable(
            f"The system has no file watches left for {missing} of the folders in {self._root} (the limit is "
            "fs.inotify.max_user_watches)."
        )

    async def _poll(self, pulse: Pulse) -> None:
        """For a while, or until a folder that was away is back; then the system is asked for events again."""
        until = time.monotonic() + _TRY_AGAIN_S
        was_there = self._root.is_dir()
        while time.monotonic() < until and (was_there or not self._root.is_dir()):
            before = time.monotonic()
            await self._look(None, pulse)
            await asyncio.sleep(max(_POLL_S, _SHARE * (time.monotonic() - before)))

    async def _look(self, paths: frozenset[str] | None, pulse: Pulse) -> None:
        try:
            if paths is None:
                await self._hand_edits.reconcile()
            else:
                await self._hand_edits.look_at(paths)
            pulse.beat(last="the whole tree" if paths is None else f"{len(paths)} files")
            if self.problem is None:
                pulse.over()
        except (AimemoryError, OSError) as error:  # the walk of every minute takes in what was missed
            pulse.fail(str(error))
