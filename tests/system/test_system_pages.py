"""Writing and finding pages; what people do in the tree; the index is only a cache."""

import json
import os
import re
import sqlite3
import time

import pytest
from living import all_bytes, git, repository

from aimemory.index.dump import dump as logical_dump

pytestmark = pytest.mark.alone


def write(daemon, title="Use SQLite", body="We chose SQLite because it is one file.", **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "kind": "decision", "project": "shop", **more})


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository that is known as the project `shop`."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    return where


def test_a_search_with_more_hits_than_it_shows_says_how_to_go_on(daemon, shop):
    for title in ("One walrus", "Two walrus"):
        daemon.cli("write", title, input="It swims.\n", cwd=shop)

    first = daemon.cli("search", "walrus", "-n", "1", "--pages-only", cwd=shop)

    cursor = re.search(r"1 of 2 hits; --cursor (1-[0-9a-f]+) gives the next\.", first.stderr)[1]
    second = daemon.cli("search", "walrus", "-n", "1", "--pages-only", "--cursor", cursor, cwd=shop)
    assert {("One" in done.stdout, "Two" in done.stdout) for done in (first, second)} == {(True, False), (False, True)}
    assert "--cursor" not in second.stderr


def test_a_page_written_on_the_command_line_is_a_file_a_hit_and_a_commit(daemon, shop):
    done = daemon.cli("write", "Use SQLite", "-k", "decision", "-t", "db", input="Because it is one file.\n", cwd=shop)

    assert done.returncode == 0, done.stderr
    path = done.stdout.strip()
    assert path.startswith("default/shop/decisions/use-sqlite-")
    assert "Because it is one file." in (daemon.data.wiki / path).read_text()
    assert "Use SQLite" in daemon.cli("search", "one file", cwd=shop).stdout
    assert daemon.cli("read", path).stdout == (daemon.data.wiki / path).read_text()
    assert daemon.cli("read", "use sqlite", cwd=shop).stdout == (daemon.data.wiki / path).read_text()
    daemon.wait(lambda: path in git(daemon.data.wiki, "ls-files"), "the commit")
    assert git(daemon.data.wiki, "log", "-1", "--format=%an %cn", "--", path) == "ada aimemory\n"


@pytest.mark.promise("P9.2")
def test_a_write_over_somebodys_edit_is_refused_with_the_text_that_stands(daemon, shop):
    page = write(daemon)
    file = daemon.data.wiki / page["path"]
    file.write_text(file.read_text() + "\nBut see the limits.\n")

    status, _, body = daemon.request("POST", "/api/v1/page", {
        "title": "Use SQLite", "body": "mine", "path": page["path"], "version": page["version"], "project": "shop"
    })  # fmt: skip

    assert status == 409
    assert b"But see the limits." in body
    assert "But see the limits." in file.read_text()
    done = daemon.cli(
        "write", "Use SQLite", "--path", page["path"], "--version", page["version"], "-b", "mine", cwd=shop
    )
    assert done.returncode == 3


def test_a_write_at_the_current_version_keeps_the_front_matter(daemon, shop):
    page = write(daemon)
    file = daemon.data.wiki / page["path"]
    file.write_text(file.read_text().replace("type: decision\n", "type: decision\nmine: 'kept'  # a remark\n"))
    version = daemon.get("/api/v1/page", page=page["path"])["version"]

    written = write(daemon, body="Another reason.", path=page["path"], version=version)

    assert "mine: 'kept'  # a remark\n" in file.read_text()
    assert "Another reason." in file.read_text() and "one file" not in file.read_text()
    assert written["created"] is False


def test_creating_a_page_that_exists_is_a_conflict(daemon, shop):
    page = write(daemon)

    status, _, _ = daemon.request(
        "POST", "/api/v1/page", {"title": "x", "body": "y", "path": page["path"], "project": "shop"}
    )

    assert status == 409


def test_two_writers_at_one_version_give_one_write_and_one_conflict(daemon, shop):
    from concurrent.futures import ThreadPoolExecutor

    page = write(daemon)

    def again(body):
        return daemon.request("POST", "/api/v1/page", {
            "title": "Use SQLite", "body": body, "path": page["path"], "version": page["version"], "project": "shop"
        })[0]  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(again, ["one", "two"])) == [200, 409]


