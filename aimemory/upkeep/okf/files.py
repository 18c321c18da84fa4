"""A bundle as a folder, a tar or a zip: written with the same bytes each time, read without trusting it.

Read are regular files that end in `.md`, up to bounds that hold for what an archive unpacks to, whatever it says of
itself. A name that leads out of the bundle is an attack and refuses all of it; links and devices are left out.
"""

import gzip
import io
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from aimemory.errors import UserError
from aimemory.privacy import repair
from aimemory.upkeep.backup.scratch import scratch_folder

MAX_FILE_BYTES = 2 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_FILES = 10_000
MAX_MEMBERS = 100_000

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""
_DISK = re.compile(r"[A-Za-z]:/")
_TAR = (".tar.gz", ".tgz", ".tar")
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


@dataclass(slots=True)
class Bundle:
    """files: bytes by path, with `/`. left_out: reason by path, of what is in it and was not read."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def write_bundle(dest: Path, files: Mapping[str, str]) -> None:
    """Write a bundle as a new folder, or as a new archive where `dest` ends in .tar.gz, .tgz, .tar or .zip.

    Whole or not at all. Raises UserError when something is there already, OSError.
    """
    if dest.exists() and not (dest.is_dir() and not any(dest.iterdir())):
        raise UserError(f"{dest} exists already. Name another place, or move it away first.")
    dest.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(dest.parent, "export") as scratch:  # what a kill left there goes too
        made = scratch / dest.name
        if dest.name.endswith(".zip"):
            _write_zip(made, files)
        elif dest.name.endswith(_TAR):
            _write_tar(made, files)
        else:
            for path, text in sorted(files.items()):
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_bytes(text.encode("utf-8"))
        made.replace(dest)


def _write_zip(path: Path, files: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, text in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.create_system = (stat.S_IFREG | 0o644) << 16, 3
            archive.writestr(info, text.encode("utf-8"), zipfile.ZIP_DEFLATED, 6)


def _write_tar(path: Path, files: Mapping[str, str]) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in sorted(files.items()):
            content = text.encode("utf-8")
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    path.write_bytes(raw.getvalue() if path.name.endswith(".tar") else gzip.compress(raw.getvalue(), 6, mtime=0))


def read_bundle(source: Path) -> Bundle:
    """Read a folder or an archive. Raises UserError for what is no bundle, what leads out of it, and beyond bounds."""
    name = source.name
    for suffix in (*_TAR, ".zip"):
        name = name.removesuffix(suffix)
    bundle = Bundle(unicodedata.normalize("NFC", name) or "bundle")
    try:
        if source.is_dir():
            _take(bundle, _in_folder(source, bundle))
        elif zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                _take(bundle, _in_zip(archive, bundle))
        else:
            with _unpacked(source) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
                _take(bundle, _in_tar(archive, bundle))
    except _BROKEN as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UserError(f"{source} can't be read as a bundle: {reason}.") from error
    return _without_top_folder(bundle)


def _take(bundle: Bundle, members: Iterator[tuple[str, IO[bytes]]]) -> None:
    total = 0
    for path, file in members:
        content = file.read(MAX_FILE_BYTES + 1)
        total += len(content)
        if len(content) > MAX_FILE_BYTES:
            bundle.left_out[path] = f"it has more than {MAX_FILE_BYTES >> 20} MiB"
            continue
        if total > MAX_TOTAL_BYTES or len(bundle.files) >= MAX_FILES:
            raise UserError(
                f"The bundle is too large: at most {MAX_FILES:,} pages and {MAX_TOTAL_BYTES >> 20} MiB are taken."
            )
        if path in bundle.files:
            bundle.left_out[path] = "it is there twice; the first one was taken"
            continue
        bundle.files[path] = content


def _wanted(bundle: Bundle, name: str, is_file: bool) -> str | None:
    """The path of a member to read, or None for one to leave. Raises UserError for a name that leads out."""
    path = unicodedata.normalize("NFC", name.removeprefix("./"))
    parts = path.rstrip("/").split("/")
    if _leads_out(path):
        raise UserError(f"{name[:100]!a} leads out of the bundle. Nothing was read.")
    if any(part.startswith(".") for part in parts) or parts[0] == "__MACOSX" or not path.lower().endswith(".md"):
        if is_file and not path.endswith("/"):
            bundle.left_out[path] = "it is no page"
        return None
    if path != repair(path):
        bundle.left_out[repair(path)] = "its name is no UTF-8"
        return None
    if not is_file:
        bundle.left_out[path] = "it is a link or no regular file"
        return None
    return path


def _leads_out(path: str) -> bool:
    """Here, or on a system where a backslash parts folders and a letter with a colon is a disk."""
    plain = path.replace("\\", "/")
    return plain.startswith("/") or ".." in plain.split("/") or "\x00" in path or bool(_DISK.match(plain))


def _in_folder(root: Path, bundle: Bundle) -> Iterator[tuple[str, IO[bytes]]]:
    for folder, folders, files in os.walk(root):  # doesn't follow links
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            path = Path(folder) / name
            is_file = stat.S_ISREG(path.lstat().st_mode)
            if wanted := _wanted(bundle, path.relative_to(root).as_posix(), is_file):
                with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                    yield wanted, file


def _in_zip(archive: zipfile.ZipFile, bundle: Bundle) -> Iterator[tuple[str, IO[bytes]]]:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise UserError(f"The bundle holds more than {MAX_MEMBERS:,} files.")
    for member in members:
        kind = stat.S_IFMT(member.external_attr >> 16)
        wanted = _wanted(bundle, member.filename, not member.is_dir() and kind in (0, stat.S_IFREG))
        if wanted and not member.is_dir():
            with archive.open(member) as file:
                yield wanted, file


def _in_tar(archive: tarfile.TarFile, bundle: Bundle) -> Iterator[tuple[str, IO[bytes]]]:
    for count, member in enumerate(archive):
        if count >= MAX_MEMBERS:
            raise UserError(f"The bundle holds more than {MAX_MEMBERS:,} files.")
        wanted = _wanted(bundle, f"{member.name}/" if member.isdir() else member.name, member.isreg())
        file = archive.extractfile(member) if wanted and member.isreg() else None
        if wanted and file is not None:
            yield wanted, file
        archive.members = []  # type: ignore[attr-defined]  # else it remembers them all


def _unpacked(source: Path) -> "_Bounded":
    with source.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return _Bounded(gzip.open(source, "rb") if packed else source.open("rb"))


class _Bounded(io.RawIOBase):
    """What an archive unpacks to, up to the bound and not further: no header can make it more."""

    def __init__(self, file: gzip.GzipFile | io.BufferedReader) -> None:
        self._file = file
        self._left = MAX_TOTAL_BYTES * 2

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(min(size if size >= 0 else self._left + 1, self._left + 1))
        self._left -= len(content)
        if self._left < 0:
            raise UserError(f"The bundle unpacks to more than {MAX_TOTAL_BYTES * 2 >> 20} MiB.")
        return content

    def close(self) -> None:
        self._file.close()
        super().close()


def _without_top_folder(bundle: Bundle) -> Bundle:
    """Archives often hold one folder with everything in it; that is the bundle then."""
    tops = {path.partition("/")[0] for path in bundle.files}
    if len(tops) == 1 and all("/" in path for path in bundle.files):
        top = f"{tops.pop()}/"
        bundle.files = {path.removeprefix(top): content for path, content in bundle.files.items()}
        bundle.left_out = {path.removeprefix(top): reason for path, reason in bundle.left_out.items()}
    return bundle
