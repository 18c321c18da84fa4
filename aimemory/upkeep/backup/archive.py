"""The format of a backup: a tar of regular files and folders, compressed by gzip.

First member `aimemory-backup.json` (`{"format": 1, …}`), last member `manifest.json` with size, SHA-256 and time of
every file; in between the files by their place below the data directory. A file that changed while the backup was made
is there twice: the later one counts. The checksums tell damage, not malice: who can write an archive can write its
manifest too.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any, BinaryIO

from aimemory import __version__
from aimemory.errors import Damaged, Unavailable, UserError

FORMAT = 1
HEAD_FILE = "aimemory-backup.json"
MANIFEST_FILE = "manifest.json"

Progress = Callable[[str, int], None]
"""Told what is being done and how far it is: `("files", 1200)`."""

_LEVEL = 4
"""gzip's own scale: four fifths of what level 6 saves, in half its time."""
_CHUNK = 1 << 20
_NAMED = 5
_MANIFEST_BYTES = 1 << 29
_RESERVE_BYTES = 16 << 20
"""Left free when an archive is written out, or a fiftieth of a small disk."""
_EVERY = 50


@dataclass(frozen=True, slots=True)
class FileFact:
    """One file: its bytes, their SHA-256, and when it was last changed."""

    size: int
    sha256: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself.

    seq: the journal's last line in it. branch: what the wiki's HEAD names, None without a repository. config_from:
    where the settings lay if not in the data directory. skipped: links and special files that were left out.
    """

    made_at: str
    version: str
    user: str
    machine: str
    seq: int
    branch: str | None
    with_secrets: bool
    config_from: str | None
    counts: dict[str, int]
    skipped: list[str]
    files: dict[str, FileFact] = field(repr=False)
    format: int = FORMAT


class Moved(Exception):
    """A file changed under the reader in a way that calls for another attempt."""


class Writer:
    """Writes one archive into an open file. Blocks."""

    def __init__(self, file: BinaryIO) -> None:
        self._zipped = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_LEVEL, mtime=0, filename="")
        self._tar = tarfile.open(fileobj=self._zipped, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self.files: dict[str, FileFact] = {}
        self._add(HEAD_FILE, json.dumps({"format": FORMAT, "version": __version__}).encode() + b"\n")

    def add_folder(self, name: str) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o700
        self._tar.addfile(info)

    def add(self, name: str, file: IO[bytes], found: os.stat_result, size: int | None = None) -> None:
        """Add `size` bytes (None: all) of an open file from where it stands. Raises Moved when it has fewer."""
        length = found.st_size if size is None else size
        reading = _Hashing(file)
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = length, stat.S_IMODE(found.st_mode), int(found.st_mtime)
        self._tar.addfile(info, reading)
        self.files[name] = FileFact(length, reading.sha256.hexdigest(), found.st_mtime_ns)

    def add_bytes(self, name: str, content: bytes, found: os.stat_result) -> None:
        """As `add`, for what was read already."""
        self.add(name, io.BytesIO(content), found, len(content))

    def close(self) -> None:
        """Let go of what is unfinished. Twice is fine."""
        try:
            self._zipped.close()
        except OSError:  # the disk refused before, and whoever writes knows
            pass

    def finish(self, manifest: Manifest) -> None:
        self._add(MANIFEST_FILE, json.dumps(asdict(manifest), separators=(",", ":"), sort_keys=True).encode() + b"\n")
        self._tar.close()
        self._zipped.close()

    def _add(self, name: str, content: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))


class _Hashing(io.RawIOBase):
    """What tarfile reads from: hashes on the way, and never gives less than was asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        raw = self._file.read(size)
        if len(raw) < size:
            raise Moved
        self.sha256.update(raw)
        return raw


def extract(archive: Path, into: Path, progress: Progress) -> Manifest:
    """Write the files of an archive into an empty folder of ours, and compare each with the manifest.

    Only regular files and folders are taken, each below `into`; modes lose what is more than read, write and execute.
    Not synced. Raises NotFound, UserError for a newer format, Damaged that names the archive and what is wrong with it,
    Unavailable when the disk refuses.
    """
    found: dict[str, FileFact] = {}
    manifest: Manifest | None = None
    with _opened(archive) as tar:
        for number, member in enumerate(tar):
            if number == 0:
                _check_format(archive, member, tar)
            elif manifest is not None:
                raise Damaged(f"{archive}: {member.name!a} stands behind the manifest. It was changed; use another.")
            elif member.name == MANIFEST_FILE:
                manifest = _manifest(archive, _read(tar, member))
            else:
                _take(archive, tar, member, into, found)
            if number % _EVERY == 0:
                progress("files", number)
                _check_room(archive, into, 0)
    if manifest is None:
        raise Damaged(f"{archive} is cut off: its last part is missing. Use another backup.")
    _compare(archive, manifest, found)
    for name, fact in manifest.files.items():
        os.utime(into / name, ns=(fact.mtime_ns, fact.mtime_ns))
    return manifest


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """The archive as a stream; reading it to the end checks gzip's own sum of all of it."""
    try:
        with gzip.open(archive, "rb") as zipped:
            with tarfile.open(fileobj=zipped, mode="r|", errorlevel=1) as tar:
                yield tar
            while raw := zipped.read(_CHUNK):
                if raw.strip(b"\0"):
                    raise Damaged(f"{archive} holds something behind its end. It was changed; use another backup.")
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise Damaged(f"{archive} is cut off or damaged ({type(error).__name__}). Use another backup.") from error


