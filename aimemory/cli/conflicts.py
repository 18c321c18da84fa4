"""`conflicts`: what could not be written since the page had changed."""

import sys
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.config import load_config
from aimemory.errors import UserError


@click.command(
    epilog=examples(
        "aimemory conflicts", "aimemory conflicts 1f2e3f9a --diff", "aimemory conflicts 1f2e3f9a > mine.md",
        "aimemory conflicts 1f2e3f9a --drop --apply",
    )
)  # fmt: skip
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--diff", is_flag=True, help="Show how the text differs from the page as it is now.")
@click.option("--all", "with_settled", is_flag=True, help="List also those whose writer has written the page since.")
@click.option("--drop", is_flag=True, help="Show which copies would be removed: those named, or all.")
@click.option("--apply", is_flag=True, help="With --drop: remove them.")
@json_option
@translated
def conflicts(ids: tuple[str, ...], diff: bool, with_settled: bool, drop: bool, apply: bool, as_json: bool) -> None:
    """List texts that could not be written since their page had changed; print one; remove those you are done with."""
    client = Client(load_config())
    if drop:
        _drop(client.post("/api/v1/conflicts/drop", {"conflicts": list(ids), "apply": apply}), as_json)
        return
    if not ids:
        _list(client.get("/api/v1/conflicts", settled="1" if with_settled else None), as_json)
        return
    if len(ids) > 1:
        raise UserError("One copy is shown at a time; --drop takes several.")
    found = client.get("/api/v1/conflicts", conflict=ids[0])
    if as_json:
        print_json(found)
        return
    note(_line(found["copy"]))
    text = found["diff"] if diff else found["text"]
    click.echo(clean(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))


def _list(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for copy in found["conflicts"]:
        click.echo(_line(copy))
    if found["conflicts"]:
        note("`aimemory conflicts ID` prints one, --diff compares it with the page, --drop removes it.")
    else:
        note("Nothing is kept.")


def _drop(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for copy in found["conflicts"]:
        click.echo(_line(copy))
    many = counted(len(found["conflicts"]), "copy", "copies")
    note(f"Removed {many}." if found["applied"] else f"Would remove {many}. --apply does it.")


def _line(copy: dict[str, Any]) -> str:
    by = copy["harness"] or copy["user"]
    state = ", written anew since" if copy["settled"] else ""
    return clean(
        f"{copy['id']}  {copy['at'][:16].replace('T', ' ')}  {copy['path']}  "
        f"({copy['summary'].lower()} by {by}, {counted(copy['size'], 'byte')}{state})"
    )