@pytest.mark.parametrize("path", [
    "../outside.md", "/etc/passwd.md", "default/shop/../../../x.md", "default/shop/%2e%2e/x.md", "default/.git/x.md",
    "default/shop/a\x00b.md", "default\\shop\\x.md", "default/shop//x.md", "default/shop/x.txt",
])  # fmt: skip
def test_no_path_leads_out_of_the_wiki(daemon, shop, path):
    write_status = daemon.request("POST", "/api/v1/page", {"title": "x", "body": "y", "path": path, "project": "shop"})[
        0
    ]
    read_status = daemon.request("POST", "/mcp", b"{}")[0] and daemon.cli("read", path.replace("\x00", "")).returncode

    assert write_status == 400
    assert read_status == 2


def test_a_link_in_the_wiki_is_never_followed(daemon, shop, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (daemon.data.wiki / "default" / "shop" / "link").symlink_to(tmp_path / "elsewhere")

    status = daemon.request(
        "POST", "/api/v1/page", {"title": "x", "body": "y", "path": "default/shop/link/new.md", "project": "shop"}
    )[0]

    assert status == 400
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_ten_titles_without_latin_letters_are_ten_pages_and_ten_hits(daemon, shop):
    titles = [
        "データベースを選ぶ",
        "역사 기록",
        "Выбор базы",
        "اختيار قاعدة",
        "การเลือกฐาน",
        "数据库选择",
        "🙂🙃",
        "✨",
        "설정 파일",
        "結果を保存",
    ]

    paths = {write(daemon, title=title, body=f"About {title}.")["path"] for title in titles}

    assert len(paths) == 10
    for title in titles[:6]:
        assert daemon.search(title, kind="decision"), title


def test_a_hand_edit_is_found_and_committed_in_the_persons_name(daemon, shop):
    page = write(daemon)
    file = daemon.data.wiki / page["path"]
    daemon.wait(lambda: page["path"] in git(daemon.data.wiki, "ls-files"), "the commit")
    file.write_text(file.read_text() + "\nMind the rhododendron.\n")

    daemon.wait(lambda: any("rhododendron" in hit["snippet"] for hit in daemon.search("rhododendron")), "it is found")
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "the edit is committed")
    commit = git(daemon.data.wiki, "log", "-1", "--format=%an%n%B", "--", page["path"])
    assert commit.startswith("ada\n") and f"Edit by hand: {page['path']}" in commit


def test_a_page_put_there_by_hand_while_the_daemon_was_down_is_found(daemon, shop):
    daemon.stop()
    file = daemon.data.wiki / "default" / "shop" / "notes" / "My Note.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("No front matter, just the word chrysanthemum.\n")
    daemon.start()

    daemon.wait(lambda: daemon.search("chrysanthemum"), "the note is found")
    assert file.read_text() == "No front matter, just the word chrysanthemum.\n"
    daemon.wait(lambda: "My Note.md" in git(daemon.data.wiki, "ls-files"), "the note is committed")


def test_a_hand_written_secret_is_not_committed_and_named(daemon, shop):
    file = daemon.data.wiki / "default" / "shop" / "notes" / "keys.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    secret = "ghp_" + "Zq8R" * 9
    file.write_text(f"The key is {secret}\n")

    daemon.wait(lambda: "default/shop/notes/keys.md" in daemon.status()["wiki"]["held"], "it is held and named")
    assert not any(secret in hit["snippet"] for hit in daemon.search("key"))
    assert secret in file.read_text()
    write(daemon, title="Something else", body="It is committed.")
    daemon.wait(lambda: daemon.status()["git"]["waiting"] == 0, "commits are done")
    assert "keys.md" not in git(daemon.data.wiki, "ls-files")


def test_a_page_deleted_by_hand_is_gone_from_search_and_stays_in_history(daemon, shop):
    page = write(daemon, body="The word is amaryllis.")
    daemon.wait(lambda: page["path"] in git(daemon.data.wiki, "ls-files"), "the commit")
    (daemon.data.wiki / page["path"]).unlink()

    daemon.wait(lambda: daemon.search("amaryllis", observations=False) == [], "nothing finds it")
    daemon.wait(lambda: page["path"] not in git(daemon.data.wiki, "ls-files"), "the deletion is committed")


