"""What git says about a checkout, for each state that a checkout can be in."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aimemory.facts.changes import Change, Changes, LineCount
from aimemory.facts.git import GitFacts, git_facts
from aimemory.facts.known import Known, Unknown
from aimemory.facts.summary import NO_REMOTE, git_summary
from aimemory.model.gitfacts import GitSummary

Git = Callable[..., str]


def facts_or_none(checkout: Path, **more: str) -> GitFacts | None:
    return asyncio.run(git_facts(str(checkout), timeout_s=20, **more))  # type: ignore[arg-type]


def facts(checkout: Path, **more: str) -> GitFacts:
    found = facts_or_none(checkout, **more)
    assert found is not None
    return found


def test_a_clean_checkout_is_known_to_be_clean(repo: Path, git: Git) -> None:
    found = facts(repo)

    assert found.repository == Known(str(repo))
    assert (found.branch, found.head) == (Known("main"), Known(git(repo, "rev-parse", "HEAD").strip()))
    assert (found.subject, found.committed_at) == (
        Known("First commit"),
        Known(int(git(repo, "log", "-1", "--format=%ct"))),
    )
    assert found.uncommitted == found.untracked == Known(Changes())
    assert found.lines == Known(LineCount(0, 0, 0))
    assert (found.stashes, found.in_progress, found.bare, found.shallow) == (
        Known(0), Known(()), Known(False), Known(False),
    )  # fmt: skip
    assert found.upstream == found.ahead == found.behind == found.unpushed == found.fetched_at == Known(None)


def test_every_kind_of_change_is_told_apart(repo: Path, git: Git) -> None:
    (repo / "a.txt").write_text("one\nchanged\nmore\n")
    git(repo, "mv", "b.txt", "moved.txt")
    (repo / "staged.txt").write_text("x\n")
    git(repo, "add", "staged.txt")
    (repo / "loose.txt").write_text("x\n")
    (repo / "folder").mkdir()
    (repo / "folder/inside.txt").write_text("x\n")

    found = facts(repo)

    assert found.uncommitted == Known(
        Changes((Change(" M", "a.txt"), Change("R ", "moved.txt", was="b.txt"), Change("A ", "staged.txt")))
    )
    assert found.untracked == Known(Changes((Change("??", "folder/"), Change("??", "loose.txt"))))
    assert found.lines == Known(LineCount(files=4, added=4, removed=2))


def test_a_file_that_was_only_touched_is_no_change(repo: Path) -> None:
    os.utime(repo / "a.txt", ns=(1, 1))

    found = facts(repo)

    assert (found.uncommitted, found.lines) == (Known(Changes()), Known(LineCount(0, 0, 0)))


def test_names_with_any_bytes_arrive_whole(repo: Path) -> None:
    names = ["with space", "new\nline", "ünï", "tab\t", '"quoted"', os.fsdecode(b"\xff")]
    for name in names:
        (repo / name).write_text("x")

    untracked = facts(repo).untracked

    assert isinstance(untracked, Known)
    assert {change.path for change in untracked.value.entries} == set(names)


def test_paths_are_relative_to_the_named_repository_wherever_one_looks_from(repo: Path) -> None:
    (repo / "empty").mkdir()
    (repo / "a.txt").write_text("changed\n")

    found = facts(repo / "empty")

    assert found.repository == Known(str(repo))
    assert found.uncommitted == Known(Changes((Change(" M", "a.txt"),)))


def test_ahead_behind_and_unpushed_are_counted_against_what_was_fetched(repo: Path, git: Git, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), "clone")
    git(repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    for message in ("mine", "mine too"):
        git(clone, "commit", "-q", "--allow-empty", "-m", message)
    git(clone, "fetch", "-q")

    found = facts(clone)

    assert (found.upstream, found.ahead, found.behind) == (Known("origin/main"), Known(2), Known(1))
    assert found.unpushed == Known(2)
    assert found.fetched_at == Known((clone / ".git/FETCH_HEAD").stat().st_mtime)


def test_an_upstream_that_is_gone_is_named_and_its_counts_are_unknown(repo: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "clone")
    git(tmp_path / "clone", "update-ref", "-d", "refs/remotes/origin/main")

    found = facts(tmp_path / "clone")

    assert found.upstream == Known("origin/main")
    assert isinstance(found.ahead, Unknown)


def test_before_the_first_commit_there_is_a_branch_and_no_head(git: Git, tmp_path: Path) -> None:
    git(tmp_path / "new", "init", "-q")
    (tmp_path / "new/a").write_text("x")
    git(tmp_path / "new", "add", "a")

    found = facts(tmp_path / "new")

    assert (found.branch, found.head, found.subject, found.lines) == (
        Known("main"),
        Known(None),
        Known(None),
        Known(None),
    )
    assert found.uncommitted == Known(Changes((Change("A ", "a"),)))
    assert found.stashes == Known(0)


def test_a_detached_head_has_no_branch(repo: Path, git: Git) -> None:
    git(repo, "checkout", "-q", "--detach")

    found = facts(repo)

    assert (found.branch, found.upstream) == (Known(None), Known(None))
    assert isinstance(found.head, Known)


def test_a_bare_repository_has_commits_and_no_work_tree(repo: Path, git: Git, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")

    found = facts(tmp_path / "bare.git")

    assert (found.repository, found.bare, found.branch) == (
        Known(str(tmp_path / "bare.git")),
        Known(True),
        Known("main"),
    )
    assert isinstance(found.uncommitted, Unknown)
    assert "no work tree" in found.uncommitted.reason


def test_a_shallow_clone_says_so(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")

    assert facts(tmp_path / "shallow").shallow == Known(True)


def test_a_linked_work_tree_answers_for_itself(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    (repo / "a.txt").write_text("changed in the main one\n")

    found = facts(tmp_path / "tree")

    assert (found.repository, found.branch) == (Known(str(tmp_path / "tree")), Known("topic"))
    assert found.uncommitted == Known(Changes())


def test_a_submodule_counts_by_its_commit_only(repo: Path, git: Git, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(repo), "lib")
    git(outer, "commit", "-q", "-m", "with lib")
    (outer / "lib/a.txt").write_text("dirty\n")
    assert facts(outer).uncommitted == Known(Changes())

    git(outer / "lib", "commit", "-q", "-a", "-m", "moved on")

    assert facts(outer).uncommitted == Known(Changes((Change(" M", "lib"),)))


def test_stashes_are_counted(repo: Path, git: Git) -> None:
    for text in ("x\n", "y\n"):
        (repo / "a.txt").write_text(text)
        git(repo, "stash", "-q")

    assert facts(repo).stashes == Known(2)


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick"])
def test_what_is_in_progress_is_named_with_its_conflicts(repo: Path, git: Git, command: str) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    (repo / "a.txt").write_text("topic\n")
    git(repo, "commit", "-q", "-a", "-m", "topic")
    git(repo, "checkout", "-q", "main")
    (repo / "a.txt").write_text("main\n")
    git(repo, "commit", "-q", "-a", "-m", "main")
    git(repo, command, "topic", code=1)

    found = facts(repo)

    assert found.in_progress == Known((command,))
    assert found.uncommitted == Known(Changes((Change("UU", "a.txt"),)))


def test_what_is_no_checkout_is_none(repo: Path, git: Git, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    shutil.rmtree(repo / ".git/worktrees/tree")
    (tmp_path / "plain").mkdir()

    assert facts_or_none(tmp_path / "plain") is None
    assert facts_or_none(tmp_path / "deleted") is None
    assert facts_or_none(tmp_path / "tree") is None


def test_long_lists_are_cut_and_say_by_how_much(repo: Path) -> None:
    for number in range(510):
        (repo / f"{number:04}.txt").touch()

    untracked = facts(repo).untracked

    assert isinstance(untracked, Known)
    assert (len(untracked.value.entries), untracked.value.more, untracked.value.at_least) == (500, 10, False)
    shown = git_summary(facts(repo), 7).untracked
    assert shown is not None
    assert shown[-1] == "… and 10 more"


def test_a_summary_keeps_unknown_apart_from_none(repo: Path, git: Git) -> None:
    git(repo, "checkout", "-q", "--detach")
    head = git(repo, "rev-parse", "HEAD").strip()

    assert git_summary(facts(repo), 7) == GitSummary(
        branch=None,
        head=head,
        subject="First commit",
        uncommitted=(),
        untracked=(),
        unpushed=NO_REMOTE,
        detached=True,
        checked_at_ns=7,
    )
    assert git_summary(None, 7).reason == "not a git repository"


def test_own_commits_are_those_made_here_since_then_and_an_amended_one_counts_once(
    repo: Path, git: Git, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repo), str(other))
    (other / "c.txt").write_text("theirs\n")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "Made elsewhere")
    git(repo, "-c", "core.logAllRefUpdates=true", "fetch", "-q", str(other), "main")
    git(repo, "merge", "-q", "--ff-only", "FETCH_HEAD")
    (repo / "d.txt").write_text("mine\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Frist")
    git(repo, "commit", "-q", "--amend", "-m", "Mine")

    def subjects(since_ns: int | None) -> object:
        own = asyncio.run(git_facts(str(repo), timeout_s=20, since_ns=since_ns))
        assert own is not None and isinstance(own.own_commits, Known)
        value = own.own_commits.value
        return None if value is None else [commit.partition(" ")[2] for commit in value]

    assert subjects(1) == ["Mine", "First commit"]
    assert subjects(4_000_000_000_000_000_000) == []
    assert subjects(None) is None


def test_a_repository_without_a_commit_has_no_own_commits(git: Git, tmp_path: Path) -> None:
    git(tmp_path / "new", "init", "-q")
    own = asyncio.run(git_facts(str(tmp_path / "new"), timeout_s=20, since_ns=1))

    assert own is not None and own.own_commits == Known(())
