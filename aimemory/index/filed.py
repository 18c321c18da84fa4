"""Reading what is filed where: what a project or a session would take along, and what was moved last."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.index.read import Plan, Statement


@dataclass(frozen=True, slots=True)
class Counts:
    sessions: int
    observations: int
    handoffs: int


def pages_below(folder: str) -> Plan[list[str]]:
    """Paths of the indexed pages below `workspace/folder`."""
    rows = yield Statement(
        "select path from page where path >= ? and path < ? order by path", (f"{folder}/", f"{folder}0")
    )
    return [path for (path,) in rows]


def filed_under(project: str) -> Plan[Counts]:
    """What belongs to a project."""
    rows = yield Statement(
        """select (select count(*) from session where project = ?1),
        (select count(*) from observation where project = ?1),
        (select count(*) from handoff where project = ?1)""",
        (project,),
    )
    return Counts(*rows[0])


def filed_of_session(session: str) -> Plan[Counts]:
    """What belongs to a session."""
    rows = yield Statement(
        """select (select count(*) from session where id = ?1), (select count(*) from observation where session = ?1),
        (select count(*) from handoff where session = ?1)""",
        (session,),
    )
    return Counts(*rows[0])


def pages_of_session(session: str, folder: str) -> Plan[list[str]]:
    """Pages below `workspace/folder` that are about a session or that it created: its own, its handoffs', its notes."""
    rows = yield Statement(
        """select path from page where path >= ?2 and path < ?3 and path in (
            select page from session where id = ?1 union select page from handoff where session = ?1
            union select path from page_line l where session = ?1 and op = 'write'
                and not exists (select 1 from page_line b where b.path = l.path and b.seq < l.seq))
        order by path""",
        (session, f"{folder}/", f"{folder}0"),
    )
    return [path for (path,) in rows]


def observations_of(sessions: Sequence[str]) -> Plan[int]:
    """How many events these sessions have."""
    rows = yield Statement(
        "select count(*) from observation where session in (select value from json_each(?))", (json.dumps(sessions),)
    )
    return int(rows[0][0])


@dataclass(frozen=True, slots=True)
class MergeLine:
    """A merge that was not taken back. later: what `project` lines said after it, the oldest first."""

    seq: int
    source: str
    target: str
    folder: str
    to: str
    pages: dict[str, str]
    files: dict[str, str]
    later: tuple[dict[str, Any], ...]


def open_merges() -> Plan[list[MergeLine]]:
    """Merges that still hold, the newest first."""
    rows = yield Statement("select seq, data from project_line order by seq")
    said = [(seq, json.loads(data)) for seq, data in rows]
    undone = {line["of"] for _, line in said if line["op"] == "unmerge"}
    found = [
        MergeLine(
            seq, line["from"], line["project"], line["folder"], line["to"], line["pages"], line["files"],
            tuple(after for later, after in said if later > seq),
        )
        for seq, line in said
        if line["op"] == "merge" and seq not in undone
    ]  # fmt: skip
    return found[::-1]


def once_of(project: str) -> Plan[tuple[list[str], list[str]]]:
    """What a project was made of and called: its id with those of projects that are merged into it, and the folders
    that any of them had, as far as they were renamed or merged."""
    rows = yield Statement("select data from project_line order by seq desc")
    said = [json.loads(data) for (data,) in rows]
    merges = yield from open_merges()
    ids, folders = {project: None}, dict[str, None]()
    for _ in merges:
        ids |= {one.source: None for one in merges if one.target in ids}
    for line in said:
        if line["op"] == "rename" and line["project"] in ids:
            folders |= {line["from"]: None, line["to"]: None}
    for one in merges:
        if one.target in ids:
            folders |= {one.folder: None, one.to: None}
    return list(ids), list(folders)


def members_of_merge(line: int) -> Plan[dict[str, list[str]]]:
    """What a merge took along, by kind: ids of sessions, handoffs and so on."""
    rows = yield Statement("select kind, id from merge_member where line = ?", (line,))
    found: dict[str, list[str]] = {}
    for kind, name in rows:
        found.setdefault(kind, []).append(name)
    return found


def last_project_line() -> Plan[dict[str, Any] | None]:
    """What the newest line of type `project` said."""
    rows = yield Statement("select data from project_line order by seq desc limit 1")
    return json.loads(rows[0][0]) if rows else None


def renames() -> Plan[list[tuple[int, str, str]]]:
    """All renames of projects in their order: number of the line, folder before it, id of the project."""
    rows = yield Statement("select seq, data from project_line order by seq")
    lines = [(seq, json.loads(data)) for seq, data in rows]
    return [(seq, data["from"], data["project"]) for seq, data in lines if data.get("op") == "rename"]
