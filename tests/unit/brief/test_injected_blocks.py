"""Our own blocks, whole or cut, are taken out of what a harness sends. Faults: INJ-13."""

import pytest

from aimemory.brief.fence import fence
from aimemory.model.fence import remove_injected

BLOCK = fence("## Last session\n- Goal: “Add it” [1]\n\n[1] page.md", key=b"k", session="s1")
MIDDLE = len(BLOCK) // 2


@pytest.mark.promise("P8.2")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        (BLOCK, ""),
        (f"{BLOCK}\n\nGo on, please", "Go on, please"),
        (f"Before\n{BLOCK}\nbetween\n{BLOCK}\nafter", "Before\n\nbetween\n\nafter"),
        (f"Before\n{BLOCK[:MIDDLE]}", "Before"),
        (f"{BLOCK[MIDDLE:]}\nGo on", "Go on"),
        (f"{BLOCK[MIDDLE:]}\nGo on\n{BLOCK[:MIDDLE]}", "Go on"),
        (f"Before\n{BLOCK[:15]}", "Before"),
        (BLOCK.replace("\n", "\r\n") + "\r\nGo on", "Go on"),
        (BLOCK.replace("\n", "\\n") + "\\nGo on", "\\nGo on"),
    ],
    ids=["whole", "before text", "twice", "end cut", "beginning cut", "middle cut", "tag cut", "crlf", "escaped"],
)
def test_nothing_of_a_block_is_left_and_all_of_the_rest(text: str, left: str) -> None:
    assert remove_injected(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  plain text \n",
        "Why does <aimemory-0123456789ab> stand there?",
        "an </aimemory-0123456789ab> alone",
        "<aimemory>",
    ],
)
def test_text_that_only_mentions_the_tag_is_kept_as_it_is(text: str) -> None:
    assert remove_injected(text) == text


def test_a_text_of_many_open_tags_takes_linear_time() -> None:
    text = "<aimemory-0123456789ab>\n" * 200_000
    assert remove_injected(text) == ""
