"""`aimemory grep` over files alone: no daemon, no index."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from aimemory.cli import grep as module
from aimemory.cli.main import cli
from aimemory.journal.lines import encode_data
from aimemory.journal.segments import Journal, seal

PORTS = "---\ntype: note\n---\n\nThe proxy listens on [::1]:8443.\nCafe\u0301 is closed.\n"


class Place:
    def __init__(self, root):
        self.root = root
        self.journal = Journal(root / "journal", 1 << 20, lambda: 1_796_000_000_000_000_000)
        self.journal.open()

    def page(self, path, text):
        file = self.root / "wiki" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def line(self, type_, **data):
        self.journal.append([(type_, 1_796_000_000_000_000_000, encode_data(data))])

    def event(self, kind, project="p-shop", session="s1", **data):
        given: dict[str, Any] = {"kind": kind, "project": project, "session": session, "harness": "codex", **data}
        self.line("observation", **given)

    def grep(self, *arguments):
        return CliRunner().invoke(cli, ["grep", *arguments], env={"AIMEMORY_DATA_DIR": str(self.root)})

    def matches(self, *arguments):
        return json.loads(self.grep("--json", *arguments).stdout)["matches"]


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.page("default/shop/shop.md", "---\ntype: project\nid: p-shop\nidentity: github.com/acme/shop\n---\n")
    made.page("default/shop/merged/old.md", "---\ntype: project\nid: p-old\nidentity: github.com/acme/old\n---\n")
    made.page("default/shop/notes/ports.md", PORTS)
    made.page("default/bank/notes/ports.md", "Also [::1]:8443.\n")
    made.page("default/shop/.hidden/x.md", "[::1]:8443\n")
    made.page("default/shop/notes/not-a-page.txt", "[::1]:8443\n")
    yield made
    made.journal.close()


@pytest.mark.promise("P5.260")
def test_literal_text_and_patterns_are_found_in_pages_as_file_line_and_text(place):
    found = place.grep("[::1]:8443")
    assert found.exit_code == 0
    assert found.stdout == (
        "wiki/default/bank/notes/ports.md:1:Also [::1]:8443.\n"
        "wiki/default/shop/notes/ports.md:5:The proxy listens on [::1]:8443.\n"
    )
    assert place.grep("[::1]:8443", "-p", "acme/shop").exit_code == 2
    assert [m["file"] for m in place.matches("[::1]:8443", "-p", "shop")] == ["wiki/default/shop/notes/ports.md"]
    assert [m["text"] for m in place.matches("Café is")] == ["Café is closed."]
    assert (place.grep("THE PROXY").exit_code, place.grep("THE PROXY").stdout) == (1, "")
    assert place.grep("-i", "THE PROXY").exit_code == 0
    assert place.grep(r"\[::1\]:\d+").exit_code == 1
    assert len(place.matches("-e", r"^The.*\[::1\]:\d+\.$")) == 1
    assert len(place.matches("8443", "-m", "1")) == 1
    assert place.grep("8443", "--absolute").stdout.startswith(f"{place.root}/wiki/")


@pytest.mark.promise("P5.260")
def test_events_are_found_by_what_was_said_run_and_answered_wherever_they_are_filed_now(place):
    place.event("prompt", prompt='say "ok"\nand open 8443')
    place.event("post-tool", tool="Bash", command="curl :8443", input={"command": "curl :8443", "why": ["8443?"]})
    place.event("prompt", project="p-old", session="s2", prompt="8443 of the merged one")
    place.event("prompt", project="p-bank", session="s3", prompt="8443 of another")
    place.event("prompt", project="p-bank", session="s4", prompt="8443 was moved here")
    place.line("project", op="move-session", session="s4", project="p-shop")
    place.line("page", path="8443.md")
    seal(place.root / "journal")

    events = [m for m in place.matches("--journal", "8443", "-p", "shop") if m["seq"]]

    assert [(m["seq"], m["kind"], m["field"], m["text"]) for m in events] == [
        (1, "prompt", "prompt", "and open 8443"), (2, "post-tool", "command", "curl :8443"),
        (2, "post-tool", "input", "8443?"), (3, "prompt", "prompt", "8443 of the merged one"),
        (5, "prompt", "prompt", "8443 was moved here"),
    ]  # fmt: skip
    assert [m["line"] for m in events] == [1, 2, 2, 3, 5] and events[0]["at"].startswith("2026-11-")
    assert len([m for m in place.matches("--journal", "8443") if m["seq"]]) == 6
    assert [m["text"] for m in place.matches("--journal", '"ok"')] == ['say "ok"']
    assert place.grep("of another").exit_code == 1, "events only where they are asked for"
    shown = place.grep("--journal", "merged one").stdout
    assert shown.startswith("journal/2026/11/0001.jsonl:3:seq 3 2026-11-") and "codex prompt, prompt: 8443" in shown


@pytest.mark.promise("P11.260")
def test_no_pattern_and_no_line_holds_it_for_ever(place, monkeypatch):
    monkeypatch.setattr(module, "PIECE_LIMIT_S", 0.2)
    place.page("default/shop/notes/slow.md", "\n" + "a" * 60 + "!\n")
    place.page("default/shop/notes/huge.md", "x" * 3_000_000 + " needle\nlast line\n")

    slow = place.grep("-e", "(a+)+$")
    assert slow.exit_code == 2 and "slow.md line 2" in slow.stderr and "(a+)+" in slow.stderr
    assert "no regular expression" in place.grep("-e", "(unclosed").stderr
    assert place.grep("").exit_code == 2
    found = place.grep("needle")
    assert "huge.md:1:…" in found.stdout and len(found.stdout) < 1000
    assert [len(m["text"]) <= 1 << 16 for m in place.matches("needle")] == [True], "a line is looked at in pieces"
    assert "huge.md:2:last line" in place.grep("last line").stdout


def test_a_damaged_line_is_counted_and_control_characters_are_not_printed(place):
    place.event("prompt", prompt="first needle")
    place.event("prompt", prompt="second needle \x1b[31m red")
    (segment,) = (place.root / "journal").rglob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"first", b"fIrst"))

    found = place.grep("--journal", "needle")

    assert found.stdout.count("\n") == 1 and "\x1b" not in found.stdout
    assert "1 damaged line" in found.stderr
