"""One journal line: its format, version and checksum.

    {"seq":17,"v":1,"type":"observation","at":1796028825407000000,"data":{…},"crc":"5f3a9c01"}

A line is one JSON object, so people can use grep and jq. `crc` is CRC-32 over the bytes before `,"crc":`; it tells a
torn or damaged line from a whole one. `at` is nanoseconds since the epoch. Readers ignore unknown types and keys.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from aimemory.privacy import Sanitized

VERSION = 1

GONE = "gone"
"""Type of a line that stands for a run of lines which were taken out (see `rewrite`): from its `seq` to its `to`."""

_CRC = b',"crc":"'
_TAIL_BYTES = len(_CRC) + 8 + 2  # the checksum's eight digits, then `"}`


@dataclass(frozen=True, slots=True)
class Record:
    """What is to be written: everything in `data` has passed the privacy boundary."""

    type: str
    at_ns: int
    data: Sanitized[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `at_ns` is the instant the line speaks of, for observations the time of capture.

    data_json: `data` as it stands in the line, where the one who has the line has that too.
    """

    seq: int
    type: str
    at_ns: int
    data: dict[str, Any]
    data_json: str | None = field(default=None, compare=False, repr=False)


def last_of(line: Line) -> int:
    """The number up to which a line accounts for the sequence: its own, but for one that stands for others."""
    to = line.data.get("to") if line.type == GONE else None
    return max(line.seq, to) if isinstance(to, int) else line.seq


class BadLine(ValueError):
    """A line that is torn, damaged or not ours; the message never holds its content."""


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # `dumps` would build one each time


def encode_data(data: dict[str, Any]) -> str:
    """The `data` member as compact JSON; characters stay readable, so grep finds words of every script."""
    return _ENCODER.encode(data)


def encode(seq: int, kind: str, at_ns: int, data_json: str) -> bytes:
    """A whole line, line end included, from an already encoded `data`."""
    body = f'{{"seq":{seq},"v":{VERSION},"type":"{kind}","at":{at_ns},"data":{data_json}'.encode()
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def decode(raw: bytes) -> Line:
    """Back from `encode`, with or without the line end. Raises BadLine."""
    raw = raw.rstrip(b"\n")
    cut = len(raw) - _TAIL_BYTES
    if cut <= 0 or raw[cut : cut + len(_CRC)] != _CRC or raw[-2:] != b'"}':
        raise BadLine("no checksum at the end")
    if raw[cut + len(_CRC) : -2] != b"%08x" % crc32(raw[:cut]):
        raise BadLine("checksum does not match")
    try:
        parsed = json.loads(raw)
        return Line(seq=parsed["seq"], type=parsed["type"], at_ns=parsed["at"], data=parsed["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadLine(f"not a journal line: {type(error).__name__}") from error
