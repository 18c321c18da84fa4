"""Two caches compared row by row, in SQLite itself, so that memory stays bounded however large they are."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from aimemory.index.dump import PAGE_TEXT, TABLES

_NAMED = 1000
_NAME = {"page": 1, "page_text": 1, "link": 1, "project": 1, "project_alias": 3, "written": 1}
"""Tables that speak of pages: which column names the page, from 1."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How one table differs. missing: rows that only the other one has; extra: rows that only this one has.

    names: first columns, or the page's path, of some of those rows.
    """

    table: str
    missing: int
    extra: int
    names: tuple[str, ...]

    @property
    def is_of_pages(self) -> bool:
        """Made from the files of the wiki, not from the journal."""
        return self.table in _NAME and self.table != "written"


def differences(db: sqlite3.Connection, other: Path) -> list[Difference]:
    """What the open cache says otherwise than the one in the file `other`; empty when they answer alike."""
    db.execute("attach ? as other", (str(other),))
    try:
        return [d for table in (*TABLES, "page_text") if (d := _compared(db, table)) is not None]
    finally:
        db.execute("detach other")


def _compared(db: sqlite3.Connection, table: str) -> Difference | None:
    missing, some = _only(db, table, "other", "main")
    extra, more = _only(db, table, "main", "other")
    names = tuple(dict.fromkeys((*some, *more)))[:_NAMED]
    return Difference(table, missing, extra, names) if missing or extra else None


def _only(db: sqlite3.Connection, table: str, here: str, there: str) -> tuple[int, list[str]]:
    sql = f"{_rows(table, here)} except {_rows(table, there)}"
    found: list[str] = []
    count = 0
    for row in db.execute(sql):
        count += 1
        if len(found) < _NAMED:
            found.append(str(row[_NAME.get(table, 1) - 1]))
    return count, found


def _rows(table: str, schema: str) -> str:
    if table == "page_text":
        return PAGE_TEXT.replace("from page_text", f"from {schema}.page_text").replace(
            "join page", f"join {schema}.page"
        )
    return f"select {TABLES[table]} from {schema}.{table}"
