"""Names: those that we choose are clear everywhere, those of people are kept; what only looks like a fact is none."""

import unicodedata

import pytest
from living import git, repository

TITLES = [
    "a b", "a-b", "A-B", "a/b", "a: b", "a?b", "con", "aux", "nul.", "x.", "x ", "index", "log", "shop", "Café", "Cafe\u0301",
    "データベース", "데이터베이스", "Выбор", "اختيار", "การเลือก", "🚀", "❤️", "...", "-", "Foo", "foo",
]  # fmt: skip
DEVICES = {"con", "prn", "aux", "nul"}


@pytest.fixture
def projects(daemon, tmp_path):
    """Three projects: a name in Japanese, one of emoji only, and one that is no file's name on Windows."""
    found = []
    for name in ("メモリ", "🚀🔥", "nul"):
        where = repository(tmp_path / name)
        daemon.event("generic", "note", {"session_id": name, "text": "hello", "cwd": str(where)})
        found.append(daemon.get("/api/v1/where", cwd=str(where))["project"])
    return found


def clean_tree(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")


@pytest.mark.promise("P1.150")
def test_names_that_we_choose_are_unique_and_portable_in_several_projects(daemon, projects):
    """MD-03, MD-10, MD-11, MD-13, MD-14: any titles, twice, give as many pages, and links by name mean one each."""
    assert len(set(projects)) == 3
    pages = {}
    for project in projects:
        for title in TITLES:
            page = daemon.post("/api/v1/page", {"title": title, "body": f"About {title}", "project": project})
            pages[page["path"]] = title

    names = [path.rpartition("/")[2] for path in (*pages, *(f"x/{p.rpartition('/')[2]}.md" for p in projects))]
    folded = [unicodedata.normalize("NFC", name).lower() for name in names]
    assert len(pages) == 3 * len(TITLES) and len(set(folded)) == len(names)
    assert folded == names  # composed, and nothing differs by case only
    for part in {part for path in (*pages, *projects) for part in path.split("/")}:
        assert (
            part.partition(".")[0] not in DEVICES and not part.endswith((".", " ")) and not set('<>:"|?*\\') & set(part)
        )
        assert len(part.encode()) <= 85
    found = daemon.get("/api/v1/links", project="*")
    assert (found["shared_names"], found["broken_total"]) == ({}, 0)
    clean_tree(daemon)
    assert git(daemon.data.wiki, "fsck").strip() == ""
    for path, title in list(pages.items())[:: len(TITLES) // 3]:
        assert daemon.get("/api/v1/page", page=path)["title"] == " ".join(title.split())


def test_a_persons_names_are_kept_and_a_rename_by_case_loses_nothing(daemon, tmp_path):
    """MD-03, MD-12, MD-13: names that differ by case, hyphen or composition, and `git mv Foo.md foo.md`."""
    where = repository(tmp_path / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    notes = daemon.data.wiki / "default" / "shop" / "notes"
    notes.mkdir()
    names = ["a b", "a-b", "A-B", "Foo", "Cafe\u0301", "v1.2", "50% & more"]
    for name in names:
        (notes / f"{name}.md").write_text(f"Its word is w{names.index(name)}w.\n")
    (notes / "links.md").write_text("[[Café]] [[a b]] [[A-b]] [x](50%25%20&%20more.md) [[V1.2]]\n")
    daemon.wait(lambda: len(daemon.search("Its word is", observations=False)) == len(names), "all are found")
    found = {
        link["raw"]: link for link in daemon.get("/api/v1/page/links", page="default/shop/notes/links.md")["outgoing"]
    }
    assert {raw: link["verdict"] for raw, link in found.items()} == {
        "[[Café]]": "page", "[[a b]]": "page", "[[A-b]]": "ambiguous", "[x](50%25%20&%20more.md)": "page", "[[V1.2]]": "page"
    }  # fmt: skip
    assert list(daemon.get("/api/v1/links", project="shop")["shared_names"]) == ["a-b.md"]
    clean_tree(daemon)

    git(daemon.data.wiki, "mv", "default/shop/notes/Foo.md", "default/shop/notes/foo.md")
    git(daemon.data.wiki, "commit", "-qm", "by case")
    daemon.wait(
        lambda: [hit["path"] for hit in daemon.search("w3w", observations=False)] == ["default/shop/notes/foo.md"],
        "moved",
    )
    clean_tree(daemon)
    assert sorted(path.stem for path in notes.glob("*.md")) == sorted([*names[:3], "foo", *names[4:], "links"])


def test_what_only_looks_like_a_fact_a_tag_or_a_link_is_none(daemon, tmp_path):
    """MD-04, MD-05, MD-25: callouts, tasks, comments and code; a decision that an agent only read in the repository."""
    where = repository(tmp_path / "shop")
    base = {"session_id": "native-one", "cwd": str(where)}
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "read the decisions"}, where)
    adr = "# 1. Use SQLite\n\nStatus: accepted. The word is amaryllis."
    read = {"tool_name": "Read", "tool_input": {"file_path": str(where / "docs" / "adr" / "0001.md")}}
    daemon.hook("claude-code", "PostToolUse", {**base, **read, "tool_response": {"content": adr}}, where)
    daemon.hook("claude-code", "Stop", {**base, "last_assistant_message": "Read."}, where)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)
    daemon.wait(lambda: daemon.lines("done"), "it is closed")
    assert daemon.search("amaryllis", kind="decision") == [] == daemon.search("amaryllis", observations=False)

    text = (
        "> [!warning] #no\n> [[shop]]\n\n- [ ] a task\n- [x] done #no\n\n%%[[no]] #no%%\n`[[no]] #no`\n\n[^1]\n\n[^1]: note\n"
        "![[pic.png]]\n<!-- tags: [no] -->\n"
    )
    file = daemon.data.wiki / "default" / "shop" / "hand.md"
    file.write_text(text)
    daemon.wait(
        lambda: daemon.search("callout task done", kind="note") or daemon.search("a task", kind="note"), "it is in"
    )
    page = daemon.get("/api/v1/page/links", page="default/shop/hand.md")
    assert [(link["raw"], link["verdict"]) for link in page["outgoing"]] == [
        ("[[shop]]", "page"),
        ("![[pic.png]]", "file"),
    ]
    assert daemon.get("/api/v1/page", page="default/shop/hand.md")["kind"] == "note"
    daemon.post("/api/v1/page/edit", {
        "page": "default/shop/hand.md", "text": text + "more\n",
        "version": daemon.get("/api/v1/page", page="default/shop/hand.md")["version"],
    })  # fmt: skip
    assert file.read_text() == text + "more\n"  # callouts, tasks and comments as they were
