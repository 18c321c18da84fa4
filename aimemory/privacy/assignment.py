"""Secrets by context: a name that announces one, something that assigns, and a value that could be one.

Covers `.env`, `export`, `docker -e`, YAML, JSON (escaped too), XML, INI, connection strings, query strings, headers,
code, name/value pairs and prose. Finds the name by one pattern over lowered text; reads the rest from the text itself.
"""

import re
from collections.abc import Iterator
from functools import cache

from aimemory.privacy.judge import (
    FOREIGN_STEMS,
    LOOSE_STEMS,
    RARE_STEMS,
    RARE_WORDS,
    STEM_OFFSETS,
    STEMS,
    SUFFIX,
    WORDS,
    Place,
    hopeless,
    is_scheme,
    place_of,
    secret_part,
)
from aimemory.privacy.spans import Span
from aimemory.privacy.values import is_type_name

_CLOSE = r"(?:\\{0,3}[\"'`\]]|&quot;|&#3[49];|\*\*){0,3}"
_TYPE = r"(?:(?:optional\[)?(?:str|string|bytes|&(?:'static )?str)\]?(?: ?\| ?none)?[ \t]{0,4}=(?!=)[ \t]{0,4})?"
_FOR_WORDS = "for|of|on|to|für|von|vom|zum|zur|zu|de|du|para|per|del|della|da|do|voor|för|til|от|для|к"
_FOR = rf"(?:[ ](?:{_FOR_WORDS})(?:[ ][^\s:=]{{1,24}}){{1,5}}?)?"
_IS = r"[ \t]{1,4}(?:is|was|ist|war|lautet|est|es|è|é|är|er|jest|equals)(?::|[ \t])[ \t]{0,4}"
_PAIR = (
    r"[,;]?\s{0,24}[+-]?\s{0,24}(?:\\{0,3}[\"'])?value(?:\\{0,3}[\"'])?"
    r"[ \t]{0,4}[:=][ \t]{0,4}"
)
_COPULA = r"[ \t]{0,2}(?:就是|设置为|设为|改为|是|为|為|は|は、|는|은)[ \t：:]{0,4}"
_TAG = r"(?:\\{0,3}[\"'])?>"
_CALL = r"\\{0,3}[\"'] ?, ?(?=\\{0,3}[\"'])|\((?=\\{0,3}[\"'])"
_WIDE_GAP = r"[ \t]{1,4}(?=[`\"']?[!-&*-~]{0,24}[0-9])(?=[`\"']?[!-~]{12})"
SCAN = (
    rf"(?P<name>{WORDS}{SUFFIX})(?:"
    rf"{_CLOSE}[ \t]{{0,8}}(?P<sign>=>|:=|={{1,3}}|%3[ad]|：|＝|:(?![:=]))(?:\*\*)?[ \t]{{0,8}}{_TYPE}"
    rf"|(?P<pair>{_CLOSE}{_PAIR})"
    rf"|(?P<tag>{_TAG})"
    rf"|(?P<prose>{_CLOSE}{_FOR}(?:{_IS}"
    rf"|[ \t]{{0,2}}[:：][ \t]{{1,4}}"
    rf"|{_COPULA}))"
    rf"|(?P<call>{_CALL})"
    rf"|(?P<gap>{_WIDE_GAP})"
    r"|(?P<end>[ \t]{0,4}(?:\n|\Z))"
    r")"
)
"""A secret's name and what leads from it to the value. Over lowered text; never wider than `spans.MARGIN`."""


