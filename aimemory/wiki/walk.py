"""The walk over the tree: which pages are new, changed or gone since it was last looked at.

Events of a file watcher are hints, this is the truth. Compares names and stat data only; reading and hashing is left
to the caller.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import Unavailable
from aimemory.privacy import sanitize
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored, unusable

_RACY_NS = 2_000_000_000
"""File systems stamp with a tick of up to two seconds (FAT; ext4 some milliseconds)."""
_RACY_SIZE = -1
_TEMP_MAX_AGE_S = 3600
"""A write takes milliseconds; an hour-old temporary file was left by a crash."""
_MANY_PAGES = 20
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Stat:
    """What is remembered of a file to see that it changed. inode: 0 when not recorded.

    A file stamped within the last two seconds can change again without a new stamp, so its `size` is recorded as -1:
    the next walk reports it once more, and the caller's comparison of hashes decides. (Git's index does the same.)
    """

    mtime_ns: int
    size: int
    inode: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """What a walk found: path → `Stat` to remember, for pages that are new or may have changed; and the pages gone.

    ignored_count: files and links that are no pages. problem: one sentence for `status`, or None.
    nameless: what isn't read for its name (`names.unusable`), as it can be printed.
    others: what has a page's or a folder's name and is a link, which nobody follows, or no regular file.
    suspicious: the tree looks emptied by accident (unmounted, moved); `removed` is empty then.
    """

    added: dict[str, Stat] = field(default_factory=dict)
    changed: dict[str, Stat] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    ignored_count: int = 0
    suspicious: bool = False
    problem: str | None = None
    nameless: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def stat_of(found: os.stat_result, now_ns: int) -> Stat:
    """The `Stat` to remember for a file looked at `now_ns`, before its content is read."""
    racy = abs(now_ns - found.st_mtime_ns) < _RACY_NS
    return Stat(found.st_mtime_ns, _RACY_SIZE if racy else found.st_size, found.st_ino)


def scan(root: Path, known: Mapping[str, Stat], given_up: Callable[[], bool] = lambda: False) -> Changes:
    """Compare the tree below `root` with what is known of it; paths are relative, with `/`, as the disk spells them.

    Links, hidden, temporary, backup and conflict names are skipped; temporary files of ours that a crash left more
    than an hour ago are removed. Pages in a folder that can't be read count as unchanged, whatever keeps it closed.
    given_up: asked before each folder, whether nobody waits for the walk any more. Raises Unavailable then.
    """
    walk = _Walk(known, time.time_ns())
    walk.run(str(root), given_up)
    unreadable = tuple(dict.fromkeys(walk.unreadable))
    nameless = tuple(sorted(map(_shown, walk.nameless)))
    gone = [path for path in known if path not in walk.seen]
    is_there = root.is_dir() and "" not in unreadable
    suspicious = not walk.seen and bool(known) and (len(known) > _MANY_PAGES or not is_there)
    problem = None
    if unreadable:
        names = ", ".join(_shown(prefix.rstrip("/") or str(root)) for prefix in sorted(unreadable)[:_NAMED])
        problem = f"Folders of the wiki can't be read: {names}. Check their owner and mode."
    elif suspicious:
        problem = f"{root} holds none of its {len(known)} pages; none was taken as deleted. Is it unmounted or moved?"
    removed = () if suspicious else tuple(path for path in gone if not path.startswith(unreadable))
    others = tuple(sorted(map(_shown, walk.others)))
    return Changes(walk.added, walk.changed, removed, walk.ignored, suspicious, problem, nameless, others)


def look(
    root: Path, paths: Iterable[str], known: Mapping[str, Stat], given_up: Callable[[], bool] = lambda: False
) -> Changes:
    """As `scan`, for these paths alone: what a watcher's hints come to. suspicious: a page is gone with its folder, so
    the tree may be; `removed` names it all the same."""
    walk = _Walk(known, time.time_ns())
    removed: list[str] = []
    suspicious = False
    for path in paths:
        _go_on(given_up)
        folder, _, name = path.rpartition("/")
        try:
            found = (root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            if path in known:
                removed.append(path)
                suspicious = suspicious or not (root / folder).is_dir()
            continue
        except OSError:
            continue  # the walk says what is wrong
        if stat.S_ISREG(found.st_mode) and (
            path in known or (_is_page(name) and not any(map(unusable, path.split("/"))))
        ):
            walk.note(path, found)
    return Changes(walk.added, walk.changed, tuple(removed), suspicious=suspicious)


def _go_on(given_up: Callable[[], bool]) -> None:
    if given_up():
        raise Unavailable("Nobody waits for the walk any more.")


class _Walk:
    def __init__(self, known: Mapping[str, Stat], now_ns: int) -> None:
        self._known = known
        self._now_ns = now_ns
        self.added: dict[str, Stat] = {}
        self.changed: dict[str, Stat] = {}
        self.seen: set[str] = set()
        self.unreadable: list[str] = []
        self.nameless: list[str] = []
        self.others: list[str] = []
        self.ignored = 0

    def run(self, root: str, given_up: Callable[[], bool]) -> None:
        folders = [(root, "")]
        while folders:
            _go_on(given_up)
            folder, prefix = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            if is_ours_ignored(entry.name):
                                self.ignored += 1
                            elif unusable(entry.name):
                                self.nameless.append(f"{prefix}{entry.name}/")
                            else:
                                folders.append((entry.path, f"{prefix}{entry.name}/"))
                        else:
                            self._file(entry, prefix)
            except (FileNotFoundError, NotADirectoryError):
                continue  # removed or replaced while we walked
            except OSError:  # closed to us, or the disk fails there
                self.unreadable.append(prefix)

    def _file(self, entry: os.DirEntry[str], prefix: str) -> None:
        name = entry.name
        before = self._known.get(prefix + name)
        if not entry.is_file(follow_symlinks=False) or (before is None and not _is_page(name)):
            if name.startswith(TEMP_PREFIX):
                self._drop_if_old(entry)
            elif name.endswith(PAGE_SUFFIX) and not is_ours_ignored(name) and unusable(name):
                self.nameless.append(prefix + name)
            elif self._looks_ours(entry):
                self.others.append(prefix + name)
            else:
                self.ignored += 1
            return
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        self.note(prefix + name, found)

    def _looks_ours(self, entry: os.DirEntry[str]) -> bool:
        """Whether somebody may miss it: a page's name and no regular file, or a link in the place of a folder. Where
        the link leads is not looked at: it may lead to a share that hangs."""
        if is_ours_ignored(entry.name) or entry.is_file(follow_symlinks=False):
            return False
        return entry.name.endswith(PAGE_SUFFIX) or (entry.is_symlink() and "." not in entry.name)

    def note(self, path: str, found: os.stat_result) -> None:
        """Compare one file's stat with what is known of it."""
        self.seen.add(path)
        before = self._known.get(path)
        if before is None:
            self.added[path] = stat_of(found, self._now_ns)
        elif (
            before.mtime_ns != found.st_mtime_ns
            or before.size != found.st_size
            or (before.inode != found.st_ino and before.inode)
        ):
            self.changed[path] = stat_of(found, self._now_ns)

    def _drop_if_old(self, entry: os.DirEntry[str]) -> None:
        try:
            age_s = self._now_ns / 1e9 - entry.stat(follow_symlinks=False).st_mtime
            if entry.is_file(follow_symlinks=False) and age_s > _TEMP_MAX_AGE_S:
                Path(entry.path).unlink()
        except FileNotFoundError:
            pass  # its writer was faster


def _is_page(name: str) -> bool:
    return name.endswith(PAGE_SUFFIX) and not is_ours_ignored(name) and unusable(name) is None


def _shown(path: str) -> str:
    """A path that can be printed and stored, what is no UTF-8 in it as `\\xff`, what looks like a secret taken out."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return sanitize("".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)).value
