"""A rebuild of the index on request, with its progress."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from aimemory.errors import AimemoryError, Unavailable

if TYPE_CHECKING:
    from aimemory.daemon.parts import Parts


async def reindex(parts: "Parts") -> AsyncIterator[dict[str, Any]]:
    """Rebuild and yield `{"step", "count"}`, at most some ten a second, then `{"done": true, …}` or `{"error"}`.

    Runs to its end also when nobody listens any more.
    """
    loop = asyncio.get_running_loop()
    latest: dict[str, int] = {}
    moved = asyncio.Event()

    def progress(step: str, count: int) -> None:
        latest[step] = count
        loop.call_soon_threadsafe(moved.set)

    work = asyncio.ensure_future(_work(parts, progress))
    try:
        while not work.done():
            waiter = asyncio.ensure_future(moved.wait())
            await asyncio.wait({work, waiter}, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
            waiter.cancel()
            moved.clear()
            while latest:
                step, count = latest.popitem()
                yield {"step": step, "count": count}
            if not work.done():
                await asyncio.sleep(0.1)
        yield await work
    finally:
        await asyncio.shield(work)


async def _work(parts: "Parts", progress: Any) -> dict[str, Any]:
    try:
        found = await parts.pages.hand_edits.reconcile()
        if found.emptied:  # what is built from nothing would be empty too
            raise Unavailable(f"{found.problem} The index stays as it is.")
        await parts.projector.rebuild(progress)
        await parts.projector.reached(parts.writer.last_seq)
    except AimemoryError as error:
        return {"error": str(error), "type": type(error).__name__}
    counts = (await parts.memory.status())["counts"]
    return {"done": True, "damage": list(parts.projector.damage), "counts": counts}
