"""From the bytes of a page to what the index and the tools need of it. Pure, and takes any bytes."""

import codecs
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from aimemory.model.ids import PageId, digest, imported_id
from aimemory.wiki.frontmatter import split
from aimemory.wiki.lines import unfenced
from aimemory.wiki.nodes import Value

KINDS = {
    "sessions": "session",
    "handoffs": "handoff",
    "decisions": "decision",
    "gotchas": "gotcha",
    "concepts": "concept",
    "procedures": "procedure",
    "notes": "note",
    "rules": "rule",
    "slots": "slot",
}
"""Folder below a project → kind of the pages in it that don't say `type`."""

_OURS = frozenset(("project", "session", "handoff", "rule", "slot", "index"))
"""Kinds that mean something to the program: rules are briefed, handoffs offered."""

_MAX_TITLE = 300
_MAX_HEADING = 1000
_HEADING_WITHIN = 400
"""Lines at the begin of a page among which a heading is its title."""
_MAX_TAGS = 100
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KIND = re.compile(r"[\w][\w ./-]{0,63}")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A page as read. Texts are repaired for reading (invalid UTF-8, NUL); the file's bytes stay as they are.

    kind: `type` in lower case, else by folder, else `note`; what was imported from elsewhere is no kind that the
    program acts on, and not pinned. title: `title`, else the first heading, else the file's name. created: of `created`
    and `date` the first that is a day or a time, else what `generated` says. body: everything behind the front matter.
    front: its fields as text, {} when there are none or they can't be read. problem: what is wrong with the front
    matter, with the line in the file, or None.
    """

    path: str
    id: PageId
    kind: str
    title: str
    description: str
    tags: tuple[str, ...]
    status: str | None
    created: str | None
    updated: str | None
    body: str
    front: dict[str, Value] = field(default_factory=dict)
    problem: str | None = None


def parse_page(path: str, content: bytes) -> ParsedPage:
    """Read a page; never raises, whatever the bytes are. An `id` that is no plain word gives way to one of the path."""
    parts = split(readable(content))
    front = parts.front or {}
    own_id = _line(front.get("id"))
    kind = _line(front.get("type")).lower()
    kind = kind if _KIND.fullmatch(kind) else _kind_of(path)
    tags = _tags(front.get("tags"))
    imported = front.get("imported")
    page_id = PageId(own_id if _ID.fullmatch(own_id) else digest("page", path))
    if isinstance(imported, dict):
        page_id = imported_id(_line(imported.get("bundle")), _line(imported.get("path")))
    if imported is not None:  # others' pages are for reading: they give no rules and hand nothing over
        kind = f"imported {kind}" if kind in _OURS else kind
        tags = tuple(tag for tag in tags if tag != "pinned")
    created = _line(front.get("created"))
    generated = front.get("generated")
    generated_at = _line(generated.get("at")) if isinstance(generated, dict) else ""
    return ParsedPage(
        path=path,
        id=page_id,
        kind=kind,
        title=(_line(front.get("title")) or _first_heading(parts.body) or _stem(path))[:_MAX_TITLE],
        description=_line(front.get("description")),
        tags=tags,
        status=_line(front.get("status")) or None,
        created=_moment(created) or _moment(_line(front.get("date"))) or created or generated_at or None,
        updated=_line(front.get("updated")) or None,
        body=parts.body,
        front=front,
        problem=parts.problem,
    )


def readable(content: bytes) -> str:
    """The text of a page for reading: UTF-8, or UTF-16 with its mark; what is neither shows as U+FFFD, NUL too."""
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8"
    return content.decode(encoding, "replace").replace("\x00", "\ufffd")


def _line(value: Value | None) -> str:
    """A text field in one line; lists and mappings count as absent."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _moment(text: str) -> str:
    """A day or a time as ISO 8601 writes it; "" for any other text, as `date` may be."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return text


def _tags(value: Value | None) -> tuple[str, ...]:
    """Tags from a list, `a, b` or `#a #b`; once each, without `#`."""
    if isinstance(value, str):
        words = value.split()
        hashed = bool(words) and all(word.startswith("#") for word in words)
        raw: list[Value] = [*words] if hashed and "," not in value else [*value.split(",")]
    else:
        raw = value if isinstance(value, list) else []
    tags = dict.fromkeys(_line(tag).lstrip("#") for tag in raw)
    return tuple(tag for tag in tags if tag)[:_MAX_TAGS]


def _kind_of(path: str) -> str:
    *folders, name = path.split("/")
    if len(folders) == 2 and name == f"{folders[1]}.md":
        return "project"
    if len(folders) == 2 and name == "index.md":
        return "index"
    return next((KINDS[folder] for folder in folders[2:] if folder in KINDS), "note")


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _first_heading(body: str) -> str:
    """Text of the first heading (`#` … `######`) outside fenced code, or ""."""
    for _, line in islice(unfenced(body), _HEADING_WITHIN):
        heading = _HEADING.match(line.rstrip("\r\n")[:_MAX_HEADING])
        if heading and heading.group(1):
            return " ".join(heading.group(1).split())
    return ""
