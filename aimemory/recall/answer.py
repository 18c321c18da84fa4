"""One ranked answer: pages and observations merged, near-duplicates folded, in parts that a cursor joins."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aimemory.index.read import Plan
from aimemory.index.search import (
    ObservationText,
    Scope,
    Sizes,
    Table,
    newest_rows,
    observation_texts,
    sizes,
)  # fmt: skip
from aimemory.model.page import COUNTED, SearchAnswer
from aimemory.recall.candidates import weigh
from aimemory.recall.cursor import Cursor, check_cursor, cursor_of, next_cursor
from aimemory.recall.dates import Dates, dates_in, day_of
from aimemory.recall.fusion import Fused
from aimemory.recall.hits import Place, folded_places, hits_of, texts_of, with_rest
from aimemory.recall.meaning import Meaning
from aimemory.recall.outside import what_would_help
from aimemory.recall.query import Query, about_files, loosened, parse, taken_plainly
from aimemory.recall.rank import NOTHING, Ranked, observations, pages

MAX_LIMIT = 100

_OBSERVATION_WEIGHT = 0.6
_DUPLICATES = 3
_AHEAD = 20
"""Hits behind those that are shown among which near-duplicates of them are looked for."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to look for and where. limit: hits, 1 to 100. cursor: of an earlier answer, to go on from there.

    now_ns: the moment, for words such as `yesterday`; without it they are words like others. fold: hits that say nearly
    the same are one. meaning: of the text, where there are vectors to compare with.
    files: at which who asks is at work.
    """

    text: str
    scope: Scope = field(default_factory=Scope)
    limit: int = 10
    cursor: str | None = None
    now_ns: int | None = None
    fold: bool = False
    meaning: Meaning | None = None
    files: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """What makes this search another one than others."""
        return self.text, repr(self.scope), str(self.fold)


def search(request: Request) -> Plan[SearchAnswer]:
    """Pages and observations that match any of the words, best first; an empty query gives the newest pages.

    Both kinds are ranked by several signals, the score divided by the best of the kind, observations with less weight,
    and of any stretch of the answer at most a third is observations as long as there are pages. A query whose
    requirements nothing meets is loosened, and the answer says so. The plan raises UserError for a cursor that isn't
    ours; running it raises Unavailable or NeedsRebuild when the index can't answer: that is never shown as "nothing
    found".
    """
    limit = max(1, min(request.limit, MAX_LIMIT))
    cursor = cursor_of(request.cursor)
    offset = cursor.offset
    query = replace(parse(request.text), here=about_files(request.files))
    if query.is_empty:
        return (yield from _newest(request, limit, cursor))
    depth = offset + limit
    if request.fold:
        depth += max(limit, _AHEAD)
    dates = dates_in(request.text, day_of(request.now_ns) if request.now_ns else None)
    index = yield from sizes()
    ranked, total, taken_as, said = yield from _ranked(query, dates, request, depth, index)
    for easier, note in loosened(query):
        if ranked:
            break
        query = easier
        ranked, total, taken_as, said = yield from _ranked(query, dates, request, depth, index)
        said = (note, *said)
    said = (*taken_plainly(query), *said)
    texts = yield from texts_of(ranked if request.fold else ranked[offset:], index.has_roles)
    if request.fold:
        folded = folded_places([place for place in ranked if texts.has(place)], texts)
        total -= len(ranked) - len(folded)
    else:
        folded = [(place, []) for place in ranked]
    check_cursor(cursor, request.asked, [place for place, _ in folded])
    shown = [one for one in folded[offset : offset + limit] if texts.has(one[0])]
    texts = yield from with_rest([place for place, _ in shown], texts, taken_as)
    hits = hits_of(shown, texts, taken_as, offset)
    shown_to = offset + len(hits)
    elsewhere = () if shown_to else (yield from what_would_help(taken_as, request.scope))
    goes_on = bool(hits) and shown_to < min(total, COUNTED)
    return SearchAnswer(
        query=request.text,
        hits=hits,
        total=max(total, shown_to),
        loosened=" ".join(said) if ranked and said else None,
        notes=(*_notes(query, request.scope, len(hits), shown_to), *elsewhere),
        cursor=next_cursor(request.asked, [place for place, _ in folded[:shown_to]]) if goes_on else None,
    )


def _ranked(
    query: Query, dates: Dates, request: Request, wanted: int, index: Sizes
) -> Plan[tuple[list[Place], int, Query, tuple[str, ...]]]:
    """The first `wanted` of the merged order, how many match in all, the query as taken, and what differs in that."""
    scope = request.scope
    query, weighed, taken = yield from weigh(query, scope)
    got: dict[Table, Ranked] = {"page": NOTHING, "observation": NOTHING}
    if scope.has_pages:
        got["page"] = yield from pages(query, dates, weighed["page"], index, scope, wanted, request.meaning)
    if scope.has_observations:
        got["observation"] = yield from observations(
            query, dates, weighed["observation"], index.observations, scope, wanted * _DUPLICATES
        )
    places = _places("observation", got["observation"], wanted * _DUPLICATES)
    seen = yield from observation_texts([place.row for place in places])
    different = _once_each(places, seen)
    dropped = len(places) - len(different)
    ranked = merge(_places("page", got["page"], wanted), different, wanted)
    return ranked, got["page"].total + got["observation"].total - dropped, query, taken


def _once_each(places: Sequence[Place], texts: dict[int, ObservationText]) -> list[Place]:
    """Without the second of two that read the same in one session: a tool's call before and after it ran."""
    seen: set[tuple[str | None, str]] = set()
    out = []
    for one in places:
        text = texts.get(one.row)
        key = (text.session, text.text) if text else None
        if key is None or key not in seen:
            out.append(one)
        if key:
            seen.add(key)
    return out


