"""What is around a page: pages that links, sessions and tags join to it, and the events behind it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from aimemory.index.read import Plan, Statement
from aimemory.index.search import ObservationText

_ROWS = 1000
_GENERATED = ("session", "handoff", "project", "index")
"""Kinds of pages whose tags are ours."""
_COMMON = 30
"""A tag of more pages joins none of them."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Two pages that belong together: `page` was asked about, `other` is related to it. via: a session's id, a tag."""

    page: str
    other: str
    kind: str
    via: str = ""


@dataclass(frozen=True, slots=True)
class Around:
    """A page that is related. expands: whether what is related to it counts too; each page of a project is linked with
    the project's own page, which would join all of them."""

    path: str
    kind: str
    title: str
    date_ns: int
    project: str | None
    status: str | None

    @property
    def expands(self) -> bool:
        return self.kind != "project"


@dataclass(frozen=True, slots=True)
class Source:
    """A session behind a page. role: page (it is the session's own), handoff, or write. before_seq: what came later is
    not behind the page; None for no bound. at_ns: of the write."""

    session: str
    role: str
    before_seq: int | None = None


def edges(pages: Collection[str], projects: Sequence[str]) -> Plan[list[Edge]]:
    """What is one step from these pages. projects: where tags are looked up; links and sessions lead anywhere."""
    asked = json.dumps(list(pages))
    found: list[Edge] = []
    for plan in (_linked(asked), _of_sessions(asked), _tagged(asked, projects)):
        found += yield from plan
    return found


def around(paths: Collection[str]) -> Plan[dict[str, Around]]:
    """Those of these pages that are there, listings left out."""
    rows = yield Statement(
        """select path, kind, title, date_ns, project, status from page
        where path in (select value from json_each(?)) and kind <> 'index'""",
        (json.dumps(list(paths)),),
    )
    return {row[0]: Around(*row) for row in rows}


def sources(path: str, limit: int) -> Plan[list[Source]]:
    """The sessions behind a page, the most telling first: its own, that of its handoff, those that wrote it, the latest
    first."""
    rows = yield Statement(
        """select id, 'page', null, 0, 0 from session where page = ?1
        union all select session, 'handoff', null, 1, 0 from handoff where page = ?1 and session is not null
        union all select session, 'write', max(seq), 2, -max(seq) from page_line
            where path = ?1 and session is not null and op not in ('delete', 'add') group by session
        order by 4, 5 limit ?2""",
        (path, limit),
    )
    found: dict[str, Source] = {}
    for session, role, before, *_ in rows:
        found.setdefault(session, Source(session, role, before))
    return list(found.values())


def events_of(session: str, before_seq: int | None, limit: int) -> Plan[tuple[list[ObservationText], int]]:
    """The last events of a session before a line that say something, in the order of their time; and how many there
    are."""
    where = "session = ?1 and kind <> 'pre-tool' and text <> '' and (?2 is null or seq < ?2)"
    rows = yield Statement(
        f"""select * from (select {_EVENT} from observation where {where} order by at desc, seq desc limit ?3)
        order by 9, 1""",
        (session, before_seq, limit),
    )
    total = yield Statement(f"select count(*) from observation where {where}", (session, before_seq))
    return [ObservationText(*row) for row in rows], int(total[0][0])


def event_with_neighbours(seq: int, reach: int) -> Plan[list[ObservationText]]:
    """An event and those of its session right before and after it, in the order of their time; [] for none."""
    rows = yield Statement(
        f"""with o as (select session, at, seq from observation where seq = ?1)
        select {_EVENT} from observation where seq = ?1
        union select * from (select {_NEAR} from o, observation n where n.session = o.session and n.kind <> 'pre-tool'
            and n.text <> '' and (n.at, n.seq) < (o.at, o.seq) order by n.at desc, n.seq desc limit ?2)
        union select * from (select {_NEAR} from o, observation n where n.session = o.session and n.kind <> 'pre-tool'
            and n.text <> '' and (n.at, n.seq) > (o.at, o.seq) order by n.at, n.seq limit ?2)
        order by 9, 1""",
        (seq, reach),
    )
    return [ObservationText(*row) for row in rows]


def _linked(asked: str) -> Plan[list[Edge]]:
    rows = yield Statement(
        """select distinct source, dest, 'links to it' from link
            where source in (select value from json_each(?1)) and dest is not null and dest <> source
        union all select distinct dest, source, 'linked from it' from link
            where dest in (select value from json_each(?1)) and dest <> source limit ?2""",
        (asked, _ROWS),
    )
    return [Edge(page, other, "out" if kind == "links to it" else "in") for page, other, kind in rows]


def _of_sessions(asked: str) -> Plan[list[Edge]]:
    """Pages that one session wrote, its own page and its handoffs."""
    of_pages = yield Statement(
        f"""select distinct page, session from ({_PAGES_OF_SESSIONS})
        where page in (select value from json_each(?1)) limit ?2""",
        (asked, _ROWS),
    )
    if not of_pages:
        return []
    rows = yield Statement(
        f"""select distinct session, page from ({_PAGES_OF_SESSIONS})
        where session in (select value from json_each(?1)) limit ?2""",
        (json.dumps(sorted({session for _, session in of_pages})), _ROWS),
    )
    others: dict[str, list[str]] = {}
    for session, page in rows:
        others.setdefault(session, []).append(page)
    return [
        Edge(page, other, "session", session)
        for page, session in of_pages
        for other in others.get(session, ())
        if other != page
    ]


def _tagged(asked: str, projects: Sequence[str]) -> Plan[list[Edge]]:
    of_pages = yield Statement(
        f"""select p.path, t.value from page p, json_each(p.tags) t where p.path in (select value from json_each(?1))
        and p.kind not in {_GENERATED} and t.value not in ('pinned', '#pinned') limit ?2""",
        (asked, _ROWS),
    )
    if not of_pages:
        return []
    rows = yield Statement(
        f"""select t.value, p.path from page p, json_each(p.tags) t
        where t.value in (select value from json_each(?1)) and p.kind not in {_GENERATED}
            and (?2 = '[]' or p.project in (select value from json_each(?2))) limit ?3""",
        (json.dumps(sorted({tag for _, tag in of_pages})), json.dumps(list(projects)), _ROWS),
    )
    tagged: dict[str, list[str]] = {}
    for tag, page in rows:
        tagged.setdefault(tag, []).append(page)
    return [
        Edge(page, other, "tag", tag)
        for page, tag in of_pages
        for other in tagged.get(tag, ())
        if other != page and len(tagged[tag]) <= _COMMON
    ]


_COLUMNS = ("seq", "id", "event", "kind", "harness", "tool", "session", "project", "at", "text")
_EVENT = ", ".join(_COLUMNS)
_NEAR = ", ".join(f"n.{name}" for name in _COLUMNS)

_PAGES_OF_SESSIONS = """select page, id session from session where page is not null
    union all select page, session from handoff where page is not null and session is not null
    union all select path, session from page_line where session is not null and op not in ('delete', 'add')"""
