"""One look at a checkout for a page or a brief: git's facts within a limit, through the privacy boundary."""

from dataclasses import replace
from typing import Any

from aimemory.facts.git import git_facts
from aimemory.facts.summary import git_summary
from aimemory.model.gitfacts import GitSummary
from aimemory.model.protocols import Clock
from aimemory.privacy import sanitize_tree

_LEAF_BYTES = 1024


async def look(
    checkout: str | None, limit_s: float, clock: Clock, home: str, *, since_ns: int | None = None
) -> GitSummary:
    """Branch, head and what is not committed in a checkout; what took longer than the limit is unknown.

    checkout: top of the work tree, None where a directory lies in none. home: whose git configuration says which
    repositories of other owners are trusted (`safe.directory`). since_ns: the start of a session whose own commits are
    asked for.
    """
    at_ns = clock.now_ns()
    if checkout is None:
        return GitSummary(reason="not a git repository", checked_at_ns=at_ns)
    if limit_s <= 0:
        return GitSummary(reason="git probes are switched off", checked_at_ns=at_ns)
    return _clean(git_summary(await git_facts(checkout, timeout_s=limit_s, home=home, since_ns=since_ns), at_ns))


def _clean(found: GitSummary) -> GitSummary:
    """Branch names, subjects and file names are other people's text."""
    texts: dict[str, Any] = sanitize_tree(
        {
            "branch": found.branch, "head": found.head, "subject": found.subject, "reason": found.reason,
            "uncommitted": list(found.uncommitted or ()), "untracked": list(found.untracked or ()),
            "commits": list(found.commits or ()),
        },
        leaf_cap_bytes=_LEAF_BYTES,
    ).value  # fmt: skip
    return replace(
        found, branch=texts["branch"], head=texts["head"], subject=texts["subject"], reason=texts["reason"],
        uncommitted=None if found.uncommitted is None else tuple(texts["uncommitted"]),
        untracked=None if found.untracked is None else tuple(texts["untracked"]),
        commits=None if found.commits is None else tuple(texts["commits"]),
    )  # fmt: skip
