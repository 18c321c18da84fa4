"""Events that could not be understood, so that a vendor's change can be seen: sanitised in one file, and files of the
spool that are none. Both are bounded."""

import json
import os
import stat
from pathlib import Path

from aimemory.datadir import write_atomic
from aimemory.model.event import Delivery
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.privacy import Sanitized, sanitize

_FILE_BYTES = 5 << 20
_BODY_BYTES = 8192
_TAKEN_BYTES = 10 << 20
_TAKEN_FILES = 10_000
_LEAVE = 0.9
"""What is too much goes down to this part of the bound, so that the next time is many files away."""
_FORCED_OUT = ".forced-out"
"""JSON: how many files the bound has removed."""


class Rejects:
    """`rejects.jsonl` and its predecessor, at most 5 MiB each; beside them files of the spool, at most 10 MiB and
    10,000, of which the oldest go first and the newest stays whatever its size."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self._taken: tuple[int, int] | None = None
        self._counted: tuple[tuple[int, int, int], int] | None = None
        self._path = folder / "rejects.jsonl"
        self._clock = clock

    def keep(self, delivery: Sanitized[Delivery], body: bytes, reason: str) -> None:
        """Append one event. Blocks. A full disk loses the reject, never the daemon."""
        text = sanitize(body[: 4 * _BODY_BYTES].decode("utf-8", "replace"), cap_bytes=_BODY_BYTES)
        entry = {
            "at": rfc3339_local(self._clock.now_ns()), "harness": delivery.value.harness, "event": delivery.value.event,
            "reason": reason, "bytes": len(body), "body": text.value,
        }  # fmt: skip
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        try:
            if self._path.exists() and self._path.stat().st_size + len(line) > _FILE_BYTES:
                self._path.replace(self._path.with_suffix(".1.jsonl"))
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
        except OSError:
            return

    def take(self, path: Path) -> None:
        """Take over a file of the spool that is no event. Blocks. Raises OSError when it can't be moved."""
        files, total = self._taken or self._sizes()[1:]
        size = path.lstat().st_size
        path.replace(self.folder / path.name)
        self._taken = files + 1, total + size
        if self._taken[0] > _TAKEN_FILES or self._taken[1] > _TAKEN_BYTES:
            self._make_room()

    def _make_room(self) -> None:
        found, files, total = self._sizes()
        gone = 0
        for _, place, size in found[:-1]:
            if files <= _TAKEN_FILES * _LEAVE and total <= _TAKEN_BYTES * _LEAVE:
                break
            try:
                Path(place).unlink()
            except OSError:  # a folder, for instance: that is for a person to look at
                continue
            files, total, gone = files - 1, total - size, gone + 1
        self._taken = files, total
        if gone:
            write_atomic(self.folder / _FORCED_OUT, json.dumps({"files": self.forced_out() + gone}).encode() + b"\n")

    def _sizes(self) -> tuple[list[tuple[str, str, int]], int, int]:
        """Name, path and bytes of each file that was taken over, oldest first; how many, and bytes in all."""
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.name[0] != ".":
                    info = entry.stat(follow_symlinks=False)
                    found.append((entry.name, entry.path, info.st_size if stat.S_ISREG(info.st_mode) else 0))
        return sorted(found), len(found), sum(size for _, _, size in found)

    def forced_out(self) -> int:
        """How many files the bound has removed. Blocks."""
        try:
            return int(json.loads((self.folder / _FORCED_OUT).read_bytes())["files"])
        except (OSError, ValueError, TypeError, KeyError, OverflowError):
            return 0

    def count(self) -> int:
        """Events kept: lines of the file, and what hooks and the drain of the spool put beside it. Blocks; while
        nothing changes it looks at two names."""
        try:
            folder, log = self.folder.stat(), self._path.stat() if self._path.exists() else None
            seen = (folder.st_mtime_ns, log.st_mtime_ns if log else 0, log.st_size if log else 0)
            if self._counted is None or self._counted[0] != seen:
                beside = sum(
                    1 for entry in os.scandir(self.folder) if entry.name.endswith(".json") and entry.name[0] != "."
                )
                lines = self._path.read_bytes().count(b"\n") if log else 0
                self._counted = seen, beside + lines
            return self._counted[1]
        except OSError:
            return 0
