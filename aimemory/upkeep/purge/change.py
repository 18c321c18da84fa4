"""What becomes of each thing when something is taken out: what every way of it (`removal`, `redaction`, `scrub`,
`expiry`) answers, and what they share. Pure.

A `Change` is asked about journal lines, pages, other files, past versions and messages. Asking again about what it gave
changes nothing, so a purge that was cut off is finished by doing it once more.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from urllib.parse import unquote

from aimemory.errors import UserError
from aimemory.journal.lines import GONE, Line
from aimemory.model.ids import Version, observation_id
from aimemory.store.pagerows import LISTING_MARK, is_listing
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

NEVER = ("purge", GONE)
"""Lines that tell of a purge: they hold nothing that could be taken out."""

PLACES = frozenset(("path", "source", "page", "pages", "files", "from", "to", "folder"))
"""Fields of lines that name pages and folders of the wiki, in lines of `PLACED`."""

PLACED = frozenset(("page", "audit", "accept", "project", "handoff", "intent", "done"))

_OWN_FIELDS = frozenset((
    "type", "id", "status", "handoff", "session", "harness", "user", "machine", "origin", "generated", "created",
    "started", "ended", "continues",
))  # fmt: skip
"""Fields of front matter that say what a page is: without them a project, a session or a handoff is none any more."""

_LISTED = re.compile(rb"\* \[(?:[^\]\\\n]|\\.)*\]\(([^)\n]*)\)")
_NAMED = re.compile(r"[ \t]*([A-Za-z_][\w-]*):")
_FENCES = ("---", "...")
"""Lines between which front matter stands."""


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


def in_wiki(change: Change, path: str, raw: bytes) -> bytes | None:
    """What a file of the wiki becomes; None if it goes."""
    return change.page(path, raw) if path.endswith(".md") else change.blob(path, lambda: raw)


def without_listed(path: str, raw: bytes, is_gone: Callable[[str], bool]) -> bytes:
    """A listing that we made without the lines of pages that go, whose titles stand there; any other page as it is."""
    if not is_listing(path) or LISTING_MARK.encode() not in raw:
        return raw
    folder = path.rpartition("/")[0]

    def stays(row: bytes) -> bool:
        m = _LISTED.match(row)
        return m is None or not is_gone(f"{folder}/{unquote(m[1].decode('utf-8', 'replace'))}")

    return b"".join(row for row in raw.splitlines(keepends=True) if stays(row))


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
    if (m is not None and m[1] in _OWN_FIELDS) or row.rstrip() in _FENCES:
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


def escaped(text: str) -> bytes:
    """As it stands in a JSON string of ours."""
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
