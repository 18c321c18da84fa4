"""What lies in the wiki and can be no page, or can't be read: it is named, and keeps nothing else from being seen."""

import os
import socket
import sys
from pathlib import Path

import living
import pytest
from living import Daemon, git, repository

UNPRIVILEGED = Path(living.__file__).with_name("unprivileged.py")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


class Subject(Daemon):
    """A daemon to which modes of files apply, also where the tests run as root."""

    def __init__(self, root, **settings):
        super().__init__(root, **settings)
        self.program = [sys.executable, "-I", str(UNPRIVILEGED), *self.program]


@pytest.fixture
def subject(tmp_path):
    made = Subject(tmp_path)
    made.start()
    yield made
    for path in made.data.root.parent.rglob("data/wiki"):
        path.chmod(0o700)
    made.close()


@pytest.fixture
def notes(subject, tmp_path):
    """The folder of notes of a project `shop`, with two pages."""
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    subject.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    folder = subject.data.wiki / "default" / "shop" / "notes"
    for name in ("begonia", "dahlia"):
        body = {"title": name, "body": f"The word is {name}.", "path": f"default/shop/notes/{name}.md"}
        subject.post("/api/v1/page", {**body, "project": "shop"})
    committed(subject)
    return folder


def committed(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain", "--", "default/shop/shop.md") == "", "committed")


def found(daemon, word):
    """Pages that have the word; no walk is asked for."""
    answer = daemon.post("/api/v1/search", {"query": word, "project": "*", "observations": False})["answer"]
    return [hit["path"].rpartition("/")[2] for hit in answer["hits"]] if answer["loosened"] is None else []


def says(daemon, text):
    return [problem for problem in daemon.status()["problems"] if text in problem]


@pytest.mark.promise("P9.220")
def test_a_file_that_is_no_page_as_it_stands_is_named_and_hides_no_other(subject, notes, monkeypatch):
    (notes / "begonia.md").write_bytes(b"# Begonia\n\n" + b"A large begonia.\n" * (1 << 19))
    subject.wait(lambda: says(subject, "begonia.md has"), "a page that grew too large is named")
    assert found(subject, "begonia") == []  # its old text isn't what stands there

    (notes / "dahlia.md").write_text("# Dahlia\n\nNobody may read of the dahlia.\n")
    (notes / "dahlia.md").chmod(0)
    (notes / f"key-{TOKEN}.md").write_text("# Key\n\nThe word is freesia.\n")
    (notes / "line\nbreak.md").write_text("# Break\n\nThe word is freesia.\n")
    (notes / "link.md").symlink_to("/etc/passwd")
    (notes / "elsewhere").symlink_to("/etc")
    os.mkfifo(notes / "pipe.md")
    listener = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(notes)  # the whole path would be too long for a socket's
    listener.bind("plug.md")
    (notes / "azalea.md").write_text("# Azalea\n\nThe word is azalea.\n")

    subject.wait(lambda: found(subject, "azalea") == ["azalea.md"], "the file beside them is found")
    listener.close()
    written = subject.cli("write", "Hibiscus", "-b", "The word is hibiscus.", "-p", "shop")
    assert written.returncode == 0, written.stderr
    assert found(subject, "freesia") == []
    refused = subject.cli("read", "default/shop/notes/dahlia.md")
    assert refused.returncode == 75 and "Permission denied" in refused.stderr
    for text in ("dahlia.md can't be read: Permission denied", "key-[redacted:github-token].md", "line\\nbreak.md"):
        assert len(says(subject, text)) == 1, text
    (links,) = says(subject, "links are not followed")
    assert all(name in links for name in ("link.md", "elsewhere", "pipe.md", "plug.md"))
    assert TOKEN not in subject.cli("status").stdout
    seen = subject.cli("rescan")
    assert "key-[redacted:github-token].md is your own" in seen.stdout + seen.stderr
    accepted = subject.cli("rescan", "--accept", f"default/shop/notes/key-{TOKEN}.md")
    assert accepted.returncode == 2 and "Rename the page" in accepted.stderr
    assert TOKEN not in seen.stdout + seen.stderr + accepted.stderr

    assert subject.cli("reindex").returncode == 0
    assert found(subject, "azalea") == ["azalea.md"] and found(subject, "begonia") == found(subject, "freesia") == []
    checked = subject.cli("verify")
    assert "cache/index" not in checked.stdout and TOKEN not in checked.stdout

    (notes / "dahlia.md").chmod(0o600)
    (notes / f"key-{TOKEN}.md").rename(notes / "key.md")
    (notes / "line\nbreak.md").unlink()
    (notes / "begonia.md").write_text("# Begonia\n\nA small begonia.\n")
    for name in ("link.md", "elsewhere", "pipe.md", "plug.md"):
        (notes / name).unlink()
    subject.cli("write", "Iris", "-b", "The word is iris.", "-p", "shop")  # asks for a walk
    for word, page in (("dahlia", "dahlia.md"), ("freesia", "key.md"), ("begonia", "begonia.md")):
        subject.wait(lambda word=word, page=page: found(subject, word) == [page], f"{page} is a page again")
    subject.wait(lambda: git(subject.data.wiki, "status", "--porcelain") == "", "all is committed")
    assert subject.status()["problems"] == []


@pytest.mark.promise("P9.221")
def test_while_the_wiki_is_away_or_closed_nothing_is_lost_and_every_command_says_so(subject, notes, tmp_path):
    wiki, away = subject.data.wiki, subject.data.root / "away"
    pages = subject.status()["counts"]["pages"]
    new = repository(tmp_path / "new", remote="git@github.com:acme/new.git")
    event = {"session_id": "new", "text": "while it was away", "cwd": str(new)}

    for take, give in (
        (lambda: wiki.rename(away), lambda: away.rename(wiki)),
        (lambda: wiki.chmod(0), lambda: wiki.chmod(0o700)),
    ):
        take()
        for command in (
            ["write", "Geranium", "-b", "The word is geranium.", "-p", "shop"],
            ["read", "default/shop/notes/dahlia.md"],
            ["delete", "dahlia", "--apply"],
            ["reindex"],
        ):
            done = subject.cli(*command)
            assert done.returncode == 75 and str(wiki) in done.stderr, (command, done.stderr)
        status, answer = subject.event("generic", "note", event)
        assert status == 503 and answer["error"]["type"] == "Unavailable"  # so that the hook spools it
        assert found(subject, "dahlia") == ["dahlia.md"] and subject.status()["counts"]["pages"] == pages
        assert says(subject, str(wiki))
        give()
        subject.wait(lambda: subject.cli("read", "default/shop/notes/dahlia.md").returncode == 0, "it is back")

    (notes / "dahlia.md").write_text("# Dahlia\n\nThe word is gladiolus.\n")
    subject.wait(lambda: found(subject, "gladiolus") == ["dahlia.md"], "it goes on")
    assert subject.event("generic", "note", event)[0] == 202
    assert "geranium" not in "".join(path.read_text() for path in wiki.rglob("*.md"))


@pytest.mark.promise("P9.222")
def test_what_could_not_be_finished_or_taken_back_is_refused_also_when_it_is_only_shown(subject, notes, tmp_path):
    where = repository(tmp_path / "other", remote="git@github.com:acme/other.git")
    subject.event("generic", "note", {"session_id": "o", "text": "hello", "cwd": str(where)})
    wiki, shop = subject.data.wiki, notes.parent
    (wiki / "default" / "Store").mkdir()
    (wiki / "default" / "depot").symlink_to(tmp_path)
    (shop / "kiosk.md").mkdir()
    odd = notes / os.fsdecode(b"plan\xff.png")
    odd.write_bytes(b"no page")

    def refused(*command, code, text):
        for more in ([], ["--apply"]):
            done = subject.cli("project", *command, *more)
            assert done.returncode == code and text in done.stderr, (command, more, done.stderr)

    refused("rename", "shop", "store", code=3, text="default/Store is there already")
    refused("rename", "shop", "depot", code=3, text="something at default/depot")
    refused("rename", "shop", "kiosk", code=3, text="something at default/shop/kiosk.md")
    refused("rename", "shop", "index", code=2, text="'project-index' can")
    refused("merge", "shop", "other", code=2, text="plan\\ufffd.png")
    odd.unlink()
    notes.chmod(0)
    refused("merge", "shop", "other", code=75, text="Permission denied")
    refused("rename", "shop", "garden", code=75, text="Permission denied")
    notes.chmod(0o700)
    assert subject.lines("project") == []  # nothing was announced, so nothing is half done
    (shop / "kiosk.md").rmdir()

    done = subject.cli("project", "rename", "shop", "kiosk", "--apply")
    assert done.returncode == 0 and (wiki / "default" / "kiosk" / "kiosk.md").is_file(), done.stderr
    (wiki / "default" / "kiosk" / "notes" / odd.name).write_bytes(b"no page")  # the folder moves with all that is in it
    assert subject.cli("project", "rename", "kiosk", "shop", "--apply").returncode == 0
    assert odd.read_bytes() == b"no page" and found(subject, "dahlia") == ["dahlia.md"]


@pytest.mark.promise("P9.222")
def test_of_two_projects_that_take_one_name_at_once_one_has_it(daemon):
    """In two workspaces the folders wouldn't be in each other's way, but links by name would mean both."""
    from concurrent.futures import ThreadPoolExecutor

    for name in ("one", "two"):
        where = repository(daemon.home / name, remote=f"git@github.com:acme/{name}.git")
        daemon.event("generic", "note", {"session_id": name, "text": "hello", "cwd": str(where)})
    calls = [{"project": name, "name": f"work-{name}/same", "apply": True} for name in ("one", "two")]
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda body: daemon.request("POST", "/api/v1/projects/rename", body)[0], calls))
    assert sorted(answers) == [200, 409]


def test_a_repository_called_index_keeps_its_page(tmp_path):
    """The listing of a project's folder is `index.md`, and would be written in the place of the project's own page."""
    daemon = Daemon(tmp_path, wiki_listing_seconds=1)
    try:
        daemon.start()
        where = repository(tmp_path / "index", remote="git@github.com:acme/index.git")
        daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
        project = daemon.get("/api/v1/where", cwd=str(where))["project"]
        folder = daemon.data.wiki / project
        daemon.wait((folder / "index.md").exists, "its listing")
        assert daemon.get("/api/v1/where", cwd=str(where))["is_known"]
        assert "identity: github.com/acme/index" in (folder / f"{folder.name}.md").read_text()
    finally:
        daemon.close()