def _by_letter(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Those that begin with the same letter joined into one, so that the text is gone through once for each letter."""
    rests: dict[str, list[str]] = {}
    for pattern in patterns:
        rests.setdefault(pattern[0], []).append(pattern[1:])
    return tuple(rf"{letter}(?:{'|'.join(those)})" for letter, those in rests.items())


_NEXT_WORD = r"(?! (?:[abcghkmnqrsuxy][a-z]*+|[a-z]{7,}+)[ \n])"
"""Not just the next word of a sentence. Those of `_FOR`, `_IS` and `_PAIR` begin with other letters and are shorter."""
_LEADS_ON = (
    rf"{_NEXT_WORD}(?:{_CLOSE}(?:[ \t]{{0,8}}(?:=|:|%3[ad]|：|＝)|{_PAIR}"
    rf"|{_FOR}(?:{_IS}|[ \t]{{0,2}}[:：][ \t])|{_COPULA})|{_TAG}|{_CALL}|{_WIDE_GAP})"
)
_REST_OF_NAME = r"[a-z0-9_-]{0,40}+"
GATES = _by_letter((*(rf"{stem}{_REST_OF_NAME}{_LEADS_ON}" for stem in STEMS), *LOOSE_STEMS))
"""One of these matches wherever SCAN finds more than a name at the end of a line.

Each begins with a letter of its own: the engine goes through text for one letter ten times as fast as for one of four.
Most names in prose and programs lead to nothing, and that is seen here without a step of Python for each. What SCAN
takes for the rest of a name, and the `-value` of a pair, is never longer than `_REST_OF_NAME`.
"""
_NAMES_AT_END = tuple(rf"{stem}{_REST_OF_NAME}[ \t]{{0,4}}(?:\n|\Z)" for stem in STEMS)

_NAMED_BY = r"(?i)\b(?:key|name)=\\{0,3}[\"']\Z"
_SETTER = r"(?i)(?:\bsetx|\bsetenv|\bset -g?xg?) [\"']?\Z|tvariable\([\"']\Z"
_LOOSE = ("call", "gap")
_OPEN_QUOTE = r"[rbufRBUF]{0,2}(\\{0,3}(?:\"\"\"|[\"'`])|&quot;|&#3[49];|\*\*)"
_BARE = (
    r"(?:[^\s\"'`<>&;,)\]}|\\\uFFFD\x1b\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uffef]|\\(?![nrtu\"'\\])"
    r"|&(?!\w{1,40}=|quot;|lt;|gt;|amp;|#\d|&|\s)"
    r"|[;,](?!\s|[\"'`]|\w{1,40} ?[=:]|\Z)"
    r"|[)\]}|](?=[^\s\"'`,;)\]}|.:]))+"
)
_ASCII_STEMS = _by_letter((*STEMS, *LOOSE_STEMS))
_ALL_STEMS = (*_ASCII_STEMS, *FOREIGN_STEMS)
_NO_VALUE = frozenset("$<{([%=|)]};, \t\r\n") | {""}
"""What a value never begins with: holes for values, operators, ends. Most names in programs are followed by one."""
_QUOTED_MOST = 4096
_BARE_MOST = 64
"""An unquoted value is judged by so many characters; if it is a secret, it goes on to its end."""
_NO_NAME = r"[^A-Za-z0-9_.-]"
_FIRST_WORD = r"(?i:api|access|secret|private|encryption|signing|license) (?!\n)"
_GAP = r"[ \t]{1,4}"
_LINE_LEAD = r"(?i)[ \t]*(?:[-*#>+$|]\s*|//\s*|export\s+|set\s+|env\s+|\d+[\t→:]\s*)*[\"']?\Z"
_SENTENCE = r"(?:\A|\n|\\n|[.,;:!?] )[ \t]*(?:[^\W\d_]{1,20}[ '’]){1,6}\Z"
"""What stands before a name in the middle of a sentence (`mein Passwort: …`): nothing but words."""
_LINE_REST = r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\\n|\\r|\Z)"


def may_assign(low: str) -> bool:
    """Whether lowered text may hold a name that leads to a value; says yes wherever there is one."""
    return any(gate.search(low) for gate in _compiled(GATES)) or _may_be_foreign(low)


def may_name(low: str) -> bool:
    """Whether one of the texts, each in a line of its own, may end in a name, as keys of JSON do. To be asked where
    `may_assign` says no."""
    return any(name.search(low) for name in _compiled(_NAMES_AT_END))


def _may_be_foreign(low: str) -> bool:
    return any(stem.search(low) for stem in _compiled(RARE_STEMS if low.isascii() else FOREIGN_STEMS))


@cache
def _compiled(patterns: tuple[str, ...]) -> "tuple[re.Pattern[str], ...]":
    """Kept here and not by `re`, whose look-up costs as much as the search itself in a text of 2 KB."""
    return tuple(re.compile(pattern) for pattern in patterns)


def leads(low: str, at: int) -> "Iterator[re.Match[str]]":
    """Matches of SCAN in `low` from `at` on; a caller may go on elsewhere with a new call."""
    rare = not low.isascii() or any(word in low for word in RARE_WORDS)
    scan = re.compile(SCAN)
    # stem by stem, since the engine goes through text for one letter ten times as fast as for one of many
    stems = sorted(
        (m.start(), m[0]) for stem in _compiled(_ALL_STEMS if rare else _ASCII_STEMS) for m in stem.finditer(low, at)
    )
    for start, stem in stems:
        if start < at:
            continue
        lead = scan.match(low, start - STEM_OFFSETS.get(stem, 0))
        if lead is not None:
            yield lead
        at = lead.end() if lead else start + len(stem)


def assigned(text: str, low: str, base: int, start: int, stop: int) -> tuple[list[Span], int]:
    """Secrets announced by a name that begins in `[start, stop)` of `text`, and where to read on.

    low: lowered text of the same length as `text[base:base + len(low)]`, reaching `spans.MARGIN` beyond `stop`.
    """
    found: list[Span] = []
    read = start
    for lead in leads(low, start - base):
        if base + lead.start() >= stop:
            break
        if base + lead.start() < read:
            continue
        read = base + lead.end()
        span = None if lead.lastgroup == "end" else _judged(text, base, lead)
        if span is not None:
            found.append(span)
            read = max(read, span.end)
    return found, max(stop, read)


def _judged(text: str, base: int, m: "re.Match[str]") -> Span | None:
    word_end, value_at = base + m.end("name"), base + m.end()
    if text[value_at : value_at + 1] in _NO_VALUE:
        return None
    first = _name_start(text, base + m.start())
    place = place_of(text[first:word_end])
    before = text[max(0, first - 10) : first]
    if (
        place is None
        or "[redacted:" in before
        or before.endswith("::")
        or (m.lastgroup == "tag" and not _opens_element(before, m["tag"]))
        or (m["call"] == "(" and "." not in text[first : base + m.start() + 1])
    ):
        return None
    quote = re.compile(_OPEN_QUOTE).match(text, value_at)
    if quote is None:
        return _bare_span(text, place, first, value_at, base, m)
    if before.endswith(quote[1]) and quote[1] not in text[word_end:value_at]:
        return None  # this quote ends the string that the name stands in (`"api_key=" + name`)
    content = _quoted(text, quote)
    if content is None:
        return _bare_span(text, place, first, quote.end(), base, m)
    if not content or content[0] in " +,);:]}" or m.lastgroup == "tag":
        return None
    sets = _sets_variable(before)
    loose = m.lastgroup in _LOOSE and not (sets or text.startswith("-", first))
    return _span(place._replace(quoted=not sets, env=sets, loose=loose), content, quote.end())


def _sets_variable(before: str) -> bool:
    """A command for environment variables stands before the name: nothing but a value follows it."""
    return re.search(_SETTER, before) is not None


def _opens_element(before: str, tag: str) -> bool:
    """`<name>`, `<x:name>`, or `key="name">`: what follows is the value."""
    if len(tag) == 1:
        return before[-1:] in ("<", ":")
    return re.search(_NAMED_BY, before) is not None


def _bare_span(text: str, place: Place, first: int, start: int, base: int, m: "re.Match[str]") -> Span | None:
    sign = m["sign"] or ""
    end = _bare_end(text, start, place)
    if end == start or sign.startswith("==") or (sign == "=>" and place.rank < 3):
        return None
    value, after = text[start:end], text[end : end + 4]
    tight = sign in ("=", "%3d") and base + m.end("sign") == start
    if tight:
        name = text[first : base + m.end("name")]
        place = place._replace(env=name.isascii() and name.isupper())
    if hopeless(value, place):
        return None
    place = place._replace(
        literal=tight
        or m.lastgroup in ("tag", "pair")
        or (re.compile(_LINE_REST).match(text, end) is not None and _leads(text, first)),
        prose=m.lastgroup == "prose",
        loose=m.lastgroup in _LOOSE,
    )
    if place.rank == 3 and not place.literal and sign in (":", "：") and not is_type_name(value):
        ends = re.compile(_LINE_REST).match(text, end) is not None
        place = place._replace(prose=ends and re.search(_SENTENCE, text[max(0, first - 60) : first]) is not None)
    if m.lastgroup == "gap" and _sets_variable(text[max(0, first - 10) : first]):
        place = place._replace(env=True, loose=False)
    span = _span(place, value.rstrip(".,:;。，!?" if place.prose else ".,:;"), start, after)
    if span is not None and end - start >= _BARE_MOST:
        rest = re.compile(_BARE).match(text, end)
        return span if rest is None else span._replace(end=rest.end())
    return span


def _bare_end(text: str, start: int, place: Place) -> int:
    """End of an unquoted value; behind a scheme (`Bearer xyz`) it is two words."""
    bare = re.compile(_BARE).match(text, start, start + _BARE_MOST)
    if bare is None:
        return start
    if place.rank == 2 and is_scheme(bare[0]):
        gap = re.compile(_GAP).match(text, bare.end())
        second = re.compile(_BARE).match(text, gap.end(), gap.end() + _BARE_MOST) if gap else None
        return second.end() if second else bare.end()
    return bare.end()


def _span(place: Place, value: str, start: int, after: str = "") -> Span | None:
    part = secret_part(value, place, after)
    return Span(start + part[0], start + part[1], place.kind) if part else None


def _name_start(text: str, at: int) -> int:
    backwards = text[max(0, at - 48) : at][::-1]
    end = re.search(_NO_NAME, backwards)
    at -= end.start() if end else len(backwards)
    if text[at - 1 : at] == " " and (spaced := re.compile(_FIRST_WORD).search(text, max(0, at - 12), at)):
        return spaced.start()
    return at


def _quoted(text: str, quote: "re.Match[str]") -> str | None:
    """What stands between the quote and its partner on the same line, or None without one."""
    mark, start = quote[1], quote.end()
    end = text.find(mark, start, start + _QUOTED_MOST)
    while end > start and len(mark) == 1 and text[end - 1] == "\\" and text[end - 2] != "\\":
        end = text.find(mark, end + 1, start + _QUOTED_MOST)
    if end < 0 or "\n" in text[start:end]:
        return None
    return text[start:end]


def _leads(text: str, first: int) -> bool:
    """Only indentation, a list mark, `export` and the like stand before the name on its line."""
    line = text[max(0, first - 40) : first]
    line = re.split(r"\n|\\n", line)[-1]
    return re.match(_LINE_LEAD, line) is not None
