"""One field of a page is changed through the daemon: one line of `git diff`, whatever the front matter is like."""

import json

import pytest
import yaml
from living import git
from yaml_readers import HARD_TITLES, CoreLoader

PAGES = {  # name: bytes, field, value, the line that is there afterwards
    "plain": (b"---\ntitle: Old\nb: 1\n---\n\nText\n", "title", "New", b"title: New\n"),
    "bom": (b"\xef\xbb\xbf---\ntitle: Old\n---\nText\n", "title", "New", b"title: New\n"),
    "crlf": (b"---\r\ntitle: Old\r\nb: 1\r\n---\r\n\r\nText\r\n", "title", "New", b"title: New\r\n"),
    "crlf new field": (b"---\r\ntitle: Old\r\n---\r\nText\r\n", "status", "accepted", b"status: accepted\r\n"),
    "crlf no final newline": (b"---\r\ntitle: Old\r\n---\r\nText", "title", "New", b"title: New\r\n"),
    "no final newline": (b"---\ntitle: Old\n---\nText\n\n   last", "title", "New", b"title: New\n"),
    "spaces behind the fence": (b"---  \ntitle: Old\n--- \t\nText\n", "title", "New", b"title: New\n"),
    "quoted links": (b"---\nup: \"[[A]]\"\nr: ['[[B|b]]', \"[[C#H]]\"]\ntitle: Old\n---\n", "title", "New", b"title: New\n"),
    "comments": (b"---\n# first\ntitle:  Old   # second\n\n# third\nb: 1\n---\n", "title", "New", b"title:  New   # second\n"),
    "order": (b"---\nz: 1\na: 2\ntitle: Old\nm: 3\n---\n", "title", "New", b"title: New\n"),
    "dates": (b"---\nd: 2026-01-02\nt: 12:30\nn: no\no: 010\ntitle: Old\n---\n", "title", "New", b"title: New\n"),
    "date": (b"---\nd: 2026-01-02\n---\n", "d", "2026-01-03", b"d: 2026-01-03\n"),
    "block list": (b"---\ntags:\n  - a\n  - b\ntitle: Old\n---\n", "title", "New", b"title: New\n"),
    "block list itself": (b"---\ntags:\n  - a\n  - b\n---\n", "tags", ["a", "c"], b"  - c\n"),
    "flow list": (b"---\ntags: [a] # t\n---\n", "tags", ["a", "b"], b"tags: [a, b] # t\n"),
    "tags in a text": (b"---\ntags: a, b\n---\n", "tags", ["a", "b"], b"tags: [a, b]\n"),
    "hashed tag": (b"---\ntags: '#a'\n---\n", "tags", ["a", "b"], b"tags: ['a', 'b']\n"),
    "quoted": (b"---\ntitle: 'Old'\n---\n", "title", "it's: new", b"title: 'it''s: new'\n"),
    "block text": (b"---\nd: |\n  one\n  two\ntitle: Old\n---\n", "title", "New", b"title: New\n"),
    "nested": (b"---\ng: {title: x, y: [1]}\nn:\n  title: y\ntitle: Old\n---\n", "title", "New", b"title: New\n"),
    "emoji": ("---\ntitle: Old 🚀 é\n---\nTëxt 日本\n".encode(), "title", "Nëw 🚀", "title: Nëw 🚀\n".encode()),
}  # fmt: skip
"""Faults MD-01, MD-09, MD-16 and MD-21 of this field, one page each."""

UNTOUCHED = {  # a field is refused, and no byte changes
    "blank first line": b"\n---\ntitle: Old\n---\nText\n",
    "toml": b"+++\ntitle = 'Old'\n+++\nText\n",
    "none": b"# Heading\n\nText\n",
    "never closed": b"---\ntitle: Old\nText\n",
    "links without quotes": b"---\npeople: [[A]], [[B]]\ntitle: Old\n---\nThe word is amaryllis.\n",
    "twice": b"---\ntitle: Old\ntitle: Older\n---\nText\n",
    "comment within": b"---\ntitle: [a, # why\n  b]\n---\nText\n",
}


def numstat(daemon, name):
    return git(daemon.data.wiki, "log", "-1", "--numstat", "--format=", "--", name).split()[:2]


