"""A wiki repository that can't be committed to any more: what of its history is whole goes on, nothing is deleted."""

import subprocess
import sys
from pathlib import Path

import pytest
import unprivileged

from aimemory.wiki.mend import fault, mend
from aimemory.wiki.mendplace import finish_cut_off, left_by_a_kill
from aimemory.wiki.repo import WikiRepo

A, B = "default/app/a.md", "default/app/b.md"

KILLED = """
import os, sys
from pathlib import Path
from aimemory import points
points.reached = lambda name: os._exit(9) if name == sys.argv[2] else None
from aimemory.wiki import mend, mendplace
if sys.argv[2] == "git.none":
    mend.mark_built = lambda building: os._exit(9)
if sys.argv[3] == "0":
    mendplace.exchange = lambda one, other: False
root = Path(sys.argv[1])
mend.mend(root, root.parent / "backups" / "damaged-git-1")
"""
"""Ends itself at a point. 0: on a file system on which two names can't be exchanged."""


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


BEHIND_A_GAP = ["three", "one", "Begin the wiki"]
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
    older_commit_missing: BEHIND_A_GAP, commit_empty: OLDER, tree_rotten: OLDER, page_missing_and_in_the_files: ALL, page_empty_and_changed_since: OLDER,
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


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Six commits that each change A and make a page of their own. The third's commit is missing, and the text of A that
    the fifth has."""
    root = tmp_path / "wiki"
    root.mkdir()
    for number in range(1, 7):
        put(root, f"c{number}", A, f"default/app/p{number}.md")
    loose(root, f"HEAD~1:{A}").unlink()
    loose(root, "HEAD~3").unlink()
    return root


@pytest.mark.promise("P9.241")
def test_what_is_newer_than_a_gap_goes_on_with_everything_but_its_id(long: Path) -> None:
    said = "%an %ae %at %cn %ct %T %s"
    before = git(long, "log", "-1", f"--format={said}")
    third, fifth = git(long, "rev-parse", "HEAD~2^").strip()[:12], git(long, "rev-parse", "HEAD~1").strip()[:12]

    done = mend(long, long.parent / "backups" / "damaged-git-1")

    assert subjects(long) == ["c6", "c4", "c2", "c1", "Begin the wiki"]
    assert git(long, "log", "-1", f"--format={said}") == before
    assert (done.commits, done.rewritten) == (5, 2)
    assert done.lost == (f"{fifth} (commit: c5)", f"{third} (commit: c3)")
    assert "2 of them are newer than something that is missing" in done.said() and third in done.said()
    assert [git(long, "show", f"HEAD~{back}:{A}") for back in range(4)] == ["c6", "c4", "c2", "c1"]
    assert git(long, "fsck", "--full", "--strict", "--no-dangling") == "" and fault(long) is None


@pytest.mark.promise("P9.241")
@pytest.mark.parametrize("log", ["gone", "a circle"])
def test_where_no_log_tells_what_came_before_the_gap_the_newer_part_goes_on_alone(long: Path, log: str) -> None:
    third, last = git(long, "rev-parse", "HEAD~2^").strip(), git(long, "rev-parse", "HEAD").strip()
    path = long / ".git/logs/refs/heads/main"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(last + line[40:] if line[41:81] == third else line for line in lines if log == "a circle"))

    done = mend(long, long.parent / "backups" / "damaged-git-1")

    assert subjects(long) == ["c6", "c4"] and done.rewritten == 2
    assert (
        f"{third[:12]} and what came before it" in done.said()
        or f"{third[:12]} (commit: c3) and what came before it" in (done.said())
    )
    assert git(long, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.promise("P9.104")
def test_what_was_never_committed_gets_into_no_object(root: Path) -> None:
    """A page that is held back for a secret lies on the disk only."""
    (root / "default/app/held.md").write_text("never committed")
    page_empty_and_changed_since(root)

    mend(root, root.parent / "backups" / "damaged-git-1")

    for path in ("default/app/held.md", A):
        blob = git(root, "hash-object", path).strip()
        assert subprocess.run(["git", "-C", str(root), "cat-file", "-e", blob], capture_output=True).returncode


CLOSED = """
import sys
from pathlib import Path
from aimemory.errors import Unavailable
from aimemory.wiki.mend import fault, mend
root = Path(sys.argv[1])
print(bool(fault(root)))
try:
    mend(root, root.parent / "backups" / "damaged-git-1")
except Unavailable as error:
    print("chmod" in str(error))
"""


def test_a_repository_that_is_only_closed_to_us_is_left_to_its_owner(root: Path) -> None:
    (root / ".git" / "objects").chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, unprivileged.__file__, sys.executable, "-c", CLOSED, str(root)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        (root / ".git" / "objects").chmod(0o700)
    assert done.stdout == "True\nTrue\n", done.stderr
    assert fault(root) is None and subjects(root) == ALL


def test_a_branch_without_a_commit_is_no_fault(root: Path) -> None:
    git(root, "switch", "-q", "--orphan", "fresh")

    assert fault(root) is None


@pytest.mark.promise("P9.104")
@pytest.mark.promise("P9.242")
@pytest.mark.parametrize("exchanged", [True, False], ids=["exchanged", "renamed"])
@pytest.mark.parametrize("point", ["git.none", "mend.built", "mend.exchanged", "mend.moved-away", "mend.set-aside"])
def test_a_kill_leaves_the_one_or_the_other_and_what_is_left_is_finished_or_taken_back(
    root: Path, point: str, exchanged: bool
) -> None:
    commit_missing(root)
    before = {p.relative_to(root / ".git"): p.read_bytes() for p in (root / ".git").rglob("*") if p.is_file()}
    backups = root.parent / "backups"

    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(root), point, str(int(exchanged))], capture_output=True, check=False
    )
    reached = point in ("git.none", "mend.built", "mend.set-aside") or (point == "mend.exchanged") == exchanged
    assert done.returncode == (9 if reached else 0), done.stderr
    if reached:
        assert left_by_a_kill(backups), "doctor names it"

    said = finish_cut_off(root, backups)

    assert len(said) == int(reached) and finish_cut_off(root, backups) == [] == left_by_a_kill(backups)
    is_done = point not in ("git.none", "mend.built")
    assert bool(fault(root)) != is_done and [p.name for p in backups.iterdir()] == ["damaged-git-1"] * is_done
    broken = backups / "damaged-git-1" if is_done else root / ".git"
    assert {p.relative_to(broken): p.read_bytes() for p in broken.rglob("*") if p.is_file()} == before
    if not is_done:
        mend(root, backups / "damaged-git-2")
    assert subjects(root) == OLDER


def test_while_the_wiki_is_away_nothing_of_a_mending_is_thrown_away(root: Path) -> None:
    commit_missing(root)
    subprocess.run([sys.executable, "-c", KILLED, str(root), "mend.built", "1"], capture_output=True, check=False)
    root.rename(root.parent / "away")

    assert finish_cut_off(root, root.parent / "backups") == []

    assert (root.parent / "backups/damaged-git-1.new/.git/HEAD").exists()
