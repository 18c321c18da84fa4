"""Sections of a page: what is a heading, how far it reaches, by which names it is found."""

import pytest

from aimemory.errors import NotFound, UserError
from aimemory.wiki.sections import section_named, sections_of

PAGE = """---
title: Set-up
# a comment of the front matter
---
Before any heading.

# Setup #

## Linux

Install it.

```sh
# no heading: a comment of the shell
```

### Notes

Deep.

## macOS

Other notes
-----------

- item
---

# 部署

The end.
"""


def test_headings_are_found_and_code_front_matter_and_rules_are_none():
    assert [(one.number, one.level, one.name) for one in sections_of(PAGE)] == [
        (1, 1, "Setup"), (2, 2, "Setup > Linux"), (3, 3, "Setup > Linux > Notes"), (4, 2, "Setup > macOS"),
        (5, 2, "Setup > Other notes"), (6, 1, "部署"),
    ]  # fmt: skip


def test_a_section_holds_those_below_it_and_all_of_them_are_the_text():
    setup, linux, notes, macos, other, last = sections_of(PAGE)

    assert PAGE[linux.start : linux.end].startswith("## Linux\n") and "Deep." in PAGE[linux.start : linux.end]
    assert PAGE[notes.start : notes.end] == "### Notes\n\nDeep.\n\n"
    assert PAGE[macos.start : macos.end] == "## macOS\n\n"
    assert (setup.end, other.end) == (last.start, last.start) and last.end == len(PAGE)


@pytest.mark.parametrize(
    ("asked", "number"),
    [("setup", 1), ("Setup > Linux", 2), ("## linux ", 2), ("notes", 3), ("Linux>Notes", 3), ("部署", 6), ("5", 5)],
)
def test_a_section_is_found_by_path_heading_or_number(asked, number):
    assert section_named(sections_of(PAGE), asked).number == number


def test_a_name_that_fits_several_names_them_and_an_unknown_one_names_all():
    twice = sections_of("# A\n## Notes\n# B\n## Notes\n")

    with pytest.raises(UserError, match=r"2\. A > Notes; 4\. B > Notes"):
        section_named(twice, "notes")
    assert section_named(twice, "B > Notes").number == 4
    with pytest.raises(NotFound, match=r"It has: 1\. A"):
        section_named(twice, "7")
    with pytest.raises(NotFound, match="no headings at all"):
        section_named(sections_of("only words"), "x")


def test_crlf_an_open_fence_and_a_page_of_headings_alone():
    assert [one.name for one in sections_of("# A\r\n\r\ntext\r\n\r\n## B\r\n")] == ["A", "A > B"]
    assert [one.name for one in sections_of("# A\n~~~\n# x\n```\n# y\n")] == ["A"]
    assert len(sections_of("# x\n" * 2000)) == 2000
