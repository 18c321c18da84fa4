"""The headings of a page as a tree of sections, and finding one of them by what a reader calls it. Pure.

A section reaches to the next heading that is not below it, so it holds its sub-sections.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.errors import NotFound, UserError
from aimemory.wiki.frontmatter import split
from aimemory.wiki.lines import unfenced

SEPARATOR = " > "
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?\n?")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\r?\n?")
_NO_PARAGRAPH = re.compile(r"(?: {0,3}(?:[>#|]|[-+*][ \t]|\d{1,9}[.)][ \t])|(?: {4}|\t)|[ \t]*\r?\n?$)")
_SPACE = re.compile(r"\s+")
_MAX_HEADING = 200
_MAY_HEAD = re.compile(r"(?m)^ {0,3}(?:#|=+[ \t]*$|-+[ \t]*$)")
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Section:
    """number: from 1, in the order of the text. path: the headings above it and its own. start, end: in the text."""

    number: int
    path: tuple[str, ...]
    level: int
    start: int
    end: int

    @property
    def name(self) -> str:
        return SEPARATOR.join(self.path)


def sections_of(text: str) -> tuple[Section, ...]:
    """The sections of a page, by `#` and underlined headings; what stands in code or in front matter is none."""
    begin = len(text) - len(split(text).body)
    found = _headings(text, begin)
    ends = [len(text)] * len(found)
    paths: list[tuple[str, ...]] = []
    above: list[int] = []
    for number, (start, level, title) in enumerate(found):
        while above and found[above[-1]][1] >= level:
            ends[above.pop()] = start
        above.append(number)
        paths.append((*(found[one][2] for one in above[:-1]), title))
    return tuple(
        Section(number + 1, paths[number], level, start, ends[number]) for number, (start, level, _) in enumerate(found)
    )


def section_at(text: str, at: int, title: str = "") -> str:
    """The headings that lead to a place of a text, or "" above the first; one that repeats the page's title is left
    out."""
    if not _MAY_HEAD.search(text, 0, at + _MAX_HEADING):
        return ""
    path: tuple[str, ...] = ()
    line = text.find("\n", at)
    under = text.find("\n", line + 1) if line >= 0 else -1
    for section in sections_of(text[:under] if under >= 0 else text):
        if section.start > at:
            break
        path = section.path
    if path and _folded(path[0]) == _folded(title):
        path = path[1:]
    return SEPARATOR.join(path)


def section_named(sections: Sequence[Section], wanted: str) -> Section:
    """The section that was meant: by the headings that lead to it (`Setup > Linux`), the last of them, or its number.

    Case and white space don't count. Raises NotFound with the sections that there are, UserError when several fit.
    """
    asked = tuple(_folded(part.strip().lstrip("#")) for part in wanted.split(SEPARATOR.strip()))
    whole = _folded(wanted.strip().lstrip("#"))
    fits = [one for one in sections if _ends_with(one.path, asked) or _folded(one.path[-1]) == whole]
    exact = [one for one in fits if tuple(map(_folded, one.path)) == asked]
    if len(exact or fits) == 1:
        return (exact or fits)[0]
    if not fits and wanted.strip().isdecimal() and 0 < int(wanted.strip()[:9]) <= len(sections):
        return sections[int(wanted) - 1]
    listed = [f"{one.number}. {one.name}" for one in (exact or fits or sections)]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    names = "; ".join(listed[:_NAMED]) + more
    if fits:
        raise UserError(f"{wanted[:80]!r} fits several sections: {names}. Give the path or the number of one.")
    raise NotFound(f"The page has no section {wanted[:80]!r}. It has: {names or 'no headings at all'}.")


def _headings(text: str, begin: int) -> list[tuple[int, int, str]]:
    """Start, level and title of each, in order."""
    found: list[tuple[int, int, str]] = []
    before: tuple[int, str] | None = None  # a line that an underline would make a heading of
    for start, line in unfenced(text, begin):
        if heading := _HEADING.fullmatch(line):
            found.append((start, len(heading[1]), _title(heading[2] or "")))
            before = None
        elif before and (under := _UNDERLINE.fullmatch(line)):
            found.append((before[0], 1 if under[1][0] == "=" else 2, _title(before[1])))
            before = None
        else:
            before = None if _NO_PARAGRAPH.match(line) else (start, line)
    return found


def _title(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:_MAX_HEADING] or "(no title)"


def _ends_with(path: Sequence[str], asked: tuple[str, ...]) -> bool:
    return len(asked) <= len(path) and tuple(map(_folded, path[len(path) - len(asked) :])) == asked


def _folded(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()
