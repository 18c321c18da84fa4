"""The signals of a query over each table, fused: pages by their fields, events with what stands around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from aimemory.index.ranked import ROWS, Ask, Standing, rows_of, signals, standings, stretches, supporters
from aimemory.index.read import Plan
from aimemory.index.search import Scope, Sizes, Table, nth_newest_row, scope_count
from aimemory.model.page import COUNTED
from aimemory.recall.authority import LASTING, authority, weight
from aimemory.recall.candidates import Chosen, Weighed, choose
from aimemory.recall.context import CENTRES, NEIGHBOURS, REACH, around, coverage, rarity
from aimemory.recall.dates import Dates, day_of, fit
from aimemory.recall.fusion import OBSERVATION_WEIGHTS, PAGE_WEIGHTS, Fused, fuse
from aimemory.recall.linked import SUPERSEDED, led_to
from aimemory.recall.meaning import Meaning, rescored
from aimemory.recall.query import Query, expression, in_field, nearby, required
from aimemory.recall.state import asks_for_now, newest_first

_PAGE_COLUMNS = "3, 1, 1, 0.5, 1"
_PHRASE_COLUMNS = "1, 1, 1, 0, 1"
_FIELD_TERMS = 12
_NEAR_TERMS = 8
_NEAR_WORDS = 12
_COVERED_ROWS = 20_000
_WORDS_AROUND = 2
HERE = 0.05
"""Part of its score that is added where a row is about the files at which who asks is at work."""
_WEIGHED = 30
"""Of so many of the best pages it is looked up who wrote them."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of a table, best first; when each happened; and how many match in all (counted up to `COUNTED`).

    alone: rows found only by what stands around them.
    """

    fused: tuple[Fused, ...]
    standing: Mapping[int, Standing]
    total: int
    alone: frozenset[int] = frozenset()


NOTHING = Ranked((), {}, 0)


def pages(
    query: Query, dates: Dates, weighed: Sequence[Weighed], index: Sizes, scope: Scope, wanted: int,
    meaning: Meaning | None,
) -> Plan[Ranked]:  # fmt: skip
    """The best pages of a scope, with what these lead to. wanted: how many are needed at least, if there. meaning: of
    the query, where it is known."""
    rows = index.pages
    chosen = choose("page", weighed, rows)
    if not chosen.terms and not query.required:
        return NOTHING
    match = expression(query, chosen.all, chosen.pivots)
    asks = [Ask("words", "page_fts", match, _PAGE_COLUMNS, limit=max(ROWS, wanted))]
    if query.pairs:
        asks.append(Ask("phrases", "page_fts", required(query, [" OR ".join(query.pairs)]), _PHRASE_COLUMNS))
    if near := nearby(chosen.all[:_NEAR_TERMS], _NEAR_WORDS):
        asks.append(Ask("near", "page_fts", required(query, [near]), _PHRASE_COLUMNS))
    some = chosen.all[:_FIELD_TERMS]
    for name in ("exact", "title", "paths", "idents"):
        if field := in_field(some, "title_forms" if name == "title" else None):
            asks.append(Ask(name, f"page_{name}_fts", field))
    found = yield from signals("page", asks, scope)
    _keep_what_is_allowed(query, found)
    wanted_rows = {row for rows_ in found.values() for row in rows_}
    words = yield from _rows_of_words("page", chosen, rows)
    found["cover"] = coverage(words, wanted_rows)
    total = yield from scope_count("page", match, scope, COUNTED)
    ranked = yield from _ranked("page", found, PAGE_WEIGHTS, query, dates, total)
    ranked = replace(ranked, fused=tuple((yield from rescored(ranked.fused, meaning))))
    if query.required or query.excluded or not index.has_roles:
        return ranked
    fused, standing = yield from led_to(ranked.fused, ranked.standing, scope)
    alone = frozenset(row for row in standing if row not in ranked.standing)
    return replace(ranked, fused=tuple(fused), standing=standing, total=total + len(alone), alone=alone)


def observations(
    query: Query, dates: Dates, weighed: Sequence[Weighed], rows: int, scope: Scope, wanted: int
) -> Plan[Ranked]:
    """The best events of a scope, with those that only stand beside one. rows: how many events there are."""
    chosen = choose("observation", weighed, rows)
    if not chosen.terms and not query.required:
        return NOTHING
    match = expression(query, chosen.all, chosen.pivots)
    from_row = 0
    if chosen.is_over:
        from_row = yield from nth_newest_row("observation", match, scope, chosen.bound)
    asks = [Ask("words", "observation_fts", match, from_row=from_row, limit=max(ROWS, wanted))]
    if query.pairs:
        asks.append(Ask("phrases", "observation_fts", required(query, [" OR ".join(query.pairs)]), from_row=from_row))
    found = yield from signals("observation", asks, scope)
    _keep_what_is_allowed(query, found)
    matching = {row for rows_ in found.values() for row in rows_}
    if len(chosen.terms) > 1:
        found["context"] = yield from _context(query, chosen, found, matching, rows)
    total = yield from scope_count("observation", match, scope, COUNTED)
    ranked = yield from _ranked("observation", found, OBSERVATION_WEIGHTS, query, dates, total)
    beside = frozenset(f.row for f in ranked.fused if f.row not in matching)
    inside = {row for row in beside if _is_inside(ranked.standing.get(row), scope)}
    return replace(
        ranked, fused=tuple(f for f in ranked.fused if f.row not in beside or f.row in inside), alone=frozenset(inside)
    )


def _context(
    query: Query, chosen: Chosen, found: Mapping[str, Mapping[int, float]], matching: set[int], rows: int
) -> Plan[dict[int, float]]:
    """What stands around the best events; of events without any of the words only what stands beside several."""
    centres = [f.row for f in fuse(found, OBSERVATION_WEIGHTS)[:CENTRES]]
    words = yield from _rows_of_words("observation", chosen, rows)
    views = yield from stretches(centres, REACH + NEIGHBOURS)
    context, different = around(views, words)
    may_stand_alone = not (query.required or query.excluded) and len(chosen.terms) > _WORDS_AROUND
    return {
        row: value
        for row, value in context.items()
        if row in matching or (may_stand_alone and different[row] >= _WORDS_AROUND)
    }


def _rows_of_words(table: Table, chosen: Chosen, rows: int) -> Plan[list[tuple[float, list[int]]]]:
    """The rarity and all rows of the rarest terms, as far as these are not too many."""
    some: list[Weighed] = []
    reach = 0
    for weighed in chosen.terms:
        reach += weighed.rows
        if some and reach > _COVERED_ROWS:
            break
        some.append(weighed)
    found = yield from rows_of(table, [w.term.match for w in some])
    return [(rarity(rows, len(matching)), matching) for matching in found]


def _keep_what_is_allowed(query: Query, found: dict[str, dict[int, float]]) -> None:
    """Signals of single fields don't know what a query requires: what only they found stays out then."""
    if query.required or query.excluded:
        allowed = {row for name in ("words", "phrases", "near") for row in found.get(name, ())}
        for name, rows in found.items():
            found[name] = {row: value for row, value in rows.items() if row in allowed}


