"""The parts of a memory in the test's own process, with a clock of its own and without a daemon around them."""

import asyncio
from contextlib import asynccontextmanager

from aimemory.config import load_config
from aimemory.daemon.build import build
from aimemory.model.protocols import TaskPulse

SECOND_NS = 10**9
START = 1_796_000_000 * SECOND_NS


class Clock:
    def __init__(self):
        self.ns = START

    def now_ns(self):
        return self.ns


@asynccontextmanager
async def memory(tmp_path, **settings):
    """`(parts, clock)`; the projector and the committer run, nothing else does. settings: as in the environment."""
    env = {f"AIMEMORY_{name.upper()}": str(value) for name, value in settings.items()}
    config = load_config({"AIMEMORY_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path), "USER": "ada", **env})
    config.data.create()
    clock = Clock()
    parts = build(config, [], clock)
    parts.journal.open()
    await parts.projector.open()
    await parts.dedupe.prime(config.data.journal, 0, lambda line: None)  # events wait for it
    await parts.projects.load()
    tasks = [asyncio.create_task(run(TaskPulse("x"))) for run in (parts.projector.run, parts.committer.run)]
    try:
        yield parts, clock
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await parts.writer.close()
        await parts.committer.close()
        await parts.projector.close(parts.writer.last_seq)
        await parts.reader.close()
