"""A small store to search in."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aimemory.index.apply import apply_lines
from aimemory.index.connect import open_writer
from aimemory.index.pages import PageRow, upsert_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.journal.lines import Line
from aimemory.model.ids import PageId, Version
from aimemory.privacy import sanitize
from aimemory.recall.answer import Request, search


class Store:
    """Pages and observations of a test; `db` is the index they are in."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._seq = 0

    def page(self, path: str, body: str = "", **given: Any) -> None:
        fields: dict[str, Any] = {
            "id": PageId(path), "kind": "note", "title": path.removesuffix(".md"), "version": Version("v1"),
            "mtime_ns": 1, "size": 1,
        }  # fmt: skip
        row = PageRow(path=path, body=body, **(fields | given))
        upsert_pages(self.db, [sanitize("").derive(lambda _: row)])

    def observation(self, **given: Any) -> None:
        self._seq += 1
        at_ns = given.pop("at_ns", self._seq)
        data: dict[str, Any] = {
            "id": f"id{self._seq}", "key": f"key{self._seq}", "harness": "codex", "event": "UserPromptSubmit",
            "kind": "prompt", "session": "s1", "project": "p1",
        }  # fmt: skip
        apply_lines(self.db, [Line(self._seq, "observation", at_ns, data | given)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    db = open_writer(tmp_path / "index.sqlite3")
    yield Store(db)
    db.close()


@pytest.fixture
def paths(store: Store) -> Callable[..., list[str]]:
    """Paths of the pages that a query finds, best first."""

    def ask(text: str, limit: int = 10, **scope: Any) -> list[str]:
        answer = read(store.db, search(Request(text, Scope(**scope), limit)))
        return [hit.path for hit in answer.hits if hit.path]

    return ask
