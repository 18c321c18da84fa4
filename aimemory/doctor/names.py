"""Names in the wiki that a person has to put right: conflict files of synchronisers, names that are one elsewhere."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from aimemory.doctor.finding import Finding, Level, Situation
from aimemory.wiki.names import is_ours_ignored
from aimemory.wiki.spelling import twins

_SYNC = re.compile(r".*(\.sync-conflict-|conflicted copy).*\.md", re.IGNORECASE)
_SHOWN = 5


def check_names(situation: Situation) -> Iterator[Finding]:
    data = situation.config.data
    if not data.wiki.is_dir():
        return
    conflicts, same = _found(data.wiki)
    if conflicts:
        yield Finding(
            "wiki.conflict-files", Level.WARNING,
            f"A synchroniser left {_many(len(conflicts), 'conflict file')} in the wiki; what they hold is not found.",
            ", ".join(conflicts[:_SHOWN]), fix="Take over what you need into the page, then remove the file.",
        )  # fmt: skip
    if same:
        yield Finding(
            "wiki.names", Level.WARNING, "Pages have names that are one name on other systems.",
            "; ".join(" and ".join(group) for group in same[:_SHOWN]), fix="Rename all but one.",
        )  # fmt: skip
    if not conflicts and not same:
        yield Finding("wiki.names", Level.OK, "All names in the wiki work on every system.", str(data.wiki))
    copies = len(list(data.conflicts.glob("*.txt"))) if situation.status is None and data.conflicts.is_dir() else 0
    if copies:  # a daemon that runs says so itself, and knows which are settled
        yield Finding(
            "wiki.conflicts", Level.NOTE, f"{_many(copies, 'text')} that could not be written are kept.",
            str(data.conflicts), fix="aimemory up, then: aimemory conflicts",
        )  # fmt: skip


def _found(wiki: Path) -> tuple[list[str], list[list[str]]]:
    """Paths of conflict files, and groups of paths that are one elsewhere."""
    conflicts: list[str] = []
    same: list[list[str]] = []
    folders = [wiki]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue
        here = "" if folder == wiki else f"{folder.relative_to(wiki).as_posix()}/"
        conflicts += [here + name for name in names if _SYNC.fullmatch(name)]
        kept = [name for name in names if not is_ours_ignored(name)]
        same += [[here + name for name in group] for group in twins(kept)]
        folders += [folder / name for name in kept if names[name]]
    return sorted(conflicts), sorted(same)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
