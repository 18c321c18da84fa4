"""What takes the room: bytes on the disk of each part of the data directory. Nothing is deleted here."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WARN_AT = 0.8
_PARTS = ("journal", "wiki", "git", "index", "backups", "spool", "logs", "other")
_OF = {"journal": "journal", "wiki": "wiki", "cache": "index", "backups": "backups", "spool": "spool", "logs": "logs"}


@dataclass(frozen=True, slots=True)
class Usage:
    """parts: bytes by part, as the disk counts them. budget: 0 for none. free: left on that disk.

    set_aside: of the index, what lies there from an earlier one and can be deleted.
    """

    parts: Mapping[str, int]
    budget: int
    free: int
    set_aside: int = 0

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def is_much(self) -> bool:
        return self.budget > 0 and self.total >= WARN_AT * self.budget

    def warning(self) -> str | None:
        """A sentence when the memory has grown to 80 % of its budget."""
        if not self.is_much:
            return None
        most = sorted(self.parts.items(), key=lambda part: -part[1])[:3]
        what = ", ".join(f"{name} {size_text(size)}" for name, size in most if size)
        return (
            f"The memory takes {size_text(self.total)}, {self.total * 100 // self.budget} % of its budget of "
            f"{size_text(self.budget)} ([storage] budget): {what}. Nothing is deleted by itself: raise the budget, "
            "remove old backups, set how long things are kept ([retention]), or forget what you don't need "
            "(aimemory forget)."
        )

    def as_data(self) -> dict[str, object]:
        return {
            "total": self.total, "budget": self.budget, "free": self.free, "parts": dict(self.parts),
            "set_aside": self.set_aside,
        }  # fmt: skip


def measure(root: Path, budget: int, backups: Path | None = None) -> Usage:
    """Blocks, for some seconds with a hundred thousand files. backups: the folder of automatic ones, if elsewhere.

    What goes while we look, or can't be looked at, counts nothing.
    """
    parts = dict.fromkeys(_PARTS, 0)
    seen: set[tuple[int, int]] = set()
    for name, path in _below(root):
        part = _OF.get(name, "other")
        parts["git" if name == "wiki" and path.name == ".git" else part] += _bytes_of(path, seen)
    if backups is not None and not backups.is_relative_to(root) and backups.is_dir():
        parts["backups"] += sum(_size(file, seen) for file in backups.glob("*.tar.gz"))
    aside = sum(_size(file, seen=set()) for file in (root / "cache").glob("*.set-aside"))
    found = os.statvfs(root)
    return Usage(parts, budget, found.f_bavail * found.f_frsize, aside)


def _below(root: Path) -> list[tuple[str, Path]]:
    """The parts to add up, with the name of the first folder; `.git` of the wiki by itself."""
    found = [(entry.name, entry) for entry in root.iterdir() if entry.name != "wiki"]
    wiki = root / "wiki"
    return found + ([("wiki", entry) for entry in wiki.iterdir()] if wiki.is_dir() else [])


def _bytes_of(path: Path, seen: set[tuple[int, int]]) -> int:
    """Of a file, or of a folder with all below it; links are not followed, a file with two names counts once."""
    total = _size(path, seen)
    if path.is_symlink() or not path.is_dir():
        return total
    todo = [str(path)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if stat.S_ISDIR(found.st_mode):
                        todo.append(entry.path)
                        total += found.st_blocks * 512
                    else:
                        total += _once(found, seen)
        except OSError:
            continue
    return total


def _size(path: Path, seen: set[tuple[int, int]]) -> int:
    try:
        return _once(path.lstat(), seen)
    except OSError:
        return 0


def _once(found: os.stat_result, seen: set[tuple[int, int]]) -> int:
    if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
        if (found.st_dev, found.st_ino) in seen:
            return 0
        seen.add((found.st_dev, found.st_ino))
    return found.st_blocks * 512


def size_text(size: int) -> str:
    """For people: 1.5 GiB, 20 MiB."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1024:.0f} KiB"