def test_a_commit_by_hand_between_two_of_ours_keeps_every_page(daemon, shop):
    first = write(daemon, title="First")
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "the commit")
    (daemon.data.wiki / "mine.md").write_text("mine\n")
    git(daemon.data.wiki, "add", "mine.md")
    git(daemon.data.wiki, "commit", "-qm", "by hand")
    second = write(daemon, title="Second")
    daemon.wait(lambda: second["path"] in git(daemon.data.wiki, "ls-files"), "the commit")

    assert {first["path"], second["path"], "mine.md"} <= set(
        git(daemon.data.wiki, "ls-tree", "-r", "--name-only", "HEAD").split()
    )
    assert git(daemon.data.wiki, "status", "--porcelain") == ""


def dump(daemon):
    daemon.level()
    db = sqlite3.connect(daemon.data.index)
    try:
        return logical_dump(db)
    finally:
        db.close()


def filled(daemon, shop):
    """Events, a closed session, pages in two languages, a changed page, a brief that was given."""
    now = time.time_ns()
    for n in range(30):
        daemon.event(
            "generic",
            "prompt",
            {"session_id": f"s{n % 4}", "prompt": f"do thing {n}", "cwd": str(shop)},
            at=now + n,
            pid=n,
        )
    daemon.event("generic", "session-end", {"session_id": "s1", "cwd": str(shop)})
    page = write(daemon, title="数据库", body="选择数据库 and getUserById")
    write(daemon, title="Second", body="text", tags=["a", "b"])
    write(daemon, body="changed", path=page["path"], version=page["version"])
    daemon.hook("codex", "SessionStart", {"session_id": "c", "cwd": str(shop), "source": "startup"}, shop)
    daemon.wait(lambda: daemon.lines("done"), "the session is closed")
    daemon.wait(lambda: daemon.lines("brief"), "that it was told is on disk")


@pytest.mark.promise("P1.1")
def test_an_index_made_anew_equals_the_one_before(daemon, shop):
    filled(daemon, shop)
    before = dump(daemon)

    done = daemon.cli("reindex")

    assert done.returncode == 0, done.stderr
    assert "Indexed" in done.stdout
    assert dump(daemon) == before


@pytest.mark.promise("P1.2")
def test_a_deleted_cache_comes_back_equal_at_the_next_start(daemon, shop):
    filled(daemon, shop)
    before = dump(daemon)
    daemon.stop()
    for file in daemon.data.cache.iterdir():
        file.unlink()
    daemon.start()

    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is built")
    assert dump(daemon) == before


@pytest.mark.promise("P1.3")
def test_a_damaged_content_table_is_made_right_from_the_files(daemon, shop):
    filled(daemon, shop)
    before = dump(daemon)
    daemon.stop()
    db = sqlite3.connect(daemon.data.index)
    db.executescript(
        "update page_text set body = 'rot'; update observation set text = 'rot'; delete from page where n = 1;"
    )
    db.commit()
    db.close()
    daemon.start()

    assert daemon.cli("reindex").returncode == 0

    assert dump(daemon) == before


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\x00" + b"\x00" * 4096])
def test_a_cache_that_is_no_database_is_set_aside_and_built_anew(daemon, shop, content):
    filled(daemon, shop)
    before = dump(daemon)
    daemon.stop()
    daemon.data.index.write_bytes(content)
    for side in ("-wal", "-shm"):
        daemon.data.index.with_name(daemon.data.index.name + side).unlink(missing_ok=True)
    daemon.start()

    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is built")
    assert dump(daemon) == before


@pytest.mark.parametrize("query", [
    "multi-agent", "foo:bar", "C++", "*", "(", '"', "NEAR", "a AND", "", "don't use", "Downloads/transcripts", "C:\\x\\y",
    "https://x.example/a?b=c&d=e", "ADR-016", "v1.2.3-rc.1", "--flag", "%", "x" * 10_000, "飞书插件", "역", "\x00", "🙂",
])  # fmt: skip
def test_any_text_is_a_valid_query(daemon, shop, query):
    status, _, body = daemon.request("POST", "/api/v1/search", {"query": query, "project": "*"})

    assert status == 200
    assert b"fts5" not in body and b"syntax" not in body


