"""The segment files, and appending to them.

`journal/2026/11/0001.jsonl`: the month is the one in which the segment was opened. A full segment is left behind and
later compressed to `.jsonl.gz`. Segments are ordered by their first `seq`, never by name: clocks go backwards.
All methods block; the writer calls them from the one thread that owns the journal.
"""

import gzip
import io
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aimemory import datadir, points
from aimemory.errors import Unavailable
from aimemory.journal.lines import BadLine, Line, decode, encode, last_of
from aimemory.model.protocols import instant

_TAIL_BYTES = (64 << 10, 8 << 20)
"""How much of a segment's end is looked at; more only where the first is one long line, or damaged throughout."""
_DAMAGE_KEPT = 20


@dataclass(frozen=True, slots=True)
class Segment:
    """One file and the first sequence number in it (None while it is empty)."""

    path: Path
    first_seq: int | None

    @property
    def is_sealed(self) -> bool:
        return self.path.suffix == ".gz"


def open_segment(path: Path) -> BinaryIO:
    """A segment for reading, compressed or not."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def find_segments(root: Path) -> list[Segment]:
    """All segments in the order of the sequence. A plain file beside its finished compressed twin is left out.

    Decided from one listing: a file that is compressed meanwhile stays in it, and is read from its twin.
    """
    names = {path for path in root.glob("[0-9]*/[0-9]*/[0-9]*.jsonl*") if path.suffix in (".jsonl", ".gz")}
    found = [
        Segment(path, _first_seq(path))
        for path in names
        if path.suffix == ".gz" or path.with_suffix(".jsonl.gz") not in names
    ]
    return sorted(found, key=lambda s: (s.first_seq is None, s.first_seq or 0, str(s.path)))


def open_now(path: Path) -> BinaryIO:
    """As `open_segment`, also when the segment was sealed since the folder was listed."""
    try:
        return open_segment(path)
    except FileNotFoundError:
        return open_segment(path.with_suffix(".jsonl.gz"))


def _first_seq(path: Path) -> int | None:
    try:
        with open_now(path) as file:
            for raw in file:
                try:
                    return decode(raw).seq
                except BadLine:
                    continue
    except (EOFError, OSError, gzip.BadGzipFile):
        return None
    return None


class Journal:
    """The append end of the journal.

    next_seq: the number the next line gets. segment_bytes: size at which a new segment is begun. ended_with: the last
    line that `open` found, None where there is none or damage comes behind it.
    torn_bytes: what `open` cut from the end of the last segment: a write that was never acknowledged. damage: what
    happened to segments since, in sentences.
    """

    def __init__(self, root: Path, segment_bytes: int, now_ns: Callable[[], int]) -> None:
        self._root = root
        self._segment_bytes = segment_bytes
        self._now_ns = now_ns
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._size = 0
        self.next_seq = 1
        self.torn_bytes = 0
        self.ended_with: Line | None = None
        self.damage: list[str] = []

    @property
    def last_seq(self) -> int:
        return self.next_seq - 1

    @property
    def current(self) -> Path | None:
        """The segment that is being written, or None before the first line."""
        return self._path

    def open(self) -> None:
        """Find the end of the journal and cut a torn write off it. Raises Unavailable if it can't be read.

        A segment in which no line is whole is evidence of damage and is left as it is; writing goes on in a new one.
        """
        newest = next((s for s in reversed(find_segments(self._root)) if s.first_seq is not None), None)
        if newest is None or newest.first_seq is None:
            return
        last, damaged = last_line(newest.path)
        self.ended_with = last if not damaged else None
        self.next_seq = (last_of(last) if last else newest.first_seq) + damaged + 1
        if not newest.is_sealed:
            self._recover(newest.path)

    def skip_to(self, seq: int) -> None:
        """Never give a number up to `seq` again: somebody has seen a line of that number that is no longer here."""
        self.next_seq = max(self.next_seq, seq + 1)

    def append(self, lines: Sequence[tuple[str, int, str]]) -> list[int]:
        """Write (type, at_ns, data JSON) lines and make them durable; returns their sequence numbers.

        All or nothing: when the disk refuses, the file is cut back to where it was and Unavailable is raised.
        """
        try:
            file = self._writable()
        except OSError as error:
            raise Unavailable(f"The journal can't be written: {error.strerror}. Nothing was stored.") from error
        seqs = list(range(self.next_seq, self.next_seq + len(lines)))
        block = b"".join([encode(s, kind, at, data) for s, (kind, at, data) in zip(seqs, lines, strict=True)])
        try:
            _write_all(file.fileno(), block)
            points.reached("journal.written")
            datadir.sync_fd(file.fileno())
        except OSError as error:
            self._cut_back(file, seqs[-1])
            raise Unavailable(f"The journal can't be written: {error.strerror}. Nothing was stored.") from error
        self._size += len(block)
        self.next_seq = seqs[-1] + 1
        points.reached("journal.synced")
        return seqs

    def leave_segment(self) -> None:
        """Begin a new segment with the next line: those so far are written no more, and may be rewritten."""
        self.close()
        self._path = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _writable(self) -> BinaryIO:
        month = instant(self._now_ns()).strftime("%Y/%m")
        if self._file is not None and self._path is not None:
            same = month <= str(self._path.parent.relative_to(self._root))
            if self._size < self._segment_bytes and (same or self._size == 0) and self._is_in_place(self._file):
                return self._file
            self.close()
        folder = self._root / month
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = [int(p.name.split(".")[0]) for p in folder.glob("[0-9]*.jsonl*") if p.name.split(".")[0].isdigit()]
        self._path = folder / f"{max(taken, default=0) + 1:04d}.jsonl"
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(fd, "ab", buffering=0)
        self._size = 0
        points.reached("journal.segment-begun")
        for made in (folder, folder.parent, self._root):
            datadir.sync_dir(made)
        return self._file

    def _is_in_place(self, file: BinaryIO) -> bool:
        """Whether the open segment still has its name: what is written into one that somebody removed is gone."""
        assert self._path is not None
        try:
            found, held = self._path.stat(), os.fstat(file.fileno())
        except FileNotFoundError:
            found, held = None, None
        if found is not None and held is not None and os.path.samestat(found, held):
            return True
        self.damage.append(f"{self._path} was removed or replaced while it was written; a new segment was begun.")
        del self.damage[:-_DAMAGE_KEPT]
        return False

    def _recover(self, path: Path) -> None:
        size = path.stat().st_size
        good = good_end(path, size)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"{path} can't be written: {error.strerror}. Check its permissions.") from error
        self._file = os.fdopen(fd, "ab", buffering=0)
        self._path, self._size = path, good
        if good < size:
            self.torn_bytes = size - good
            os.ftruncate(fd, good)
            points.reached("journal.torn-cut")
            os.fsync(fd)

    def _cut_back(self, file: BinaryIO, last_tried: int) -> None:
        try:
            os.ftruncate(file.fileno(), self._size)
            os.fsync(file.fileno())
        except OSError:  # what is on disk is unknown now: leave this segment and its numbers behind
            self.close()
            self.next_seq = last_tried + 1


def _write_all(fd: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(fd, view) :]


def good_end(path: Path, size: int) -> int:
    """Offset behind the last line end. What follows it is a torn write, never acknowledged.

    A whole line that is damaged stays: it may have been acknowledged, and is named when the journal is read.
    """
    with path.open("rb") as file:
        for window in (*_TAIL_BYTES, size):
            start = max(0, size - window)
            file.seek(start)
            cut = file.read().rfind(b"\n")
            if cut >= 0:
                return start + cut + 1
    return 0


def last_line(path: Path) -> tuple[Line | None, int]:
    """The last whole line of a segment that can be read, and how many damaged ones follow it."""
    last, damaged = None, 0
    for window in _TAIL_BYTES:
        last, damaged = None, 0
        try:
            with open_now(path) as file:
                if isinstance(file, io.BufferedReader):
                    _skip_to_tail(file, window)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        break
                    try:
                        last, damaged = decode(raw), 0
                    except BadLine:
                        damaged += 1
        except (EOFError, OSError, gzip.BadGzipFile):
            pass
        if last is not None:
            break
    return last, damaged


def _skip_to_tail(file: BinaryIO, window: int) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - window))
    if size > window:
        file.readline()


def seal(root: Path) -> list[Path]:
    """Compress every segment but the newest, and drop plain twins of finished ones; returns the new files.

    The newest is left alone because the writer may be in it, whatever it has begun since this was called: a later
    segment is only begun when an earlier one is left for good. A crash at any point leaves the plain file or both: the
    compressed one appears by a rename after its sync.
    """
    segments = find_segments(root)
    newest = max((s.first_seq for s in segments if s.first_seq is not None), default=0)
    old = {s.path for s in segments if s.first_seq is not None and s.first_seq < newest and not s.is_sealed}
    made = []
    for path in sorted(root.glob("[0-9]*/[0-9]*/[0-9]*.jsonl")):
        if path not in old and not path.with_suffix(".jsonl.gz").exists():
            continue
        packed = path.with_suffix(".jsonl.gz")
        if not packed.exists():
            temp = path.with_name(datadir.TEMP_PREFIX + path.name)
            with path.open("rb") as source, temp.open("wb") as target:
                with gzip.GzipFile(fileobj=target, mode="wb", mtime=0, filename="") as zipped:
                    shutil.copyfileobj(source, zipped, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
            temp.chmod(0o600)
            points.reached("seal.packed")
            temp.replace(packed)
            datadir.sync_dir(path.parent)
            points.reached("seal.named")
            made.append(packed)
        path.unlink()
        points.reached("seal.plain-removed")
        datadir.sync_dir(path.parent)
    return made
