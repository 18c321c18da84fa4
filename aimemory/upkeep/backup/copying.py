"""The order in which a backup is taken, so that it is what a power cut at its point would have left.

No lock is needed and none is taken: the journal is append-only, pages are replaced whole, git's objects never change.

1. git's refs before everything else: what they name is in the objects that are read later.
2. The pages, from when the journal stood at line A. 3. The objects.
4. The spool before the journal: an event that was drained in between is in the journal's copy.
5. Pages that the journal's lines since A name, again, until no more come: the last line read is the point. A page is
   recorded in the journal before its file changes, so no page is newer than the journal's copy.
6. The journal up to the point, then everything else.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from aimemory.datadir import DataDir
from aimemory.errors import Unavailable
from aimemory.journal.segments import Segment, find_segments
from aimemory.journal.tail import Tail
from aimemory.upkeep.backup.archive import Moved, Progress, Writer, is_safe
from aimemory.upkeep.backup.contents import GIT, Entry, belongs, is_derived, is_page, walk

_ROUNDS = 100
_TRIES = 5
_SMALL_BYTES = 8 << 20
_CHUNK = 1 << 20


class Copying:
    """One attempt to copy a data directory into an archive. Blocks; `seq` and `counts` are right when `run` is done."""

    def __init__(self, data: DataDir, writer: Writer, progress: Progress, *, with_secrets: bool) -> None:
        self._root = data.root
        self._data = data
        self._writer = writer
        self._progress = progress
        self._with_secrets = with_secrets
        self._done: set[str] = set()
        self.skipped: list[str] = []
        self.lines = self.segments = self.seq = 0

    def run(self) -> None:
        """Raises Moved when something was replaced under us, Unavailable for what can't be read, and while something is
        being forgotten: half of it would be in the copy, and half not."""
        if self._data.purge_pending.exists():
            raise Unavailable("Something is being forgotten just now. Make the backup when that is done.")
        tail = Tail(self._data.journal)
        try:
            if (self._root / GIT).is_file():
                self._skip(f"{GIT} (it names a repository that lies elsewhere)")
            self._git_refs()
            packs = self._packs()
            self._tree("wiki", but=f"{GIT}/objects")
            self._tree(f"{GIT}/objects")
            if self._packs() != packs:
                raise Moved
            self._tree("spool")
            self._settle(tail)
            self._journal(tail)
            for name in sorted(os.listdir(self._root)):  # noqa: PTH208 - names, not paths
                if name not in ("wiki", "spool") and belongs(name, with_secrets=self._with_secrets):
                    self._tree(name)
            if self._data.purge_pending.exists() or any(line.type == "purge" for line in tail.advance()):
                raise Moved
        finally:
            tail.close()

    def counts(self) -> dict[str, int]:
        """What a restored copy must come to."""
        files = self._writer.files
        return {
            "files": len(files),
            "bytes": sum(fact.size for fact in files.values()),
            "pages": sum(1 for name in files if is_page(name)),
            "lines": self.lines,
            "segments": self.segments,
        }

    # -- trees -------------------------------------------------------------------------------------------------------

    def _git_refs(self) -> None:
        """Loose refs, then packed ones, as git itself looks: one that is packed meanwhile is found there."""
        for name in (f"{GIT}/HEAD", f"{GIT}/refs", f"{GIT}/packed-refs"):
            self._tree(name)

    def _packs(self) -> set[str]:
        """Which packs there are; a change means that git has repacked what we were reading."""
        return {path.name for path in (self._root / GIT / "objects" / "pack").glob("*.pack")}

    def _tree(self, name: str, but: str = "\0") -> None:
        for entry in walk(self._root, name, with_secrets=self._with_secrets, skipped=self._skip):
            if entry.name in self._done or entry.name == but or entry.name.startswith(f"{but}/"):
                continue
            self._done.add(entry.name)
            self._add(entry)

    def _skip(self, name: str) -> None:
        if name not in self.skipped:
            self.skipped.append(name)

    def _add(self, entry: Entry) -> None:
        if entry.is_folder:
            self._writer.add_folder(entry.name)
            return
        for attempt in range(_TRIES):
            try:
                with _opened(entry.path) as file:
                    if self._steady(entry.name, file, is_last=attempt == _TRIES - 1):
                        break
            except FileNotFoundError:
                return
        self._progress("files", len(self._writer.files))

    def _steady(self, name: str, file: IO[bytes], *, is_last: bool) -> bool:
        """Add a file whose bytes belong together; False when it was written to in place while it was read."""
        found = os.fstat(file.fileno())
        if found.st_size > _SMALL_BYTES:  # packs, sealed segments, pictures: nobody writes in them
            self._writer.add(name, file, found)
            return True
        raw = file.read()
        after = os.fstat(file.fileno())
        if (found.st_mtime_ns, found.st_size) != (after.st_mtime_ns, len(raw)) and not is_last:
            return False
        self._writer.add_bytes(name, raw, after)
        return True

    # -- journal -----------------------------------------------------------------------------------------------------

    def _settle(self, tail: Tail) -> None:
        """Copy pages again until no line names one that was written since it was copied; then the point is fixed."""
        for _ in range(_ROUNDS):
            lines = tail.advance()
            if any(line.type == "purge" for line in lines):
                raise Moved
            paths = {str(line.data.get("path")) for line in lines if line.type == "page"}
            if not paths:
                self.seq = tail.last_seq
                return
            for path in sorted(paths):
                name = f"wiki/{path}"
                if not is_derived(name, with_secrets=True) and is_page(name) and is_safe(name):
                    self._again(name)
        raise Unavailable("Pages are written faster than they can be copied. Try again in a minute.")

    def _again(self, name: str) -> None:
        parent = name
        missing = []
        while (parent := parent.rpartition("/")[0]) and parent not in self._done:
            missing.append(parent)
        for folder in reversed(missing):
            self._done.add(folder)
            self._writer.add_folder(folder)
        self._done.add(name)
        self._add(Entry(name, self._root / name, is_folder=False))

    def _journal(self, tail: Tail) -> None:
        for segment in find_segments(self._data.journal):
            if segment.first_seq is not None and segment.first_seq > self.seq:
                continue
            if segment.path.name.removesuffix(".gz") == (tail.path.name if tail.path else "") and (
                segment.path.parent == (tail.path.parent if tail.path else None)
            ):
                self._last_segment(tail)
            else:
                self._segment(segment)

    def _last_segment(self, tail: Tail) -> None:
        """The segment in which the point lies, up to it, from the file that `tail` holds open."""
        if tail.file is None or tail.path is None or not tail.end:
            return
        tail.file.seek(tail.end - 1)
        if tail.file.read(1) != b"\n":  # the disk refused a write, and it was cut back under us
            raise Moved
        tail.file.seek(0)
        self._copy_segment(tail.path, tail.file, tail.end)

    def _segment(self, segment: Segment) -> None:
        path = segment.path
        try:
            file = path.open("rb")
        except FileNotFoundError:
            path = path.with_suffix(".jsonl.gz")
            file = path.open("rb")
        with file:
            size = os.fstat(file.fileno()).st_size
            if size:
                self._copy_segment(path, file, size)

    def _copy_segment(self, path: Path, file: IO[bytes], size: int) -> None:
        name = path.relative_to(self._root).as_posix()
        for folder in (name.rpartition("/")[0].rpartition("/")[0], name.rpartition("/")[0]):
            if folder not in self._done:
                self._done.add(folder)
                self._writer.add_folder(folder)
        self.lines += _count_lines(file, size, zipped=path.suffix == ".gz")
        file.seek(0)
        self._writer.add(name, file, os.fstat(file.fileno()), size)
        self._done.add(name)
        self.segments += 1
        self._progress("lines", self.lines)


def _opened(path: Path) -> IO[bytes]:
    try:
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unavailable(
            f"{path} can't be read: {error.strerror}. Nothing was backed up; make it readable or move it away."
        ) from error


def _count_lines(file: IO[bytes], size: int, *, zipped: bool) -> int:
    unzip: Callable[[bytes], bytes] = _unzipping() if zipped else bytes
    return sum(unzip(raw).count(b"\n") for raw in _chunks(file, size))


def _chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (raw := file.read(min(_CHUNK, size))):
        size -= len(raw)
        yield raw


def _unzipping() -> Callable[[bytes], bytes]:
    """Decompress piece by piece; what is damaged counts as having no more lines, as it does when it is read."""
    engine = zlib.decompressobj(wbits=31)

    def take(raw: bytes) -> bytes:
        try:
            return engine.decompress(raw)
        except zlib.error:
            return b""

    return take