def test_search_answers_while_many_write(daemon, shop):
    from concurrent.futures import ThreadPoolExecutor

    def read(n):
        return daemon.request("POST", "/api/v1/search", {"query": f"thing {n}", "project": "*"})[0]

    def put(n):
        return daemon.event(
            "generic",
            "note",
            {"session_id": "w", "text": f"thing {n}", "cwd": str(shop)},
            at=10**18 + n * 10**10,
            pid=n,
        )[0]

    with ThreadPoolExecutor(12) as pool:
        reads = [pool.submit(read, n) for n in range(120)]
        writes = [pool.submit(put, n) for n in range(120)]
        assert {r.result() for r in reads} == {200}
        assert {w.result() for w in writes} == {202}


def test_where_capture_brief_search_and_write_agree_on_the_project(daemon, shop):
    sub = shop / "src" / "deep"
    sub.mkdir(parents=True)
    daemon.event("generic", "prompt", {"session_id": "x", "prompt": "a zinnia", "cwd": str(sub)})

    named = {
        daemon.get("/api/v1/where", cwd=str(sub))["project"],
        daemon.get("/api/v1/brief", cwd=str(sub))["project"],
        daemon.post("/api/v1/search", {"query": "zinnia", "cwd": str(sub)})["project"],
        daemon.post("/api/v1/page", {"title": "t", "body": "b", "cwd": str(sub)})["project"],
        daemon.get("/api/v1/recent", cwd=str(sub))["project"],
    }

    assert named == {"default/shop"}


def test_worktrees_are_one_project_and_other_clients_repositories_are_others(daemon, shop, tmp_path):
    git(shop, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "feature"))
    other = repository(tmp_path / "other" / "shop", remote="git@github.com:initech/shop.git")

    assert daemon.get("/api/v1/where", cwd=str(tmp_path / "elsewhere" / "feature"))["project"] == "default/shop"
    daemon.event("generic", "note", {"text": "x", "cwd": str(other), "session_id": "o"})
    assert daemon.get("/api/v1/where", cwd=str(other))["project"] == "default/initech-shop"


def test_an_alias_joins_two_remotes(daemon, shop, tmp_path):
    fork = repository(tmp_path / "fork", remote="git@github.com:ada/shop-fork.git")
    assert daemon.get("/api/v1/where", cwd=str(fork))["project"] != "default/shop"

    done = daemon.cli("project", "alias", "shop", "git@github.com:ada/shop-fork.git")

    assert done.returncode == 0, done.stderr
    assert daemon.get("/api/v1/where", cwd=str(fork))["project"] == "default/shop"
    daemon.stop()
    daemon.start()
    assert daemon.get("/api/v1/where", cwd=str(fork))["project"] == "default/shop"
    assert "github.com/ada/shop-fork" in daemon.cli("project", "list").stdout


def test_a_session_keeps_its_project_wherever_its_events_ran(daemon, shop):
    for cwd in ("/tmp/x", str(daemon.home), "/deleted/folder", "/"):
        daemon.event("generic", "post-tool", {"session_id": "s", "tool": "Bash", "cwd": cwd}, at=10**18, pid=len(cwd))

    assert {line["data"]["project"] for line in daemon.lines("observation")} == {
        daemon.lines("observation")[0]["data"]["project"]
    }
    assert [p["project"] for p in daemon.get("/api/v1/projects")["projects"]] == ["default/shop", "default/_unfiled"]


def test_what_was_read_can_be_written_back_whole(daemon, shop):
    page = write(daemon, tags=["db"])
    text = daemon.get("/api/v1/page", page=page["path"])["text"]

    written = write(daemon, body=text.replace("one file", "a single file"), path=page["path"], version=page["version"])

    after = (daemon.data.wiki / page["path"]).read_text()
    assert after.count("---\n") == 2 and after.count("type: decision") == 1
    assert "a single file" in after and "tags: [db]" in after
    assert written["id"] == page["id"]


