"""What a journal line of type `project` does to the tables: pages that moved, and sessions that changed their project.

Derived copies of lines (`data`) are changed along, since folds read them; the journal keeps what was said.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any


def moved_path(path: str, old: str, new: str) -> str:
    """Where a page below the folder `old` is once the folder is called `new`; the project's own page is named by it."""
    if path == f"{old}/{PurePosixPath(old).name}.md":
        return f"{new}/{PurePosixPath(new).name}.md"
    return f"{new}/{path.removeprefix(f'{old}/')}"


def apply_project_line(db: sqlite3.Connection, seq: int, at_ns: int, data: Mapping[str, Any]) -> None:
    """In the batch's transaction. Raises nothing for an op that this version doesn't know: it is kept, else ignored."""
    op = str(data.get("op", ""))
    db.execute(
        "insert or ignore into project_line(seq, op, at, data) values (?, ?, ?, ?)", (seq, op, at_ns, _dumps(data))
    )
    if op == "rename":
        old, new = str(data["from"]), str(data["to"])
        _move_pages(db, {path: moved_path(path, old, new) for path in _known_below(db, old)})
    elif op == "move-session":
        _move_pages(db, data.get("pages") or {})
        _refile(db, str(data["session"]), str(data["project"]))
    elif op == "merge":
        _move_pages(db, data.get("pages") or {})
        _merge(db, seq, str(data["from"]), str(data["project"]))
    elif op == "unmerge":
        _move_pages(db, data.get("pages") or {})
        _unmerge(db, int(data["of"]), str(data["from"]), str(data["project"]))


class Followed:
    """Sessions that were moved by command, and projects that were merged: lines that were on their way follow them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._sessions = dict(db.execute("select session, project from refiled").fetchall())
        self._projects = dict(db.execute("select project, target from merged").fetchall())

    def __bool__(self) -> bool:
        return bool(self._sessions or self._projects)

    def project(self, session: str | None, project: str) -> str:
        """Where a line belongs that names this session and project."""
        moved = self._sessions.get(session or "", project)
        return str(self._projects.get(moved, moved))


def moved_since(pages: Mapping[str, str], later: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Where pages are now, by their old paths: `pages` says where one line put them, `later` are the lines after it."""
    now = dict(pages)
    for line in later:
        if line["op"] == "rename":
            old, new = line["from"], line["to"]
            now = {k: moved_path(path, old, new) if path.startswith(f"{old}/") else path for k, path in now.items()}
        else:
            moves = line.get("pages") or {}
            now = {k: moves.get(path, path) for k, path in now.items()}
    return now


def _known_below(db: sqlite3.Connection, folder: str) -> Iterator[str]:
    span = (f"{folder}/", f"{folder}0")  # "0" follows "/"
    paths: set[str] = set()
    for table, column in _PATHS:
        found = db.execute(f"select distinct {column} from {table} where {column} >= ? and {column} < ?", span)
        paths.update(path for (path,) in found)
    return iter(sorted(paths))


def _move_pages(db: sqlite3.Connection, moves: Mapping[str, str]) -> None:
    pairs = _dumps(list(moves.items()))
    for table, column in _PATHS:  # names are qualified, since json_each has columns of its own called path and id
        source = ", source = coalesce(page_line.source, page_line.path)" if table == "page_line" else ""
        value = f"json_set({table}.data, '$.page', m.value->>1)" if column == _PAGE else f"m.value->>1{source}"
        db.execute(
            f"""update or replace {table} set {"data" if column == _PAGE else column} = {value}
            from json_each(?) m where {table}.{column} = m.value->>0""",
            (pairs,),
        )


def _refile(db: sqlite3.Connection, session: str, project: str) -> None:
    db.execute(
        """insert into refiled(session, project) values (?, ?)
        on conflict(session) do update set project = excluded.project""",
        (session, project),
    )
    for sql in _REFILE:
        db.execute(sql, {"session": session, "project": project})


def _merge(db: sqlite3.Connection, seq: int, source: str, target: str) -> None:
    """What belongs to `source` belongs to `target`; remembered, so that it can be told from what `target` had."""
    names = {"line": seq, "source": source, "target": target}
    for kind, found in _MEMBERS:
        db.execute(f"insert or ignore into merge_member(line, kind, id) select :line, '{kind}', {found}", names)
    db.execute(
        """insert into merged(project, target) values (:source, :target)
        on conflict(project) do update set target = excluded.target""",
        names,
    )
    db.execute("update merged set target = :target where target = :source", names)
    for sql in _MERGE:
        db.execute(sql, names)


def _unmerge(db: sqlite3.Connection, line: int, target: str, source: str) -> None:
    """The reverse, of what is still there. Lines of these sessions that are on their way go back too."""
    names = {"line": line, "source": source, "target": target}
    db.execute("delete from merged where project = :source", names)
    for sql in _UNMERGE:
        db.execute(sql, names)


_PAGE = "data->>'page'"
_PATHS = (
    ("session", "page"), ("handoff", "page"), ("page_line", "path"), ("written", "path"), ("feedback", "path"),
    ("handoff_event", _PAGE),
    ("closing", _PAGE),
)  # fmt: skip

_REFILE = (
    "update observation set project = :project, data = json_set(data, '$.project', :project) where session = :session",
    "update session set project = :project where id = :session",
    "update brief set project = :project where session = :session",
    """update handoff_event set data = json_set(data, '$.project', :project)
        where data->>'project' is not null and handoff in (select id from handoff where session = :session)""",
    "update handoff set project = :project where session = :session",
)


_MEMBERS = (
    ("session", "id from session where project = :source"),
    ("observation", """seq from observation o where project = :source
        and not exists (select 1 from session s where s.id = o.session and s.project = :source)"""),
    ("brief", """seq from brief b where project = :source
        and not exists (select 1 from session s where s.id = b.session and s.project = :source)"""),
    ("handoff", "id from handoff where project = :source"),
    ("refiled", "session from refiled where project = :source"),
    ("merged", "project from merged where target = :source"),
)  # fmt: skip

_MERGE = (
    "update observation set project = :target, data = json_set(data, '$.project', :target) where project = :source",
    "update session set project = :target where project = :source",
    "update brief set project = :target where project = :source",
    """update handoff_event set data = json_set(data, '$.project', :target)
        where data->>'project' is not null and handoff in (select id from handoff where project = :source)""",
    "update handoff set project = :target where project = :source",
    "update refiled set project = :target where project = :source",
)

_OF = "(select id from merge_member where line = :line and kind = '{}')"
_UNMERGE = tuple(
    sql.replace("{sessions}", _OF.format("session")).replace("{own}", _OF.format(kind))
    for kind, sql in (
        ("observation", """update observation set project = :source, data = json_set(data, '$.project', :source)
            where project = :target and (session in {sessions} or cast(seq as text) in {own})"""),
        ("brief", """update brief set project = :source
            where project = :target and (session in {sessions} or cast(seq as text) in {own})"""),
        ("session", "update session set project = :source where project = :target and id in {own}"),
        ("handoff", """update handoff_event set data = json_set(data, '$.project', :source)
            where data->>'project' is not null
            and handoff in (select id from handoff where project = :target and id in {own})"""),
        ("handoff", "update handoff set project = :source where project = :target and id in {own}"),
        ("refiled", "update refiled set project = :source where project = :target and session in {own}"),
        ("merged", "update merged set target = :source where target = :target and project in {own}"),
        ("session", """insert or ignore into refiled(session, project)
            select id, :source from session where project = :source and id in {own}"""),
    )
)  # fmt: skip


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
