"""Taking back what one session wrote to pages."""

import pytest
from living import Agent, git, repository


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository that is known as the project `shop`."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    return where


@pytest.fixture
def agent(daemon, shop):
    """An agent at work in the shop, whose MCP calls belong to the session `a1-native`."""
    with Agent(daemon, shop, "a1-native") as made:
        made.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="note what we know")
        daemon.search("know")
        yield made


def write(daemon, title, body="Ours.", **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "project": "shop", **more})


def text_of(daemon, path):
    file = daemon.data.wiki / path
    return file.read_text() if file.exists() else None


def change(daemon, agent, page, body, title):
    agent.tool("memory_write_page", title=title, body=body, path=page["path"], version=page["version"])
    return daemon.get("/api/v1/page", page=page["path"])["version"]


@pytest.fixture
def written(daemon, agent):
    """What the agent did: one page created, two changed, one deleted; path by what became of it."""
    changed, edited, gone = (write(daemon, title) for title in ("Changed", "Edited", "Gone"))
    agent.tool("memory_write_page", title="Created", body="Theirs.")
    change(daemon, agent, changed, "Theirs, once.", "Changed")
    version = daemon.get("/api/v1/page", page=changed["path"])["version"]
    change(daemon, agent, {"path": changed["path"], "version": version}, "Theirs, twice.", "Changed")
    change(daemon, agent, edited, "Theirs.", "Edited")
    agent.tool("memory_delete_page", page=gone["path"], version=gone["version"])
    (created,) = daemon.pages("default/shop/notes/created-*.md")
    return {
        "created": str(created.relative_to(daemon.data.wiki)), "changed": changed["path"], "edited": edited["path"],
        "gone": gone["path"],
    }  # fmt: skip


def pages_of(daemon, session="a1-native", **more):
    answer = daemon.post("/api/v1/undo", {"session": session, **more})
    return {page["path"]: page for page in answer["pages"]}


@pytest.mark.promise("P9.53")
def test_a_sessions_writes_are_taken_back_where_nobody_changed_them_since(daemon, written):
    edited = daemon.data.wiki / written["edited"]
    edited.write_text(edited.read_text() + "And mine.\n")
    before = {path: text_of(daemon, path) for path in written.values()}

    shown = daemon.cli("undo", "a1-native")

    assert shown.returncode == 0, shown.stderr
    assert "--apply" in shown.stderr
    assert {path: text_of(daemon, path) for path in written.values()} == before
    plan = {name: pages_of(daemon)[path]["action"] for name, path in written.items()}
    assert plan == {"created": "delete", "changed": "revert", "edited": "leave", "gone": "restore"}

    done = daemon.cli("undo", "a1-native", "--apply")

    assert done.returncode == 0, done.stderr
    assert text_of(daemon, written["created"]) is None
    assert "Ours." in text_of(daemon, written["changed"]) and "Ours." in text_of(daemon, written["gone"])
    assert text_of(daemon, written["edited"]) == before[written["edited"]]
    assert "changed since: changed by hand" in done.stdout
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "all is committed")
    assert "Undo " in git(daemon.data.wiki, "log", "-3", "--format=%B")


@pytest.mark.promise("P9.54")
def test_each_step_of_an_undo_can_be_taken_back_by_the_command_it_names(daemon, written):
    before = {path: text_of(daemon, path) for path in written.values()}
    done = pages_of(daemon, apply=True)
    assert all(page["done"] for page in done.values()) and len(done) == 4

    for page in done.values():
        back = daemon.cli(*page["back"].split()[1:])
        assert back.returncode == 0, back.stderr

    assert {path: text_of(daemon, path) for path in written.values()} == before


def test_an_undo_done_already_finds_nothing_to_do(daemon, written):
    pages_of(daemon, apply=True)

    assert {page["action"] for page in pages_of(daemon, apply=True).values()} == {"leave"}


def test_a_session_is_named_by_our_id_or_its_beginning_too(daemon, written):
    session = daemon.post("/api/v1/undo", {"session": "a1-native"})["session"]

    assert len(pages_of(daemon, session)) == len(pages_of(daemon, session[:6])) == 4
    assert daemon.cli("undo", "nosuch-session").returncode == 2


def test_a_page_of_another_session_is_none_of_its_writes(daemon, agent, written):
    write(daemon, "Another")

    assert set(pages_of(daemon)) == set(written.values())
    other = daemon.lines("observation")[0]["data"]["session"]
    assert pages_of(daemon, other) == {}
