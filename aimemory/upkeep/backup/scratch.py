"""Unfinished files and folders of ours, which a kill leaves behind and the next run removes.

Each is held by an advisory lock while its maker lives, so that one that nobody holds is known to be left over.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import Unavailable, UserError


@contextmanager
def scratch_folder(beside: Path, kind: str) -> Iterator[Path]:
    """A new folder in `beside`, mode 0700, removed at the end unless it was moved away.

    Raises UserError when it can't be made there.
    """
    remove_left_over(beside, kind)
    try:
        made = Path(tempfile.mkdtemp(prefix=_prefix(kind), dir=beside))
    except OSError as error:
        raise UserError(f"{beside} can't be written: {error.strerror}. Name another place.") from error
    fd = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield made
    finally:
        _remove(made, os.fstat(fd))
        os.close(fd)


@contextmanager
def scratch_file(beside: Path, kind: str) -> Iterator[tuple[int, Path]]:
    """A new file in `beside`, mode 0600, open for writing; removed at the end unless it was renamed."""
    remove_left_over(beside, kind)
    try:
        fd, name = tempfile.mkstemp(prefix=_prefix(kind), dir=beside)
    except OSError as error:
        raise Unavailable(f"{beside} can't be written: {error.strerror}. Name another place.") from error
    made = Path(name)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd, made
    finally:
        _remove(made, os.fstat(fd))
        os.close(fd)


def _prefix(kind: str) -> str:
    return f"{TEMP_PREFIX}{kind}-"


def _remove(path: Path, known: os.stat_result) -> None:
    """Remove what we made, if that is still what has this name."""
    try:
        found = path.lstat()
        if (found.st_dev, found.st_ino) != (known.st_dev, known.st_ino):
            return
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_left_over(folder: Path, kind: str) -> int:
    """Remove what a kill has left in this folder, and nobody holds; returns how many files and folders that were."""
    count = 0
    for path in folder.glob(f"{_prefix(kind)}*"):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path, os.fstat(fd))
            count += 1
        except OSError:  # its maker lives
            continue
        finally:
            os.close(fd)
    return count
