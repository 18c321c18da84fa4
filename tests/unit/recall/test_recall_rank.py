"""What brings a hit to its place, and what an answer says about that."""

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aimemory.index.apply import apply_lines
from aimemory.index.connect import check, open_writer
from aimemory.index.pages import delete_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.journal.lines import Line
from aimemory.model.page import SearchAnswer
from aimemory.recall.answer import Request, search
from aimemory.recall.dates import Dates, dates_in, fit
from aimemory.recall.query import about_file
from aimemory.recall.spelling import edits

NOON = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()) * 10**9
DAY = 86_400 * 10**9


def _ask(store: Any, text: str, limit: int = 10, now_ns: int | None = None, **scope: Any) -> SearchAnswer:
    return read(store.db, search(Request(text, Scope(**scope), limit, None, now_ns)))


def _conversation(store: Any) -> None:
    for n in range(30):
        store.observation(kind="turn-end", message=f"we talked about gardening and topic number{n}")
    store.observation(prompt="Which port does the staging server of the parrot project use?")
    store.observation(kind="turn-end", message="It listens on 8443, behind the proxy.")
    for n in range(30):
        store.observation(kind="turn-end", message=f"then about cooking and dish number{n}", session="s2")


def test_an_answer_is_found_by_the_question_that_stands_before_it(store: Any) -> None:
    _conversation(store)

    hits = _ask(store, "parrot staging server port").hits

    assert [hit.seq for hit in hits[:2]] == [31, 32]
    assert hits[1].why == "recorded turn-end stands beside events that have the words"
    assert [hit.seq for hit in _ask(store, "parrot").hits] == [31], "one word is looked for, not talked about"
    assert [hit.seq for hit in _ask(store, '"staging server"').hits] == [31], "what is required is required"


@pytest.mark.promise("P1.200")
def test_what_stands_around_an_event_does_not_depend_on_the_order_of_arrival(store: Any, tmp_path: Path) -> None:
    lines = []
    for seq in range(1, 41):
        said = "the heron deploy needs a flag" if seq % 7 == 0 else f"it was set in step{seq}"
        data = {"id": f"i{seq}", "key": f"k{seq}", "harness": "codex", "event": "e", "kind": "prompt", "session": "s1",
                "project": "p1", "prompt": said}  # fmt: skip
        lines.append((seq * 1000, data))

    def answers(order: list[int], name: str) -> list[tuple[str | None, float]]:
        db = open_writer(tmp_path / name)
        for seq, number in enumerate(order, 1):  # one at a time, as events come
            at_ns, data = lines[number]
            apply_lines(db, [Line(seq, "observation", at_ns, data)])
        hits = read(db, search(Request("heron deploy flag", limit=40))).hits
        db.close()
        return sorted((hit.observation, hit.score) for hit in hits)

    in_time = answers(list(range(40)), "a")
    mixed = list(range(40))
    random.Random(3).shuffle(mixed)

    assert len(in_time) > 5
    assert answers(mixed, "b") == in_time


@pytest.mark.promise("P12.200")
def test_the_shares_of_a_hit_add_up_to_its_score_and_ranks_go_on_over_pages_of_hits(store: Any) -> None:
    for n in range(25):
        store.page(f"{n}.md", f"The walrus export of part {n} " + "and more " * n, title=f"Walrus {n}")
    store.page("old.md", "The walrus export of part 3", title="Walrus 3", status="superseded")
    store.observation(prompt="walrus export fails")

    first = _ask(store, "walrus export part 3", limit=10)
    second = read(store.db, search(Request("walrus export part 3", Scope(), 10, first.cursor)))

    hits = [*first.hits, *second.hits]
    assert [hit.rank for hit in hits] == list(range(1, 21))
    assert first.hits[0].path == "3.md" and first.hits[0].score == 1.0
    assert "old.md" in {hit.path for hit in hits}
    for hit in hits:
        assert sum(share for _, share in hit.shares) == pytest.approx(hit.score, abs=0.002)
        assert hit.explanation.startswith(hit.why)
    assert {"words", "title", "phrases"} <= {name for name, _ in first.hits[0].shares}


def test_side_tables_follow_changes_and_deletions(store: Any) -> None:
    store.page("a.md", "first text about otters", title="Otters")
    store.page("a.md", "second text about badgers", title="Badgers")
    store.page("b.md", "third text about otters")
    delete_pages(store.db, ["b.md"])

    assert check(store.db) == []
    assert _ask(store, "otters", observations=False).hits == ()
    assert [hit.path for hit in _ask(store, "badgers").hits] == ["a.md"]


def test_a_page_that_was_superseded_stands_behind_its_successor(store: Any) -> None:
    store.page(
        "old.md", "Use tabs for the parser. Tabs for the parser!", title="Tabs for the parser", status="superseded"
    )
    store.page("new.md", "Use spaces for the parser, no tabs.", title="Spaces")

    hits = _ask(store, "tabs parser").hits

    assert [hit.path for hit in hits] == ["new.md", "old.md"]
    assert dict(hits[1].shares)["superseded"] < 0 and hits[1].explanation.endswith("marked as superseded")


@pytest.mark.parametrize(
    "query",
    [
        "release notes of 14 May 2023", "release notes May 14, 2023", "release notes 2023-05-14",
        "release notes vom 14. Mai 2023", "2023年5月14日 release notes", "release notes, 14th of May",
    ],
)  # fmt: skip
def test_a_date_that_is_named_decides_between_pages_that_say_the_same(store: Any, query: str) -> None:
    for day in ("2023-05-14", "2023-07-02", "2024-05-20", "2026-01-01"):
        store.page(f"{day}.md", "release notes", title="Release", created=f"{day}T12:00:00+00:00")

    assert _ask(store, query).hits[0].path == "2023-05-14.md"


