"""What becomes of each thing when something is taken out: pure rules, one class for each way.

A `Change` is asked about journal lines, pages, other files, past versions and messages. Asking again about what it gave
changes nothing, so a purge that was cut off is finished by doing it once more.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Protocol

from aimemory.errors import UserError
from aimemory.journal.lines import GONE, Line
from aimemory.model.ids import Version, observation_id
from aimemory.upkeep.purge.spelled import Spelled
from aimemory.wiki.frontmatter import edit_field, split
from aimemory.wiki.nodes import Value

PLACEHOLDER = "[redacted:forgotten]"
_PLAIN = "redacted-forgotten"
"""Where brackets would be read as something else: in front matter that can't be edited field by field."""

MARKS = (PLACEHOLDER, _PLAIN)
"""What stands in the place of a text that was taken out."""

OWN = frozenset((
    "id", "key", "hash", "session", "project", "kind", "event", "harness", "op", "version", "machine", "user",
    "handoff", "agent_id", "agent_type", "call_id", "native_session", "pid", "upto", "digest", "by", "process", "live",
    "since", "manual",
))  # fmt: skip
"""Fields of a line that are ours, or name things; text that people and tools wrote is in the others."""

_NEVER = ("purge", GONE)
_SAID = ("title", "summary", "next_steps")
"""What a handoff's line says of its work."""

_OWN_FIELDS = frozenset((
    "type", "id", "status", "handoff", "session", "harness", "user", "machine", "origin", "generated", "created",
    "started", "ended", "continues",
))  # fmt: skip
"""Fields of front matter that say what a page is: without them a project, a session or a handoff is none any more."""

_NAMED = re.compile(r"[ \t]*([A-Za-z_][\w-]*):")
_WORD = re.compile(r"[A-Za-z_][\w-]{0,40}")
_MANY = 200
_HEAD_BYTES = 4096


class Change(Protocol):
    """versions: filled by a rewriting of the history: the version that each changed past one has become."""

    versions: dict[Version, Version | None]

    def may_concern(self, raw: bytes) -> bool:
        """Whether a raw journal line may be concerned."""

    def line(self, line: Line) -> dict[str, Any] | None:
        """Its data afterwards: the same object if it stays, None if it goes."""

    def page(self, path: str, raw: bytes) -> bytes | None:
        """A page's bytes afterwards; None if it goes."""

    def other(self, name: str, raw: bytes) -> bytes | None:
        """A file's that is neither page nor segment, by its path below the data directory."""

    def name(self, path: str) -> str:
        """A page's path afterwards; only its last part may change."""

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        """A past version's bytes afterwards, None if it goes."""

    def message(self, raw: bytes) -> bytes:
        """A commit's message afterwards."""


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
        ids = (*self.sessions, *self.projects, *self.handoffs, *self.muted, *self.paths, *self.folders)
        if len(ids) > _MANY or b'"type":"page"' in raw[:80] or b'"type":"project"' in raw[:80]:
            return True
        return any(_escaped(one) in raw for one in ids)

    def line(self, line: Line) -> dict[str, Any] | None:
        if line.type in _NEVER:
            return line.data
        if self._goes(line):
            return None
        data = line.data
        if line.type == "handoff" and data.get("handoff") in self.muted and any(name in data for name in _SAID):
            data = {name: value for name, value in data.items() if name not in _SAID}
        if (alias := self.aliases.get(data.get("page", ""))) is not None:
            data = {**data, "page": alias}
        return data

    def _goes(self, line: Line) -> bool:
        data, session = line.data, line.data.get("session")
        if line.type == "page":
            return line.seq in self.seqs or self._is_gone(str(data.get("path", "")))
        if line.type == "handoff":
            return data.get("handoff") in self.handoffs
        if line.type == "project" and data.get("op") in ("rename", "merge", "unmerge"):
            return data.get("project") in self.projects
        if session is not None:
            return session in self.sessions
        return data.get("project") in self.projects or self._is_gone(str(data.get("path", "")))

    def page(self, path: str, raw: bytes) -> bytes | None:
        return None if self._is_gone(path) or self._has_id(raw) else raw

    def other(self, name: str, raw: bytes) -> bytes | None:
        natives = [_escaped(one) for one in self.natives]
        stems = [PurePosixPath(path).stem for path in self.paths]
        if name.endswith(".jsonl"):
            return b"".join(row for row in raw.splitlines(keepends=True) if not any(one in row for one in natives))
        if name.endswith(".json") and any(one in raw for one in natives):
            return None
        if name.startswith("logs/"):
            return self.message(raw)
        if any(stem in name for stem in stems) or self._has_id(raw):
            return None
        if name.startswith("conflicts/"):
            head = raw.partition(b"\n")[0]
            about = (*self.paths, *self.sessions, *(f"{folder}/" for folder in self.folders))
            return None if any(_escaped(one) in head for one in about) else raw
        return raw

    def name(self, path: str) -> str:
        return path

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        return None if self._is_gone(path) or self._has_id(read()) else read()

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
        if not self.page_ids or not raw.startswith(b"---"):
            return False
        m = re.search(rb"^id: *['\"]?([\w.-]+)", raw[:_HEAD_BYTES], re.MULTILINE)
        return m is not None and m[1].decode() in self.page_ids


