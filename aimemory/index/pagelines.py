"""Reading who wrote which version of a page: every journal line of type `page`; `written` keeps the last alone."""

from dataclasses import dataclass

from aimemory.index.read import Plan, Row, Statement


@dataclass(frozen=True, slots=True)
class PageLine:
    """One journal line of type `page`. version: None where it was deleted. source: the path before, for `move`."""

    seq: int
    path: str
    source: str | None
    version: str | None
    op: str
    at_ns: int
    user: str | None
    harness: str | None
    session: str | None


def page_lines(path: str, limit: int = 1000) -> Plan[list[PageLine]]:
    """The newest lines of one path, oldest first."""
    rows = yield Statement(
        f"""select * from (select {_COLUMNS} from page_line where path = ? order by seq desc limit ?) order by seq""",
        (path, limit),
    )
    return [_line(row) for row in rows]


def lines_of_session(session: str) -> Plan[list[PageLine]]:
    """What a session wrote, oldest first."""
    rows = yield Statement(f"select {_COLUMNS} from page_line where session = ? order by seq", (session,))
    return [_line(row) for row in rows]


def paths_named(name: str, limit: int = 20) -> Plan[list[str]]:
    """Paths that were ever written whose file name, without `.md`, is this; for pages that are gone."""
    like = "".join(f"\\{c}" if c in "\\%_" else c for c in name)
    rows = yield Statement(
        "select distinct path from page_line where path like '%/' || ? || '.md' escape '\\' order by path limit ?",
        (like, limit),
    )
    return [path for (path,) in rows]


_COLUMNS = "seq, path, source, version, op, at, user, harness, session"


def _line(row: Row) -> PageLine:
    return PageLine(*row)
