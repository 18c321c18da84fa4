"""Reading the cache: each read is a plan, written once and run over either kind of connection.

A plan is a generator that yields statements and is given their rows, so it holds the SQL beside what is made of it
and does no IO itself. `read` runs it over the standard library's connection, `aread` over aiosqlite's.
"""

import sqlite3
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import aiosqlite

from aimemory.index.connect import refusal

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT with its bound parameters."""

    sql: str
    params: Sequence[Any] = ()


Plan: TypeAlias = Generator[Statement, list[Row], T]


def read(db: sqlite3.Connection, plan: Plan[T]) -> T:
    """Run a plan. Raises NeedsRebuild when the file is damaged, Unavailable for any other refusal of SQLite's."""
    try:
        statement = next(plan)
        while True:
            statement = plan.send(db.execute(statement.sql, statement.params).fetchall())
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # StopIteration carries what the plan returned
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        raise refusal(error) from error


async def aread(db: aiosqlite.Connection, plan: Plan[T]) -> T:
    """`read` for the event loop: the statements run in the connection's own thread."""
    try:
        statement = next(plan)
        while True:
            rows = await db.execute_fetchall(statement.sql, statement.params)
            statement = plan.send([tuple(row) for row in rows])
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        raise refusal(error) from error
