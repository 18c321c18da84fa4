"""Which patterns can a text call for at all? Most texts call for none, so nearly all time is spent here.

Vendors' prefixes stand in runs of token characters, and long runs are a small part of any text: they are looked for
there only. The other literals are looked for together, by a rare character that several of them contain. Whatever is
said here is a superset of what matches, so a text is treated the same whether it is asked alone or within a longer one.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from aimemory.privacy import assignment, pem, tags
from aimemory.privacy.commands import COMMANDS
from aimemory.privacy.contexts import CONTEXTS
from aimemory.privacy.encoded import ENCODED
from aimemory.privacy.patterns import VENDORS, Row
from aimemory.privacy.rules import RuleSet
from aimemory.privacy.tools import TOOLS

_Search: TypeAlias = "Callable[..., re.Match[str] | None]"
_Literals: TypeAlias = tuple[tuple[str, int], ...]

ROWS: tuple[Row, ...] = (*VENDORS, *CONTEXTS, *COMMANDS, *TOOLS, *ENCODED)
"""All rows; vendors first, since they name what they found more exactly."""

_TOKEN_SHAPE = bytes(97 if c < 128 and (chr(c).isalnum() or chr(c) in "_-.") else 32 for c in range(256))
_ALNUM_SHAPE = bytes(97 if c < 128 and chr(c).isalnum() else 32 for c in range(256))
_SIGNS_AS_SPACES = bytes.maketrans(b"_-", b"  ")
_RUN, _HINTED_RUN = b"a" * 16, b"a" * 20
"""Shapes: `a` for each token character, or each letter and digit, a space for all others. So one search for one text
finds all runs, looking at every sixteenth byte. Every hint of a row without literals asks for the longer one."""
_RUNS = tuple((literal, i) for i, row in enumerate(ROWS) if row.scope == "run" for literal in row.literals)
_HINTED = tuple(i for i, row in enumerate(ROWS) if not row.literals)
_HINTS = tuple(ROWS[i].hint for i in _HINTED)
_OTHERS = tuple((literal, i) for i, row in enumerate(ROWS) if row.scope != "run" for literal in row.literals)
_ANCHORS = "q/fkgcbu:-p"
"""Rare characters, the best first: each literal that isn't common is looked for by the first of these that it has."""
_SIGNS = ("%", "\\", "&", "~")
_COMMON = ("--", "==", "<<<")
"""Literals that many texts hold, some at every turn: the first place of each is enough. Each is its own pattern."""
_MANY = 50
"""After so many places of a cue its literals are asked for one by one: a text may consist of nothing else."""
_FEW_ROWS = 12
"""Up to so many rows, asking each for its literals is cheaper than gathering the runs."""


class Active(NamedTuple):
    """What a text calls for: indexes of rows whose literal it holds, and whether tags, keys, assignments occur.

    Indexes from `len(ROWS)` on are those of the rule set's own rows.
    """

    rows: tuple[int, ...] = ()
    tags: bool = False
    keys: bool = False
    assigned: bool = False


NOTHING = Active()


def lowered(text: str) -> str:
    """Lower case of the same length: `İ` is the one character whose lower case is longer."""
    return text.lower() if text.isascii() else text.replace("İ", "i").lower()


def everything(rules: RuleSet) -> Active:
    """What to say of a text that nobody has looked at as a whole."""
    rows = tuple(i for i, row in enumerate(ROWS) if rules.wants_row(row))
    own = range(len(ROWS), len(ROWS) + len(rules.extra))
    return Active((*rows, *own), True, rules.wants(pem.KIND), True)


def row_at(i: int, rules: RuleSet) -> Row:
    """The row that an index of `Active.rows` stands for."""
    return ROWS[i] if i < len(ROWS) else rules.extra[i - len(ROWS)]


def active(text: str, rules: RuleSet) -> Active:
    """The patterns that `text` calls for; misses none that could match."""
    low = lowered(text)
    rows = {*_rows_of_runs(text), *_other_rows(text, low)}
    own = [len(ROWS) + n for n, row in enumerate(rules.extra) if _calls(row, text, low)]
    return Active(
        rows=(*sorted(i for i in rows if rules.wants_row(ROWS[i])), *own) if rows or own else (),
        tags=tags.any_tag(low),
        keys="PRIVATE KEY" in text and rules.wants(pem.KIND),
        assigned=assignment.may_assign(low),
    )


def narrowed(text: str, among: Active, rules: RuleSet) -> Active:
    """Those of the patterns in `among` that `text`, a part of what they were found for, calls for."""
    low = lowered(text)
    if len(among.rows) <= _FEW_ROWS:
        rows = [i for i in among.rows if _calls(row_at(i, rules), text, low)]
    else:
        rows = sorted({*_rows_of_runs(text), *_other_rows(text, low)}.intersection(among.rows))
        rows += [i for i in among.rows if i >= len(ROWS) and _calls(row_at(i, rules), text, low)]
    return Active(
        rows=tuple(rows),
        tags=among.tags and tags.any_tag(low),
        keys=among.keys and "PRIVATE KEY" in text,
        assigned=among.assigned and assignment.may_assign(low),
    )


def _calls(row: Row, text: str, low: str) -> bool:
    where = low if row.scope == "low" else text
    for literal in row.literals:  # a loop, since a generator costs more than the search
        if literal in where:
            break
    else:
        if row.literals:
            return False
    return not row.hint or row.scope == "run" or re.search(row.hint, where) is not None


