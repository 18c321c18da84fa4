"""Rankers to compare: plain full text (the floor), the reference that comes with the sets, ours without a daemon."""

import importlib.util
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sets import Document, Group

from aimemory.index import vectors
from aimemory.index.apply import apply_lines, batches
from aimemory.index.connect import open_reader, open_writer
from aimemory.index.pages import PageRow, upsert_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.model.ids import PageId, ProjectId, Version
from aimemory.privacy import sanitize
from aimemory.recall.answer import Request, search
from aimemory.recall.meaning import Meaning
from aimemory.recall.words import STOP_WORDS
from aimemory.store.vectors import BODY_CHARS, QueryMeaning

HITS = 10
PROJECT = ProjectId("bench")


class Ranker(Protocol):
    """Positions of documents for a query, best first."""

    def __call__(self, text: str) -> list[int]: ...


def plain_terms(text: str) -> str:
    words = [word.lower() for word in re.findall(r"[^\W_]+", text)]
    saying = [w for w in words if w not in STOP_WORDS and (len(w) > 1 or w.isdigit())]
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(saying or words))


@contextmanager
def plain(group: Group) -> Iterator[Ranker]:
    """One FTS5 table, porter, OR, stop words, bm25(3, 1, 1, .5): what ours must never fall below."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "create virtual table page using fts5(title, body, paths, idents, tokenize='porter unicode61 remove_diacritics 2')"
    )
    db.executemany(
        "insert into page(rowid, title, body, paths, idents) values (?, ?, ?, ?, ?)",
        [
            (i, d.title or d.speaker, d.body, "\n".join(d.paths), " ".join(d.idents))
            for i, d in enumerate(group.documents)
        ],
    )

    def ask(text: str) -> list[int]:
        rows = db.execute(
            "select rowid from page where page match ? order by bm25(page, 3, 1, 1, 0.5) limit ?",
            (plain_terms(text), HITS),
        )
        return [row for (row,) in rows]

    yield ask
    db.close()


def reference(folder: Path) -> Any:
    """The reference ranker that lies beside the sets, or None; it is their code and not part of this repository."""
    file = folder / "reference.py"
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location("reference", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def fused_reference(module: Any, group: Group) -> Iterator[Ranker]:
    """The recipe as that ranker computes it."""
    documents = [
        {
            "title": d.title or d.speaker, "body": d.body, "paths": "\n".join(d.paths), "idents": " ".join(d.idents),
            "when": d.when, **({"session": d.session} if group.is_turns else {}),
        }
        for d in group.documents
    ]  # fmt: skip
    ranker = module.Ranker(documents)
    yield lambda text: ranker.fused(text, HITS)  # type: ignore[no-any-return]
    ranker.db.close()


@dataclass(frozen=True, slots=True)
class BenchLine:
    """A journal line without a journal."""

    seq: int
    type: str
    at_ns: int
    data: dict[str, Any]
    data_json: str | None = None


def page_row(number: int, document: Document) -> PageRow:
    day = document.at.isoformat()
    return PageRow(
        path=f"default/bench/notes/page-{number}.md", id=PageId(str(number)), kind="note", title=document.title,
        body=document.body, version=Version("1"), mtime_ns=0, size=len(document.body), created=day, project=PROJECT,
        workspace="default", paths="\n".join(document.paths), idents=" ".join(document.idents),
    )  # fmt: skip


def event_line(number: int, document: Document) -> BenchLine:
    data = {
        "id": str(number), "key": str(number), "hash": str(number), "harness": "generic", "event": "note",
        "kind": "note", "session": document.session, "project": PROJECT, "tool": document.speaker,
        "text": document.body,
    }  # fmt: skip
    return BenchLine(number + 1, "observation", int(document.at.timestamp() + number) * 10**9, data)


def fill(db: sqlite3.Connection, group: Group) -> None:
    if group.is_turns:
        for batch in batches(event_line(i, d) for i, d in enumerate(group.documents)):
            apply_lines(db, batch)
        return
    gate = sanitize("")  # public text: what is measured is ranking
    rows = [gate.derive(lambda _, i=i, d=d: page_row(i, d)) for i, d in enumerate(group.documents)]
    for begin in range(0, len(rows), 500):
        upsert_pages(db, rows[begin : begin + 500])


@contextmanager
def in_process(group: Group, with_vectors: bool = False) -> Iterator[Ranker]:
    """The product's own index and search, without daemon, wiki and journal: for quick experiments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite3"
        db = open_writer(path)
        fill(db, group)
        reader = open_reader(path)
        scope = Scope(projects=(PROJECT,), pages=not group.is_turns)
        meaning = meanings(Path(folder), reader) if with_vectors else lambda text: None

        def ask(text: str) -> list[int]:
            hits = read(reader, search(Request(text, scope, HITS, meaning=meaning(text)))).hits
            return [int(hit.observation or Path(hit.path or "").stem.removeprefix("page-")) for hit in hits]

        yield ask
        reader.close()
        db.close()


def meanings(folder: Path, index: sqlite3.Connection) -> Callable[[str], Meaning | None]:
    """Static vectors of all pages, made as the daemon makes them; says on stderr what that took."""
    from aimemory.providers.static import StaticModel, wheel_folder
    from aimemory.store.vectormaking import StaticMaker, take

    place = wheel_folder()
    assert place, "the extra is not installed"
    maker = StaticMaker(StaticModel(place), db := vectors.open_vectors(folder / "vectors.sqlite3"))
    before = time.process_time()
    after = 0
    while sources := read(index, vectors.page_sources(after, 20, BODY_CHARS)):
        take(maker, db, sources)
        after = sources[-1].row
    while maker.go_on(db):
        pass
    pages, _, chunks = vectors.counts(db, maker.generation)
    if pages:
        each = (time.process_time() - before) * 1e3 / chunks
        print(f"{pages} pages, {chunks} chunks, {each:.2f} ms of CPU a chunk", file=sys.stderr)
    known = (maker.model.provider, maker.model.model, maker.model.dimension)

    def meaning(text: str) -> Meaning | None:
        vector = maker.query(sanitize(text), 0)
        if vector is None:
            return None
        return QueryMeaning(
            vector, maker.weight(text), lambda paths: vectors.vectors_of(db, paths, known, maker.generation)
        )

    return meaning
