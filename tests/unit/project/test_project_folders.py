"""One answer for every kind of folder. Each row of `KINDS` is a place on a disk that a session may start in."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from aimemory.project.registry import Registry
from aimemory.project.resolve import Resolution, Resolver

ACME = "github.com/acme/app"
OTHER = "github.com/other/app"
LIB = "github.com/acme/lib"


@dataclass(frozen=True)
class Disk:
    """A machine's folders: `root` holds `home`, `tmp` and `srv`."""

    root: Path
    resolver: Resolver

    def resolve(self, path: str) -> Resolution:
        return self.resolver.resolve(f"{self.root}/{path}")

    def directory(self, path: str) -> str:
        return f"dir:{self.root}/{path}"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory, git: Callable[..., str], repo: Callable[..., Path]) -> Disk:
    root = tmp_path_factory.mktemp("disk").resolve()
    home, srv = root / "home/ada", root / "srv"
    git(home, "init", "-q")  # dotfiles
    git(home, "remote", "add", "origin", "git@github.com:ada/dotfiles.git")
    lib = repo(srv / "lib", "https://github.com/acme/lib.git")
    acme = repo(home / "clients/acme/app", "git@github.com:acme/app.git")
    repo(home / "clients/other/app", "https://github.com/other/app")
    repo(home / "alone")
    repo(root / "tmp/trial", "git@github.com:ada/trial.git")
    git(acme, "worktree", "add", "-q", str(home / "wt-feature"), "-b", "feature")
    git(acme, "worktree", "add", "-q", str(acme / ".worktrees/inside"), "-b", "inside")
    git(acme, "submodule", "--quiet", "add", str(lib), "vendor/lib")
    git(acme / "vendor/lib", "remote", "set-url", "origin", "https://github.com/acme/lib.git")
    git(srv, "clone", "-q", "--bare", str(acme), "bare.git")
    git(srv / "bare.git", "worktree", "add", "-q", str(srv / "bare-wt"), "main")
    git(srv / "bare.git", "remote", "set-url", "origin", "git@github.com:acme/app.git")
    git(srv, "clone", "-q", "--bare", str(acme), "boxed/.bare")
    (srv / "boxed/.git").write_text("gitdir: ./.bare\n")
    git(srv / "boxed", "worktree", "add", "-q", "tree", "main")
    git(srv / "boxed/.bare", "remote", "remove", "origin")
    git(srv, "clone", "-q", "--depth", "1", f"file://{acme}", "shallow")
    git(srv / "shallow", "remote", "set-url", "origin", "ssh://git@github.com:22/Acme/App.git")
    git(srv / "unborn", "init", "-q")
    git(srv, "init", "-q", "--separate-git-dir", str(srv / "apart.git"), "apart")
    git(root / "tmp", "init", "-q")
    repo(acme / "node_modules/forked", "git@github.com:someone/forked.git")
    for path in ("packages/web", "node_modules/left-pad", "empty"):
        (acme / path).mkdir(parents=True, exist_ok=True)
    for path in ("notes/deep", "notes/node_modules/pad", "notes/.git/refs", "named/below", ".config"):
        (home / path).mkdir(parents=True, exist_ok=True)
    for path in ("tmp/scratch/deep", "srv/broken", "srv/lib/inner.git/objects", "srv/lib/inner.git/refs"):
        (root / path).mkdir(parents=True, exist_ok=True)
    repo(home / "named/below/repo", "git@github.com:acme/named.git")
    (srv / "lib/inner.git/HEAD").write_text("ref: refs/heads/main\n")
    (srv / "lib/inner.git/config").write_text('[remote "origin"]\nurl = git@github.com:someone/else\n')
    (srv / "broken/.git").write_text("gitdir: /nowhere/at/all\n")
    (home / "named/.aimemory.toml").write_text('project = "named"\nworkspace = "clients"\n')
    (acme / "README").write_text("a file\n")
    (home / "link").symlink_to(acme / "packages")
    return Disk(root, Resolver(str(home), (str(root / "tmp"),)))


