"""A session whose page can't be written: tried again, but less and less often, since every attempt costs lines."""

import asyncio
from types import SimpleNamespace

from aimemory.errors import Unavailable
from aimemory.handoff.closing import Closer
from aimemory.index.events import SessionRow
from aimemory.model.ids import ProjectId, SessionId, digest
from aimemory.model.protocols import SystemClock, TaskPulse

ENDED = SessionRow(
    id=SessionId(digest("session")), harness="codex", native="s", project=ProjectId("p"), cwd=None, first_seq=1,
    last_seq=2, started_at_ns=1, last_at_ns=2, prompts=1, tools=0, ended_at_ns=2, end_reason=None, closed_seq=None,
    page=None,
)  # fmt: skip


class Reader:
    async def read(self, plan):
        plan.close()
        return [] if plan.__name__ == "open_closings" else [ENDED]


class Refused(Closer):
    """Closes nothing while `broken`."""

    broken = True
    attempts = 0

    async def close(self, session, verdict=None):
        self.attempts += 1
        if self.broken:
            raise Unavailable("The disk is full.")
        return "page.md"


def test_attempts_get_rarer_while_they_fail_and_an_end_is_tried_at_once(monkeypatch):
    now = SimpleNamespace(s=1000.0)
    monkeypatch.setattr("aimemory.handoff.closing.time.monotonic", lambda: now.s)

    async def story():
        closer = Refused(**dict.fromkeys((
            "writer", "projector", "pages", "projects", "sessions", "processes", "actor", "title_of", "home", "generated",
            "handover", "claims", "making",
        )), reader=Reader(), clock=SystemClock(), idle_ns=10)  # fmt: skip
        running = asyncio.create_task(closer.run(TaskPulse("closer", SystemClock().now_ns, started_ns=0)))

        async def attempts_after(seconds):
            now.s += seconds
            await closer.sweep()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return closer.attempts

        seen = [await attempts_after(seconds) for seconds in (0, 1, 4.5, 5, 5.5, 19, 2)]
        closer.request(ENDED.id)
        seen.append(await attempts_after(0))
        closer.broken = False
        seen += [await attempts_after(100), await attempts_after(0)]
        running.cancel()
        return seen

    assert asyncio.run(story()) == [1, 1, 2, 2, 3, 3, 4, 5, 6, 7]
