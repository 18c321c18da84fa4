"""What belongs into a backup: everything below the data directory that is not named here as left out.

The list names what is left out, so that a store that is added later is in the backup without anybody thinking of it.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import Unavailable
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored

DERIVED = (
    "cache",
    "bin",
    "logs",
    "endpoint",
    "socket",
    "lock",
    "down",
    "backups",
    "spool/.breaker",
    "spool/.start-attempt",
)
"""Written anew at each start, or of this moment only; `backups` are the archives themselves."""

SECRET = ("private", "connect.json", "backups/connect")
"""Our token and keys; and agents' settings as they were before `connect`, where anything may be a credential."""

SEGMENT = re.compile(r"journal/\d+/\d+/\d+\.jsonl(\.gz)?")
"""The journal's segments: copied up to one line, by their own way."""

GIT = "wiki/.git"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder. name: relative to the data directory, with `/`."""

    name: str
    path: Path
    is_folder: bool


def is_derived(name: str, *, with_secrets: bool) -> bool:
    """Whether this path below the data directory is left out."""
    if any(name == one or name.startswith(f"{one}/") for one in SECRET):
        return not with_secrets
    last = name.rpartition("/")[2]
    if last.startswith(TEMP_PREFIX) or name in DERIVED or any(name.startswith(f"{one}/") for one in DERIVED):
        return True
    return name.startswith(f"{GIT}/") and (
        last.endswith(".lock") or last.startswith("tmp_") or last == "aimemory-index"
    )


def belongs(name: str, *, with_secrets: bool) -> bool:
    """Whether a name is looked at: not left out, or holds something that isn't."""
    return not is_derived(name, with_secrets=with_secrets) or (with_secrets and name == "backups")


def is_page(name: str) -> bool:
    """Whether a file of the archive is a page, by its name."""
    first, *parts = name.split("/")
    return first == "wiki" and name.endswith(PAGE_SUFFIX) and not any(is_ours_ignored(part) for part in parts)


def walk(root: Path, name: str, *, with_secrets: bool, skipped: Callable[[str], None]) -> Iterator[Entry]:
    """Folders and regular files at and below `root/name`, each folder before what is in it; sorted.

    skipped: told of what can't be kept (a link, a socket, a device), by name. What goes while we walk is passed over.
    Raises Unavailable for a folder that can't be read.
    """
    path = root / name if name else root
    try:
        found = path.lstat() if name.count("/") else path.stat()  # `wiki` itself may be a link to another disk
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(found.st_mode):
        yield from _folder(root, name, path, with_secrets, skipped)
    elif stat.S_ISREG(found.st_mode):
        if not SEGMENT.fullmatch(name):
            yield Entry(name, path, is_folder=False)
    else:
        skipped(name)


def _folder(root: Path, name: str, path: Path, with_secrets: bool, skipped: Callable[[str], None]) -> Iterator[Entry]:
    if name:
        yield Entry(name, path, is_folder=True)
    try:
        names = sorted(entry.name for entry in os.scandir(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror}. Nothing was backed up.") from error
    for one in names:
        below = f"{name}/{one}" if name else one
        if belongs(below, with_secrets=with_secrets):
            yield from walk(root, below, with_secrets=with_secrets, skipped=skipped)
