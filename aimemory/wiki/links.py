"""Finding the links of a page: what Obsidian takes for links, and nothing that stands in code, comments or math.

One pass over the lines finds prose, one pass over prose finds links; both are linear and take any text. What a link
leads to is `model.links`' to say.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from aimemory.model.links import Link, LinkKind, LinkRole, role_of
from aimemory.wiki.nodes import Value

MAX_LINKS = 5000
"""Of one page; more are not looked at."""

_MAX_RAW = 1000
_MAX_NAME = 200
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTE = re.compile(r"(?: {0,3}>[ \t]?)+")
_ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"(```+(?=[^`]*$)|~~~+)")
_TOKEN = re.compile(r"\\.|``*|%%|<!--|\$\$?|!\[\[?|\[\[?|\]\(?|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>", re.DOTALL)
"""Each way begins with a character of its own, by which the engine goes through text five times as fast."""
_WIKI = re.compile(rf"\[\[((?:[^\[\]\n]|\[(?!\[)|\](?!\])){{1,{_MAX_RAW}}})\]\]")
_DEST = re.compile(
    r"[ \t]*\n?[ \t]*(?:<([^<>\n]{0,1000})>|([^\s()<>]{0,1000}(?:\([^\s()]{0,1000}\)[^\s()]{0,1000}){0,20}))"
    r"(?:[ \t]*\n?[ \t]+(?:\"[^\"]{0,1000}\"|'[^']{0,1000}'|\([^()]{0,1000}\)))?[ \t]*\n?[ \t]*\)"
)
_MATH = re.compile(r"(?=\S)[^$\n]{0,1000}(?<![\s\\])\$(?!\d)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_PIPE = re.compile(r"\\?\|")
_KEPT_IN_URLS = "/._-~!$&'*+,;=:@()"
_SIGNS = ("[[", "](")
"""What every link holds one of: stretches without either need no closer look."""
_AT_MARGIN = '#[!("'
_SPANS = {"%%": "%%", "$$": "$$", "<!--": "-->"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A link with its place in the text: start and end of the whole, and of the path in it as it is written."""

    link: Link
    start: int
    end: int
    path_start: int
    path_end: int


def links_of(body: str, front: Mapping[str, Value]) -> tuple[Link, ...]:
    """The links of a page, those of its front matter first, then in the order of the text; at most MAX_LINKS."""
    found: list[Link] = []
    is_imported = "imported" in front  # what others wrote says nothing about pages here
    for name, value in front.items():
        role = LinkRole.NONE if is_imported else role_of(name)
        found += _role_links(value, role) if role else _property_links(value)
    for spot in spots(body):
        if len(found) >= MAX_LINKS:
            break
        found.append(spot.link)
    return tuple(found[:MAX_LINKS])


def spots(text: str) -> Iterator[Spot]:
    """The links of a text without front matter, with their places."""
    last = max(text.rfind(sign) for sign in _SIGNS)
    if last < 0:
        return
    for start, end in _prose(text):
        if start > last:
            return
        if any(text.find(sign, start, end) >= 0 for sign in _SIGNS):
            yield from _in_prose(text, start, end)


def as_url(path: str) -> str:
    """A path for a markdown link, as Obsidian writes it: what would end the link is encoded, letters of every script
    stay."""
    return "".join(char if char.isalnum() or char in _KEPT_IN_URLS else quote(char) for char in path)


# -- front matter ----------------------------------------------------------------------------------------------------


def _role_links(value: Value, role: LinkRole) -> Iterator[Link]:
    """As `_property_links`, with bare names of pages: a text that is no link."""
    if isinstance(value, str):
        found = next(_property_links(value), None)
        name = " ".join(value.split())
        if found:
            yield replace(found, role=role)
        elif 0 < len(name) <= _MAX_NAME and "[" not in name:
            yield Link(LinkKind.NAMED, name, name, role=role)
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from _role_links(item, role)


def _property_links(value: Value) -> Iterator[Link]:
    """A text is a link if it is nothing else; lists and mappings are looked through."""
    if isinstance(value, str):
        if "[" not in value:  # nearly all, and this is asked of every field of an index
            return
        text = value.strip()
        wiki = _WIKI.fullmatch(text)
        spot = _wiki_spot(wiki, LinkKind.PROPERTY, 0) if wiki else None
        if spot is None and text.startswith("[") and text.endswith(")"):
            spot = next(_in_prose(text, 0, len(text)), None)
            spot = spot if spot and (spot.start, spot.end) == (0, len(text)) else None
        if spot:
            link = spot.link
            yield Link(LinkKind.PROPERTY, link.raw, link.target, link.alias, link.heading, link.block)
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from _property_links(item)


