"""Rows of pages: written from what the wiki's files say, read back as values."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from aimemory.index.connect import transaction
from aimemory.index.links import find_again, links_changed
from aimemory.index.read import Plan, Row, Statement
from aimemory.index.schema import PAGE_FILLS
from aimemory.index.typed import outdated
from aimemory.index.words import camel_parts, other_forms
from aimemory.model.ids import PageId, ProjectId, Version
from aimemory.model.links import Link, base_name, file_name
from aimemory.model.scope import Project
from aimemory.privacy import Sanitized


@dataclass(frozen=True, slots=True)
class DeclaredProject:
    """What a page of kind `project` says: the project's identity, its other identities, its known directories."""

    id: ProjectId
    identity: str
    aliases: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page for the index.

    path: relative to `wiki/`, with `/`. body: the text below the front matter. created, updated: RFC 3339 or None.
    paths, idents: files and identifiers the page is about, one text each. problem: why its front matter can't be
    read, or None. declares: for pages of kind `project`. links: in the order in which they stand. aliases: other names
    that the page has for people; those of a project are in `declares`.
    """

    path: str
    id: PageId
    kind: str
    title: str
    body: str
    version: Version
    mtime_ns: int
    size: int
    description: str = ""
    tags: tuple[str, ...] = ()
    status: str | None = None
    created: str | None = None
    updated: str | None = None
    project: ProjectId | None = None
    workspace: str = ""
    problem: str | None = None
    paths: str = ""
    idents: str = ""
    declares: DeclaredProject | None = None
    links: tuple[Link, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageInfo:
    """A page as the index knows it, without its text. date_ns: `updated`, else `created`, else the file's time."""

    path: str
    id: PageId
    kind: str
    title: str
    description: str
    tags: tuple[str, ...]
    status: str | None
    created: str | None
    updated: str | None
    date_ns: int
    project: ProjectId | None
    workspace: str
    version: Version
    problem: str | None


@dataclass(frozen=True, slots=True)
class PageStat:
    """What a file looked like when it was indexed, for the stat walk."""

    version: Version
    mtime_ns: int
    size: int


def upsert_pages(db: sqlite3.Connection, pages: Sequence[Sanitized[PageRow]]) -> None:
    """Insert or change pages, in one transaction; some 500 at a time is the fastest way to fill an index.

    Unchanged text leaves the full-text index alone. Of two rows with one path the later one counts. Raises NeedsRebuild
    or Unavailable, as `connect.refusal` says.
    """
    rows = list({page.value.path: page.value for page in pages}.values())
    declared = [row for row in rows if row.declares]
    paths = _dumps([row.path for row in rows])
    with transaction(db):
        known = {path for (path,) in db.execute(_KNOWN, (paths,))}
        (newest,) = db.execute("select coalesce(max(n), 0) from page").fetchone()
        for some in (rows[at : at + _ROWS] for at in range(0, len(rows), _ROWS)):
            db.execute(_page_sql(len(some)), [value for row in some for value in _page_values(row)])
            db.execute(_page_text_sql(len(some)), [value for row in some for value in _text_values(row)])
        for fill in PAGE_FILLS:
            db.execute(fill, (newest,))
        db.execute(_NO_LONGER_PROJECT, (paths,))
        db.execute(_NO_LONGER_ALIAS, (paths,))
        links_changed(db, {row.path: row.links for row in rows})
        find_again(db, [row.path for row in rows if row.path not in known])
        if declared:
            db.execute(_PROJECT, (_dumps([_project_values(row) for row in declared]),))
            db.execute(_PROJECT_ALIAS, (_dumps([x for row in declared for x in _alias_values(row)]),))


def delete_pages(db: sqlite3.Connection, paths: Sequence[str]) -> None:
    """Take pages out, full text and declared projects included; unknown paths are ignored. One transaction."""
    with transaction(db):
        db.execute("delete from page where path in (select value from json_each(?))", (_dumps(list(paths)),))
        find_again(db, paths)


def touch_pages(db: sqlite3.Connection, stats: Sequence[tuple[str, int, int]]) -> None:
    """Note new (path, mtime_ns, size) of files whose content is what it was, so the next walk need not read them."""
    with transaction(db):
        db.execute(
            """update page set mtime_ns = s.value->>1, size = s.value->>2
            from json_each(?) s where page.path = s.value->>0""",
            (_dumps([list(stat) for stat in stats]),),
        )


def assign_project(db: sqlite3.Connection, folder: str, project: ProjectId | None) -> None:
    """Note that the pages below `workspace/folder` belong to this project, after its own page changed."""
    with transaction(db):
        db.execute(
            "update page set project = ? where path >= ? and path < ?", (project, f"{folder}/", f"{folder}0")
        )  # "0" follows "/"