def _places(table: Table, ranked: Ranked, count: int) -> list[Place]:
    """The first `count`: scores divided by the best one; within a hundredth of it the newer row comes first."""
    best = max((f.score for f in ranked.fused), default=0.0)
    weight = 1.0 if table == "page" else _OBSERVATION_WEIGHT
    part = weight / best if best > 0 else 0.0

    def order(fused: Fused) -> tuple[float, int, int]:
        return (-round(fused.score / best, 2) if best > 0 else 0.0, -ranked.standing[fused.row].at_ns, -fused.row)

    return [
        Place(
            table, f.row, round(f.score * part, 4), ranked.standing[f.row].at_ns,
            tuple((name, round(share * part, 4)) for name, share in f.shares.items()), f.row in ranked.alone,
        )
        for f in sorted(ranked.fused, key=order)[:count]
    ]  # fmt: skip


def merge(pages: Sequence[Place], observations: Sequence[Place], wanted: int) -> list[Place]:
    """Both lists in one order by score; before the pages run out at most every third place is an observation's."""
    out: list[Place] = []
    p = o = 0
    while len(out) < wanted and (p < len(pages) or o < len(observations)):
        may = p >= len(pages) or 3 * (o + 1) <= len(out) + 1
        if o < len(observations) and may and (p >= len(pages) or observations[o].score > pages[p].score):
            out.append(observations[o])
            o += 1
        elif p < len(pages):
            out.append(pages[p])
            p += 1
    return out


def _newest(request: Request, limit: int, cursor: Cursor) -> Plan[SearchAnswer]:
    found = yield from newest_rows(request.scope, cursor.offset + limit + 1, 0)
    places = [Place("page", f.row, 0.0, f.at_ns) for f in found]
    asked = ("", *request.asked[1:])
    check_cursor(cursor, asked, places)
    shown = places[cursor.offset : cursor.offset + limit]
    texts = yield from texts_of(shown)
    hits = hits_of([(place, []) for place in shown if texts.has(place)], texts, None, cursor.offset)
    more = len(places) > cursor.offset + limit
    notes: tuple[str, ...] = ("The query has no words, so these are the newest pages.",)
    if not places:
        notes = (_no_pages(request.scope), *(yield from what_would_help(parse(""), request.scope)))
    return SearchAnswer(
        query=request.text,
        hits=hits,
        total=len(places),
        notes=notes,
        cursor=next_cursor(asked, places[: cursor.offset + len(hits)]) if more else None,
    )


def _no_pages(scope: Scope) -> str:
    """What to say where a query without words, which gives pages, gives none."""
    if not scope.is_narrowed:
        return "The query has no words, and there are no pages."
    return "The query has no words, and no page is within these filters; events are found by words only."


def _notes(query: Query, scope: Scope, hits: int, shown_to: int) -> tuple[str, ...]:
    notes = []
    if not hits:
        within = "Nothing within these filters" if scope.is_narrowed else "Nothing"
        notes.append(f"{within} has any of these words." if shown_to == 0 else "There are no more hits.")
    if query.excluded:
        words = ", ".join(t.shown if t.shown.startswith('"') else f"'{t.shown}'" for t in query.excluded)
        notes.append(f"Left out what has {words}; without the minus it is looked for.")
    return tuple(notes)
