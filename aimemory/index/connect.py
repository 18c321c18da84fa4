"""Opening the cache: one write connection, read connections of both kinds, and when the file has to be built anew."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiosqlite

from aimemory import points
from aimemory.errors import AimemoryError, Damaged, Unavailable
from aimemory.index.schema import DDL, SCHEMA
from aimemory.index.signals import TABLES

_BUSY_MS = 5000
_CACHE_KIB = 8192
_WAL_LIMIT_BYTES = 64 << 20
_SIDE_FILES = ("-wal", "-shm", "-journal")
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""What SQLite says on a full disk; the second where it makes the file that connections share."""
_NO_ROOM_ERRNO = (errno.ENOSPC, errno.EDQUOT)


class NeedsRebuild(Damaged):
    """The cache is damaged, of another schema, or not a database: set it aside and build it from wiki and journal."""


def open_writer(path: Path) -> sqlite3.Connection:
    """The one write connection; makes the tables in a new file.

    The connection may be used from any one thread at a time. `synchronous=NORMAL`: after a power loss the newest
    transactions may be missing, never torn; the journal has them. Transactions are explicit (autocommit otherwise).
    Raises NeedsRebuild for a file of another schema, or one that is no database or damaged where it was looked at;
    Unavailable where there is no room for the files beside it.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000)
    with _closed_on_failure(db, path):
        _configure(db)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.execute(f"pragma journal_size_limit={_WAL_LIMIT_BYTES}")
        if _is_empty(db):
            db.executescript(f"begin immediate; {DDL} pragma user_version={SCHEMA}; commit;")
        _check_schema(db, path)
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that can't write, for one thread at a time. Raises NeedsRebuild as `open_writer` does."""
    try:
        db = sqlite3.connect(_read_only(path), uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from error
    with _closed_on_failure(db, path):
        _configure(db)
        _check_schema(db, path)
    return db


@contextmanager
def _closed_on_failure(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    try:
        yield
    except AimemoryError:
        db.close()
        raise
    except sqlite3.DatabaseError as error:
        db.close()
        raise _unusable(path, error) from error


async def open_async_reader(path: Path) -> aiosqlite.Connection:
    """A connection that can't write, with a thread of its own; close it with `await db.close()`.

    Raises NeedsRebuild as `open_writer` does.
    """
    open_reader(path).close()  # the checks live in one place
    db = await aiosqlite.connect(_read_only(path), uri=True, isolation_level=None)
    try:
        await db.execute(f"pragma busy_timeout={_BUSY_MS}")
        await db.execute(f"pragma cache_size=-{_CACHE_KIB}")
    except sqlite3.DatabaseError as error:
        await db.close()
        raise _unusable(path, error) from error
    return db


def set_aside(path: Path) -> Path:
    """Move the cache out of the way for a rebuild; returns where it is now. One such copy is kept, the newest.

    Every connection to it must be closed before.
    """
    aside = path.with_name(f"{path.name}.set-aside")
    for side in _SIDE_FILES:
        path.with_name(path.name + side).unlink(missing_ok=True)
    points.reached("index.side-files-removed")
    path.replace(aside)
    points.reached("index.set-aside")
    return aside


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong inside the file, in a few words each; empty when all is well. Reads everything: seconds, not ms.

    Compares the full-text indexes with the rows they were made from, so a change of either alone is seen. Needs the
    write connection. Raises Unavailable on a full disk.
    """
    problems = []
    try:
        # not quick_check: up to SQLite 3.40 at least it sees a NULL in tables without rowid whose primary key has the
        # columns in another order than the table (`project_alias`)
        result = db.execute("pragma integrity_check(1)").fetchone()[0]
        if result != "ok":
            problems.append("the database file is damaged")
    except sqlite3.DatabaseError as error:
        if is_no_room(error):
            raise refusal(error) from error
        problems.append(f"the database file is damaged ({error.sqlite_errorname})")
    for table in ("page_fts", "observation_fts", *TABLES):
        try:
            db.execute(f"insert into {table}({table}, rank) values ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if is_no_room(error):
                raise refusal(error) from error
            problems.append(f"{table} doesn't match its rows ({error.sqlite_errorname})")
    return problems


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, all or nothing. Raises what `refusal` makes of SQLite's errors; bugs stay bugs."""
    try:
        db.execute("begin immediate")
        yield
        points.reached("index.before-commit")
        db.execute("commit")
        points.reached("index.committed")
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise refusal(error) from error
    finally:
        if db.in_transaction:
            db.execute("rollback")


def is_no_room(error: BaseException) -> bool:
    """Whether this, or what it was made of, is a full disk, which says nothing of the index."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(_NO_ROOM) or getattr(error, "errno", None) in _NO_ROOM_ERRNO:
        return True
    return error.__cause__ is not None and is_no_room(error.__cause__)


def refusal(error: sqlite3.Error) -> AimemoryError:
    """SQLite's error in our words; its own text is left out, since it may quote what was asked."""
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if is_no_room(error):  # an index built anew needs more room than the one that is there
        return Unavailable("The disk is full: the index can't be written. Free some room; it goes on by itself then.")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR")):
        return NeedsRebuild(f"The index is damaged ({name}). It is a cache: `aimemory reindex` builds it anew.")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT")):
        return Unavailable(f"The index is busy ({name}). Try again.")
    return Unavailable(
        f"The index can't answer ({name}); this is not the same as finding nothing. "
        "Try again, and if it stays so run `aimemory reindex`."
    )


def _configure(db: sqlite3.Connection) -> None:
    db.execute(f"pragma busy_timeout={_BUSY_MS}")
    db.execute(f"pragma cache_size=-{_CACHE_KIB}")
    db.execute("pragma mmap_size=0")


def _is_empty(db: sqlite3.Connection) -> bool:
    (tables,) = db.execute("select count(*) from sqlite_master").fetchone()
    (version,) = db.execute("pragma user_version").fetchone()
    return bool(tables == 0 and version == 0)


def _check_schema(db: sqlite3.Connection, path: Path) -> None:
    (found,) = db.execute("pragma user_version").fetchone()
    if found != SCHEMA:
        raise NeedsRebuild(
            f"{path} has schema {found}, this version needs {SCHEMA}. It is a cache: `aimemory reindex` builds it anew."
        )
    db.execute("select value from meta where key = 'applied_seq'").fetchone()


def _unusable(path: Path, error: sqlite3.DatabaseError) -> AimemoryError:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if is_no_room(error):
        return refusal(error)
    return NeedsRebuild(f"{path} can't be used ({name}). It is a cache: `aimemory reindex` builds it anew.")


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"
