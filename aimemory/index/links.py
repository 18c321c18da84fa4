"""Links between pages: kept in step with the pages, read from both ends.

Where a link leads depends on which other pages there are, so a page that comes or goes lets every link that asks for
its name find its page again. `model.links` has the rule.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.index.read import Plan, Row, Statement
from aimemory.model.links import Link, LinkKind, LinkRole, file_name, matches, wanted_name

_MAX_RAW = 300


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link of the page `source`. dest: the page that it leads to, None for a broken one or a file.

    fits: how many pages it could mean; with more than one, `dest` is the one that Obsidian opens.
    """

    source: str
    link: Link
    dest: str | None
    fits: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    links: int
    broken: int
    ambiguous: int


# -- writing, in the transaction of the pages ------------------------------------------------------------------------


def links_changed(db: sqlite3.Connection, links: Mapping[str, Sequence[Link]]) -> None:
    """Replace the links of these pages."""
    db.execute("delete from link where source in (select value from json_each(?))", (_dumps(list(links)),))
    found = [
        (source, pos, link, wanted_name(link.target)) for source, some in links.items() for pos, link in enumerate(some)
    ]
    if not found:
        return
    paths = _paths_named(db, {name for *_, name in found})
    for some in (found[at : at + _ROWS] for at in range(0, len(found), _ROWS)):
        values: list[Any] = []
        for source, pos, link, name in some:
            fits = matches(link.target, source, paths.get(name, ()))
            values += [
                source, pos, link.kind.value, link.raw[:_MAX_RAW], link.target, name, link.alias, link.heading,
                link.block, int(link.is_file), link.role.value, fits[0] if fits else None, len(fits),
            ]  # fmt: skip
        db.execute(_INSERT + ",".join([_VALUES] * len(some)), values)