def test_front_matter_of_a_new_page_is_kept_and_gets_an_id_of_its_own(daemon, shop):
    first = write(daemon)
    text = daemon.get("/api/v1/page", page=first["path"])["text"].replace(
        "type: decision", "type: decision\nowner: ada"
    )

    copy = write(daemon, title="Another", body=text)

    after = (daemon.data.wiki / copy["path"]).read_text()
    assert "owner: ada" in after and "title: Another" in after
    assert copy["id"] != first["id"]


@pytest.mark.promise("P4.13")
def test_a_hand_written_secret_is_not_committed_by_a_restart_or_a_reindex_either(daemon, shop):
    secret = "ghp_" + "Zq8R" * 9
    file = daemon.data.wiki / "default" / "shop" / "notes" / "keys.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"The key is {secret}\n")
    innocent = file.with_name("other.md")

    for again in (
        lambda: daemon.cli("reindex"),
        lambda: (daemon.stop(), daemon.start()),
        lambda: (daemon.kill(), daemon.start()),
    ):
        innocent.write_text((innocent.read_text() if innocent.exists() else "") + "One more line.\n")
        again()
        daemon.wait(lambda: "default/shop/notes/keys.md" in daemon.status()["wiki"]["held"], "the page is held")
        write(daemon, title="Something else", body="It is committed.")
        daemon.wait(
            lambda: git(daemon.data.wiki, "status", "--porcelain").split() == ["??", "default/shop/notes/keys.md"],
            "the rest is committed",
        )

    assert secret.encode() not in all_bytes(daemon.data.wiki / ".git")


def test_sessions_of_unrelated_folders_without_a_project_are_not_told_to_each_other(daemon):
    daemon.event("generic", "prompt", {"session_id": "a", "prompt": "my tax papers", "cwd": "/"})
    daemon.search("tax")

    assert "tax" in daemon.get("/api/v1/brief", cwd="/")["text"]
    assert daemon.get("/api/v1/brief", cwd=str(daemon.home))["text"] == ""


@pytest.mark.parametrize("route", ["brief", "page"])
def test_all_projects_at_once_is_refused_where_it_makes_no_sense(daemon, shop, route):
    if route == "brief":
        status = daemon.request("GET", "/api/v1/brief?project=*")[0]
    else:
        status = daemon.request("POST", "/api/v1/page", {"title": "t", "body": "b", "project": "*"})[0]

    assert status == 400


def test_a_new_page_below_no_known_project_is_refused(daemon, shop):
    status, _, body = daemon.request(
        "POST", "/api/v1/page", {"title": "t", "body": "b", "path": "default/nosuch/notes/a.md", "project": "shop"}
    )

    assert status == 400
    assert b"default/shop" in body
    assert not (daemon.data.wiki / "default" / "nosuch").exists()


def test_what_was_taken_out_of_a_page_is_said(daemon, shop):
    secret = "ghp_" + "Zq8R" * 9

    done = daemon.cli("write", "Keys", "-b", f"The key is {secret}.", cwd=shop)

    assert "Taken out before it was stored: 1 × github-token" in done.stderr


COMMANDS = (
    "read", "history", "edit", "delete", "undelete", "links", "undo", "conflicts", "sessions", "handoffs", "why",
    "audit --actor", "recent -p", "project move-session -- x", "forget page", "forget session", "forget text",
    "rescan --accept", "handoff claim", "hook x",
)  # fmt: skip


@pytest.mark.promise("P12.178")
def test_a_name_that_is_no_utf8_gets_an_answer_and_a_directory_of_such_a_name_is_found(daemon, tmp_path):
    odd = os.fsdecode(b"odd\xff")
    for command in COMMANDS:
        done = daemon.cli(*command.split(), odd, input="")
        assert done.returncode in (0, 2), (command, done.stderr)
        assert "Traceback" not in done.stderr, command

    repository(tmp_path / odd)
    (tmp_path / odd / "in").mkdir()
    below, itself = (daemon.cli("where", "--json", cwd=place) for place in (tmp_path / odd / "in", tmp_path / odd))
    assert json.loads(below.stdout)["identity"].endswith("odd\\xff")
    assert json.loads(below.stdout)["identity"] == json.loads(itself.stdout)["identity"]
    assert daemon.cli("brief", cwd=tmp_path / odd).returncode == 0
