"""The one resolver of "which project is this directory": capture, brief, tools, command line and handoffs all ask it.

It says what a directory *is*; which known project that means is for registry.py. It reads the folders above the
directory, never writes, starts no process and takes nothing from the environment.

Order: explicit argument, nearest `.aimemory.toml` that names a project, git remote, directory. The rules beside it:

- `/`, the home directory, folders above it and temporary folders are no projects unless they are told to be: by a
  `.aimemory.toml` in that very folder, or (not home and `/`) by being a git checkout. A checkout in a temporary folder
  is a project. A repository at home (dotfiles) is none, and does not swallow what lies below it.
- A `project` name holds for the folder of its file and all below, repositories included, but not for a repository that
  lies inside another one whose file it is, and not below home or a temporary folder. `workspace` and `[capture]` always
  hold below their file; each setting comes from the nearest file that has it.
- A linked work tree reads its own `.aimemory.toml`, then those of the main work tree and above that.
- A folder that no longer exists is no project of its own: it belongs to the checkout it lay in, or to a known path.
"""

# ruff: noqa: PTH110, PTH119, PTH120
# os.path, because this runs for every folder of every event, and pathlib costs five times as much.

import os.path
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from aimemory.model.scope import DEFAULT_WORKSPACE
from aimemory.project.gitconfig import NO_CONFIG, GitConfig, read_git_config
from aimemory.project.gitdir import Checkout, GitDirs, main_top, work_trees
from aimemory.project.ground import Ground, ancestors, nearest_folder, real_path
from aimemory.project.identity import clean_name, directory_identity, normalize_remote, portable_name
from aimemory.project.parsed import ParsedFiles
from aimemory.project.remotes import Remotes
from aimemory.project.settings import SETTINGS_FILE, SettingsFiles