@pytest.mark.promise("P9.153")
def test_a_field_set_through_the_daemon_is_one_line_of_the_diff(daemon):
    first = daemon.post("/api/v1/page", {"title": "First", "body": "It makes the project.", "cwd": "/home/ada/app"})
    notes = first["path"].rpartition("/")[0]
    folder = daemon.data.wiki / notes
    for number, (raw, *_) in enumerate(PAGES.values()):
        (folder / f"page{number}.md").write_bytes(raw)
    for number, raw in enumerate(UNTOUCHED.values()):
        (folder / f"left{number}.md").write_bytes(raw)
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "they are committed")

    wrong = {}
    for number, (name, (raw, key, value, line)) in enumerate(PAGES.items()):
        path = f"{notes}/page{number}.md"
        given = {"values": value} if isinstance(value, list) else {"value": value}
        daemon.post("/api/v1/page/field", {"page": path, "key": key, **given})
        before, after = raw.splitlines(keepends=True), (daemon.data.wiki / path).read_bytes().splitlines(keepends=True)
        added = [one for one in after if one not in before]
        gone = [one for one in before if one not in after]
        if added != [line] or len(gone) > 1 or len(after) - len(before) != 1 - len(gone):
            wrong[name] = (gone, added)
    assert wrong == {}

    for number, raw in enumerate(UNTOUCHED.values()):
        body = {"page": f"{notes}/left{number}.md", "key": "title", "value": "New"}
        assert daemon.request("POST", "/api/v1/page/field", body)[0] == 400
        assert (folder / f"left{number}.md").read_bytes() == raw

    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "all is committed")
    counts = {name: numstat(daemon, f"{notes}/page{n}.md") for n, name in enumerate(PAGES)}
    assert {name: count for name, count in counts.items() if count not in (["1", "1"], ["1", "0"])} == {}

    # MD-07: a page whose front matter is no YAML is found, and the fault is told with its line
    (hit,) = daemon.search("amaryllis", observations=False)
    assert hit["path"].endswith("left4.md")
    said = {one["check"]: one for one in json.loads(daemon.cli("doctor", "--json").stdout)["findings"]}
    assert "left4.md, line 2: " in said["stores.front_matter"]["evidence"]


@pytest.mark.promise("P9.153")
def test_a_hard_title_set_through_the_daemon_reads_the_same_everywhere(daemon):
    """MD-08: colons, signs, what YAML takes for other types, 300 characters; for readers of YAML 1.1 and 1.2."""
    page = daemon.post("/api/v1/page", {"title": "Start", "body": "Text", "cwd": "/home/ada/app"})
    file = daemon.data.wiki / page["path"]
    titles = [title for title in HARD_TITLES if title and title.isprintable()]

    for title in titles:
        daemon.post("/api/v1/page/field", {"page": page["path"], "key": "title", "value": title})
        front = file.read_text(encoding="utf-8").split("---\n")[1] if "---" not in title else None
        for loader in (yaml.SafeLoader, CoreLoader) if front else ():
            assert yaml.load(front, Loader=loader)["title"] == title
        assert daemon.get("/api/v1/page", page=page["path"])["title"] == " ".join(title.split())[:300]

    assert len(titles) > 40


@pytest.mark.promise("P9.153")
def test_tags_written_in_turn_by_agent_command_and_hand_stay_one_field(daemon):
    """MD-16: `tags: [a]`, `tags: a, b`, a block list, `#a`."""
    page = daemon.post("/api/v1/page", {"title": "T", "body": "Text", "tags": ["a"], "cwd": "/home/ada/app"})
    file = daemon.data.wiki / page["path"]

    def by_hand(old, new):
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    by_hand("tags: [a]\n", "tags: a, b\n")
    version = daemon.get("/api/v1/page", page=page["path"])["version"]
    body = {"title": "T", "body": "More", "tags": ["b", "c"], "path": page["path"], "version": version}
    daemon.post("/api/v1/page", body)
    by_hand("tags: [b, c]\n", "tags:\n  - b\n  - '#c'\n")
    assert daemon.cli("edit", page["path"], "--set", "tags=[c, d]").returncode == 0
    assert "tags:\n  - c\n  - d\n" in file.read_text()
    by_hand("tags:\n  - c\n  - d\n", "tags: '#d #e'\n")
    assert daemon.cli("edit", page["path"], "--set", "tags=[e]").returncode == 0

    assert file.read_text().count("tags:") == 1
    assert yaml.safe_load(file.read_text().split("---\n")[1])["tags"] == ["e"]
