"""Repair of what was filed wrongly: a project gets another name, a session another project."""

import signal
import sqlite3

import pytest
from living import Agent, git, repository

from aimemory.index.dump import dump as logical_dump


def dump(daemon):
    daemon.search("anything")
    db = sqlite3.connect(daemon.data.index)
    try:
        return logical_dump(db)
    finally:
        db.close()


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository known as `shop`, with two pages that know each other, a closed session and a handoff."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.closed_session({"session_id": "first-native", "cwd": str(where)}, where)
    one = write(daemon, "One", "The word is amaryllis.")
    name = one["path"].rpartition("/")[2].removesuffix(".md")
    write(daemon, "Two", f"See [[{name}]].")
    daemon.post("/api/v1/handoffs/begin", {"summary": "water the seeds", "project": "shop"})
    clean_tree(daemon)
    return where


@pytest.fixture
def other(daemon, tmp_path):
    """Another project."""
    where = repository(tmp_path / "other", remote="git@github.com:acme/other.git")
    daemon.event("generic", "note", {"session_id": "o", "text": "hello", "cwd": str(where)})
    return where


def write(daemon, title, body, **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "project": "shop", **more})


def clean_tree(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")


def ids(daemon, folder):
    """Page ids and bytes below a folder, by file name; generated pages link to their project by its name."""
    root = daemon.data.wiki / folder
    name = f"- Project: [[{root.name}]]".encode()
    return {
        path.name: path.read_bytes().replace(name, b"- Project: [[its project]]")
        for path in root.rglob("*.md")
        if path.name != f"{root.name}.md"
    }


def sessions(daemon, project):
    return {one["native"] for one in daemon.get("/api/v1/sessions", project=project)["sessions"]}


# -- rename ----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.55")
def test_a_renamed_project_keeps_all_it_has_and_later_events_land_in_it(daemon, shop):
    before = ids(daemon, "default/shop")
    shown = daemon.cli("project", "rename", "shop", "store")
    assert shown.returncode == 0 and "Would move" in shown.stdout and "1 sessions" in shown.stdout
    assert ids(daemon, "default/shop") == before

    done = daemon.cli("project", "rename", "shop", "store", "--apply")

    assert done.returncode == 0, done.stderr
    assert not (daemon.data.wiki / "default" / "shop").exists()
    assert ids(daemon, "default/store") == before
    assert (daemon.data.wiki / "default" / "store" / "store.md").exists()
    (hit,) = daemon.search("amaryllis", observations=False)
    assert (hit["project"], hit["path"].startswith("default/store/")) == ("default/store", True)
    assert sessions(daemon, "store") == {"first-native"}
    page = daemon.get("/api/v1/sessions", session="first-native")["page"]
    assert (daemon.data.wiki / page).exists()
    (handoff,) = [h for h in daemon.get("/api/v1/handoffs", project="store")["handoffs"] if h["page"]]
    assert (daemon.data.wiki / handoff["page"]).exists()
    daemon.event("generic", "note", {"session_id": "late", "text": "late", "cwd": str(shop)})
    assert daemon.get("/api/v1/where", cwd=str(shop))["project"] == "default/store"
    assert [p["project"] for p in daemon.get("/api/v1/projects")["projects"]] == ["default/store", "default/_unfiled"]
    clean_tree(daemon)
    assert git(daemon.data.wiki, "log", "-1", "--format=%an").strip() == "ada"


@pytest.mark.promise("P9.56")
def test_a_rename_is_taken_back_by_the_command_it_names(daemon, shop):
    before = ids(daemon, "default/shop")
    back = daemon.post("/api/v1/projects/rename", {"project": "shop", "name": "store", "apply": True})["back"]

    assert daemon.cli(*back.split()[1:]).returncode == 0

    assert ids(daemon, "default/shop") == before
    assert not (daemon.data.wiki / "default" / "store").exists()
    assert daemon.search("amaryllis", observations=False)[0]["project"] == "default/shop"


@pytest.mark.promise("P1.61")
def test_an_index_made_anew_after_a_rename_and_a_move_equals_the_one_before(daemon, shop, other):
    daemon.cli("project", "rename", "shop", "store", "--apply")
    daemon.cli("project", "move-session", "first-native", "other", "--apply")
    daemon.event("generic", "note", {"session_id": "late", "text": "late", "cwd": str(shop)})
    clean_tree(daemon)
    before = dump(daemon)

    assert daemon.cli("reindex").returncode == 0

    assert dump(daemon) == before


def test_the_history_of_a_page_goes_on_under_the_new_name(daemon, shop):
    (page,) = daemon.search("amaryllis", observations=False)
    daemon.cli("project", "rename", "shop", "store", "--apply")
    moved = page["path"].replace("default/shop", "default/store")

    found = daemon.get("/api/v1/page/history", page=moved)

    assert [change["what"] for change in found["changes"]] == ["created"]
    assert daemon.cli("delete", moved, "--apply").returncode == 0
    assert daemon.cli("undelete", moved).returncode == 0


@pytest.mark.parametrize("name", ["other", "default/shop", "Über Laden", "_unfiled", "../x", "a/b/c", ""])
def test_a_name_that_cannot_be_is_refused_and_nothing_changes(daemon, shop, other, name):
    before = ids(daemon, "default/shop")

    done = daemon.cli("project", "rename", "shop", name, "--apply")

    assert done.returncode in (2, 3)
    assert ids(daemon, "default/shop") == before


@pytest.mark.promise("P2.61")
def test_a_rename_that_a_crash_cut_off_behind_its_line_is_finished_at_the_next_start(daemon, shop):
    before = ids(daemon, "default/shop")
    daemon.cli("project", "rename", "shop", "store", "--apply")
    daemon.stop(signal.SIGKILL)
    wiki = daemon.data.wiki / "default"
    (wiki / "store" / "store.md").rename(wiki / "store" / "shop.md")
    (wiki / "store").rename(wiki / "shop")  # as if the kill had come before the files moved
    daemon.start()

    daemon.wait(lambda: (wiki / "store" / "store.md").exists(), "the rename is finished")
    clean_tree(daemon)
    where = {"default/store"}
    daemon.wait(lambda: {h["project"] for h in daemon.search("amaryllis", observations=False)} == where, "it is found")
    assert ids(daemon, "default/store") == before


# -- move-session ----------------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.57")
def test_a_moved_session_takes_its_events_pages_and_handoffs_along_and_back(daemon, shop, other):
    with Agent(daemon, shop, "wrong-native") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="prune the wisteria")
        daemon.search("wisteria")
        agent.tool("memory_write_page", title="Pruning", body="In winter, the wisteria.")
        agent.tool("memory_session_close", summary="half pruned")
        agent.say("SessionEnd", reason="other")
        daemon.wait(lambda: daemon.get("/api/v1/sessions", session="wrong-native")["page"], "its page")
        shown = daemon.post("/api/v1/projects/move-session", {"moved": "wrong-native", "project": "other"})
        assert len(shown["pages"]) == 3 and not shown["applied"]

        done = daemon.cli("project", "move-session", "wrong-native", "other", "--apply")

        assert done.returncode == 0, done.stderr
        assert sessions(daemon, "other") == {"o", "wrong-native"} and sessions(daemon, "shop") == {"first-native"}
        hits = daemon.search("wisteria")
        assert len(hits) > 3 and {hit["project"] for hit in hits} == {"default/other"}
        assert all((daemon.data.wiki / new).exists() for new in shown["pages"].values())
        assert "half pruned" in daemon.get("/api/v1/brief", cwd=str(other))["text"]
        assert "half pruned" not in daemon.get("/api/v1/brief", cwd=str(shop))["text"]
        agent.say("UserPromptSubmit", prompt="one wisteria more")
        assert {hit["project"] for hit in daemon.search("wisteria")} == {"default/other"}

    assert daemon.cli("project", "move-session", "wrong-native", "shop", "--apply").returncode == 0
    assert {hit["project"] for hit in daemon.search("wisteria")} == {"default/shop"}
    assert all((daemon.data.wiki / old).exists() for old in shown["pages"])
    clean_tree(daemon)


def test_a_session_is_not_moved_to_where_it_is_or_to_nowhere(daemon, shop):
    assert daemon.cli("project", "move-session", "first-native", "shop", "--apply").returncode == 2
    assert daemon.cli("project", "move-session", "first-native", "nosuch", "--apply").returncode == 2
    assert daemon.cli("project", "move-session", "nosuch-session", "shop", "--apply").returncode == 2
