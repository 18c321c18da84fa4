"""Outside changes to the tree, as they happen: hints, which the walk confirms.

Uses the operating system's file events where it has them. Where those can't be had (no watches left, a file system
without events) or may have been missed (the machine slept, the folder was replaced), it says: look at everything.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from aimemory.errors import Unavailable
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored

_STEP_MS = 50
_GATHER_MS = 300
_LOOK_MS = 1000
_GAP_S = 10.0
_MANY = 500
_UNTOLD = "Unable to decode path"
"""How watchfiles gives up at a name that is no UTF-8, with all events that it had gathered."""


async def changes(root: Path) -> AsyncIterator[frozenset[str] | None]:
    """Paths of pages, relative to `root`, that something happened to; None: look at everything.

    Yields an empty set about once a second while nothing happens; what happened before the first answer is not told.
    Ends when the folder is gone or was replaced by another, or when something happened to a file whose name is no
    UTF-8, which the events' library can't tell: then it has to be called again. Raises Unavailable, with the reason,
    when the system gives no file events.
    """
    from watchfiles import awatch  # 40 ms that no hook of a starting daemon should wait for

    stop = asyncio.Event()
    identity = _identity(root)
    before = _awake_s()
    try:
        async for found in awatch(
            root, watch_filter=_is_ours(root), step=_STEP_MS, debounce=_GATHER_MS, stop_event=stop, recursive=True,
            rust_timeout=_LOOK_MS, yield_on_timeout=True, force_polling=False,
        ):  # fmt: skip
            now = _awake_s()
            slept, before = now - before > _GAP_S, now
            if _identity(root) != identity:
                return
            yield None if slept else _paths(root, found)
    except ExceptionGroup as group:
        _, other = group.split(lambda error: isinstance(error, RuntimeError) and _UNTOLD in str(error))
        if other is not None:
            raise Unavailable(f"The system gives no file events for {root}: {other.exceptions[0]}") from group
    except (OSError, FileNotFoundError, RuntimeError) as error:
        raise Unavailable(f"The system gives no file events for {root}: {error}") from error
    finally:
        stop.set()


def unwatched(root: Path) -> int:
    """How many folders of pages the system does not watch for this process; 0 where that can't be known.

    When its watches run out, folders that come later are left out in silence: no error tells. The kernel lists what
    each inotify descriptor watches. Blocks.
    """
    watched = _watched_inodes()
    if watched is None:
        return 0
    missing = 0
    folders: list[str] = [str(root)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and not is_ours_ignored(entry.name):
                        folders.append(entry.path)
                        missing += entry.inode() not in watched
        except OSError:  # gone meanwhile, or not ours to read: the walk says so
            continue
    return missing


def _watched_inodes() -> set[int] | None:
    found: set[int] | None = None
    try:
        descriptors = list(Path("/proc/self/fd").iterdir())
    except OSError:
        return None
    for descriptor in descriptors:
        try:
            if "inotify" not in str(descriptor.readlink()):
                continue
            lines = Path("/proc/self/fdinfo", descriptor.name).read_text(encoding="ascii").splitlines()
        except OSError:  # closed meanwhile
            continue
        marks = [line.split("ino:", 1)[1].split(" ", 1)[0] for line in lines if line.startswith("inotify ")]
        found = (found or set()) | {int(mark, 16) for mark in marks}
    return found


def _awake_s() -> float:
    """Seconds, sleep of the machine included: the monotonic clock stands still meanwhile on Linux."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_ours(root: Path) -> Callable[[object, str], bool]:
    prefix = f"{root}/"

    def keep(change: object, path: str) -> bool:
        """Not what lies in `.git` and in hidden or temporary places."""
        return path.startswith(prefix) and not any(map(is_ours_ignored, path[len(prefix) :].split("/")))

    return keep


def _paths(root: Path, found: Iterable[tuple[object, str]]) -> frozenset[str] | None:
    """None when a folder came or went, or so much changed that a walk is cheaper."""
    paths = {path[len(str(root)) + 1 :] for _, path in found}
    if len(paths) > _MANY or any(not path.endswith(PAGE_SUFFIX) for path in paths):
        return None
    return frozenset(paths)
