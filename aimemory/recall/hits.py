"""Rows of an answer as hits: snippet, reason, labels, and what is nearly the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aimemory.index.feedback import feedback_of, labels
from aimemory.index.read import Plan
from aimemory.index.search import ObservationText, PageText, Table, observation_texts, page_texts
from aimemory.index.typed import Related, related_to
from aimemory.model.ids import Version
from aimemory.model.page import Hit
from aimemory.model.protocols import rfc3339_local
from aimemory.recall.alike import fold
from aimemory.recall.explain import because
from aimemory.recall.linked import labels_of, why_led
from aimemory.recall.query import Query
from aimemory.recall.snippet import passage, snippet, words_in
from aimemory.wiki.sections import section_at

BODY_CHARS = 32_000
WHOLE_CHARS = 200_000
"""Characters of a page in which its words are looked for, where the first of them don't have all."""
_SHOWN_WORDS = 24
_WHY_WORDS = 6
_LIKE_NAMED = 10
_EXPIRED, _SUPERSEDED = "expired", "superseded"
_STATUS_CHARS = 80


@dataclass(frozen=True, slots=True)
class Place:
    """A row in the merged order. shares: what each signal gave; they add up to the score."""

    table: Table
    row: int
    score: float
    at_ns: int
    shares: tuple[tuple[str, float], ...] = ()
    is_alone: bool = False


def is_past(hit: Hit) -> bool:
    """Is it a page whose place another took, or that has expired? Only what is asked for by name shows these."""
    return any(label.startswith((_SUPERSEDED, _EXPIRED)) for label in hit.labels)


@dataclass(frozen=True, slots=True)
class Texts:
    """What is behind the rows of a ranking, by row; by page's id what readers said of it, by its row what other pages
    say of it."""

    pages: Mapping[int, PageText]
    events: Mapping[int, ObservationText]
    labels: Mapping[str, tuple[str, ...]]
    related: Sequence[Related] = ()
    linked: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def has(self, place: Place) -> bool:
        """False for what went between ranking and reading."""
        return place.row in (self.pages if place.table == "page" else self.events)

    def of_page(self, row: int) -> tuple[str, ...]:
        """Labels of a page."""
        text = self.pages[row]
        status = " ".join((text.status or "").lower().split())
        linked = self.linked.get(row, ())
        said = status == _EXPIRED or (status.startswith(_SUPERSEDED) and not any(_SUPERSEDED in one for one in linked))
        return (*((status[:_STATUS_CHARS],) if said else ()), *linked, *self.labels.get(text.id, ()))


def texts_of(ranked: Sequence[Place], has_roles: bool = True) -> Plan[Texts]:
    """has_roles: may pages say anything of each other?"""
    pages = yield from page_texts([r.row for r in ranked if r.table == "page"], BODY_CHARS)
    events = yield from observation_texts([r.row for r in ranked if r.table == "observation"])
    said = yield from feedback_of([text.id for text in pages.values()])
    related = (yield from related_to(list(pages))) if pages and has_roles else []
    return Texts(pages, events, labels(said), related, labels_of(related))


def with_rest(shown: Sequence[Place], texts: Texts, query: Query) -> Plan[Texts]:
    """The texts with more of the long pages among the shown places, whose beginning lacks some of the words."""
    starts = query.starts[:_SHOWN_WORDS]
    bodies = {one.row: texts.pages[one.row].body for one in shown if one.table == "page"}
    long = [
        row
        for row, body in bodies.items()
        if len(body) >= BODY_CHARS and len(words_in(body, starts)) < len({shown for _, shown in starts})
    ]
    if not long:
        return texts
    whole = yield from page_texts(long, WHOLE_CHARS)
    return replace(texts, pages={**texts.pages, **whole})


def folded_places(ranked: Sequence[Place], texts: Texts) -> list[tuple[Place, list[Place]]]:
    """Each place with those behind it that say nearly the same, of the same kind and with the same labels."""
    items: list[tuple[Place, object, str]] = []
    for place in ranked:
        if place.table == "page":
            text = texts.pages[place.row]
            items.append((place, (text.kind, texts.of_page(place.row)), f"{text.title}\n{text.body}"))
        else:
            event = texts.events[place.row]
            items.append((place, event.kind, event.text))
    return fold(items)


def hits_of(
    folded: Sequence[tuple[Place, list[Place]]], texts: Texts, query: Query | None, offset: int
) -> tuple[Hit, ...]:
    """query: None where pages are listed without one."""
    starts = query.starts[:_SHOWN_WORDS] if query else ()
    hits = []
    for rank, (one, like) in enumerate(folded, offset + 1):
        names = tuple(_name(other, texts) for other in like[:_LIKE_NAMED])
        if one.table == "page":
            text = texts.pages[one.row]
            why = _why_page(text, starts) if query else "newest pages"
            if one.is_alone:
                why = why_led(texts.related, one.row) or why
            hits.append(_page_hit(text, one, rank, starts, why, texts.of_page(one.row), names, len(like)))
        else:
            hits.append(_observation_hit(texts.events[one.row], one, rank, starts, names, len(like)))
    return tuple(hits)


def _name(place: Place, texts: Texts) -> str:
    if place.table == "page":
        return texts.pages[place.row].path
    event = texts.events[place.row]
    return f"session {event.session} line {event.row}"


def _page_hit(
    text: PageText, place: Place, rank: int, starts: Sequence[tuple[str, str]], why: str, labels_: tuple[str, ...],
    like: tuple[str, ...], like_count: int,
) -> Hit:  # fmt: skip
    shown, at = passage(text.body, starts)
    return Hit(
        kind=text.kind,
        title=text.title,
        path=text.path,
        snippet=shown,
        section="" if at is None else section_at(text.body, at, text.title),
        score=place.score,
        why=why,
        project=text.project,
        date=text.date or rfc3339_local(text.date_ns),
        version=Version(text.version),
        rank=rank,
        shares=place.shares,
        explanation=because(why, place.shares),
        labels=labels_,
        like=like,
        like_count=like_count,
    )


def _observation_hit(
    text: ObservationText, place: Place, rank: int, starts: Sequence[tuple[str, str]], like: tuple[str, ...],
    like_count: int,
) -> Hit:  # fmt: skip
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
        like=like,
        like_count=like_count,
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
