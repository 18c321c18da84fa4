"""A write against an older version: merged where the changes don't touch, else refused, and the losing text is kept."""

import json

import pytest
from living import Agent, all_bytes, git, repository

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
BODY = "# Use SQLite\n\nIt is one file.\n\nIt is fast.\n\nIt is everywhere.\n"


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository that is known as the project `shop`."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    return where


def write(daemon, body=BODY, **more):
    given = {"title": "Use SQLite", "body": body, "kind": "decision", "project": "shop", **more}
    status, _, answer = daemon.request("POST", "/api/v1/page", given)
    return status, json.loads(answer)


def save(daemon, page, old, new):
    """As an editor that saves by rename."""
    file = daemon.data.wiki / page["path"]
    other = file.with_name(".saved.swp")
    other.write_text(file.read_text().replace(old, new))
    other.replace(file)
    return file


def conflicts(daemon, **query):
    return daemon.get("/api/v1/conflicts", **query)["conflicts"]


@pytest.mark.promise("P9.110")
def test_changes_that_do_not_touch_are_merged_and_every_surface_says_so(daemon, shop):
    _, page = write(daemon)
    at = {"path": page["path"], "version": page["version"]}
    file = save(daemon, page, "one file", "one small file")

    status, merged = write(daemon, BODY.replace("everywhere", "on every phone"), tags=["db"], **at)

    text = file.read_text()
    assert (status, merged["merged"]) == (200, True)
    assert "one small file" in text and "on every phone" in text and "tags: [db]\n" in text
    assert daemon.get("/api/v1/page", page=page["path"])["version"] == merged["version"]
    assert {hit["path"] for hit in daemon.search("phone", observations=False)} == {page["path"]}
    daemon.wait(lambda: "merged" in git(daemon.data.wiki, "log", "-1", "--format=%s", "--", page["path"]), "the commit")
    assert "one small file" in git(daemon.data.wiki, "show", f"HEAD~1:{page['path']}")  # the person's own version

    save(daemon, page, "It is fast.", "It is very fast.")
    body = BODY.replace("everywhere", "on every desk").replace("one file", "one small file")
    said = daemon.cli(
        "write", "Use SQLite", "--path", page["path"], "--version", merged["version"], input=body, cwd=shop
    )
    assert said.returncode == 0 and "both changes are in it now" in said.stderr, said.stderr
    assert "very fast" in file.read_text() and "on every desk" in file.read_text()

    version = daemon.get("/api/v1/page", page=page["path"])["version"]
    save(daemon, page, "on every desk", "on every shelf")
    with Agent(daemon, shop, "a") as agent:
        agent.say("UserPromptSubmit", prompt="go on")
        answer = agent.tool(
            "memory_write_page", title="Use SQLite", body=body.replace("one small file", "one tiny file"),
            path=page["path"], version=version,
        )  # fmt: skip
    assert "both are in it now" in answer
    assert "one tiny file" in file.read_text() and "on every shelf" in file.read_text()
    assert conflicts(daemon) == [] and not daemon.data.conflicts.exists()


@pytest.mark.promise("P9.110")
def test_the_base_is_found_in_git_after_a_restart(daemon, shop):
    _, page = write(daemon)
    daemon.wait(lambda: page["path"] in git(daemon.data.wiki, "ls-files"), "the commit")
    daemon.stop()
    file = save(daemon, page, "one file", "one small file")
    daemon.start()

    status, merged = write(
        daemon, BODY.replace("everywhere", "on every phone"), path=page["path"], version=page["version"]
    )

    assert (status, merged["merged"]) == (200, True)
    assert "one small file" in file.read_text() and "on every phone" in file.read_text()