def _ranked(
    table: Table,
    found: dict[str, dict[int, float]],
    weights: Mapping[str, float],
    query: Query,
    dates: Dates,
    total: int,
) -> Plan[Ranked]:
    standing = yield from standings(table, {row for rows in found.values() for row in rows})
    signals_ = {name: {r: v for r, v in rows.items() if r in standing} for name, rows in found.items()}
    if dates:
        signals_["date"] = _fits(dates, {row: day_of(s.at_ns) for row, s in standing.items() if s.at_ns > 0})
    if table == "observation":
        words = {t.word for t in query.terms if t.is_word}
        signals_["who"] = {row: 1.0 for row, s in standing.items() if not words.isdisjoint(s.who.lower().split())}
    fused = fuse(signals_, weights)
    wrote = (yield from supporters([f.row for f in fused[:_WEIGHED]])) if table == "page" and fused else {}
    here = frozenset((yield from _rows_here(table, query.here)) if query.here and fused else ())
    weighs = any(s.is_superseded or s.said or s.is_pinned or s.kind in LASTING for s in standing.values())
    if wrote or here or weighs:
        moved = [_moved(f, standing[f.row], wrote.get(f.row, 0), f.row in here) for f in fused]
        fused = sorted(moved, key=lambda f: (-f.score, -f.row))
    if not dates and asks_for_now(query.text):
        fused = newest_first(fused, {row: s.at_ns for row, s in standing.items()})
    return Ranked(tuple(fused), standing, total)


def _fits(dates: Dates, days: Mapping[int, date]) -> dict[int, float]:
    known: dict[date, float] = {}
    out = {}
    for row, day in days.items():
        if day not in known:
            known[day] = fit(dates, day)
        out[row] = known[day]
    return out


def _rows_here(table: Table, files: str) -> Plan[list[int]]:
    """Rows that are about these files."""
    (found,) = yield from rows_of(table, [f"{{paths}} : ({files})" if table == "page" else files])
    return found


def _moved(fused: Fused, standing: Standing, sessions: int, is_here: bool) -> Fused:
    """With what the page is, whether it is about the files at work, what readers say of it, and half of its score where
    something newer took its place: shares of their own."""
    score, shares = fused.score, dict(fused.shares)
    if own := weight(standing.kind, standing.is_pinned, sessions):
        shares["authority"] = score * own
        score += shares["authority"]
    if is_here:
        shares["here"] = score * HERE
        score += shares["here"]
    if part := authority(standing.said):
        shares["feedback"] = score * part
        score += shares["feedback"]
    if standing.is_superseded:
        shares["superseded"] = score * (SUPERSEDED - 1)
        score *= SUPERSEDED
    return Fused(fused.row, score, shares) if len(shares) > len(fused.shares) else fused


def _is_inside(standing: Standing | None, scope: Scope) -> bool:
    """Do the dates allow a neighbour? The rest of a scope holds for a whole session."""
    if standing is None or scope.file is not None:
        return False
    return not (
        (scope.since_ns is not None and standing.at_ns < scope.since_ns)
        or (scope.until_ns is not None and standing.at_ns > scope.until_ns)
    )
