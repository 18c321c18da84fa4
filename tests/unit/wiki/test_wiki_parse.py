"""From bytes to what is known of a page; any bytes give an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aimemory.wiki.parse import parse_page

PATH = "default/app/notes/my-note.md"


def test_a_page_is_read_from_its_front_matter() -> None:
    page = parse_page(
        "default/app/notes/x.md",
        b"---\ntype: Decision\nid: 3f9a\ntitle: Use  SQLite\ndescription: why\ntags: [db, '#sql', db]\n"
        b"status: accepted\ngenerated: {by: aimemory, at: 2026-01-02}\nupdated: 2026-01-03\nown: [1]\n---\n# Heading\n",
    )
    assert (page.id, page.kind, page.title, page.description) == ("3f9a", "decision", "Use SQLite", "why")
    assert (page.tags, page.status, page.created, page.updated) == (
        ("db", "sql"),
        "accepted",
        "2026-01-02",
        "2026-01-03",
    )
    assert (page.body, page.front["own"], page.problem) == ("# Heading\n", ["1"], None)


@pytest.mark.parametrize(
    ("front", "created"),
    [
        ("date: 2026-05-04", "2026-05-04"), ("date: 2026-05-04T10:00:00+02:00", "2026-05-04T10:00:00+02:00"),
        ("date: 2026-05-04\ncreated: 2026-05-01", "2026-05-01"), ("date: 2026-05-04\ncreated: in May", "2026-05-04"),
        ("date: 2026-05-04\ngenerated: {at: 2026-01-02}", "2026-05-04"), ("date: each Monday", None),
        ("date: [2026-05-04]", None), ("created: in May", "in May"), ("date: each Monday\ncreated: ''", None),
    ],
)  # fmt: skip
def test_a_page_was_made_when_created_or_else_date_says(front: str, created: str | None) -> None:
    assert parse_page(PATH, f"---\n{front}\n---\ntext".encode()).created == created


def test_a_page_without_front_matter_is_known_by_folder_heading_and_path() -> None:
    page = parse_page(
        "default/app/gotchas/a.md", b"text\n\n```sh\n# no heading\n```\n## The *first* heading ##\n# Second\n"
    )
    assert (page.kind, page.title, page.tags, page.front, page.problem) == (
        "gotcha",
        "The *first* heading",
        (),
        {},
        None,
    )
    assert (
        page.id == parse_page("default/app/gotchas/a.md", b"other").id != parse_page("default/app/gotchas/b.md", b"").id
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("default/app/app.md", "project"), ("default/app/index.md", "index"),
        ("default/app/sessions/ann/2026/11/a.md", "session"), ("default/app/handoffs/ann/2026/11/a.md", "handoff"),
        ("default/rules/notes/a.md", "note"), ("default/app/own/a.md", "note"),
        ("default/app/own/rules/a.md", "rule"), ("a.md", "note"), ("default/_global/slots/a.md", "slot"),
    ],
)  # fmt: skip
def test_the_kind_follows_the_folder_below_the_project(path: str, kind: str) -> None:
    assert parse_page(path, b"").kind == kind


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("[a, b]", ("a", "b")), ("a, b", ("a", "b")), ("\n  - a\n  - '#b'", ("a", "b")), ("'#a #b'", ("a", "b")),
        ("two words", ("two words",)), ("", ()), ("{a: b}", ()), ("[[a, b]]", ()), ("['', a, ' ']", ("a",)),
    ],
)  # fmt: skip
def test_tags_are_read_however_they_are_written(tags: str, expected: tuple[str, ...]) -> None:
    assert parse_page(PATH, f"---\ntags: {tags}\n---\n".encode()).tags == expected


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b"---\ntitle: Use: this\n---\n# Heading\n", "Heading"),
        (b"---\ntitle:\n---\n", "my-note"),
        (b"---\ntitle: [a]\n---\n", "my-note"),
        (b"---\ntitle: 'null'\n---\n", "null"),
        (b"---\r\ntitle: T\r\n---\r\n# H\r\n", "T"),
        (b"# H\r\n", "H"),
        (b"#no heading\n", "my-note"),
        (b"", "my-note"),
        (b"\xef\xbb\xbf# Mark\n", "Mark"),
        ("# Wide\n".encode("utf-16"), "Wide"),
        (b"# bad \xff byte\0\n", "bad \ufffd byte\ufffd"),
        (b"# " + b"a " * 10_000, ("a " * 10_000)[:300]),
    ],
)
def test_the_title_is_the_field_else_the_first_heading_else_the_name(content: bytes, title: str) -> None:
    assert parse_page(PATH, content).title == title


def test_broken_front_matter_leaves_the_body_readable_and_is_reported_with_its_line() -> None:
    page = parse_page(PATH, b"---\ntype: decision\npeople: [[A]], [[B]]\n---\nfind me\n")
    assert (page.kind, page.body) == ("note", "find me\n")
    assert page.problem is not None and page.problem.startswith("line 3: ")


@pytest.mark.parametrize("own_id", ["../x", "a b", "[a]", "x" * 65, ""])
def test_an_id_that_is_no_plain_word_gives_way_to_one_of_the_path(own_id: str) -> None:
    assert parse_page(PATH, f"---\nid: {own_id}\n---\n".encode()).id == parse_page(PATH, b"").id


@given(st.binary() | st.text().map(lambda text: f"---\n{text}\n---\n".encode("utf-8", "replace")))
def test_any_bytes_make_a_page(content: bytes) -> None:
    page = parse_page(PATH, content)
    assert page.title and page.kind and page.id
    page.body.encode("utf-8")