def _rows_of_runs(text: str) -> Iterator[int]:
    raw = text.encode("utf-8", "surrogatepass")
    shape = raw.translate(_TOKEN_SHAPE)
    runs: dict[bytes, None] = {}  # names stand in a program more than once
    at = shape.find(_RUN)
    while at >= 0:
        end = shape.find(b" ", at)
        end = len(raw) if end < 0 else end
        runs[raw[at:end]] = None
        at = shape.find(_RUN, end)
    if runs:
        joined_raw = b" " + b" ".join(runs)
        joined = joined_raw.decode("ascii")
        gate, *backward_gates = _compiled((_GATE, *_BACKWARD_GATES))
        found = _in_gate(gate, joined)
        backward = joined[::-1]
        for gate in backward_gates:
            found.update(literal[::-1] for literal in _in_gate(gate, backward))
        for literal in found:
            yield from _RUNS_WITH[literal]
        if _HINTED_RUN in joined_raw.translate(_ALNUM_SHAPE):
            edged = joined_raw.translate(_SIGNS_AS_SPACES).replace(b".", b". ").decode("ascii")
            hints = zip(_HINTED, _compiled(_HINTS), strict=True)
            yield from (i for i, search in hints if search(edged) is not None)


def _other_rows(text: str, low: str) -> Iterator[int]:
    found = {sign for sign in _SIGNS if sign in low}
    commons = zip(_COMMON, _compiled(_COMMON), strict=True)
    found.update(literal for literal, search in commons if search(low) is not None)
    for search, (_, literals) in zip(_compiled(_CUE_PATTERNS), _CUES, strict=True):
        m, count = search(low), 0
        while m is not None:
            if count == _MANY:
                found.update(literal for literal, _ in literals if literal in low)
                break
            at = m.start()
            found.update(
                literal for literal, before in literals if at >= before and low.startswith(literal, at - before)
            )
            m, count = search(low, m.end()), count + 1
    for literal in found:
        yield from (i for i in _OTHERS_WITH[literal] if _calls(ROWS[i], text, low))


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[_Search, ...]:
    """Kept here and not by `re`, whose look-up costs as much as the search itself in a text of 2 KB."""
    return tuple(re.compile(pattern).search for pattern in patterns)


def _in_gate(search: _Search, joined: str) -> set[str]:
    found: set[str] = set()
    at = 0
    while (m := search(joined, at)) is not None:
        found.add(m[0])
        at = m.start() + 1
    return found


def _gate(literals: dict[str, bool], edge: str) -> str:
    """One pattern for all literals, branching letter by letter: much faster than one search for each.

    literals: each with whether it must stand at an edge. edge: a pattern that says so where a literal has been read; N
    in it stands for the number of its characters.
    """

    def branch(size: int, among: list[str]) -> str:
        begun = next((literal for literal in among if len(literal) == size), None)
        nexts: dict[str, list[str]] = {}
        for literal in among:
            if len(literal) > size:
                nexts.setdefault(literal[size], []).append(literal)
        options = [re.escape(c) + branch(size + 1, those) for c, those in nexts.items()]
        if begun is not None:
            options.append(edge.replace("N", str(size)) if literals[begun] else "")
        return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"

    return branch(0, list(literals))


def _cue(anchor: str, literals: list[str]) -> tuple[str, _Literals]:
    """One pattern for all literals, and each of them with how far before the match it begins.

    The anchor, a character of each, stands first: the engine finds one character ten times as fast as the start of one
    of many words. By the next character it then tells which literal is worth looking behind for.
    """
    options = []
    for literal in literals:
        before, _, behind = literal.partition(anchor)
        options.append(re.escape(behind) + (f"(?<={re.escape(literal)})" if before else ""))
    return f"{re.escape(anchor)}(?:{'|'.join(options)})", tuple(
        (literal, literal.index(anchor)) for literal in literals
    )


def _cues() -> Iterator[tuple[str, _Literals]]:
    by_anchor: dict[str, list[str]] = {}
    for literal in _OTHERS_WITH:
        if literal not in _SIGNS and literal not in _COMMON:
            anchor = next(char for char in _ANCHORS if char in literal)
            by_anchor.setdefault(anchor, []).append(literal)
    return (_cue(anchor, literals) for anchor, literals in by_anchor.items())


_AT_EDGE = {literal: ROWS[i].at_edge for literal, i in _RUNS}
_GATE = _gate(
    {literal: at_edge for literal, at_edge in _AT_EDGE.items() if literal[-1] not in "_-."},
    "(?:(?<=[ _.-].{N})|(?<= [nrtm].{N})|(?<=[0-9]m.{N})|(?<= [0-9A-Fa-f]{2}.{N}))",
)
_BACKWARD_GATES = tuple(
    _gate(
        {literal[::-1]: at_edge for literal, at_edge in _AT_EDGE.items() if literal[-1] == sign},
        "(?:(?=[ _.-])|(?=[nrtm] )|(?=m[0-9])|(?=[0-9A-Fa-f]{2} ))",
    )
    for sign in "_-."
)
"""Most literals end in a sign, which is rare in runs: read backwards, the engine stops at those signs alone.

In joined runs an edge is a space or sign before the literal, or what an escape leaves behind (` n`, ` 3D`, ` 32m`).
"""
_RUNS_WITH = {found: tuple(i for literal, i in _RUNS if literal in found) for found, _ in _RUNS}
"""By what the gate found: the rows with a literal that is that, or lies in it."""
_OTHERS_WITH = {
    literal: tuple(dict.fromkeys(i for other, i in _OTHERS if other.lower() == literal))
    for literal in dict.fromkeys(literal.lower() for literal, _ in _OTHERS)
}
_CUES = tuple(_cues())
_CUE_PATTERNS = tuple(pattern for pattern, _ in _CUES)
