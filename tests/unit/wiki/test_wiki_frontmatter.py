"""Front matter: read without surprises, edited without touching another byte, written for every reader."""

import re

import pytest
import yaml
from yaml_readers import HARD_TITLES, CoreLoader

from aimemory.errors import UserError
from aimemory.wiki import frontmatter
from aimemory.wiki.frontmatter import edit_field, render, split


def page(front: str, body: str = "Body\n") -> str:
    return f"---\n{front}---\n{body}"


# -- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loader", [yaml.SafeLoader, CoreLoader], ids=["YAML 1.1", "YAML 1.2"])
@pytest.mark.parametrize("title", HARD_TITLES)
def test_a_written_text_reads_the_same_everywhere(title: str, loader: type[yaml.SafeLoader]) -> None:
    fields = {"title": title, "tags": ["a", title], "sources": [{"name": title}], "generated": {"by": title}}
    written = render(fields, "Body\n")
    front = written.removeprefix("---\n").removesuffix("---\n\nBody\n")
    assert yaml.load(front, Loader=loader) == fields
    assert split(written).front == fields


def test_a_new_page_is_front_matter_an_empty_line_and_the_body() -> None:
    fields = {
        "type": "note",
        "title": "Use SQLite: why",
        "tags": ["db", "1.0"],
        "generated": {"by": "aimemory", "at": "2026"},
    }
    assert render(fields, "# Use\n") == (
        '---\ntype: note\ntitle: "Use SQLite: why"\ntags: [db, "1.0"]\n'
        'generated: {by: aimemory, at: "2026"}\n---\n\n# Use\n'
    )


def test_a_long_list_is_written_one_item_a_line() -> None:
    assert render({"sources": ["a" * 60, "b" * 60]}, "") == f"---\nsources:\n  - {'a' * 60}\n  - {'b' * 60}\n---\n"


@pytest.mark.parametrize("key", ["a b", "a:", "yes", "", "1a", "-a", "a\nb", "#a"])
def test_a_field_name_that_is_no_word_is_refused(key: str) -> None:
    with pytest.raises(UserError, match="field name"):
        render({key: "x"}, "")
    with pytest.raises(UserError, match="field name"):
        edit_field(page("a: b\n"), key, "x")


# -- reading ---------------------------------------------------------------------------------------------------------


def test_all_values_are_text() -> None:
    front = split(
        page("no: no\nat: 12:30\nn: 010\nv: 1.10\nd: 2026-01-02\ne:\nf: ~\ng: 'null'\nm: {a: [1, x]}\n")
    ).front
    assert front == {
        "no": "no", "at": "12:30", "n": "010", "v": "1.10", "d": "2026-01-02", "e": "", "f": "", "g": "null",
        "m": {"a": ["1", "x"]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\na: b\n---\nText", {"a": "b"}, "Text"),
        ("\ufeff---\na: b\n---\nText", {"a": "b"}, "Text"),
        ("---\r\na: b\r\n---\r\nText\r\n", {"a": "b"}, "Text\r\n"),
        ("---  \t\na: b\n--- \nText", {"a": "b"}, "Text"),
        ("---\na: b\n...\nText", {"a": "b"}, "Text"),
        ("---\na: b\n---", {"a": "b"}, ""),
        ("---\n---\nText", {}, "Text"),
        ("---\n# only a comment\n---\nText", {}, "Text"),
        ("\n---\na: b\n---\n", None, "\n---\na: b\n---\n"),
        ("Text\n---\n", None, "Text\n---\n"),
        ("----\na: b\n---\n", None, "----\na: b\n---\n"),
        ("---\n\nA rule above, no front matter.\n", None, "---\n\nA rule above, no front matter.\n"),
        ("", None, ""),
        ("\ufeff", None, ""),
    ],
)
def test_where_front_matter_begins_and_ends(text: str, front: dict[str, str] | None, body: str) -> None:
    parts = split(text)
    assert (parts.front, parts.body, parts.problem) == (front, body, None)


BROKEN = {
    "people: [[A]], [[B]]\n": 2,
    "a: b\ntitle: Use: this\n": 3,
    "a: b\ntitle: {{title}}\n": 3,
    "a: b\nb: @x\n": 3,
    "a: b\n\tc: d\n": 3,
    "a: b\n c: d\n": 3,
    "a: b\nb: *ref\n": 3,
    "a: b\nb: &ref x\n": 3,
    "a: b\nb: !!python/object x\n": 3,
    "a: b\nb: 'open\n": 4,
    "a: b\nb: c\x01d\n": 3,
    "a: " + "[" * 200 + "]" * 200 + "\n": 2,
    "a: " + "[" * 5000 + "\n": 2,
    "- a: 1\n": 2,
    "%YAML 1.1\na: b\n": 3,
}


