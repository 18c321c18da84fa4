"""Opening a transcript. A path from a payload is input: only a regular file of our own, below the harness's folder."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from aimemory.facts.known import Unknown
from aimemory.model.transcript import TranscriptSource

MAX_SIBLINGS = 50
_PEEK_BYTES = 256 << 10
_SUFFIX = ".jsonl"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Not blocking: opening a FIFO would wait for its writer, before it is known to be none of our files."""


def roots(source: TranscriptSource, home: str, env: Mapping[str, str]) -> list[Path]:
    """The folders in which this harness keeps transcripts, whether or not they exist."""
    moved = env.get(source.home_variable, "") if source.home_variable else ""
    base = Path(moved) if moved.startswith("/") else Path(home, source.home.removeprefix("~/"))
    return [base / folder for folder in source.folders]


def open_transcript(source: TranscriptSource, path: str, *, home: str, env: Mapping[str, str]) -> BinaryIO | Unknown:
    """The file, open for reading, or why not.

    Folders below the harness's own are entered one by one and no symbolic link in them is followed, so that nothing
    else can be put in their place meanwhile. Never raises for what lies there, never waits for a FIFO.
    """
    if not path.startswith("/") or "\0" in path:
        return Unknown("its path is not absolute")
    for root in roots(source, home, env):
        parts = _below(path, root)
        if parts:
            return _open_below(root, parts)
    return Unknown(f"its path is not below a folder in which {source.harness} keeps transcripts")


def is_in_place(source: TranscriptSource, path: str, *, home: str, env: Mapping[str, str]) -> bool:
    """Whether a path leads below a folder of this harness's transcripts, as far as its text says."""
    return path.startswith("/") and "\0" not in path and any(_below(path, root) for root in roots(source, home, env))


def _below(path: str, root: Path) -> tuple[str, ...]:
    """The parts of the path below the root, named by either of its names; empty if it lies elsewhere."""
    for base in dict.fromkeys((str(root), os.path.realpath(root))):
        if path.startswith(base.rstrip("/") + "/"):
            parts = tuple(part for part in path[len(base) :].split("/") if part)
            return parts if not {".", ".."}.intersection(parts) else ()
    return ()


def _open_below(root: Path, parts: tuple[str, ...]) -> BinaryIO | Unknown:
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                inner = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            found = os.open(parts[-1], _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)
    except FileNotFoundError:
        return Unknown("it does not exist")
    except OSError as error:
        return Unknown(f"it can't be opened ({error.strerror})")
    state = os.fstat(found)
    if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
        os.close(found)
        what = "a regular file" if not stat.S_ISREG(state.st_mode) else "our own"
        return Unknown(f"it is not {what}")
    return os.fdopen(found, "rb")


def continued_in(path: str, session: str) -> str | None:
    """A younger file beside this one that goes on with the same session, None if there is none.

    After a compaction or a resume some versions write on in a new file, while the hooks still name the old one. Of the
    files beside it only the youngest are looked at, and of each its beginning and end.
    Source: https://github.com/anthropics/claude-code/issues/75435
    """
    if not session or len(session) > 200:
        return None
    named = re.compile(rb'"session_?[iI]d": ?"' + re.escape(session.encode()) + rb'"')
    try:
        own = Path(path).stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        own = -1
    for changed, sibling in youngest(os.path.dirname(path)):  # noqa: PTH120
        if changed <= own:
            break
        if sibling != path and _holds(sibling, named):
            return sibling
    return None


def youngest(folder: str) -> list[tuple[int, str]]:
    """Transcripts right in a folder with the times of their last change, the youngest first."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    except OSError:
        return []
    return sorted(found, reverse=True)[:MAX_SIBLINGS]


def _holds(path: str, named: re.Pattern[bytes]) -> bool:
    return any(named.search(part) for part in peek(path))


def peek(path: str) -> Iterator[bytes]:
    """Beginning and end of a file, for a look at whose it is; nothing where it can't be read."""
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            yield file.read(_PEEK_BYTES)
            if size > _PEEK_BYTES:
                file.seek(max(size - _PEEK_BYTES, _PEEK_BYTES))
                yield file.read(_PEEK_BYTES)
    except OSError:
        return


def sub_transcripts(path: str) -> list[str]:
    """Transcripts of the sub-agents of a session, oldest first: `<session>/subagents/*.jsonl` beside its file."""
    folder = os.path.join(path.removesuffix(_SUFFIX), "subagents")  # noqa: PTH118
    return [name for _, name in sorted(youngest(folder))]
