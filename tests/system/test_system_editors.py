"""What editors, synchronisers, git and the system do to the wiki, by their own programs where they are installed."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata

import pytest
from living import Daemon, git

WORDS = (f"gnu{one}{other}" for one in "bcdfgh" for other in "klmnpqrst")


@pytest.fixture
def page(daemon):
    """The file of one page, watched."""
    daemon.post("/api/v1/page", {"title": "Alpha", "body": "It speaks of the aardvark.", "cwd": "/home/ada/zoo"})
    daemon.wait(lambda: task(daemon)["state"] == "running" and task(daemon)["last"], "the watcher has begun")
    return next(daemon.data.wiki.rglob("alpha*.md"))


def task(daemon):
    return next(one for one in daemon.status()["tasks"] if one["name"] == "watcher")


def paths(daemon, word):
    """Pages that have the word, without any look that a write would ask for."""
    found = daemon.post("/api/v1/search", {"query": word, "project": "*", "observations": False})["answer"]
    return [hit["path"] for hit in found["hits"]] if found["loosened"] is None else []


def vim(file, text):
    script = file.with_suffix(".vim-script")
    script.write_text(f"%d\ncall setline(1, {text.splitlines()!r})\nwq\n")
    subprocess.run(
        ["vim", "-N", "-u", "NONE", "-es", "-S", str(script), str(file)], check=True, stdin=subprocess.DEVNULL
    )
    script.unlink()


def vim_with_backup_by_rename(file, text):
    command = ["vim", "-N", "-u", "NONE", "-es", "--cmd", "set backupcopy=no backup writebackup"]
    script = file.with_suffix(".vim-script")
    script.write_text(f"%d\ncall setline(1, {text.splitlines()!r})\nwq\n")
    subprocess.run([*command, "-S", str(script), str(file)], check=True, stdin=subprocess.DEVNULL)
    script.unlink()


def sed(file, text):
    subprocess.run(["sed", "-i", f"$c {text.splitlines()[-1]}", str(file)], check=True)


def vs_code(file, text):
    """In place: truncate, write (`diskFileSystemProvider.ts`, for documents)."""
    fd = os.open(file, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, text.encode())
    os.close(fd)


def vs_code_atomic(file, text):
    """A file with the suffix `.vsctmp`, then a rename (`IFileAtomicWriteOptions`)."""
    other = file.with_name(file.name + ".vsctmp")
    other.write_text(text)
    other.rename(file)


def obsidian(file, text):
    """Node's `fs.writeFile`, and its workspace file beside."""
    (file.parents[3] / ".obsidian").mkdir(exist_ok=True)
    (file.parents[3] / ".obsidian" / "workspace.json").write_text("{}")
    vs_code(file, text)


def syncthing(file, text):
    """A hidden temporary file, and the old one of the two as a conflict file."""
    other = file.with_name(f".syncthing.{file.name}.tmp")
    other.write_text(text)
    conflict = file.with_name(f"{file.stem}.sync-conflict-20261130-173636-D4LGQYW.md")
    conflict.write_text(file.read_text().replace("aardvark", "gazelle"))
    other.rename(file)


def dropbox(file, text):
    shutil.copy(file, file.with_name(f"{file.stem} (Ada's conflicted copy 2026-11-30).md"))
    syncthing(file, text)


EDITORS = (vim, vim_with_backup_by_rename, sed, vs_code, vs_code_atomic, obsidian, syncthing, dropbox)


@pytest.mark.promise("P9.42")
def test_twenty_saves_of_every_program_are_found_and_no_file_of_theirs_becomes_a_page(daemon, page):
    """MD-20."""
    count = daemon.status()["counts"]["pages"]
    for save in [*EDITORS, *EDITORS, *EDITORS][:20]:
        if save in (vim, vim_with_backup_by_rename) and shutil.which("vim") is None:
            continue
        word = next(WORDS)
        save(page, page.read_text().rstrip().rpartition("\n")[0] + f"\nIt speaks of the {word}.\n")
        where = [page.relative_to(daemon.data.wiki).as_posix()]
        daemon.wait(lambda where=where, word=word: paths(daemon, word) == where, f"{save.__name__}: {word}")

    assert daemon.status()["counts"]["pages"] == count
    assert paths(daemon, "gazelle") == [] and task(daemon)["failures"] == 0
    seen = daemon.cli("doctor", "--json").stdout
    assert "sync-conflict-20261130" in seen
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "git knows no file of theirs")


