"""Near-duplicates are one hit; a cursor goes on where an answer ended, or says that it can't."""

from typing import Any

import pytest

from aimemory.errors import UserError
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.model.page import SearchAnswer
from aimemory.recall.alike import alike, signature
from aimemory.recall.answer import Request, search

LONG = "The walrus deploy fails when the proxy answers late, so we retry, said " + " ".join(
    f"person{n}" for n in range(60)
)


def _ask(store: Any, text: str, limit: int = 10, cursor: str | None = None, **scope: Any) -> SearchAnswer:
    return read(store.db, search(Request(text, Scope(**scope), limit, cursor, fold=True)))


def _names(answer: SearchAnswer) -> list[str]:
    return [hit.path or hit.session or "" for hit in answer.hits]


@pytest.mark.promise("P11.261")
def test_hits_that_say_nearly_the_same_are_one_that_names_the_others(store: Any) -> None:
    for n in range(4):
        store.page(f"{n}.md", f"{LONG} Seen on day {n}.", title="Walrus deploy", updated=f"2026-11-0{n + 1}")
    store.page("other.md", "the walrus swims and the deploy is another thing", title="Walrus")
    for n in range(3):
        store.observation(prompt="Deploy  the walrus" if n else "deploy the walrus", session=f"s{n}")

    answer = _ask(store, "walrus deploy")

    first = answer.hits[0]
    assert first.path == "3.md" and first.like_count == 3 and set(first.like) == {"0.md", "1.md", "2.md"}
    (event,) = [hit for hit in answer.hits if hit.kind == "observation"]
    assert event.like_count == 2 and all(name.startswith("session s") for name in event.like)
    assert len(answer.hits) == answer.total == 3 and answer.cursor is None
    assert len(read(store.db, search(Request("walrus deploy"))).hits) == 8, "only where it is asked for"


@pytest.mark.promise("P11.261")
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("deploy staging", "Deploy  Staging!", True),
        ("deploy staging", "deploy production", False),
        ("timeout is 30", "timeout is 60", False),
        (LONG, LONG.replace("person30", "persona", 1), True),
        (LONG, LONG + LONG, True),
        (LONG, "something else entirely, " * 30, False),
        (LONG, LONG.replace("person", "guest"), False),
        ("我们决定把飞书的插件配置放到设置里面。" * 3, "我们决定把飞书的插件配置放到设置里面。" * 3 + "完", True),
        ("我们决定把飞书的插件配置放到设置里面", "我们决定把钉钉的插件配置放到设置里面", False),
        ("?!", "…", False),
    ],
)  # fmt: skip
def test_which_texts_say_nearly_the_same(one: str, other: str, expected: bool) -> None:
    assert alike(signature(one), signature(other)) is expected


@pytest.mark.promise("P11.261")
def test_what_is_of_another_kind_or_outdated_is_never_hidden_behind_another(store: Any) -> None:
    store.page("now.md", LONG, title="Walrus", kind="decision", updated="2026-11-03")
    store.page("old.md", LONG, title="Walrus", kind="decision", status="superseded", updated="2026-11-02")
    store.page("note.md", LONG, title="Walrus", updated="2026-11-01")

    answer = _ask(store, "walrus deploy")

    assert _names(answer) == ["now.md", "note.md", "old.md"]
    assert [hit.labels for hit in answer.hits] == [(), (), ("superseded",)]


@pytest.mark.promise("P11.262")
def test_parts_of_an_answer_join_without_gap_or_double_also_where_hits_are_folded(store: Any) -> None:
    for n in range(30):
        store.page(f"{n:02}.md", f"walrus number {n // 2}", title="same")  # two of each
    whole = _names(_ask(store, "walrus", limit=100))
    parts: list[str] = []
    cursor = None
    while True:
        answer = _ask(store, "walrus", limit=4, cursor=cursor)
        parts += _names(answer)
        if (cursor := answer.cursor) is None:
            break

    assert parts == whole and len(whole) == len(set(whole)) == 15
    assert [hit.rank for hit in answer.hits] == list(range(13, 16))


@pytest.mark.promise("P11.262")
def test_a_cursor_holds_while_nothing_before_it_changes_and_says_so_when_it_is_stale(store: Any) -> None:
    for n in range(12):
        store.page(f"{n:02}.md", f"walrus number {n} " + "and other words " * n)
    first = _ask(store, "walrus", limit=5)
    rest = _names(_ask(store, "walrus", limit=50, cursor=first.cursor))

    store.observation(prompt="something else that came meanwhile")
    assert _names(_ask(store, "walrus", limit=50, cursor=first.cursor)) == rest
    for other in ({"text": "walrus number"}, {"text": "walrus", "kinds": ("note",)}):
        with pytest.raises(UserError, match="stale"):
            _ask(store, limit=5, cursor=first.cursor, **other)
    store.page("new.md", "walrus walrus walrus", title="walrus")
    with pytest.raises(UserError, match="stale"):
        _ask(store, "walrus", limit=5, cursor=first.cursor)


@pytest.mark.promise("P11.262")
def test_the_newest_pages_are_paged_alike(store: Any) -> None:
    for n in range(1, 6):
        store.page(f"{n}.md", updated=f"2026-01-0{n}")
    first = _ask(store, "", limit=2)
    assert _names(first) == ["5.md", "4.md"] and _names(_ask(store, "?!", 2, first.cursor)) == ["3.md", "2.md"]
    store.page("6.md", updated="2026-01-06")
    with pytest.raises(UserError, match="stale"):
        _ask(store, "", limit=2, cursor=first.cursor)
