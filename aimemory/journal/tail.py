"""Following the journal's end from another process, beside the writer and the sealing of segments.

Reads files only and takes no lock: lines are appended whole or cut back, and a segment that is left is never written
again, so the lines up to one number are the same for everybody who reads them.
"""

import gzip
import os
from pathlib import Path
from typing import BinaryIO

from aimemory.journal.lines import BadLine, Line, decode
from aimemory.journal.segments import Segment, find_segments, good_end, last_line


class Tail:
    """The end of the journal: at first where it is now, then wherever `advance` has come.

    last_seq: number of the last line before that point, 0 for none. path: the segment the point lies in, None when that
    is sealed or there is none. end: the point's offset in it, behind a whole line.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.path: Path | None = None
        self.file: BinaryIO | None = None
        self.end = 0
        self.last_seq = 0
        newest = next((s for s in reversed(find_segments(root)) if s.first_seq is not None), None)
        if newest is None or newest.first_seq is None:
            return
        if not newest.is_sealed and (file := self._open(newest.path)) is not None:
            self.end = good_end(newest.path, os.fstat(file.fileno()).st_size)
        last, _ = last_line(newest.path)
        self.last_seq = last.seq if last else newest.first_seq

    def advance(self) -> list[Line]:
        """Move to the present end; returns the whole lines in between. Damaged lines are passed over."""
        later = [s for s in find_segments(self._root) if s.first_seq is not None and s.first_seq > self.last_seq]
        found = self._rest()  # a later segment is begun when this one is left for good
        for segment in later:
            if segment.path.with_suffix("") != self.path and segment.path != self.path:
                found += self._from(segment)
        if found:
            self.last_seq = found[-1].seq
        return found

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def _from(self, segment: Segment) -> list[Line]:
        self.close()
        self.path, self.end = None, 0
        if not segment.is_sealed and self._open(segment.path) is not None:
            return self._rest()
        from_gz = segment.path if segment.is_sealed else segment.path.with_suffix(".jsonl.gz")
        with gzip.open(from_gz, "rb") as file:
            return _decoded(file.read())

    def _open(self, path: Path) -> BinaryIO | None:
        try:
            self.file = path.open("rb")
        except FileNotFoundError:  # sealed since it was listed
            return None
        self.path = path
        return self.file

    def _rest(self) -> list[Line]:
        if self.file is None:
            return []
        self.file.seek(self.end)
        raw = self.file.read()
        whole = raw[: raw.rfind(b"\n") + 1]
        self.end += len(whole)
        return _decoded(whole)


def _decoded(raw: bytes) -> list[Line]:
    found = []
    for one in raw.split(b"\n")[:-1]:
        try:
            found.append(decode(one))
        except BadLine:
            continue
    return found
