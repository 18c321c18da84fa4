"""The proof: all bytes of the data directory are looked at for what was taken out.

Git's objects are read inflated, whether loose or packed; compressed segments and backup archives are unpacked, and what
is packed within them. What can't be looked into is named as such, never passed over.
"""

import gzip
import lzma
import mmap
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pygit2

from aimemory.upkeep.purge.spelled import LONGEST_BYTES, Spelled

_CHUNK = 4 << 20
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}")
_MEMBER_BYTES = 256 << 20
_UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError, lzma.LZMAError)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class Searched:
    """found: places that hold one of the texts, with how many of them. unread: what could not be looked into.

    texts: how many were looked for. bytes, files: how much was looked at, unpacked.
    """

    texts: int = 0
    found: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    bytes: int = 0
    files: int = 0


def search_all(root: Path, texts: Iterable[str], *, but: Iterable[Path] = ()) -> Searched:
    """Look everywhere below the data directory but in these files. Blocks; reads everything once for each text."""
    wanted = [Spelled(text) for text in dict.fromkeys(texts)]
    done = Searched(texts=len(wanted))
    left_out = {str(path) for path in but}
    git_dir = root / "wiki" / ".git"
    for folder, folders, names in os.walk(root):
        folders.sort()
        here = Path(folder)
        if here == git_dir / "objects":
            folders[:] = [name for name in folders if name not in ("pack",) and len(name) != 2]
        for name in sorted(names):
            path = here / name
            if str(path) not in left_out and path.is_file() and not path.is_symlink():
                _file(root, path, wanted, done)
    if wanted and (git_dir / "objects").is_dir():
        _objects(git_dir, wanted, done)
    return done


def _file(root: Path, path: Path, wanted: list[Spelled], done: Searched) -> None:
    name = path.relative_to(root).as_posix()
    done.files += 1
    _note(name, _held_by(name.encode("utf-8", "surrogateescape"), wanted), done)
    try:
        size = path.stat().st_size
        done.bytes += size
        if not size or not wanted:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            _note(name, _held_by(raw, wanted), done)
        if name.endswith((".tar.gz", ".tgz")):
            _archive(name, path, wanted, done)
        elif name.endswith(".gz"):
            with gzip.open(path, "rb") as unpacked:
                _stream(name, unpacked, wanted, done)
    except FileNotFoundError:  # gone meanwhile
        return
    except _UNREADABLE as error:
        done.unread.append(f"{name} ({type(error).__name__})")


def _archive(name: str, path: Path, wanted: list[Spelled], done: Searched) -> None:
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            raw = archive.extractfile(member)
            if raw is None:
                continue
            if member.name.endswith(".pack"):
                done.unread.append(f"{name}: {member.name}")
            elif member.name.endswith(".gz"):
                with gzip.open(raw, "rb") as unpacked:
                    _stream(name, unpacked, wanted, done)
            elif _LOOSE.search(member.name) and member.size < _MEMBER_BYTES:
                _note(name, _held_by(zlib.decompress(raw.read()), wanted), done)
            else:
                _stream(name, raw, wanted, done)


def _objects(git_dir: Path, wanted: list[Spelled], done: Searched) -> None:
    repo = pygit2.Repository(str(git_dir))
    try:
        for oid in repo:
            try:
                _, raw = repo.odb.read(oid)
            except (KeyError, pygit2.GitError):
                done.unread.append(f"wiki/.git object {oid}")
                continue
            done.bytes += len(raw)
            _note("wiki/.git (history)", _held_by(raw, wanted), done)
    finally:
        repo.free()


def _stream(name: str, file: _Readable, wanted: list[Spelled], done: Searched) -> None:
    seen: set[int] = set()
    for piece in _pieces(file):
        done.bytes += len(piece)
        seen |= _held_by(piece, wanted)
    _note(name, seen, done)


def _pieces(file: _Readable) -> Iterator[bytes]:
    before = b""
    while raw := file.read(_CHUNK):
        yield before + raw
        before = raw[-LONGEST_BYTES:]


def _held_by(raw: bytes | mmap.mmap, wanted: list[Spelled]) -> set[int]:
    return {i for i, one in enumerate(wanted) if one.is_in(raw)}


def _note(name: str, held: set[int], done: Searched) -> None:
    if held:
        done.found[name] = max(done.found.get(name, 0), len(held))
