"""Three versions to one: what doesn't touch is merged, what touches is not, and nobody's other byte changes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aimemory.wiki.frontmatter import split
from aimemory.wiki.merge import appended, keep_form, merge

PAGE = """---
type: decision
title: Use SQLite  # a remark
tags: [db, storage]
updated: 2026-11-30T10:00:00+01:00
---

# Use SQLite

One file.

It is fast.

It is everywhere.
"""


@pytest.mark.parametrize(
    ("theirs", "mine", "merged"),
    [
        ("A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("a\nnew\nb\nc\n", "a\nb\nc\nend\n", "a\nnew\nb\nc\nend\n"),
        ("b\nc\n", "a\nb\nC\n", "b\nC\n"),
        ("A\nb\nc\n", "A\nb\nc\n", "A\nb\nc\n"),
        ("A\nb\nc", "a\nb\nc\nd\n", "A\nb\nc\nd\n"),
        ("A\r\nb\r\nc\r\n", "a\nb\nC\n", "A\r\nb\r\nC\r\n"),
        ("a\nb\nc\n", "a\nb\nC\n", "a\nb\nC\n"),
    ],
)
def test_changes_apart_are_both_there(theirs: str, mine: str, merged: str) -> None:
    assert merge("a\nb\nc\n", theirs, mine) == merged


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ("A\nb\nc\n", "AA\nb\nc\n"),
        ("A\nb\nc\n", "a\nB\nc\n"),  # lines next to each other may belong together
        ("a\nb\nc\ntheirs\n", "a\nb\nc\nmine\n"),
        ("A\nb\nc\n", "b\nc\n"),
        ("a\nb\nc\nmore\n", "x\n"),
    ],
)
def test_changes_that_touch_are_not_merged(theirs: str, mine: str) -> None:
    assert merge("a\nb\nc\n", theirs, mine) is None


def test_fields_are_merged_one_by_one_and_the_later_date_counts() -> None:
    theirs = PAGE.replace("[db, storage]", "\n  - db\n  - disk").replace("10:00:00+01:00", "12:00:00+02:00")
    mine = PAGE.replace("type: decision\n", "type: decision\nstatus: accepted\n").replace("T10:", "T10:30:"[:4])
    mine = mine.replace("10:00:00+01:00", "11:30:00+01:00").replace("One file.", "One file, one copy.")

    merged = merge(PAGE, theirs, mine)

    assert merged is not None
    assert split(merged).front == {
        "type": "decision", "title": "Use SQLite", "tags": ["db", "disk"],
        "updated": "2026-11-30T11:30:00+01:00", "status": "accepted",
    }  # fmt: skip
    assert "title: Use SQLite  # a remark\n" in merged and "One file, one copy." in merged


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (("[db, storage]", "[db]"), ("[db, storage]", "[storage]")),
        (("type: decision", "type: decision\nstatus: a"), ("type: decision", "type: decision\nstatus: b")),
        (("tags: [db, storage]\n", ""), ("[db, storage]", "[db]")),
    ],
)
def test_one_field_in_two_ways_is_not_merged(theirs: tuple[str, str], mine: tuple[str, str]) -> None:
    assert merge(PAGE, PAGE.replace(*theirs, 1), PAGE.replace(*mine, 1)) is None


def test_tags_as_a_list_and_as_a_block_never_become_two_fields() -> None:
    """MD-16: one writer's flow list and another's block list."""
    block = PAGE.replace("tags: [db, storage]", "tags:\n  - db\n  - storage")
    merged = merge(PAGE, block, PAGE.replace("One file.", "One file!"))
    assert merged is not None and merged.count("tags:") == 1 and "  - db\n" in merged and "One file!" in merged


def test_what_would_take_too_long_is_not_merged() -> None:
    base = "x\ny\n" * 3000
    assert merge(base, "a\n" + base + "b\nx\n" * 2000, "y\n" * 3000 + base) is None


def test_a_long_page_with_a_change_at_each_end_is_merged() -> None:
    base = "".join(f"paragraph {n}\n\n" for n in range(20_000))
    merged = merge(base, base.replace("paragraph 1\n", "first\n"), base.replace("paragraph 19998\n", "last\n"))
    assert merged == base.replace("paragraph 1\n", "first\n").replace("paragraph 19998\n", "last\n")


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d", "e", "f"]), max_size=12)


@settings(max_examples=100, deadline=None)
@given(base=LINES, theirs=LINES, mine=LINES)
def test_any_merge_has_every_line_that_one_of_the_two_brought_in(
    base: list[str], theirs: list[str], mine: list[str]
) -> None:
    def text(lines: list[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    merged = merge(text(base), text(theirs), text(mine))
    if theirs == base:
        assert merged == text(mine)
    elif mine in (base, theirs):
        assert merged == text(theirs)
    elif merged is not None:
        assert (set(theirs) | set(mine)) - set(base) <= set(merged.splitlines())
        gone = [line for line in set(base) if line not in theirs and line not in mine]
        assert not set(gone) & set(merged.splitlines())


def test_a_merge_is_that_of_git(tmp_path: Path) -> None:
    """Another program's opinion, where changes are well apart."""
    base = "".join(f"line {n}\n" for n in range(30))
    theirs = base.replace("line 3\n", "three\nand a half\n").replace("line 25\n", "")
    mine = base.replace("line 12\n", "twelve\n") + "end\n"
    for name, text in (("base", base), ("theirs", theirs), ("mine", mine)):
        (tmp_path / name).write_text(text)
    command = ["git", "merge-file", "-p", "theirs", "base", "mine"]
    assert merge(base, theirs, mine) == subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip


