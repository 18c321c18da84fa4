"""`search`, `read`, `write`, `recent`, `brief`."""

import sys
from pathlib import Path
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, examples, json_option, note, print_json, translated
from aimemory.config import load_config
from aimemory.errors import UserError
from aimemory.model.page import total_text

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
        "aimemory search session brief",
        "aimemory search -p '*' 'connection refused'",
        "aimemory search --json 飞书",
        "aimemory search --explain --file src/main.py 'why is the timeout 30 s'",
    )
)
@click.argument("query", nargs=-1)
@project_option
@click.option("-k", "--kind", help="Only pages of this kind, such as decision or session; observation: only events.")
@click.option("-t", "--tag", help="Only pages with this tag.")
@click.option("-w", "--workspace", help="All projects of this workspace.")
@click.option("-f", "--file", help="Only what is about this file, by its path or a part of it.")
@click.option("--harness", help="Only recorded events of this harness.")
@click.option("--session", help="Only recorded events of this session.")
@click.option("--since", help="Not older than this date or time.")
@click.option("--until", help="Not newer than this date or time.")
@click.option("-n", "--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="Number of hits.")
@click.option("--cursor", help="Go on where an earlier answer ended.")
@click.option("--pages-only", is_flag=True, help="Leave recorded events out.")
@click.option("--explain", is_flag=True, help="Show what brought each hit to its place.")
@json_option
@translated
def search(
    query: tuple[str, ...], limit: int, pages_only: bool, explain: bool, as_json: bool, **filters: str | None
) -> None:
    """Search pages and recorded events. Any text is a valid query; quoted "phrases" and -word work.

    Words that begin with a dash go behind `--`:  aimemory search -- -Wall
    """
    body = {"query": " ".join(query), "cwd": here(), "limit": limit, "observations": not pages_only, **filters}
    found = Client(load_config()).post("/api/v1/search", body)
    if as_json:
        print_json(found)
        return
    answer = found["answer"]
    note(f"In {found['project'] or 'all projects'} ({found['project_how']}):")
    if answer["loosened"]:
        note(answer["loosened"])
    for number, hit in enumerate(answer["hits"], 1):
        _print_hit(number, hit)
        if explain:
            _print_reason(hit)
    for text in answer["notes"]:
        note(text)
    if cursor := found["next_cursor"]:
        note(f"{len(answer['hits'])} of {total_text(answer['total'])} hits; --cursor {cursor} gives the next.")


def _print_reason(hit: dict[str, Any]) -> None:
    shares = ", ".join(f"{name} {share:.2f}" for name, share in hit["shares"])
    click.echo(f"    #{hit['rank']}, score {hit['score']:.2f}: {shares or 'newest first'}")
    click.echo(f"    {clean(hit['explanation'] or hit['why'])}")


def _print_hit(number: int, hit: dict[str, Any]) -> None:
    where = hit["path"] or f"session {hit['session']}"
    click.echo(
        f"{number:>2}. {click.style(clean(hit['title']), bold=True)}  [{hit['kind']}, {(hit['date'] or '')[:10]}]"
    )
    click.echo(f"    {click.style(clean(where), fg='cyan')}")
    if hit["snippet"]:
        click.echo(f"    {clean(hit['snippet'])}")


@click.command(epilog="Example: aimemory read default/app/decisions/use-sqlite-1f2e.md")
@click.argument("page")
@project_option
@click.option(
    "--version", "show_version", is_flag=True, help="Print the version token on stderr, for `write --version`."
)
@json_option
@translated
def read(page: str, project: str | None, show_version: bool, as_json: bool) -> None:
    """Print a page, found by its path, id or title."""
    found = Client(load_config()).get("/api/v1/page", page=page, project=project, cwd=here())
    if as_json:
        print_json(found)
        return
    click.echo(clean(found["text"]) if sys.stdout.isatty() else found["text"], nl=not found["text"].endswith("\n"))
    if show_version:
        note(found["version"])


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
        if sys.stdin.isatty():
            raise UserError("Give the text with --body or on standard input.")
        body = sys.stdin.buffer.read().decode("utf-8", "replace")
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
