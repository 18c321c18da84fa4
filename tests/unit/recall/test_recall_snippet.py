"""What a hit shows."""

from typing import Any

import pytest

from aimemory.index.read import read
from aimemory.recall.answer import Request, merge, search
from aimemory.recall.hits import Place
from aimemory.recall.snippet import find_start, folded, snippet, words_in


def _starts(*words: str) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


def test_the_part_with_the_most_different_words_is_shown() -> None:
    text = "alpha " + "x " * 300 + "alpha with beta and gamma " + "y " * 300 + "beta"

    shown = snippet(text, _starts("alpha", "beta", "gamma"))

    assert "alpha with beta and gamma" in shown
    assert shown.startswith("… ") and shown.endswith(" …") and len(shown) <= 240


def test_a_text_without_the_words_is_shown_from_its_start_and_a_short_one_whole() -> None:
    assert snippet("## Goal\n\n- Add  PDF\texport\x07", []) == "Goal Add PDF export"
    assert snippet("word " * 200, _starts("absent")).startswith("word word")
    assert snippet("", _starts("x")) == ""


def test_texts_without_spaces_and_with_accents_are_shown_around_the_match() -> None:
    text = "前" * 400 + "飞书的插件" + "后" * 400
    assert "飞书的插件" in snippet(text, [("飞书", "飞书")])
    assert "Café" in snippet("a " * 300 + "Café" + " b" * 300, [("cafe", "Café")])
    assert len(snippet("x" * 5000, [])) <= 240


def test_folding_keeps_every_position() -> None:
    for text in ("Straße ﬁn İx é e\u0301 Ａ가가", "plain"):
        assert len(folded(text)) == len(text)


def test_short_words_must_be_whole_and_long_ones_may_be_inside() -> None:
    assert find_start("identity of ids", "id") == 12
    assert find_start("getuserbyid", "user") == 3
    assert find_start("mypdfs", "pdf") == -1
    assert words_in("PDF export", [("pdf", "pdf"), ("export", "exporting"), ("x", "x")]) == ("pdf", "exporting")


def _row(table: str, row: int, score: float) -> Place:
    return Place(table, row, score, 0)  # type: ignore[arg-type]


def test_observations_take_at_most_every_third_place_until_the_pages_run_out() -> None:
    pages = [_row("page", n, 0.1) for n in range(4)]
    observations = [_row("observation", n, 0.6) for n in range(6)]

    kinds = [ranked.table[0] for ranked in merge(pages, observations, 20)]

    assert "".join(kinds) == "ppoppooooo"
    assert merge(pages, observations, 3) == merge(pages, observations, 20)[:3]
    assert merge([], [], 5) == []


LONG = (
    "# Runbook\n\nAbout the walrus.\n\n## Setup\n\n"
    + "The walrus is fed. " * 9000
    + "\n\n### Linux\n\n```\n# no heading\n```\n\nThe walrus needs the heron_socket of the kernel.\n\nWindows\n-------\n\n"
    + "The walrus sleeps. " * 500
)


@pytest.mark.promise("P12.361")
def test_a_hit_in_a_long_page_names_the_headings_where_it_is_and_shows_that_place(store: Any) -> None:
    store.page("long.md", LONG, title="Runbook")
    store.page("short.md", "Walrus without any heading, fed well.", title="Short")

    def hit(query: str) -> Any:
        (found,) = [one for one in read(store.db, search(Request(query))).hits if one.path == "long.md"]
        return found

    deep = hit("walrus heron_socket kernel")
    assert len(LONG) > 170_000
    assert deep.section == "Setup > Linux" and "heron_socket of the kernel" in deep.snippet
    assert "'socket'" in deep.why
    assert hit("about the walrus").section == "" and hit("walrus fed").section == "Setup"
    assert hit("walrus sleeps").section == "Windows"
    (short,) = [one for one in read(store.db, search(Request("walrus fed"))).hits if one.path == "short.md"]
    assert short.section == ""
