"""What becomes of lines and files when something goes, and of those that only look alike."""

import base64
import json

import pytest

from aimemory.journal.lines import Line
from aimemory.upkeep.purge.change import without_listed
from aimemory.upkeep.purge.redaction import Redaction
from aimemory.upkeep.purge.removal import Removal
from aimemory.upkeep.purge.spelled import Disguised

FOLDERS = {"default", "default/falcon", "default/falcon/notes", "default/shop"}


def redaction(text, **renames):
    return Redaction(text, lambda key: key, renames, FOLDERS.__contains__)


def line(kind, **data):
    return Line(1, kind, 1, data)


@pytest.mark.promise("P10.230")
def test_a_line_goes_on_naming_pages_and_folders_as_the_disk_does():
    change = redaction("falcon", **{"default/falcon/notes/on-falcon-1a.md": "default/falcon/notes/on-forgotten-1a.md"})

    page = change.line(line("page", op="write", path="default/falcon/notes/on-falcon-1a.md", user="ada"))
    assert page == {"op": "write", "path": "default/falcon/notes/on-forgotten-1a.md", "user": "ada"}
    own = line("page", op="write", path="default/falcon/falcon.md", version="v")
    assert change.line(own) is own.data
    renamed = line("project", op="rename", **{"from": "default/shop", "to": "default/falcon"})
    assert change.line(renamed) is renamed.data
    assert change.line(line("observation", text="of falcon")) == {"text": "of [redacted:forgotten]"}


@pytest.mark.promise("P10.230")
def test_a_name_that_no_folder_has_any_more_goes_from_all_lines_alike():
    change = redaction("falcon")
    change.is_folder = {"default", "default/shop"}.__contains__

    renamed = change.line(line("project", op="rename", **{"from": "default/falcon", "to": "default/shop"}))
    page = change.line(line("page", op="write", path="default/falcon/falcon.md"))
    note = change.line(line("page", op="write", path="default/falcon/notes/x-falcon-y.md"))

    assert renamed["to"] == "default/shop" and "falcon" not in json.dumps([renamed, page, note])
    folder = renamed["from"]
    assert page["path"] == f"{folder}/{folder.rpartition('/')[2]}.md" and note["path"].startswith(f"{folder}/notes/")


@pytest.mark.promise("P10.231")
def test_what_is_forgotten_takes_no_other_files_along():
    change = Removal(
        sessions=frozenset(["0123456789ab"]), natives=frozenset(["s1"]), paths=frozenset(["default/a/notes/o.md"]),
        page_ids=frozenset(["note-7"]),
    )  # fmt: skip
    others = {
        "spool/100-1-o0001.json": b'{"body":{"session_id":"s10","text":"s1","to":"o"}}',
        "spool/rejects/rejects.jsonl": b'{"body":"{\\"session_id\\": \\"s10\\"}"}\n{"body":"about s1"}\n',
        "spool/rejects/100-1-o0002.json": b"{}",
        "edits/tmpabcd1234-foo.md": b"text of another page",
        "edits/tmpabcd1234-o.md": b"---\nid: note-8\n---\nof another page with that name",
        "conflicts/0a0b0c0d.txt": b'{"path": "default/b/notes/o.md", "session": "s1"}\ntext',
        "rooms/o": b"what a later version puts there",
    }
    for name, raw in others.items():
        assert change.other(name, raw) == raw, name

    gone = {
        "spool/100-1-t0001.json": b'{"body":{"session_id":"s1","text":"x"}}',
        "edits/tmpabcd1234-o.md": b"text of that page",
        "edits/tmpabcd1234-p.md": b"---\nid: note-7\n---\nunder another name",
        "conflicts/0a0b0c0d.txt": b'{"path": "default/a/notes/o.md", "session": null}\ntext',
        "conflicts/0a0b0c0e.txt": b'{"path": "default/b/notes/p.md", "session": "0123456789ab"}\ntext',
    }
    for name, raw in gone.items():
        assert change.other(name, raw) is None, name
    kept = b'{"body":"{\\"session_id\\": \\"s10\\"}"}\n'
    assert change.other("spool/rejects/rejects.jsonl", b'{"body":"{\\"session_id\\": \\"s1\\", \\"x\\":' + kept) == b""
    assert change.other("spool/rejects/rejects.jsonl", b'{"body":"{\\"session_id\\": \\"s1\\"}"}\n' + kept) == kept


@pytest.mark.promise("P10.141")
def test_a_line_of_another_session_that_names_the_forgotten_one_stays():
    change = Removal(sessions=frozenset(["0123456789ab"]))

    for kind in ("observation", "done", "brief"):
        other = line(kind, session="ba9876543210", text="as in 0123456789ab")
        assert change.line(other) is other.data
        assert change.line(line(kind, session="0123456789ab", text="x")) is None


@pytest.mark.promise("P10.231")
def test_where_a_forgotten_page_was_moved_from_and_to_goes_from_the_line_that_moved_others_too():
    change = Removal(paths=frozenset(["default/a/notes/o.md"]))
    moves = {"default/b/notes/o.md": "default/a/notes/o.md", "default/b/notes/p.md": "default/a/notes/p.md"}

    new = change.line(line("project", op="merge", project="p", pages=moves, files={}))

    assert new["pages"] == {"default/b/notes/p.md": "default/a/notes/p.md"}


@pytest.mark.promise("P10.232")
def test_of_a_listing_only_the_lines_of_pages_that_go_go():
    text = (
        b"# Notes\n\n* [A \\[plan\\]](notes/a%20plan.md) - of falcon\n* [B](notes/b.md)\n* [C](https://x/notes/a%20plan.md)\n"
        b"<!-- Made by aimemory. Change it, and it stays as you left it. -->\n"
    )

    new = without_listed("default/a/index.md", text, {"default/a/notes/a plan.md"}.__contains__)

    assert new == text.replace(b"* [A \\[plan\\]](notes/a%20plan.md) - of falcon\n", b"")
    for path, raw in (("default/a/notes/index.md", text), ("default/a/index.md", text.replace(b"Made by", b"made by"))):
        assert without_listed(path, raw, lambda path: True) is raw


@pytest.mark.promise("P10.236")
def test_forms_that_are_not_taken_out_are_found():
    text = "Project Falcon-7"
    other = Disguised(text)

    for form in (text.lower(), text.upper(), "projectFalcon7", "project_falcon_7", "project-falcon-7.md"):
        assert other.where(f"x {form} y".encode()), form
    for code in ("utf-16", "utf-16-be"):
        assert other.where(f"ab {text} cd".encode(code))
    for lead in ("", "a", "ab", "abc"):
        assert other.where(b'{"x":"' + base64.b64encode(f"{lead}{text} and more".encode()) + b'"}'), lead
    assert not other.where(b"a project of falcons at 7 and other words, " + base64.b64encode(b"something else" * 9))
    assert not Disguised("ab 1").where(b"AB1 ab1")  # too short to be told from parts of other words
