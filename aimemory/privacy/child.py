"""The sanitising process: settings, then payload frames in, sanitised values out, until its input is closed."""

import json
import sys

from aimemory.privacy.frames import BROKEN, DONE, HEADER_BYTES, NOT_JSON, read_frame, write_frame
from aimemory.privacy.rules import put_in_force
from aimemory.privacy.sanitize import sanitize_payload
from aimemory.privacy.settings import rules_of


def serve() -> None:
    """Answer frames from standard input on standard output. Ends when the daemon closes the pipe or dies."""
    inward, outward = sys.stdin.buffer, sys.stdout.buffer
    if (table := json.loads(read_frame(inward) or b"{}")) != {}:
        put_in_force(rules_of(table)[0])  # the daemon has checked it
    while (frame := read_frame(inward)) is not None:
        leaf_cap_bytes = int.from_bytes(frame[:HEADER_BYTES], "big")
        write_frame(outward, *_answer(frame[HEADER_BYTES:], leaf_cap_bytes))


def _answer(body: bytes, leaf_cap_bytes: int) -> tuple[bytes, bytes]:
    try:
        clean = sanitize_payload(body, leaf_cap_bytes=leaf_cap_bytes)
    except ValueError as error:
        return NOT_JSON, str(error).encode()
    except (MemoryError, RecursionError) as error:
        return BROKEN, type(error).__name__.encode()
    return DONE, json.dumps([clean.value, dict(clean.counts)], ensure_ascii=False, separators=(",", ":")).encode()
