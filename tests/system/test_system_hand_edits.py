"""What people and their programs do to the wiki is in the index while they look: within two seconds, whatever did it."""

import os
import shutil
import subprocess
import time

import pytest
from living import git

LIMIT_S = 2.0
pytestmark = pytest.mark.alone


@pytest.fixture
def pages(daemon):
    """Two pages of a project; the watcher is at work."""
    for title, word in (("Alpha", "aardvark"), ("Beta", "bandicoot")):
        body = {"title": title, "body": f"It speaks of the {word}.", "cwd": "/home/ada/zoo"}
        daemon.post("/api/v1/page", body)
    daemon.wait(lambda: task(daemon)["state"] == "running" and task(daemon)["last"], "the watcher has begun")
    return {name: next(daemon.data.wiki.rglob(f"{name}*.md")) for name in ("alpha", "beta")}


def task(daemon):
    return next(one for one in daemon.status()["tasks"] if one["name"] == "watcher")


def found(daemon, word):
    """Titles of the pages that have the word, without any walk that a search would ask for."""
    answer = daemon.post("/api/v1/search", {"query": word, "project": "*", "observations": False})["answer"]
    return {hit["title"] for hit in answer["hits"]} if answer["loosened"] is None else set()


def in_time(daemon, condition, what):
    before = time.monotonic()
    daemon.wait(condition, what)
    assert time.monotonic() - before < LIMIT_S, what


def in_place(page, text):
    page.write_text(text)


def by_rename(page, text):
    """As vim and most editors save: a new file in the old one's place."""
    other = page.with_name(".new.swp")
    other.write_text(text)
    other.replace(page)


def with_backup(page, text):
    """As VS Code and others with a backup: the old file moves away, a new one is made."""
    page.rename(page.with_name(page.name + "~"))
    page.write_text(text)


@pytest.mark.parametrize("save", [in_place, by_rename, with_backup])
@pytest.mark.promise("P9.42")
def test_an_edit_is_found_however_the_editor_saves(daemon, pages, save):
    save(pages["alpha"], pages["alpha"].read_text().replace("aardvark", "armadillo"))

    in_time(daemon, lambda: found(daemon, "armadillo") == {"Alpha"}, save.__name__)
    assert found(daemon, "aardvark") == set()


def test_sed_in_place_over_many_files(daemon, pages):
    subprocess.run(["sed", "-i", "s/speaks/tells/", *map(str, pages.values())], check=True)

    in_time(daemon, lambda: found(daemon, "tells") == {"Alpha", "Beta"}, "sed -i")


def test_a_new_file_a_removed_one_and_one_that_moved(daemon, pages):
    new = pages["alpha"].with_name("gamma.md")
    new.write_text("# Gamma\n\nIt speaks of the gecko.\n")
    in_time(daemon, lambda: found(daemon, "gecko") == {"Gamma"}, "a new file")

    new.rename(new.with_name("delta.md"))
    in_time(
        daemon,
        lambda: [h["path"][-8:] for h in daemon.search("gecko", observations=False)] == ["delta.md"],
        "a renamed file",
    )

    pages["beta"].unlink()
    in_time(daemon, lambda: found(daemon, "bandicoot") == set(), "a removed file")


def test_a_folder_that_comes_whole_and_one_that_is_replaced(daemon, pages, tmp_path):
    outside = tmp_path / "imported"
    (outside / "deep" / "er").mkdir(parents=True)
    (outside / "deep" / "er" / "epsilon.md").write_text("# Epsilon\n\nIt speaks of the echidna.\n")
    project = pages["alpha"].parents[1]
    shutil.move(str(outside), str(project / "imported"))
    in_time(daemon, lambda: found(daemon, "echidna") == {"Epsilon"}, "a folder moved in")

    wiki = daemon.data.wiki
    copy = wiki.with_name("copy")
    shutil.copytree(wiki, copy)
    one = next(copy.rglob("alpha*.md"))
    one.write_text(one.read_text().replace("aardvark", "anteater"))
    wiki.rename(wiki.with_name("old"))
    copy.rename(wiki)
    daemon.wait(lambda: found(daemon, "anteater") == {"Alpha"}, "the whole wiki was replaced")

    page = next(wiki.rglob("beta*.md"))
    page.write_text(page.read_text().replace("bandicoot", "bongo"))
    in_time(daemon, lambda: found(daemon, "bongo") == {"Beta"}, "the new folder is watched")


