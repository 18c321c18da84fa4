"""Full-text statements: the scope of a search, how many rows match in it, and the texts behind them.

Takes FTS5 expressions that `recall.query` made; knows nothing of what people type. Ranking is in `ranked`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from aimemory.index.read import Plan, Statement

Table = Literal["page", "observation"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows may answer; an empty field excludes nothing.

    kinds: of pages (their `type`); tag: pages only; harness, session: observations only, so a scope with kinds or tag
    holds no observations and one with harness or session no pages. since_ns, until_ns: bounds on the date, inclusive.
    file: an expression of one string that the files a row is about must match, or the text of a page that names them.
    pages, observations: False leaves them out.
    """

    projects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tag: str | None = None
    harness: str | None = None
    session: str | None = None
    since_ns: int | None = None
    until_ns: int | None = None
    file: str | None = None
    pages: bool = True
    observations: bool = True

    @property
    def is_narrowed(self) -> bool:
        """Does more than the project narrow it?"""
        return bool(
            self.kinds or self.tag or self.harness or self.session or self.since_ns or self.until_ns or self.file
        )

    @property
    def has_pages(self) -> bool:
        return self.pages and self.harness is None and self.session is None

    @property
    def has_observations(self) -> bool:
        return self.observations and not self.kinds and self.tag is None


