"""Events that could not be understood: kept sanitised in one bounded file, so that a vendor's change can be seen."""

import json
import os
from pathlib import Path

from aimemory.model.event import Delivery
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.privacy import Sanitized, sanitize

_FILE_BYTES = 5 << 20
_BODY_BYTES = 8192


class Rejects:
    """`rejects.jsonl` and its predecessor, at most 5 MiB each."""

    def __init__(self, folder: Path, clock: Clock) -> None:
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

    def count(self) -> int:
        """Events kept: lines of the file, and what hooks and the drain of the spool put beside it."""
        try:
            beside = sum(1 for entry in self._path.parent.iterdir() if entry.suffix == ".json" and entry.name[0] != ".")
            return beside + (self._path.read_bytes().count(b"\n") if self._path.exists() else 0)
        except OSError:
            return 0