def find_again(db: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Let the links that ask for the names of these pages, which came or went, find their pages again."""
    names = {file_name(path) for path in paths}
    if not names:
        return
    asking = db.execute(
        "select source, pos, target, name, dest, fits from link where name in (select value from json_each(?))",
        (_dumps(sorted(names)),),
    ).fetchall()
    there = _paths_named(db, names) if asking else {}
    changed = []
    for source, pos, target, name, dest, count in asking:
        fits = matches(target, source, there.get(name, ()))
        if (fits[0] if fits else None, len(fits)) != (dest, count):
            changed.append([source, pos, fits[0] if fits else None, len(fits)])
    if changed:
        db.execute(_UPDATE, (_dumps(changed),))


def _paths_named(db: sqlite3.Connection, names: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    rows = db.execute(
        "select name, path from page where name in (select value from json_each(?)) order by path",
        (_dumps(sorted(names)),),
    )
    for name, path in rows:
        found.setdefault(name, []).append(path)
    return found


# -- reading ---------------------------------------------------------------------------------------------------------


def links_from(path: str, limit: int = 1000) -> Plan[list[LinkRow]]:
    """The links of a page, in the order of its text."""
    rows = yield Statement(f"select {_COLUMNS} from link where source = ? order by pos limit ?", (path, limit))
    return [_row(row) for row in rows]


def links_to(path: str, limit: int = 1000) -> Plan[list[LinkRow]]:
    """The links of other pages that lead to this one, by page and place; those of generated listings are left out."""
    rows = yield Statement(
        f"""select {_COLUMNS} from link where dest = ?1 and source <> ?1
        and source not in (select path from page where kind = 'index') order by source, pos limit ?2""",
        (path, limit),
    )
    return [_row(row) for row in rows]


def pages_linking_to(path: str, limit: int = 20) -> Plan[list[str]]:
    """Paths of the other pages with a link that leads to this one, by path; generated listings are left out."""
    rows = yield Statement(
        """select distinct source from link where dest = ?1 and source <> ?1
        and source not in (select path from page where kind = 'index') order by source limit ?2""",
        (path, limit),
    )
    return [found for (found,) in rows]


def links_into(folder: str) -> Plan[list[LinkRow]]:
    """Links to pages below `workspace/folder`, by page and place."""
    rows = yield Statement(
        f"select {_COLUMNS} from link where dest >= ? and dest < ? order by source, pos", (f"{folder}/", f"{folder}0")
    )  # "0" follows "/"
    return [_row(row) for row in rows]


def broken_links_named(name: str, limit: int = 100_000) -> Plan[list[LinkRow]]:
    """Links that ask for this `wanted_name` and lead nowhere, by page and place."""
    rows = yield Statement(
        f"select {_COLUMNS} from link where name = ? and dest is null order by source, pos limit ?", (name, limit)
    )
    return [_row(row) for row in rows]


def broken_links(limit: int = 1000, folder: str = "") -> Plan[list[LinkRow]]:
    """Links that lead to no page, by page and place; links to other files are not judged, nor
    are bare names, which may be no page's. folder: below it only."""
    rows = yield Statement(
        f"""select {_COLUMNS} from link where dest is null and not is_file and kind <> 'named'
        and (?1 = '' or (source >= ?1 || '/' and source < ?1 || '0')) order by source, pos limit ?2""",
        (folder, limit),
    )
    return [_row(row) for row in rows]


def ambiguous_links(limit: int = 1000, folder: str = "") -> Plan[list[LinkRow]]:
    """Links that several pages fit, by page and place. folder: below it only."""
    rows = yield Statement(
        f"""select {_COLUMNS} from link where fits > 1
        and (?1 = '' or (source >= ?1 || '/' and source < ?1 || '0')) order by source, pos limit ?2""",
        (folder, limit),
    )
    return [_row(row) for row in rows]


def link_counts(folder: str = "") -> Plan[LinkCounts]:
    """Of all pages, or of those below `workspace/folder`."""
    rows = yield Statement(
        """select count(*), coalesce(sum(dest is null and not is_file and kind <> 'named'), 0),
            coalesce(sum(fits > 1), 0) from link
        where ?1 = '' or (source >= ?1 || '/' and source < ?1 || '0')""",
        (folder,),
    )
    return LinkCounts(*rows[0])


def paths_of_names(names: Sequence[str]) -> Plan[dict[str, list[str]]]:
    """Paths of the pages with these `file_name`s."""
    rows = yield Statement(
        "select name, path from page where name in (select value from json_each(?)) order by path",
        (_dumps(list(names)),),
    )
    found: dict[str, list[str]] = {}
    for name, path in rows:
        found.setdefault(name, []).append(path)
    return found


def shared_names(limit: int = 100) -> Plan[list[tuple[str, tuple[str, ...]]]]:
    """Names that several pages have, with their paths; `index.md` and `log.md`, which are never linked, left out."""
    rows = yield Statement(
        """select name, json_group_array(path) from (select name, path from page order by path)
        where name not in ('index.md', 'log.md') group by name having count(*) > 1 order by name limit ?""",
        (limit,),
    )
    return [(name, tuple(json.loads(paths))) for name, paths in rows]


_COLUMNS = "source, kind, raw, target, alias, heading, block, role, dest, fits"

_ROWS = 64  # bound values, several rows a statement: as `apply` does for observations, for the same reasons
_INSERT = """
insert into link(source, pos, kind, raw, target, name, alias, heading, block, is_file, role, dest, fits)
values """
_VALUES = f"({','.join('?' * 13)})"

_UPDATE = """
update link set dest = c.value->>2, fits = c.value->>3 from json_each(?) c
where link.source = c.value->>0 and link.pos = c.value->>1
"""


def _row(row: Row) -> LinkRow:
    source, kind, raw, target, alias, heading, block, role, dest, fits = row
    return LinkRow(source, Link(LinkKind(kind), raw, target, alias, heading, block, LinkRole(role)), dest, fits)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
