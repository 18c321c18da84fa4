"""The repository's own index: in step with our commits, never at the cost of what a person or another git does."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from aimemory.errors import Unavailable
from aimemory.wiki.locks import LEFT_OVER_S, LEFT_OVER_UNSEEN_S, is_held, taken
from aimemory.wiki.repo import WikiRepo

A, B, C = "notes/a.md", "notes/b.md", "notes/c.md"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[WikiRepo]:
    root = tmp_path / "wiki"
    root.mkdir()
    repo = WikiRepo(root)
    yield repo
    repo.close()


def put(repo: WikiRepo, pages: dict[str, str | None]) -> None:
    for path, text in pages.items():
        file = repo.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
    raw = {path: None if text is None else text.encode() for path, text in pages.items()}
    repo.commit(raw, author_name="ann", author_email="ann@box", message="Update", when_ns=1_780_000_000_000_000_000)


def git(repo: WikiRepo, *args: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.root.parent)}
    return subprocess.run(["git", *args], cwd=repo.root, env=env, capture_output=True, text=True, check=True).stdout


def staged(repo: WikiRepo) -> str:
    return git(repo, "diff", "--cached", "--name-status", "--no-renames")


@pytest.mark.promise("P9.40")
def test_what_a_person_has_staged_stays_staged(repo: WikiRepo) -> None:
    put(repo, {A: "one", B: "one", C: "one"})
    repo.sync_index()
    (repo.root / A).write_text("staged by hand")
    git(repo, "add", A)
    (repo.root / "mine.md").write_text("new by hand")
    git(repo, "add", "mine.md")
    git(repo, "rm", "-q", B)

    put(repo, {A: "ours", C: "ours"})
    assert repo.sync_index([A, C]) and repo.sync_index()
    assert set(staged(repo).splitlines()) == {f"M\t{A}", f"D\t{B}", "A\tmine.md"}
    assert git(repo, "show", f":{A}") == "staged by hand"
    assert git(repo, "show", f":{C}") == "ours"


def test_several_commits_behind_are_caught_up_at_once_even_after_a_restart(repo: WikiRepo) -> None:
    put(repo, {A: "one", B: "one"})
    repo.sync_index()
    for text in ("two", "three"):
        put(repo, {A: text})
    put(repo, {B: None, C: "new"})
    restarted = WikiRepo(repo.root)
    assert restarted.sync_index([])
    restarted.close()
    assert git(repo, "status", "--porcelain") == ""


def test_a_missing_index_is_made(repo: WikiRepo) -> None:
    put(repo, {A: "one"})
    (repo.root / ".git/index").unlink(missing_ok=True)
    assert repo.sync_index() and git(repo, "status", "--porcelain") == ""


def test_an_index_that_cannot_be_read_is_named_and_left_alone(repo: WikiRepo) -> None:
    put(repo, {A: "one"})
    (repo.root / ".git/index").write_bytes(b"no index")
    with pytest.raises(Unavailable, match="index"):
        repo.sync_index()
    assert (repo.root / ".git/index").read_bytes() == b"no index"
    assert not (repo.root / ".git/index.lock").exists()


@pytest.mark.promise("P9.41")
def test_a_fresh_lock_of_another_git_is_respected_and_commits_go_on(repo: WikiRepo) -> None:
    lock = repo.root / ".git/index.lock"
    lock.write_text("")
    put(repo, {A: "one"})
    assert not repo.sync_index([A])
    assert lock.exists()
    lock.unlink()
    assert repo.sync_index([])
    assert git(repo, "status", "--porcelain") == ""


def age(lock: Path, seconds: float) -> None:
    stamp = lock.stat().st_mtime - seconds
    os.utime(lock, (stamp, stamp))


def test_an_old_lock_is_cleared_when_no_git_runs_here(repo: WikiRepo) -> None:
    lock = repo.root / ".git/index.lock"
    lock.write_text("")
    put(repo, {A: "one"})
    age(lock, LEFT_OVER_S + 1)
    assert repo.sync_index()
    assert not lock.exists() and git(repo, "status", "--porcelain") == ""


def test_an_old_lock_of_a_git_that_still_runs_here_is_respected(repo: WikiRepo) -> None:
    """As during `git commit -a` while its owner writes the message."""
    lock = repo.root / ".git/index.lock"
    lock.write_text("")
    age(lock, LEFT_OVER_UNSEEN_S + 1)
    running = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=repo.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(b"HEAD\n")
        running.stdin.flush()
        running.stdout.readline()  # it is up and waits for more
        assert is_held(lock, repo.root)
    finally:
        running.communicate()
    assert not is_held(lock, repo.root) and not lock.exists()


def test_where_processes_cannot_be_listed_a_lock_must_be_older(repo: WikiRepo, tmp_path: Path) -> None:
    lock = repo.root / ".git/index.lock"
    lock.write_text("")
    age(lock, LEFT_OVER_S + 1)
    assert is_held(lock, repo.root, processes=tmp_path / "none")
    age(lock, LEFT_OVER_UNSEEN_S)
    assert not is_held(lock, repo.root, processes=tmp_path / "none")


def test_a_lock_that_our_own_crash_left_is_cleared_at_once(repo: WikiRepo) -> None:
    lock = repo.root / ".git/index.lock"
    with taken(lock, repo.root) as free:
        assert free
        left = lock.read_bytes()
    assert not lock.exists()
    lock.write_bytes(left)
    assert repo.sync_index() and not lock.exists()


def test_git_waits_while_we_hold_the_index(repo: WikiRepo) -> None:
    put(repo, {A: "one"})
    with taken(repo.root / ".git/index.lock", repo.root):
        refused = subprocess.run(["git", "add", A], cwd=repo.root, capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "index.lock" in refused.stderr