@pytest.mark.promise("P9.111")
def test_changes_that_touch_are_refused_and_the_losing_text_is_kept_where_nothing_finds_it(daemon, shop):
    _, page = write(daemon)
    at = {"path": page["path"], "version": page["version"]}
    file = save(daemon, page, "one file", "one small file")

    status, refused = write(daemon, BODY.replace("one file", f"a chrysanthemum, token {TOKEN}"), **at)

    assert status == 409
    assert "one small file" in refused["error"]["current"] and "one small file" in file.read_text()
    (kept,) = conflicts(daemon)
    assert kept["id"] == refused["error"]["kept"] and kept["path"] == page["path"] and kept["redacted"] == 1
    view = daemon.get("/api/v1/conflicts", conflict=kept["id"])
    assert "a chrysanthemum, token [redacted" in view["text"]
    assert "-It is one small file." in view["diff"] and "+It is a chrysanthemum" in view["diff"]
    assert daemon.search("chrysanthemum") == []
    assert TOKEN.encode() not in all_bytes(daemon.data.root)
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "git has nothing to say")

    (problem,) = [text for text in daemon.status()["problems"] if "`aimemory conflicts`" in text]
    assert page["path"] in problem
    seen = daemon.cli("doctor", "--json").stdout
    assert "aimemory conflicts" in seen

    again = write(daemon, BODY.replace("one file", f"a chrysanthemum, token {TOKEN}"), **at)[1]
    assert again["error"]["kept"] == kept["id"] and len(conflicts(daemon)) == 1  # the same text twice is one copy

    daemon.kill()
    daemon.start()
    listed = daemon.cli("conflicts")
    assert kept["id"] in listed.stdout and page["path"] in listed.stdout
    assert "+It is a chrysanthemum" in daemon.cli("conflicts", kept["id"], "--diff").stdout
    assert "Would remove 1 copy" in daemon.cli("conflicts", kept["id"], "--drop").stderr
    assert len(conflicts(daemon)) == 1
    assert daemon.cli("conflicts", kept["id"], "--drop", "--apply").returncode == 0
    assert conflicts(daemon) == [] and daemon.status()["wiki"]["conflicts"] == 0
    assert daemon.cli("conflicts", kept["id"]).returncode == 2


@pytest.mark.promise("P9.111")
def test_what_was_written_to_a_page_that_somebody_deleted_is_kept(daemon, shop):
    _, page = write(daemon)
    (daemon.data.wiki / page["path"]).unlink()

    status, refused = write(daemon, "Its chrysanthemum.", path=page["path"], version=page["version"])

    assert status == 404
    (kept,) = conflicts(daemon)
    assert kept["id"] in refused["error"]["message"] and kept["stands"] is None
    assert "chrysanthemum" in daemon.get("/api/v1/conflicts", conflict=kept["id"])["text"]
    assert not (daemon.data.wiki / page["path"]).exists()


def test_who_writes_the_page_anew_settles_what_he_left(daemon, shop):
    _, page = write(daemon)
    save(daemon, page, "one file", "one small file")
    write(daemon, "mine", path=page["path"], version=page["version"])
    assert len(conflicts(daemon)) == 1

    version = daemon.get("/api/v1/page", page=page["path"])["version"]
    assert write(daemon, "mine and theirs", path=page["path"], version=version)[0] == 200

    assert conflicts(daemon) == [] and daemon.status()["problems"] == []
    (kept,) = conflicts(daemon, settled=1)
    assert kept["settled"] and "written anew since" in daemon.cli("conflicts", "--all").stdout


@pytest.mark.promise("P9.113")
def test_a_generated_page_that_a_person_edited_is_added_to_and_never_made_anew(daemon, shop):
    """However often its session goes on, whatever encoding and line ends it has, and whoever edited it how."""
    base = {"session_id": "t", "cwd": str(shop)}
    page = daemon.closed_session(base, shop)
    path = str(page.relative_to(daemon.data.wiki))
    mine = page.read_bytes().replace(b"\n", b"\r\n") + b"Mind the caf\xe9.   \r\n"
    page.write_bytes(mine)

    for number, what in enumerate(("sort the bulbs", "sort the roots"), 2):
        daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": what}, shop)
        daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, shop)
        daemon.wait(lambda number=number: len(daemon.lines("done")) >= number, "the session is closed again")

    raw = page.read_bytes()
    assert raw.startswith(mine) and b"sort the bulbs" in raw and raw.count(b"sort the roots") == 1
    assert b"\n" not in raw.replace(b"\r\n", b"")

    page.unlink()
    daemon.wait(
        lambda: daemon.status()["git"]["waiting"] == 0 and path not in git(daemon.data.wiki, "ls-files"), "gone"
    )
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the stems"}, shop)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, shop)
    daemon.wait(lambda: len(daemon.lines("done")) >= 4, "the session is closed once more")
    assert not page.exists()


