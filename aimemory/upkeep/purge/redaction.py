"""What becomes of each thing when one text goes, wherever it stands."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aimemory.journal.lines import Line
from aimemory.model.ids import Version
from aimemory.upkeep.purge.change import NEVER, OWN, PLACED, PLACEHOLDER, PLACES, escaped, in_page, without_digests
from aimemory.upkeep.purge.spelled import Spelled
from aimemory.wiki.names import PAGE_SUFFIX, slug

LEAST_CHARS = 4
_SLUG_BYTES = 70
_WORD = re.compile(r"[A-Za-z_][\w-]{0,40}")


class Names:
    """Names of pages without a text, or without the form of it that names of ours have."""

    def __init__(self, text: str) -> None:
        self._spelled = Spelled(text)
        self._short = slug(text, fallback="", max_bytes=_SLUG_BYTES)

    def without(self, name: str) -> str:
        """A file's name as it shall be; the same one where it holds nothing of the text."""
        new = self._spelled.replaced(name, "forgotten")
        if len(self._short) < LEAST_CHARS:
            return new
        stem, dot, suffix = new.partition(".")
        return f"-{stem}-".replace(f"-{self._short}-", "-forgotten-")[1:-1] + dot + suffix


@dataclass(slots=True)
class Redaction:
    """One text goes, wherever it stands; what stood around it stays.

    renames: new paths of pages whose file's name holds it, and names by which links call them. is_folder: whether the
    wiki has such a folder, whose name stays then. veiled_key: under what an event is known whose own key was made from
    its text.
    """

    text: str
    veiled_key: Callable[[str], str]
    renames: Mapping[str, str] = field(default_factory=dict)
    is_folder: Callable[[str], bool] = lambda path: False
    versions: dict[Version, Version | None] = field(default_factory=dict)
    _spelled: Spelled = field(init=False)
    _names: Names = field(init=False)
    _folders: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._spelled = Spelled(self.text)
        self._names = Names(self.text)

    def may_concern(self, raw: bytes) -> bool:
        if self._spelled.is_in(raw) or any(escaped(old) in raw for old in self.renames):
            return True
        return bool(self.versions) and any(kind in raw[:80] for kind in (b'"type":"page"', b'"type":"feedback"'))

    def line(self, line: Line) -> dict[str, Any] | None:
        data = line.data
        if line.type in NEVER:
            return data
        new = {name: self._field(line.type, name, value) for name, value in data.items()}
        if line.type in ("page", "feedback") and data.get("version") in self.versions:
            new["version"] = self.versions[data["version"]]
        if new == data:
            return data
        return without_digests(line, new, self.veiled_key)

    def _field(self, kind: str, name: str, value: Any) -> Any:
        if kind in PLACED and name in PLACES:
            if isinstance(value, dict):
                return {self.place(old): self.place(new) for old, new in value.items()}
            return self.place(value) if isinstance(value, str) else value
        if name in OWN and not (name == "handoff" and kind in ("intent", "done")):  # there it is a sentence
            return value
        return self._value(value)

    def place(self, path: str) -> str:
        """What a line shall call a page or a folder of the wiki: as it is called on the disk, else without the text.

        A line that called it otherwise would no longer be about it, and who wrote the page would be forgotten too.
        """
        if path in self.renames:
            return self.renames[path]
        folder, _, name = path.rpartition("/")
        before = ""
        for part in folder.split("/") if folder else ():
            stands = f"{before}{part}"
            before = f"{stands}/" if self._stays(stands) else f"{before}{self._spelled.replaced(part, PLACEHOLDER)}/"
        if self._stays(path):
            return path
        if not name.endswith(PAGE_SUFFIX):
            return before + self._spelled.replaced(name, PLACEHOLDER)
        if name == f"{folder.rpartition('/')[2]}{PAGE_SUFFIX}":  # a project's own page is called as its folder is
            return f"{before}{before.rstrip('/').rpartition('/')[2]}{PAGE_SUFFIX}"
        return before + self._names.without(name)

    def _stays(self, folder: str) -> bool:
        if folder not in self._folders:
            self._folders[folder] = self.is_folder(folder)
        return self._folders[folder]

    def _value(self, value: Any, *, keep_names: bool = False) -> Any:
        """keep_names: a plain word that names a value stays, since the value would lose its meaning."""
        if isinstance(value, str):
            return self.plain(value)
        if isinstance(value, list):
            return [self._value(one, keep_names=keep_names) for one in value]
        if isinstance(value, dict):
            return {
                name if keep_names and _WORD.fullmatch(name) else self.plain(name):
                    self._value(one, keep_names=keep_names)
                for name, one in value.items()
            }  # fmt: skip
        return value

    def plain(self, text: str) -> str:
        """The text without it. Names of pages first: they may hold it in another form."""
        for old, new in self.renames.items():
            if old in text:
                text = text.replace(old, new)
        return self._spelled.replaced(text, PLACEHOLDER)

    def page(self, path: str, raw: bytes) -> bytes | None:
        if not self._spelled.is_in(raw) and not any(old.encode() in raw for old in self.renames):
            return raw
        return in_page(raw.decode("utf-8", "surrogateescape"), self.plain).encode("utf-8", "surrogateescape")

    def other(self, name: str, raw: bytes) -> bytes | None:
        if not self._spelled.is_in(raw):
            return raw
        if name.endswith((".json", ".jsonl")):
            return b"".join(self._row(row) for row in raw.splitlines(keepends=True))
        return self._spelled.replaced_raw(raw, PLACEHOLDER.encode())

    def _row(self, row: bytes) -> bytes:
        """One JSON value, read as such, so that what is left can still be read: an event on its way is not lost."""
        if not self._spelled.is_in(row):
            return row
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
            return self._spelled.replaced_raw(row, PLACEHOLDER.encode())
        new = self._value(value, keep_names=True)
        if new == value:
            return row
        return json.dumps(new, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    def name(self, path: str) -> str:
        return self.renames.get(path, path)

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        return self.page(path, read()) if path.endswith(".md") else self.other(path, read())

    def message(self, raw: bytes) -> bytes:
        return self.plain(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