@pytest.mark.promise("P9.115")
@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("a\r\nb\r\n", "a\nB\nc\n", "a\r\nB\r\nc\r\n"),
        ("a\r\nb", "a\nB\n", "a\r\nB"),
        ("a\nb", "A\nb\n", "A\nb"),
        ("a\r\nb\nc\r\n", "a\nb\nc\nd\n", "a\r\nb\nc\r\nd\r\n"),
        ("a\nb\n\n\n", "a\nc\n", "a\nc\n\n\n"),
        ("\ufeffa\n", "b\n", "\ufeffb\n"),
        ("a\n", "a\r\nb\r\n", "a\nb\n"),
        ("", "b", "b\n"),
    ],
)
def test_a_new_text_keeps_the_form_of_the_old(old: str, new: str, kept: str) -> None:
    assert keep_form(old, new) == kept


@pytest.mark.promise("P9.113")
@pytest.mark.parametrize(
    ("page", "result"),
    [
        (b"a\n", b"a\n\nmore\n"),
        (b"a \r\nb\r\n", b"a \r\nb\r\n\r\nmore\r\n"),
        (b"a", b"a\n\nmore\n"),
        (b"a\n\n\n", b"a\n\n\nmore\n"),
        (b"caf\xe9\n", b"caf\xe9\n\nmore\n"),
        ("\ufeffa\n".encode("utf-16-le"), "\ufeffa\n\nmore\n".encode("utf-16-le")),
        (b"", b"more\n"),
    ],
)
def test_an_addition_changes_no_byte_of_the_page(page: bytes, result: bytes) -> None:
    assert appended(page, "more\n") == result


@pytest.mark.promise("P11.220")
def test_texts_that_would_take_long_to_compare_are_not_merged() -> None:
    """A page of 8 MiB can have four million lines, which took 46 seconds."""
    base = "a\n" * 200_000 + "z\n"
    assert merge(base, f"b\n{base}", f"{base}c\n") is None
    assert keep_form(base.replace("\n", "\r\n"), f"b\n{base}") == f"b\n{base}".replace("\n", "\r\n")