@pytest.mark.promise("P9.119")
def test_what_happened_while_the_daemon_stood_still_is_found(daemon, page):
    """MD-17: as after a sleep, also with the whole folder copied back meanwhile, and taken away and brought back."""
    wiki, word, other = daemon.data.wiki, next(WORDS), next(WORDS)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    try:
        page.write_text(page.read_text().replace("aardvark", word))
        away = shutil.move(wiki, wiki.with_name("away"))
        shutil.copytree(away, wiki, symlinks=True)
        new = page.with_name("new.md")
        new.write_text(f"# New\n\nIt speaks of the {other}.\n")
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
    daemon.wait(lambda: len(paths(daemon, word)) == len(paths(daemon, other)) == 1, "both edits", 15)
    edit = next(WORDS)
    new.write_text(f"# New\n\nIt speaks of the {other} and the {edit}.\n")
    daemon.wait(lambda: len(paths(daemon, edit)) == 1, "the new folder is watched")
    assert daemon.status()["wiki"]["watch_problem"] is None

    count = daemon.status()["counts"]["pages"]
    shutil.move(wiki, wiki.with_name("gone"))
    daemon.wait(
        lambda: any("none" in text or "empty" in text for text in daemon.status()["problems"]), "it is said", 90
    )
    assert daemon.status()["counts"]["pages"] == count
    if wiki.exists():  # a folder that something of ours made anew
        shutil.rmtree(wiki)
    shutil.move(wiki.with_name("gone"), wiki)
    word = next(WORDS)
    new.write_text(f"# New\n\nIt speaks of the {word}.\n")
    daemon.wait(lambda: len(paths(daemon, word)) == 1, "it goes on", 90)
    assert daemon.status()["counts"]["pages"] == count


def test_a_vault_of_plain_notes_is_indexed_and_no_file_of_it_changes(daemon, page):
    """MD-19, MD-26, MD-27: also when one of many is touched, and when a rebuild is killed."""
    folder = page.parents[1] / "vault"
    folder.mkdir()
    for number in range(1000):
        (folder / f"note {number}.md").write_text(f"A note of {number}, without front matter\r\nand without an end")
    daemon.wait(lambda: daemon.status()["counts"]["pages"] >= 1001, "all of them", 60)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    count, word = daemon.status()["counts"]["pages"], next(WORDS)

    touched = folder / "note 7.md"
    os.utime(touched)
    before[touched] += f" but {word}".encode()
    touched.write_bytes(before[touched])
    daemon.wait(lambda: len(paths(daemon, word)) == 1, "the one that was touched")
    assert daemon.status()["counts"]["pages"] == count

    daemon.stop()
    daemon.data.index.unlink()
    daemon.start().kill()
    daemon.start()
    daemon.wait(lambda: daemon.status()["counts"].get("pages") == count, "the index is whole again", 60)
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "all is committed", 60)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


class Poor(Daemon):
    """With few file watches of its own: a user namespace has limits of its own."""

    watches = 12

    def start(self):
        command = f"echo {self.watches} > /proc/sys/user/max_inotify_watches && exec {shlex.quote(sys.executable)} -I -m aimemory serve"
        with (self.root / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                ["unshare", "--user", "--map-root-user", "sh", "-c", command], env=self.env, cwd="/",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
        self.wait(self.is_up, "the daemon answers")
        return self


@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "unshare --user --map-root-user true"], capture_output=True).returncode != 0,
    reason="no user namespaces here",
)
@pytest.mark.promise("P9.118")
def test_where_file_watches_run_out_the_tree_is_walked_and_that_is_said_once(tmp_path):
    """MD-18. The kernel tells nobody that a new folder is not watched."""
    daemon = Poor(tmp_path)
    try:
        daemon.start()
        daemon.post("/api/v1/page", {"title": "Alpha", "body": "It speaks of the aardvark.", "cwd": "/home/ada/zoo"})
        project = next(daemon.data.wiki.rglob("alpha*.md")).parents[1]
        for number in range(12):
            (project / f"folder-{number}").mkdir()
            (project / f"folder-{number}" / "a.md").write_text("# A\n\nIt speaks of the buffalo.\n")
        daemon.wait(lambda: any("no file watches left" in text for text in daemon.status()["problems"]), "it is said")
        for word in (next(WORDS), next(WORDS)):
            (project / "folder-11" / "a.md").write_text(f"# A\n\nIt speaks of the {word}.\n")
            daemon.wait(lambda word=word: len(paths(daemon, word)) == 1, "an edit in the last folder")
        assert len([text for text in daemon.status()["problems"] if "watches" in text]) == 1
        assert task(daemon)["failures"] == 1
    finally:
        daemon.close()