@pytest.mark.parametrize(
    ("query", "days"),
    [("what failed yesterday", 1), ("gestern: was failed", 1), ("昨天 failed", 1), ("failed 3 days ago", 3),
     ("failed vor 2 Wochen", 14), ("what failed last week", 1)],
)  # fmt: skip
def test_words_for_days_are_counted_from_now(store: Any, query: str, days: int) -> None:
    for ago in (0, 1, 3, 7, 14, 40):
        store.observation(prompt=f"it failed {ago}", at_ns=NOON - ago * DAY)

    hits = _ask(store, query, now_ns=NOON).hits

    assert hits[0].date is not None
    assert (NOON - int(datetime.fromisoformat(hits[0].date).timestamp()) * 10**9) // DAY == days


def test_numbers_and_words_that_are_no_dates_are_none() -> None:
    for text in ("may I use mar 3x", "version 2.2023.1", "error 2024-99-99", "port 8443 dec", "sort the seeds"):
        found = dates_in(text)
        assert not found or found == Dates(), text
    assert dates_in("in june, of 2023").named == dates_in("June 2023").named
    assert fit(Dates(), datetime(2023, 5, 14).date()) == 0.0


@pytest.mark.promise("P12.201")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [("postgers", "postgres"), ("databse", "database"), ("migratoin", "migration"), ("cofnig", "config")],
)
def test_a_misspelt_word_is_taken_as_the_nearest_known_one_and_that_is_said(store: Any, typed: str, meant: str) -> None:
    store.page("wanted.md", f"The {meant} was moved to another host.")
    store.page("other.md", "Parrots and herons. " + "A mover is migrating databases and configs. " * 3)

    answer = _ask(store, f"{typed} moved")

    assert answer.hits[0].path == "wanted.md" and meant in answer.hits[0].why
    assert answer.loosened == f"'{typed}' occurs nowhere; taken as '{meant}'."
    assert _ask(store, f"{meant} moved").loosened is None
    assert _ask(store, "xqzvk").hits == () and _ask(store, "xqzvk").loosened is None


@pytest.mark.parametrize("typed", ["greeting", "greet", "gray"])
def test_a_word_of_which_more_than_a_third_is_another_is_no_correction(store: Any, typed: str) -> None:
    store.page("grant.md", "The grant was moved over gravel.")

    assert _ask(store, f"{typed} moved").loosened is None


def test_an_umlaut_that_is_written_out_is_no_correction_to_tell(store: Any) -> None:
    store.page("a.md", "Frau Müller kennt die Anlage.")

    answer = _ask(store, "mueller")

    assert [hit.path for hit in answer.hits] == ["a.md"] and answer.loosened is None
    assert _ask(store, "mullerr").loosened == "'mullerr' occurs nowhere; taken as 'muller'."


def test_edits_are_counted_up_to_a_bound() -> None:
    assert [edits("abcd", b, 2) for b in ("abcd", "abdc", "abc", "xbcd", "abcdef", "wxyz")] == [0, 1, 1, 1, 2, 3]


def test_what_only_other_projects_have_is_said(store: Any) -> None:
    store.page("default/b/x.md", "the walrus", project="b")

    assert _ask(store, "walrus", projects=("a",)).notes[-1] == (
        "Other projects have 1: search them with the project *."
    )
    assert len(_ask(store, "zebra", projects=("a",)).notes) == 1


def test_filters_for_a_file_and_for_events_alone(store: Any) -> None:
    store.page("a.md", "the timeout", paths="src/net/http.py")
    store.page("b.md", "the timeout of http.py", paths="src/other.py")
    store.observation(tool="Edit", kind="post-tool", files_written=["/app/src/net/http.py"], prompt="the timeout")
    store.observation(prompt="the timeout")

    file = about_file("net/http.py")
    hits = _ask(store, "timeout", file=file).hits
    assert [(hit.path, hit.seq) for hit in hits] == [("a.md", None), (None, 1)]
    assert {hit.seq for hit in _ask(store, "timeout", pages=False).hits} == {1, 2}
    assert about_file("...") is None


def test_a_page_that_names_a_file_in_its_title_text_or_code_is_about_it(store: Any) -> None:
    store.page("title.md", "the timeout", title="Why app/cache/pool.py waits")
    store.page("text.md", "See `app/cache/pool.py`: the timeout.")
    store.page("code.md", "The timeout:\n\n```sh\nvim app/cache/pool.py\n```\n")
    store.page("paths.md", "the timeout", paths="app/cache/pool.py")
    store.page("other.md", "the timeout of app/cache/pool.pyi, of the pool and of pool.py in another app")

    def names(file: str, text: str) -> set[str | None]:
        return {hit.path for hit in _ask(store, text, file=about_file(file)).hits}

    for text in ("timeout", ""):
        assert names("app/cache/pool.py", text) == {"title.md", "text.md", "code.md", "paths.md"}
        assert names("pool", text) == {"paths.md"}, "one word alone is no path where a text says it"


def test_a_query_without_words_says_when_no_page_is_within_its_filters(store: Any) -> None:
    assert _ask(store, "").notes == ("The query has no words, and there are no pages.",)
    store.page("a.md", "the timeout")

    nothing = _ask(store, "", file=about_file("lib/none.py"))

    assert nothing.hits == () and len(nothing.notes) == 1 and "no page is within these filters" in nothing.notes[0]
    assert "No page here is of the kind 'nope'" in " ".join(_ask(store, "", kinds=("nope",)).notes)
    assert _ask(store, "").notes == ("The query has no words, so these are the newest pages.",)
