"""Files of the data directory that are neither pages nor segments nor the index: spool, rejects, logs, kept edits, and
whatever else a later version puts there."""

import glob
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from aimemory.datadir import TEMP_PREFIX, DataDir, write_atomic
from aimemory.upkeep.backup.scratch import remove_left_over
from aimemory.upkeep.purge.change import Change
from aimemory.wiki.mendplace import SET_ASIDE

_OWN = frozenset((
    "wiki", "journal", "cache", "private", "bin", "backups", "lock", "socket", "endpoint", "down", "actor.json",
    "config.toml", "connect.json", "folders.json",
))  # fmt: skip
"""Left alone here: they have their own way, or are settings that a person made; what they hold is named."""


def other_files(data: DataDir) -> Iterator[tuple[str, Path]]:
    """Name below the data directory and path of every file that is neither ours to keep nor dealt with elsewhere."""
    for top in sorted(entry.name for entry in data.root.iterdir()):
        if top in _OWN:
            continue
        path = data.root / top
        if path.is_dir() and not path.is_symlink():
            for folder, _, names in os.walk(path):
                for name in sorted(names):
                    file = Path(folder) / name
                    if file.is_file() and not file.is_symlink():
                        yield file.relative_to(data.root).as_posix(), file
        elif path.is_file() and not path.is_symlink():
            yield top, path


def change_files(data: DataDir, change: Change, *, dry: bool = False) -> dict[str, int]:
    """Apply a change to all of them; returns how many files were concerned, by their top folder. Blocks."""
    done: dict[str, int] = {}
    for name, path in other_files(data):
        if path.name.startswith(TEMP_PREFIX):
            continue
        try:
            raw = path.read_bytes()
            new = change.other(name, raw)
            if new == raw:
                continue
            if not dry:
                _put(path, new, is_log=path == data.log_file)
        except FileNotFoundError:  # drained or rotated meanwhile
            continue
        top = name.partition("/")[0]
        done[top] = done.get(top, 0) + 1
    return done


def _put(path: Path, new: bytes | None, *, is_log: bool) -> None:
    if new is None:
        path.unlink(missing_ok=True)
    elif is_log:
        _rewrite_open_log(path, new)
    else:
        write_atomic(path, new)


def _rewrite_open_log(path: Path, new: bytes) -> None:
    """A log that is being written: its handler lets go of the file meanwhile and opens the new one at its next line.

    A line that came since the file was read is lost; a log is no truth.
    """
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.FileHandler) and Path(handler.baseFilename) == path
    ]
    for handler in handlers:
        handler.acquire()
    try:
        for handler in handlers:
            if handler.stream is not None:
                handler.stream.close()
                handler.stream = None
        write_atomic(path, new)
    finally:
        for handler in handlers:
            handler.release()


def drop_unsaved(private: Path) -> None:
    """At a start: what a kill has left beside files that only a daemon writes. It may hold what is to be forgotten."""
    for path in private.glob(f"{TEMP_PREFIX}*"):
        path.unlink(missing_ok=True)


def drop_leftovers(data: DataDir, before_ns: int) -> int:
    """Temporary files of ours that a kill has left, with what they were to become; returns how many. Blocks.

    before_ns: when this daemon began: what is older than that nobody writes any more. A hook's are left for a minute.
    """
    count = remove_left_over(data.backups, "backup") + remove_left_over(data.backups, "check")
    minute_ns = time.time_ns() - 60_000_000_000
    for folder, folders, names in os.walk(data.root):
        here = Path(folder)
        if here == data.root:
            folders[:] = [name for name in folders if name not in ("journal", "backups", "cache")]
        folders[:] = [name for name in folders if name != ".git"]
        limit_ns = minute_ns if here.is_relative_to(data.spool) else max(minute_ns, before_ns)
        for name in names:
            path = here / name
            try:
                if name.startswith(TEMP_PREFIX) and path.lstat().st_mtime_ns < limit_ns:
                    path.unlink()
                    count += 1
            except FileNotFoundError:
                continue
    return count


def copies_beside(data: DataDir) -> list[str]:
    """Whole data directories that a restore moved aside, or did not finish: paths."""
    parent, name = data.root.parent, glob.escape(data.root.name)
    patterns = (f"{name}.before-restore-*", f"{name}.restore-*", f"{TEMP_PREFIX}restore-*/data")
    try:
        return sorted(str(path) for pattern in patterns for path in parent.glob(pattern) if path.is_dir())
    except OSError:
        return []


def drop_cache_copies(data: DataDir) -> int:
    """Old copies of the index beside the live one; returns how many files went. Blocks.

    The file of vectors stays: after the new index a new one is made of what is left (`store.vectors.survive`).
    """
    count = 0
    live = (data.index.name, data.vectors.name)
    kept = {f"{name}{suffix}" for name in live for suffix in ("", "-wal", "-shm", "-journal")}
    for path in sorted(data.cache.rglob("*")):
        if path.is_file() and not (path.parent == data.cache and path.name in kept):
            path.unlink(missing_ok=True)
            count += 1
    return count


def archives(data: DataDir) -> list[Path]:
    """Backups in the data directory's own folder, and repositories that were set aside there."""
    return (
        sorted((*data.backups.glob("*.tar.gz"), *data.backups.glob(f"{SET_ASIDE}*"))) if data.backups.is_dir() else []
    )


def connect_copies(data: DataDir) -> list[Path]:
    """Agents' settings as they were before `connect`."""
    return sorted(path for path in data.connect_backups.rglob("*") if path.is_file())