KINDS = [  # folder, source, identity (`dir:` stands for the directory that follows), what it is
    ("home/ada/clients/acme/app", "remote", ACME, "checkout"),
    ("home/ada/clients/acme/app/", "remote", ACME, "slash at the end"),
    ("home/ada/clients/acme/app/packages/web", "remote", ACME, "package of a monorepo"),
    ("home/ada/clients/acme/app/packages/../packages", "remote", ACME, "dots in the path"),
    ("home/ada/clients/acme/app/README", "remote", ACME, "a file"),
    ("home/ada/clients/acme/app/empty", "remote", ACME, "empty folder inside a repository"),
    ("home/ada/clients/acme/app/gone/deep", "remote", ACME, "deleted folder inside a repository"),
    ("home/ada/clients/acme/app/.git", "remote", ACME, "inside .git"),
    ("home/ada/clients/acme/app/.git/hooks", "remote", ACME, "deep inside .git"),
    ("home/ada/clients/acme/app/node_modules/left-pad", "remote", ACME, "node_modules"),
    ("home/ada/clients/acme/app/node_modules/forked", "remote", ACME, "repository in node_modules"),
    ("home/ada/clients/acme/app/.git/modules/vendor/lib", "remote", ACME, "git directory of a submodule"),
    ("home/ada/link/web", "remote", ACME, "symlink into a repository"),
    ("home/ada/wt-feature", "remote", ACME, "linked work tree"),
    ("home/ada/clients/acme/app/.worktrees/inside", "remote", ACME, "linked work tree inside the main one"),
    ("srv/bare.git", "remote", ACME, "bare repository"),
    ("srv/bare-wt", "remote", ACME, "work tree of a bare repository"),
    ("srv/shallow", "remote", ACME, "shallow clone, other spelling of the remote"),
    ("home/ada/clients/acme/app/vendor/lib", "remote", LIB, "submodule"),
    ("srv/lib/inner.git", "remote", LIB, "bare repository inside a work tree"),
    ("home/ada/clients/other/app", "remote", OTHER, "same folder name, other owner"),
    ("tmp/trial", "remote", "github.com/ada/trial", "checkout in a temporary folder"),
    ("home/ada/alone", "directory", "dir:home/ada/alone", "repository without a remote"),
    ("srv/unborn", "directory", "dir:srv/unborn", "repository before its first commit"),
    ("srv/boxed", "directory", "dir:srv/boxed", "folder around a hidden bare repository"),
    ("srv/boxed/tree", "directory", "dir:srv/boxed", "work tree beside a hidden bare repository"),
    ("srv/apart", "directory", "dir:srv/apart.git", "git directory kept elsewhere"),
    ("home/ada/notes", "directory", "dir:home/ada/notes", "no git"),
    ("home/ada/notes/node_modules/pad", "directory", "dir:home/ada/notes", "node_modules without git"),
    ("home/ada/notes/.git/refs", "directory", "dir:home/ada/notes", "inside a .git that is no repository"),
    ("home/ada/.config", "directory", "dir:home/ada/.config", "no git, below a home with dotfiles in git"),
    ("home/ada/named/below", "file", "named", "below a settings file"),
    ("home/ada/named/below/repo", "file", "named", "repository below a settings file"),
    ("home/ada", "none", "", "home, although dotfiles are in git"),
    ("home", "none", "", "above home"),
    ("tmp", "none", "", "the temporary folder, although somebody made it a repository"),
    ("tmp/scratch/deep", "none", "", "scratch folder"),
    ("home/ada/clients/gone", "none", "", "deleted folder"),
    ("srv/broken", "none", "", "a .git file that leads nowhere"),
]


