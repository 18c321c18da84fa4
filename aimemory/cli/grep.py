"""`grep`: literal text or a pattern over pages and events, from the files themselves."""

import dataclasses
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from aimemory.cli.output import clean, counted, examples, note, print_json, translated
from aimemory.cli.pages import project_option
from aimemory.config import load_place
from aimemory.errors import UserError
from aimemory.model.protocols import rfc3339_local

if TYPE_CHECKING:
    from aimemory.store.grep import Match

PIECE_LIMIT_S = 2.0
"""CPU time that a pattern may take for one piece of a line, of 64 KiB at most."""
_SHOWN_CHARS = 400
_LEAD_CHARS = 120


@click.command(
    epilog=examples(
        "aimemory grep 'connection refused'",
        "aimemory grep -e 'retry(_limit|Count)' -p app",
        "aimemory grep -i todo --journal --json",
    )
    + "\n\nExit codes as of grep: 0 found, 1 found nothing, 2 wrong use."
)
@click.argument("pattern")
@click.option("-e", "--regex", is_flag=True, help="PATTERN is a regular expression (Python's); else it is literal.")
@click.option("-i", "--ignore-case", is_flag=True, help="Take upper and lower case for the same.")
@click.option("-j", "--journal", is_flag=True, help="Look into recorded events too.")
@click.option("-m", "--max-count", type=click.IntRange(1), help="Stop after so many lines.")
@click.option("--absolute", is_flag=True, help="Print whole paths, for editors; by default below the data directory.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@translated
def grep(
    pattern: str, regex: bool, ignore_case: bool, journal: bool, max_count: int | None, absolute: bool,
    project: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Print the lines of all pages that have PATTERN, as file:line:text.

    Reads the files, not the index, and needs no daemon. Without -p all projects are searched.
    """
    from aimemory.store.grep import Ask, Grep

    if not pattern:
        raise UserError("Give a text or a pattern to look for.")
    data = load_place().data
    root = f"{data.root}/" if absolute else ""
    found: list[Match] = []
    count = 0
    with _bounded() as beat:
        try:
            search = Grep(data, Ask(pattern, regex, ignore_case, project, events=journal), beat)
        except (re.error, OverflowError, RecursionError) as error:
            raise UserError(f"That is no regular expression: {error}.") from None
        for match in search.matches():
            count += 1
            if as_json:
                found.append(match)
            else:
                click.echo(f"{_place(match, root)}{_text(match)}")
            if count == max_count:
                break
    if as_json:
        print_json({"matches": [_as_data(match) for match in found], "damaged_lines": search.damaged})
    if search.damaged:
        note(
            f"{counted(search.damaged, 'damaged line')} of the journal could not be read; `aimemory verify` names them."
        )
    sys.exit(0 if count else 1)


def _place(match: "Match", root: str) -> str:
    place = click.style(clean(root + match.file), fg="magenta") + f":{click.style(str(match.line), fg='green')}:"
    if match.seq is None:
        return place
    when = rfc3339_local(match.at_ns or 0)[:19]
    return f"{place}{clean(f'seq {match.seq} {when} {match.harness} {match.kind}, {match.field}')}: "


def _text(match: "Match") -> str:
    """The line, the match marked; of a long one what stands around it."""
    begin = max(0, match.start - _LEAD_CHARS) if len(match.text) > _SHOWN_CHARS else 0
    end = begin + _SHOWN_CHARS
    before, after = match.text[begin : match.start], match.text[match.end : max(end, match.end)]
    middle = match.text[match.start : min(match.end, match.start + _SHOWN_CHARS)]
    more = "…" if end < len(match.text) else ""
    return f"{'…' * bool(begin)}{clean(before)}{click.style(clean(middle), fg='red', bold=True)}{clean(after)}{more}"


def _as_data(match: "Match") -> dict[str, object]:
    data = dataclasses.asdict(match)
    at_ns = data.pop("at_ns")
    return data | {"at": rfc3339_local(at_ns) if at_ns is not None else None}


@contextmanager
def _bounded() -> "Iterator[_Beat]":
    """While it is held, a pattern that takes too long for one piece is given up with an error that says where."""
    beat = _Beat()
    before = signal.signal(signal.SIGVTALRM, beat.over)
    try:
        yield beat
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _Beat:
    """`re` looks for signals while it matches, so the clock's reaches into a match that would never end."""

    def __init__(self) -> None:
        self._where = ""

    def __call__(self, where: str | None) -> None:
        self._where = where or self._where
        signal.setitimer(signal.ITIMER_VIRTUAL, PIECE_LIMIT_S if where else 0)

    def over(self, number: int, frame: FrameType | None) -> None:
        raise UserError(
            f"The pattern took more than {PIECE_LIMIT_S:.0f} s for {self._where}. One with a repeated group in a "
            "repeated group, such as (a+)+, can take for ever: write it without, or leave -e out."
        )
