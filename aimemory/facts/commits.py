"""Commits that a shell command made, as git itself reported them."""

import re

from aimemory.facts.programs import programs_of

_COMMITTING = frozenset(["commit", "cherry-pick", "revert", "merge"])
_VALUED = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace"])
_REPORT = re.compile(r"^\[(.{1,200}?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.{0,500})$", re.MULTILINE)
_MAX = 20


def may_commit(command: str) -> bool:
    """False for a command that can't be one of those; most aren't."""
    return "git" in command and any(word in command for word in _COMMITTING)


def commits_in(command: str, output: str) -> tuple[tuple[str, str], ...]:
    """Abbreviated id and subject of each commit that `git commit` and its like report: `[main 4f2a9c1] Fix it`.

    Only for a line that runs such a command; a quiet one reports nothing, and is then not seen.
    """
    if not may_commit(command):
        return ()
    if not any(p.name == "git" and _subcommand(p.words) in _COMMITTING for p in programs_of(command)[0]):
        return ()
    return tuple((m[2], m[3].strip()) for m in _REPORT.finditer(output))[:_MAX]


def _subcommand(words: tuple[str, ...]) -> str:
    skip = False
    for word in words:
        if not skip and not word.startswith("-"):
            return word
        skip = not skip and word in _VALUED
    return ""