@pytest.mark.promise("P1.41")
@pytest.mark.promise("P9.180")
@pytest.mark.parametrize(("path", "source", "identity", "kind"), KINDS, ids=[row[3] for row in KINDS])
def test_each_kind_of_folder_has_one_identity(disk: Disk, path: str, source: str, identity: str, kind: str) -> None:
    found = disk.resolve(path)

    expected = disk.directory(identity[4:]) if identity.startswith("dir:") else identity
    assert (found.source, found.identity) == (source, expected)
    assert found.steps
    assert disk.resolve(path) == found


@pytest.mark.parametrize("cwd", [None, "", "relative/path", "C:\\src", "/a\0b", "/srv/\ud800", "/" + "x" * 5000, "/"])
def test_what_is_no_usable_path_is_no_project(disk: Disk, cwd: str | None) -> None:
    assert disk.resolver.resolve(cwd).source == "none"


@pytest.mark.parametrize(("path", "source", "identity", "kind"), KINDS, ids=[row[3] for row in KINDS])
def test_a_folder_without_a_project_is_unfiled_and_no_other_is(
    disk: Disk, path: str, source: str, identity: str, kind: str
) -> None:
    match = Registry().find(disk.resolve(path))

    assert (match is not None and match.project.folder == "_unfiled") == (source == "none")


def test_the_enclosing_repository_is_named_for_a_folder_without_its_own(disk: Disk) -> None:
    found = disk.resolve("home/ada/clients/acme/app/empty")

    assert found.root == f"{disk.root}/home/ada/clients/acme/app"
    assert any(found.root in step for step in found.steps)


def test_a_broken_checkout_is_reported_with_its_repair(disk: Disk) -> None:
    assert "git worktree repair" in " ".join(disk.resolve("srv/broken").problems)


def test_root_and_system_folders_above_home_are_no_projects_even_if_they_hold_a_repository(
    tmp_path: Path, repo: Callable[..., Path]
) -> None:
    above = repo(tmp_path / "users", "git@github.com:ada/everything.git")
    (above / "ada/src").mkdir(parents=True)

    found = Resolver(str(above / "ada"), ()).resolve(str(above / "ada/src"))

    assert found.identity == f"dir:{above}/ada/src"


def test_a_repository_that_contains_the_home_folder_is_a_project_seen_from_outside_home(
    tmp_path: Path, repo: Callable[..., Path]
) -> None:
    top = repo(tmp_path / "app", "git@github.com:acme/app.git")
    (top / ".home").mkdir()

    assert Resolver(str(top / ".home"), ()).resolve(str(top)).identity == ACME


def test_two_clients_with_an_app_each_never_meet(disk: Disk) -> None:
    registry = Registry()
    acme, other = disk.resolve("home/ada/clients/acme/app"), disk.resolve("home/ada/clients/other/app")

    first = registry.propose(acme)
    registry.add(first, [acme.root or ""])
    assert registry.find(other) is None
    second = registry.propose(other)
    registry.add(second, [other.root or ""])

    assert (first.folder, second.folder) == ("app", "other-app")
    assert [match.project for r in (acme, other) if (match := registry.find(r))] == [first, second]


def test_the_environment_of_git_has_no_influence(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    before = disk.resolve("home/ada/notes/deep")
    monkeypatch.setenv("GIT_DIR", f"{disk.root}/srv/lib/.git")
    monkeypatch.setenv("GIT_WORK_TREE", f"{disk.root}/srv/lib")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"{disk.root}/home/ada/clients")

    assert disk.resolve("home/ada/notes/deep") == before
    assert disk.resolve("home/ada/clients/acme/app").identity == ACME


