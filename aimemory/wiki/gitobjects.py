"""New git objects made durable together, before a branch names them.

libgit2 syncs each object and its folder one after the other: some twenty waits for the disk in a commit of one page.
Asked for at once, the same syncs share the file system's own transactions.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pygit2

from aimemory.datadir import sync_dir, sync_fd

_THREADS = 8


class ObjectSync:
    """Syncs loose objects of one repository, with threads of its own that `close` ends."""

    def __init__(self, git_dir: Path) -> None:
        self._objects = git_dir / "objects"
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="git-sync")

    def close(self) -> None:
        self._pool.shutdown()

    def sync(self, oids: Iterable[pygit2.Oid]) -> None:
        """Sync the loose files of these objects and the names of all of them; one in a pack is durable already.

        Raises OSError when the disk refuses.
        """
        names = sorted({str(oid) for oid in oids})
        files = [self._objects / name[:2] / name[2:] for name in names]
        waiting = [self._pool.submit(_sync, files[start::_THREADS]) for start in range(min(_THREADS, len(files)))]
        for part in waiting:
            part.result()
        sync_dir(self._objects)  # a new folder's own name


def _sync(files: list[Path]) -> None:
    for file in files:
        try:
            fd = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            continue  # in a pack
        try:
            sync_fd(fd)
        finally:
            os.close(fd)
        sync_dir(file.parent)
