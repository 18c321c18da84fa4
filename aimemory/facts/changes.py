"""Changed files, from what `git status` and `git diff` print for programs."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ENTRIES = 500


@dataclass(frozen=True, slots=True)
class Change:
    """One file. status: git's two letters, index then work tree (` M`, `A `, `UU`, `??`). was: before a rename."""

    status: str
    path: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """The first 500 files in git's order; `more` are left out, and if `at_least`, even that is not all."""

    entries: tuple[Change, ...] = ()
    more: int = 0
    at_least: bool = False

    @property
    def total(self) -> int:
        return len(self.entries) + self.more


@dataclass(frozen=True, slots=True)
class LineCount:
    """Lines added and removed in tracked files since the last commit; binary files count as files only."""

    files: int
    added: int
    removed: int


def read_status(raw: bytes, *, cut: bool) -> tuple[Changes, Changes]:
    """Tracked and untracked changes of `status --porcelain=v2 -z`. cut: the output ended before its end."""
    tracked: list[Change] = []
    untracked: list[Change] = []
    more = [0, 0]
    for change in _changes(raw):
        kind = int(change.status == "??")
        entries = (tracked, untracked)[kind]
        if len(entries) < MAX_ENTRIES:
            entries.append(change)
        else:
            more[kind] += 1
    return Changes(tuple(tracked), more[0], cut), Changes(tuple(untracked), more[1], cut)


def _changes(raw: bytes) -> Iterator[Change]:
    """Whole entries only; the rest of a cut one is dropped. Source: git-status(1), "Porcelain Format Version 2"."""
    fields = iter(raw.split(b"\0")[:-1])
    blanks = {b"1": 8, b"2": 9, b"u": 10}
    for entry in fields:
        kind = entry[:1]
        if kind == b"?":
            yield Change("??", os.fsdecode(entry[2:]))
        elif kind in blanks:
            parts = entry.split(b" ", blanks[kind])
            was = next(fields, None) if kind == b"2" else None
            if len(parts) > blanks[kind] and (kind != b"2" or was is not None):
                status = parts[1].decode("ascii", "replace").replace(".", " ")
                yield Change(status, os.fsdecode(parts[-1]), os.fsdecode(was) if was is not None else None)


def read_numstat(raw: bytes) -> LineCount:
    """The sum of `diff-index --numstat -z --no-renames`."""
    files = added = removed = 0
    for line in raw.split(b"\0")[:-1]:
        plus, minus, *_ = line.split(b"\t", 2)
        files += 1
        added += int(plus) if plus.isdigit() else 0
        removed += int(minus) if minus.isdigit() else 0
    return LineCount(files, added, removed)
