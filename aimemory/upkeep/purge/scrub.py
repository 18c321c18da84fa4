"""Today's rules over what was stored under those of another day: the change behind `aimemory rescan`."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aimemory.journal.lines import GONE, Line
from aimemory.model.ids import Version, page_version
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.upkeep.purge.change import OWN, in_page, without_digests

_PERSONS = ("edits/",)
"""Folders of texts that a person typed: named, never changed."""


@dataclass(slots=True)
class Scrub:
    """What a rule finds becomes its placeholder; a person's own pages are named and stay.

    by_hand: pages that a person wrote, and the versions in which they stand. is_ours: whether we wrote this version of
    a page, asked of what may have come meanwhile. found: by place, how many of which kind.
    """

    veiled_key: Callable[[str], str]
    by_hand: Mapping[str, Version] = field(default_factory=dict)
    is_ours: Callable[[str, Version], bool] = lambda path, version: True
    accepted: Callable[[str, Version], bool] = lambda path, version: False
    versions: dict[Version, Version | None] = field(default_factory=dict)
    found: dict[str, Counter[str]] = field(default_factory=dict)
    persons: dict[str, Counter[str]] = field(default_factory=dict)

    def may_concern(self, raw: bytes) -> bool:
        return True

    def line(self, line: Line) -> dict[str, Any] | None:
        if line.type in ("purge", GONE):
            return line.data
        clean = sanitize_tree({name: value for name, value in line.data.items() if name not in OWN})
        is_past = line.type == "page" and line.data.get("version") in self.versions
        if not clean.counts and not is_past:
            return line.data
        self._note("journal", clean.counts)
        new = {name: clean.value.get(name, value) for name, value in line.data.items()}
        if is_past:
            new["version"] = self.versions[line.data["version"]]
        return without_digests(line, new, self.veiled_key)

    def page(self, path: str, raw: bytes) -> bytes | None:
        counts = sanitize(f"{path}\n{raw.decode('utf-8', 'replace')}").counts
        if not counts or self.accepted(path, page_version(raw)):
            return raw
        if path in self.by_hand or not self.is_ours(path, page_version(raw)):
            self.persons[f"wiki/{path}"] = Counter(counts)
            return raw
        self._note("pages", counts)
        return self._scrubbed(raw)

    def other(self, name: str, raw: bytes) -> bytes | None:
        text = raw.decode("utf-8", "replace")
        if name.startswith(_PERSONS):
            if counts := sanitize(text).counts:
                self.persons[name] = Counter(counts)
            return raw
        place = name.partition("/")[0]
        if name.endswith((".json", ".jsonl")):
            rows = [self._row(row, place) for row in raw.splitlines(keepends=True)]
        elif name.startswith("conflicts/"):
            head, _, body = raw.partition(b"\n")
            rows = [self._row(head + b"\n", place), self._plain(body.decode("utf-8", "replace"), place).encode()]
        elif name.startswith("logs/"):
            rows = [self._plain(row, place).encode() for row in text.splitlines(keepends=True)]
        else:
            return raw
        new = b"".join(rows)
        return new if new != raw else raw

    def name(self, path: str) -> str:
        return path

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        raw = read()
        if not path.endswith(".md") or self.by_hand.get(path) == page_version(raw):
            return raw
        if self.accepted(path, page_version(raw)) or not (counts := sanitize(raw.decode("utf-8", "replace")).counts):
            return raw
        self._note("history", counts)
        return self._scrubbed(raw)

    def message(self, raw: bytes) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        clean = sanitize(raw.decode("utf-8", "replace"))
        return clean.value.encode() if clean.counts else text.encode("utf-8", "surrogateescape")

    def _scrubbed(self, raw: bytes) -> bytes:
        return in_page(raw.decode("utf-8", "replace"), lambda text: sanitize(text).value).encode()

    def _row(self, row: bytes, place: str) -> bytes:
        """One JSON value of ours; what is none is looked at as text."""
        try:
            value = json.loads(row)
        except ValueError:
            return self._plain(row.decode("utf-8", "replace"), place).encode()
        clean = sanitize_tree(value)
        if not clean.counts:
            return row
        self._note(place, clean.counts)
        return json.dumps(clean.value, separators=(",", ":")).encode() + b"\n"

    def _plain(self, text: str, place: str) -> str:
        clean = sanitize(text)
        if not clean.counts:
            return text
        self._note(place, clean.counts)
        return clean.value

    def _note(self, place: str, counts: Mapping[str, int]) -> None:
        self.found.setdefault(place, Counter()).update(counts)
