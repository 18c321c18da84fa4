"""Reading the journal backward, a page at a time, for questions about what was done last."""

import gzip
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from aimemory.journal.lines import BadLine, Line, decode
from aimemory.journal.segments import find_segments, open_now

_HEAD_BYTES = 96
"""A line's type stands within these, whatever its number."""


@dataclass(frozen=True, slots=True)
class Page:
    """lines: newest first. next_before: give it as `before` to go on, None at the end. damage: what can't be read."""

    lines: tuple[Line, ...]
    next_before: int | None
    damage: tuple[str, ...]


def newest_first(
    root: Path, *, before: int | None, limit: int, skip: Collection[str], wanted: Callable[[Line], bool]
) -> Page:
    """At most `limit` lines below `before` that are wanted. Blocks; holds one page in memory, however long the journal.

    skip: types that are left out without being looked at, which makes most lines cheap. A segment is read as a whole,
    since a compressed one has no end to begin from.
    """
    skipped = tuple(f'"type":"{name}"'.encode() for name in skip)
    segments = [s for s in find_segments(root) if s.first_seq is not None]
    found: list[Line] = []
    damage: list[str] = []
    for segment in reversed(segments):
        if before is not None and (segment.first_seq or 0) >= before:
            continue
        room = limit + 1 - len(found)  # one more tells whether there is more
        last: deque[Line] = deque(maxlen=room)
        number = 0
        try:
            with open_now(segment.path) as file:
                for raw in file:
                    number += 1
                    head = raw[:_HEAD_BYTES]
                    if any(name in head for name in skipped):
                        continue
                    try:
                        line = decode(raw)
                    except BadLine as error:
                        if raw.endswith(b"\n"):
                            damage.append(f"{segment.path.relative_to(root)} line {number}: {error}")
                        continue
                    if before is not None and line.seq >= before:
                        break
                    if wanted(line):
                        last.append(line)
        except (EOFError, OSError, gzip.BadGzipFile) as error:
            damage.append(f"{segment.path.relative_to(root)} after line {number}: {type(error).__name__}")
        found += reversed(last)
        if len(found) > limit:
            break
    lines = tuple(found[:limit])
    return Page(lines, lines[-1].seq if len(found) > limit else None, tuple(damage))
