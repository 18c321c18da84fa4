"""Where a directory's git checkout is: found by walking up for `.git`, without a process and without the environment.

What the remotes are is read by gitconfig.py; what it means for identity is decided by resolve.py.
"""

# ruff: noqa: PTH110, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208
# os.path, because this runs for every folder of every event, and pathlib costs five times as much.

import os
import stat
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import takewhile

from aimemory.project.ground import ancestors
from aimemory.project.parsed import ParsedFiles, Unreadable

_MAX_TREES = 200


@dataclass(frozen=True, slots=True)
class Checkout:
    """One work tree, or a bare repository.

    top: this work tree's top folder, None in a bare repository. common_dir: what all work trees of it share.
    worktree: name of a linked work tree. problem: what is wrong with it although it could be found.
    """

    top: str | None
    common_dir: str
    worktree: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenCheckout:
    """A folder whose `.git` file leads nowhere, so nobody can tell what it is a checkout of."""

    top: str
    problem: str


def read_pointer(_path: str, data: bytes) -> str:
    """The one line of a `.git` or `commondir` file, without `gitdir:`; "" for what can be no path."""
    text = os.fsdecode(data).strip().removeprefix("gitdir:").strip()
    return "" if "\0" in text else text


class GitDirs:
    """Finds checkouts; keeps the one-line files that git leaves for linked work trees and submodules."""

    def __init__(self) -> None:
        self._pointers = ParsedFiles(read_pointer, limit_bytes=64 << 10)

    def find(self, start: str, *, stop: AbstractSet[str], skip: AbstractSet[str]) -> Checkout | BrokenCheckout | None:
        """The checkout that encloses `start`, a real path.

        stop: folders that end the search and are no checkout. skip: folders that are none, while those above may be.
        A bare repository inside somebody's work tree counts as that tree's content.
        """
        folders = [path for path in takewhile(lambda path: path not in stop, ancestors(start)) if path not in skip]
        for folder in folders:
            found = self._at(folder)
            if found is not None:
                return found
        return next((Checkout(None, folder) for folder in folders if _is_git_dir(folder)), None)

    def _at(self, folder: str) -> Checkout | BrokenCheckout | None:
        git = f"{folder}/.git"
        try:
            mode = os.lstat(git).st_mode
        except OSError:
            return None
        if stat.S_ISLNK(mode):
            git = os.path.realpath(git)
        if stat.S_ISDIR(mode) or os.path.isdir(git):
            return Checkout(folder, self._common_dir(git)) if _is_git_dir(git) else None
        pointer = self._pointers.get(git)
        if not isinstance(pointer, str) or not pointer:
            reason = pointer.reason if isinstance(pointer, Unreadable) else f"{git} names no folder."
            return BrokenCheckout(folder, reason)
        git_dir = os.path.realpath(os.path.join(folder, pointer))
        if not os.path.isdir(git_dir):
            return _forgotten(folder, git_dir)
        common = self._common_dir(git_dir)
        return Checkout(folder, common, None if common == git_dir else os.path.basename(git_dir))

    def _common_dir(self, git_dir: str) -> str:
        pointer = self._pointers.get(f"{git_dir}/commondir")
        return os.path.realpath(os.path.join(git_dir, pointer)) if isinstance(pointer, str) else git_dir


def _forgotten(folder: str, git_dir: str) -> Checkout | BrokenCheckout:
    """A `.git` file whose target is gone: pruned from its repository, or the repository has moved."""
    problem = (
        f"{folder}/.git leads to {git_dir}, which does not exist. `git worktree repair` in the repository mends it."
    )
    worktrees, name = os.path.split(git_dir)
    common = os.path.dirname(worktrees)
    if os.path.basename(worktrees) == "worktrees" and _is_git_dir(common):
        return Checkout(folder, common, name, problem)
    return BrokenCheckout(folder, problem)


def _is_git_dir(path: str) -> bool:
    return os.path.exists(f"{path}/HEAD") and os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs")


def main_top(common_dir: str, work_tree: str | None) -> str:
    """The folder that stands for the whole repository, whichever work tree one comes from.

    work_tree: `core.worktree` of its configuration, which submodules have. A bare repository stands for itself, unless
    it lies hidden in the folder that holds its work trees.
    """
    parent, name = os.path.split(common_dir)
    if name == ".git":
        return parent
    if work_tree and "\0" not in work_tree:
        return os.path.realpath(os.path.join(common_dir, work_tree))
    return parent if name == ".bare" else common_dir


def work_trees(common_dir: str, main: str) -> tuple[str, ...]:
    """Tops of a repository's work trees, the main one first, also of those that are gone but not pruned."""
    found = [main]
    try:
        names = sorted(os.listdir(f"{common_dir}/worktrees"))[:_MAX_TREES]
    except OSError:
        return (main,)
    for name in names:
        try:
            with open(f"{common_dir}/worktrees/{name}/gitdir", encoding="utf-8") as file:
                pointer = file.read(4097).strip()
        except (OSError, UnicodeDecodeError):
            continue
        if pointer.startswith("/") and len(pointer) <= 4096:
            found.append(os.path.realpath(os.path.dirname(pointer)))
    return tuple(dict.fromkeys(found))
