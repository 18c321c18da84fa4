"""Reading on: sections, a page as it was, what changed, what is around it; grep; what readers say of a page."""

import json
import os
import pty
import re
import shutil
import subprocess
from datetime import datetime

import pytest
from living import Daemon, git, repository
from test_system_mcp import Client

from aimemory.datadir import lock_holder


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for all tests here; each uses pages of its own."""
    made = Daemon(tmp_path_factory.mktemp("reading"))
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def shop(daemon, tmp_path_factory):
    where = repository(tmp_path_factory.mktemp("work") / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    return where


@pytest.fixture(scope="module")
def agent(daemon, shop):
    made = Client(daemon, shop)
    made.call("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})
    yield made
    made.close()


def write(daemon, title, body, **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "kind": "note", "project": "shop", **more})


def write_as(daemon, cwd, session, title, body, tags=()):
    """Write a page as the agent of a session does; gives its path."""
    call = {"name": "memory_write_page", "arguments": {"title": title, "body": body, "tags": list(tags)}}
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "x-aimemory-cwd": str(cwd), "x-aimemory-harness": "codex", "x-aimemory-session": session,
    }  # fmt: skip
    _, _, raw = daemon.request(
        "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers
    )
    text = json.loads(raw)["result"]["content"][0]["text"]
    return re.search(r"^Created (.*)$", text, re.MULTILINE)[1]


def committed(daemon, path):
    """Wait until git holds the page as it stands."""
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain", "--", path) == "", f"{path} is committed")
    daemon.wait(lambda: path in git(daemon.data.wiki, "ls-tree", "-r", "--name-only", "HEAD"), f"{path} is in HEAD")
    return git(daemon.data.wiki, "rev-parse", "HEAD").strip()


LONG = "Intro.\n\n# Setup\n\n## Linux\n\nUse apt.\n\n## macOS\n\nUse brew.\n\n# Notes\n\n" + "word " * 8000


@pytest.mark.promise("P9.260")
def test_a_page_is_read_by_section_and_in_parts_by_every_surface(daemon, shop, agent):
    page = write(daemon, "Toolchain", LONG)
    whole = (daemon.data.wiki / page["path"]).read_text()

    outline = daemon.get("/api/v1/page", page="toolchain", project="shop", outline=1)
    assert [(one["number"], one["name"]) for one in outline["sections"]] == [
        (1, "Setup"), (2, "Setup > Linux"), (3, "Setup > macOS"), (4, "Notes"),
    ]  # fmt: skip
    assert outline["text"] == "" and outline["version"] == page["version"]
    for asked in ("Linux", "setup > linux", "2"):
        found = daemon.get("/api/v1/page", page=page["path"], section=asked)
        assert found["text"] == "## Linux\n\nUse apt.\n\n" and found["section"] == "Setup > Linux"
    assert "Use brew." in daemon.get("/api/v1/page", page="[[Toolchain#Setup#macOS|here]]", project="shop")["text"]
    shown = daemon.cli("read", "Toolchain", "--section", "macos", cwd=shop)
    assert shown.stdout == "## macOS\n\nUse brew.\n\n"
    assert "Setup" in daemon.cli("read", "Toolchain", "--sections", cwd=shop).stdout
    missing = daemon.cli("read", "Toolchain", "--section", "BSD", cwd=shop)
    assert missing.returncode == 2 and "2. Setup > Linux" in missing.stderr

    text, failed = agent.tool("memory_read_page", page="Toolchain")
    assert not failed and "3. " in text and "Setup > macOS" in text and "Use apt." in text
    parts, offset = [], 0
    while True:
        found = daemon.get("/api/v1/page", page=page["path"], offset=offset, max_chars=9000)
        parts.append(found["text"])
        if (offset := found["next_offset"]) is None:
            break
    assert "".join(parts) == whole and len(parts) > 4
    text, failed = agent.tool("memory_read_page", page="Toolchain", section="Linux")
    assert not failed and "Use apt." in text and "Use brew." not in text and page["version"] in text


@pytest.mark.promise("P9.261")
def test_an_alias_finds_a_page_and_one_that_fits_several_names_them(daemon, shop, agent):
    one = write(daemon, "Queue of jobs", "Jobs wait here.")
    other = write(daemon, "Mail queue", "Mails wait here.")
    for page in (one, other):
        file = daemon.data.wiki / page["path"]
        file.write_text(file.read_text().replace("type: note", f"type: note\naliases: [The Q, {page['id']}-q]"))
        daemon.wait(
            lambda page=page: daemon.request("GET", f"/api/v1/page?page={page['id']}-q&project=shop")[0] == 200, "alias"
        )

    text, failed = agent.tool("memory_read_page", page=f"{one['id']}-Q".upper())
    assert not failed and "Jobs wait here." in text
    text, failed = agent.tool("memory_read_page", page="the q")
    assert failed and one["path"] in text and other["path"] in text


@pytest.mark.promise("P6.332")
def test_a_page_of_another_project_than_the_named_one_is_not_given_for_it(daemon, shop, tmp_path):
    other = repository(tmp_path / "garden")
    daemon.event("generic", "note", {"session_id": "g", "text": "hello", "cwd": str(other)})
    path = write(daemon, "Only of the shop", "The shop's own.\n")["path"]
    elsewhere = daemon.cli("read", "Only of the shop", cwd=other)
    named = [daemon.cli(command, name, "-p", "garden", cwd=shop) for command in ("read", "history", "related", "links")
             for name in ("Only of the shop", path.rpartition("/")[2])]  # fmt: skip

    assert elsewhere.returncode == 0 and "The shop's own." in elsewhere.stdout  # nothing was named: it is the only one
    for done in named:
        assert done.returncode == 2 and done.stdout == "", done
        assert "in default/garden" in done.stderr and path in done.stderr


@pytest.mark.promise("P9.262")
def test_a_page_is_read_as_it_was_through_a_rename_by_hand_and_after_it_is_gone(daemon, shop, agent):
    page = write(daemon, "Retry limit", "Retry 3 times.\n\nWhy: the gateway drops one in ten.\n\nSee the log.")
    first = daemon.get("/api/v1/page/history", page=page["path"])["changes"][0]["when"]
    commit = committed(daemon, page["path"])
    then = datetime.fromisoformat(first)  # of a version, to the second: what follows is to be of a later one
    daemon.wait(lambda: datetime.now(then.tzinfo).replace(microsecond=0) > then, "the clock shows another second")
    old = daemon.data.wiki / page["path"]
    new = old.with_name("limits-of-retries.md")
    git(daemon.data.wiki, "mv", page["path"], str(new.relative_to(daemon.data.wiki)))
    moved = str(new.relative_to(daemon.data.wiki))
    daemon.wait(lambda: daemon.request("GET", f"/api/v1/page?page={page['id']}")[0] == 200, "the new name is known")
    committed(daemon, moved)
    now = daemon.get("/api/v1/page", page=moved)
    body = now["text"].partition("---\n")[2].partition("---\n")[2].replace("3 times", "5 times")
    changed = write(daemon, "Retry limit", body, path=moved, version=now["version"])
    committed(daemon, moved)

    then = daemon.get("/api/v1/page", page=moved, as_of=first)
    assert "Retry 3 times." in then["text"] and then["version"] == page["version"] != changed["version"]
    assert "Retry 3 times." in daemon.get("/api/v1/page", page=moved, as_of=commit)["text"]
    assert "Retry 3 times." in daemon.get("/api/v1/page", page=moved, as_of=page["version"][:12])["text"]
    diff = daemon.cli("read", moved, "--diff", first)
    assert "-Retry 3 times." in diff.stdout and "+Retry 5 times." in diff.stdout
    text, failed = agent.tool("memory_read_page", page=moved, diff=first)
    assert not failed and "+Retry 5 times." in text and "unified diff" in text
    assert daemon.request("GET", f"/api/v1/page?page={moved}&as_of=2001-01-01")[0] == 404
    assert "is no time" in daemon.cli("read", moved, "--as-of", "teatime").stderr

    assert daemon.cli("delete", moved, "--apply").returncode == 0
    assert daemon.request("GET", f"/api/v1/page?page={moved}")[0] == 404
    gone, failed = agent.tool("memory_read_page", page=moved, as_of="2")
    assert not failed and "Retry 5 times." in gone and "As it was: version 2" in gone
    shown = daemon.cli("read", moved, "--as-of", first)
    assert "Retry 3 times." in shown.stdout and "created" in shown.stderr
    ends = daemon.get("/api/v1/page", page=moved, diff="2")
    assert "-Retry 5 times." in ends["text"] and "(deleted)" in ends["text"]


@pytest.mark.promise("P4.260")
def test_what_looks_like_a_secret_in_a_persons_page_is_not_given_to_an_agent(daemon, shop, agent):
    page = write(daemon, "Deploy by hand", "Log in first.")
    file = daemon.data.wiki / page["path"]
    secret = "ghp_" + "Zq8R" * 9
    file.write_text(file.read_text() + f"\nThe key is {secret}\n")
    version = daemon.get("/api/v1/page", page=page["path"])["version"]

    text, failed = agent.tool("memory_read_page", page=page["path"])

    assert not failed and "Log in first." in text
    assert secret not in text and version not in text and "only be changed in its file" in text
    assert secret in daemon.cli("read", page["path"]).stdout


def test_grep_needs_no_daemon_and_starts_none(daemon, shop):
    page = write(daemon, "Ports", "The proxy listens on [::1]:8443.")
    daemon.event("generic", "prompt", {"session_id": "g1", "prompt": "open port [::1]:8443", "cwd": str(shop)})
    alone = Daemon(daemon.root / "no-daemon")
    for name in ("wiki", "journal"):
        shutil.copytree(daemon.data.root / name, alone.data.root / name)

    found = alone.cli("grep", "--journal", "[::1]:8443", "-p", "shop")

    assert found.returncode == 0 and found.stdout.count("\n") == 2
    assert f"wiki/{page['path']}:" in found.stdout and "generic prompt, prompt: open port" in found.stdout
    assert lock_holder(alone.data) is None


def on_terminal(daemon, *arguments, cwd, **env):
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*daemon.program, *arguments], env={**daemon.env, "TERM": "xterm", **env}, cwd=cwd, timeout=60, check=False,
            stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # its other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return done.returncode, shown.decode()


@pytest.mark.promise("P9.263")
def test_search_is_coloured_on_a_terminal_only_and_opens_a_hit(daemon, shop):
    page = write(daemon, "Narwhal horn", "The narwhal horn is a tooth.")
    daemon.event(
        "generic", "prompt", {"session_id": "n1", "prompt": "polish the narwhal horn\nslowly", "cwd": str(shop)}
    )
    daemon.level()

    plain = daemon.cli("search", "narwhal horn", cwd=shop)
    assert "\x1b" not in plain.stdout and " 1. Narwhal horn  [note, " in plain.stdout and page["path"] in plain.stdout
    _, shown = on_terminal(daemon, "search", "narwhal horn", cwd=shop)
    assert "\x1b[" in shown and "\x1b[32m\x1b[1mnarwhal\x1b[0m" in shown
    _, shown = on_terminal(daemon, "search", "narwhal horn", cwd=shop, NO_COLOR="1")
    assert "\x1b[" not in shown and "Narwhal horn" in shown

    assert daemon.cli("search", "narwhal horn", "--open", "1", cwd=shop).stdout == (
        (daemon.data.wiki / page["path"]).read_text()
    )
    event = daemon.cli("search", "narwhal polish", "-k", "observation", "--open", "1", cwd=shop).stdout
    assert event.startswith("> line ") and "    polish the narwhal horn\n    slowly\n" in event
    code, shown = on_terminal(daemon, "search", "narwhal horn", "--open", "1", cwd=shop, PAGER="sed s/^/PAGED:/")
    assert code == 0 and "PAGED:The narwhal horn is a tooth." in shown
    code, shown = on_terminal(daemon, "search", "narwhal horn", "--open", "1", cwd=shop, PAGER="", EDITOR="wc -c")
    assert code == 0 and str(daemon.data.wiki / page["path"]) in shown
    missing = daemon.cli("search", "narwhal horn", "--open", "40", cwd=shop)
    assert missing.returncode == 2 and "There is no hit 40" in missing.stderr


@pytest.mark.promise("P9.264")
def test_what_is_around_a_page_is_told_with_why_and_bounded(daemon, shop, agent):
    for n in range(15):
        daemon.event("codex", "UserPromptSubmit", {
            "session_id": "rel", "cwd": str(shop), "prompt": f"step {n} of the ferry", "turn_id": str(n),
        })  # fmt: skip
    daemon.level()
    hub = write(daemon, "Ferry plan", "The plan.", tags=["ferry"])
    (session,) = [
        one["id"] for one in daemon.get("/api/v1/sessions", project="shop")["sessions"] if one["native"] == "rel"
    ]
    mine = write_as(daemon, shop, "rel", "Ferry notes", f"See [[{hub['path'].removesuffix('.md')}]].")
    twin = write_as(daemon, shop, "rel", "Ferry times", "Twice a day.", ["ferry"])
    far = write(daemon, "Ferry fares", f"See [[{mine.removesuffix('.md')}]].")
    daemon.event("codex", "UserPromptSubmit", {
        "session_id": "rel", "cwd": str(shop), "prompt": "after the notes were written", "turn_id": "later",
    })  # fmt: skip
    daemon.level()

    found = daemon.get("/api/v1/page/related", page=hub["path"])
    assert {one["path"]: one["why"] for one in found["pages"]} == {
        mine: ["links to this page"], twin: ["tagged ferry like this page"],
    }  # fmt: skip
    deep = daemon.get("/api/v1/page/related", page=hub["path"], depth=2)["pages"]
    steps = {one["path"]: one["distance"] for one in deep}
    assert len(steps) == len(deep) and hub["path"] not in steps, "each once, and not the page itself"
    assert {path: steps[path] for path in (mine, twin, far["path"])} == {mine: 1, twin: 1, far["path"]: 2}
    first = daemon.get("/api/v1/page/related", page=hub["path"], depth=2, limit=1)
    assert [one["path"] for one in first["pages"]] == [mine] and first["total"] == len(deep)
    assert next(one for one in deep if one["path"] == far["path"])["why"] == [f"links to {mine}"]

    around = daemon.get("/api/v1/page/related", page=mine, events=5)
    whys = {one["path"]: one["why"] for one in around["pages"]}
    assert whys[hub["path"]] == ["this page links to it"] and whys[twin] == [f"same session {session} as this page"]
    (behind,) = around["behind"]
    assert (behind["session"], behind["role"], behind["total"]) == (session, "write", 15)
    assert [one["text"] for one in behind["events"]] == [f"step {n} of the ferry" for n in range(10, 15)]
    earlier = daemon.get("/api/v1/page/related", page=mine, events=50, before=behind["next_before"])["behind"]
    assert [one["text"] for one in earlier[0]["events"]] == [f"step {n} of the ferry" for n in range(10)]
    assert earlier[0]["next_before"] is None

    text, failed = agent.tool("memory_related", page=mine, events=3)
    assert not failed and "this page links to it" in text and "step 14 of the ferry" in text and "step 11" not in text
    assert f"before={behind['events'][-3]['seq']}" in text
    shown = daemon.cli("related", mine, "--depth", "2")
    assert (
        shown.returncode == 0 and f"same session {session}" in shown.stdout and "step 14 of the ferry" in shown.stdout
    )
    assert daemon.cli("related", "no such page").returncode == 2


@pytest.mark.promise("P12.262")
def test_feedback_is_a_line_with_who_said_it_is_shown_and_can_be_taken_back(daemon, shop, agent):
    page = write(daemon, "Tide table", "High tide is at noon.")
    text, failed = agent.tool(
        "memory_feedback", page="Tide table", verdict="wrong", note="it is at one; ghp_" + "Zq8R" * 9
    )
    assert not failed and "Recorded as wrong" in text
    given = daemon.cli("feedback", page["path"], "helpful", "--json")
    assert given.returncode == 0, given.stderr

    said = daemon.get("/api/v1/page", page=page["path"])["feedback"]
    assert [(one["verdict"], one["user"], one["is_current"]) for one in said] == [
        ("helpful", "ada", True), ("wrong", "ada", True),
    ]  # fmt: skip
    assert said[1]["harness"] and not said[0]["harness"] and said[1]["note"].startswith("it is at one; [redacted:")
    assert "wrong (" in agent.tool("memory_read_page", page=page["path"])[0]
    shown = daemon.cli("read", page["path"])
    assert "Called wrong by" in shown.stderr and shown.stdout == (daemon.data.wiki / page["path"]).read_text()
    (hit,) = [one for one in daemon.search("tide table noon") if one["path"] == page["path"]]
    assert hit["labels"] == ["called wrong by 1"]
    assert "(called wrong by 1)" in agent.tool("memory_search", query="tide table noon")[0]
    audit = daemon.cli("audit", "--kind", "feedback", "--project", "shop").stdout
    assert f"called {page['path']} wrong: it is at one" in audit and f"called {page['path']} helpful" in audit

    assert daemon.cli("feedback", page["path"], "--undo").returncode == 0
    text, failed = agent.tool("memory_feedback", page=page["path"], verdict="withdraw")
    assert not failed and "Taken back" in text
    assert agent.tool("memory_feedback", page=page["path"], verdict="withdraw")[1], "nothing is left to take back"
    assert daemon.get("/api/v1/page", page=page["path"])["feedback"] == []
    assert "took back what was said" in daemon.cli("audit", "--kind", "withdraw").stdout
    assert daemon.cli("feedback", page["path"]).returncode == 2

    agent.tool("memory_feedback", page=page["path"], verdict="stale")
    daemon.post("/api/v1/forget", {"what": "page", "name": page["path"], "apply": True})
    assert page["id"] not in "".join(path.read_text() for path in daemon.data.journal.rglob("*.jsonl"))
