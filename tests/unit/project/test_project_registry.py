"""A project is found again whatever happens to its remotes and paths, and never moves by itself."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aimemory.model.ids import ProjectId
from aimemory.model.scope import Project
from aimemory.project.registry import UNFILED, Registry
from aimemory.project.resolve import Resolution, Resolver

Git = Callable[..., str]
Repo = Callable[..., Path]


def remote(identity: str, *places: str, others: tuple[str, ...] = ()) -> Resolution:
    owner, name = identity.split("/")[-2:]
    root = places[0] if places else None
    return Resolution(
        identity, "remote", name=name, owner=owner, root=root, places=places, remote=identity, other_remotes=others
    )


def named(name: str, workspace: str = "default") -> Resolution:
    return Resolution(name, "file", name=name, workspace=workspace)


def known(registry: Registry, resolution: Resolution, *paths: str) -> Project:
    project = registry.propose(resolution)
    registry.add(project, paths)
    return project


def test_a_project_stays_the_same_when_its_remote_is_added_renamed_and_removed(
    tmp_path: Path, git: Git, repo: Repo
) -> None:
    top = repo(tmp_path / "folder")
    resolver, registry = Resolver(str(tmp_path / "home"), ()), Registry()
    first = resolver.resolve(str(top))
    project = known(registry, first, first.root or "")

    def found() -> tuple[Project, str | None]:
        match = registry.find(resolver.resolve(str(top)))
        assert match is not None
        if match.new_alias:
            registry.add(replace(match.project, aliases=(*match.project.aliases, match.new_alias)), [str(top)])
        return match.project, match.new_alias

    git(top, "remote", "add", "origin", "git@github.com:acme/app.git")
    assert found() == (project, "github.com/acme/app")
    git(top, "remote", "rename", "origin", "upstream")
    assert found()[1] is None
    git(top, "remote", "set-url", "upstream", "git@github.com:acme/renamed.git")
    assert found()[1] == "github.com/acme/renamed"
    git(top, "remote", "set-url", "upstream", "git@gitlab.com:new-owner/renamed.git")
    assert found()[1] == "gitlab.com/new-owner/renamed"
    git(top, "remote", "remove", "upstream")
    assert found()[0].id == project.id
    assert [p.id for p in registry.projects] == [project.id]


def test_a_clone_in_another_place_is_found_by_its_remote_and_its_path_proposed() -> None:
    registry = Registry()
    project = known(registry, remote("github.com/acme/app", "/a"), "/a")

    match = registry.find(remote("github.com/acme/app", "/b"))

    assert match is not None
    assert (match.project, match.new_path, match.new_alias) == (project, "/b", None)


def test_another_repository_in_an_old_place_is_another_project() -> None:
    registry = Registry()
    known(registry, remote("github.com/acme/app", "/a"), "/a")

    assert registry.find(remote("github.com/other/thing", "/a")) is None


def test_a_fork_that_gains_an_upstream_known_elsewhere_does_not_move_there() -> None:
    registry = Registry()
    theirs = known(registry, remote("github.com/acme/app", "/theirs"), "/theirs")
    fork = known(registry, remote("github.com/me/app", "/fork"), "/fork")

    match = registry.find(remote("github.com/acme/app", "/fork", others=("github.com/me/app",)))

    assert match is not None
    assert (match.project, match.also) == (fork, theirs)


def test_a_second_clone_of_a_fork_with_an_upstream_is_the_known_fork() -> None:
    registry = Registry()
    fork = known(registry, remote("github.com/me/app", "/fork"), "/fork")

    match = registry.find(remote("github.com/acme/app", "/second", others=("github.com/me/app",)))

    assert match is not None
    assert (match.project, match.new_alias, match.new_path) == (fork, "github.com/acme/app", "/second")


@pytest.mark.promise("P1.43")
def test_below_a_known_folder_without_git_everything_is_that_project(tmp_path: Path) -> None:
    deep = tmp_path / "notes/2026/11"
    deep.mkdir(parents=True)
    resolver, registry = Resolver(str(tmp_path / "home"), ()), Registry()
    top = resolver.resolve(str(tmp_path / "notes"))
    project = known(registry, top, top.root or "")

    for path in (deep, deep / "deleted", deep.parent):
        match = registry.find(resolver.resolve(str(path)))
        assert match is not None
        assert match.project == project


def test_the_nearest_known_folder_wins(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    resolver, registry = Resolver(str(tmp_path / "home"), ()), Registry()
    known(registry, resolver.resolve(str(tmp_path / "a")), str(tmp_path / "a"))
    inner = known(registry, resolver.resolve(str(tmp_path / "a/b")), str(tmp_path / "a/b"))

    match = registry.find(resolver.resolve(str(tmp_path / "a/b/c")))

    assert match is not None
    assert match.project == inner


def test_a_repository_without_a_remote_below_a_known_folder_is_its_own_project(tmp_path: Path, repo: Repo) -> None:
    resolver, registry = Resolver(str(tmp_path / "home"), ()), Registry()
    (tmp_path / "notes").mkdir()
    known(registry, resolver.resolve(str(tmp_path / "notes")), str(tmp_path / "notes"))
    repo(tmp_path / "notes/code")

    assert registry.find(resolver.resolve(str(tmp_path / "notes/code"))) is None


def test_another_spelling_counts_only_if_it_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "App").mkdir()
    registry = Registry()
    spelled = Resolution(f"dir:{tmp_path}/app", "directory", root=f"{tmp_path}/app", places=(f"{tmp_path}/app",))
    project = known(registry, Resolution(f"dir:{tmp_path}/App", "directory", name="app"), f"{tmp_path}/App")

    assert registry.find(spelled) is None
    (tmp_path / "app").symlink_to(tmp_path / "App")  # what a file system that ignores case would say

    match = registry.find(spelled)
    assert match is not None
    assert match.project == project


def test_a_name_in_a_file_counts_within_its_workspace() -> None:
    registry = Registry()
    acme, other = known(registry, named("app", "acme")), known(registry, named("app", "other"))

    assert acme.id != other.id
    assert [registry.find(named("app", w)).project for w in ("acme", "other")] == [acme, other]  # type: ignore[union-attr]
    assert registry.find(named("app")) is None
    assert registry.find(named("acme/app")).project == acme  # type: ignore[union-attr]


def test_folder_names_are_unique_over_all_workspaces_and_grow_from_owner_to_digits() -> None:
    registry = Registry()
    resolutions = [
        remote("github.com/acme/app"), replace(remote("gitlab.com/acme/App"), name="app", workspace="w"),
        remote("bitbucket.org/acme/app"), named("app"), named("APP", "w"),
    ]  # fmt: skip

    folders = [known(registry, replace(r, name=r.name.lower())).folder for r in resolutions]

    assert folders[:2] == ["app", "acme-app"]
    assert len(set(folders)) == len(folders)
    assert all(folder.startswith(("acme-app-", "app-")) for folder in folders[2:])


def test_two_machines_propose_the_same_id() -> None:
    assert Registry().propose(remote("github.com/a/b")).id == Registry().propose(remote("github.com/a/b", "/x")).id


@pytest.mark.parametrize(
    "name",
    ["app", "APP", "acme/app", "github.com/acme/app", "git@github.com:acme/app.git", "old.example.org/app", " app "],
)
def test_a_project_answers_to_each_of_its_names(name: str) -> None:
    registry = Registry()
    project = Project(ProjectId("p1"), "acme", "app", "github.com/acme/app", ("old.example.org/app",))
    registry.add(project)

    assert registry.by_name(name) == project
    assert registry.find(Resolver("/home/ada").resolve(None, name)).project == project  # type: ignore[union-attr]


def test_an_unknown_name_is_nobody() -> None:
    assert Registry().by_name("app") is None
    assert Registry().find(Resolver("/home/ada").resolve(None, "app")) is None


def test_the_unfiled_project_is_always_known() -> None:
    registry = Registry()

    assert registry.by_id(ProjectId("_unfiled")) == registry.by_name("_unfiled") == UNFILED
    assert registry.propose(Resolution("", "none")) == UNFILED


def test_two_claims_to_one_identity_are_settled_the_same_in_any_order() -> None:
    first = Project(ProjectId("1"), "default", "a", "github.com/acme/app")
    second = Project(ProjectId("2"), "default", "b", "other", ("github.com/acme/app",))

    for order in ((first, second), (second, first)):
        registry = Registry()
        for project in order:
            registry.add(project, ["/x"])
        assert registry.by_name("github.com/acme/app") == first
        registry.remove(first.id)
        assert registry.by_name("github.com/acme/app") == second
        assert registry.projects == (second,)


def test_a_replaced_project_no_longer_answers_to_what_it_lost() -> None:
    registry = Registry()
    project = Project(ProjectId("1"), "default", "a", "github.com/acme/app", ("old",))
    registry.add(project, ["/a"])

    registry.add(replace(project, folder="b", aliases=()), ["/b"])

    assert registry.by_name("a") is registry.by_name("old") is None
    assert registry.paths(project.id) == ("/b",)
