"""A new index, and the lines and pages to fill it with."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aimemory.index.connect import open_writer
from aimemory.index.pages import PageRow
from aimemory.journal.lines import Line
from aimemory.model.ids import PageId, Version
from aimemory.privacy import Sanitized, sanitize


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite3"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_writer(path)
    yield connection
    connection.close()


@pytest.fixture
def observed() -> Callable[..., Line]:
    """A journal line of type observation; fields that aren't given are those of a shell command."""

    def make(seq: int, **given: Any) -> Line:
        at_ns = given.pop("at_ns", seq * 1000)
        data: dict[str, Any] = {
            "id": f"id{seq}", "key": f"key{seq}", "hash": f"hash{seq}", "harness": "codex", "event": "PostToolUse",
            "kind": "post-tool", "session": "s1", "project": "p1", "cwd": "/home/ana/app", "pid": 7,
        }  # fmt: skip
        return Line(seq, "observation", at_ns, data | given)

    return make


@pytest.fixture
def page_of() -> Callable[..., Sanitized[PageRow]]:
    """A page of the wiki as the store hands it over."""

    def make(path: str, **given: Any) -> Sanitized[PageRow]:
        fields: dict[str, Any] = {
            "id": PageId(path), "kind": "note", "title": path, "body": "", "version": Version("v1"), "mtime_ns": 1,
            "size": 1,
        }  # fmt: skip
        return sanitize("").derive(lambda _: PageRow(path=path, **(fields | given)))

    return make
