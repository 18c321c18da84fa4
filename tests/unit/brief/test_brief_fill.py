"""The budget: never above it, whole items, the most important first, and what was left out is said."""

import re

import pytest
from brief_sessions import SECOND, START_NS, answer, prompt, ran, session, wrote
from hypothesis import given, settings
from hypothesis import strategies as st

from aimemory.brief.fence import fence
from aimemory.brief.fill import fill
from aimemory.brief.parts import BriefItem, BriefPart, last_session_parts, other_sessions_part, recent_pages_part
from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId, Version
from aimemory.model.page import Page

PARTS = st.lists(
    st.builds(
        BriefPart,
        st.integers(0, 3),
        st.text("ab字:", min_size=1, max_size=30),
        st.lists(
            st.builds(BriefItem, st.text("xy字 ", max_size=300), st.sampled_from(["a.md", "字.md"])), max_size=8
        ).map(tuple),
    ),
    max_size=5,
)


def part(rank: int, heading: str, *texts: str, source: str = "p.md") -> BriefPart:
    return BriefPart(rank, heading, tuple(BriefItem(text, source) for text in texts))


def overfull() -> list[BriefPart]:
    """300 pages, 500 files, huge prompts, much of it Chinese. INJ-01."""
    big = session(
        prompt("修复导出功能 " * 3_000), *(ran(f"make target-{n} 目标", True, 2, "错误 " * 400) for n in range(40)),
        wrote(*(f"源码/模块{n}/文件.py" for n in range(500))), prompt("再试一次 " * 3_000),
        answer("还没有完成 " * 2_000),
    )  # fmt: skip
    others = [
        session(prompt(f"任务 {n} " * 90), name=f"s{n}", page=f"d/{n}.md", start_ns=START_NS - n * SECOND)
        for n in range(30)
    ]
    pages = [
        Page(f"default/app/notes/页面-{n}.md", PageId(str(n)), "note", f"页面 {n}", "", Version("v"))
        for n in range(300)
    ]
    git = GitSummary("main", "a" * 40, "主题", tuple(f"源码/{n}.py" for n in range(400)), ())
    return [*last_session_parts(big, git), other_sessions_part(others), recent_pages_part(pages)]


@pytest.mark.promise("P11.51")
@pytest.mark.parametrize(
    ("chars", "size"), [(6_000, None), (6_000, 10_000), (10_000, 10_000), (3_000, 4_000), (100_000, 6_000)]
)
def test_a_brief_never_exceeds_its_budget_in_characters_or_bytes(chars: int, size: int | None) -> None:
    filled = fill(overfull(), chars, budget_bytes=size)
    block = fence(filled.text, key=b"k", session="s")
    assert filled.text
    assert len(block) <= chars
    assert size is None or len(block.encode()) <= size


def test_the_first_2000_characters_hold_what_matters_most() -> None:
    head = fence(fill(overfull(), 6_000).text, key=b"k", session="s")[:2_000]
    for needed in (
        "Goal: “修复",
        "Last request: “再试",
        "Failed: `make target-39",
        "Branch `main`",
        "Uncommitted files (400)",
    ):
        assert needed in head


def test_what_was_left_out_is_said_with_the_way_to_read_it() -> None:
    filled = fill(overfull(), 6_000)
    assert re.search(r"Left out for length: .*\d+ of “Recent pages”\.", filled.text)
    assert "`memory_read_page`" in filled.text
    assert "`memory_search`" in filled.text
    assert len(filled.dropped) > 200


def test_nothing_is_said_to_be_left_out_when_all_fits() -> None:
    filled = fill([part(1, "A", "one")], 6_000)
    assert filled.dropped == ()
    assert "Left out" not in filled.text


def test_every_line_names_its_source_and_every_source_is_listed() -> None:
    text = fill(overfull(), 6_000).text
    numbers = [re.search(r" \[(\d+)\]$", line) for line in text.split("\n") if line.startswith("- ")]
    assert all(numbers)
    listed = re.findall(r"^\[(\d+)\] \S", text, re.MULTILINE)
    assert {number[1] for number in numbers if number} == set(listed)


def test_parts_go_by_rank_and_items_in_their_order() -> None:
    text = fill([part(2, "Second", "c"), part(1, "First", "a", "b")], 6_000).text
    assert [line for line in text.split("\n") if line[0] in "#-"] == [
        "## First",
        "- a [1]",
        "- b [1]",
        "## Second",
        "- c [1]",
    ]


def test_an_item_that_is_too_long_is_dropped_whole_and_smaller_ones_still_fit() -> None:
    filled = fill([part(1, "A", "small", "x" * 1_000, "also small")], 700)
    assert "xx" not in filled.text
    assert "also small" in filled.text
    assert [item.text for item in filled.dropped] == ["x" * 1_000]


def test_equal_parts_give_equal_bytes() -> None:
    assert fill(overfull(), 6_000) == fill(overfull(), 6_000)


@pytest.mark.parametrize("budget", [0, 100, 300])
def test_a_budget_too_small_for_anything_gives_nothing(budget: int) -> None:
    filled = fill([part(1, "A", "one " * 50)], budget)
    assert (filled.text, len(filled.dropped)) == ("", 1)


def test_nothing_to_say_is_no_brief() -> None:
    assert fill([part(1, "A")], 6_000).text == ""
    assert fill([], 6_000).text == ""


@settings(max_examples=150, deadline=None)
@given(PARTS, st.integers(0, 2_500), st.one_of(st.none(), st.integers(0, 2_500)))
def test_any_parts_stay_within_any_budget_and_no_item_is_lost_silently(
    parts: list[BriefPart], chars: int, size: int | None
) -> None:
    filled = fill(parts, chars, budget_bytes=size)
    kept = sum(line.startswith("- ") for line in filled.text.split("\n"))
    assert kept + len(filled.dropped) == sum(len(each.items) for each in parts)
    if filled.text:
        block = fence(filled.text, key=b"k", session="s")
        assert len(block) <= chars
        assert size is None or len(block.encode()) <= size
