"""The daemon's log: one line an event, fields instead of prose, through the privacy boundary, rotated."""

import logging
import logging.handlers
import sys
from pathlib import Path

from aimemory.privacy import sanitize

_FILES = 5
_LINE_BYTES = 16_384
_STANDARD = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}


class SanitizedFormatter(logging.Formatter):
    """`2026-11-30T14:12:05+0100 WARNING aimemory.daemon task failed task=projector`, scrubbed and bounded."""

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in sorted(vars(record).items()) if name not in _STANDARD)
        line = super().format(record)
        head, newline, trace = line.partition("\n")
        text = f"{head} {fields}".rstrip() + newline + trace
        return sanitize(text, cap_bytes=_LINE_BYTES).value


def set_up_logging(path: Path, total_bytes: int, *, foreground: bool) -> None:
    """Send all logging to the file, in the foreground to stderr as well. `total_bytes` bounds all files together."""
    handlers: list[logging.Handler] = [
        logging.handlers.RotatingFileHandler(
            path, maxBytes=max(1 << 16, total_bytes // _FILES), backupCount=_FILES - 1, encoding="utf-8"
        )
    ]
    if foreground:
        handlers.append(logging.StreamHandler(sys.stderr))
    formatter = SanitizedFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    for noisy in ("uvicorn", "mcp", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