def test_a_generated_page_that_an_agent_wrote_in_is_not_made_anew(daemon, shop):
    base = {"session_id": "t", "cwd": str(shop)}
    page = daemon.closed_session(base, shop)
    path = str(page.relative_to(daemon.data.wiki))
    read = daemon.get("/api/v1/page", page=path)
    status, _ = write(daemon, "Mind the seeds.", title=read["title"], path=path, version=read["version"])
    assert status == 200

    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the bulbs"}, shop)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, shop)

    daemon.wait(lambda: len(daemon.lines("done")) >= 2, "the session is closed again")
    assert "Mind the seeds." in page.read_text() and "sort the bulbs" in page.read_text()


@pytest.mark.promise("P9.115")
def test_a_page_with_foreign_line_ends_keeps_them_and_changes_by_its_lines_only(daemon, shop):
    """MD-21. The agent sends plain line feeds, with and without front matter."""
    _, page = write(daemon)
    file = daemon.data.wiki / page["path"]
    crlf = file.read_bytes().replace(b"\n", b"\r\n").rstrip(b"\r\n")
    file.write_bytes(crlf)

    read = daemon.get("/api/v1/page", page=page["path"])
    status, _ = write(daemon, BODY.replace("fast", "quick"), path=page["path"], version=read["version"])
    assert status == 200
    assert undated(file.read_bytes()) == undated(crlf.replace(b"fast", b"quick"))

    read = daemon.get("/api/v1/page", page=page["path"])
    whole = read["text"].replace("\r\n", "\n").replace("quick", "swift")
    assert write(daemon, whole, path=page["path"], version=read["version"])[0] == 200
    assert undated(file.read_bytes()) == undated(crlf.replace(b"fast", b"swift"))


def test_tags_in_any_form_stay_one_field(daemon, shop):
    """MD-16: agent, command line and hand take turns, each in its own form."""
    _, page = write(daemon, tags=["db", "storage"])
    file = daemon.data.wiki / page["path"]
    line = "tags: [db, storage]\n"
    for by_hand in ("tags:\n  - db\n  - storage\n", "tags: db, storage\n", "tags: '#db #storage'\n"):
        assert line in file.read_text()
        save(daemon, page, line, by_hand)
        version = daemon.get("/api/v1/page", page=page["path"])["version"]
        assert write(daemon, tags=["db", "disk"], path=page["path"], version=version)[0] == 200
        assert file.read_text().count("tags:") == 1
        done = daemon.cli("edit", page["path"], "--set", "tags=[db, storage]")
        assert done.returncode == 0, done.stderr
        assert file.read_text().count("tags:") == 1 and daemon.search("storage", observations=False)
        line = file.read_text().partition("tags:")[2].partition("\nc")[0]
        line = f"tags:{line}\n"


def undated(raw):
    return [line for line in raw.splitlines(keepends=True) if not line.startswith(b"updated:")]


@pytest.mark.promise("P9.32")
def test_what_a_person_typed_on_a_projects_page_stays_when_a_directory_is_learned(daemon, shop, tmp_path):
    page = daemon.data.wiki / "default" / "shop" / "shop.md"
    daemon.wait(page.exists, "the project's page")
    page.write_text(f"{page.read_text()}\nIts token is {TOKEN}.\n")
    daemon.wait(lambda: daemon.status()["wiki"]["held"], "it is held")

    clone = repository(tmp_path / "clone", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "t", "text": "hello", "cwd": str(clone)})

    daemon.wait(lambda: str(clone) in page.read_text(), "the directory is on the page")
    assert f"Its token is {TOKEN}." in page.read_text()
