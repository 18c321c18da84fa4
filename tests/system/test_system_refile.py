"""Repair of what was filed wrongly: a project gets another name or becomes part of another, a session moves."""

import signal
import sqlite3

import pytest
from living import Agent, git, repository

from aimemory.index.dump import dump as logical_dump


def dump(daemon):
    daemon.level()
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
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain", "--", "*.md") == "", "everything is committed")


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
        linked = [(daemon.data.wiki / new).read_text() for new in shown["pages"].values()]
        assert sum("- Project: [[other]]" in text for text in linked) == 2 and "[[shop]]" not in "".join(linked)
        assert "half pruned" in daemon.get("/api/v1/brief", cwd=str(other))["text"]
        assert "half pruned" not in daemon.get("/api/v1/brief", cwd=str(shop))["text"]
        agent.say("UserPromptSubmit", prompt="one wisteria more")
        assert {hit["project"] for hit in daemon.search("wisteria")} == {"default/other"}

    assert daemon.cli("project", "move-session", "wrong-native", "shop", "--apply").returncode == 0
    assert {hit["project"] for hit in daemon.search("wisteria")} == {"default/shop"}
    assert all((daemon.data.wiki / old).exists() for old in shown["pages"])
    assert sum("- Project: [[shop]]" in (daemon.data.wiki / old).read_text() for old in shown["pages"]) == 2
    clean_tree(daemon)


def test_a_session_is_not_moved_to_where_it_is_or_to_nowhere(daemon, shop):
    assert daemon.cli("project", "move-session", "first-native", "shop", "--apply").returncode == 2
    assert daemon.cli("project", "move-session", "first-native", "nosuch", "--apply").returncode == 2
    assert daemon.cli("project", "move-session", "nosuch-session", "shop", "--apply").returncode == 2


# -- merge -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def both(daemon, shop, other):
    """`shop` and `other`, each with a page of the same name."""
    for project in ("shop", "other"):
        body = {"title": "Same", "body": f"The gladiolus of {project}.", "path": f"default/{project}/notes/same.md"}
        daemon.post("/api/v1/page", {**body, "project": project})
    (daemon.data.wiki / "default" / "shop" / "notes" / "plan.png").write_bytes(b"no page")
    clean_tree(daemon)
    return shop, other


def tree(daemon):
    """Every file's bytes, by its path; listings are made in their own time."""
    root = daemon.data.wiki / "default"
    found = {
        str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file() and path.name != "index.md"
    }
    return {name: path.read_bytes() for name, path in found.items()}


def below(daemon, folder):
    """Bytes of a project's pages but its own, by file name."""
    found = {path.rpartition("/")[2]: raw for path, raw in tree(daemon).items() if path.startswith(f"{folder}/")}
    return {name: raw for name, raw in found.items() if name.endswith(".md") and name != f"{folder}.md"}


def filed(daemon):
    """What belongs to which project, as the index has it."""
    daemon.search("anything")
    db = sqlite3.connect(daemon.data.index)
    sql = """select 'session', id, project, page from session union all
        select 'event', id, project, null from observation union all
        select 'handoff', id, project, page from handoff union all select 'page', path, project, null from page"""
    try:
        return set(db.execute(sql))
    finally:
        db.close()


@pytest.mark.promise("P9.160")
@pytest.mark.promise("P1.160")
def test_a_merged_project_is_part_of_the_other_with_all_it_has_and_is_taken_back_exactly(daemon, both):
    shop, _ = both
    pages, was, before = tree(daemon), filed(daemon), below(daemon, "shop")
    (handoff,) = [h["id"] for h in daemon.get("/api/v1/handoffs", project="shop")["handoffs"] if h["state"] == "open"][
        :1
    ]
    shown = daemon.cli("project", "merge", "shop", "other")
    counts = f"{len(before) + 1} pages, {len(sessions(daemon, 'shop'))} sessions"
    assert shown.returncode == 0 and "Would merge default/shop into default/other" in shown.stdout
    assert counts in shown.stdout and "github.com/acme/shop means default/other then" in shown.stdout
    assert "notes/same.md becomes default/other/notes/same-" in shown.stderr
    assert (tree(daemon), filed(daemon)) == (pages, was)

    done = daemon.cli("project", "merge", "shop", "other", "--apply")

    assert done.returncode == 0, done.stderr
    assert not (daemon.data.wiki / "default" / "shop").exists()
    found = below(daemon, "other")
    assert set(before.values()) <= set(found.values()) and "The gladiolus of other." in str(found["same.md"])
    assert {hit["project"] for hit in daemon.search("gladiolus")} == {"default/other"}
    assert sessions(daemon, "other") == {"first-native", "o"}
    assert handoff in {h["id"] for h in daemon.get("/api/v1/handoffs", project="other")["handoffs"]}
    page = daemon.get("/api/v1/sessions", session="first-native")["page"]
    assert page.startswith("default/other/") and (daemon.data.wiki / page).exists()
    for where in both:
        assert daemon.get("/api/v1/where", cwd=str(where))["project"] == "default/other"
    assert daemon.get("/api/v1/projects")["projects"][0]["project"] == "default/other"
    clean_tree(daemon)
    assert "Merge default/shop into default/other" in git(daemon.data.wiki, "log", "-1", "--format=%an%n%B")

    now = dump(daemon)
    assert daemon.cli("reindex").returncode == 0
    assert dump(daemon) == now

    (back,) = [line for line in done.stderr.splitlines() if "To take it back" in line]
    assert daemon.cli(*back.split("aimemory ")[1].split()).returncode == 0
    assert (tree(daemon), filed(daemon)) == (pages, was)
    assert daemon.get("/api/v1/where", cwd=str(shop))["project"] == "default/shop"
    clean_tree(daemon)
    now = dump(daemon)
    assert daemon.cli("reindex").returncode == 0
    assert dump(daemon) == now


