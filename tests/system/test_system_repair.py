"""Repair of pages: edit, delete, bring back, and what a page was before."""

import json
import shlex
import sys

import pytest
from living import git, repository

SECRET = "ghp_" + "Zq8R" * 9


def write(daemon, title="Use SQLite", body="The word is amaryllis.", **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "kind": "decision", "project": "shop", **more})


@pytest.fixture
def shop(daemon, tmp_path):
    """A repository that is known as the project `shop`."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    return where


def editor(daemon, code):
    """The person's editor runs this Python code with `path` of the file."""
    program = f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\ntext = path.read_text()\n{code}"
    daemon.editor = shlex.join([sys.executable, "-c", program])


def replacing(old, new):
    return f"path.write_text(text.replace({old!r}, {new!r}))"


def file_of(daemon, page):
    return daemon.data.wiki / page["path"]


def clean_tree(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")


def history(daemon, page, **more):
    return daemon.get("/api/v1/page/history", page=page["path"], **more)


def whats(daemon, page):
    return [change["what"] for change in history(daemon, page)["changes"]]


# -- editing ---------------------------------------------------------------------------------------------------------


def test_an_edit_in_the_editor_is_the_page_and_a_commit_in_the_persons_name(daemon, shop):
    page = write(daemon)
    editor(daemon, replacing("amaryllis", "chrysanthemum"))

    done = daemon.cli("edit", page["path"])

    assert done.returncode == 0, done.stderr
    assert "chrysanthemum" in file_of(daemon, page).read_text()
    assert daemon.search("chrysanthemum", observations=False)
    clean_tree(daemon)
    assert git(daemon.data.wiki, "log", "-1", "--format=%an %s").startswith("ada Edit: ")
    assert list(daemon.data.edits.iterdir()) == []


@pytest.mark.promise("P9.51")
def test_an_edit_of_a_page_that_changed_meanwhile_loses_neither_text(daemon, shop):
    page = write(daemon)
    other = file_of(daemon, page)
    editor(
        daemon,
        f"other = pathlib.Path({str(other)!r}); other.write_text(text + 'theirs\\n'); path.write_text(text + 'mine\\n')",
    )

    done = daemon.cli("edit", page["path"])

    assert done.returncode == 3
    assert list(daemon.data.edits.iterdir()) == []
    (kept,) = daemon.get("/api/v1/conflicts")["conflicts"]
    assert f"`aimemory conflicts {kept['id']}` shows it" in done.stderr
    assert daemon.cli("conflicts", kept["id"]).stdout.endswith("mine\n") and other.read_text().endswith("theirs\n")


def test_an_edit_that_the_editor_gives_up_is_none_and_keeps_what_was_typed(daemon, shop):
    page = write(daemon)
    before = file_of(daemon, page).read_bytes()

    untouched = daemon.cli("edit", page["path"])
    editor(daemon, "path.write_text('half a tho')\nsys.exit(1)")
    broken = daemon.cli("edit", page["path"])

    assert (untouched.returncode, broken.returncode) == (2, 2)
    assert "kept" not in untouched.stderr
    (kept,) = daemon.data.edits.iterdir()
    assert str(kept) in broken.stderr and kept.read_text() == "half a tho"
    assert file_of(daemon, page).read_bytes() == before


def test_one_field_is_one_line_of_the_diff(daemon, shop):
    page = write(daemon, tags=["db"])
    clean_tree(daemon)

    done = daemon.cli("edit", page["path"], "--set", "status=superseded")
    lists = daemon.cli("edit", page["path"], "--set", "tags=[db, storage]", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(lists.stdout)["version"]
    text = file_of(daemon, page).read_text()
    assert "status: superseded\n" in text and "tags: [db, storage]\n" in text
    clean_tree(daemon)
    for commit, counts in (("HEAD~1", "1\t0"), ("HEAD", "1\t1")):
        assert git(daemon.data.wiki, "show", "--numstat", "--format=", commit).startswith(counts)


def test_what_is_no_text_becomes_no_page_no_handoff_and_no_edit(daemon, shop, tmp_path):
    page = write(daemon)
    before = file_of(daemon, page).read_bytes()
    given = tmp_path / "given"

    def run(raw, *command):
        given.write_bytes(raw)
        with given.open("rb") as stdin:
            return daemon.cli(*command, cwd=shop, stdin=stdin)

    for raw in (b"caf\xe9 \x00\xff", "plain".encode("utf-16-le")):
        for command in (("write", "Bin"), ("handoff", "begin")):
            done = run(raw, *command)
            assert (done.returncode, done.stdout) == (2, ""), command
            assert "Give UTF-8." in done.stderr
    editor(daemon, "path.write_bytes(b'caf\\xe9')")
    edited = daemon.cli("edit", page["path"])
    (kept,) = daemon.data.edits.iterdir()
    assert edited.returncode == 2 and "byte 3 is no UTF-8" in edited.stderr and str(kept) in edited.stderr
    assert file_of(daemon, page).read_bytes() == before
    told = run("Grüße, 世界".encode("utf-16"), "write", "Wide")
    assert told.returncode == 0, told.stderr
    assert "Grüße, 世界" in (daemon.data.wiki / told.stdout.strip()).read_text()
    assert not list(daemon.data.wiki.rglob("bin-*.md"))


@pytest.mark.parametrize("field", ["id=other", "type=rule", "nothing", "a b=c", "title=", "title=[]"])
def test_a_field_that_cannot_be_set_is_refused(daemon, shop, field):
    page = write(daemon)
    before = file_of(daemon, page).read_bytes()

    assert daemon.cli("edit", page["path"], "--set", field).returncode == 2
    assert file_of(daemon, page).read_bytes() == before


def test_a_session_page_that_a_person_edited_by_command_is_not_made_anew(daemon, shop):
    base = {"session_id": "t", "cwd": str(shop)}
    page = daemon.closed_session(base, shop)
    editor(daemon, "path.write_text(text + '\\nMind the seeds.\\n')")
    path = str(page.relative_to(daemon.data.wiki))
    assert daemon.cli("edit", path).returncode == 0

    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the bulbs"}, shop)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, shop)

    daemon.wait(lambda: len(daemon.lines("done")) > 1, "the session is closed again")
    assert "Mind the seeds." in page.read_text()


# -- deleting and bringing back --------------------------------------------------------------------------------------


@pytest.mark.promise("P10.2")
def test_a_deleted_page_is_gone_from_everywhere_but_history(daemon, shop):
    page = write(daemon)

    shown = daemon.cli("delete", page["path"])
    assert shown.returncode == 0 and "Would delete" in shown.stdout and "--apply" in shown.stderr
    assert file_of(daemon, page).exists()
    done = daemon.cli("delete", page["path"], "--apply")

    assert done.returncode == 0, done.stderr
    assert "git history" in done.stderr and f"aimemory undelete {page['path']}" in done.stderr
    assert not file_of(daemon, page).exists()
    assert daemon.search("amaryllis", observations=False) == []
    assert daemon.cli("read", page["path"]).returncode == 2
    assert daemon.lines("page")[-1]["data"]["op"] == "delete"
    clean_tree(daemon)
    assert git(daemon.data.wiki, "log", "-1", "--format=%an %s") == f"ada Delete: {page['path']}\n"


@pytest.mark.promise("P10.3")
@pytest.mark.parametrize("how", ["by command", "by hand", "by git"])
def test_a_page_comes_back_however_it_went(daemon, shop, how):
    page = write(daemon)
    before = file_of(daemon, page).read_bytes()
    clean_tree(daemon)
    match how:
        case "by command":
            daemon.cli("delete", page["path"], "--apply")
        case "by hand":
            file_of(daemon, page).unlink()
        case "by git":
            git(daemon.data.wiki, "rm", "-q", page["path"])
            git(daemon.data.wiki, "commit", "-qm", "away")

    done = daemon.cli("undelete", page["path"])

    assert done.returncode == 0, done.stderr
    assert file_of(daemon, page).read_bytes() == before
    assert daemon.search("amaryllis", observations=False)
    assert whats(daemon, page)[:2] == ["restored", "deleted"]
    clean_tree(daemon)


def test_a_page_that_is_gone_is_found_by_its_name_alone(daemon, shop):
    page = write(daemon)
    name = file_of(daemon, page).stem
    daemon.cli("delete", name, "--apply", cwd=shop)

    assert daemon.cli("undelete", name, cwd=shop).returncode == 0
    assert file_of(daemon, page).exists()


def test_an_earlier_version_takes_the_place_of_the_present_one(daemon, shop):
    page = write(daemon)
    first = file_of(daemon, page).read_bytes()
    write(daemon, body="Another word.", path=page["path"], version=page["version"])

    assert daemon.cli("undelete", page["path"]).returncode == 3
    for name in ("2", page["version"], page["version"][:8]):
        assert daemon.cli("undelete", page["path"], "--from", name).returncode == 0
        assert file_of(daemon, page).read_bytes() == first
    assert daemon.cli("undelete", page["path"], "--from", "ffffffff").returncode == 2
    lines = len(daemon.lines("page"))
    same = daemon.cli("undelete", page["path"], "--from", "1")
    assert same.returncode == 0 and "nothing to do" in same.stderr and "Restored" not in same.stderr
    assert len(daemon.lines("page")) == lines
    none = daemon.cli("read", page["path"], "--as-of", "99")
    assert none.returncode == 2 and "has no version 99: they are numbered from 1" in none.stderr
    behind = daemon.cli("read", page["path"], "--offset", "99999999")
    assert (behind.stdout, behind.stderr) == ("", f"The page ends at character {len(first.decode())}.\n")


@pytest.mark.promise("P10.4")
def test_deleting_what_no_commit_holds_says_so_and_needs_a_word_more(daemon, shop):
    page = write(daemon)
    file = file_of(daemon, page)
    clean_tree(daemon)
    file.write_text(file.read_text() + f"The key is {SECRET}\n")

    shown = daemon.cli("delete", page["path"])
    refused = daemon.cli("delete", page["path"], "--apply")

    assert "can't be restored" in shown.stderr and "github-token" in shown.stderr
    assert refused.returncode == 2 and "--lose" in refused.stderr and file.exists()
    assert daemon.cli("delete", page["path"], "--apply", "--lose").returncode == 0
    assert not file.exists()
    assert daemon.cli("undelete", page["path"]).returncode == 0
    assert "amaryllis" in file.read_text() and SECRET not in file.read_text()


def test_a_hand_edit_made_just_before_the_deletion_is_kept_in_history(daemon, shop):
    page = write(daemon)
    file_of(daemon, page).write_text(file_of(daemon, page).read_text() + "One line more.\n")

    assert daemon.cli("delete", page["path"], "--apply").returncode == 0

    daemon.cli("undelete", page["path"])
    assert "One line more." in file_of(daemon, page).read_text()


def test_a_page_that_changed_since_it_was_read_is_not_deleted(daemon, shop):
    page = write(daemon)
    write(daemon, body="Another word.", path=page["path"], version=page["version"])

    status, _, body = daemon.request(
        "POST", "/api/v1/page/delete", {"page": page["path"], "version": page["version"], "apply": True}
    )

    assert status == 409 and b"Another word." in body
    assert file_of(daemon, page).exists()


def test_the_page_of_a_project_is_not_deleted(daemon, shop):
    done = daemon.cli("delete", "default/shop/shop.md", "--apply")

    assert done.returncode == 2 and "project rename" in done.stderr


def test_who_links_to_a_page_is_said_before_it_goes(daemon, shop):
    page = write(daemon)
    other = write(daemon, title="Other", body=f"See [[{file_of(daemon, page).stem}]] and [[x]].")

    assert daemon.post("/api/v1/page/delete", {"page": page["path"]})["linked_from"] == [other["path"]]


@pytest.mark.promise("P10.3")
def test_a_deletion_holds_over_a_restart_and_a_new_index(daemon, shop):
    page = write(daemon)
    daemon.cli("delete", page["path"], "--apply")
    daemon.kill()
    daemon.start()
    assert daemon.cli("reindex").returncode == 0

    assert daemon.search("amaryllis", observations=False) == []
    assert whats(daemon, page) == ["deleted", "created"]
    clean_tree(daemon)


# -- history ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P9.52")
def test_history_tells_who_did_what_from_git_and_journal(daemon, shop):
    session = daemon.lines("observation")[0]["data"]["session"]
    page = write(daemon)
    daemon.cli("edit", page["path"], "--set", "status=draft")
    daemon.post("/api/v1/page/delete", {
        "page": page["path"], "version": history(daemon, page)["changes"][0]["version"], "apply": True,
        "harness": "generic", "session": "s",
    })  # fmt: skip
    daemon.cli("undelete", page["path"])
    clean_tree(daemon)
    file_of(daemon, page).write_text(file_of(daemon, page).read_text() + "By hand.\n")

    found = history(daemon, page)["changes"]

    assert [c["what"] for c in found] == ["changed", "restored", "deleted", "edited", "created"]
    assert [c["by_hand"] for c in found] == [True, False, False, False, False]
    assert all(c["commit"] for c in found)
    assert (found[2]["harness"], found[2]["session"], found[2]["user"]) == ("generic", session, "ada")
    shown = daemon.cli("history", page["path"])
    assert len(shown.stdout.splitlines()) == 5 and f"session {session}" in shown.stdout
    assert "+By hand." in daemon.cli("history", page["path"], "--diff", "1").stdout
    assert "+status: draft" in daemon.cli("history", page["path"], "--diff", "4").stdout
    assert daemon.cli("history", page["path"], "--diff", "6").returncode == 2

    lock = daemon.data.wiki / ".git/index.lock"  # somebody's git is at work: what people change waits for it
    lock.touch()
    file_of(daemon, page).write_text(file_of(daemon, page).read_text() + "Not committed yet.\n")
    newest, before, *_ = history(daemon, page)["changes"]
    assert (newest["what"], newest["by_hand"], newest["commit"]) == ("changed", True, None)
    assert before["version"] == found[0]["version"]
    assert "+Not committed yet." in daemon.cli("history", page["path"], "--diff", "1").stdout
    lock.unlink()


def test_every_version_of_a_page_can_come_back_however_fast_they_followed(daemon, shop):
    page = write(daemon, body="version 0")
    version = page["version"]
    for number in range(1, 5):
        version = write(daemon, body=f"version {number}", path=page["path"], version=version)["version"]

    found = history(daemon, page)["changes"]

    assert len(found) == 5 and all(change["restorable"] for change in found)


def test_the_history_of_what_never_was_is_not_found(daemon, shop):
    assert daemon.cli("history", "default/shop/notes/never.md").returncode == 2
    assert daemon.cli("undelete", "default/shop/notes/never.md").returncode == 2
    assert daemon.cli("history", "../../etc/passwd.md").returncode == 2
