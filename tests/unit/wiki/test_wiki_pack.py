"""Packing of the wiki's git objects: smaller, and no object is lost whenever it is killed or who else is at work."""

import subprocess
import sys
import threading

import pytest
from living import git

from aimemory.errors import Unavailable
from aimemory.wiki import pack as packing
from aimemory.wiki.pack import loose_count, pack
from aimemory.wiki.repo import WikiRepo

KILLED = """
import os, signal, sys
from pathlib import Path
from aimemory import points
from aimemory.wiki import pack
points.reached = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == sys.argv[2] else None
pack._MANY_PACKS = 2
pack.pack(Path(sys.argv[1]), at_least=1)
"""


def commits(repo, count, start=0):
    for number in range(start, start + count):
        content = f"# Page {number}\n\n{'words of the page ' * 40}{number}\n".encode()
        repo.commit(
            {f"default/app/notes/{number % 12:02d}/p{number}.md": content}, author_name="Ada", author_email="a@example.invalid",
            message="m", when_ns=10**18 + number * 10**9,
        )  # fmt: skip


@pytest.fixture
def repo(tmp_path):
    found = WikiRepo(tmp_path / "wiki")
    yield found
    found.close()


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "wiki").mkdir()


def objects(root):
    return set(git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize)").splitlines())


def packs(root):
    return sorted((root / ".git" / "objects" / "pack").glob("*.pack"))


@pytest.mark.promise("P11.130")
def test_loose_objects_become_packs_and_packs_one_and_all_stays_readable(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "_MANY_PACKS", 3)
    root = tmp_path / "wiki"
    before = set()
    for turn in range(3):
        commits(repo, 12, turn * 12)
        (root / ".git" / "objects" / "pack" / f"tmp_pack_{turn}").write_bytes(b"x")  # a fresh one may be in the writing
        before |= objects(root)
        done = pack(root, at_least=10)
        assert done.loose > 10 and done.left == 0
    assert done.merged == 3 and len(packs(root)) == 1
    assert objects(root) == before and git(root, "fsck", "--full", "--strict") == ""
    assert loose_count(root) == 0 and pack(root, at_least=10).loose == 0
    assert len(repo.history("default/app/notes/05/p17.md")) == 1  # the open repository finds them in their pack
    commits(repo, 1, 99)
    assert git(root, "status", "--porcelain", "--untracked-files=no") is not None
    assert git(root, "fsck", "--full") == ""


@pytest.mark.promise("P11.130")
def test_few_loose_objects_stay_as_they_are(repo, tmp_path):
    root = tmp_path / "wiki"
    commits(repo, 1)
    before = objects(root)

    done = pack(root, at_least=100)

    assert done.loose == 0 and done.left == len(before) and packs(root) == []


@pytest.mark.promise("P11.131")
def test_what_one_run_leaves_out_stays_where_it_is_until_its_turn(repo, tmp_path, monkeypatch):
    root = tmp_path / "wiki"
    commits(repo, 8)
    before = objects(root)
    monkeypatch.setattr(packing, "AT_ONCE", 10)

    done = pack(root, at_least=1)

    assert done.loose == 10 and done.left == len(before) - 10
    assert objects(root) == before and git(root, "fsck", "--full") == ""
    while pack(root, at_least=1).left:
        assert objects(root) == before
    assert objects(root) == before and loose_count(root) == 0


@pytest.mark.promise("P11.131")
@pytest.mark.parametrize("point", ["pack.written", "pack.merged"])
def test_killed_in_the_middle_nothing_is_lost_and_the_next_run_goes_on(repo, tmp_path, point, monkeypatch):
    root = tmp_path / "wiki"
    for turn in range(2):
        commits(repo, 8, turn * 8)
        pack(root, at_least=1)
    commits(repo, 8, 50)
    before = objects(root)

    done = subprocess.run([sys.executable, "-c", KILLED, str(root), point], capture_output=True)

    assert done.returncode == -9, done.stderr
    assert objects(root) == before and git(root, "fsck", "--full") == ""
    assert pack(root, at_least=1).left == 0
    assert objects(root) == before
    monkeypatch.setattr(packing, "_MANY_PACKS", 2)  # what was put together may lie there already, under the same name
    for _ in range(3):
        pack(root, at_least=1)
        assert objects(root) == before and git(root, "fsck", "--full") == ""


@pytest.mark.promise("P11.131")
def test_commits_and_a_persons_git_beside_it_lose_nothing(repo, tmp_path):
    root = tmp_path / "wiki"
    commits(repo, 10)
    stop, failed = threading.Event(), []

    def keep_packing():
        while not stop.is_set():
            try:
                pack(root, at_least=1)
            except Exception as error:  # noqa: BLE001 - shown below
                failed.append(error)

    worker = threading.Thread(target=keep_packing)
    worker.start()
    try:
        for number in range(10):
            commits(repo, 3, 100 + number * 3)
            (root / f"hand{number}.md").write_text(f"by hand {number}\n")
            git(root, "add", f"hand{number}.md")
            git(root, "commit", "-qm", "by hand")
    finally:
        stop.set()
        worker.join()

    assert failed == []
    assert git(root, "fsck", "--full") == ""
    assert len(git(root, "log", "--format=%H").split()) >= 50


def test_what_git_cannot_do_is_said_and_everything_stays(repo, tmp_path):
    root = tmp_path / "wiki"
    commits(repo, 5)
    before = objects(root)
    (root / ".git" / "objects" / "pack").rmdir()
    (root / ".git" / "objects" / "pack").write_bytes(b"in the way")

    with pytest.raises(Unavailable, match="can't be packed"):
        pack(root, at_least=1)

    (root / ".git" / "objects" / "pack").unlink()
    assert objects(root) == before
