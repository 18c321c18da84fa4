"""Three versions of a page to one: what two writers changed, where their changes don't touch. Pure.

Line by line in the body; field by field in the front matter, where the lines of two fields always touch.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher

from aimemory.wiki.frontmatter import split
from aimemory.wiki.lines import unfenced
from aimemory.wiki.nodes import Refused, read_front

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MARKERS = tuple(re.compile(mark) for mark in (r"<{7}(?: .*)?", r"={7}", r">{7}(?: .*)?"))
_MAX_WORK = 2_000_000
"""Pairs of equal lines that a comparison may meet, a second of work or two. Above it nothing is merged."""
_MAX_LINES = 400_000
"""Of two texts together; a few seconds' work."""
_MAX_DEPTH = 40
_DATED = "updated"
"""The field that every writer sets; of two the later counts."""
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class _TooMuch(Exception):
    """Texts that would take too long to compare."""


def merge(base: str, current: str, new: str) -> str | None:
    """`current` with what changed between `base` and `new`; every other byte of it stays.

    None where both changed the same lines, lines next to each other, or the same field in different ways; also where
    the texts are too large and too monotonous to be compared. A change that both made alike is no conflict.
    """
    try:
        merged = _merged_fields(base, current, new)
        return merged if merged is not None else _merged_lines(base, current, new)
    except (_Touching, _TooMuch):
        return None


def keep_form(old: str, new: str) -> str:
    """`new` in the form of `old`: lines that stayed keep their line ends, others get those of most lines; the page ends
    as it did, with or without a line end, and begins with a byte order mark if it did."""
    end = old[len(old.rstrip("\r\n")) :] if old.strip() else "\n"
    mark = "\ufeff" if old.startswith("\ufeff") else ""
    new = mark + new.removeprefix("\ufeff").rstrip("\r\n")
    if "\r" not in old and "\r" not in new:
        return new + end
    before, after = _lines(old), _lines(new)
    usual = _usual_end(before)
    ends = [usual] * len(after)
    try:
        for i, j, count in _matching(before, after):
            for offset in range(count):
                ends[j + offset] = _end_of(before[i + offset]) or usual
    except _TooMuch:  # the usual line end everywhere
        pass
    return "".join(line.rstrip("\r\n") + ends[n] for n, line in enumerate(after)).rstrip("\r\n") + end


def has_conflict_markers(text: str) -> bool:
    """Whether git left both sides of a conflict in this text; what stands in fenced code only speaks of them."""
    if "<<<<<<<" not in text:
        return False
    marks = iter(_MARKERS)
    mark = next(marks)
    for _, line in unfenced(text):
        if mark.fullmatch(line.rstrip("\r\n")):
            found = next(marks, None)
            if found is None:
                return True
            mark = found
    return False


def appended(raw: bytes, addition: str) -> bytes:
    """A page with a text added at its end, after an empty line; not one byte of the page itself changes.

    The addition takes the page's encoding (UTF-8, or UTF-16 with its mark) and line ends.
    """
    encoding = next((name for mark, name in _UTF16 if raw.startswith(mark)), "utf-8")
    text = raw.decode(encoding, "replace")
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    tail = text[len(text.rstrip("\r\n")) :].count("\n")
    gap = "\n" * max(0, 2 - tail) if text else ""
    return raw + (gap + addition).replace("\r\n", "\n").replace("\n", newline).encode(encoding, "replace")


# -- fields ------------------------------------------------------------------------------------------------------------


class _Touching(Exception):
    """Both changed the same."""


def _merged_fields(base: str, current: str, new: str) -> str | None:
    """None where one of the three has no front matter that can be told apart by fields."""
    parts = [split(text) for text in (base, current, new)]
    fields = [_fields(part.front_text) if part.front is not None and not part.problem else None for part in parts]
    if any(one is None for one in fields):
        return None
    b, c, n = (one for one in fields if one is not None)
    front = "".join(_choose_fields(b, c, n, parts[1].newline))
    body = _merged_lines(parts[0].body, parts[1].body, parts[2].body)
    start = current.index("\n") + 1
    old_front = parts[1].front_text or ""
    fence = current[start + len(old_front) : len(current) - len(parts[1].body)]
    merged = current[:start] + front + fence + body
    again = split(merged)
    if again.front is None or again.problem or again.body != body:
        raise _Touching
    return merged


def _fields(front: str | None) -> dict[str, str] | None:
    """The text of each field with the comments behind it; under "" what stands before the first."""
    if front is None:
        return None
    try:
        doc = read_front(front)
    except Refused:
        return None
    if doc.is_flow or len({entry.key for entry in doc.entries}) < len(doc.entries):
        return None
    starts = [front.rfind("\n", 0, entry.start) + 1 for entry in doc.entries]
    found = {"": front[: starts[0]] if starts else front}
    for entry, start, end in zip(doc.entries, starts, [*starts[1:], len(front)], strict=True):
        found[entry.key] = front[start:end]
    return found


