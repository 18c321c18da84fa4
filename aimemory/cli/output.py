"""How the command line prints: data to stdout, notes and errors to stderr, `--json` with the fields of HTTP."""

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from aimemory.errors import AimemoryError, Conflict
from aimemory.sessions.quoting import INVISIBLE

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """The `--json` flag, the same on every command that prints data."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON with the fields of the HTTP API.")(command)


def examples(*commands: str) -> str:
    """The end of a command's help: one example a line, never wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def counted(number: int, one: str, many: str | None = None) -> str:
    """ "1 page", "2 pages"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def print_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """Something a person may want to know, that a script doesn't read."""
    click.echo(text, err=True)


def translated(command: F) -> F:
    """The one translator of errors to the terminal: the message on stderr, the documented exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except AimemoryError as error:
            note(f"aimemory: {error}")
            if isinstance(error, Conflict) and error.version:
                note(f"aimemory: the page is now at version {error.version}.")
            if isinstance(error, Conflict) and error.kept:
                note(f"aimemory: what you wrote is kept; `aimemory conflicts {error.kept}` shows it.")
            sys.exit(error.exit_code)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(0)

    return run  # type: ignore[return-value]


def clean(text: str) -> str:
    """Recorded text for a terminal: no escape sequences, no control characters but line ends and tabs, none that hide
    or reorder others."""
    return INVISIBLE.sub("", text.replace("\r", ""))


def cleaned(value: Any) -> Any:
    """A JSON value with `clean` applied to every text and key: names in it came from other programs."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value
