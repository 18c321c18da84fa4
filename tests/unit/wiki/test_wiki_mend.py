"""A wiki repository that can't be committed to any more: what of its history is whole goes on, nothing is deleted."""

import subprocess
import sys
from pathlib import Path

import pytest

from aimemory.errors import Unavailable
from aimemory.wiki.mend import fault, mend
from aimemory.wiki.repo import WikiRepo

A, B = "default/app/a.md", "default/app/b.md"

KILLED = """
import os, sys
from pathlib import Path
from aimemory import points
points.reached = lambda name: os._exit(9) if name == sys.argv[2] else None
from aimemory.wiki.mend import mend
root = Path(sys.argv[1])
mend(root, root.parent / "backups" / "damaged-git-1")
"""


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def put(root: Path, text: str, *paths: str) -> None:
    repo = WikiRepo(root)
    try:
        for path in paths:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        changes = {path: (root / path).read_bytes() for path in paths}
        repo.commit(changes, author_name="ada", author_email="ada@m.invalid", message=text, when_ns=10**18)
        repo.sync_index()
    finally:
        repo.close()


def loose(root: Path, name: str) -> Path:
    """The file of an object, writable."""
    oid = git(root, "rev-parse", name).strip()
    path = root / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o600)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Pages of three commits: `one` has A, `two` adds B, `three` changes A."""
    root = tmp_path / "wiki"
    root.mkdir()
    put(root, "one", A)
    put(root, "two", B)
    put(root, "three", A)
    git(root, "branch", "side", "HEAD~1")
    git(root, "remote", "add", "origin", "https://example.invalid/wiki.git")
    return root


def subjects(root: Path) -> list[str]:
    return git(root, "log", "--format=%s").split("\n")[:-1]


ALL, OLDER, NONE = ["three", "two", "one", "Begin the wiki"], ["two", "one", "Begin the wiki"], ["Begin the wiki"]


def branch_lost(root: Path) -> None:
    (root / ".git/refs/heads/main").unlink()


def branch_emptied(root: Path) -> None:
    (root / ".git/refs/heads/main").write_bytes(b"")


def head_nonsense(root: Path) -> None:
    (root / ".git/HEAD").write_text("nonsense")


def settings_ruined(root: Path) -> None:
    (root / ".git/config").write_text("[core\n")
    (root / ".git/refs/heads/main").write_text("1" * 40 + "\n")


def commit_missing(root: Path) -> None:
    loose(root, "HEAD").unlink()


def older_commit_missing(root: Path) -> None:
    """As when the daemon, which still has HEAD in memory, has committed upon what is gone."""
    loose(root, "HEAD~1").unlink()


def commit_empty(root: Path) -> None:
    loose(root, "HEAD").write_bytes(b"")


def tree_rotten(root: Path) -> None:
    path = loose(root, "HEAD^{tree}")
    path.write_bytes(path.read_bytes()[:-9] + b"overwritt")


def page_missing_and_in_the_files(root: Path) -> None:
    loose(root, f"HEAD:{A}").unlink()


def page_empty_and_changed_since(root: Path) -> None:
    loose(root, f"HEAD:{A}").write_bytes(b"")
    (root / A).write_text("typed since")


def nothing_left(root: Path) -> None:
    for path in (root / ".git/objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"")


FAULTS = {
    branch_lost: ALL, branch_emptied: ALL, head_nonsense: ALL, settings_ruined: ALL, commit_missing: OLDER,
    older_commit_missing: ["one", "Begin the wiki"], commit_empty: OLDER, tree_rotten: OLDER, page_missing_and_in_the_files: ALL, page_empty_and_changed_since: OLDER,
    nothing_left: None,
}  # fmt: skip


@pytest.mark.promise("P9.104")
@pytest.mark.parametrize("harm", FAULTS, ids=lambda harm: harm.__name__)
def test_the_newest_history_that_is_whole_goes_on_and_the_broken_one_is_kept(root: Path, harm) -> None:
    assert fault(root) is None
    harm(root)
    assert fault(root)
    pages = {path: (root / path).read_bytes() for path in (A, B)}
    before = {p.relative_to(root / ".git"): p.read_bytes() for p in (root / ".git").rglob("*") if p.is_file()}
    aside = root.parent / "backups" / "damaged-git-1"

    done = mend(root, aside)

    assert {p.relative_to(aside): p.read_bytes() for p in aside.rglob("*") if p.is_file()} == before
    assert {path: (root / path).read_bytes() for path in (A, B)} == pages
    assert fault(root) is None and [p.name for p in aside.parent.iterdir()] == [aside.name]
    kept = FAULTS[harm]
    assert (done.kept is None) == (kept is None) and str(aside) in done.said()
    put(root, "after", A)
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""
    assert subjects(root) == ["after", *(kept or NONE)]
    assert bool(done.lost) == (kept != ALL)
    if kept:
        assert done.commits == len(kept)
        assert done.refs if "two" not in kept else git(root, "log", "-1", "--format=%s", "side") == "two\n"
    if harm is not settings_ruined:
        assert "example.invalid" in git(root, "remote", "-v")


@pytest.mark.promise("P9.104")
def test_what_was_never_committed_gets_into_no_object(root: Path) -> None:
    """A page that is held back for a secret lies on the disk only."""
    (root / "default/app/held.md").write_text("never committed")
    page_empty_and_changed_since(root)

    mend(root, root.parent / "backups" / "damaged-git-1")

    for path in ("default/app/held.md", A):
        blob = git(root, "hash-object", path).strip()
        assert subprocess.run(["git", "-C", str(root), "cat-file", "-e", blob], capture_output=True).returncode


def test_a_repository_that_is_only_closed_to_us_is_left_to_its_owner(root: Path) -> None:
    (root / ".git" / "objects").chmod(0)
    try:
        if not fault(root):
            pytest.skip("this user may read everything")
        with pytest.raises(Unavailable, match="chmod"):
            mend(root, root.parent / "backups" / "damaged-git-1")
    finally:
        (root / ".git" / "objects").chmod(0o700)
    assert fault(root) is None and subjects(root) == ALL


def test_a_branch_without_a_commit_is_no_fault(root: Path) -> None:
    git(root, "switch", "-q", "--orphan", "fresh")

    assert fault(root) is None


@pytest.mark.promise("P9.104")
@pytest.mark.parametrize("point", ["mend.built", "mend.exchanged"])
def test_a_kill_leaves_the_one_or_the_other_and_deletes_neither(root: Path, point: str) -> None:
    commit_missing(root)

    done = subprocess.run([sys.executable, "-c", KILLED, str(root), point], capture_output=True, check=False)

    assert done.returncode == 9, done.stderr
    assert bool(fault(root)) == (point == "mend.built")
    left = root.parent / "backups" / "damaged-git-1.new" / ".git"
    assert (left / "refs/heads/main").exists()
    if fault(root):
        mend(root, root.parent / "backups" / "damaged-git-2")
    assert subjects(root) == OLDER
