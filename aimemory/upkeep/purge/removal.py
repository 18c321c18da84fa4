"""What becomes of each thing when sessions, projects and pages go as a whole."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from aimemory.journal.lines import Line
from aimemory.model.ids import Version
from aimemory.upkeep.purge.change import NEVER, PLACEHOLDER, escaped, without_listed

_SAID = ("title", "summary", "next_steps")
"""What a handoff's line says of its work."""

_MANY = 200
_HEAD_BYTES = 4096
_NAMES_A_SESSION = rb'(?i:session|thread|conversation)[\w-]{0,20}\\{0,16}"\s{0,4}:\s{0,4}\\{0,16}"'
"""How an event as a harness sends it says whose it is, as JSON, also within JSON."""

_EDIT = r"tmp[a-z0-9_]{8}-"
"""How the name of a kept edit begins, before the page's own (`cli/repair.py`)."""


@dataclass(slots=True)
class Removal:
    """Sessions, projects and pages go as a whole, with the handoffs that carry them.

    natives: the harnesses' own ids of the sessions. folders: projects' places in the wiki. paths: pages, also under
    former names. page_ids: `id` of those pages. seqs: `page` lines about them. muted: handoffs that stay known, so that
    they are not made again, without what they said. aliases: by path, what lines that stay call a page that goes.
    """

    sessions: frozenset[str] = frozenset()
    natives: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    handoffs: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    paths: frozenset[str] = frozenset()
    page_ids: frozenset[str] = frozenset()
    seqs: frozenset[int] = frozenset()
    muted: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    versions: dict[Version, Version | None] = field(default_factory=dict)

    def may_concern(self, raw: bytes) -> bool:
        ids = (*self.sessions, *self.projects, *self.handoffs, *self.muted, *self.paths, *self.folders, *self.page_ids)
        if len(ids) > _MANY or b'"type":"page"' in raw[:80] or b'"type":"project"' in raw[:80]:
            return True
        return any(escaped(one) in raw for one in ids)

    def line(self, line: Line) -> dict[str, Any] | None:
        if line.type in NEVER:
            return line.data
        if self._goes(line):
            return None
        data = line.data
        if line.type == "handoff" and data.get("handoff") in self.muted and any(name in data for name in _SAID):
            data = {name: value for name, value in data.items() if name not in _SAID}
        if (alias := self.aliases.get(data.get("page", ""))) is not None:
            data = {**data, "page": alias}
        if line.type == "project":
            data = self._without_moves(data)
        return data

    def _without_moves(self, data: dict[str, Any]) -> dict[str, Any]:
        """Without where pages that go were moved from and to."""
        left = {}
        for name in ("pages", "files"):
            moves = data.get(name)
            if isinstance(moves, dict) and any(self._is_gone(path) for pair in moves.items() for path in pair):
                left[name] = {
                    old: new for old, new in moves.items() if not self._is_gone(old) and not self._is_gone(new)
                }
        return {**data, **left} if left else data

    def _goes(self, line: Line) -> bool:
        data, session = line.data, line.data.get("session")
        if line.type == "page":
            return line.seq in self.seqs or self._is_gone(str(data.get("path", "")))
        if line.type == "feedback" and (data.get("page") in self.page_ids or self._is_gone(str(data.get("path", "")))):
            return True
        if line.type == "handoff":
            return data.get("handoff") in self.handoffs
        if line.type == "project" and data.get("op") in ("rename", "merge", "unmerge"):
            return data.get("project") in self.projects
        if session is not None:
            return session in self.sessions
        return data.get("project") in self.projects or self._is_gone(str(data.get("path", "")))

    def page(self, path: str, raw: bytes) -> bytes | None:
        return None if self._is_gone(path) or self._has_id(raw) else without_listed(path, raw, self._is_gone)

    def other(self, name: str, raw: bytes) -> bytes | None:
        if name.endswith(".jsonl"):
            return b"".join(row for row in raw.splitlines(keepends=True) if not self._is_event_of(row))
        if name.endswith(".json"):
            return None if self._is_event_of(raw) else raw
        if name.startswith("logs/"):
            return self.message(raw)
        if name.startswith("conflicts/"):
            return None if self._is_copy_of(raw) else raw
        is_edit = name.startswith("edits/") and any(
            re.fullmatch(_EDIT + re.escape(PurePosixPath(path).name), name.removeprefix("edits/"))
            for path in self.paths
        )
        return None if (is_edit and _id_of(raw) is None) or self._has_id(raw) else raw

    def _is_event_of(self, raw: bytes) -> bool:
        """Whether an event that waits, or was refused, says that it is of one of these sessions."""
        for native in self.natives:
            if escaped(native) in raw and re.search(_NAMES_A_SESSION + re.escape(escaped(native)) + rb'\\{0,16}"', raw):
                return True
        return False

    def _is_copy_of(self, raw: bytes) -> bool:
        """Whether a conflict copy is of one of these pages, or was written by one of these sessions."""
        try:
            about = json.loads(raw.partition(b"\n")[0])
            return self._is_gone(str(about.get("path", ""))) or about.get("session") in self.sessions
        except (ValueError, AttributeError):
            return self._has_id(raw)

    def name(self, path: str) -> str:
        return path

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        return self.page(path, read())

    def message(self, raw: bytes) -> bytes:
        for path in sorted(self.paths, key=len, reverse=True):
            raw = raw.replace(path.encode(), PLACEHOLDER.encode())
        for folder in self.folders:
            raw = re.sub(re.escape(folder.encode()) + rb"(?![\w.-])[^\s:]*", PLACEHOLDER.encode(), raw)
        return raw

    def _is_gone(self, path: str) -> bool:
        return path in self.paths or any(path.startswith(f"{folder}/") for folder in self.folders)

    def _has_id(self, raw: bytes) -> bool:
        """Whether this is a page of ours that goes, under a name that only a person's git knows."""
        return _id_of(raw) in self.page_ids


def _id_of(raw: bytes) -> str | None:
    """The `id` in a page's front matter, where it says one."""
    if not raw.startswith(b"---"):
        return None
    m = re.search(rb"^id: *['\"]?([\w.-]+)", raw[:_HEAD_BYTES].partition(b"\n---")[0], re.MULTILINE)
    return m[1].decode() if m is not None else None
