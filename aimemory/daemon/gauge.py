"""What the memory takes on the disk, kept for `status` and measured again when that is asked for."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

from aimemory.config import Config
from aimemory.model.protocols import Clock
from aimemory.upkeep.disk import Usage, measure

_FRESH_NS = 60_000_000_000
_WAIT_S = 1.0


class Gauge:
    """usage: the last figures; None before the first."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self.usage: Usage | None = None
        self._config = config
        self._clock = clock
        self._at_ns = 0
        self._measuring = threading.Lock()

    def take(self) -> None:
        """Measure now, unless that is under way. Blocks; raises OSError."""
        if not self._measuring.acquire(blocking=False):
            return
        try:
            given = self._config.backup.folder
            folder = Path(given) if given else None
            self.usage = measure(self._config.data.root, self._config.storage.budget, folder)
            self._at_ns = self._clock.now_ns()
        finally:
            self._measuring.release()

    async def refresh(self) -> None:
        """Measure again where the last figures are older than a minute. Never raises, and waits for a second at most:
        what takes longer, or hangs, is there for whoever asks next."""
        age = self._clock.now_ns() - self._at_ns
        if self._measuring.locked() or (self.usage is not None and 0 <= age < _FRESH_NS):
            return
        with suppress(OSError, TimeoutError):  # the recurring job reports what keeps failing
            await asyncio.wait_for(asyncio.to_thread(self.take), _WAIT_S)
