"""One ranked answer: pages and observations merged, each hit with its snippet and its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aimemory.errors import UserError
from aimemory.index.read import Plan
from aimemory.index.search import (
    ObservationText,
    PageText,
    Scope,
    Table,
    newest_rows,
    observation_texts,
    page_texts,
    row_counts,
)  # fmt: skip
from aimemory.model.ids import Version
from aimemory.model.page import COUNTED, Hit, SearchAnswer
from aimemory.model.protocols import rfc3339_local
from aimemory.recall.candidates import weigh
from aimemory.recall.dates import Dates, dates_in, day_of
from aimemory.recall.explain import because
from aimemory.recall.fusion import Fused
from aimemory.recall.outside import what_would_help
from aimemory.recall.query import Query, loosened, parse
from aimemory.recall.rank import NOTHING, Ranked, observations, pages
from aimemory.recall.snippet import snippet, words_in

MAX_LIMIT = 100

_OBSERVATION_WEIGHT = 0.6
_BODY_CHARS = 32_000
_SHOWN_WORDS = 24
_WHY_WORDS = 6
_DUPLICATES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What to look for and where. limit: hits, 1 to 100. cursor: of an earlier answer, to go on from there.

    now_ns: the moment, for words such as `yesterday`; without it they are words like others.
    """

    text: str
    scope: Scope = field(default_factory=Scope)
    limit: int = 10
    cursor: str | None = None
    now_ns: int | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A row in the merged order. shares: what each signal gave; they add up to the score."""

    table: Table
    row: int
    score: float
    at_ns: int
    shares: tuple[tuple[str, float], ...] = ()
    is_alone: bool = False


def search(request: Request) -> Plan[SearchAnswer]:
    """Pages and observations that match any of the words, best first; an empty query gives the newest pages.

    Both kinds are ranked by several signals, the score divided by the best of the kind, observations with less weight,
    and of any stretch of the answer at most a third is observations as long as there are pages. A query whose
    requirements nothing meets is loosened, and the answer says so. The plan raises UserError for a cursor that isn't
    ours; running it raises Unavailable or NeedsRebuild when the index can't answer: that is never shown as "nothing
    found".
    """
    limit = max(1, min(request.limit, MAX_LIMIT))
    offset = _offset(request.cursor)
    query = parse(request.text)
    if query.is_empty:
        return (yield from _newest(request, limit, offset))
    wanted = offset + limit
    dates = dates_in(request.text, day_of(request.now_ns) if request.now_ns else None)
    ranked, total, taken_as, said = yield from _ranked(query, dates, request.scope, wanted)
    for easier, note in loosened(query):
        if ranked:
            break
        query = easier
        ranked, total, taken_as, said = yield from _ranked(query, dates, request.scope, wanted)
        said = (note, *said)
    hits = yield from _hits(ranked[offset:wanted], taken_as, offset)
    shown_to = offset + len(hits)
    elsewhere = () if shown_to else (yield from what_would_help(taken_as, request.scope))
    return SearchAnswer(
        query=request.text,
        hits=hits,
        total=max(total, shown_to),
        loosened=" ".join(said) if ranked and said else None,
        notes=(*_notes(query, request.scope, len(hits), shown_to), *elsewhere),
        cursor=str(shown_to) if hits and shown_to < min(total, COUNTED) else None,
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:8]) <= COUNTED):
        raise UserError("That cursor is not one of ours. Use the one in the answer before, or none.")
    return int(cursor[:8])


def _ranked(
    query: Query, dates: Dates, scope: Scope, wanted: int
) -> Plan[tuple[list[_Place], int, Query, tuple[str, ...]]]:
    """The first `wanted` of the merged order, how many match in all, the query as taken, and what differs in that."""
    query, weighed, taken = yield from weigh(query, scope)
    page_count, observation_count = yield from row_counts()
    got: dict[Table, Ranked] = {"page": NOTHING, "observation": NOTHING}
    if scope.has_pages:
        got["page"] = yield from pages(query, dates, weighed["page"], page_count, scope, wanted)
    if scope.has_observations:
        got["observation"] = yield from observations(
            query, dates, weighed["observation"], observation_count, scope, wanted * _DUPLICATES
        )
    places = _places("observation", got["observation"], wanted * _DUPLICATES)
    seen = yield from observation_texts([place.row for place in places])
    different = _once_each(places, seen)
    dropped = len(places) - len(different)
    ranked = merge(_places("page", got["page"], wanted), different, wanted)
    return ranked, got["page"].total + got["observation"].total - dropped, query, taken


def _once_each(places: Sequence[_Place], texts: dict[int, ObservationText]) -> list[_Place]:
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


def _places(table: Table, ranked: Ranked, count: int) -> list[_Place]:
    """The first `count`: scores divided by the best one; within a hundredth of it the newer row comes first."""
    best = max((f.score for f in ranked.fused), default=0.0)
    weight = 1.0 if table == "page" else _OBSERVATION_WEIGHT
    part = weight / best if best > 0 else 0.0

    def order(fused: Fused) -> tuple[float, int, int]:
        return (-round(fused.score / best, 2) if best > 0 else 0.0, -ranked.standing[fused.row].at_ns, -fused.row)

    return [
        _Place(
            table, f.row, round(f.score * part, 4), ranked.standing[f.row].at_ns,
            tuple((name, round(share * part, 4)) for name, share in f.shares.items()), f.row in ranked.alone,
        )
        for f in sorted(ranked.fused, key=order)[:count]
    ]  # fmt: skip


def merge(pages: Sequence[_Place], observations: Sequence[_Place], wanted: int) -> list[_Place]:
    """Both lists in one order by score; before the pages run out at most every third place is an observation's."""
    out: list[_Place] = []
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


