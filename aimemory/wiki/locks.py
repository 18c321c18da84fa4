"""Lock files in the wiki's git directory: respected while somebody may hold them, cleared when they were left over.

Git locks `x` by creating `x.lock`. Nothing in the file says who did. A lock counts as left over when it carries our
own mark (only one process owns the data directory, so it is from a crash of ours), or when it is older than ten
minutes and no git process runs in the wiki. The age alone is not enough: `git commit -a` holds the index while a
person writes the message. Where processes can't be listed, the age must be an hour.

Names (branches, HEAD, `packed-refs`) are locked by libgit2 where we move them, without our mark; a kill in that
instant leaves the lock. Git holds those for milliseconds, so a few seconds are old where no git runs here and no
program has the file open.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEFT_OVER_S = 600
LEFT_OVER_UNSEEN_S = 3600
LEFT_OVER_NAME_S = 5

_MARK = b"aimemory "
_MOMENT_NS = 1_000_000_000


def is_held(lock: Path, worktree: Path, processes: Path = Path("/proc"), *, of_a_name: bool = False) -> bool:
    """Whether somebody may hold the lock file; a left-over one is removed first.

    of_a_name: it locks a branch or another name, which git does for an instant only.
    """
    try:
        age_s = time.time() - lock.stat().st_mtime
        if lock.read_bytes()[: len(_MARK)] != _MARK:
            if age_s < (LEFT_OVER_NAME_S if of_a_name else LEFT_OVER_S):
                return True
            seen = _git_runs_in(worktree, processes)
            if seen or (seen is None and age_s < LEFT_OVER_UNSEEN_S):
                return True
            if age_s < LEFT_OVER_S and _is_open(lock, processes):
                return True
        lock.unlink()
    except FileNotFoundError:
        pass
    return False


def names_are_held(git_dir: Path, worktree: Path, processes: Path = Path("/proc")) -> bool:
    """Whether somebody may hold a branch or another name; left-over locks of all of them are removed first.

    To be asked by the one thread that moves names, when it holds none itself.
    """
    locks = [git_dir / "HEAD.lock", git_dir / "packed-refs.lock", *(git_dir / "refs").rglob("*.lock")]
    held = [lock for lock in locks if is_held(lock, worktree, processes, of_a_name=True)]
    return bool(held)


@contextmanager
def taken(lock: Path, worktree: Path) -> Iterator[bool]:
    """Hold the lock for the length of the block; gives False, and holds nothing, when somebody else has it."""
    if is_held(lock, worktree):
        yield False
        return
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    except FileExistsError:
        yield False
        return
    try:
        try:
            os.write(fd, _MARK + str(os.getpid()).encode())
        finally:
            os.close(fd)
        yield True
    finally:
        lock.unlink(missing_ok=True)


def is_changing(git_dir: Path, worktree: Path, ours_ns: int) -> bool:
    """Whether somebody's git is at work on the files: it holds the index, or let go of it within the last second, as a
    checkout does before it moves HEAD. ours_ns: the index's time when we wrote it ourselves."""
    if is_held(git_dir / "index.lock", worktree):
        return True
    try:
        stamp_ns = (git_dir / "index").stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return stamp_ns != ours_ns and abs(time.time_ns() - stamp_ns) < _MOMENT_NS


def _git_runs_in(worktree: Path, processes: Path) -> bool | None:
    """Whether a git process works in the tree: by its directory, or by what it was called with; None where that can't
    be seen."""
    inside = str(worktree.resolve())
    named = os.fsencode(inside)
    try:
        numbers = [name for name in os.listdir(processes) if name.isdigit()]  # noqa: PTH208 - names, not paths
    except OSError:
        return None
    if not numbers:
        return None
    for number in numbers:
        try:
            if (processes / number / "comm").read_bytes().startswith(b"git"):
                folder = os.readlink(processes / number / "cwd")  # noqa: PTH115 - may name a removed folder
                if f"{folder}/".startswith(f"{inside}/"):
                    return True
                if any(named in (processes / number / told).read_bytes() for told in ("cmdline", "environ")):
                    return True  # `--git-dir`, GIT_DIR
        except OSError:
            continue  # it ended, or belongs to somebody else
    return False


def _is_open(lock: Path, processes: Path) -> bool:
    """Whether a program has the file open, as those that use a library have it while they hold the lock."""
    found = lock.stat()
    for fd in processes.glob("[0-9]*/fd/*"):
        try:
            there = fd.stat()
        except OSError:  # closed since
            continue
        if (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino):
            return True
    return False
