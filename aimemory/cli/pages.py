"""`write`, `recent`, `brief`."""

from pathlib import Path
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, examples, json_option, note, print_json, translated
from aimemory.cli.textin import text_from_stdin
from aimemory.config import load_config
from aimemory.errors import UserError

project_option = click.option(
    "-p", "--project", help='Project (workspace/folder, folder or remote) instead of this directory\'s; "*" for all.'
)


def here() -> str | None:
    """The working directory, or None when it was deleted."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def needs_place(named: dict[str, str | None]) -> None:
    """What is written without a directory needs a project, or a path, that was named. Raises UserError."""
    if here() is None and not (named.get("project") or named.get("path")):
        raise UserError("The working directory does not exist any more. Name a project with --project.")


@click.command(
    epilog=examples(
        "echo 'We chose SQLite.' | aimemory write 'Use SQLite' -k decision",
        "aimemory write 'Use SQLite' --path default/app/decisions/use-sqlite-1f2e.md --version TOKEN < new.md",
    )
)
@click.argument("title")
@click.option(
    "-k", "--kind", default="note", show_default=True, help="decision, gotcha, concept, procedure, note or rule."
)
@click.option("-b", "--body", help="The text; without it, standard input is read.")
@click.option("-t", "--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--path", help="The page's path below the wiki; by default made from project, kind and title.")
@click.option("--version", help="Replace the page at --path, if this is still its version (`aimemory read --json`).")
@project_option
@json_option
@translated
def write(title: str, body: str | None, tags: tuple[str, ...], as_json: bool, **rest: str | None) -> None:
    """Create a page, or replace one whose version you have read."""
    if body is None:
        body = text_from_stdin("text", "--body")
    needs_place(rest)
    request = {"title": title, "body": body, "tags": list(tags), "cwd": here(), **rest}
    written = Client(load_config()).post("/api/v1/page", request)
    if as_json:
        print_json(written)
        return
    click.echo(written["path"])
    note(f"{'Created' if written['created'] else 'Replaced'}; version {written['version']}.")
    note_merged(written)
    if written["redacted"]:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in written["redacted"].items())
        note(f"Taken out before it was stored: {kinds}.")


def note_merged(written: dict[str, Any]) -> None:
    """Says so where somebody else's change is in the page too."""
    if written.get("merged"):
        note("Somebody had changed the page since that version; both changes are in it now.")


@click.command(epilog=examples("aimemory recent", "aimemory recent -k observation -n 50"))
@project_option
@click.option("-k", "--kind", help="Only this kind: session, decision, …, or observation for recorded events.")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Number of items.")
@json_option
@translated
def recent(project: str | None, kind: str | None, limit: int, as_json: bool) -> None:
    """What was written or recorded last, newest first."""
    found = Client(load_config()).get("/api/v1/recent", project=project, kind=kind, limit=limit, cwd=here())
    if as_json:
        print_json(found)
        return
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    for item in found["items"]:
        place = item["path"] or (f"session {item['session']}" if item["session"] else "")
        click.echo(f"{item['when'][:16].replace('T', ' ')}  {item['kind']:<14} {clean(item['title'])}")
        if place:
            click.echo(f"{'':18}{click.style(clean(place), fg='cyan')}")
    if not found["items"]:
        note("Nothing yet.")


@click.command(epilog="Example: cd my-project && aimemory brief")
@click.argument("directory", required=False, type=click.Path(exists=True, file_okay=False, resolve_path=True))
@project_option
@json_option
@translated
def brief(directory: str | None, project: str | None, as_json: bool) -> None:
    """Print what the next agent would be told in this directory."""
    found = Client(load_config()).get("/api/v1/brief", cwd=directory or here(), project=project)
    if as_json:
        print_json(found)
        return
    note(f"For {found['project'] or 'no project'} ({found['project_how']}):")
    if found["off_by"]:
        note(clean(f"Nothing is told here: `aimemory off {found['off_by']}` holds."))
    elif found["text"]:
        click.echo(clean(found["text"]))
    else:
        note("Nothing is recorded here yet, so the next agent would be told nothing.")
