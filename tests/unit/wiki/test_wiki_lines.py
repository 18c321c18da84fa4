"""Fenced code is told from the rest in one way for titles, sections and conflict markers."""

import pytest

from aimemory.wiki.lines import unfenced
from aimemory.wiki.merge import has_conflict_markers
from aimemory.wiki.parse import parse_page
from aimemory.wiki.sections import sections_of

CODE = {
    "plain": "```\n{}\n```\n",
    "with a word": "~~~ text\n{}\n~~~\n",
    "a longer sign around a shorter one": "````\n```\n{}\n```\n````\n",
    "the other sign within": "~~~\n```\n{}\n~~~\n",
    "a sign with a word closes nothing": "```\n``` text\n{}\n```\n",
    "never closed": "```\n{}\n",
    "other line ends": "```\r\n{}\r\n```\r\n",
}
CONFLICT = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs"


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
def test_what_stands_in_fenced_code_is_no_title_no_section_and_no_conflict(code):
    assert parse_page("a/b/notes/name.md", code.format("# In code").encode()).title == "name"
    assert sections_of(code.format("# In code")) == ()
    assert not has_conflict_markers(code.format(CONFLICT))


@pytest.mark.parametrize("begin", ["", "`` `a` ``\n", "``` is `no` fence ```\n", "    ```\n", "```\ncode\n```\n"])
def test_what_stands_beside_it_is(begin):
    assert parse_page("a/b/notes/name.md", f"{begin}# Beside\n".encode()).title == "Beside"
    assert [one.name for one in sections_of(f"{begin}# Beside\n")] == ["Beside"]
    assert has_conflict_markers(f"{begin}{CONFLICT}\n")


def test_each_line_keeps_its_place_and_a_block_is_one_empty_text():
    assert list(unfenced("---\na\n```\nb\n```\nc", 4)) == [(4, "a\n"), (6, ""), (16, "c")]