@pytest.mark.parametrize(("front", "line"), BROKEN.items())
def test_broken_front_matter_is_reported_with_its_line_and_the_body_stays(front: str, line: int) -> None:
    parts = split(page(front))
    assert parts.front is None
    assert parts.body.endswith("Body\n")
    assert parts.problem is not None and parts.problem.startswith(f"line {line}: "), parts.problem


def test_prose_between_two_rules_belongs_to_the_body() -> None:
    text = page("A quotation between two rules\n")
    assert split(text).body == text


def test_toml_front_matter_and_a_missing_end_are_reported() -> None:
    assert "TOML" in (split("+++\na = 1\n+++\n").problem or "")
    assert "not closed" in (split("---\na: b\n\nText\n").problem or "")


def test_front_matter_that_is_longer_than_what_is_read_is_called_that():
    lines = "".join(f"field{number}: {'x' * 60}\n" for number in range(1000))

    read = split(f"---\n{lines}---\nText\n")

    assert read.front is None and read.body.startswith("---\n")
    assert "longer than the 65,536 characters" in (read.problem or "") and "line 1,002" in (read.problem or "")
    assert "not closed" in (split(f"---\n{lines}\nText\n").problem or "")
    assert split(f"---\n{lines[:60000].rpartition(chr(10))[0]}\n---\nText\n").problem is None


def test_a_bomb_of_aliases_is_never_built() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "anchors" in (split(page("\n".join(lines) + "\n")).problem or "")


def test_a_field_given_twice_and_an_unquoted_link_are_hints_not_errors() -> None:
    twice, link = split(page("a: 1\nb: 2\na: 3\n")), split(page("x: 1\nlink: [[Note]]\n"))
    assert (twice.front, link.front) == ({"a": "3", "b": "2"}, {"x": "1", "link": [["Note"]]})
    assert (twice.problem or "").startswith("line 4: ") and (link.problem or "").startswith("line 3: ")


# -- editing ---------------------------------------------------------------------------------------------------------

EDITS = [  # front matter before, field, new value, front matter after
    ("title: Old\nb: 1\n", "title", "New", "title: New\nb: 1\n"),
    ("a: 1 # one\ntitle:   Old   # keep\nb: 2\n", "title", "New", "a: 1 # one\ntitle:   New   # keep\nb: 2\n"),
    ("title: 'Old'\n", "title", "it's", "title: 'it''s'\n"),
    ('title: "Old"\n', "title", 'a "b"', 'title: "a \\"b\\""\n'),
    ("title: 'Old'\n", "title", "a\nb", 'title: "a\\nb"\n'),
    ("title: Old\n", "title", "a: b", 'title: "a: b"\n'),
    ("title: Old\n", "title", "yes", 'title: "yes"\n'),
    ("title: Old\n", "title", "🚀", 'title: "🚀"\n'),
    ("title: 😀 é\nb: ü # x\n", "b", "ö", "title: 😀 é\nb: ö # x\n"),
    ("updated: 2026-01-01\n", "updated", "2026-01-02", "updated: 2026-01-02\n"),
    (
        "updated: 2026-01-01T10:00:00+01:00\n",
        "updated",
        "2026-01-02T10:00:00+01:00",
        "updated: 2026-01-02T10:00:00+01:00\n",
    ),
    ("prio: 3\n", "prio", "null", 'prio: "null"\n'),
    ("title:\nb: 1\n", "title", "New", "title: New\nb: 1\n"),
    ("title:   # none yet\n", "title", "New", "title: New   # none yet\n"),
    ("title: ''\n", "title", "New", "title: 'New'\n"),
    ("a: 1\n", "title", "New", "a: 1\ntitle: New\n"),
    ("", "title", "New", "title: New\n"),
    ("# comment\n", "title", "New", "# comment\ntitle: New\n"),
    ("  a: 1\n", "title", "New", "  a: 1\n  title: New\n"),
    ("d: |\n  one\n  two\n\nb: 1\n", "d", "New", "d: New\n\nb: 1\n"),
    ("d: >-\n  one\n  two\nb: 1\n", "b", "2", "d: >-\n  one\n  two\nb: 2\n"),
    ("d: a long\n  plain value\nb: 1\n", "d", "New", "d: New\nb: 1\n"),
    ("tags: [a, b] # t\n", "tags", ["c", "d: e"], 'tags: [c, "d: e"] # t\n'),
    ("tags: ['a', 'b']\n", "tags", ["c"], "tags: ['c']\n"),
    ("tags:\n  - a\n  - b\n\n# next\nb: 1\n", "tags", ["c"], "tags:\n  - c\n\n# next\nb: 1\n"),
    ("tags: # t\n- 'a'\n", "tags", ["c", "d"], "tags: # t\n- 'c'\n- 'd'\n"),
    ("tags:\n- a\n- b\nb: 1\n", "tags", [], "tags: []\nb: 1\n"),
    ("tags: a, b\n", "tags", ["a", "b"], "tags: [a, b]\n"),
    ("tags: []\n", "tags", ["a"], "tags: [a]\n"),
    ("a: 1\nb: 2 # gone\nc: 3\n", "b", None, "a: 1\nc: 3\n"),
    ("a: 1\ntags:\n  - x\n  - y\nc: 3\n", "tags", None, "a: 1\nc: 3\n"),
    ("a: 1\ng: {x: 1, y: [2]}\nc: 3\n", "g", None, "a: 1\nc: 3\n"),
    ("a: 1\ng:\n  x: 1\n  y:\nc: 3\n", "g", None, "a: 1\nc: 3\n"),
    ("a: 1\n", "b", None, "a: 1\n"),
    ("x:\n  - 1\n  # between\n  - 2\ntitle: Old\n", "title", "New", "x:\n  - 1\n  # between\n  - 2\ntitle: New\n"),
    ("n: no\nt: 12:30\no: 010\ntitle: Old\n", "title", "New", "n: no\nt: 12:30\no: 010\ntitle: New\n"),
    ('l: "[[Page]]"\n"odd key": 1\ntitle: Old\n', "title", "New", 'l: "[[Page]]"\n"odd key": 1\ntitle: New\n'),
    ("'title' : Old\n", "title", "New", "'title' : New\n"),
    ("g: {title: inner}\ntitle: Old\n", "title", "New", "g: {title: inner}\ntitle: New\n"),
    ("a: 1\na: 2\ntitle: Old\n", "title", "New", "a: 1\na: 2\ntitle: New\n"),
    ("title:\tOld\n", "title", "New", "title:\tNew\n"),
    ("? title\n: Old\n", "title", "New", "? title\n: New\n"),
    ("title:\n  Old\nb: 1\n", "title", "New", "title:\n  New\nb: 1\n"),
    (
        "l: " + "word " * 100 + "\ntitle: Old\n",
        "title",
        "x" * 300,
        "l: " + "word " * 100 + "\ntitle: " + "x" * 300 + "\n",
    ),
]
SHELLS = {
    "plain": "---\n{}---\n\nBody --- a: b\n",
    "mark": "\ufeff---\n{}---\nBody",
    "spaces": "---  \n{}--- \t\n",
    "dots": "---\n{}...\nBody\n---\n",
}


