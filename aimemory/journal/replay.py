"""Reading the journal forward from a position."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

from aimemory.journal.lines import BadLine, Line, decode, last_of
from aimemory.journal.segments import find_segments, open_now


def replay(root: Path, after: int = 0, on_damage: Callable[[str], None] | None = None) -> Iterator[Line]:
    """Every line whose `seq` is greater than `after`, in order.

    A damaged line or an unreadable rest of a segment is named to `on_damage` ("2026/11/0001.jsonl line 17: …") and
    skipped; the lines around it are used. A gap in the sequence is named too, unless a `gone` line stands for it. A
    line without an end is a torn write or one in the writing, no damage.
    """
    segments = find_segments(root)
    expected = after + 1
    for at, segment in enumerate(segments):
        following = segments[at + 1].first_seq if at + 1 < len(segments) else None
        if following is not None and following <= after + 1:
            continue
        name = segment.path.relative_to(root)
        number = 0
        try:
            with open_now(segment.path) as file:
                for raw in file:
                    number += 1
                    try:
                        line = decode(raw)
                    except BadLine as error:
                        if raw.endswith(b"\n"):
                            expected += 1
                            if on_damage:
                                on_damage(f"{name} line {number}: {error}")
                        continue
                    if line.seq > expected and on_damage:
                        on_damage(f"lines {expected} to {line.seq - 1} are missing before {name} line {number}")
                    expected = max(expected, last_of(line) + 1)
                    if line.seq > after:
                        yield line
        except (EOFError, OSError, gzip.BadGzipFile) as error:
            if on_damage:
                on_damage(f"{name} after line {number}: {type(error).__name__}")