def _choose_fields(base: dict[str, str], current: dict[str, str], new: dict[str, str], newline: str) -> Iterator[str]:
    for key in [*current, *(key for key in new if key not in current)]:
        b, c, n = base.get(key), current.get(key), new.get(key)
        if _same(n, b) or _same(n, c):
            chosen = c
        elif _same(c, b):
            chosen = n
        elif key == _DATED and c and n:
            chosen = max(c, n, key=_moment)
        else:
            raise _Touching
        if chosen:
            yield chosen if chosen == c else chosen.replace("\r\n", "\n").replace("\n", newline)


def _same(one: str | None, other: str | None) -> bool:
    return (one and one.replace("\r\n", "\n").rstrip("\n")) == (other and other.replace("\r\n", "\n").rstrip("\n"))


def _moment(field: str) -> float:
    try:
        return datetime.fromisoformat(field.partition(":")[2].strip().strip("'\"")).timestamp()
    except (ValueError, OverflowError):
        return 0.0


# -- lines -------------------------------------------------------------------------------------------------------------


def _merged_lines(base: str, current: str, new: str) -> str:
    """Raises _Touching, _TooMuch."""
    b, c, n = _lines(base), _lines(current), _lines(new)
    newline = _usual_end(c)
    if newline != _usual_end(b):  # somebody gave the page other line ends: what comes in has them too
        n = [_bare(line) + newline if line.endswith("\n") else line for line in n]
    out: list[str] = []
    at_b = at_c = at_n = 0
    for i, j, k, count in [*_kept_by_both(b, c, n), (len(b), len(c), len(n), 0)]:
        out += _choose(b[at_b:i], c[at_c:j], n[at_n:k])
        for offset in range(count):  # equal but for line ends: who changed one has it
            theirs = c[j + offset]
            out.append(theirs if theirs != b[i + offset] else n[k + offset])
        at_b, at_c, at_n = i + count, j + count, k + count
    return "".join(line if line.endswith("\n") else line + newline for line in out[:-1]) + "".join(out[-1:])


def _choose(base: list[str], current: list[str], new: list[str]) -> list[str]:
    b, c, n = (list(map(_bare, lines)) for lines in (base, current, new))
    if n in (b, c):
        return current
    if c == b:
        return new
    raise _Touching


def _kept_by_both(base: list[str], current: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of base lines that both others still have: places in base, current and new, and how many."""
    left, right = _matching(base, current), _matching(base, new)
    a = b = 0
    while a < len(left) and b < len(right):
        (i, j, many), (k, m, more) = left[a], right[b]
        start, end = max(i, k), min(i + many, k + more)
        if start < end:
            yield start, j + start - i, m + start - k, end - start
        if i + many < k + more:
            a += 1
        else:
            b += 1


def _matching(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    """Runs of lines that are equal but for their line ends: places in both, and how many. Raises _TooMuch."""
    if len(one) + len(other) > _MAX_LINES:
        raise _TooMuch
    found = sorted(_pairs(list(map(_bare, one)), list(map(_bare, other)), 0, 0, _MAX_DEPTH))
    runs: list[tuple[int, int, int]] = []
    for i, j in found:
        if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (i, j):
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((i, j, 1))
    return runs


def _pairs(a: list[str], b: list[str], at: int, to: int, depth: int) -> Iterator[tuple[int, int]]:
    """Lines that both have, in one order: ends first, then lines that are there once (patience), then what is left."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        yield at + head, to + head
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
        yield at + len(a) - tail, to + len(b) - tail
    a, b, at, to = a[head : len(a) - tail], b[head : len(b) - tail], at + head, to + head
    if not a or not b:
        return
    once = _once(a) & _once(b)
    where = {line: j for j, line in enumerate(b) if line in once}
    anchors = _rising([(i, where[line]) for i, line in enumerate(a) if line in once])
    if not anchors:
        counts = Counter(b)
        if sum(counts[line] for line in a) > _MAX_WORK:
            raise _TooMuch
        for i, j, count in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
            yield from ((at + i + n, to + j + n) for n in range(count))
        return
    if depth == 0:
        raise _TooMuch
    last_i = last_j = 0
    for i, j in [*anchors, (len(a), len(b))]:
        yield from _pairs(a[last_i:i], b[last_j:j], at + last_i, to + last_j, depth - 1)
        if i < len(a):
            yield at + i, to + j
        last_i, last_j = i + 1, j + 1


def _once(lines: list[str]) -> set[str]:
    return {line for line, count in Counter(lines).items() if count == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of these pairs that is in order on both sides."""
    ends: list[int] = []
    chain: list[tuple[tuple[int, int], int]] = []  # a pair, and the place in `chain` of the one before it
    tops: list[int] = []
    for pair in sorted(pairs):
        length = bisect_left(ends, pair[1])
        chain.append((pair, tops[length - 1] if length else -1))
        ends[length : length + 1] = [pair[1]]
        tops[length : length + 1] = [len(chain) - 1]
    found: list[tuple[int, int]] = []
    place = tops[-1] if tops else -1
    while place >= 0:
        pair, place = chain[place]
        found.append(pair)
    return found[::-1]


def _usual_end(lines: Sequence[str]) -> str:
    return "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
