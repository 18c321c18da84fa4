"""What git says about a checkout, as a page or a brief shows it. Asking git is the facts layer's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GitSummary:
    """A checkout at one instant. A value of None is *unknown*, never *clean* or *none*; `reason` then says why.

    branch: None also for a detached head, which `detached` tells from unknown.
    head: commit id, full or short. subject: first line of its message.
    uncommitted: changed tracked files, untracked: others that are not ignored; paths relative to the checkout's root.
    unpushed: commits on no remote, -1 where there is no remote to compare with. fetched_at_ns: when a remote was last
    asked, as far as is known. in_progress: merge, rebase and the like. commits: `short-id subject` of those made in
    this checkout since the instant that was asked about, the latest first.
    reason: completes the sentence "not checked: …" (`git took longer than 350 ms`, `not a git repository`).
    checked_at_ns: when git was asked.
    """

    branch: str | None = None
    head: str | None = None
    subject: str | None = None
    uncommitted: tuple[str, ...] | None = None
    untracked: tuple[str, ...] | None = None
    unpushed: int | None = None
    fetched_at_ns: int | None = None
    in_progress: tuple[str, ...] = ()
    commits: tuple[str, ...] | None = None
    detached: bool = False
    reason: str | None = None
    checked_at_ns: int | None = None
