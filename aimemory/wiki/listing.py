"""The text of a listing of pages, `index.md` of the Open Knowledge Format. Pure, and the same for the same pages.

The format: https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md, section 8: sections of
`* [Title](relative url) - description` under headings; front matter at the bundle's root alone, for `okf_version`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aimemory.wiki.links import as_url

OKF_VERSION = "0.2"

_SYNTAX = re.compile(r"([\\\[\]<`*$%#~])")
_TITLE_CHARS = 120
_DESCRIPTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One page. path: relative to the listing. title, description: one line each, of any characters."""

    path: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Pages under one heading, in this order. more: how many there are that are not named."""

    heading: str
    entries: Sequence[Entry]
    more: int = 0


def listing(sections: Iterable[Section], mark: str = "") -> str:
    """The whole file; sections without entries are left out. mark: a last line, such as a comment."""
    lines = ["---", f'okf_version: "{OKF_VERSION}"', "---"]
    for section in sections:
        if section.entries:
            lines += ["", f"# {section.heading}", "", *(_line(entry) for entry in section.entries)]
            lines += [f"* … and {section.more:,} more, see the folder"] * bool(section.more)
    return "\n".join([*lines, "", mark, ""] if mark else [*lines, ""])


def _line(entry: Entry) -> str:
    title = _SYNTAX.sub(r"\\\1", _cut(entry.title, _TITLE_CHARS)) or as_url(entry.path)
    description = _SYNTAX.sub(r"\\\1", _cut(entry.description, _DESCRIPTION_CHARS))
    return f"* [{title}]({as_url(entry.path)})" + (f" - {description}" if description else "")


def _cut(text: str, chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= chars else line[: chars - 1].rstrip() + "…"