@pytest.mark.promise("P9.117")
def test_a_name_in_decomposed_letters_is_one_page_under_both_spellings(daemon, page):
    """MD-12, MD-13."""
    folder = page.parent
    decomposed = folder / unicodedata.normalize("NFD", "Café.md")
    decomposed.write_text("# Café\n\nIt serves espresso.\n")
    (folder / "bar.md").write_text("# Bar\n\nNext to the [[Café]].\n")
    daemon.wait(lambda: len(paths(daemon, "espresso")) == 1, "the page")
    place = f"{folder.relative_to(daemon.data.wiki)}/Café.md"

    read = daemon.get("/api/v1/page", page=place)
    assert read["path"] == unicodedata.normalize("NFD", place)
    written = daemon.post(
        "/api/v1/page",
        {"title": "Café", "body": "It serves tea.", "path": place, "version": read["version"], "cwd": "/"},
    )
    assert written["path"] == read["path"] and "tea" in decomposed.read_text()
    given = {"title": "Café", "body": "Another.", "path": place, "cwd": "/"}
    status, _, body = daemon.request("POST", "/api/v1/page", given)
    assert status == 409 and b"It serves tea." in body
    other = place.replace("Café", "BAR")
    status, _, body = daemon.request("POST", "/api/v1/page", {**given, "path": other})
    assert status == 409 and b"bar.md is there already" in body

    git(daemon.data.wiki, "config", "core.quotepath", "off")
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "no ghost in git")
    links = daemon.cli("links", "--json", str(folder.relative_to(daemon.data.wiki) / "bar.md")).stdout
    assert "broken" not in links.replace('"broken": []', "").replace('"broken_total": 0', "")
    assert len([name for name in git(daemon.data.wiki, "ls-files").splitlines() if "Caf" in name]) == 1

    git(daemon.data.wiki, "mv", *(str(folder.relative_to(daemon.data.wiki) / name) for name in ("bar.md", "BAR.md")))
    daemon.wait(lambda: [path[-6:] for path in paths(daemon, "next")] == ["BAR.md"], "a rename of case alone")
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "committed")


@pytest.mark.promise("P9.116")
def test_a_conflict_of_git_in_the_wiki_stops_nothing_and_its_markers_are_never_committed(daemon, page):
    """GIT-09: in mid-merge, and markers that lie there after it."""
    wiki, name = daemon.data.wiki, page.relative_to(daemon.data.wiki).as_posix()
    daemon.wait(lambda: name in git(wiki, "ls-files"), "the page is committed")
    text = page.read_text()
    git(wiki, "checkout", "-qb", "other")
    page.write_text(text.replace("aardvark", "okapi"))
    git(wiki, "commit", "-qam", "other")
    git(wiki, "checkout", "-q", "main")
    page.write_text(text.replace("aardvark", "impala"))
    git(wiki, "commit", "-qam", "mine")
    with pytest.raises(subprocess.CalledProcessError):
        git(wiki, "merge", "other")
    assert "<<<<<<<" in page.read_text()

    daemon.wait(lambda: paths(daemon, "okapi") == paths(daemon, "impala") == [name], "both sides are found")
    daemon.event("generic", "note", {"session_id": "s", "text": "while merging", "cwd": "/home/ada/zoo"})
    during = daemon.post("/api/v1/page", {"title": "During", "body": "A kudu.", "cwd": "/home/ada/zoo"})
    assert paths(daemon, "kudu") == [during["path"]] and daemon.search("while merging")
    daemon.wait(lambda: any("merge is in progress" in text for text in daemon.status()["problems"]), "it is said")
    assert git(wiki, "ls-files", "-u")  # the conflict is still the person's to resolve

    marked = page.read_text()
    git(wiki, "merge", "--abort")
    daemon.wait(lambda: during["path"] in git(wiki, "ls-tree", "-r", "--name-only", "HEAD"), "commits go on")
    page.write_text(marked)
    daemon.wait(lambda: name in daemon.status()["wiki"]["held"], "markers are held back")
    assert any("conflict markers of git" in text for text in daemon.status()["problems"])
    assert "<<<<<<<" not in git(wiki, "show", f"HEAD:{name}") and paths(daemon, "okapi") == [name]
    page.write_text(text.replace("aardvark", "okapi and impala"))
    daemon.wait(lambda: git(wiki, "status", "--porcelain") == "", "resolved, committed")
    assert "okapi and impala" in git(wiki, "show", f"HEAD:{name}") and daemon.status()["wiki"]["held"] == {}
