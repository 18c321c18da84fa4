"""Any text at all gets an answer of the search, bounded in CPU, and a page that says just that text is in it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aimemory.index.apply import apply_lines
from aimemory.index.connect import open_writer
from aimemory.index.pages import PageRow, upsert_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.journal.lines import Line
from aimemory.model.ids import PageId, Version
from aimemory.privacy import sanitize
from aimemory.recall.answer import Request, search
from aimemory.recall.query import parse

CPU_S = 2.0

PIECES = [
    "deploy", "the", "AND", "OR", "NOT", "NEAR(", ")", "*", "^", ":", '"', "'", "-", "--", "+", "{", "}", "(", "C++", "C#",
    "getUserById", "snake_case", "src/main.py", "v1.2.3-rc.1", "ADR-016", "-draft", "20.04", "飞书", "插件的配置", "什么", "記憶を",
    "の", "データベース", "역사를", "เกม", "Straße", "Uebung", "ısı", "हिन्दी", "كِتَاب", "\u0301", "\u200d", "\u202e", "🦓", "⚠️", "\x00",
    "\ud800", "\udfff", "\n", "\t", "  ", "ﬁ", "½", "Ａ", "ｱ", "yesterday", "2026-11-30", "in May", "%", "\\", "?1", "title:",
]  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.text(st.characters(), max_size=200),
    st.tuples(st.sampled_from(PIECES), st.integers(100, 4_000)).map(lambda drawn: drawn[0] * drawn[1]),
)
COMMON = st.text(
    st.characters(max_codepoint=0x02FF) | st.characters(min_codepoint=0x3041, max_codepoint=0x9FFF), max_size=5
)
"""Latin, kana, ideographs. FTS5's tables are older than Unicode: letters of young or dead scripts are none to it."""


def put(db: Any, path: str, body: str) -> None:
    row = PageRow(
        path=path, id=PageId(path), kind="note", title="A title", body=body, version=Version("1"), mtime_ns=1, size=1
    )
    upsert_pages(db, [sanitize("").derive(lambda _: row)])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("index")
    db = open_writer(folder / "index.sqlite3")
    for number, piece in enumerate(PIECES):
        text = piece.encode(errors="replace").decode().replace("\x00", " ")
        put(db, f"{number}.md", f"{text} deploy {number}")
        said = {"id": str(number), "key": str(number), "harness": "codex", "event": "note", "kind": "note",
                "session": "s", "project": "p", "text": text}  # fmt: skip
        apply_lines(db, [Line(number + 1, "observation", number, said)])
    yield db
    db.close()


@pytest.mark.promise("P5.282")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, narrowed=st.booleans())
def test_any_text_gets_an_answer(index: Any, text: str, narrowed: bool) -> None:
    scope = Scope(projects=("p",), since_ns=1) if narrowed else Scope()
    before = time.process_time()

    answer = read(index, search(Request(text, scope, limit=5, now_ns=1_800_000_000 * 10**9)))

    assert time.process_time() - before < CPU_S
    assert all(hit.why for hit in answer.hits)
    assert answer.hits or answer.notes


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.lists(st.one_of(st.sampled_from(PIECES), COMMON), max_size=30).map("".join))
def test_the_page_that_says_it_is_found(index: Any, text: str) -> None:
    put(index, "same.md", text.encode(errors="replace").decode().replace("\x00", " "))

    answer = read(index, search(Request(text, Scope(observations=False), limit=50)))

    assert parse(text).is_empty or "same.md" in [hit.path for hit in answer.hits] or answer.total > 50