def known_stats() -> Plan[dict[str, PageStat]]:
    """Every indexed file by path."""
    rows = yield Statement("select path, version, mtime_ns, size from page")
    return {path: PageStat(Version(version), mtime_ns, size) for path, version, mtime_ns, size in rows}


def walk_rows() -> Plan[list[tuple[str, int, int]]]:
    """(path, mtime_ns, size) of every indexed file, just as SQLite gives them.

    Who walks makes values of them in its thread: of 100,000 that would hold the event loop for 0.3 s each minute.
    """
    rows = yield Statement("select path, mtime_ns, size from page")
    return rows


def stats_of(paths: Sequence[str]) -> Plan[dict[str, PageStat]]:
    """As `known_stats`, of these files."""
    rows = yield Statement(
        "select path, version, mtime_ns, size from page where path in (select value from json_each(?))",
        (_dumps(list(paths)),),
    )
    return {path: PageStat(Version(version), mtime_ns, size) for path, version, mtime_ns, size in rows}


def page(path: str) -> Plan[PageInfo | None]:
    rows = yield Statement(f"select {_INFO} from page where path = ?", (path,))
    return page_info(rows[0]) if rows else None


def pages_with_id(page_id: str) -> Plan[list[PageInfo]]:
    """Usually one; two when someone has copied a file."""
    rows = yield Statement(f"select {_INFO} from page where id = ? order by path", (page_id,))
    return [page_info(row) for row in rows]


def pages_titled(title: str) -> Plan[list[PageInfo]]:
    """Pages whose title, or file name without `.md`, is this text but for case; by path."""
    rows = yield Statement(
        f"""select {_INFO} from page where title = ?1 collate nocase or path like '%/' || ?2 || '.md' escape '\\'
        order by path""",
        (title, "".join(f"\\{c}" if c in "\\%_" else c for c in title)),
    )
    return [page_info(row) for row in rows]


def pages_called(alias: str) -> Plan[list[PageInfo]]:
    """Pages that have this among the `aliases` of their front matter, but for case; by path."""
    rows = yield Statement(f"select {_INFO}, aliases from page where aliases <> '[]' order by path")
    wanted = alias.casefold()
    return [page_info(row[:-1]) for row in rows if wanted in (one.casefold() for one in json.loads(row[-1]))]


def newest_pages(
    projects: Sequence[str] = (), kinds: Sequence[str] = (), limit: int = 50, offset: int = 0, current: bool = False
) -> Plan[list[PageInfo]]:
    """Pages by date, newest first, then by path; no projects or kinds means all, listings (`index`) left out.

    current: without those that are superseded or expired.
    """
    only = f"and not {outdated('page')}" if current else ""
    rows = yield Statement(
        f"""select {_INFO} from page
        where (?1 = '[]' or project in (select value from json_each(?1)))
          and case when ?2 = '[]' then kind <> 'index' else kind in (select value from json_each(?2)) end {only}
        order by date_ns desc, path limit ?3 offset ?4""",
        (_dumps(list(projects)), _dumps(list(kinds)), limit, offset),
    )
    return [page_info(row) for row in rows]


def rules_and_pinned(projects: Sequence[str], limit: int = 20, chars: int = 1000) -> Plan[list[tuple[PageInfo, str]]]:
    """Pages of kind rule and those tagged `pinned` with the beginning of their text, rules first, then by path."""
    rows = yield Statement(
        f"""select {_INFO}, (select substr(body, 1, ?2) from page_text t where t.n = page.n) from page
        where project in (select value from json_each(?1)) and coalesce(status, '') not in ('superseded', 'expired')
          and (kind = 'rule' or (tags like '%pinned%'
            and exists (select 1 from json_each(tags) where value in ('pinned', '#pinned'))))
        order by kind <> 'rule', path limit ?3""",
        (_dumps(list(projects)), chars, limit),
    )
    return [(page_info(row[:-1]), row[-1] or "") for row in rows]


def problems(limit: int = 100) -> Plan[list[tuple[str, str]]]:
    """(path, problem) of pages whose front matter can't be read."""
    rows = yield Statement("select path, problem from page where problem is not null order by path limit ?", (limit,))
    return [(path, problem) for path, problem in rows]


def projects() -> Plan[list[Project]]:
    """Every declared project by id; where two files declare the same one, the first path counts."""
    rows = yield Statement(f"{_PROJECT_ROWS} order by p.id, p.page")
    found: dict[str, Project] = {}
    for row in rows:
        found.setdefault(row[0], _project(row))
    return list(found.values())


