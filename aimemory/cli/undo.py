"""`undo`: taking back what one session wrote."""

from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import load_config

_DOES = {"delete": "delete", "revert": "put back the version before of", "restore": "bring back", "leave": "leave"}
_DID = {"delete": "Deleted", "revert": "Put back the version before of", "restore": "Brought back", "leave": "Left"}


@click.command(epilog="Examples: aimemory undo 3f9ac21b   ·   aimemory undo 3f9ac21b --apply")
@click.argument("session")
@click.option("--apply", is_flag=True, help="Do it; without, what would happen is shown.")
@json_option
@translated
def undo(session: str, apply: bool, as_json: bool) -> None:
    """Take back what SESSION wrote to pages: our id of it, its beginning, or the harness's own.

    Pages it created are deleted, those it changed get the version before, those it deleted come back. What somebody
    changed since is left and named. Each step can be taken back by the command that is printed with it.
    """
    client = Client(load_config(), timeout_s=300)
    found = client.post("/api/v1/undo", {"session": session, "apply": apply, "cwd": here()})
    if as_json:
        print_json(found)
        return
    for page in found["pages"]:
        _print_page(page)
    if not found["pages"]:
        note(f"Session {clean(found['session'])} wrote no page.")
    elif not apply and any(page["action"] != "leave" for page in found["pages"]):
        note("Nothing was changed. --apply does it.")


def _print_page(page: dict[str, Any]) -> None:
    did = _DID[page["action"]] if page["done"] or page["action"] == "leave" else f"Would {_DOES[page['action']]}"
    why = f": {clean(page['note'])}" if page["note"] else ""
    click.echo(f"{did} {clean(page['path'])}{why}")
    if page["done"]:
        note(f"    to take that back: {clean(page['back'])}")
