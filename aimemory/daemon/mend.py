"""A sound repository in the place of one that can't be committed to, on request, and everything committed in it."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from aimemory.errors import AimemoryError, Unavailable
from aimemory.wiki.mend import Mended, damage, fault, mend
from aimemory.wiki.mendplace import SET_ASIDE, finish_cut_off

if TYPE_CHECKING:
    from aimemory.daemon.parts import Parts

log = logging.getLogger(__name__)


async def mend_wiki(parts: "Parts") -> dict[str, Any]:
    """Look once more, in git's own thread, and mend what is broken; then commit what the new HEAD lacks.

    Returns `{"mended", "said"}`. Raises Unavailable when it can't be done now; nothing is changed then.
    """
    wiki = parts.config.data.wiki
    name = time.strftime(f"{SET_ASIDE}%Y%m%dT%H%M%SZ", time.gmtime(parts.clock.now_ns() / 1e9))

    def work() -> tuple[list[str], str | None, Mended | None]:
        finished = finish_cut_off(wiki, parts.config.data.backups)
        why = fault(wiki) or damage(wiki)
        return finished, why, mend(wiki, parts.config.data.backups / name) if why is not None else None

    try:
        finished, why, done = await parts.committer.replaced(work)
    except OSError as error:
        raise Unavailable(f"The wiki's repository can't be mended: {error.strerror}.") from error
    parts.state.git_fault = None
    if done is None:
        said = " ".join(finished) or "Nothing was done."
        return {"mended": bool(finished), "said": f"The wiki's repository can be committed to. {said}"}
    said = " ".join((*finished, done.said()))
    about: dict[str, Any] = {
        "kept": done.kept, "commits": done.commits, "rewritten": done.rewritten, "no_longer": len(done.lost),
        "aside": name,
    }  # fmt: skip
    log.warning("the wiki's repository was mended", extra={"why": why, **about})
    try:
        await parts.memory.audit.log.record("mend-git", about, parts.actor)
        await parts.pages.hand_edits.commit_missing()
        await parts.committer.flush()
    except AimemoryError as error:  # the committer goes on trying; the next start finds what HEAD lacks
        said += f" Not everything is committed yet: {error}"
    return {"mended": True, "said": said}


async def finish_mending(parts: "Parts") -> list[str]:
    """At a start, before anything opens the repository: what a mending left that was killed. Returns what was done."""
    try:
        return await asyncio.to_thread(finish_cut_off, parts.config.data.wiki, parts.config.data.backups)
    except OSError as error:  # it stays for the next start, and is in nobody's way
        log.warning("a mending that was cut off can't be finished", extra={"why": str(error)})
        return []


async def tell_of_finished(parts: "Parts", finished: list[str]) -> None:
    """Where a person finds it: in the log and in `aimemory audit`."""
    while finished:
        log.warning(finished[0])
        await parts.memory.audit.log.record("mend-git", {"finished": finished[0]}, parts.actor)
        del finished[0]