@pytest.mark.promise("P9.160")
def test_what_comes_later_lands_in_the_merged_project_and_stays_when_it_is_taken_back(daemon, both):
    shop, _ = both
    event = {"session_id": "long", "cwd": str(shop)}
    daemon.event("generic", "note", {**event, "text": "a hyacinth"})
    daemon.cli("project", "merge", "shop", "other", "--apply")
    daemon.stop()
    daemon.start()  # what is known in memory must come from the files

    daemon.event("generic", "note", {**event, "text": "more hyacinth"})
    daemon.event("generic", "note", {"session_id": "new", "text": "new hyacinth", "cwd": str(shop)})
    assert {hit["project"] for hit in daemon.search("hyacinth")} == {"default/other"}
    assert not (daemon.data.wiki / "default" / "shop").exists()
    daemon.cli("project", "alias", "other", "git@github.com:acme/third.git")
    assert "acme/shop" not in (daemon.data.wiki / "default" / "other" / "other.md").read_text()

    daemon.cli("project", "rename", "other", "garden", "--apply")
    (daemon.data.wiki / "default" / "garden" / "notes" / "same.md").unlink()
    daemon.wait(lambda: len(daemon.search("gladiolus", observations=False)) == 1, "the deletion by hand is seen")
    assert daemon.cli("project", "unmerge", "shop", "--apply").returncode == 0
    assert sessions(daemon, "shop") == {"first-native", "long"} and "new" in sessions(daemon, "garden")
    daemon.event("generic", "note", {**event, "text": "a narcissus"})
    assert {hit["project"] for hit in daemon.search("narcissus")} == {"default/shop"}
    assert "gladiolus of shop" in (daemon.data.wiki / "default" / "shop" / "notes" / "same.md").read_text()
    assert daemon.cli("project", "unmerge", "shop").returncode == 2


@pytest.mark.promise("P2.160")
def test_a_merge_that_a_crash_cut_off_behind_its_line_is_finished_at_the_next_start(daemon, both):
    pages = set(below(daemon, "shop").values())
    moved = daemon.post("/api/v1/projects/merge", {"project": "shop", "into": "other", "apply": True})["pages"]
    daemon.stop(signal.SIGKILL)
    for old, new in list(moved.items())[::2]:  # as if the kill had come in the middle of moving
        (daemon.data.wiki / old).parent.mkdir(parents=True, exist_ok=True)
        (daemon.data.wiki / new).rename(daemon.data.wiki / old)
    daemon.start()

    daemon.wait(lambda: not (daemon.data.wiki / "default" / "shop").exists(), "the merge is finished")
    clean_tree(daemon)
    assert pages <= set(below(daemon, "other").values())
    assert {hit["project"] for hit in daemon.search("gladiolus")} == {"default/other"}
    assert daemon.get("/api/v1/where", cwd=str(both[0]))["project"] == "default/other"


def test_a_merge_into_itself_or_of_nothing_is_refused_and_merges_come_apart_in_order(daemon, both):
    for pair in (("shop", "shop"), ("nosuch", "other"), ("shop", "nosuch"), ("_unfiled", "shop")):
        assert daemon.cli("project", "merge", *pair, "--apply").returncode == 2
    repository(daemon.home / "third", remote="git@github.com:acme/third.git")
    daemon.event("generic", "note", {"session_id": "t", "text": "x", "cwd": str(daemon.home / "third")})
    was = filed(daemon)
    daemon.cli("project", "merge", "shop", "other", "--apply")
    daemon.cli("project", "merge", "other", "third", "--apply")
    assert daemon.get("/api/v1/where", cwd=str(both[0]))["project"] == "default/third"

    refused = daemon.cli("project", "unmerge", "shop", "--apply")
    assert refused.returncode == 3 and "unmerge default/other comes first" in refused.stderr
    assert daemon.cli("project", "unmerge", "other", "--apply").returncode == 0
    assert daemon.get("/api/v1/where", cwd=str(both[0]))["project"] == "default/other"
    assert daemon.cli("project", "unmerge", "shop", "--apply").returncode == 0
    assert filed(daemon) == was
