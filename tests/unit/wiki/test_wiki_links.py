"""What is a link, and where it leads: Obsidian's verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aimemory.model.links import Link, LinkKind, base_name, file_name, link_text, matches, wanted_name
from aimemory.wiki.links import links_of, spots
from aimemory.wiki.parse import parse_page

W, E, M = LinkKind.WIKI, LinkKind.EMBED, LinkKind.MARKDOWN


def found(text: str) -> list[tuple[str, ...]]:
    return [(s.link.kind, s.link.target, s.link.alias, s.link.heading, s.link.block) for s in spots(text)]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[Note]]", (W, "Note", "", "", "")),
        ("see [[Note|its name]].", (W, "Note", "its name", "", "")),
        ("[[Note#A heading]]", (W, "Note", "", "A heading", "")),
        ("[[Note#One#Two|x]]", (W, "Note", "x", "One#Two", "")),
        ("[[Note#Heading^block]]", (W, "Note", "", "Heading^block", "")),
        ("[[Note#^b-1]]", (W, "Note", "", "", "b-1")),
        ("![[Note#^b-1]]", (E, "Note", "", "", "b-1")),
        ("![[a picture.png|100]]", (E, "a picture.png", "100", "", "")),
        ("[[#Same]]", (W, "", "", "Same", "")),
        ("[[folder/Note]]", (W, "folder/Note", "", "", "")),
        ("[[../Note]]", (W, "../Note", "", "", "")),
        ("[[Sq]uare]]", (W, "Sq]uare", "", "", "")),
        ("[[Outer [[Inner]] x]]", (W, "Inner", "", "", "")),
        ("| [[Note\\|in a table]] |", (W, "Note", "in a table", "", "")),
        ("> [!warning] [[Note]]", (W, "Note", "", "", "")),
        ("- [ ] a task [[Note]]", (W, "Note", "", "", "")),
        ("- [x] [[Note]]", (W, "Note", "", "", "")),
        ("1. item\n\n   [[Note]]", (W, "Note", "", "", "")),
        ("text\n    [[Note]]", (W, "Note", "", "", "")),
        ("costs $5, [[Note]], $6", (W, "Note", "", "", "")),
        ("50 %% of [[Note]]", (W, "Note", "", "", "")),
        ("`a` [[Note]] `b`", (W, "Note", "", "", "")),
        ("`never closed [[Note]]", (W, "Note", "", "", "")),
        ("```\n[[no]]\n```\n[[Note]]", (W, "Note", "", "", "")),
        ("[text](a%20b.md)", (M, "a b.md", "text", "", "")),
        ("[text](<a b.md#H> 'title')", (M, "a b.md", "text", "H", "")),
        ("[text](a.md#^b1)", (M, "a.md", "text", "", "b1")),
        ("[text](#top)", (M, "", "text", "top", "")),
        ("[a [b] c](x_(1).md)", (M, "x_(1).md", "a [b] c", "", "")),
        ("![alt](pic.png)", (E, "pic.png", "alt", "", "")),
        ("[[Zürich|日本語]]", (W, "Zürich", "日本語", "", "")),
    ],
)  # fmt: skip
def test_a_link_is_read_as_obsidian_reads_it(text: str, link: tuple[str, ...]) -> None:
    assert found(text) == [link]


@pytest.mark.promise("P9.150")
@pytest.mark.parametrize(
    "text",
    [
        "`[[no]]`", "``a ` [[no]]``", "`over\n[[no]] lines`", "```\n[[no]]\n```", "~~~md\n[[no]]\n~~~",
        "````\n```\n[[no]]\n````", "```\nnever closed [[no]]", "    [[no]]", "\t[[no]]", "text\n\n    [[no]]\n\n    [[no]]",
        "- item\n\n      [[no]]", "- ```\n  [[no]]\n  ```", "> ```\n> [[no]]\n> ```", "%%[[no]]%%", "%%\n[[no]]\n\n[[no]]\n%%",
        "a %% [[no]] %% b", "<!-- [[no]] -->", "<!--\n[[no]]\n\n[[no]]\n-->", "$[[no]]$", "$$\n[[no]]\n\n[[no]]\n$$",
        "$$ [[no]] $$", "\\[[no]]", "[[two\nlines]]", "[[]]", "[[|alias]]", "[text](https://example.com/[[no]])",
        "[text](mailto:a@example.com)", "[text](obsidian://open)", "[text](a b.md)", "<https://example.com/[[no]]>",
        "[^1] and [^1]: a footnote", "[ ] [x]", "[text] (a.md)", "![](data:image/png;base64,xx)", "#tag [x][ref]",
    ],
)  # fmt: skip
def test_what_stands_in_code_comments_and_math_is_no_link(text: str) -> None:
    assert found(text) == []


def test_links_of_the_front_matter_are_whole_texts() -> None:
    page = parse_page(
        "a.md",
        b'---\nup: "[[Map|the map]]"\nrelated:\n  - "[[One#H]]"\n  - "[two](b%20c.md)"\nnested: {x: "[[Deep]]"}\n'
        b'prose: "see [[No]]"\nurl: "[x](https://example.com)"\n---\n[[Body]]\n',
    )
    links = links_of(page.body, page.front)

    assert [(link.kind, link.target, link.heading) for link in links] == [
        (LinkKind.PROPERTY, "Map", ""), (LinkKind.PROPERTY, "One", "H"), (LinkKind.PROPERTY, "b c.md", ""),
        (LinkKind.PROPERTY, "Deep", ""), (W, "Body", ""),
    ]  # fmt: skip


def test_an_unquoted_link_in_the_front_matter_is_a_list_and_said_to_be_one() -> None:
    page = parse_page("a.md", b"---\nlink: [[Note]]\n---\n")

    assert links_of(page.body, page.front) == () and page.problem is not None and "quotes" in page.problem


@given(st.lists(st.sampled_from(["[[", "]]", "a", "|", "#", "`", "```", "\n", "    ", "%%", "$", "<!--", "-->", "> ", "- ", "](", "[", ")", "\\", "é"]), max_size=60))  # fmt: skip
def test_a_place_of_a_link_holds_what_was_read(parts: list[str]) -> None:
    text = "".join(parts)
    for spot in spots(text):
        assert 0 <= spot.start < spot.path_start <= spot.path_end < spot.end <= len(text)
        assert text[spot.start : spot.end].startswith(spot.link.raw[:50])
        assert "\n" not in text[spot.path_start : spot.path_end]


@pytest.mark.parametrize("mark", ["[[", "![[", "](", "[a](", "[[a|", "<!--", "$a", "```a``b`", "`", "- ", "> ", "    x\n"])  # fmt: skip
def test_no_text_is_slow(mark: str) -> None:
    """A quadratic scan would take minutes here; the test would run into the limit of the whole run."""
    assert len(list(spots(mark * 100_000))) == 0


# -- where a link leads ----------------------------------------------------------------------------------------------

THREE = ["Note.md", "zzzz/Note.md", "a/b/Note.md"]
"""The vault of the measurement that `model.links` names."""


def leads(target: str, source: str, paths: list[str]) -> str | None:
    named = [path for path in paths if file_name(path) == wanted_name(target)]
    return next(iter(matches(target, source, named)), None)


@pytest.mark.promise("P9.151")
@pytest.mark.parametrize(
    ("target", "source", "paths", "page"),
    [
        ("Note", "src.md", THREE, "Note.md"),
        ("Note", "a/b/src.md", THREE, "Note.md"),
        ("Note", "zzzz/src.md", THREE[1:], "zzzz/Note.md"),
        ("Note", "a/b/src.md", THREE[1:], "a/b/Note.md"),
        ("Note", "src.md", THREE[1:], "a/b/Note.md"),
        ("Note", "zzzz/deep/src.md", [*THREE[1:], "b/Note.md", "aaaaaaaa/Note.md"], "b/Note.md"),
        ("b/Note", "src.md", ["a/b/Note.md"], "a/b/Note.md"),
        ("b/Note", "a/b/src.md", ["a/b/Note.md", "b/Note.md"], "b/Note.md"),
        ("c/Note", "src.md", THREE, None),
        ("../y", "a/x.md", ["y.md", "a/y.md"], "y.md"),
        ("./y", "a/x.md", ["y.md", "a/y.md"], "a/y.md"),
        ("./y", "b/x.md", ["y.md", "a/y.md"], None),
        ("../../y", "a/x.md", ["y.md"], None),
        ("/y", "a/x.md", ["a/y.md"], None),
        ("/a/y", "x.md", ["a/y.md", "b/a/y.md"], "a/y.md"),
        ("log", "x.md", ["Log.md"], "Log.md"),
        ("LOG.MD", "x.md", ["a/Log.md"], "a/Log.md"),
        (" log ", "x.md", ["Log.md"], "Log.md"),
        ("Cafe\u0301", "x.md", ["Caf\u00e9.md"], "Caf\u00e9.md"),
        ("Caf\u00e9", "x.md", ["a/Cafe\u0301.md"], "a/Cafe\u0301.md"),
        ("CAF\u00c9", "x.md", ["caf\u00e9.md"], "caf\u00e9.md"),
        ("My\u00a0note", "x.md", ["a/My note.md"], "a/My note.md"),
        ("v1.2", "x.md", ["a/v1.2.md"], "a/v1.2.md"),
        ("log", "x.md", ["log.md", "Log.md"], "Log.md"),
        ("Note", "src.md", ["b/Note.md", "a/Note.md"], "a/Note.md"),
        ("Note", "a/src.md", ["ab/cd/Note.md", "z/Note.md"], "z/Note.md"),
        ("Note", "Zzzz/src.md", ["ZZZZ/Note.md", "a/Note.md"], "ZZZZ/Note.md"),
        ("", "a/x.md", [], "a/x.md"),
        ("https://example.com", "x.md", ["example.md"], None),
    ],
)  # fmt: skip
def test_a_link_finds_the_page_that_obsidian_opens(
    target: str, source: str, paths: list[str], page: str | None
) -> None:
    assert leads(target, source, paths) == page


def test_a_link_that_we_write_is_the_base_name_unless_two_pages_have_it() -> None:
    assert link_text("default/app/notes/a b.md", ["default/app/notes/a b.md"]) == "a b"
    assert link_text("default/app/a.md", ["default/app/a.md", "default/b/A.md"]) == "default/app/a"
    assert base_name("default/app/a.md") == "a"


@pytest.mark.parametrize(("target", "is_file"), [("a.png", True), ("A.PDF", True), ("a.md", False), ("v1.2", False), ("png", False)])  # fmt: skip
def test_files_that_are_no_pages_are_told_by_their_ending(target: str, is_file: bool) -> None:
    assert Link(W, "", target).is_file is is_file


_PIECES = st.sampled_from(
    ["[[a]]", "[x](y.md)", "![[b#c|d]]", "[[", "]]", "](", "[", "]", "(", ")", "a", "word ", "é", "|", "!", "`", "```", "~~~",
     "%%", "$$", "$", "<!--", "-->", "\\", "\n", "\n\n", "\n    ", "\n> ", "\n- ", "\t", "1. ", '\n"', "*", "# ", "\r\n", "中"]
)  # fmt: skip


@pytest.mark.promise("P9.150")
@settings(max_examples=1500, deadline=None)
@given(st.lists(_PIECES, max_size=40))
def test_no_link_is_missed_by_what_is_passed_over_quickly(pieces):
    """Stretches without a link's sign, and what follows the last one, are not looked at: with a link behind all of it they
    are, and the links before it must be the same."""
    text = "".join(pieces)
    closed = f"{text}\n\n[[last]]"

    before = [spot for spot in spots(closed) if spot.end <= len(text)]

    assert list(spots(text)) == before