def _newest(request: Request, limit: int, offset: int) -> Plan[SearchAnswer]:
    found = yield from newest_rows(request.scope, limit + 1, offset)
    texts = yield from page_texts([f.row for f in found[:limit]], _BODY_CHARS)
    hits = tuple(
        _page_hit(texts[f.row], _Place("page", f.row, 0.0, f.at_ns), offset + i, (), "newest pages")
        for i, f in enumerate(found[:limit], 1)
        if f.row in texts
    )
    more = len(found) > limit
    return SearchAnswer(
        query=request.text,
        hits=hits,
        total=offset + len(found),
        notes=("The query has no words, so these are the newest pages.",),
        cursor=str(offset + limit) if more else None,
    )


def _hits(ranked: Sequence[_Place], query: Query, offset: int) -> Plan[tuple[Hit, ...]]:
    texts = yield from page_texts([r.row for r in ranked if r.table == "page"], _BODY_CHARS)
    events = yield from observation_texts([r.row for r in ranked if r.table == "observation"])
    starts = query.starts[:_SHOWN_WORDS]
    hits = []
    for rank, one in enumerate(ranked, offset + 1):
        if one.table == "page" and one.row in texts:
            text = texts[one.row]
            hits.append(_page_hit(text, one, rank, starts, _why_page(text, starts)))
        elif one.table == "observation" and one.row in events:
            hits.append(_observation_hit(events[one.row], one, rank, starts))
    return tuple(hits)


def _page_hit(text: PageText, place: _Place, rank: int, starts: Sequence[tuple[str, str]], why: str) -> Hit:
    return Hit(
        kind=text.kind,
        title=text.title,
        path=text.path,
        snippet=snippet(text.body, starts),
        score=place.score,
        why=why,
        project=text.project,
        date=text.date or rfc3339_local(text.date_ns),
        version=Version(text.version),
        rank=rank,
        shares=place.shares,
        explanation=because(why, place.shares),
    )


def _observation_hit(text: ObservationText, place: _Place, rank: int, starts: Sequence[tuple[str, str]]) -> Hit:
    matched = words_in(text.text, starts)
    what = f"{text.kind} of {text.harness}" if text.harness else text.kind
    if place.is_alone:
        why = f"recorded {text.kind} stands beside events that have the words"
    else:
        has = _listed(matched) if matched else "a form of the words"
        why = f"recorded {text.kind} has {has}"
    return Hit(
        kind="observation",
        title=f"{text.tool}: {what}" if text.tool else what,
        path=None,
        snippet=snippet(text.text, starts),
        score=place.score,
        why=why,
        project=text.project or None,
        date=rfc3339_local(text.at_ns),
        observation=text.id,
        session=text.session,
        seq=text.row,
        rank=rank,
        shares=place.shares,
        explanation=because(why, place.shares),
    )


def _why_page(text: PageText, starts: Sequence[tuple[str, str]]) -> str:
    parts = []
    for name, field_text in (("title", text.title), ("text", text.body), ("paths", text.paths)):
        matched = words_in(field_text, starts)
        if matched:
            parts.append(f"{name} has {_listed(matched)}")
    return "; ".join(parts) if parts else "has a form of the words"


def _listed(words: Sequence[str]) -> str:
    listed = ", ".join(f"'{word}'" for word in words[:_WHY_WORDS])
    return f"{listed} and {len(words) - _WHY_WORDS} more" if len(words) > _WHY_WORDS else listed


def _notes(query: Query, scope: Scope, hits: int, shown_to: int) -> tuple[str, ...]:
    notes = []
    if not hits:
        within = "Nothing within these filters" if scope.is_narrowed else "Nothing"
        notes.append(f"{within} has any of these words." if shown_to == 0 else "There are no more hits.")
    if query.excluded:
        words = ", ".join(f"'{term.shown}'" for term in query.excluded)
        notes.append(f"Left out what has {words}; put a word in quotes to look for it.")
    return tuple(notes)
