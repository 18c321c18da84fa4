"""The journal: every checksum, the sequence, and whether sealed segments are what they were sealed from."""

import gzip
import zlib
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.journal.lines import BadLine, decode, last_of
from aimemory.journal.segments import Segment, find_segments, open_now
from aimemory.upkeep.backup.archive import Progress
from aimemory.upkeep.verify.findings import Findings

_RESTORE = (
    "If a backup holds it, `aimemory backup restore FILE --into DIR` gets it back; else it is lost, the rest is not."
)
_EVERY = 1000
_CHUNK = 1 << 20
_UNREADABLE = (EOFError, OSError, zlib.error)


def check_journal(data: DataDir, findings: Findings, progress: Progress) -> int:
    """Read every line; returns the last line's number. A line that is being written just now is no finding."""
    segments = find_segments(data.journal)
    last = 0
    for at, segment in enumerate(segments):
        findings.counts["segments"] += 1
        last = _segment(data, segment, last, findings, progress, is_newest=at == len(segments) - 1)
        if segment.is_sealed:
            _twin(data, segment, findings)
    return last


def _segment(
    data: DataDir, segment: Segment, last: int, findings: Findings, progress: Progress, *, is_newest: bool
) -> int:
    name = segment.path.relative_to(data.root).as_posix()
    number = 0
    try:
        with open_now(segment.path) as file:
            for number, raw in enumerate(file, 1):
                where = f"{name}:{number}"
                findings.counts["lines"] += 1
                if findings.counts["lines"] % _EVERY == 0:
                    progress("lines", findings.counts["lines"])
                try:
                    line = decode(raw)
                except BadLine as error:
                    if raw.endswith(b"\n"):
                        last += 1
                        findings.add("damage", "journal", where, f"The line is damaged: {error}.", _RESTORE)
                    elif not is_newest:
                        findings.add("note", "journal", where, "A torn write, never acknowledged.", "Nothing to do.")
                    continue
                _sequence(where, line.seq, last, findings)
                last = max(last, last_of(line))
    except _UNREADABLE as error:
        what = f"It can't be read behind line {number}: {type(error).__name__}."
        findings.add("damage", "journal", name, what, _RESTORE)
    return last


def _sequence(where: str, seq: int, last: int, findings: Findings) -> None:
    if seq > last + 1:
        findings.add("damage", "journal", where, f"Lines {last + 1} to {seq - 1} are missing before it.", _RESTORE)
    elif seq <= last:
        what = f"Its number {seq} was given before, or lines were put in another order."
        findings.add("damage", "journal", where, what, "Look at the lines around it; somebody edited the journal.")


def _twin(data: DataDir, segment: Segment, findings: Findings) -> None:
    """A plain file beside its sealed one is left by a crash, and equal; else one of them was changed."""
    plain = segment.path.with_suffix("")
    if not plain.exists():
        return
    name = plain.relative_to(data.root).as_posix()
    if _is_equal(plain, segment.path):
        findings.add("note", "journal", name, "It is sealed already.", "The running daemon removes it.")
    else:
        what = f"It differs from {segment.path.name} beside it, which is the one that is read."
        findings.add("damage", "journal", name, what, "Keep both, and restore the segment from a backup.")


def _is_equal(plain: Path, packed: Path) -> bool:
    try:
        with plain.open("rb") as one, gzip.open(packed, "rb") as other:
            while True:
                mine, theirs = one.read(_CHUNK), other.read(_CHUNK)
                if mine != theirs:
                    return False
                if not mine:
                    return True
    except FileNotFoundError:  # removed meanwhile: it was equal
        return True
    except _UNREADABLE:
        return False