def _check_format(archive: Path, member: tarfile.TarInfo, tar: tarfile.TarFile) -> None:
    try:
        said = json.loads(_read(tar, member)) if member.name == HEAD_FILE and member.isreg() else None
    except (ValueError, RecursionError):
        said = None
    number = said.get("format") if isinstance(said, dict) else None
    if not isinstance(said, dict) or type(number) is not int or number < 1:
        raise Damaged(f"{archive} is no backup of aimemory: it does not begin with {HEAD_FILE}.")
    if number > FORMAT:
        raise UserError(
            f"{archive} has format {number}, written by aimemory {said.get('version', 'of a later version')!a}; "
            f"this version reads formats up to {FORMAT}. Install a newer aimemory and try again."
        )


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """One that is read into memory; what is larger than any of ours reads as nothing."""
    file = tar.extractfile(member)
    return file.read() if file is not None and member.size <= _MANIFEST_BYTES else b""


def _manifest(archive: Path, raw: bytes) -> Manifest:
    try:
        said: dict[str, Any] = json.loads(raw)
        known = {one.name for one in fields(Manifest)}
        files = {name: FileFact(f["size"], f["sha256"], f["mtime_ns"]) for name, f in said["files"].items()}
        made = Manifest(**{k: v for k, v in said.items() if k in known} | {"files": files})
        _check_kinds(made)
        return made
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"{archive}: its manifest can't be read ({type(error).__name__}). Use another backup.") from error


def _check_kinds(manifest: Manifest) -> None:
    """Raises TypeError for what is not of the kind that `Manifest` says; others work with it unasked."""
    texts = (manifest.made_at, manifest.version, manifest.user, manifest.machine)
    optional = (manifest.branch, manifest.config_from)
    counts = [manifest.seq, *(manifest.counts[name] for name in ("pages", "lines", "files", "bytes"))]
    counts += [number for fact in manifest.files.values() for number in (fact.size, fact.mtime_ns)]
    if (
        not all(isinstance(one, str) for one in (*texts, *manifest.skipped))
        or not all(one is None or isinstance(one, str) for one in optional)
        or not all(type(one) is int for one in counts)
        or not isinstance(manifest.skipped, list)
        or not all(abs(fact.mtime_ns) < 1 << 63 for fact in manifest.files.values())
    ):
        raise TypeError


def _check_room(archive: Path, into: Path, size: int) -> None:
    """Raises Unavailable before the disk is full, which would take it from whoever else writes there."""
    disk = shutil.disk_usage(into)
    if size > disk.free - min(_RESERVE_BYTES, disk.total // 50):
        raise Unavailable(
            f"{archive} holds more than there is room for ({disk.free / 1e6:,.1f} MB). Make room or name another place."
        )


def _take(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path, found: dict[str, FileFact]) -> None:
    name = member.name
    if not (member.isreg() or member.isdir()) or not is_safe(name):
        raise Damaged(f"{archive}: {name!a} is a link or leads out of the data directory. It was changed; use another.")
    target = into / name
    try:
        if member.isdir():
            _make_folder(target)
            return
        if member.size > _CHUNK:
            _check_room(archive, into, member.size)
        _make_folder(target.parent)
        target.unlink(missing_ok=True)  # a page that changed during the backup: the later one counts
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            found[name] = _copy(tar, member, file)
            os.fchmod(file.fileno(), (member.mode & 0o777) | 0o400)
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise Damaged(f"{archive}: {name!a} is both a file and a folder. It was changed; use another.") from error
    except gzip.BadGzipFile:
        raise  # of the reading side
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}. Make room or name another place.") from error


def _make_folder(path: Path) -> None:
    """With what is missing above it, each for its owner alone."""
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        _make_folder(path.parent)
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, target: BinaryIO) -> FileFact:
    source, sha256, size = tar.extractfile(member), hashlib.sha256(), 0
    while source is not None and (raw := source.read(_CHUNK)):
        sha256.update(raw)
        size += len(raw)
        target.write(raw)
    return FileFact(size, sha256.hexdigest(), 0)


def is_safe(name: str) -> bool:
    """Whether a member's name stays below the folder it is put in."""
    parts = name.split("/")
    return "\0" not in name and not any(part in ("", ".", "..") for part in parts)


def _compare(archive: Path, manifest: Manifest, found: dict[str, FileFact]) -> None:
    wrong = [f"{name} is missing" for name in manifest.files.keys() - found.keys()]
    wrong += [f"{name} is not in the manifest" for name in found.keys() - manifest.files.keys()]
    wrong += [
        f"{name} has other bytes"
        for name, fact in manifest.files.items()
        if name in found and (found[name].size, found[name].sha256) != (fact.size, fact.sha256)
    ]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        listed = "; ".join(repr(one)[1:-1] for one in sorted(wrong)[:_NAMED])
        raise Damaged(f"{archive} is not what was written: {listed}{more}. Use another backup.")