# -- lines -----------------------------------------------------------------------------------------------------------


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of lines that are no code and no block of comment or math; a blank line ends one."""
    begun: int | None = None
    for start, end, is_prose in _lines(text):
        if is_prose:
            begun = start if begun is None else begun
            last = end
        elif begun is not None:
            yield begun, last
            begun = None
    if begun is not None:
        yield begun, last


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Each line, or what of it lies behind a block's end, and whether it is prose."""
    fence = closer = ""
    fence_quoted = False
    after_blank, item = True, 0  # item: column at which the text of the list item begins
    for match in _LINE.finditer(text):
        start, end = match.span()
        if not closer and not fence and ((first := text[start]).isalpha() or first in _AT_MARGIN):
            item = 0 if after_blank else item  # text at the margin: no quote, item, fence or block begins so
            after_blank = False
            yield start, end, True
            continue
        quote = _QUOTE.match(text, start, end)
        inner = text[quote.end() if quote else start : end]
        line = inner.strip()
        if closer:
            at = text.find(closer, start, end)
            if at >= 0:
                yield at + len(closer), end, True
                closer, after_blank = "", False
            continue
        if fence and fence_quoted and not quote:
            fence = ""
        if fence:
            if line.startswith(fence) and not line.strip(fence[0]) and _column(inner) - item < 4:
                fence, after_blank = "", True
            yield start, end, False
            continue
        if not line:
            after_blank = True
            yield start, end, False
            continue
        column = _column(inner)
        if after_blank and column >= item + 4:
            yield start, end, False  # indented code; a blank line before the next doesn't end it
            continue
        marker = _ITEM.match(inner)
        if marker:
            item = _column(inner, marker.end())
        elif after_blank and column < item:
            item = 0
        after_blank = False
        content = line[len(marker.group().strip()) :].lstrip() if marker else line
        if (opened := _FENCE.match(content)) and (marker or column - item < 4):
            fence, fence_quoted = opened.group(), quote is not None
            yield start, end, False
            continue
        mark = next((mark for mark in _SPANS if content.startswith(mark)), "")
        if mark and _SPANS[mark] not in content[len(mark) :]:
            closer = _SPANS[mark]
            yield start, end, False
            continue
        yield start, end, True


def _column(text: str, length: int | None = None) -> int:
    """Width of the white space that a line begins with, or of its first characters; a tab goes to the next fourth."""
    head = text[: len(text) - len(text.lstrip(" \t"))] if length is None else text[:length]
    return len(head.expandtabs(4))


# -- prose -----------------------------------------------------------------------------------------------------------


def _in_prose(text: str, start: int, end: int) -> Iterator[Spot]:
    opened: list[int] = []  # where brackets began that are still open
    unclosed: set[str] = set()  # marks that have no end from here on
    position = start
    while token := _TOKEN.search(text, position, end):
        mark, position = token.group(), token.end()
        if mark[0] in "\\<" and mark != "<!--":
            continue
        if mark[0] == "`" or mark in _SPANS:
            if mark not in unclosed:
                behind = _behind(text, mark, position, end)
                position = behind or position
                unclosed |= set() if behind else {mark}
        elif mark == "$":
            math = _MATH.match(text, position, end)
            position = math.end() if math else position
        elif mark.endswith("[["):
            wiki = _WIKI.match(text, position - 2, end)
            if wiki is None:
                opened += [token.start(), position - 1]
                continue
            position = wiki.end()
            spot = _wiki_spot(wiki, LinkKind.EMBED if mark[0] == "!" else LinkKind.WIKI, token.start())
            if spot:
                yield spot
        elif mark.endswith("["):
            opened.append(token.start())
        elif opened:
            begun = opened.pop()
            dest = _DEST.match(text, position, end) if mark == "](" else None
            if dest:
                position = dest.end()
                spot = _markdown_spot(text, begun, token.start(), dest)
                if spot:
                    yield spot


def _behind(text: str, mark: str, position: int, end: int) -> int | None:
    """Where a span that begins with this mark is over, or None if nothing ends it."""
    if mark[0] != "`":
        at = text.find(_SPANS[mark], position, end)
        return at + len(_SPANS[mark]) if at >= 0 else None
    found = re.compile(rf"(?<!`){mark}(?!`)").search(text, position, end)
    return found.end() if found else None


def _wiki_spot(match: re.Match[str], kind: LinkKind, start: int) -> Spot | None:
    inside = match.group(1)
    pipe = _PIPE.search(inside)
    whole, alias = (inside[: pipe.start()], inside[pipe.end() :]) if pipe else (inside, "")
    path, hash_sign, part = whole.partition("#")
    if not path.strip() and not part.strip():
        return None
    raw = match.string[start : match.end()]
    heading, block = _within(part if hash_sign else "")
    link = Link(kind, raw, path.strip(), alias.strip(), heading, block)
    return Spot(link, start, match.end(), match.start(1), match.start(1) + len(path))


def _markdown_spot(text: str, start: int, label_end: int, dest: re.Match[str]) -> Spot | None:
    which = 1 if dest.group(1) is not None else 2
    written = dest.group(which)
    path, _, part = written.partition("#")
    if not written or _ELSEWHERE.match(written) or not (path.strip() or part.strip()):
        return None
    is_embed = text.startswith("!", start)
    label = text[start + 1 + is_embed : label_end]
    heading, block = _within(unquote(part))
    kind = LinkKind.EMBED if is_embed else LinkKind.MARKDOWN
    link = Link(kind, text[start : dest.end()][:_MAX_RAW], unquote(path), " ".join(label.split()), heading, block)
    return Spot(link, start, dest.end(), dest.start(which), dest.start(which) + len(path))


def _within(part: str) -> tuple[str, str]:
    """Heading or block of a link's part behind `#`."""
    part = part.strip()
    return ("", part[1:]) if part.startswith("^") else (part, "")
