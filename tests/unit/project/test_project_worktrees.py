"""All work trees of a repository are one project, each under its own name."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aimemory.project.resolve import Resolver

Git = Callable[..., str]
Repo = Callable[..., Path]


@pytest.mark.promise("P1.42")
def test_work_trees_anywhere_are_one_project_and_keep_their_names(tmp_path: Path, git: Git, repo: Repo) -> None:
    main = repo(tmp_path / "app")
    for number in range(3):
        git(main, "worktree", "add", "-q", str(tmp_path / f"elsewhere{number}/tree"), "-b", f"topic{number}")
    resolver = Resolver(str(tmp_path / "home"), (str(tmp_path / "elsewhere2"),))

    found = [resolver.resolve(str(tmp_path / f"elsewhere{number}/tree")) for number in range(3)]

    assert {r.identity for r in found} == {resolver.resolve(str(main)).identity} == {f"dir:{main}"}
    assert {r.root for r in found} == {str(main)}
    assert [r.worktree for r in found] == ["tree", "tree1", "tree2"]
    assert [r.checkout for r in found] == [str(tmp_path / f"elsewhere{number}/tree") for number in range(3)]
    assert resolver.resolve(str(main)).worktree is None


def test_work_trees_of_a_submodule_are_the_submodule(tmp_path: Path, git: Git, repo: Repo) -> None:
    lib, main = repo(tmp_path / "lib"), repo(tmp_path / "app")
    git(main, "submodule", "--quiet", "add", str(lib), "lib")
    git(main / "lib", "worktree", "add", "-q", str(tmp_path / "lib-tree"), "-b", "topic")
    resolver = Resolver(str(tmp_path / "home"), ())

    assert resolver.resolve(str(tmp_path / "lib-tree")).identity == f"dir:{main}/lib"
    assert resolver.resolve(str(main / "lib")).identity == f"dir:{main}/lib"


def test_a_work_tree_that_git_has_forgotten_still_belongs_to_its_repository(
    tmp_path: Path, git: Git, repo: Repo
) -> None:
    main = repo(tmp_path / "app", "git@github.com:acme/app.git")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    shutil.rmtree(main / ".git/worktrees/tree")

    found = Resolver(str(tmp_path / "home"), ()).resolve(str(tmp_path / "tree"))

    assert (found.identity, found.worktree) == ("github.com/acme/app", "tree")
    assert found.problems


def test_a_work_tree_whose_repository_moved_is_no_new_project(tmp_path: Path, git: Git, repo: Repo) -> None:
    main = repo(tmp_path / "app", "git@github.com:acme/app.git")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    main.rename(tmp_path / "moved")

    found = Resolver(str(tmp_path / "home"), ()).resolve(str(tmp_path / "tree"))

    assert (found.source, found.places[0]) == ("none", str(tmp_path / "tree"))
    assert found.problems


def test_a_settings_file_of_the_main_work_tree_holds_in_the_linked_ones(tmp_path: Path, git: Git, repo: Repo) -> None:
    main = repo(tmp_path / "app", "git@github.com:acme/app.git")
    git(main, "worktree", "add", "-q", str(tmp_path / "far/tree"), "-b", "topic")
    (main / ".aimemory.toml").write_text('project = "ours"\n')

    resolver = Resolver(str(tmp_path / "home"), ())

    assert resolver.resolve(str(tmp_path / "far/tree")).identity == "ours"
    assert resolver.resolve(str(main)).identity == "ours"


@pytest.mark.parametrize("file", [".git/worktrees/tree/commondir", ".git/commondir", "../tree/.git"])
def test_a_pointer_that_can_be_no_path_holds_nothing_up(tmp_path: Path, git: Git, repo: Repo, file: str) -> None:
    main = repo(tmp_path / "app")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    (main / file).write_bytes(b"gitdir: ../no\0where\n")

    for where in (main, tmp_path / "tree"):
        found = Resolver(str(tmp_path / "home"), ()).resolve(str(where))
        assert found.root or found.problems
