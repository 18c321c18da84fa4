"""`project explain-capture`: what would be kept of an event, and by which line of which file."""

import sys
from pathlib import Path
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import cleaned, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import load_config
from aimemory.errors import UserError
from aimemory.harness.decode import decode
from aimemory.harness.registry import load_registry
from aimemory.model.event import Delivery
from aimemory.privacy import sanitize_payload, sanitize_tree

_COLOURS = {"full": "green", "metadata": "yellow", "drop": "red"}


@click.command(
    "explain-capture",
    epilog=examples(
        "aimemory project explain-capture ~/app --path secrets/key",
        "aimemory project explain-capture --command 'cat src/a.py | head'",
        "aimemory project explain-capture --event claude-code:PostToolUse < event.json",
    ),
)
@click.argument("directory", required=False, type=click.Path(resolve_path=True))
@click.option("--path", "paths", multiple=True, metavar="FILE", help="A tool that reads or writes this file.")
@click.option("--command", help="A shell command.")
@click.option("--event", metavar="HARNESS:EVENT", help="An event as this agent's hook sends it, from standard input.")
@json_option
@translated
def explain_capture(
    directory: str | None, paths: tuple[str, ...], command: str | None, event: str | None, as_json: bool
) -> None:
    """Explain what is recorded in a directory: the rules with file and line, and what becomes of an event. Records
    nothing. Without an event, one that touches no file is meant, such as a prompt."""
    body: dict[str, Any] = {"paths": list(paths), "command": command}
    if event:
        if paths or command:
            raise UserError("Give an event, or paths and a command, not both.")
        body = _from_event(event)
    where = directory or body.pop("cwd", None) or here()
    if where is None:
        raise UserError("The working directory does not exist any more. Name another one.")
    body["cwd"] = str(Path(where).absolute())
    found = Client(load_config()).post("/api/v1/capture/explain", body)
    if as_json:
        print_json(found)
        return
    _print(cleaned(found))


def _from_event(named: str) -> dict[str, Any]:
    """What a hook's payload touches, read by the agent's data file as the daemon does it."""
    harness, sign, name = named.partition(":")
    if not sign or not name:
        raise UserError("--event takes HARNESS:EVENT, such as claude-code:PostToolUse.")
    try:
        payload = sanitize_payload(sys.stdin.buffer.read())
    except ValueError as error:
        raise UserError(f"Standard input is not JSON: {error}") from None
    said = sanitize_tree([harness, name]).derive(lambda texts: Delivery(*texts))
    big = 1 << 20
    event = decode(payload, said, load_registry().get(harness), prompt_bytes=big, tool_bytes=big).value
    return {
        "cwd": event.cwd, "paths": [*event.files_written, *event.files_read], "command": event.command,
        "tool": event.tool, "input": {"input": event.input, "more": event.extra} if event.tool else event.extra or None,
        "output": "\n".join(filter(None, (event.output, event.error))) or None,
    }  # fmt: skip


def _print(found: dict[str, Any]) -> None:
    verdict = found["verdict"]
    click.echo(f"{click.style(found['project'], bold=True)}  {found['directory']}")
    if found["off_by"]:
        click.echo(f"  Nothing is recorded here: `aimemory off {found['off_by']}` holds.")
    if found["settings_mode"] != "full":
        click.echo(f'  capture.mode = "{found["settings_mode"]}" in {found["settings_file"] or "the environment"}')
    click.echo(f"  Rules of {found['file']}" if found["file"] else "  No .aimemory.toml here says anything of capture.")
    for rule in found["rules"]:
        line = f"line {rule['line']}" if rule["line"] else ""
        click.echo(f"    {line:<9} {rule['setting']:<9} {rule['value']}")
    if len(found["work_trees"]) > 1:
        click.echo(f"  They hold in {counted(len(found['work_trees']), 'work tree')}: {', '.join(found['work_trees'])}")
    for problem in found["problems"]:
        note(f"Problem: {problem}")
    click.echo(f"Such an event is {click.style(verdict['said'], fg=_COLOURS[verdict['level']])}.")
