"""Statements of ranking: what each signal says of which rows, when rows happened, and what lies around an event.

As in `search`, expressions come from `recall.query` and bm25 comes out positive.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aimemory.index.feedback import STANDING
from aimemory.index.read import Plan, Statement
from aimemory.index.search import KEY, Scope, Table, within
from aimemory.index.typed import outdated

ROWS = 200
"""Best rows of each signal that take part; a row beyond has no share of it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One signal of a query. name: the signal's. fts: the full-text table. match: for it. weights: bm25's, or none.

    from_row: lower row numbers are left out. limit: how many rows.
    """

    name: str
    fts: str
    match: str
    weights: str = ""
    from_row: int = 0
    limit: int = ROWS


def signals(table: Table, asks: Sequence[Ask], scope: Scope) -> Plan[dict[str, dict[int, float]]]:
    """Of each signal the best rows within a scope with their bm25, best first; one statement for all."""
    join, where, params = within(table, scope)
    parts: list[str] = []
    values: list[object] = []
    for number, ask in enumerate(asks):
        weights = f", {ask.weights}" if ask.weights else ""
        parts.append(
            f"""select * from (select {number}, f.rowid r, -bm25({ask.fts}{weights}) v from {ask.fts} f {join}
            where {ask.fts} match ? {"and f.rowid >= ?" if ask.from_row else ""} {where}
            order by v desc, r desc limit ?)"""
        )
        values += [ask.match, *((ask.from_row,) if ask.from_row else ()), *params, ask.limit]
    found: dict[str, dict[int, float]] = {ask.name: {} for ask in asks}
    if parts:
        names = [ask.name for ask in asks]
        for number, row, value in (yield Statement(" union all ".join(parts), values)):
            found[names[number]][row] = value
    return found


@dataclass(frozen=True, slots=True)
class Standing:
    """When a row happened, in nanoseconds since 1970, and whether something newer took its place.

    who: of an event its tool, agent and kind, as recorded. said: of a page what readers say of it, one verdict a voice,
    each with whether it was said of the text that stands. kind: of a page. is_pinned: is a page tagged so?
    """

    at_ns: int
    is_superseded: bool
    who: str = ""
    said: tuple[tuple[str, bool], ...] = ()
    kind: str = ""
    is_pinned: bool = False


def standings(table: Table, rows: Iterable[int]) -> Plan[dict[int, Standing]]:
    """Of the rows that are there."""
    columns = (
        f"t.date_ns, {outdated('t')}, '', {STANDING}, t.kind, {PINNED}"
        if table == "page"
        else "t.at, 0, coalesce(t.tool, '') || ' ' || t.harness || ' ' || t.kind, '[]', '', 0"
    )
    found = yield Statement(
        f"select t.{KEY[table]}, {columns} from json_each(?) j cross join {table} t on t.{KEY[table]} = j.value",
        (json.dumps(list(rows)),),
    )
    return {
        row: Standing(at_ns or 0, bool(old), who, _said(said), kind, bool(pinned))
        for row, at_ns, old, who, said, kind, pinned in found
    }


PINNED = """(t.tags like '%pinned%'
    and exists (select 1 from json_each(t.tags) where value in ('pinned', '#pinned')))"""


def supporters(rows: Sequence[int]) -> Plan[dict[int, int]]:
    """How many sessions wrote these pages, of those that any did."""
    found = yield Statement(
        """select p.n, count(distinct l.session) from json_each(?) j join page p on p.n = j.value
            join page_line l on l.path = p.path
        where l.session is not null and l.op not in ('delete', 'add') group by p.n""",
        (json.dumps(list(rows)),),
    )
    return dict(found)


def _said(found: str) -> tuple[tuple[str, bool], ...]:
    return () if found == "[]" else tuple((verdict, bool(current)) for verdict, current in json.loads(found))


def stretches(rows: Sequence[int], reach: int) -> Plan[list[tuple[int, list[int]]]]:
    """Each event with the events of its session around it, itself in the middle, in the order of their time.

    reach: how many before and after. Events without text and those before a tool ran, which say the same as the one
    after, don't count.
    """
    around = f"""select json_group_array(seq) from (select seq from observation n
        where n.session = o.session and n.kind <> 'pre-tool' and n.text <> '' and %s limit {int(reach)})"""
    before = around % "(n.at, n.seq) < (o.at, o.seq) order by n.at desc, n.seq desc"
    after = around % "(n.at, n.seq) > (o.at, o.seq) order by n.at, n.seq"
    found = yield Statement(
        f"select o.seq, ({before}), ({after}) from json_each(?) j join observation o on o.seq = j.value",
        (json.dumps(list(rows)),),
    )
    return [(row, [*reversed(json.loads(left)), row, *json.loads(right)]) for row, left, right in found]


def rows_of(table: Table, matches: Sequence[str]) -> Plan[list[list[int]]]:
    """All rows that each expression matches, without ranking: some 0.1 µs a row."""
    out: list[list[int]] = []
    for some in (matches[i : i + _AT_ONCE] for i in range(0, len(matches), _AT_ONCE)):
        one = f"(select json_group_array(rowid) from {table}_fts where {table}_fts match ?)"
        rows = yield Statement(f"select {', '.join([one] * len(some))}", tuple(some))
        out.extend(json.loads(found) for found in rows[0])
    return out


_AT_ONCE = 40
