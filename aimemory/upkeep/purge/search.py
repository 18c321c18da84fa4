"""The proof: all bytes of the data directory are looked at for what was taken out.

Git's objects are read inflated, whether loose or packed; compressed segments and backup archives are unpacked, and what
is packed within them. What can't be looked into is named as such, never passed over.
"""

import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pygit2

from aimemory.datadir import TEMP_PREFIX
from aimemory.upkeep.purge.spelled import LONGEST_BYTES, Disguised, Spelled

_HISTORY = "wiki/.git (history)"
_CHUNK = 4 << 20
_LOOSE = re.compile(r"objects/[0-9a-f]{2}/[0-9a-f]{38}")
_KILLED_BACKUP = re.compile(rf"backups/{re.escape(TEMP_PREFIX)}backup-")
_MEMBER_BYTES = 256 << 20
_PACKED_HEAD = 512
"""What of a packed file is looked at as it is: a gzip header can hold the name of the file within."""
_UNREADABLE = (OSError, EOFError, zlib.error, tarfile.TarError, lzma.LZMAError)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class Searched:
    """found: places that hold one of the texts, with how many of them. unread: what could not be looked into.

    texts: how many were looked for. bytes, files: how much was looked at, unpacked. other: places that don't hold the
    text, but a form of it that is not taken out (see `Disguised`), where that was asked for.
    """

    texts: int = 0
    found: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    bytes: int = 0
    files: int = 0
    other: set[str] = field(default_factory=set)
    disguised: Disguised | None = None


def search_all(root: Path, texts: Iterable[str], *, but: Iterable[Path] = (), disguised: str | None = None) -> Searched:
    """Look everywhere below the data directory but in these files. Blocks; reads everything once for each text.

    disguised: a text to look for in other forms too.
    """
    wanted = [Spelled(text) for text in dict.fromkeys(texts)]
    done = Searched(texts=len(wanted), disguised=Disguised(disguised) if disguised else None)
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
    place = path.relative_to(root).as_posix()
    name = _HISTORY if place.startswith("wiki/.git/logs/") else place
    done.files += 1
    _look(name, place.encode("utf-8", "surrogateescape"), wanted, done)
    try:
        if not wanted:
            done.bytes += path.stat().st_size
            return
        try:
            is_packed = _unpacked(name, path, wanted, done)
        except _UNREADABLE as error:
            if not path.exists():  # gone meanwhile
                return
            done.unread.append(f"{name} ({type(error).__name__})")
            is_packed = False
        with path.open("rb") as file:
            _stream(name, io.BytesIO(file.read(_PACKED_HEAD)) if is_packed else file, wanted, done)
    except FileNotFoundError:
        return
    except OSError as error:
        done.unread.append(f"{name} ({type(error).__name__})")


def _unpacked(name: str, path: Path, wanted: list[Spelled], done: Searched) -> bool:
    """Look at what is packed within a file; whether it was packed. A short text stands in packed bytes by chance."""
    if _is_foreign_object(name):
        _look(name, zlib.decompress(path.read_bytes()), wanted, done)
    elif name.endswith((".tar.gz", ".tgz")) or _KILLED_BACKUP.match(name):
        _archive(name, path, wanted, done)
    elif name.endswith(".gz"):
        with gzip.open(path, "rb") as unpacked:
            _stream(name, unpacked, wanted, done)
    else:
        if name.endswith(".pack") and not name.startswith("wiki/.git/objects/"):
            done.unread.append(name)
        return False
    return True


def _archive(name: str, path: Path, wanted: list[Spelled], done: Searched) -> None:
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            _look(name, f"{member.name}\n{member.linkname}".encode("utf-8", "surrogateescape"), wanted, done)
            raw = archive.extractfile(member) if member.isfile() else None
            if raw is None:
                continue
            if member.name.endswith(".pack"):
                done.unread.append(f"{name}: {member.name}")
            elif member.name.endswith(".gz"):
                with gzip.open(raw, "rb") as unpacked:
                    _stream(name, unpacked, wanted, done)
            elif _LOOSE.search(member.name) and member.size < _MEMBER_BYTES:
                _look(name, zlib.decompress(raw.read()), wanted, done)
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
            _look(_HISTORY, raw, wanted, done)
    finally:
        repo.free()


def _stream(name: str, file: _Readable, wanted: list[Spelled], done: Searched) -> None:
    seen: set[int] = set()
    again = 0
    try:
        for piece in _pieces(file):
            done.bytes += len(piece) - again
            again = min(len(piece), LONGEST_BYTES)
            seen |= _held_by(piece, wanted)
            _look(name, piece, (), done)
    finally:  # what was found before the damage counts
        _note(name, seen, done)


def _pieces(file: _Readable) -> Iterator[bytes]:
    before = b""
    while raw := file.read(_CHUNK):
        yield before + raw
        before = raw[-LONGEST_BYTES:]


def _held_by(raw: bytes, wanted: Sequence[Spelled]) -> set[int]:
    return {i for i, one in enumerate(wanted) if one.is_in(raw)}


def _look(name: str, raw: bytes, wanted: Sequence[Spelled], done: Searched) -> None:
    _note(name, _held_by(raw, wanted), done)
    if done.disguised is not None and name not in done.other and done.disguised.where(raw):
        done.other.add(name)


def _is_foreign_object(name: str) -> bool:
    """A loose object of a repository that isn't the wiki's own: one that was set aside, one within a page folder."""
    return _LOOSE.search(name) is not None and not name.startswith("wiki/.git/objects/")


def _note(name: str, held: set[int], done: Searched) -> None:
    if held:
        done.found[name] = max(done.found.get(name, 0), len(held))
