"""Git facts in the form that pages and briefs show."""

from typing import TypeVar

from aimemory.facts.changes import Changes
from aimemory.facts.git import GitFacts
from aimemory.facts.known import Fact, Known, Unknown
from aimemory.model.gitfacts import GitSummary

T = TypeVar("T")


NO_REMOTE = -1
"""`GitSummary.unpushed` where no remote was ever fetched, so that nothing can be on one."""


def git_summary(facts: GitFacts | None, checked_at_ns: int) -> GitSummary:
    """What was found, at that instant; `reason` is that of the first fact that is not known.

    A list of files that was too long ends with an entry that says how many are missing.
    """
    if facts is None:
        return GitSummary(reason="not a git repository", checked_at_ns=checked_at_ns)
    shown = (facts.branch, facts.head, facts.subject, facts.uncommitted, facts.untracked)
    return GitSummary(
        branch=_value(facts.branch),
        head=_value(facts.head),
        subject=_value(facts.subject),
        uncommitted=_paths(facts.uncommitted),
        untracked=_paths(facts.untracked),
        unpushed=_unpushed(facts.unpushed),
        fetched_at_ns=_nanoseconds(facts.fetched_at),
        in_progress=_value(facts.in_progress) or (),
        commits=_value(facts.own_commits),
        detached=facts.branch == Known(None),
        reason=next((fact.reason for fact in shown if isinstance(fact, Unknown)), None),
        checked_at_ns=checked_at_ns,
    )


def _unpushed(fact: Fact[int | None]) -> int | None:
    if isinstance(fact, Unknown):
        return None
    return NO_REMOTE if fact.value is None else fact.value


def _nanoseconds(fact: Fact[float | None]) -> int | None:
    seconds = _value(fact)
    return None if seconds is None else int(seconds * 1e9)


def _value(fact: Fact[T]) -> T | None:
    return fact.value if isinstance(fact, Known) else None


def _paths(fact: Fact[Changes]) -> tuple[str, ...] | None:
    if isinstance(fact, Unknown):
        return None
    paths = tuple(change.path for change in fact.value.entries)
    left_out = f"at least {fact.value.more}" if fact.value.at_least else str(fact.value.more)
    return (*paths, f"… and {left_out} more") if fact.value.more or fact.value.at_least else paths
