"""The table of long-lived tasks, and their supervision."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aimemory.daemon.parts import Parts
from aimemory.model.protocols import Pulse, TaskPulse

log = logging.getLogger(__name__)

_RESTART_S = 1.0
_MAX_RESTART_S = 60.0


@dataclass(frozen=True, slots=True)
class Task:
    """One row. vital: the daemon stops when it fails, since nothing it acknowledged would be true any more."""

    name: str
    body: Callable[[Parts, Pulse], Awaitable[None]]
    vital: bool


TASKS: tuple[Task, ...] = (
    Task("committer", lambda parts, pulse: parts.committer.run(pulse), vital=False),
    Task("writer", lambda parts, pulse: parts.writer.run(pulse), vital=True),
    Task("projector", lambda parts, pulse: parts.projector.run(pulse), vital=False),
    Task("watcher", lambda parts, pulse: parts.watcher.run(pulse), vital=False),
    Task("batons", lambda parts, pulse: parts.batons.run(pulse), vital=False),
    Task("closer", lambda parts, pulse: parts.closer.run(pulse), vital=False),
    Task("scheduler", lambda parts, pulse: parts.scheduler.run(pulse), vital=False),
    Task("vectors", lambda parts, pulse: parts.vectors.run(pulse), vital=False),
    Task("mcp", lambda parts, pulse: parts.mcp.run(pulse), vital=False),
)
"""In the order of starting; they are stopped in the reverse."""


class Supervisor:
    """Starts the tasks, restarts what may fail, and ends when it is told to stop or a vital one failed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._running: dict[str, asyncio.Task[None]] = {}
        self.failed: str | None = None

    def start(self) -> None:
        for task in TASKS:
            pulse = TaskPulse(task.name, self._parts.clock.now_ns, started_ns=self._parts.clock.now_ns())
            self._parts.state.pulses[task.name] = pulse
            self._running[task.name] = asyncio.create_task(self._keep(task, pulse), name=task.name)

    async def stop(self, name: str) -> None:
        """Cancel one task and wait for its end. Twice is fine."""
        running = self._running.pop(name, None)
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            self._parts.state.pulses[name].state = "stopped"

    async def _keep(self, task: Task, pulse: TaskPulse) -> None:
        pause = _RESTART_S
        while True:
            try:
                await task.body(self._parts, pulse)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                log.error("task failed", exc_info=error, extra={"task": task.name})
                pulse.fail(f"{type(error).__name__}: see the log")
            if task.vital:
                self.failed = task.name
                self._parts.stopping.set()
                return
            pulse.state = "restarting"
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MAX_RESTART_S)
