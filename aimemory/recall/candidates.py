"""Which words of a query choose the rows that are ranked, at a cost that doesn't grow with the commonest word in it.

Ranking costs about 1.1 µs a matching row, counting a twentieth. So every word is counted first: words that say nothing
here are dropped, and where all together would match too many rows, one of the rarest is required.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aimemory.index.read import Plan
from aimemory.index.search import Scope, Table, match_counts, scope_counts
from aimemory.recall.query import Query, Term, one_of
from aimemory.recall.spelling import MOST_WORDS, may_be_misspelt, nearest, said, with_umlauts
from aimemory.recall.words import stem_start

_RANKED_ROWS: dict[Table, int] = {"page": 8_000, "observation": 5_000}
_COUNT_CAP = 30_000
_SCORED_TERMS = 32
_FEW_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Weighed:
    """A query's term and how many rows of a table it matches (counted up to a cap)."""

    term: Term
    rows: int


def weigh(query: Query, scope: Scope) -> Plan[tuple[Query, dict[Table, list[Weighed]], tuple[str, ...]]]:
    """Count each term's rows. A word that occurs nowhere is taken as the beginning of one, else as spelt otherwise.

    Nowhere means in no project of the scope, and only words of theirs are taken instead. The last value says what was
    taken for what.
    """
    counts = yield from _counted(query.terms)
    seen = Scope(projects=scope.projects)
    terms = list(query.terms)
    open_ = [i for i, term in enumerate(terms) if term.prefix and term.prefix != term.match]
    begun = yield from _absent(terms, open_, counts, seen)
    for i in begun:
        terms[i] = replace(terms[i], match=terms[i].prefix or terms[i].match, prefix=None)
    yield from _count_again(terms, begun, counts)
    unknown = yield from _absent(terms, begun, counts, seen)
    corrected: list[tuple[str, tuple[str, ...]]] = []
    changed: list[int] = []
    for i in [i for i in unknown if may_be_misspelt(query.terms[i].word)][:MOST_WORDS]:
        found = yield from nearest(query.terms[i].word, seen)
        if found:
            if found != (
                with_umlauts(query.terms[i].word),
            ):  # the same word in another spelling needs no word about it
                corrected.append((terms[i].shown, found))
            terms[i] = replace(terms[i], match=one_of(found), start=stem_start(found[0]), shown=found[0])
            changed.append(i)
    yield from _count_again(terms, changed, counts)
    weighed = {
        table: [Weighed(term, rows) for term, rows in zip(terms, counts[table], strict=True) if rows]
        for table in counts
    }
    return replace(query, terms=tuple(terms)), weighed, tuple(said(corrected))


def _absent(
    terms: Sequence[Term], which: Sequence[int], counts: dict[Table, list[int]], seen: Scope
) -> Plan[list[int]]:
    """Those of the terms that no row of the projects has; one in very many rows is taken to be in each project."""
    absent = [i for i in which if not any(counts[table][i] for table in counts)]
    if not seen.projects:
        return absent
    rare = [i for i in which if 0 < sum(counts[table][i] for table in counts) <= _FEW_ROWS]
    there: set[int] = set()
    for table in counts:
        got = yield from scope_counts(table, [terms[i].match for i in rare], seen, 1)
        there.update(i for i, rows in zip(rare, got, strict=True) if rows)
    return sorted({*absent, *rare} - there)


def _counted(terms: Sequence[Term]) -> Plan[dict[Table, list[int]]]:
    counts: dict[Table, list[int]] = {}
    for table in _RANKED_ROWS:
        counts[table] = yield from match_counts(table, [t.match for t in terms], _COUNT_CAP)
    return counts


def _count_again(terms: Sequence[Term], which: Sequence[int], counts: dict[Table, list[int]]) -> Plan[None]:
    if which:
        again = yield from _counted([terms[i] for i in which])
        for table, rows in again.items():
            for i, count in zip(which, rows, strict=True):
                counts[table][i] = count


@dataclass(frozen=True, slots=True)
class Chosen:
    """The terms of a query that count in one table, rarest first, and what bounds the rows that are ranked.

    pivots: at least one of them must match, none when all terms fit. bound: rows that are ranked, at most. is_over: do
    the terms reach more, so that only the newest count?
    """

    terms: tuple[Weighed, ...]
    pivots: tuple[Term, ...]
    bound: int
    is_over: bool

    @property
    def all(self) -> tuple[Term, ...]:
        return tuple(w.term for w in self.terms)


def choose(table: Table, weighed: Sequence[Weighed], table_rows: int) -> Chosen:
    """Which terms are scored, and which of them are required."""
    terms = _scored(weighed, table_rows)
    bound = _RANKED_ROWS[table]
    pivots, reach = _pivots(terms, bound)
    return Chosen(tuple(terms), tuple(w.term for w in pivots), bound, reach > bound)


def _scored(weighed: Sequence[Weighed], table_rows: int) -> list[Weighed]:
    """The rarest terms, rarest first, without those in more than half of many rows unless nothing else is left.

    FTS5 gives words in more than half of the rows next to no weight, so leaving them out changes no order; in a small
    store they stay, since they are all that some page may have.
    """
    rarest = sorted(weighed, key=lambda w: w.rows)[:_SCORED_TERMS]
    saying = [w for w in rarest if w.rows <= _FEW_ROWS or w.rows * 2 <= table_rows]
    return saying or rarest


def _pivots(terms: Sequence[Weighed], bound: int) -> tuple[list[Weighed], int]:
    """The rarest terms that together reach at most `bound` rows (one at least), and the rows reached.

    No pivots when all terms fit: then nothing has to be required.
    """
    taken: list[Weighed] = []
    reach = 0
    for weighed in terms:
        if taken and reach + weighed.rows > bound:
            return taken, reach
        taken.append(weighed)
        reach += weighed.rows
    return [], reach