def test_remotes_decide_in_a_fixed_order_whatever_is_checked_out(
    tmp_path: Path, git: Callable[..., str], repo: Callable[..., Path]
) -> None:
    top = repo(tmp_path / "app")
    resolver = Resolver(str(tmp_path / "home"), ())

    def identity() -> str:
        return resolver.resolve(str(top)).identity

    git(top, "remote", "add", "zeta", "https://h.example.org/zeta/app")
    assert identity() == "h.example.org/zeta/app"
    git(top, "remote", "add", "alpha", "https://h.example.org/alpha/app")
    git(top, "checkout", "-q", "-b", "topic")
    git(top, "config", "branch.topic.remote", "zeta")
    git(top, "config", "branch.main.remote", "alpha")
    assert identity() == "h.example.org/alpha/app"
    git(top, "remote", "add", "origin", "https://h.example.org/me/app")
    assert identity() == "h.example.org/me/app"
    git(top, "remote", "add", "upstream", "https://h.example.org/them/app")
    assert identity() == "h.example.org/them/app"
    assert resolver.resolve(str(top)).other_remotes == ("h.example.org/me/app",)


def test_rewriting_rules_of_the_user_do_not_rename_a_project(tmp_path: Path, repo: Callable[..., Path]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[url "ssh://mirror.example.org/"]\ninsteadOf = git@github.com:\n')
    top = repo(home / "app", "git@github.com:acme/app.git")

    assert Resolver(str(home), ()).resolve(str(top)).identity == ACME


def test_an_ssh_alias_of_the_user_is_the_host_it_stands_for(tmp_path: Path, repo: Callable[..., Path]) -> None:
    ssh = tmp_path / "home/.ssh"
    ssh.mkdir(parents=True)
    (ssh / "config").write_text("Host work\n  HostName github.com\n")
    top = repo(tmp_path / "app", "work:acme/app.git")

    assert Resolver(str(tmp_path / "home"), ()).resolve(str(top)).identity == ACME


@pytest.mark.parametrize("damage", ["directory", "pipe", "garbage"])
def test_an_unreadable_git_configuration_is_reported_and_never_waited_for(
    tmp_path: Path, repo: Callable[..., Path], damage: str
) -> None:
    top = repo(tmp_path / "app", "git@github.com:acme/app.git")
    config = top / ".git/config"
    config.unlink()
    if damage == "directory":
        config.mkdir()
    elif damage == "pipe":
        os.mkfifo(config)
    else:
        config.write_bytes(b"\0\xff]] = [[")

    found = Resolver(str(tmp_path / "home"), ()).resolve(str(top))

    assert found.identity == f"dir:{top}"
    assert str(config) in " ".join(found.problems)


def test_a_changed_remote_is_seen_at_once(tmp_path: Path, git: Callable[..., str], repo: Callable[..., Path]) -> None:
    top = repo(tmp_path / "app", "git@github.com:acme/one.git")
    resolver = Resolver(str(tmp_path / "home"), ())
    assert resolver.resolve(str(top)).identity == "github.com/acme/one"

    git(top, "remote", "set-url", "origin", "git@github.com:acme/two.git")

    assert resolver.resolve(str(top)).identity == "github.com/acme/two"


@pytest.mark.promise("P9.61")
def test_resolving_leaves_no_trace_in_a_repository(disk: Disk) -> None:
    def trace() -> list[tuple[str, int, int]]:
        found = []
        for folder, names, files in os.walk(disk.root):
            for name in (*names, *files):
                status = os.lstat(os.path.join(folder, name))
                found.append((os.path.join(folder, name), status.st_mtime_ns, status.st_size))
        return sorted(found)

    before = trace()
    for row in KINDS:
        disk.resolve(row[0])

    assert trace() == before


def test_an_explicit_argument_goes_before_everything(disk: Disk) -> None:
    here = f"{disk.root}/home/ada/named/below"

    assert disk.resolver.resolve(here, "lib").identity == "lib"
    assert disk.resolver.resolve(here, "acme/lib").workspace == "acme"
    assert disk.resolver.resolve(here, "https://ada:pw@github.com/acme/lib.git").identity == LIB
    assert disk.resolver.resolve(here, f"{disk.root}/srv/lib").identity == LIB
    assert disk.resolver.resolve(here, "~/alone").identity == disk.directory("home/ada/alone")
    assert disk.resolver.resolve(here, "a\nb").source == "none"
    assert disk.resolver.resolve(here, "  ").identity == "named"
