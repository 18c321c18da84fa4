"""Reading the journal forward from a position."""

import gzip
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from aimemory.journal.lines import BadLine, Line, decode, last_of
from aimemory.journal.segments import find_segments, open_now

_NEAR_BYTES = 64 << 10
"""So much may be read and decoded in vain."""


def replay(root: Path, after: int = 0, on_damage: Callable[[str], None] | None = None) -> Iterator[Line]:
    """Every line whose `seq` is greater than `after`, in order.

    A damaged line or an unreadable rest of a segment is named to `on_damage` ("2026/11/0001.jsonl line 17: …") and
    skipped; the lines around it are used. A gap in the sequence is named too, unless a `gone` line stands for it. A
    line without an end is a torn write or one in the writing, no damage. What lies before `after` in a segment that
    is not compressed is not read, so a look at the newest lines costs the same however many there are.
    """
    segments = find_segments(root)
    expected = after + 1
    for at, segment in enumerate(segments):
        following = segments[at + 1].first_seq if at + 1 < len(segments) else None
        if following is not None and following <= after + 1:
            continue
        name = segment.path.relative_to(root)
        number = 0
        begun = 0
        try:
            with open_now(segment.path) as file:
                if after and (begun := _place_before(file, after)):
                    file.seek(begun)
                for raw in file:
                    number += 1
                    try:
                        line = decode(raw)
                    except BadLine as error:
                        if raw.endswith(b"\n"):
                            expected += 1
                            if on_damage:
                                on_damage(f"{name} line {_lines_before(segment.path, begun) + number}: {error}")
                        continue
                    if line.seq > expected and on_damage:
                        here = _lines_before(segment.path, begun) + number
                        on_damage(f"lines {expected} to {line.seq - 1} are missing before {name} line {here}")
                    expected = max(expected, last_of(line) + 1)
                    if line.seq > after:
                        yield line
        except (EOFError, OSError, gzip.BadGzipFile) as error:
            if on_damage:
                on_damage(f"{name} after line {_lines_before(segment.path, begun) + number}: {type(error).__name__}")


def _place_before(file: BinaryIO, after: int) -> int:
    """Offset of a whole line up to number `after`, close before what follows that number; 0 if there is no such line.

    Numbers rise within a segment, so halving finds it. A compressed one has to be read from its beginning anyway.
    """
    if not isinstance(file, io.BufferedReader):
        return 0
    low, high = 0, file.seek(0, os.SEEK_END)
    while high - low > _NEAR_BYTES:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()  # the rest of a line
        found = _next_whole(file, high)
        if found is not None and found[1] <= after:
            low = found[0]
        else:
            high = middle
    file.seek(0)
    return low


def _next_whole(file: BinaryIO, end: int) -> tuple[int, int] | None:
    """Offset and number of the next line that is not damaged and begins before `end`."""
    while (offset := file.tell()) < end:
        try:
            return offset, decode(file.readline()).seq
        except BadLine:
            continue
    return None


def _lines_before(path: Path, offset: int) -> int:
    """How many lines a segment has before this offset: read only when damage has to be named."""
    if not offset:
        return 0
    with open_now(path) as file:
        return sum(file.read(min(_NEAR_BYTES, offset - at)).count(b"\n") for at in range(0, offset, _NEAR_BYTES))