@dataclass(frozen=True, slots=True)
class Found:
    """A page by its row number, and its date in nanoseconds."""

    row: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class PageText:
    """What a hit on a page shows and is explained from. `date`: as the page writes it, else None."""

    row: int
    path: str
    kind: str
    title: str
    date: str | None
    date_ns: int
    project: str | None
    version: str
    description: str
    body: str
    paths: str
    id: str = ""
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ObservationText:
    """What a hit on an observation shows. `text` is its searchable text, at most 1,000 characters."""

    row: int
    id: str
    event: str
    kind: str
    harness: str
    tool: str | None
    session: str | None
    project: str
    at_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many pages and events there are, by highest row number; does any page say what another is to it?"""

    pages: int
    observations: int
    has_roles: bool


def sizes() -> Plan[Sizes]:
    """What a search needs to know of the index as a whole."""
    rows = yield Statement(
        """select coalesce((select max(n) from page), 0), coalesce((select max(seq) from observation), 0),
            exists (select 1 from link where role <> '')"""
    )
    pages, observations, has_roles = rows[0]
    return Sizes(pages, observations, bool(has_roles))


def match_counts(table: Table, matches: Sequence[str], cap: int) -> Plan[list[int]]:
    """For each expression how many rows match, counted up to `cap`; some 0.06 µs a row, a twentieth of ranking it."""
    counts: list[int] = []
    for some in (matches[i : i + _COUNTS_AT_ONCE] for i in range(0, len(matches), _COUNTS_AT_ONCE)):
        one = f"(select count(*) from (select 1 from {table}_fts where {table}_fts match ? limit {int(cap)}))"
        rows = yield Statement(f"select {', '.join([one] * len(some))}", tuple(some))
        counts.extend(rows[0])
    return counts


def nth_newest_row(table: Table, match: str, scope: Scope, n: int) -> Plan[int]:
    """The row number from which on at most `n` rows of the scope match; 0 when nothing must be left out.

    Walks the matches from the newest down without ranking them.
    """
    join, where, params = within(table, scope)
    rows = yield Statement(
        f"""select f.rowid from {table}_fts f {join} where {table}_fts match ? {where}
        order by f.rowid desc limit 1 offset ?""",
        (match, *params, n - 1),
    )
    return rows[0][0] if rows else 0


def scope_count(table: Table, match: str, scope: Scope, cap: int) -> Plan[int]:
    """How many rows of the scope match, counted up to `cap`."""
    join, where, params = within(table, scope)
    rows = yield Statement(
        f"""select count(*) from (
            select 1 from {table}_fts f {join} where {table}_fts match ? {where} limit ?)""",
        (match, *params, cap),
    )
    return int(rows[0][0])


def scope_counts(table: Table, matches: Sequence[str], scope: Scope, cap: int) -> Plan[list[int]]:
    """For each expression how many rows of the scope match, counted up to `cap`."""
    join, where, params = within(table, scope)
    counts: list[int] = []
    for some in (matches[i : i + _COUNTS_AT_ONCE] for i in range(0, len(matches), _COUNTS_AT_ONCE)):
        one = f"""(select count(*) from (
            select 1 from {table}_fts f {join} where {table}_fts match ? {where} limit {int(cap)}))"""
        values = [value for match in some for value in (match, *params)]
        rows = yield Statement(f"select {', '.join([one] * len(some))}", tuple(values))
        counts.extend(rows[0])
    return counts


def in_scope(table: Table, rows: Sequence[int], scope: Scope) -> Plan[list[int]]:
    """Those of the rows that are within a scope."""
    where, params = _scope_terms(table, scope)
    key = KEY[table]
    found = yield Statement(
        f"select t.{key} from json_each(?) j cross join {table} t on t.{key} = j.value where true {where}",
        (json.dumps(list(rows)), *params),
    )
    return [row for (row,) in found]


def files_of(session: str, limit: int) -> Plan[list[str]]:
    """The files that the last events of a session read or wrote, the latest first, relative to its directory."""
    rows = yield Statement(
        """select coalesce(data->'files_written', data->'files_read'), cwd from (
            select data, cwd, at, seq from observation where session = ?1 and kind <> 'pre-tool' and text <> ''
            order by at desc, seq desc limit ?2)
        where data->'files_written' is not null or data->'files_read' is not null order by at desc, seq desc""",
        (session, _LAST_EVENTS),
    )
    found: dict[str, None] = {}
    for files, cwd in rows:
        for path in json.loads(files):
            found[str(path).removeprefix(f"{cwd}/" if cwd else "")] = None
    return list(found)[:limit]


_LAST_EVENTS = 40


def newest_rows(scope: Scope, limit: int, offset: int) -> Plan[list[Found]]:
    """Pages of a scope by date, newest first: the answer to an empty query."""
    where, params = _scope_terms("page", replace(scope, harness=None, session=None))
    rows = yield Statement(
        f"select t.n, t.date_ns from page t where true {where} order by t.date_ns desc, t.path limit ? offset ?",
        (*params, limit, offset),
    )
    return [Found(*row) for row in rows]


def kinds_of(projects: Sequence[str]) -> Plan[list[str]]:
    """The kinds of pages that there are in these projects, in all when none is named."""
    where = "where project in (select value from json_each(?))" if projects else ""
    rows = yield Statement(
        f"select kind, count(*) from page {where} group by kind order by count(*) desc, kind",
        (json.dumps(list(projects)),) if projects else (),
    )
    return [kind for kind, _ in rows]


def recorded_harnesses() -> Plan[list[str]]:
    """The harnesses of which anything is recorded."""
    return [harness for (harness,) in (yield Statement("select distinct harness from session order by harness"))]


def known_session(session: str) -> Plan[bool]:
    """Is there a session of that id?"""
    return bool((yield Statement("select 1 from session where id = ?", (session,))))


def page_texts(rows: Sequence[int], body_chars: int) -> Plan[dict[int, PageText]]:
    """Pages by row number; of the body its first `body_chars` characters."""
    found = yield Statement(
        """select p.n, p.path, p.kind, p.title, coalesce(p.updated, p.created), p.date_ns, p.project, p.version,
            p.description, substr(t.body, 1, ?), t.paths, p.id, p.status
        from page p join page_text t on t.n = p.n where p.n in (select value from json_each(?))""",
        (body_chars, json.dumps(list(rows))),
    )
    return {row[0]: PageText(*row) for row in found}


def observation_texts(rows: Sequence[int]) -> Plan[dict[int, ObservationText]]:
    """Observations by seq."""
    found = yield Statement(
        """select seq, id, event, kind, harness, tool, session, project, at, text from observation
        where seq in (select value from json_each(?))""",
        (json.dumps(list(rows)),),
    )
    return {row[0]: ObservationText(*row) for row in found}


KEY: dict[Table, str] = {"page": "n", "observation": "seq"}
_COUNTS_AT_ONCE = 40


def within(table: Table, scope: Scope) -> tuple[str, str, list[Any]]:
    """The scope as a join after `{table}_fts f`, a condition and its parameters; no join where nothing is excluded.

    The match must drive, and the narrow index spares reading an observation's whole row for each: five times as fast.
    """
    where, params = _scope_terms(table, scope)
    join = f"cross join {table} t indexed by {table}_scope on t.{KEY[table]} = f.rowid" if where else ""
    return join, where, params


def _about(file: str) -> str:
    """Pages of which a file is: those whose paths have it, or whose text names it, if by more than one word."""
    columns = "title body paths" if " " in file else "paths"
    return f"{{{columns}}} : ({file})"


def _scope_terms(table: Table, scope: Scope) -> tuple[str, list[Any]]:
    """The scope as ` and …` over alias `t`, with its parameters."""
    terms: list[str] = []
    params: list[Any] = []

    def add(term: str, value: Any) -> None:
        terms.append(term)
        params.append(value)

    if scope.projects:
        add("t.project in (select value from json_each(?))", json.dumps(list(scope.projects)))
    if table == "page":
        if scope.kinds:
            add("t.kind in (select value from json_each(?))", json.dumps(list(scope.kinds)))
        if scope.tag is not None:
            add(
                "exists (select 1 from json_each(t.tags) where lower(ltrim(value, '#')) = lower(ltrim(?, '#')))",
                scope.tag,
            )
    else:
        if scope.harness is not None:
            add("t.harness = ?", scope.harness)
        if scope.session is not None:
            add("t.session = ?", scope.session)
    if scope.file is not None:
        match = _about(scope.file) if table == "page" else scope.file
        add(f"t.{KEY[table]} in (select rowid from {table}_fts where {table}_fts match ?)", match)
    date = "t.date_ns" if table == "page" else "t.at"
    if scope.since_ns is not None:
        add(f"{date} >= ?", scope.since_ns)
    if scope.until_ns is not None:
        add(f"{date} <= ?", scope.until_ns)
    return "".join(f" and {term}" for term in terms), params
