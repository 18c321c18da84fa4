"""Pages of the wiki as values."""

from dataclasses import dataclass, field

from aimemory.model.ids import PageId, ProjectId, Version


@dataclass(frozen=True, slots=True)
class Page:
    """One page as read from its file.

    path: relative to `wiki/`, with `/`. kind: the front matter's `type`, else the folder's, else `note`.
    text: the whole file, front matter included. version: the token that a write must give back.
    """

    path: str
    id: PageId
    kind: str
    title: str
    text: str
    version: Version
    project: ProjectId | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `why` is one sentence; `snippet` is plain text without markup.

    rank: place in the whole answer, from 1. shares: signal and what it gave to the score; they add up to it.
    explanation: `why`, and which signals brought it to its place, in one sentence. labels: what a reader should know,
    such as `superseded` or `called wrong by 2`. like: other hits that say nearly the same and are shown no more, by
    path or session and line, at most 10 of like_count. section: the headings that lead to where the snippet is from, as
    reading a section takes them; "" above the first one.
    """

    kind: str
    title: str
    path: str | None
    snippet: str
    score: float
    why: str
    project: str | None
    date: str | None
    version: Version | None = None
    observation: str | None = None
    session: str | None = None
    seq: int | None = None
    rank: int = 0
    shares: tuple[tuple[str, float], ...] = ()
    explanation: str = ""
    labels: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    like_count: int = 0
    section: str = ""


COUNTED = 1000
"""Totals are counted up to this number; who gets so many hits needs other words, not more pages of hits."""


def total_text(total: int) -> str:
    """A total for people: `1000 or more` where counting ended."""
    return f"{COUNTED} or more" if total >= COUNTED else str(total)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits best first. `loosened` says how the query was relaxed, or is None when it was taken as written.

    total: how many match, counted up to `COUNTED`. cursor: gives the next hits, None at the end.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    total: int = 0
    loosened: str | None = None
    notes: tuple[str, ...] = field(default=())
    cursor: str | None = None
