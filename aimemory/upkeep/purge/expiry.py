"""What becomes of each thing when it has grown older than the settings keep it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aimemory.journal.lines import Line
from aimemory.model.ids import Version, page_version
from aimemory.upkeep.purge.change import PLACEHOLDER, without_digests, without_listed

RETENTION = "retention"

TEXTS = frozenset((
    "prompt", "message", "command", "input", "output", "error", "text", "files_written", "files_read", "extra",
    "transcript_path",
))  # fmt: skip
"""Fields of an event that go when it is old; names, times and outcomes stay."""

_OF_SESSION = ("observation", "brief", "intent", "done")
"""Lines that tell of a session and go with it. What changed something else (`audit`, `project`) stays."""


@dataclass(slots=True)
class Expiry:
    """Sessions and handoffs go as a whole, old events lose their texts; what is newer than line `upto` stays as it is.

    before_ns: events captured earlier lose their texts, but those of the sessions `spared`; 0 for none. seqs: `page`
    lines about the pages that go. versions_of: those pages, with the version that was looked at: one that was changed
    since stays. paths: the same pages, also under former names, for git's history. files: conflict copies that go.
    """

    veiled_key: Callable[[str], str]
    upto: int
    sessions: frozenset[str] = frozenset()
    handoffs: frozenset[str] = frozenset()
    seqs: frozenset[int] = frozenset()
    before_ns: int = 0
    spared: frozenset[str] = frozenset()
    versions_of: Mapping[str, str] = field(default_factory=dict)
    paths: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    versions: dict[Version, Version | None] = field(default_factory=dict)

    def may_concern(self, raw: bytes) -> bool:
        return b'"type":"purge"' not in raw[:80]

    def line(self, line: Line) -> dict[str, Any] | None:
        if line.seq > self.upto:
            return line.data
        if line.type == "page":
            return None if line.seq in self.seqs else line.data
        if line.type == "handoff":
            return None if line.data.get("handoff") in self.handoffs else line.data
        if line.type == "feedback":
            return None if line.data.get("path") in self.paths else line.data
        if line.type not in _OF_SESSION:
            return line.data
        session = line.data.get("session")
        if session is not None and session in self.sessions:
            return None
        is_old = line.type == "observation" and line.at_ns < self.before_ns and session not in self.spared
        if not is_old or TEXTS.isdisjoint(line.data):
            return line.data
        kept = {name: value for name, value in line.data.items() if name not in TEXTS}
        return without_digests(line, kept, self.veiled_key)

    def page(self, path: str, raw: bytes) -> bytes | None:
        if self.versions_of.get(path) == page_version(raw):
            return None
        return without_listed(path, raw, self._goes)

    def _goes(self, path: str) -> bool:
        return path in self.versions_of

    def other(self, name: str, raw: bytes) -> bytes | None:
        return None if name in self.files else raw

    def name(self, path: str) -> str:
        return path

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        return None if path in self.paths else without_listed(path, read(), self.paths.__contains__)

    def message(self, raw: bytes) -> bytes:
        for path in sorted(self.paths, key=len, reverse=True):
            raw = raw.replace(path.encode(), PLACEHOLDER.encode())
        return raw


def size_of(data: dict[str, Any] | None) -> int:
    """Bytes that a line's data takes, about."""
    return 0 if data is None else len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
