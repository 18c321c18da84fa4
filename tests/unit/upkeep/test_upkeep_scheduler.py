"""Recurring jobs: what failed is a problem until it goes well again, and a past one afterwards."""

import asyncio

import pytest
from inside import memory

from aimemory.daemon.status import status_of
from aimemory.errors import Unavailable
from aimemory.model.protocols import TaskPulse
from aimemory.upkeep.scheduler import Job, Scheduler

pytestmark = pytest.mark.anyio


@pytest.mark.promise("P12.320")
async def test_a_failure_is_a_problem_until_that_very_job_has_gone_well_and_told_with_its_end_since(tmp_path):
    mends, others = asyncio.Event(), asyncio.Semaphore(0)

    async def broken(pulse):
        if not mends.is_set():
            raise Unavailable("The share is away.")

    async def other(pulse):
        pulse.beat(last="something else")
        others.release()

    async with memory(tmp_path) as (parts, _):
        pulse = parts.state.pulses["scheduler"] = TaskPulse("scheduler", parts.clock.now_ns)

        def said():
            found = status_of(parts)
            (task,) = found["tasks"]
            return any("The share is away" in problem for problem in found["problems"]), task

        jobs = asyncio.create_task(Scheduler([Job("spool", 0.01, broken), Job("other", 0.01, other)]).run(pulse))
        try:
            for _ in range(3):
                await asyncio.wait_for(others.acquire(), 60)
            is_problem, task = said()
            assert is_problem and task["error"] == "spool: The share is away." and task["over_at"] is None
            mends.set()
            async with asyncio.timeout(60):
                while said()[0]:
                    await others.acquire()
            _, task = said()
            assert task["error"] == "spool: The share is away." and task["error_at"] and task["over_at"]
        finally:
            jobs.cancel()
            await asyncio.gather(jobs, return_exceptions=True)