def page_info(row: Row) -> PageInfo:
    """From the columns of `INFO_COLUMNS`, in that order."""
    tags = tuple(json.loads(row[5]))
    return PageInfo(row[0], row[1], row[2], row[3], row[4], tags, *row[6:])


def date_ns(updated: str | None, created: str | None, mtime_ns: int) -> int:
    """The page's date as nanoseconds; a date without offset counts as UTC, an unreadable one not at all."""
    for text in (updated, created):
        if text:
            try:
                when = datetime.fromisoformat(text)
                return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1_000_000) * 1000
            except (ValueError, OverflowError):
                continue
    return mtime_ns


def _project(row: Row) -> Project:
    page_id, workspace, folder, identity, aliases = row
    return Project(ProjectId(page_id), workspace, folder, identity, tuple(json.loads(aliases)))


def _page_values(row: PageRow) -> list[Any]:
    return [
        row.path, file_name(row.path), row.id, row.kind, row.title, row.description, _dumps(list(row.tags)), row.status,
        row.created, row.updated, date_ns(row.updated, row.created, row.mtime_ns), row.project, row.workspace,
        row.version, row.mtime_ns, row.size, row.problem, _dumps(list(row.aliases)),
    ]  # fmt: skip


def _text_values(row: PageRow) -> list[str]:
    idents = " ".join((row.idents, *camel_parts(f"{row.title}\n{row.body}\n{row.idents}"))).strip()
    paths = f"{row.paths}\n{base_name(row.path)}".strip()
    tags = " ".join((*row.tags, *row.aliases))
    forms = other_forms(f"{row.title}\n{row.description}\n{row.body}")
    body = "\n".join(part for part in (row.description, row.body, tags) if part)
    return [row.path, row.title, body, paths, idents, forms, other_forms(row.title)]


def _project_values(row: PageRow) -> list[str]:
    assert row.declares
    return [row.path, row.declares.id, row.workspace, PurePosixPath(row.path).parent.name, row.declares.identity]


def _alias_values(row: PageRow) -> list[list[str]]:
    assert row.declares
    return [[row.path, "identity", value] for value in row.declares.aliases] + [
        [row.path, "path", value] for value in row.declares.paths
    ]


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


INFO_COLUMNS = (
    "path", "id", "kind", "title", "description", "tags", "status", "created", "updated", "date_ns", "project",
    "workspace", "version", "problem",
)  # fmt: skip
_INFO = ", ".join(INFO_COLUMNS)

_PAGE_COLUMNS = (
    "path", "name", "id", "kind", "title", "description", "tags", "status", "created", "updated", "date_ns", "project",
    "workspace", "version", "mtime_ns", "size", "problem", "aliases",
)  # fmt: skip

_ROWS = 64  # bound values, several rows a statement: as `apply` does for observations, for the same reasons
_TEXT_VALUES = 7


def _page_sql(rows: int) -> str:
    return f"""
    insert into page({", ".join(_PAGE_COLUMNS)})
    select * from ({_bound(rows, len(_PAGE_COLUMNS))}) where true
    on conflict(path) do update set {", ".join(f"{name} = excluded.{name}" for name in _PAGE_COLUMNS[1:])}
    """


def _page_text_sql(rows: int) -> str:
    return f"""
    insert into page_text(n, title, body, paths, idents, forms, title_forms)
    select p.n, t.column2, t.column3, t.column4, t.column5, t.column6, t.column7
    from ({_bound(rows, _TEXT_VALUES)}) t cross join page p on p.path = t.column1 where true
    on conflict(n) do update set title = excluded.title, body = excluded.body, paths = excluded.paths,
        idents = excluded.idents, forms = excluded.forms, title_forms = excluded.title_forms
    where (title, body, paths, idents, forms)
        is not (excluded.title, excluded.body, excluded.paths, excluded.idents, excluded.forms)
    """


def _bound(rows: int, columns: int) -> str:
    row = f"({','.join('?' * columns)})"
    return f"values {','.join([row] * rows)}"


_KNOWN = "select path from page where path in (select value from json_each(?))"
_NO_LONGER_PROJECT = "delete from project where page in (select value from json_each(?))"
_NO_LONGER_ALIAS = "delete from project_alias where page in (select value from json_each(?))"
_PROJECT = """
insert into project(page, id, workspace, folder, identity)
select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?)
"""
_PROJECT_ALIAS = """
insert or ignore into project_alias(page, kind, value) select value->>0, value->>1, value->>2 from json_each(?)
"""
_PROJECT_ROWS = """
select p.id, p.workspace, p.folder, p.identity, (
    select json_group_array(value) from (
        select value from project_alias a where a.page = p.page and a.kind = 'identity' order by value))
from project p
"""
