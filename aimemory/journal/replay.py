"""Reading the journal forward from a position."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from aimemory.journal.lines import BadLine, Line, decode
from aimemory.journal.segments import find_segments, open_segment


def replay(root: Path, after: int = 0, on_damage: Callable[[str], None] | None = None) -> Iterator[Line]:
    """Every line whose `seq` is greater than `after`, in order.

    A damaged line or an unreadable rest of a segment is named to `on_damage` ("2026/11/0001.jsonl line 17: …") and
    skipped; the lines around it are used. The end of the segment that is being written is no damage.
    """
    segments = find_segments(root)
    for at, segment in enumerate(segments):
        following = segments[at + 1].first_seq if at + 1 < len(segments) else None
        if following is not None and following <= after + 1:
            continue
        last = at + 1 == len(segments)
        name = segment.path.relative_to(root)
        number = 0
        try:
            with _open_now(segment.path) as file:
                for raw in file:
                    number += 1
                    try:
                        line = decode(raw)
                    except BadLine as error:
                        if on_damage and not (last and not raw.endswith(b"\n")):
                            on_damage(f"{name} line {number}: {error}")
                        continue
                    if line.seq > after:
                        yield line
        except (EOFError, OSError, gzip.BadGzipFile) as error:
            if on_damage:
                on_damage(f"{name} after line {number}: {type(error).__name__}")


def _open_now(path: Path) -> BinaryIO:
    """The segment, also when it was sealed since the folder was listed."""
    try:
        return open_segment(path)
    except FileNotFoundError:
        return open_segment(path.with_suffix(".jsonl.gz"))
