"""A page's text in parts."""

from aimemory.providers.chunks import CHUNK_CHARS, MOST_CHUNKS, chunks


def test_a_short_page_is_one_part_with_its_title():
    assert chunks("Ports", "Use 7377.\n\nNever 80.") == ["Ports\nUse 7377.\nNever 80."]


def test_a_page_without_text_is_its_title():
    assert chunks("Ports", " \n\n") == ["Ports"]


def test_paragraphs_stay_whole_where_they_fit():
    paragraphs = [f"{letter * 500}" for letter in "abc"]

    assert chunks("T", "\n\n".join(paragraphs)) == [f"T\n{p}" for p in paragraphs]


def test_long_paragraphs_fall_apart_at_lines_and_long_lines_anywhere():
    found = chunks("T", "\n".join(["x" * 400] * 3) + "\n\n" + "y" * 2000)

    assert all(len(part) <= CHUNK_CHARS + len("T\n") for part in found)
    assert "".join(found).count("x") == 1200 and "".join(found).count("y") == 2000


def test_of_a_very_long_page_the_rest_has_no_part():
    assert len(chunks("T", "word " * 100_000)) == MOST_CHUNKS
