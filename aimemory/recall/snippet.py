"""What of a text to show for a query, and which of the query's words it has. Pure; texts are short (≤ 64 KiB)."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice

SNIPPET_CHARS = 240
_LEAD_CHARS = 40
_PLACES = 40
_SHORT_WORD = 3

_LINE_MARKS = re.compile(r"(?m)^[ \t]*(?:#{1,6}|[-*+>]|\d+[.)])[ \t]+")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


class _OneForOne(dict[int, str]):
    """Folds character by character, so that positions in the folded text are positions in the text."""

    def __missing__(self, code: int) -> str:
        folded = unicodedata.normalize("NFKD", chr(code).casefold())[:1] or chr(code)
        if "\u3041" <= chr(code) <= "\u30ff" or "\uac00" <= chr(code) <= "\ud7a3":
            folded = chr(code)  # kana with dakuten and Hangul syllables are letters of their own
        self[code] = folded
        return folded


def folded(text: str) -> str:
    """The text in one spelling, character by character: as long as the text, for `places`."""
    return text.lower() if text.isascii() else text.translate(_OneForOne())


def find_start(low: str, start: str, begin: int = 0) -> int:
    """Where a word that begins so stands in a folded text, or -1; a short start must be the whole word or its plural.

    Falls back to the inside of a longer word for starts of four characters and more.
    """
    at = low.find(start, begin)
    inside = -1
    while at >= 0:
        end = at + len(start)
        if at == 0 or not (low[at - 1].isalnum() and low[at - 1].isascii()):
            if len(start) > _SHORT_WORD or not start.isascii() or _ends_word(low, end):
                return at
        elif inside < 0 and len(start) > _SHORT_WORD:
            inside = at
        at = low.find(start, end)
    return inside


def words_in(text: str, starts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Which of the query's words a text has, as typed, in the query's order."""
    low = folded(text)
    return tuple(dict.fromkeys(shown for start, shown in starts if find_start(low, start) >= 0))


def snippet(text: str, starts: Sequence[tuple[str, str]], limit: int = SNIPPET_CHARS) -> str:
    """The part of a text with the most different words of the query, the earliest of equals; without any, its start.

    Plain text on one line, at most `limit` characters, cut at spaces where there are any, `…` where something is left
    out.
    """
    return passage(text, starts, limit)[0]


def passage(text: str, starts: Sequence[tuple[str, str]], limit: int = SNIPPET_CHARS) -> tuple[str, int | None]:
    """As `snippet`, with where in the text its words stand closest together; None where the text has none of them."""
    low = folded(text)
    places: list[tuple[int, int]] = []
    common: list[int] = []
    for number, (start, _) in enumerate(starts):
        found = list(islice(_places_of(low, start, 0, len(low)), _PLACES + 1))
        if len(found) > _PLACES:
            common.append(number)
        places += [(at, number) for at in found[:_PLACES]]
    if common and len(common) == len({number for _, number in places}):
        common.remove(min(common, key=lambda number: low.count(starts[number][0])))
    if common:  # a word that is everywhere counts where a rarer one stands too
        near = {at // limit for at, number in places if number not in common}
        for number in common:
            for part in sorted({n + step for n in near for step in (-1, 0, 1) if n + step >= 0})[:_PLACES]:
                around = _places_of(low, starts[number][0], part * limit, (part + 1) * limit)
                places += [(at, number) for at in islice(around, 2)]
    best = _best_begin(sorted(places), limit)
    return (_cut(text, best[0], limit), best[1]) if best else (_cut(text, 0, limit), None)


def _places_of(low: str, start: str, begin: int, end: int) -> Iterator[int]:
    at = find_start(low, start, begin)
    while 0 <= at < end:
        yield at
        at = find_start(low, start, at + len(start))


def _ends_word(low: str, end: int) -> bool:
    rest = low[end : end + 2]
    return not rest[:1].isalnum() or (rest[:1] == "s" and not rest[1:].isalnum())


def _best_begin(places: list[tuple[int, int]], limit: int) -> tuple[int, int] | None:
    """Where the part with the most different words begins, and where in it the last stretch with all of them does."""
    span = limit - _LEAD_CHARS
    best, most = 0, 0
    for i, (begin, _) in enumerate(places):
        different = len({number for at, number in places[i : i + _PLACES] if at < begin + span})
        if different > most:
            best, most = i, different
    if not most:
        return None
    begin = places[best][0]
    part = [place for place in places[best : best + _PLACES] if place[0] < begin + span]
    while most > 1 and len({number for _, number in part[1:]}) == most:
        part.pop(0)
    return begin, part[0][0]


def _cut(text: str, at: int, limit: int) -> str:
    begin = max(0, at - _LEAD_CHARS)
    if begin:
        space = text.find(" ", begin, at)
        begin = space + 1 if space >= 0 else begin
    part = text[begin : begin + 2 * limit]
    plain = _SPACE.sub(" ", _LINE_MARKS.sub("", part)).strip()
    more_before, more_after = begin > 0, begin + len(part) < len(text) or len(plain) > limit
    room = limit - 2 * more_before - 2 * more_after
    if len(plain) > room:
        space = plain.rfind(" ", room - _LEAD_CHARS, room + 1)
        plain = plain[: space if space > 0 else room].rstrip()
    return ("… " if more_before else "") + plain + (" …" if more_after else "")
