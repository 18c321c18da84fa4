"""What is found, in which order, and what the answer says about it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aimemory.errors import AimemoryError, Unavailable, UserError
from aimemory.index.connect import open_async_reader
from aimemory.index.read import aread, read
from aimemory.index.search import Scope
from aimemory.model.page import SearchAnswer
from aimemory.recall.answer import Request, search

Paths = Callable[..., list[str]]


def _ask(store: Any, text: str, limit: int = 10, cursor: str | None = None, **scope: Any) -> SearchAnswer:
    return read(store.db, search(Request(text, Scope(**scope), limit, cursor)))


@pytest.mark.parametrize(
    ("body", "queries"),
    [
        ("我们决定把飞书的插件配置放到设置里面，结果保存在本地。", ["飞书", "插件配置", "飞书插件配置结果", "里"]),
        ("我们决定把飞书的插件配置放到设置里面，结果保存在本地。", ["设置里面，结果", '"设置里面"', "到设"]),
        ("昨日データベースの移行を実行しました。記憶は失われません。", ["記憶", "データ", "移行を実行", "失"]),
        ("昨日データベースの移行を実行しました。", ["ﾃﾞｰﾀﾍﾞｰｽ"]),
        ("사용자 역사를 데이터베이스에 저장하는 API를 추가했다", ["역사", "데이터베이스", "이터베", "역사 API", "api"]),
        ("ระบบบันทึกการประชุมประจำสัปดาห์", ["การประชุม", "บันทึก", "ประจำ", "สัปดาห์"]),
        ("Straße und Café, naïve İstanbul", ["strasse", "STRASSE", "cafe", "cafe\u0301", "naive", "istanbul"]),
        ("كَتَبَ مُحَمَّد الرِّسَالَة", ["محمد", "الرسالة", "مُحَمَّد"]),
        ("हिन्दी भाषा में लिखा", ["हिन्दी", "भाषा"]),
        ("See ADR-016, CVE-2026-1234, Ubuntu 20.04, TS 38.101", ["ADR-016", "CVE-2026-1234", "20.04", "-38.101"]),
        ("Run with --error-on-warnings and -Wall", ['"--error-on-warnings"', "-Wall", "error-on-warn"]),
        ("def getUserById(snake_case_name): ...", ["user", "getUserById", "case", "snake_case", "getuserby"]),
        ("files: src/main/session-recovery.py, health.base", ["src/main", "session-rec", "health.base", "recovery.py"]),
        ("We don't use agents from Downloads/transcripts", ["don't use agents", "Downloads/transcripts", "agent"]),
        (r"opened C:\Users\ana\report.txt", [r"C:\Users\ana\report.txt", "report"]),
        ("a C++ compiler", ["C++"]),
    ],
)  # fmt: skip
def test_a_page_is_found_by_any_part_of_what_it_says(store: Any, paths: Paths, body: str, queries: list[str]) -> None:
    store.page("wanted.md", body)
    store.page("other.md", "quite another thing, xyzzy")

    assert {query: paths(query) for query in queries} == {query: ["wanted.md"] for query in queries}


def test_words_far_apart_and_long_questions_find_the_page(store: Any, paths: Paths) -> None:
    store.page("migration.md", "The database was moved. " + "filler " * 20 + "This migration took an hour.")
    store.page("brief.md", "The session brief is composed for the hook.")
    store.page("noise.md", "Which file is it? Where and how, and what about that?")

    assert paths("database migration") == ["migration.md"]
    question = "Where is the automatic session brief wired into the hook, and which module composes it?"
    assert paths(question)[0] == "brief.md"


def test_a_whole_name_beats_its_parts(store: Any, paths: Paths) -> None:
    store.page("scattered.md", "ADR 12 speaks of 016 things. " * 3)
    store.page("named.md", "Superseded by ADR-016, see there for why this was given up in the end.")

    assert paths("ADR-016")[0] == "named.md"


def test_of_pages_that_say_the_same_the_newer_comes_first_and_an_older_exact_one_beats_new_noise(
    store: Any, paths: Paths
) -> None:
    store.page("a.md", "deploy of the billing service", updated="2026-11-01", title="Deploy")
    store.page("b.md", "deploy of the billing service", updated="2026-11-03", title="Deploy")
    store.page("c.md", "deploy of the billing service", updated="2026-11-02", title="Deploy")
    store.page("noise.md", "the service desk " + "moved " * 30, updated="2026-11-09")

    assert paths("deploy billing service") == ["b.md", "c.md", "a.md", "noise.md"]


def test_a_minus_that_means_nothing_in_a_longer_query_is_told(store: Any) -> None:
    store.page("a.md", "The hook writes a draft of the brief for each session and the pool.")

    told = _ask(store, 'hook writes brief for each session pool -draft -"use redis"')

    assert told.hits and told.loosened == (
        '-draft, -"use redis" taken as plain words: a minus leaves out in up to 6 words that are no sentence.'
    )
    assert _ask(store, "hook -drift brief").loosened is None
    assert _ask(store, "hook writes a brief for each session\nfind . -name x").loosened is None
    assert _ask(store, "gcc -Wall -x --pool and each hook of the session that ran").loosened is None


def test_phrases_must_occur_and_excluded_words_must_not(store: Any, paths: Paths) -> None:
    store.page("a.md", "the session brief for a hook")
    store.page("b.md", "a brief session with the hook, draft")

    assert paths('"session brief"') == ["a.md"]
    assert paths("hook -draft") == ["a.md"]
    assert _ask(store, "hook -draft").notes == ("Left out what has 'draft'; without the minus it is looked for.",)


def test_what_nothing_meets_is_loosened_and_the_answer_says_so(store: Any) -> None:
    store.page("a.md", "a brief session")

    answer = _ask(store, '"session brief"')
    assert [hit.path for hit in answer.hits] == ["a.md"]
    assert answer.loosened is not None and '"session brief"' in answer.loosened
    assert _ask(store, "brief").loosened is None

    nothing = _ask(store, '"no such" thing')
    assert nothing.hits == () and nothing.loosened is None
    assert nothing.notes == ("Nothing has any of these words.",)


def test_a_hit_says_why_and_shows_where(store: Any) -> None:
    store.page("a.md", "Intro. " * 60 + "Then **exports** to PDF were added.", title="PDF export", tags=("reporting",))

    (hit,) = _ask(store, "exporting pdf, xyzzy").hits

    assert hit.why == "title has 'exporting', 'pdf'; text has 'exporting', 'pdf'"
    assert "exports** to PDF" in hit.snippet and hit.snippet.startswith("… ") and len(hit.snippet) <= 240
    assert (hit.title, hit.kind, hit.version) == ("PDF export", "note", "v1")
    assert [h.path for h in _ask(store, "reporting").hits] == ["a.md"], "tags are words of the page"


def test_observations_are_found_and_labelled_and_do_not_crowd_pages_out(store: Any) -> None:
    for n in range(20):
        store.observation(prompt=f"fix the walrus, attempt {n}")
    for n in range(20):
        store.page(f"{n}.md", f"The walrus, part {n}, with more words about it and other things")

    hits = _ask(store, "walrus", limit=9).hits
    assert sum(hit.kind == "observation" for hit in hits) <= 3
    assert [hit.kind for hit in hits[:2]] == ["note", "note"]

    only = _ask(store, "attempt", limit=30).hits
    assert len(only) == 20 and {hit.kind for hit in only} == {"observation"}
    assert only[0].why == "recorded prompt has 'attempt'" and only[0].title == "prompt of codex"
    assert only[0].session == "s1" and only[0].observation and only[0].seq and only[0].path is None


def test_an_event_before_and_after_a_tool_ran_is_one_hit(store: Any) -> None:
    store.observation(kind="pre-tool", tool="Bash", command="pytest -k walrus")
    store.observation(kind="post-tool", tool="Bash", command="pytest -k walrus")
    store.observation(kind="post-tool", tool="Bash", command="pytest -k walrus", session="s2")

    answer = _ask(store, "walrus")
    assert sorted(hit.session or "" for hit in answer.hits) == ["s1", "s2"]
    assert answer.total == 2


@pytest.mark.promise("P11.61")
def test_a_common_word_leads_to_paging_and_a_total(store: Any) -> None:
    for n in range(25):
        store.page(f"{n:02}.md", f"walrus {n}")
    store.observation(prompt="walrus")

    first = _ask(store, "walrus", limit=10)
    second = _ask(store, "walrus", limit=10, cursor=first.cursor)
    third = _ask(store, "walrus", limit=10, cursor=second.cursor)

    assert first.total == second.total == third.total == 26
    assert first.cursor and not first.notes  # who shows it says how to go on
    everything = [hit.path or hit.observation for a in (first, second, third) for hit in a.hits]
    assert len(everything) == len(set(everything)) == 26
    assert third.cursor is None
    assert everything == [hit.path or hit.observation for hit in _ask(store, "walrus", limit=100).hits]


def test_a_cursor_that_is_not_ours_is_refused(store: Any) -> None:
    store.page("a.md", "walrus")
    for cursor in ("x", "-1", "5", "0-123456789abc", "10; drop", "99999999999999999999999", "٣-123456789abc"):
        with pytest.raises(UserError, match="cursor"):
            _ask(store, "walrus", cursor=cursor)


def test_an_empty_query_gives_the_newest_pages_and_says_so(store: Any) -> None:
    store.page("old.md", updated="2026-01-01")
    store.page("new.md", updated="2026-02-01")

    answer = _ask(store, " ?! ", limit=1)
    assert [hit.path for hit in answer.hits] == ["new.md"] and "newest pages" in answer.notes[0]
    assert [hit.path for hit in _ask(store, "", limit=1, cursor=answer.cursor).hits] == ["old.md"]


def test_a_scope_excludes_what_is_not_in_it(store: Any, paths: Paths) -> None:
    day = 86_400_000_000_000
    store.page("a.md", "walrus", project="p1", kind="decision", tags=("x", "y"), updated="1970-01-03")
    store.page("b.md", "walrus", project="p2", updated="1970-01-05")
    store.observation(prompt="walrus", project="p1", at_ns=2 * day)
    store.observation(prompt="walrus two", project="p2", harness="claude-code", session="s2", at_ns=4 * day)

    def kinds(**scope: Any) -> list[str]:
        return sorted(hit.path or hit.session or "" for hit in _ask(store, "walrus", **scope).hits)

    assert kinds() == ["a.md", "b.md", "s1", "s2"]
    assert kinds(projects=("p1",)) == ["a.md", "s1"]
    assert kinds(projects=("p1", "p2"), kinds=("note",)) == ["b.md"]
    assert kinds(tag="y") == ["a.md"] and kinds(tag="z") == []
    assert kinds(harness="claude-code") == ["s2"] and kinds(session="s1") == ["s1"]
    assert kinds(since_ns=3 * day) == ["b.md", "s2"] and kinds(until_ns=2 * day) == ["a.md", "s1"]
    assert kinds(observations=False) == ["a.md", "b.md"]
    assert paths("", projects=("p2",)) == ["b.md"]


def test_a_query_with_only_common_words_is_answered_from_the_newest_observations(store: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("aimemory.recall.candidates._RANKED_ROWS", {"page": 5, "observation": 5})
    for n in range(30):
        store.observation(prompt=f"walrus number{n}")

    answer = _ask(store, "walrus")
    assert [hit.seq for hit in answer.hits] == [30, 29, 28, 27, 26] and answer.total == 30
    assert _ask(store, "walrus number3").hits[0].seq == 4, "a rare word finds old ones as well"


@pytest.mark.promise("P12.51")
def test_a_broken_index_is_an_error_and_never_an_empty_answer(store: Any) -> None:
    store.page("a.md", "walrus")
    store.db.execute("drop table observation_fts")
    with pytest.raises(Unavailable, match="not the same as finding nothing"):
        _ask(store, "walrus")

    store.db.execute("update page_fts_data set block = x'00' where id > 10")
    with pytest.raises(AimemoryError, match="reindex"):
        _ask(store, "walrus", kinds=("note",))


def test_the_event_loop_gets_the_same_answer(store: Any, tmp_path: Path) -> None:
    store.page("a.md", "walrus")

    async def ask() -> SearchAnswer:
        db = await open_async_reader(tmp_path / "index.sqlite3")
        try:
            return await aread(db, search(Request("walrus")))
        finally:
            await db.close()

    assert asyncio.run(ask()) == _ask(store, "walrus")
