"""Literal text or a pattern over the files themselves, the wiki's pages and the journal's events, not over the index.

Reads beside a running daemon, or without one. Blocks; holds one line in memory, however large a file is.
"""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aimemory.datadir import DataDir
from aimemory.errors import NotFound
from aimemory.journal.lines import BadLine, Line, decode
from aimemory.journal.segments import find_segments, open_now
from aimemory.store.projectpages import read_folder, read_registry
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored

T = TypeVar("T")

PIECE_BYTES = 1 << 16
"""Longer lines are looked at in pieces of this size; what lies over the edge of two is not found."""

_TEXTS = ("prompt", "message", "text", "command", "error", "output", "reason", "files_written", "files_read", "input")
"""Fields of an event that people, agents and tools wrote, the shortest first: what two of them say is shown once."""

_HEAD_BYTES = 96
_OBSERVATION, _PROJECT = b'"type":"observation"', b'"type":"project"'


@dataclass(frozen=True, slots=True)
class Ask:
    """pattern: literal, or one of Python's `re` (is_regex). project: None for all. pages, events: where to look."""

    pattern: str
    is_regex: bool = False
    ignores_case: bool = False
    project: str | None = None
    pages: bool = True
    events: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches. file: below the data directory. text: the line or piece; start, end: its first match in it.

    Of an event also its number, time, kind, harness and session, and which of its fields this line is of.
    """

    file: str
    line: int
    text: str
    start: int
    end: int
    seq: int | None = None
    at_ns: int | None = None
    kind: str | None = None
    harness: str | None = None
    session: str | None = None
    field: str | None = None


class Grep:
    """One search. damaged: journal lines that could not be read, as far as it has come."""

    def __init__(self, data: DataDir, ask: Ask, beat: Callable[[str | None], None]) -> None:
        """beat: told where a pattern is about to be tried, and None when it has been, so that the caller can bound that
        time. Raises ValueError (`re.error`) for a pattern that is none, NotFound for an unknown project."""
        self.damaged = 0
        self._data = data
        self._ask = ask
        self._beat = beat
        flags = re.IGNORECASE if ask.ignores_case else 0
        if ask.is_regex:
            self._pattern = self._timed("the pattern", lambda: re.compile(ask.pattern, flags))
        else:
            self._pattern = re.compile(re.escape(_composed(ask.pattern)), flags)
        exact = not ask.is_regex and not ask.ignores_case and ask.pattern.isascii()
        self._needle = ask.pattern.encode() if exact else b""
        self._in_json = json.dumps(ask.pattern)[1:-1].encode() if exact else b""
        self._folder, self._ids = self._of_project()

    def matches(self) -> Iterator[Match]:
        """Pages by path, then events in the order in which they came."""
        if self._ask.pages:
            yield from self._in_pages()
        if self._ask.events:
            yield from self._in_events()

    # -- pages -------------------------------------------------------------------------------------------------------

    def _in_pages(self) -> Iterator[Match]:
        root = self._data.wiki
        for path in _pages_below(root / self._folder if self._folder else root):
            name = f"{root.name}/{path.relative_to(root).as_posix()}"
            try:
                with path.open("rb") as file:
                    number = 1
                    while raw := file.readline(PIECE_BYTES):
                        if not self._needle or self._needle in raw:
                            yield from self._in_line(name, number, raw.rstrip(b"\r\n").decode("utf-8", "replace"))
                        number += raw.endswith(b"\n")
            except FileNotFoundError:  # gone since it was listed
                continue

    def _in_line(self, name: str, number: int, text: str, **more: Any) -> Iterator[Match]:
        if self._ask.is_regex:
            found = self._timed(f"{name} line {number}", lambda: self._pattern.search(text))
        else:
            text = _composed(text)
            found = self._pattern.search(text)
        if found is not None:
            yield Match(name, number, text, *found.span(), **more)

    def _timed(self, where: str, work: Callable[[], T]) -> T:
        self._beat(where)
        try:
            return work()
        finally:
            self._beat(None)

    # -- events ------------------------------------------------------------------------------------------------------

    def _in_events(self) -> Iterator[Match]:
        root, ids = self._data.journal, self._ids
        moved = self._moved() if ids is not None else {}
        for name, number, raw in _raw_lines(root, _OBSERVATION):
            if self._in_json and self._in_json not in raw:
                continue
            try:
                line = decode(raw)
            except BadLine:
                self.damaged += 1
                continue
            own = str(line.data.get("project"))
            if ids is None or moved.get(str(line.data.get("session")), own) in ids:
                yield from self._in_event(name, number, line)

    def _in_event(self, name: str, number: int, line: Line) -> Iterator[Match]:
        data = line.data
        seen: set[str] = set()
        about = {
            "seq": line.seq, "at_ns": line.at_ns, "kind": data.get("kind"), "harness": data.get("harness"),
            "session": data.get("session"),
        }  # fmt: skip
        for field in _TEXTS:
            for text in _texts(data.get(field)):
                for row in text.splitlines():
                    for at in range(0, len(row), PIECE_BYTES):
                        piece = row[at : at + PIECE_BYTES]
                        if piece not in seen:
                            seen.add(piece)
                            yield from self._in_line(name, number, piece, field=field, **about)

    def _moved(self) -> dict[str, str]:
        """Where sessions are filed now that were moved to another project by command."""
        found: dict[str, str] = {}
        for _, _, raw in _raw_lines(self._data.journal, _PROJECT):
            try:
                data = decode(raw).data
            except BadLine:
                continue
            if data.get("op") == "move-session":
                found[str(data.get("session"))] = str(data.get("project"))
        return found

    def _of_project(self) -> tuple[str, frozenset[str] | None]:
        """The folder and the ids of the project that was asked for; "" and None for all."""
        wanted = self._ask.project
        if not wanted or wanted == "*":
            return "", None
        files = WikiFiles(self._data.wiki)
        registry = read_registry(files)
        project = registry.by_name(wanted)
        if project is not None:
            declared = read_folder(files, project.path)
            return project.path, frozenset((project.id, *(declared.was if declared else ())))
        if "/" in wanted and ".." not in wanted.split("/") and (self._data.wiki / wanted).is_dir():
            return wanted, frozenset((wanted.rpartition("/")[2],))  # such as default/_global
        known = ", ".join(sorted(one.path for one in registry.projects)[:20]) or "none yet"
        raise NotFound(f"There is no project {wanted[:80]!r}. Known are: {known}.")


def _pages_below(folder: Path) -> Iterator[Path]:
    """Pages in the order of their paths; hidden and ignored names, links and what can't be read are left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_ours_ignored(name))
        for name in sorted(names):
            path = Path(parent, name)
            if name.endswith(PAGE_SUFFIX) and not is_ours_ignored(name) and path.is_file() and not path.is_symlink():
                yield path


def _raw_lines(root: Path, mark: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Name of the segment, number and bytes of each line with this type."""
    for segment in find_segments(root):
        name = f"{root.name}/{segment.path.relative_to(root).as_posix()}"
        with open_now(segment.path) as file:
            for number, raw in enumerate(file, 1):
                if mark in raw[:_HEAD_BYTES]:
                    yield name, number, raw


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys aside."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            todo += reversed(one.values())
        elif isinstance(one, list):
            todo += reversed(one)


def _composed(text: str) -> str:
    """In one spelling of letters with marks, which macOS writes otherwise than people type them."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
