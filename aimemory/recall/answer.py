"""One ranked answer: pages and observations merged, each hit with its snippet and its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aimemory.errors import UserError
from aimemory.index.read import Plan
from aimemory.index.search import (
    Found,
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
from aimemory.recall.candidates import Candidates, candidates, weigh
from aimemory.recall.query import Query, loosened, parse
from aimemory.recall.snippet import snippet, words_in

MAX_LIMIT = 100

_OBSERVATION_WEIGHT = 0.6
_BODY_CHARS = 32_000
_SHOWN_WORDS = 24
_WHY_WORDS = 6
_DUPLICATES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What to look for and where. limit: hits, 1 to 100. cursor: of an earlier answer, to go on from there."""

    text: str
    scope: Scope = field(default_factory=Scope)
    limit: int = 10
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class _Ranked:
    table: Table
    row: int
    score: float
    at_ns: int


def search(request: Request) -> Plan[SearchAnswer]:
    """Pages and observations that match any of the words, best first; an empty query gives the newest pages.

    Both kinds are ranked by bm25 divided by the best of their kind, observations with less weight, and of any stretch
    of the answer at most a third is observations as long as there are pages. A query whose requirements nothing meets
    is loosened, and the answer says so. The plan raises UserError for a cursor that isn't ours; running it raises
    Unavailable or NeedsRebuild when the index can't answer: that is never shown as "nothing found".
    """
    limit = max(1, min(request.limit, MAX_LIMIT))
    offset = _offset(request.cursor)
    query = parse(request.text)
    if query.is_empty:
        return (yield from _newest(request, limit, offset))
    wanted = offset + limit
    ranked, total = yield from _ranked(query, request.scope, wanted)
    note = None
    if not ranked and (query.required or query.excluded):
        note = _what_was_loosened(query)
        query = loosened(query)
        ranked, total = yield from _ranked(query, request.scope, wanted)
        note = note if ranked else None
    hits = yield from _hits(ranked[offset:wanted], query)
    shown_to = offset + len(hits)
    return SearchAnswer(
        query=request.text,
        hits=hits,
        total=max(total, shown_to),
        loosened=note,
        notes=_notes(query, request.scope, len(hits), shown_to),
        cursor=str(shown_to) if hits and shown_to < min(total, COUNTED) else None,
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:8]) <= COUNTED):
        raise UserError("That cursor is not one of ours. Use the one in the answer before, or none.")
    return int(cursor[:8])


def _ranked(query: Query, scope: Scope, wanted: int) -> Plan[tuple[list[_Ranked], int]]:
    """The first `wanted` of the merged order, and how many match in all."""
    query, weighed = yield from weigh(query)
    pages, observations = yield from row_counts()
    got: dict[Table, Candidates] = {"page": Candidates((), 0), "observation": Candidates((), 0)}
    if scope.has_pages:
        got["page"] = yield from candidates("page", query, weighed["page"], pages, scope, wanted)
    if scope.has_observations:
        got["observation"] = yield from candidates(
            "observation", query, weighed["observation"], observations, scope, wanted * _DUPLICATES
        )
    seen = yield from observation_texts([found.row for found in got["observation"].found])
    different = _once_each(got["observation"].found, seen)
    dropped = len(got["observation"].found) - len(different)
    ranked = merge(_normal("page", got["page"].found), _normal("observation", different), wanted)
    return ranked, got["page"].total + got["observation"].total - dropped


def _once_each(found: Sequence[Found], texts: dict[int, ObservationText]) -> list[Found]:
    """Without the second of two that read the same in one session: a tool's call before and after it ran."""
    seen: set[tuple[str | None, str]] = set()
    out = []
    for one in found:
        text = texts.get(one.row)
        key = (text.session, text.text) if text else None
        if key is None or key not in seen:
            out.append(one)
        if key:
            seen.add(key)
    return out


def _normal(table: Table, found: Sequence[Found]) -> list[_Ranked]:
    """Scores divided by the best one; within a hundredth of it the newer row comes first."""
    best = max((f.score for f in found), default=0.0)
    weight = 1.0 if table == "page" else _OBSERVATION_WEIGHT
    ranked = [_Ranked(table, f.row, round(f.score / best if best > 0 else 1.0, 2) * weight, f.at_ns) for f in found]
    return sorted(ranked, key=lambda r: (-r.score, -r.at_ns, -r.row))


def merge(pages: Sequence[_Ranked], observations: Sequence[_Ranked], wanted: int) -> list[_Ranked]:
    """Both lists in one order by score; before the pages run out at most every third place is an observation's."""
    out: list[_Ranked] = []
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
        _page_hit(texts[f.row], _Ranked("page", f.row, 0.0, f.at_ns), (), "newest pages")
        for f in found[:limit]
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


def _hits(ranked: Sequence[_Ranked], query: Query) -> Plan[tuple[Hit, ...]]:
    pages = yield from page_texts([r.row for r in ranked if r.table == "page"], _BODY_CHARS)
    observations = yield from observation_texts([r.row for r in ranked if r.table == "observation"])
    starts = query.starts[:_SHOWN_WORDS]
    hits = []
    for one in ranked:
        if one.table == "page" and one.row in pages:
            text = pages[one.row]
            hits.append(_page_hit(text, one, starts, _why_page(text, starts)))
        elif one.table == "observation" and one.row in observations:
            hits.append(_observation_hit(observations[one.row], one, starts))
    return tuple(hits)


def _page_hit(text: PageText, ranked: _Ranked, starts: Sequence[tuple[str, str]], why: str) -> Hit:
    return Hit(
        kind=text.kind,
        title=text.title,
        path=text.path,
        snippet=snippet(text.body, starts),
        score=ranked.score,
        why=why,
        project=text.project,
        date=text.date or rfc3339_local(text.date_ns),
        version=Version(text.version),
    )


def _observation_hit(text: ObservationText, ranked: _Ranked, starts: Sequence[tuple[str, str]]) -> Hit:
    matched = words_in(text.text, starts)
    what = f"{text.kind} of {text.harness}" if text.harness else text.kind
    return Hit(
        kind="observation",
        title=f"{text.tool}: {what}" if text.tool else what,
        path=None,
        snippet=snippet(text.text, starts),
        score=ranked.score,
        why=f"recorded {text.kind} has {_listed(matched)}"
        if matched
        else f"recorded {text.kind} has a form of the words",
        project=text.project or None,
        date=rfc3339_local(text.at_ns),
        observation=text.id,
        session=text.session,
        seq=text.row,
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


def _what_was_loosened(query: Query) -> str:
    wanted = [f'"{t.shown}"' for t in query.required] + [f"-{t.shown}" for t in query.excluded]
    return f"Nothing meets {', '.join(wanted)}; taken as plain words instead."


def _notes(query: Query, scope: Scope, hits: int, shown_to: int) -> tuple[str, ...]:
    notes = []
    if not hits:
        within = "Nothing within these filters" if scope.is_narrowed else "Nothing"
        notes.append(f"{within} has any of these words." if shown_to == 0 else "There are no more hits.")
    if query.excluded:
        words = ", ".join(f"'{term.shown}'" for term in query.excluded)
        notes.append(f"Left out what has {words}; put a word in quotes to look for it.")
    return tuple(notes)
