"""Reading what was forgotten and what a person has acknowledged, and what forgetting something would take along."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.index.read import Plan, Statement


@dataclass(frozen=True, slots=True)
class PurgeLine:
    """One journal line of type `purge`."""

    seq: int
    at_ns: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """A session as far as forgetting needs it. native: the harness's own id. page: its page, if it has one."""

    id: str
    native: str | None
    page: str | None


def purge_lines() -> Plan[list[PurgeLine]]:
    """All of them, by seq."""
    rows = yield Statement("select seq, at, data from purge order by seq")
    return [PurgeLine(seq, at_ns, json.loads(data)) for seq, at_ns, data in rows]


def stored_purges(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The data of all `purge` lines that an open index shows."""
    return [json.loads(data) for (data,) in db.execute("select data from purge order by seq")]


def accepted() -> Plan[dict[str, str]]:
    """The version of each page, veiled, whose findings a person has acknowledged."""
    rows = yield Statement("select path, version from accepted")
    return dict(rows)


def sessions_to_forget(ids: Sequence[str] = (), projects: Sequence[str] = ()) -> Plan[list[Told]]:
    """These sessions, and all that are filed under these projects."""
    rows = yield Statement(
        """select id, native, page from session where id in (select value from json_each(?))
            or project in (select value from json_each(?)) order by id""",
        (json.dumps(list(ids)), json.dumps(list(projects))),
    )
    return [Told(*row) for row in rows]


def handoffs_to_forget(
    sessions: Sequence[str] = (), projects: Sequence[str] = (), pages: Sequence[str] = ()
) -> Plan[dict[str, str | None]]:
    """Handoffs that carry the work of these sessions, belong to these projects, or are these pages; with their page."""
    rows = yield Statement(
        """select id, page from handoff where session in (select value from json_each(?))
            or project in (select value from json_each(?)) or page in (select value from json_each(?)) order by id""",
        (json.dumps(list(sessions)), json.dumps(list(projects)), json.dumps(list(pages))),
    )
    return dict(rows)


def lines_of_pages(paths: Sequence[str], folders: Sequence[str] = ()) -> Plan[list[int]]:
    """Numbers of the `page` lines that speak of these pages, whatever they were called then, or of any page below
    these folders."""
    rows = yield Statement(
        """select seq from page_line where path in (select value from json_each(?1))
            or exists (select 1 from json_each(?2) where path >= value || '/' and path < value || '0')
        order by seq""",
        (json.dumps(list(paths)), json.dumps(list(folders))),
    )
    return [seq for (seq,) in rows]


def written_by(sessions: Sequence[str]) -> Plan[list[str]]:
    """Pages that these sessions wrote by themselves: not those that are made of them."""
    rows = yield Statement(
        """select distinct l.path from page_line l join page p on p.path = l.path
        where l.session in (select value from json_each(?)) order by l.path""",
        (json.dumps(list(sessions)),),
    )
    return [path for (path,) in rows]


def paths_ever() -> Plan[list[str]]:
    """Every path that a page has or had, as far as index and journal tell."""
    rows = yield Statement("select path from page union select path from page_line union select path from written")
    return [path for (path,) in rows]
