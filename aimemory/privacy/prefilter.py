"""Which patterns can a text call for at all? Most texts call for none, so nearly all time is spent here.

Vendors' prefixes stand in runs of token characters, and long runs are a small part of any text: they are looked for
there only. The other literals are looked for together, by a sign that several of them contain. Whatever is said here is
a superset of what matches, so a text is treated the same whether it is asked alone or within a longer one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from aimemory.privacy import assignment, pem, tags
from aimemory.privacy.commands import COMMANDS
from aimemory.privacy.contexts import CONTEXTS
from aimemory.privacy.encoded import ENCODED
from aimemory.privacy.patterns import VENDORS, Row
from aimemory.privacy.rules import RuleSet

ROWS: tuple[Row, ...] = (*VENDORS, *CONTEXTS, *COMMANDS, *ENCODED)
"""All rows; vendors first, since they name what they found more exactly."""

_RUN = rb" [^ ]{16,}"
"""A run, with the space before it, over bytes in which all but token characters are spaces."""
_TOKEN_BYTES = bytes(c if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_-.") else 32 for c in range(256))
_RUNS = tuple((literal, i) for i, row in enumerate(ROWS) if row.scope == "run" for literal in row.literals)
_HINTED = tuple(i for i, row in enumerate(ROWS) if not row.literals)
_OTHERS = tuple((literal, i) for i, row in enumerate(ROWS) if row.scope != "run" for literal in row.literals)
_SIGNS = "-:=/"
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
        assigned=next(assignment.leads(low, 0), None) is not None,
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
        assigned=among.assigned and next(assignment.leads(low, 0), None) is not None,
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
    words = b" " + text.encode("utf-8", "surrogatepass").translate(_TOKEN_BYTES)
    joined = b"".join(re.findall(_RUN, words)).decode("ascii")
    if joined:
        found: set[str] = set()
        gate, at = re.compile(_GATE), 0
        while (m := gate.search(joined, at)) is not None:
            found.add(m[0])
            at = m.start() + 1
        for literal in found:
            yield from _RUNS_WITH[literal]
        yield from (i for i in _HINTED if re.search(ROWS[i].hint, joined))


def _other_rows(text: str, low: str) -> Iterator[int]:
    for literals, pattern in _CUES:
        if re.search(pattern, low):
            yield from (i for i in literals if _calls(ROWS[i], text, low))
    for literal, rows in _WITHOUT_SIGN.items():
        if literal in low:
            yield from (i for i in rows if _calls(ROWS[i], text, low))


def _gate(literals: dict[str, bool]) -> str:
    """One pattern for all literals, branching letter by letter: much faster than one search for each.

    literals: each with whether it must stand at an edge. In joined runs an edge is a space or sign before the literal,
    or what an escape leaves behind (` n`, ` 3D`, ` 32m`).
    """

    def branch(size: int, among: list[str]) -> str:
        begun = next((literal for literal in among if len(literal) == size), None)
        if begun is not None and not literals[begun]:
            return ""
        nexts: dict[str, list[str]] = {}
        for literal in among:
            if len(literal) > size:
                nexts.setdefault(literal[size], []).append(literal)
        options = [re.escape(c) + branch(size + 1, those) for c, those in nexts.items()]
        if begun is not None:
            back = "." * size
            options += [
                rf"(?<=[ _.-]{back})",
                rf"(?<= [nrtm]{back})",
                rf"(?<=[0-9]m{back})",
                rf"(?<= [0-9A-Fa-f]{{2}}{back})",
            ]
        return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"

    return branch(0, list(literals))


def _cue(sign: str) -> tuple[tuple[int, ...], str]:
    """The rows whose literals contain the sign, and one pattern over lowered text for all those literals.

    The sign stands first in it, since the engine finds one character fast.
    """
    mine = [(literal.lower(), i) for literal, i in _OTHERS if _sign_of(literal) == sign]
    options = []
    for literal in dict.fromkeys(literal for literal, _ in mine):
        before, _, behind = literal.partition(sign)
        options.append((f"(?<={re.escape(before + sign)})" if before else "") + re.escape(behind))
    return tuple(dict.fromkeys(i for _, i in mine)), re.escape(sign) + f"(?:{'|'.join(options)})"


def _sign_of(literal: str) -> str | None:
    return next((sign for sign in _SIGNS if sign in literal), None)


_GATE = _gate({literal: ROWS[i].at_edge for literal, i in _RUNS})
_RUNS_WITH = {found: tuple(i for literal, i in _RUNS if literal in found) for found, _ in _RUNS}
"""By what the gate found: the rows with a literal that is that, or lies in it."""
_CUES = tuple(_cue(sign) for sign in _SIGNS)
_WITHOUT_SIGN = {
    literal.lower(): tuple(i for other, i in _OTHERS if other == literal)
    for literal, _ in _OTHERS
    if _sign_of(literal) is None
}