def committed(wiki):
    """What HEAD holds; nothing before the first commit."""
    try:
        return git(wiki, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    except subprocess.CalledProcessError:
        return []


def test_a_checkout_of_an_older_state(daemon, pages):
    wiki = daemon.data.wiki
    name = pages["alpha"].relative_to(wiki).as_posix()
    daemon.wait(lambda: name in committed(wiki), "the page is committed")
    before = git(wiki, "rev-parse", "HEAD").strip()
    pages["alpha"].write_text(pages["alpha"].read_text().replace("aardvark", "armadillo"))
    in_time(daemon, lambda: found(daemon, "armadillo") == {"Alpha"}, "the edit")

    git(wiki, "checkout", "-q", before, "--", name)

    in_time(daemon, lambda: found(daemon, "aardvark") == {"Alpha"}, "git checkout")


@pytest.mark.promise("P9.223")
def test_a_checkout_that_takes_its_time_deletes_nothing_of_the_branch(daemon, pages):
    """As `git checkout` of an old commit with thousands of pages does: the index is held, files go, then HEAD moves."""
    wiki = daemon.data.wiki
    name = pages["alpha"].relative_to(wiki).as_posix()
    daemon.wait(lambda: name in committed(wiki) and not git(wiki, "status", "--porcelain"), "all is committed")
    head, text = git(wiki, "rev-parse", "HEAD"), pages["alpha"].read_text()
    lock = wiki / ".git" / "index.lock"
    lock.touch()
    pages["alpha"].unlink()
    in_time(daemon, lambda: found(daemon, "aardvark") == set(), "the page is away")
    daemon.wait(lambda: any(str(lock) in problem for problem in daemon.status()["problems"]), "what waits is named")
    assert git(wiki, "rev-parse", "HEAD") == head

    pages["alpha"].write_text(text)
    lock.unlink()

    in_time(daemon, lambda: found(daemon, "aardvark") == {"Alpha"}, "the page is back")
    daemon.wait(lambda: daemon.status()["git"]["waiting"] == 0, "nothing waits")
    assert git(wiki, "rev-parse", "HEAD") == head and git(wiki, "status", "--porcelain") == ""


def test_an_emptied_tree_is_no_mass_delete(daemon, pages):
    project = pages["alpha"].parents[1]
    for number in range(40):
        (project / f"page-{number}.md").write_text(f"# Page {number}\n\nIt speaks of the walrus.\n")
    daemon.wait(lambda: daemon.status()["counts"]["pages"] >= 42, "forty pages more")

    for path in list(daemon.data.wiki.iterdir()):
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    daemon.wait(lambda: any("none was taken as deleted" in text for text in daemon.status()["problems"]), "it is said")
    assert daemon.status()["counts"]["pages"] >= 42


def clean(wiki):
    return bool(committed(wiki)) and not git(wiki, "status", "--porcelain")


def in_head(wiki, path, content):
    return subprocess.run(["git", "show", f"HEAD:{path}"], cwd=wiki, capture_output=True, check=False).stdout == content


@pytest.mark.promise("P9.175")
def test_what_is_put_back_as_we_wrote_it_is_in_git_again(daemon, pages):
    wiki, page = daemon.data.wiki, pages["alpha"]
    path, was = page.relative_to(wiki).as_posix(), page.read_bytes()
    daemon.wait(lambda: clean(wiki), "our text is committed")

    for away in (page.unlink, lambda: page.write_text("# Mine\n")):
        away()
        daemon.wait(lambda: clean(wiki) and not in_head(wiki, path, was), "git has what was done by hand")
        page.write_bytes(was)
        daemon.wait(lambda: in_head(wiki, path, was) and clean(wiki), "git has the text again")


@pytest.mark.promise("P9.176")
def test_pages_that_are_away_while_a_branch_is_switched_are_not_deleted_from_the_other(daemon, pages):
    wiki = daemon.data.wiki
    daemon.wait(lambda: clean(wiki), "two pages are committed")
    older = git(wiki, "rev-parse", "HEAD").strip()
    daemon.post("/api/v1/page", {"title": "Gamma", "body": "It speaks of the gnu.", "cwd": "/home/ada/zoo"})
    daemon.wait(lambda: clean(wiki) and any("gamma" in path for path in committed(wiki)), "the third is committed")
    head = git(wiki, "rev-parse", "HEAD").strip()

    git(wiki, "checkout", "-q", older)
    assert not list(wiki.rglob("gamma*.md"))
    daemon.wait(lambda: daemon.status()["git"]["problem"], "it is said that no commit is made")
    git(wiki, "checkout", "-q", "main")

    daemon.wait(lambda: daemon.status()["git"]["problem"] is None, "commits are made again")
    daemon.wait(lambda: found(daemon, "gnu") == {"Gamma"} and clean(wiki), "all is as it was")
    assert "D\t" not in git(wiki, "log", "--name-status", "--format=", f"{head}..HEAD")


@pytest.mark.promise("P9.177")
def test_a_name_that_is_no_utf8_is_told_and_stops_nothing(daemon, pages):
    page = pages["alpha"]
    for number, word in enumerate(("wombat", "numbat")):
        (page.parent / os.fsdecode(b"bad\xff.md")).write_text(word)
        (page.parent / f"good-{number}.md").write_text(f"It speaks of the {word}.\n")
        daemon.wait(lambda word=word: found(daemon, word), "the page beside it is found")
    status = daemon.status()
    assert any("bad\\xff.md" in text for text in status["problems"])
    assert task(daemon)["error"] is None
