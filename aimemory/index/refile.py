"""What a journal line of type `project` does to the tables: pages that moved, and sessions that changed their project.

Derived copies of lines (`data`) are changed along, since folds read them; the journal keeps what was said.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
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


def refiled_sessions(db: sqlite3.Connection) -> dict[str, str]:
    """Sessions that were moved by command, and to which project: lines that were on their way follow them."""
    return dict(db.execute("select session, project from refiled").fetchall())


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


_PAGE = "data->>'page'"
_PATHS = (
    ("session", "page"), ("handoff", "page"), ("page_line", "path"), ("written", "path"), ("handoff_event", _PAGE),
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


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
