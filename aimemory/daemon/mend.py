"""A sound repository in the place of one that can't be committed to, on request, and everything committed in it."""

import logging
import time
from typing import TYPE_CHECKING, Any

from aimemory.errors import AimemoryError
from aimemory.wiki.mend import SET_ASIDE, fault, mend

if TYPE_CHECKING:
    from aimemory.daemon.parts import Parts

log = logging.getLogger(__name__)


async def mend_wiki(parts: "Parts") -> dict[str, Any]:
    """Look once more, in git's own thread, and mend what is broken; then commit what the new HEAD lacks.

    Returns `{"mended", "said"}`. Raises Unavailable when it can't be done now; nothing is changed then.
    """
    wiki = parts.config.data.wiki
    name = time.strftime(f"{SET_ASIDE}%Y%m%dT%H%M%SZ", time.gmtime(parts.clock.now_ns() / 1e9))

    def work() -> tuple[str, str, dict[str, Any]] | None:
        why = fault(wiki)
        if why is None:
            return None
        done = mend(wiki, parts.config.data.backups / name)
        about = {"kept": done.kept, "commits": done.commits, "no_longer": len(done.lost), "aside": name}
        return why, done.said(), about

    found = await parts.committer.replaced(work)
    parts.state.git_fault = None
    if found is None:
        return {"mended": False, "said": "The wiki's repository can be committed to; nothing was done."}
    why, said, about = found
    log.warning("the wiki's repository was mended", extra={"why": why, **about})
    try:
        await parts.memory.audit.log.record("mend-git", about, parts.actor)
        await parts.pages.commit_missing()
        await parts.committer.flush()
    except AimemoryError as error:  # the committer goes on trying; the next start finds what HEAD lacks
        said += f" Not everything is committed yet: {error}"
    return {"mended": True, "said": said}
