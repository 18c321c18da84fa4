"""Length-prefixed frames between the daemon and its sanitising process: what both ends must agree on."""

from typing import IO

HEADER_BYTES = 8
DONE, NOT_JSON, BROKEN = b"D", b"J", b"B"
"""First byte of an answer: the sanitised value, a payload that is no JSON, a failure of ours."""


def write_frame(stream: IO[bytes], *parts: bytes) -> None:
    """One frame made of the parts. Raises OSError when nobody reads any more."""
    stream.write(sum(map(len, parts)).to_bytes(HEADER_BYTES, "big"))
    for part in parts:
        stream.write(part)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame, or None when the other end is gone, also in the middle of a frame."""
    header = stream.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "big")
    body = stream.read(size)
    return body if len(body) == size else None