Source: TypeAlias = Literal["explicit", "file", "remote", "directory", "none"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a directory, or an explicit argument, says about its project.

    identity: empty for the source "none", whose events go to `_unfiled`. name: the folder name it suggests. owner: what
    tells it from another of that name. root: top of the main work tree, or the directory. checkout: top of this work
    tree. worktree: name of a linked one. place: the directory itself, without links. remote: the normalised remote,
    also where it did not decide. other_remotes: identities under which this very repository may be known. places: real
    paths that a known project may be found by, nearest first. capture: the `[capture]` table; capture_root: the folder
    its paths are relative to; capture_problem: why that table stands for one that can't be read.
    problems: sentences for the user. steps: how it was decided, one sentence each.
    """

    identity: str
    source: Source
    name: str = ""
    workspace: str = DEFAULT_WORKSPACE
    root: str | None = None
    checkout: str | None = None
    place: str | None = None
    worktree: str | None = None
    remote: str | None = None
    owner: str | None = None
    other_remotes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    capture: Mapping[str, Any] = field(default_factory=dict)
    capture_root: str | None = None
    capture_lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    capture_problem: str | None = None
    trees: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


class Resolver:
    """Resolves directories. Keeps parsed git and settings files while they don't change, a bounded number of them."""

    def __init__(self, home: str, temp_dirs: Sequence[str] = ("/tmp", "/var/tmp")) -> None:
        """temp_dirs: where folders are nobody's project; pass `$TMPDIR` along where it is set."""
        self._ground = Ground(home, temp_dirs)
        self._git = GitDirs()
        self._configs = ParsedFiles(read_git_config, limit_bytes=4 << 20)
        self._settings = SettingsFiles()
        self._remotes = Remotes(self._ground.home)

    def resolve(self, cwd: str | None, explicit: str | None = None) -> Resolution:
        """What `cwd` (an absolute path) or `explicit` says. Never raises; what is wrong is among `problems`.

        explicit: a project's name, `workspace/name`, identity, git URL, or an absolute path, which is resolved itself.
        """
        asked = (explicit or "").strip()
        if asked.startswith(("/", "~/")) or asked == "~":
            path = self._ground.home + asked[1:] if asked.startswith("~") else asked
            found = self._resolve_directory(path)
            return replace(found, steps=("The project was asked for by a path.", *found.steps))
        return _asked_for(asked) if asked else self._resolve_directory(cwd)

    def _resolve_directory(self, cwd: str | None) -> Resolution:
        real = real_path(cwd)
        if real is None:
            return Resolution("", "none", steps=("No absolute path was given: not filed under a project.",))
        start, gone = nearest_folder(real)
        git = self._git.find(start, stop=self._ground.checkout_stops(start), skip=self._ground.temps)
        checkout = git if isinstance(git, Checkout) else None
        problems = [git.problem] if git is not None and git.problem else []
        steps = [f"The directory is {real}, which does not exist." if gone else f"The directory is {real}."]
        top = None
        if checkout is not None:
            config = self._config(checkout, problems)
            top = main_top(checkout.common_dir, config.work_tree)
            verdict = self._in_checkout(checkout, top, config, steps)
        else:
            verdict = self._in_plain_folder(real if gone else start, gone or git is not None, steps)
        told = self._settings.told(self._folders(start, checkout, top))
        if told.project and told.project_root:
            verdict = _named(verdict, told.project, told.project_root, steps)
        return Resolution(
            verdict.identity, verdict.source,
            name=verdict.name, owner=verdict.owner, root=verdict.root, remote=verdict.remote,
            other_remotes=verdict.other_remotes, places=verdict.places,
            workspace=told.workspace or DEFAULT_WORKSPACE,
            checkout=checkout.top if checkout else None,
            place=real,
            worktree=checkout.worktree if checkout else None,
            capture=told.capture or {}, capture_root=told.capture_root, capture_lines=told.capture_lines,
            capture_problem=told.capture_problem,
            trees=work_trees(checkout.common_dir, top) if checkout and top and told.capture else (),
            problems=(*problems, *told.problems), steps=tuple(steps),
        )  # fmt: skip

    def _config(self, checkout: Checkout, problems: list[str]) -> GitConfig:
        path = f"{checkout.common_dir}/config"
        config = self._configs.get(path)
        if isinstance(config, GitConfig):
            problems += [f"{path}: line {number} is damaged and was left out." for number in config.bad_lines]
            return config
        if config is not None:
            problems.append(f"{config.reason} The repository's remotes are unknown.")
        return NO_CONFIG

    def _in_checkout(self, checkout: Checkout, top: str, config: GitConfig, steps: list[str]) -> "_Verdict":
        if checkout.worktree:
            steps.append(f"It lies in the linked work tree {checkout.worktree} at {checkout.top}, of {top}.")
        else:
            steps.append(
                f"It lies in the git checkout {top}." if checkout.top else f"It lies in the bare repository {top}."
            )
        places = (top,) if checkout.top in (None, top) else (top, checkout.top or top)
        decided = self._remotes.decide(checkout.common_dir, config)
        if decided is None:
            steps.append("No remote names another machine, so the directory of the repository is the project.")
            return _directory(top, places)
        steps.append(f"The remote {decided.remote_name} decides: {decided.identity}.")
        return _Verdict(
            decided.identity, "remote", places, root=top, name=decided.name, owner=decided.owner,
            remote=decided.identity, other_remotes=decided.others,
        )  # fmt: skip

    def _in_plain_folder(self, folder: str, doubtful: bool, steps: list[str]) -> "_Verdict":
        """doubtful: the folder is gone or its `.git` is broken, so it is a project only if its path is known."""
        steps.append("No usable git checkout encloses it.")
        places = tuple(self._ground.own_folders(folder))
        if not places:
            steps.append(f"{folder} belongs to everybody: not filed under a project.")
            return _Verdict("", "none", places)
        if doubtful or self._ground.is_temporary(folder):
            what = "does not say what it is part of" if doubtful else "is temporary"
            steps.append(f"{folder} {what}: not filed under a project, unless its path is known.")
            return _Verdict("", "none", places)
        steps.append("So the directory is the project, unless a folder above it is a known one.")
        return _directory(folder, places)

    def _folders(self, start: str, checkout: Checkout | None, top: str | None) -> Iterator[tuple[str, bool]]:
        """Each folder whose settings hold, nearest first, and whether it may name the project."""
        base = start
        if checkout and top:
            if checkout.top:
                for folder in ancestors(start):
                    yield folder, True
                    if folder == checkout.top:
                        break
            if checkout.top != top:
                yield top, True
            base = os.path.dirname(top)
        below: list[str] = []
        for folder in ancestors(base):
            below.append(folder)
            if checkout and folder not in self._ground.never and os.path.exists(f"{folder}/.git"):
                yield from ((path, False) for path in below)  # the repository lies inside another one
                below = []
        yield from ((path, path == start or path not in self._ground.never) for path in below)


def _asked_for(asked: str) -> Resolution:
    identity = normalize_remote(asked) or clean_name(asked)
    if identity is None:
        return Resolution(
            "", "none",
            problems=("The project asked for is not a name. Give one of `aimemory project list`.",),
            steps=("The project asked for is not a name.",),
        )  # fmt: skip
    workspace, name = DEFAULT_WORKSPACE, identity
    if identity.count("/") == 1 and "." not in identity.partition("/")[0]:
        first, _, name = identity.partition("/")
        workspace = portable_name(first, "workspace")
    return Resolution(
        identity, "explicit", name=portable_name(name.rpartition("/")[2]), workspace=workspace,
        steps=(f"The project was asked for by name: {identity}.",),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the kind of folder alone says; the fields are those of `Resolution`."""

    identity: str
    source: Source
    places: tuple[str, ...]
    root: str | None = None
    name: str = ""
    owner: str | None = None
    remote: str | None = None
    other_remotes: tuple[str, ...] = ()


def _named(found: _Verdict, project: str, root: str, steps: list[str]) -> _Verdict:
    """What the name in a settings file makes of it: the directory and the remotes no longer decide."""
    steps.append(f"{root}/{SETTINGS_FILE} names the project {project}, which goes before all that.")
    name = portable_name(project.rpartition("/")[2])
    return _Verdict(normalize_remote(project) or project, "file", (), root=root, name=name, remote=found.remote)


def _directory(folder: str, places: tuple[str, ...]) -> _Verdict:
    above, name = os.path.split(folder)
    owner = os.path.basename(above)
    return _Verdict(
        directory_identity(folder), "directory", places, root=folder,
        name=portable_name(name.removesuffix(".git")), owner=portable_name(owner) if owner else None,
    )  # fmt: skip
