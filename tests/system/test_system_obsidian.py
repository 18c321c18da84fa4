"""The wiki as an Obsidian vault: links from both ends, after renames too; names that two pages have."""

import json

import pytest
from living import Agent, git, repository


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository known as `shop` with one page."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    write(daemon, "Start", "It begins here.")
    return where


def write(daemon, title, body, **more):
    page = daemon.post("/api/v1/page", {"title": title, "body": body, "project": "shop", **more})
    return page | {"name": page["path"].rpartition("/")[2].removesuffix(".md")}


def clean_tree(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")


def links(daemon, page):
    return daemon.get("/api/v1/page/links", page=page)


def verdicts(daemon, page):
    return {link["raw"]: link["verdict"] for link in links(daemon, page)["outgoing"]}


@pytest.mark.promise("P9.154")
def test_links_follow_writes_hand_edits_deletions_and_new_pages(daemon, shop):
    target = write(daemon, "Target", "# H\n")
    body = f"[[{target['name']}|x]] [t]({target['name']}.md#H) [[later]] `[[code]]` ![[pic.png]] [[#Here]]"
    source = write(daemon, "Source", body)
    found = links(daemon, source["path"])
    assert [(link["raw"], link["verdict"]) for link in found["outgoing"]] == [
        (f"[[{target['name']}|x]]", "page"), (f"[t]({target['name']}.md#H)", "page"), ("[[later]]", "broken"),
        ("![[pic.png]]", "file"), ("[[#Here]]", "page"),
    ]  # fmt: skip
    assert {link["source"] for link in links(daemon, target["path"])["backlinks"]} == {source["path"]}

    notes = daemon.data.wiki / "default" / "shop" / "notes"
    (notes / "Later.md").write_text("---\nup: '[[start]]'\n---\nBy hand: [[nowhere]]\n")
    daemon.wait(lambda: verdicts(daemon, source["path"])["[[later]]"] == "page", "the hand-made page is the link's")
    assert verdicts(daemon, "default/shop/notes/Later.md") == {"[[start]]": "broken", "[[nowhere]]": "broken"}
    (daemon.data.wiki / "default" / "shop" / "later.md").write_text("A second one.\n")
    daemon.wait(lambda: verdicts(daemon, source["path"])["[[later]]"] == "ambiguous", "two pages fit")

    shown = daemon.cli("links", "-p", "shop")
    assert shown.returncode == 0, shown.stderr
    assert "default/shop/notes/Later.md: [[nowhere]]  leads nowhere" in shown.stdout
    assert "[[later]]  default/shop/notes/Later.md (several pages fit)" in shown.stdout
    assert "later.md is the name of 2 pages" in shown.stdout
    said = {one["check"]: one for one in json.loads(daemon.cli("doctor", "--json").stdout)["findings"]}
    assert "[[nowhere]]" in said["stores.links"]["evidence"]
    assert "default/shop/later.md" in said["stores.names"]["evidence"]
    page = daemon.cli("links", source["path"])
    assert f"-> [[{target['name']}|x]]  {target['path']}" in page.stdout

    plan = daemon.post("/api/v1/page/delete", {"page": target["path"]})
    assert plan["linked_from"] == [source["path"]]
    daemon.post(
        "/api/v1/page/delete", {"page": target["path"], "version": plan["version"], "apply": True, "lose": True}
    )
    assert verdicts(daemon, source["path"])[f"[[{target['name']}|x]]"] == "broken"


@pytest.mark.promise("P9.155")
def test_generated_pages_link_to_their_project_their_session_and_their_handoff(daemon, shop):
    daemon.hook(
        "claude-code", "UserPromptSubmit", {"session_id": "native-one", "cwd": str(shop), "prompt": "sort seeds"}, shop
    )
    with Agent(daemon, shop, "native-one") as agent:
        agent.say("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "a"})
        agent.say("Stop", last_assistant_message="Sorted.")
        agent.say("SessionEnd", reason="other")
    page = daemon.wait(lambda: daemon.get("/api/v1/sessions", session="native-one")["page"], "its page")
    (handoff,) = daemon.get("/api/v1/handoffs", project="shop")["handoffs"]

    here, there = links(daemon, page), links(daemon, handoff["page"])

    project = "default/shop/shop.md"
    assert {link["page"] for link in here["outgoing"]} == {project, handoff["page"]}
    assert {link["page"] for link in there["outgoing"]} == {project, page}
    assert {link["verdict"] for link in (*here["outgoing"], *there["outgoing"])} == {"page"}
    assert {link["source"] for link in links(daemon, project)["backlinks"]} == {page, handoff["page"]}


@pytest.mark.promise("P9.156")
def test_a_rename_changes_links_in_generated_pages_and_in_others_only_when_asked(daemon, shop):
    daemon.post("/api/v1/handoffs/begin", {"summary": "water the seeds", "project": "shop"})
    one = write(daemon, "One", "The word is amaryllis.")
    body = f"[[shop]] [[Shop|the shop]] [[default/shop/notes/{one['name']}#H]] `[[shop]]` [[ shop ]] [[{one['name']}]] shop\r\nend"
    two = write(daemon, "Two", body)
    clean_tree(daemon)
    file = daemon.data.wiki / two["path"]
    before = file.read_bytes()
    plan = json.loads(daemon.cli("project", "rename", "shop", "store", "--json").stdout)
    (handoff,) = daemon.get("/api/v1/handoffs", project="shop")["handoffs"]
    assert (plan["relinked"], plan["linked_from"]) == ([handoff["page"]], [two["path"]])

    done = json.loads(daemon.cli("project", "rename", "shop", "store", "--apply", "--json").stdout)
    moved = two["path"].replace("default/shop", "default/store")
    assert done["linked_from"] == [moved] and (daemon.data.wiki / moved).read_bytes() == before
    assert verdicts(daemon, moved)["[[shop]]"] == "broken"
    new = handoff["page"].replace("default/shop", "default/store")
    assert "- Project: [[store]]" in (daemon.data.wiki / new).read_text() and set(verdicts(daemon, new).values()) == {
        "page"
    }
    assert daemon.cli(*done["back"].split()[1:]).returncode == 0
    assert file.read_bytes() == before

    done = json.loads(daemon.cli("project", "rename", "shop", "store", "--apply", "--links", "--json").stdout)
    text = (daemon.data.wiki / moved).read_bytes()
    assert text == before.replace(b"[[shop]] [[Shop|", b"[[store]] [[store|").replace(
        b"default/shop/", b"default/store/"
    ).replace(b"[[ shop ]]", b"[[ store ]]")
    assert set(verdicts(daemon, moved).values()) == {"page"} and done["linked_from"] == []
    clean_tree(daemon)
    changes = daemon.get("/api/v1/page/history", page=moved, diff=1)
    assert "-[[shop]] [[Shop|the shop]]" in changes["diff"]
    assert daemon.cli(*done["back"].split()[1:]).returncode == 0
    assert verdicts(daemon, two["path"])["[[shop]]"] == "page"


@pytest.mark.promise("P9.156")
def test_links_that_a_crash_left_behind_a_rename_are_changed_at_the_next_start(daemon, shop):
    daemon.post("/api/v1/handoffs/begin", {"summary": "water the seeds", "project": "shop"})
    (handoff,) = daemon.get("/api/v1/handoffs", project="shop")["handoffs"]
    mine = write(daemon, "Mine", "[[shop]]", kind="decision")
    assert mine["path"] < handoff["page"], "it would be changed first"
    daemon.post("/api/v1/handoffs/begin", {"summary": "prune the roses", "project": "shop"})
    two = daemon.get("/api/v1/handoffs", project="shop")["handoffs"]
    (theirs,) = [one["page"] for one in two if one["page"] != handoff["page"]]
    with (daemon.data.wiki / theirs).open("a") as file:
        file.write("\nMine too.\n")
    clean_tree(daemon)
    before = (daemon.data.wiki / handoff["page"]).read_bytes()
    done = json.loads(daemon.cli("project", "rename", "shop", "store", "--apply", "--json").stdout)
    assert set(done["linked_from"]) == {
        path.replace("default/shop", "default/store") for path in (mine["path"], theirs)
    }
    page = daemon.data.wiki / handoff["page"].replace("default/shop", "default/store")
    after = page.read_bytes()
    assert before != after == before.replace(b"[[shop]]", b"[[store]]")
    daemon.kill()
    page.write_bytes(before)  # as if the kill had come between the rename and the links

    daemon.start()

    daemon.wait(lambda: page.read_bytes() == after, "the link is changed")
    for path in done["linked_from"]:
        assert "[[shop]]" in (daemon.data.wiki / path).read_text()
