"""The file of vectors: what was made of which page's text, by which model. A cache of its own beside the index.

It is no table of the index: an index is thrown away and built anew in seconds, while vectors may have cost minutes or
money. Numbers are bytes here; what they mean is the providers' business. A file that is damaged or of another schema is
thrown away.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aimemory.index.read import Plan, Statement

SCHEMA = 1
_SIDES = ("", "-wal", "-shm", "-journal")
_NEW = ".new"

_DDL = f"""
begin immediate;
create table vector(
    n integer primary key,
    path text not null unique,
    version text not null,
    hash text not null,
    provider text not null,
    model text not null,
    dimension integer not null,
    generation integer not null,
    chunks integer not null,
    tokens blob not null,
    vectors blob not null
) strict;
create index vector_generation on vector(generation, chunks);
create table counted(
    one integer primary key check (one = 1), generation integer not null, chunks integer not null, counts blob not null
) strict;
pragma user_version = {SCHEMA};
commit;
"""


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A page's vectors. version: of the page. hash: of the text that they were made of. chunks: parts of that text.

    generation: of the weights that they were made with, 0 while none are made, -1 where there are none.
    tokens: to make them again, or nothing.
    """

    path: str
    version: str
    hash: str
    provider: str
    model: str
    dimension: int
    generation: int
    chunks: int
    tokens: bytes
    vectors: bytes


@dataclass(frozen=True, slots=True)
class PageSource:
    """What vectors are made of: a page's text as the index has it, behind the privacy gate."""

    row: int
    path: str
    version: str
    title: str
    body: str

    @property
    def hash(self) -> str:
        """Of the text, not of the file: the same file may pass a stricter gate tomorrow."""
        return hashlib.blake2b(f"{self.title}\n{self.body}".encode(), digest_size=16).hexdigest()


# -- of the index ----------------------------------------------------------------------------------------------------


def page_sources(after: int, limit: int, body_chars: int) -> Plan[list[PageSource]]:
    """Pages by row number, of the text at most `body_chars`; `after` goes on."""
    rows = yield Statement(f"select {_SOURCE} where p.n > ? order by p.n limit ?", (body_chars, after, limit))
    return [PageSource(*row) for row in rows]


def sources_at(paths: Sequence[str], body_chars: int) -> Plan[list[PageSource]]:
    """These pages, as far as they are there."""
    rows = yield Statement(
        f"select {_SOURCE} where p.path in (select value from json_each(?))", (body_chars, _dumps(paths))
    )
    return [PageSource(*row) for row in rows]


def page_versions(rows: Sequence[int]) -> Plan[list[tuple[int, str, str]]]:
    """(row, path, version) of pages by row number."""
    return (yield Statement(
        "select n, path, version from page where n in (select value from json_each(?))", (_dumps(rows),)
    ))  # fmt: skip


def paths_there(paths: Sequence[str]) -> Plan[set[str]]:
    """Those of the paths that are pages."""
    rows = yield Statement("select path from page where path in (select value from json_each(?))", (_dumps(paths),))
    return {path for (path,) in rows}


def page_count() -> Plan[int]:
    return int((yield Statement("select count(*) from page"))[0][0])


_SOURCE = "p.n, p.path, p.version, p.title, substr(t.body, 1, ?) from page p join page_text t on t.n = p.n"

# -- of the file -----------------------------------------------------------------------------------------------------


def open_vectors(path: Path) -> sqlite3.Connection:
    """The connection that writes; the file is made anew where it can't be used. For one thread at a time."""
    try:
        return _opened(path)
    except sqlite3.DatabaseError:
        remove_vectors(path)
        return _opened(path)


