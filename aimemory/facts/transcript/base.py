"""The one way a transcript is read: line by line, in bounded memory, whatever state the file is in.

A format's own knowledge is a `Decoder`; damage, copies of our own text and the privacy boundary are dealt with here.
"""

import errno
import re
import time
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from aimemory.facts.transcript.raw import RawEvent, note_words, sealed
from aimemory.model.event import Event, Json
from aimemory.model.transcript import TranscriptReport
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.privacy.jsonin import parsed

MAX_LINE_BYTES = 16 << 20
"""A longer line is skipped: no record of work is that long, an image or a dump may be."""

_CHUNK = 1 << 20
_BATCH = 64
_MAX_RECOVERED = 8
_MAX_UNKNOWN = 50


class Decoder(Protocol):
    """What is known of one format. `start` is how a record begins, for finding one behind a torn one."""

    name: str
    start: re.Pattern[bytes]

    def passes_over(self, line: bytes) -> str | None:
        """The type of a record that carries nothing, told from its bytes without reading it; else None."""

    def take(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent] | None:
        """What a record tells, oldest first; None for a record of a type that isn't known."""

    def finish(self, report: TranscriptReport) -> list[RawEvent]:
        """What is left to tell at the end of the file."""


class Reading:
    """One file being read: iterate for its events, then look at `report`."""

    def __init__(
        self, file: BinaryIO, decoder: Decoder, *, harness: str, path: str | None = None, prompt_bytes: int = 16384,
        tool_bytes: int = 4096, report: TranscriptReport | None = None, until_s: float | None = None,
    ) -> None:  # fmt: skip
        """report: an earlier file's, to be continued. until_s: monotonic time at which reading is given up."""
        self.report = report or TranscriptReport(format=decoder.name)
        self._file = file
        self._decoder = decoder
        self._harness = harness
        self._path = path
        self._prompt_bytes = prompt_bytes
        self._tool_bytes = tool_bytes
        self._until_s = until_s

    def __iter__(self) -> Iterator[Event]:
        """Events in the file's order. Raises OSError where the file can't be read on, TimeoutError among them."""
        waiting: list[RawEvent] = []
        for line in self._lines():
            waiting += self._events_of(line)
            if len(waiting) >= _BATCH:
                yield from self._seal(waiting)
                waiting = []
        yield from self._seal(waiting + self._decoder.finish(self.report))
        self._clean_report()

    def _clean_report(self) -> None:
        """What the report names in the file's own words goes through the boundary as well."""
        told = self.report
        texts = sanitize_tree([[told.session], [told.cwd], [told.model], [told.version]], leaf_cap_bytes=4096).value
        (told.session,), (told.cwd,), (told.model,), (told.version,) = texts
        told.unknown = {sanitize(kind).value: number for kind, number in told.unknown.items()}

    def _seal(self, raws: list[RawEvent]) -> list[Event]:
        events = sealed(raws, self._harness, self._path, self._prompt_bytes, self._tool_bytes)
        note_words(self.report, events)
        return events

    def _lines(self) -> Iterator[bytes]:
        """Lines without their ends; those that are too long are passed over without being held."""
        rest, too_long = b"", False
        while chunk := self._file.read(_CHUNK):
            if self._until_s is not None and time.monotonic() > self._until_s:
                raise TimeoutError(errno.ETIMEDOUT, "reading took too long")
            self.report.bytes += len(chunk)
            *whole, rest = (rest + chunk if rest else chunk).split(b"\n")
            for line in whole:
                self.report.lines += 1
                if too_long or len(line) > MAX_LINE_BYTES:
                    too_long = False
                    self.report.skip("longer than 16 MiB")
                else:
                    yield line
            if len(rest) > MAX_LINE_BYTES:
                rest, too_long = b"", True
        if rest or too_long:
            self.report.lines += 1
            if too_long:
                self.report.skip("longer than 16 MiB")
            else:
                yield rest

    def _events_of(self, line: bytes) -> list[RawEvent]:
        line = line.strip(b" \t\r\0")
        if not line:
            self.report.skip("empty")
            return []
        if self._decoder.passes_over(line) is not None:
            self.report.records += 1
            return []
        try:
            row = parsed(line)
        except ValueError:
            return self._recovered(line)
        return self._taken(row)

    def _taken(self, row: Json) -> list[RawEvent]:
        if type(row) is not dict:
            self.report.skip("no record")
            return []
        found = self._decoder.take(row, self.report)
        if found is None:
            kind = str(row.get("type"))[:60]
            if kind in self.report.unknown or len(self.report.unknown) < _MAX_UNKNOWN:
                self.report.unknown[kind] = self.report.unknown.get(kind, 0) + 1
            return []
        self.report.records += 1
        return found

    def _recovered(self, line: bytes) -> list[RawEvent]:
        """A record that was torn, perhaps with a whole one behind it on the same line."""
        self.report.skip("damaged")
        for begin in list(self._decoder.start.finditer(line, 1))[:_MAX_RECOVERED]:
            try:
                row = parsed(line[begin.start() :])
            except ValueError:
                continue
            return self._taken(row)
        return []
