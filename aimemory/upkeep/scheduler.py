"""Runs recurring jobs one at a time: a slow one delays the others, it never doubles itself."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aimemory.errors import AimemoryError
from aimemory.model.protocols import Pulse

log = logging.getLogger(__name__)

_MAX_BACKOFF_S = 60.0


@dataclass(slots=True)
class Job:
    """A job and its interval in seconds; after a failure it is tried again with growing pauses."""

    name: str
    every_s: float
    run: Callable[[Pulse], Awaitable[object]]
    due_s: float = 0.0
    failures: int = 0


class Scheduler:
    """Runs jobs when they are due."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = list(jobs)

    async def run(self, pulse: Pulse) -> None:
        """Until cancelled. A job's failure is reported and does not stop the others."""
        while True:
            now = time.monotonic()
            for job in [j for j in self._jobs if j.due_s <= now]:
                await self._run_one(job, pulse)
            pulse.beat()
            await asyncio.sleep(max(0.05, min(job.due_s for job in self._jobs) - time.monotonic()))

    async def _run_one(self, job: Job, pulse: Pulse) -> None:
        try:
            await job.run(pulse)
        except Exception as error:
            known = isinstance(error, (AimemoryError, OSError))
            if not known:
                log.error("job failed", exc_info=error, extra={"job": job.name})
            job.failures += 1
            pulse.fail(f"{job.name}: {error if known else type(error).__name__}")
            job.due_s = time.monotonic() + min(_MAX_BACKOFF_S, job.every_s * 2 ** min(job.failures, 8))
        else:
            if job.failures:
                pulse.over(f"{job.name}: ")
            job.failures = 0
            job.due_s = time.monotonic() + job.every_s
