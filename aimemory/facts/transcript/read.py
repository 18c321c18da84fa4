"""A session's transcripts as one list of events: the file itself, what it goes on in, and its sub-agents' files."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from aimemory.facts.known import Unknown
from aimemory.facts.transcript.base import Decoder, Reading
from aimemory.facts.transcript.claude import ClaudeDecoder
from aimemory.facts.transcript.codex import CodexDecoder
from aimemory.facts.transcript.locate import continued_in, is_in_place, open_transcript, sub_transcripts
from aimemory.model.event import Event
from aimemory.model.transcript import TranscriptReport, TranscriptSource

FORMATS: Mapping[str, type[ClaudeDecoder] | type[CodexDecoder]] = {"claude": ClaudeDecoder, "codex": CodexDecoder}
"""Readers by the name that a harness's data gives."""

MAX_BYTES = 512 << 20
"""All files of a session together; what lies beyond is not read, and that is said."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """events: by time, those without one where they stood. paths: the files read. problems: of those that were not."""

    events: tuple[Event, ...]
    report: TranscriptReport
    paths: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    source: TranscriptSource
    home: str
    env: Mapping[str, str]
    until_s: float | None


def read_transcript(
    source: TranscriptSource, path: str, *, session: str | None, home: str, env: Mapping[str, str],
    limit_s: float | None = None,
) -> Transcript | Unknown:  # fmt: skip
    """Everything that the harness recorded of a session, or why it can't be known. Blocking; raises nothing.

    path: as a hook named it; session: the harness's own id of it, so that rows copied from other sessions are told
    apart and a younger file of the same session is found. limit_s: for all of it; what takes longer isn't known.
    """
    until_s = None if limit_s is None else time.monotonic() + limit_s
    place = _Place(source, home, env, until_s)
    if source.format not in FORMATS:
        return Unknown(f"the format {source.format!r} is not supported")
    decoder = FORMATS[source.format](session)
    main = _read(place, path, decoder, None)
    is_ours = is_in_place(source, path, home=home, env=env)  # else not even the files beside it are looked at
    later = continued_in(path, session) if session and is_ours else None
    if isinstance(main, Unknown) and later is None:
        return main
    events, report, paths, problems = _start(main, path, source)
    for other in [*([later] if later else []), *sub_transcripts(path)]:
        if report.bytes > MAX_BYTES:
            problems.append("more than 512 MiB in all: the rest was not read")
            break
        own = decoder if other == later else FORMATS[source.format](None)
        found = _read(place, other, own, report if other == later else None)
        if isinstance(found, Unknown):
            problems.append(f"{PurePosixPath(other).name}: {found.reason}")
            continue
        events += found[0]
        paths.append(other)
        if other != later:
            _add(report, found[1])
    if not report.is_understood:
        kinds = ", ".join(list(report.unknown)[:5]) or "no records"
        return Unknown(f"its format is not supported ({kinds})")
    return Transcript(tuple(_by_time(events)), report, tuple(paths), tuple(problems))


def _start(
    main: tuple[list[Event], TranscriptReport] | Unknown, path: str, source: TranscriptSource
) -> tuple[list[Event], TranscriptReport, list[str], list[str]]:
    if isinstance(main, Unknown):
        return [], TranscriptReport(format=source.format), [], [f"{PurePosixPath(path).name}: {main.reason}"]
    return list(main[0]), main[1], [path], []


def _read(
    place: _Place, path: str, decoder: Decoder, report: TranscriptReport | None
) -> tuple[list[Event], TranscriptReport] | Unknown:
    opened = open_transcript(place.source, path, home=place.home, env=place.env)
    if isinstance(opened, Unknown):
        return opened
    with opened as file:
        harness = place.source.harness
        reading = Reading(file, decoder, harness=harness, path=path, report=report, until_s=place.until_s)
        try:
            return list(reading), reading.report
        except OSError as error:
            return Unknown(f"it can't be read ({error.strerror})")


def _add(report: TranscriptReport, other: TranscriptReport) -> None:
    """A sub-agent's file: its work counts, its words and times are its own."""
    report.bytes += other.bytes
    report.lines += other.lines
    report.records += other.records
    for into, counts in (
        (report.skipped, other.skipped),
        (report.unknown, other.unknown),
        (report.tokens, other.tokens),
    ):
        for key, number in counts.items():
            into[key] = into.get(key, 0) + number


def _by_time(events: list[Event]) -> list[Event]:
    at_ns = 0
    keyed = []
    for number, event in enumerate(events):
        at_ns = event.at_ns or at_ns
        keyed.append((at_ns, number, event))
    return [event for _, _, event in sorted(keyed, key=lambda item: item[:2])]