@pytest.mark.promise("P9.32")
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("before", "key", "value", "after"), EDITS)
def test_an_edit_changes_one_field_and_no_other_byte(
    before: str, key: str, value: str | list[str] | None, after: str, newline: str, shell: str
) -> None:
    old, new = (shell.replace("{}", front).replace("\n", newline) for front in (before, after))
    assert edit_field(old, key, value) == new


@pytest.mark.promise("P9.32")
@pytest.mark.parametrize(
    "made",
    ["title: New\nb: 2\n", "title: New\n", "title: Other\nb: 1\n", "b: 1\ntitle: New\n", "title: [New\nb: 1\n"],
    ids=["another field", "one field less", "another value", "another order", "no YAML"],
)
def test_an_edit_that_would_do_anything_else_is_refused_however_it_came_about(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the edit itself had a fault: what it made is read again before it counts."""
    monkeypatch.setattr(frontmatter, "_replaced", lambda *_: made)
    with pytest.raises(UserError, match="would touch other fields"):
        edit_field(page("title: Old\nb: 1\n"), "title", "New")


REFUSALS = [
    ("title: a\nb: 1\ntitle: c\n", "title", "twice"),
    ("b: &x 1\ntitle: Old\n", "title", "anchors"),
    ("b: 1\n\tc: 2\ntitle: Old\n", "title", "line 3"),
    ("title: Use: this\n", "title", "line 2"),
    ("title: {{title}}\n", "title", "line 2"),
    ("title:\n  - a\n  # why\n  - b\n", "title", "comments"),
    ("title: [a, # why\n  b]\n", "title", "comments"),
    ("title: | # why\n  a\n", "title", "comments"),
    ("title: # why\n  - a\n", "title", "comment"),
    ("title: {a: b}\n", "title", "mapping"),
    ("title:\n  a: b\n", "title", "mapping"),
    ("{title: Old}\n", "title", "{"),
    ("b: a\u2028c: d\ntitle: Old\n", "title", "line breaks"),
    ("b: a\rtitle: Old\n", "title", "line breaks"),
]


@pytest.mark.parametrize(("front", "key", "why"), REFUSALS)
def test_an_edit_that_is_not_certain_is_refused(front: str, key: str, why: str) -> None:
    with pytest.raises(UserError, match=re.escape(why)):
        edit_field(page(front), key, "New")


@pytest.mark.parametrize("text", ["Body\n", "+++\na = 1\n+++\n", "---\na: b\n", "\n---\na: b\n---\n"])
def test_a_page_without_front_matter_gains_none(text: str) -> None:
    with pytest.raises(UserError, match="by hand"):
        edit_field(text, "title", "New")


def test_a_value_that_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(UserError):
        edit_field(page("title: Old\n"), "title", "\ud800")
