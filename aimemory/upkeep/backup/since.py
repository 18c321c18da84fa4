"""What was forgotten since a backup was made: a restore brings it back, and must say so."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aimemory.datadir import DataDir
from aimemory.journal.lines import Line
from aimemory.journal.replay import replay
from aimemory.model.ids import page_version
from aimemory.model.protocols import rfc3339_local
from aimemory.store.forgotten import Forgotten

_BY_ITSELF = "retention"
"""What was only old goes again by itself."""


@dataclass(frozen=True, slots=True)
class ForgottenSince:
    """One purge. what: page, session, project, text or rescan. sessions: their ids, which no purge hides.

    pages: of those that it took out or changed, which lie there again as they were; known only where the key of the
    directory before is there.
    """

    what: str
    at: str
    sessions: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


def forgotten_since(old: Path, fresh: Path) -> tuple[ForgottenSince, ...]:
    """Purges that the journal in `old` tells of and the one in `fresh` doesn't, oldest first. Blocks; reads both."""
    known = {line.data.get("id") for line in _purges(fresh)}
    told: dict[str, Line] = {}
    for line in _purges(old):
        if line.data.get("id") not in known and line.data.get("op") == "begin":
            told[str(line.data.get("id"))] = line
    left = [line for line in told.values() if line.data.get("what") != _BY_ITSELF]
    if not left:
        return ()
    try:
        key = DataDir(old).forget_key.read_bytes()
    except OSError:
        key = b""
    pages = _pages(fresh) if key else {}
    return tuple(_told(line, key, pages) for line in left)


def _purges(root: Path) -> list[Line]:
    return [line for line in replay(DataDir(root).journal, 0, lambda damage: None) if line.type == "purge"]


def _pages(root: Path) -> dict[str, str]:
    """Version of every page, by path."""
    wiki = DataDir(root).wiki
    return {
        path.relative_to(wiki).as_posix(): page_version(path.read_bytes())
        for path in sorted(wiki.rglob("*.md"))
        if path.is_file() and not path.is_symlink()
    }


def _told(line: Line, key: bytes, pages: dict[str, str]) -> ForgottenSince:
    data: dict[str, Any] = line.data
    here: tuple[str, ...] = ()
    if key:
        known = Forgotten(key)
        known.take(data)
        here = tuple(path for path, version in pages.items() if known.is_file(path, version))
    sessions = data.get("sessions")
    return ForgottenSince(
        str(data.get("what", "something")), rfc3339_local(line.at_ns),
        tuple(str(one) for one in sessions) if isinstance(sessions, list) else (), here,
    )  # fmt: skip
