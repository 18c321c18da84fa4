"""Taking lines out of segments that nobody appends to any more, or giving them another content.

What goes leaves one line of type `gone` in its place for each run, so that a reader meets no hole in the sequence:

    {"seq":17,"v":1,"type":"gone","at":…,"data":{"to":25,"purge":31},"crc":"…"}

Lines 17 to 25 were taken out by the purge that line 31 tells of. Each segment is replaced whole, by a rename after its
sync: a kill leaves the old or the new one, and rewriting again changes nothing.
"""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aimemory import datadir
from aimemory.journal.lines import GONE, BadLine, Line, decode, encode, encode_data
from aimemory.journal.segments import Segment, find_segments, open_now

Decide = Callable[[Line], dict[str, Any] | None]
"""The data that a line shall have: its own object if it stays as it is, None if the line goes."""

MayConcern = Callable[[bytes], bool]
"""Whether a raw line may be one that is decided about; False leaves it unread."""


@dataclass(slots=True)
class Rewritten:
    """lines: taken out, by type. changed: given another content, by type. segments: files that were replaced."""

    lines: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    segments: int = 0


def rewrite(root: Path, before: int, purge: int, at_ns: int, decide: Decide, may_concern: MayConcern) -> Rewritten:
    """Apply `decide` to every whole line in segments that begin before line `before`.

    purge: the line that says why. Damaged lines stay as they are, byte for byte. Blocks; the caller sees to it that
    nobody appends to those segments or seals them meanwhile. Raises OSError when the disk refuses: what was replaced
    until then is replaced.
    """
    done = Rewritten()
    for temp in root.rglob(f"{datadir.TEMP_PREFIX}*"):  # what a kill in the midst of sealing has left
        temp.unlink(missing_ok=True)
    for segment in find_segments(root):
        if segment.first_seq is not None and segment.first_seq < before:
            _segment(segment, purge, at_ns, decide, may_concern, done)
    for plain in root.glob("[0-9]*/[0-9]*/[0-9]*.jsonl"):
        if plain.with_suffix(
            ".jsonl.gz"
        ).exists():  # what sealing had not yet removed; the other is the one that counts
            plain.unlink()
    return done


def survey(root: Path, decide: Decide, may_concern: MayConcern) -> Rewritten:
    """What `rewrite` would do to the journal as it is now; changes nothing. Blocks."""
    done = Rewritten()
    for segment in find_segments(root):
        for _ in _pieces(segment, decide, may_concern, done):
            pass
    return done


def _segment(
    segment: Segment, purge: int, at_ns: int, decide: Decide, may_concern: MayConcern, done: Rewritten
) -> None:
    here = Rewritten()
    if not sum(is_new for _, is_new in _pieces(segment, decide, may_concern, here)):
        return
    path = segment.path if segment.path.exists() else segment.path.with_suffix(".jsonl.gz")
    temp = path.with_name(datadir.TEMP_PREFIX + path.name)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as target:
            zipped = gzip.GzipFile(fileobj=target, mode="wb", mtime=0, filename="") if path.suffix == ".gz" else None
            with zipped or nullcontext(target) as out:
                for raw in _closed_up(segment, purge, at_ns, decide, may_concern):
                    out.write(raw)
            target.flush()
            datadir.sync_fd(target.fileno())
        temp.replace(path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    datadir.sync_dir(path.parent)
    done.segments += 1
    for kind, count in here.lines.items():
        done.lines[kind] = done.lines.get(kind, 0) + count
    for kind, count in here.changed.items():
        done.changed[kind] = done.changed.get(kind, 0) + count


def _closed_up(segment: Segment, purge: int, at_ns: int, decide: Decide, may_concern: MayConcern) -> Iterator[bytes]:
    """The segment's new lines, with one line for each run of those that go."""
    first = last = 0
    for piece, _ in _pieces(segment, decide, may_concern, Rewritten()):
        if isinstance(piece, int):
            if not first:
                first = piece
            elif piece != last + 1:
                yield _gone(first, last, purge, at_ns)
                first = piece
            last = piece
            continue
        if first:
            yield _gone(first, last, purge, at_ns)
            first = 0
        yield piece
    if first:
        yield _gone(first, last, purge, at_ns)


def _pieces(
    segment: Segment, decide: Decide, may_concern: MayConcern, counted: Rewritten
) -> Iterator[tuple[bytes | int, bool]]:
    """Each line's bytes as they shall be, or its number where it goes; and whether that is something new."""
    with open_now(segment.path) as file:
        for raw in file:
            if not may_concern(raw):
                yield raw, False
                continue
            if not raw.endswith(b"\n"):  # a torn write, never acknowledged
                yield b"", True
                continue
            try:
                line = decode(raw)
            except BadLine:
                yield raw, False
                continue
            data = line.data if line.type == GONE else decide(line)
            if data is line.data:
                yield raw, False
            elif data is None:
                counted.lines[line.type] = counted.lines.get(line.type, 0) + 1
                yield line.seq, True
            else:
                counted.changed[line.type] = counted.changed.get(line.type, 0) + 1
                yield encode(line.seq, line.type, line.at_ns, encode_data(data)), True


def _gone(first: int, last: int, purge: int, at_ns: int) -> bytes:
    return encode(first, GONE, at_ns, encode_data({"to": last, "purge": purge}))
