"""Packing the wiki's git objects: loose ones when there are many, and small packs together.

Each commit leaves some nine loose files, each a disk block; packed they take a tenth. Nothing is lost whenever a kill
comes: an object goes from one place only when it lies, synced, in another. Blocks, for a bounded number of objects.
A git process does it: libgit2 is many times slower at it, and holds the interpreter meanwhile (measured).
"""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aimemory import points
from aimemory.datadir import sync_dir, sync_fd
from aimemory.errors import Unavailable
from aimemory.wiki.prune import packed_ids

AT_ONCE = 5_000
"""Objects of one pack that is made of loose ones: about a second."""

_MANY_PACKS = 12
_MERGED = 50_000
"""Packs with fewer objects are put together up to this number; larger ones stay, so that no run takes long."""

_TEMPORARY = ("pack_git2_", "tmp_pack_", "tmp_idx_", "tmp_rev_")
_TEMPORARY_OLD_S = 86_400
_LIMIT_S = 300.0
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_ENV = {
    "PATH": "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Packed:
    """loose: objects that left their own files. merged: packs that became one. left: loose objects that remain."""

    loose: int = 0
    merged: int = 0
    left: int = 0


def loose_count(root: Path) -> int:
    """How many loose objects there are, from four of their 256 folders."""
    objects = root / ".git" / "objects"
    seen = sum(len(_names(objects / name)) for name in ("17", "5b", "a0", "e9"))
    return seen * 64


def pack(root: Path, *, at_least: int) -> Packed:
    """Pack loose objects if there are about `at_least` or more, then small packs if there are many.

    Whoever calls sees to it that nothing of ours removes objects meanwhile. A person's git may be at work: it finds an
    object in its pack as soon as its file is gone.
    Raises Unavailable when the disk or the repository refuses; everything is then where it was, or twice.
    """
    git_dir = root / ".git"
    if not (git_dir / "objects").is_dir():  # `.git` may be a file that leads elsewhere
        return Packed()
    try:
        _clear_temporary(git_dir / "objects" / "pack")
        found = _pack_loose(root, git_dir / "objects", at_least)
        return Packed(found.loose, _merge(root, git_dir / "objects" / "pack"), found.left)
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise Unavailable(f"The objects of {root} can't be packed: {reason}. They stay as they are.") from error


def _names(folder: Path) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if len(name) == 38]  # noqa: PTH208 - names, not paths
    except FileNotFoundError:
        return []


def _loose(objects: Path) -> Iterator[tuple[bytes, Path]]:
    for number in range(256):
        folder = objects / f"{number:02x}"
        for name in _names(folder):
            try:
                yield bytes.fromhex(folder.name + name), folder / name
            except ValueError:
                continue


def _pack_loose(root: Path, objects: Path, at_least: int) -> Packed:
    files = dict(_loose(objects))
    if len(files) < at_least:
        return Packed(left=len(files))
    known: set[bytes] = set()
    for idx in (objects / "pack").glob("*.idx"):
        known.update(packed_ids(idx))
    wanted = [oid for oid in files if oid not in known][:AT_ONCE]
    if wanted:
        known.update(_write(root, objects / "pack", wanted))
    points.reached("pack.written")
    gone = 0
    for oid, path in files.items():  # not synced: what a power loss brings back is there twice, and goes next time
        if oid in known:
            path.unlink(missing_ok=True)
            gone += 1
    return Packed(loose=gone, left=len(files) - gone)


def _write(root: Path, folder: Path, oids: list[bytes]) -> set[bytes]:
    """One new pack of these objects, durable on return; gives what it holds, nothing if git had the same already."""
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    command = ["git", *_OPTIONS, "-C", str(root), "pack-objects", "-q", "--threads=1", str(folder / "pack")]
    try:
        done = subprocess.run(
            command, input=b"".join(oid.hex().encode() + b"\n" for oid in oids), capture_output=True, env=_ENV, cwd="/",
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise OSError(0, f"git needed more than {_LIMIT_S:.0f} s") from error
    if done.returncode:
        raise OSError(0, done.stderr.decode("utf-8", "replace").strip()[:200] or "git failed")
    made = [path for path in folder.iterdir() if path not in before and path.suffix in (".pack", ".idx", ".rev")]
    for path in made:
        with path.open("rb") as file:
            sync_fd(file.fileno())
    sync_dir(folder)
    held: set[bytes] = set()
    for path in made:
        if path.suffix == ".idx" and path.with_suffix(".pack") in made:
            held.update(packed_ids(path))
    return held


def _merge(root: Path, folder: Path) -> int:
    """Put small packs together when there are many; gives how many became one."""
    packs = sorted(folder.glob("*.idx"), key=lambda idx: idx.stat().st_size)
    if len(packs) < _MANY_PACKS:
        return 0
    chosen: dict[Path, list[bytes]] = {}
    for idx in packs:
        if any(idx.with_suffix(mark).exists() for mark in (".keep", ".promisor")):  # somebody else's to decide
            continue
        ids = packed_ids(idx)
        if sum(map(len, chosen.values())) + len(ids) > _MERGED:
            break
        chosen[idx] = ids
    if len(chosen) < 2:
        return 0
    held = _write(root, folder, list(dict.fromkeys(oid for ids in chosen.values() for oid in ids)))
    points.reached("pack.merged")
    gone = 0
    for idx, ids in chosen.items():
        if not set(ids) <= held:
            continue
        for stale in folder.glob("multi-pack-index*"):
            stale.unlink()
        idx.unlink()  # first: without its index nobody reads a pack
        for stale in folder.glob(f"{idx.stem}.*"):
            stale.unlink()
        gone += 1
    sync_dir(folder)
    return gone


def _clear_temporary(folder: Path) -> None:
    """What a killed packing left, packs without an index too: a day old, so that no git writes it any more."""
    for path in folder.iterdir() if folder.is_dir() else ():
        is_left = path.name.startswith(_TEMPORARY) or (
            path.suffix in (".pack", ".rev") and not path.with_suffix(".idx").exists()
        )
        if is_left and time.time() - path.stat().st_mtime > _TEMPORARY_OLD_S:
            path.unlink(missing_ok=True)