def open_vectors_reader(path: Path) -> sqlite3.Connection:
    """A connection that can't write, for one thread at a time."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False, timeout=0.2
    )
    db.execute("pragma cache_size=-2048")
    return db


def remove_vectors(path: Path) -> None:
    """The file with all that lies beside it; nothing of it may be open."""
    for name in (path.name, path.name + _NEW):
        for side in _SIDES:
            path.with_name(name + side).unlink(missing_ok=True)


def known(db: sqlite3.Connection, paths: Sequence[str]) -> dict[str, tuple[str, str, tuple[Any, ...]]]:
    """By path: version, hash, and (provider, model, dimension) of what is there."""
    found = db.execute(
        """select path, version, hash, provider, model, dimension from vector
        where path in (select value from json_each(?))""",
        (_dumps(paths),),
    )
    return {path: (version, digest, tuple(model)) for path, version, digest, *model in found}


def put(db: sqlite3.Connection, rows: Iterable[VectorRow]) -> None:
    """Insert or replace, in one transaction."""
    with _transaction(db):
        db.executemany(
            f"insert or replace into vector({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [tuple(getattr(row, name) for name in _NAMES) for row in rows],
        )


def same_text(db: sqlite3.Connection, versions: Iterable[tuple[str, str]]) -> None:
    """(path, version): the page was written anew, and what it says is the same."""
    with _transaction(db):
        db.executemany("update vector set version = ?2 where path = ?1", list(versions))


def drop(db: sqlite3.Connection, paths: Sequence[str]) -> None:
    with _transaction(db):
        db.execute("delete from vector where path in (select value from json_each(?))", (_dumps(paths),))


def paths_after(db: sqlite3.Connection, last: str, limit: int) -> list[str]:
    return [path for (path,) in db.execute(
        "select path from vector where path > ? order by path limit ?", (last, limit)
    )]  # fmt: skip


def counts(db: sqlite3.Connection, generation: int) -> tuple[int, int, int]:
    """Pages that are there, those of them with vectors of this generation, and chunks in all."""
    found = db.execute(
        """select count(*), coalesce(sum(generation = ?), 0), coalesce(sum(chunks), 0)
        from vector""",
        (generation,),
    ).fetchone()
    return int(found[0]), int(found[1]), int(found[2])


def all_tokens(db: sqlite3.Connection) -> Iterator[bytes]:
    for (tokens,) in db.execute("select tokens from vector"):
        yield tokens


def of_other_generation(db: sqlite3.Connection, generation: int, limit: int) -> list[tuple[str, bytes]]:
    """(path, tokens) of pages whose vectors are to be made again."""
    return db.execute("select path, tokens from vector where generation <> ? limit ?", (generation, limit)).fetchall()


def put_vectors(db: sqlite3.Connection, generation: int, made: Iterable[tuple[str, bytes]]) -> None:
    """(path, vectors), in one transaction."""
    with _transaction(db):
        db.executemany(
            "update vector set generation = ?1, vectors = ?3 where path = ?2", [(generation, *one) for one in made]
        )


def counted(db: sqlite3.Connection) -> tuple[int, int, bytes]:
    """The generation of the weights, of how many chunks they were counted, and the counts; zeros before the first."""
    found = db.execute("select generation, chunks, counts from counted").fetchone()
    return found or (0, 0, b"")


def put_counted(db: sqlite3.Connection, generation: int, chunks: int, found: bytes) -> None:
    with _transaction(db):
        db.execute("insert or replace into counted values (1, ?, ?, ?)", (generation, chunks, found))


def vectors_of(
    db: sqlite3.Connection, paths: Sequence[str], model: tuple[str, str, int], generation: int
) -> dict[str, tuple[str, bytes]]:
    """By path: the version of the page that they were made of, and the vectors; of this model and generation only."""
    found = db.execute(
        """select v.path, version, vectors from json_each(?) j cross join vector v on v.path = j.value
        where (provider, model, dimension) = (?, ?, ?) and +generation = ?""",  # by path, not by generation
        (_dumps(paths), *model, generation),
    )
    return {path: (version, vectors) for path, version, vectors in found}


class Survivors:
    """The rows that still belong to a page, in a new file that then takes the old one's place.

    What is forgotten is in no page of the new file, free ones included. Counts of tokens are left behind, since they
    counted what is gone too.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fresh = path.with_name(path.name + _NEW)
        for side in _SIDES:
            self._fresh.with_name(self._fresh.name + side).unlink(missing_ok=True)
        self._old = open_vectors(path)
        self._new = _opened(self._fresh)

    def keep(self, sources: Sequence[PageSource]) -> None:
        """Take what was made of exactly these texts along. Vectors that depend on counts are to be made again."""
        hashes = {source.path: source.hash for source in sources}
        rows = self._old.execute(
            f"select {_COLUMNS} from vector where path in (select value from json_each(?))", (_dumps(list(hashes)),)
        )
        kept = [VectorRow(*row) for row in rows if row[2] == hashes[row[0]]]
        put(self._new, [_unweighed(row) for row in kept])

    def take_place(self) -> None:
        """Nothing else may have the old file open."""
        self._old.close()
        self._new.execute("pragma wal_checkpoint(truncate)")
        self._new.close()
        for side in _SIDES:
            self._path.with_name(self._path.name + side).unlink(missing_ok=True)
        self._fresh.replace(self._path)
        for side in _SIDES[1:]:
            self._fresh.with_name(self._fresh.name + side).unlink(missing_ok=True)

    def close(self) -> None:
        """Both, whatever became of them."""
        self._old.close()
        self._new.close()


def _unweighed(row: VectorRow) -> VectorRow:
    if not row.tokens:
        return row
    return VectorRow(
        row.path, row.version, row.hash, row.provider, row.model, row.dimension, 0, row.chunks, row.tokens, b""
    )


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
    try:
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.execute("pragma cache_size=-4096")
        (schema,) = db.execute("pragma user_version").fetchone()
        (tables,) = db.execute("select count(*) from sqlite_master").fetchone()
        if not tables and not schema:
            db.executescript(_DDL)
        elif schema != SCHEMA:
            raise sqlite3.DatabaseError("another schema")
        db.execute("select count(*) from counted").fetchone()
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, all or nothing."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    finally:
        if db.in_transaction:
            db.execute("rollback")


_NAMES = (
    "path", "version", "hash", "provider", "model", "dimension", "generation", "chunks", "tokens", "vectors",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)


def _dumps(values: Sequence[Any]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
