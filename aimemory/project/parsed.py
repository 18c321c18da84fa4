"""Small files of other people, parsed once per change.

Owns the rules for looking at a file that somebody else controls: regular files only, a size limit, no waiting.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file is there and can't be used; `reason` names it and says why."""

    reason: str


class ParsedFiles(Generic[T]):
    """Keeps what `parse` made of a file until the file's inode, size or modification time changes.

    parse: gets the path and the bytes, must not raise. limit_bytes: a larger file is unreadable. bound: entries kept.
    """

    def __init__(self, parse: Callable[[str, bytes], T], *, limit_bytes: int, bound: int = 1024) -> None:
        self._parse = parse
        self._limit_bytes = limit_bytes
        self._bound = bound
        self._kept: dict[str, tuple[tuple[int, int, int], T | Unreadable]] = {}

    def get(self, path: str) -> T | Unreadable | None:
        """What the file says now; None if there is no such file."""
        try:
            found = os.stat(path)  # noqa: PTH116 - runs for every folder of every event
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            return Unreadable(f"{path} can't be looked at: {_reason(error)}.")
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == mark:
            return kept[1]
        value = self._read(path, found)
        if len(self._kept) >= self._bound:
            self._kept.clear()
        self._kept[path] = (mark, value)
        return value

    def _read(self, path: str, found: os.stat_result) -> T | Unreadable:
        if not stat.S_ISREG(found.st_mode):
            return Unreadable(f"{path} is not a regular file.")
        if found.st_size > self._limit_bytes:
            return Unreadable(f"{path} is larger than {self._limit_bytes} bytes.")
        try:
            # Non-blocking, because the file may have become a pipe since it was looked at.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                data = file.read(self._limit_bytes)
        except OSError as error:
            return Unreadable(f"{path} can't be read: {_reason(error)}.")
        return self._parse(path, data)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