@dataclass(slots=True)
class Redaction:
    """One text goes, wherever it stands; what stood around it stays.

    renames: new paths of pages whose file's name holds it. veiled_key: under what an event is known whose own key was
    made from its text.
    """

    text: str
    veiled_key: Callable[[str], str]
    renames: Mapping[str, str] = field(default_factory=dict)
    versions: dict[Version, Version | None] = field(default_factory=dict)
    _spelled: Spelled = field(init=False)

    def __post_init__(self) -> None:
        self._spelled = Spelled(self.text)

    def may_concern(self, raw: bytes) -> bool:
        if self._spelled.is_in(raw) or any(_escaped(old) in raw for old in self.renames):
            return True
        return bool(self.versions) and b'"type":"page"' in raw[:80]

    def line(self, line: Line) -> dict[str, Any] | None:
        data = line.data
        if line.type in _NEVER:
            return data
        new = {name: value if name in OWN else self._value(value) for name, value in data.items()}
        if line.type == "page" and data.get("version") in self.versions:
            new["version"] = self.versions[data["version"]]
        if new == data:
            return data
        return without_digests(line, new, self.veiled_key)

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


def in_wiki(change: Change, path: str, raw: bytes) -> bytes | None:
    """What a file of the wiki becomes; None if it goes."""
    return change.page(path, raw) if path.endswith(".md") else change.blob(path, lambda: raw)


def without_digests(line: Line, data: dict[str, Any], veiled_key: Callable[[str], str]) -> dict[str, Any]:
    """A changed line's data without hashes that were made from what it no longer holds: with the rest at hand, a short
    secret could be guessed from them."""
    if line.type != "observation" or "hash" not in line.data:
        return data
    key = veiled_key(str(line.data["key"]))
    kept = {name: value for name, value in data.items() if name != "hash"}
    return kept | {"key": key, "id": observation_id(key)}


def in_page(text: str, plain: Callable[[str], str]) -> str:
    """A page's text through `plain`, its front matter field by field, so that it stays what it is."""
    parts = split(text)
    if parts.front is None:
        return plain(text)
    head = text[: len(text) - len(parts.body)]
    text = head + plain(parts.body)
    if plain(head) == head:
        return text
    for key, value in parts.front.items():
        if key in _OWN_FIELDS:
            continue
        new = _field(value, plain)
        if new is not None and new != value:
            try:
                text = edit_field(text, key, new)
            except UserError:  # it can't be set for certain: its text goes all the same, below
                continue
    body = split(text).body
    return "".join(_rest(row, plain) for row in text[: len(text) - len(body)].splitlines(keepends=True)) + body


def _rest(row: str, plain: Callable[[str], str]) -> str:
    """A line of front matter that could not be changed as a field: what stands behind its name."""
    m = _NAMED.match(row)
    if m is not None and m[1] in _OWN_FIELDS:
        return row
    name = m[0] if m is not None else ""
    rest = row[len(name) :]
    new = plain(rest)
    return row if new == rest else name + new.replace(PLACEHOLDER, _PLAIN)


def _field(value: Value, plain: Callable[[str], str]) -> str | list[str] | None:
    """A field's new value, None for one of another shape."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return [plain(str(one)) for one in value]
    return None


def _escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def telling(values: Iterable[Any], least: int = 24, most: int = 200) -> list[str]:
    """Lines of text in JSON values that are long enough to be told from others' words, in order, once each."""
    found: dict[str, None] = {}
    todo = list(values)
    while todo:
        value = todo.pop(0)
        if isinstance(value, str):
            for row in value.splitlines():
                if least <= len(row.strip()) <= most:
                    found.setdefault(row.strip())
        elif isinstance(value, list):
            todo[:0] = value
        elif isinstance(value, dict):
            todo[:0] = [one for name, one in value.items() if name not in OWN]
    return list(found)
