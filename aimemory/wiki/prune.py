"""Removing git objects that nothing names any more, loose ones and those in packs, at once and not after two weeks.

Takes git's lock of the index meanwhile, so that no `git add` or `git commit` of a person is in the middle of making
objects. Blocks. A kill at any point leaves more objects than needed, never fewer.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from aimemory.datadir import sync_dir, sync_fd
from aimemory.errors import Unavailable
from aimemory.wiki.locks import taken
from aimemory.wiki.rawobject import GITLINK, entries_of

_IDX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_OIDS = re.compile(rb"\b[0-9a-f]{40}\b")


@dataclass(frozen=True, slots=True)
class Pruned:
    """Objects that went: loose files, and those in packs that were replaced."""

    loose: int = 0
    packed: int = 0


def prune(root: Path) -> Pruned:
    """Raises Unavailable when a person's git is at work in the repository: try again later."""
    repo = pygit2.Repository(str(root))
    git_dir = Path(repo.path)
    try:
        with taken(git_dir / "index.lock", root) as free:
            if not free:
                raise Unavailable(f"Another git is at work in {root}. What nothing names any more is removed later.")
            reachable = _reachable(repo, git_dir)
            packed = sum(_replace_pack(repo, idx, reachable) for idx in sorted(_packs(git_dir).glob("*.idx")))
            return Pruned(_prune_loose(git_dir, reachable), packed)
    except (pygit2.GitError, OSError, KeyError) as error:
        raise Unavailable(f"Objects of {root} can't be removed: {error}.") from error
    finally:
        repo.free()


def _packs(git_dir: Path) -> Path:
    return git_dir / "objects" / "pack"


def _reachable(repo: pygit2.Repository, git_dir: Path) -> set[bytes]:
    """Everything that a ref, a reflog or the index leads to."""
    todo = [bytes.fromhex(str(entry.id)) for entry in repo.index]
    for name in (*repo.references, "HEAD"):
        try:
            todo.append(bytes.fromhex(str(repo.lookup_reference(name).resolve().target)))
        except (KeyError, pygit2.GitError):  # an unborn branch
            continue
    for log in (git_dir / "logs").rglob("*"):
        if log.is_file():
            todo += [bytes.fromhex(oid.decode()) for oid in _OIDS.findall(log.read_bytes())]
    found: set[bytes] = set()
    while todo:
        oid = todo.pop()
        if oid in found:
            continue
        try:
            kind, raw = repo.odb.read(pygit2.Oid(raw=oid))
        except (KeyError, pygit2.GitError):  # missing before: nothing of ours to lose
            continue
        found.add(oid)
        if kind == ObjectType.TREE:
            todo += [target for mode, _, target in entries_of(raw) if mode != GITLINK]
        elif kind != ObjectType.BLOB:
            head = raw.partition(b"\n\n")[0]
            todo += [
                bytes.fromhex(line.split(b" ")[1].decode())
                for line in head.split(b"\n")
                if line.startswith((b"tree ", b"parent ", b"object "))
            ]
    return found


def _prune_loose(git_dir: Path, reachable: set[bytes]) -> int:
    count = 0
    for folder in (git_dir / "objects").iterdir():
        if len(folder.name) != 2 or not folder.is_dir():
            continue
        here = 0
        for file in folder.iterdir():
            try:
                is_wanted = bytes.fromhex(folder.name + file.name) in reachable
            except ValueError:  # a temporary file: what a crash left, since nobody else is at work
                is_wanted = False
            if not is_wanted:
                file.unlink()
                here += 1
        if here:
            sync_dir(folder)
            count += here
    return count


def packed_ids(idx: Path) -> list[bytes]:
    """Ids of the objects in a pack, from its index (version 2). Raises OSError for another form."""
    raw = idx.read_bytes()
    if not raw.startswith(_IDX_MAGIC):
        raise OSError(0, f"{idx.name} has a form that is not known here")
    (count,) = struct.unpack_from(">I", raw, 8 + 255 * 4)
    start = 8 + 256 * 4
    return [raw[start + i * 20 : start + i * 20 + 20] for i in range(count)]


def _replace_pack(repo: pygit2.Repository, idx: Path, reachable: set[bytes]) -> int:
    """Put a pack without the others in the place of one that holds what nothing names; gives how many went."""
    ids = packed_ids(idx)
    wanted = [oid for oid in ids if oid in reachable]
    if len(wanted) == len(ids):
        return 0
    folder = idx.parent
    made: set[Path] = set()
    if wanted:
        before = set(folder.iterdir())
        builder = pygit2.PackBuilder(repo)
        for oid in wanted:
            builder.add(pygit2.Oid(raw=oid))
        builder.write(str(folder))
        made = set(folder.iterdir()) - before
        for file in made:
            file.chmod(0o444)
            with file.open("rb") as written:
                sync_fd(written.fileno())
        sync_dir(folder)
    for stale in folder.glob("multi-pack-index*"):
        stale.unlink()
    info = folder.parent / "info"
    for stale in (*info.glob("commit-graph"), *info.glob("commit-graphs/*")):
        stale.unlink()
    for file in folder.glob(f"{idx.stem}.*"):  # the pack last: without its index nobody reads it
        if file not in made:
            file.unlink()
    sync_dir(folder)
    return len(ids) - len(wanted)
