"""`forget` and `rescan`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.cli.pages import here, project_option
from aimemory.config import load_config
from aimemory.errors import UserError

F = TypeVar("F", bound=Callable[..., Any])
LIMIT_S = 3600.0
"""Rewriting a long history takes minutes."""


def _options(command: F) -> F:
    for option in (
        click.option("--apply", is_flag=True, help="Do it; without, what would go is shown."),
        click.option("--dry-run", is_flag=True, help="Only show what would go, whatever else is given."),
        click.option("--history", is_flag=True, help="Rewrite the wiki's git history without it, too."),
        click.option("--backups", is_flag=True, help="Remove the backups in backups/ of the data directory, too."),
        json_option,
        translated,
    ):
        command = option(command)
    return command


@click.group(
    epilog=examples(
        "aimemory forget page notes/plan", "aimemory forget session 3f9ac21b --apply", "aimemory forget text"
    )
)
def forget() -> None:
    """Take something out of everything that is stored, for good.

    Shown first; --apply does it. Afterwards all bytes are searched for it, and what remains is named.
    """


@forget.command(epilog=examples("aimemory forget page use-sqlite-1f2e --apply --history"))
@click.argument("page")
@project_option
@_options
def page(page: str, project: str | None, **given: bool) -> None:
    """A page: its file, its place in the index, who wrote it when; with --history its versions."""
    _forget("page", page, given, project=project)


@forget.command(epilog=examples("aimemory forget session 3f9ac21b", "aimemory forget session 3f9ac21b --pages --apply"))
@click.argument("session")
@click.option("--pages", is_flag=True, help="Also the pages that it wrote itself.")
@_options
def session(session: str, **given: bool) -> None:
    """A session: its events, its page, its handoffs. What it does later is not recorded either."""
    _forget("session", session, given)


@forget.command(epilog=examples("aimemory forget project shop", "aimemory forget project shop --apply --history"))
@click.argument("project")
@_options
def project(project: str, **given: bool) -> None:
    """A project: everything filed under it. New sessions there begin it anew; `aimemory off` prevents that."""
    _forget("project", project, given)


@forget.command(epilog=examples("aimemory forget text", "aimemory forget text 'Project Falcon' --apply"))
@click.argument("text", required=False)
@_options
def text(text: str | None, **given: bool) -> None:
    """A text, wherever it stands, in upper and lower case as given. Asked for without being shown if left out."""
    wanted: str = text if text is not None else click.prompt("Text to forget", hide_input=True, err=True)
    _forget("text", wanted, given)


def _forget(what: str, name: str, given: dict[str, bool], project: str | None = None) -> None:
    apply = given["apply"] and not given["dry_run"]
    body = {
        "what": what, "name": name, "project": project, "apply": apply, "history": given["history"],
        "backups": given["backups"], "pages": given.get("pages", False), "cwd": here(),
    }  # fmt: skip
    found = Client(load_config(), timeout_s=LIMIT_S).post("/api/v1/forget", body)
    if given["as_json"]:
        print_json(found)
        return
    done = found["applied"]
    click.echo(f"{'Took out' if done else 'Would take out'} of what is stored:")
    for place, count in sorted(found["counts"].items()):
        click.echo(f"  {count:>8,}  {clean(place)}")
    if found["history"] and not done:
        click.echo(f"  {found['commits']:>8,}  commits of git's history; {found['rewritten']:,} get new ids")
    elif not found["counts"]:
        click.echo("  nothing")
    for path in found["pages"]:
        click.echo(f"            {clean(path)}")
    if done:
        _print_proof(found)
    click.echo("What remains:" if done else "What would remain:")
    for one in found["remains"]:
        click.echo(f"  - {clean(one)}")
    if done:
        click.echo(f"Receipt: journal line {found['seq']:,}, {found['at']}.")
    else:
        note("Nothing was changed. --apply does it, and it can't be taken back.")


def _print_proof(found: dict[str, Any]) -> None:
    texts = counted(found["texts"], "text")
    looked = f"Looked for {texts} in all {found['files']:,} files ({found['bytes'] / 1e6:,.1f} MB unpacked):"
    if not found["texts"]:
        click.echo("Nothing in it was long enough to be told from other words, so no bytes were searched for it.")
    elif not found["found"]:
        click.echo(f"{looked} found nowhere.")
    else:
        click.echo(looked)
        for place, count in found["found"].items():
            click.echo(f"  {count:>8,}  found in {clean(place)}")
    for one in found["unread"]:
        click.echo(f"            not looked into: {clean(one)}")


@click.command(
    epilog=examples(
        "aimemory rescan", "aimemory rescan --apply --history", "aimemory rescan --accept default/app/notes/keys.md"
    )
)
@click.option("--apply", is_flag=True, help="Redact what is found; without, it is only counted.")
@click.option("--history", is_flag=True, help="Rewrite the wiki's git history, too.")
@click.option("--accept", metavar="PAGE", help="Acknowledge what is found in a page of your own, as it stands now.")
@json_option
@translated
def rescan(apply: bool, history: bool, accept: str | None, as_json: bool) -> None:
    """Apply today's privacy rules to what was stored before them. Never shows what it found, only where and what kind.

    Pages that you wrote by hand are named and never changed.
    """
    client = Client(load_config(), timeout_s=LIMIT_S)
    if accept is not None:
        if apply or history:
            raise UserError("--accept goes alone: it changes nothing but what is said about one page.")
        done = client.post("/api/v1/rescan/accept", {"page": accept, "cwd": here()})
        if as_json:
            print_json(done)
        else:
            click.echo(f"Acknowledged in {clean(done['path'])}: {clean(done['found'])}. Holds until the page changes.")
        return
    found = client.post("/api/v1/rescan", {"apply": apply, "history": history, "cwd": here()})
    if as_json:
        print_json(found)
        return
    for place, kinds in found["found"].items():
        click.echo(f"{clean(place)}: {_kinds(kinds)}")
    for place, kinds in found["persons"].items():
        click.echo(f"{clean(place)}: {_kinds(kinds)} (your own)")
    if not found["found"] and not found["persons"]:
        click.echo("Today's rules find nothing in what is stored.")
    for one in found["remains"]:
        click.echo(f"  - {clean(one)}")
    if found["applied"]:
        gone = ", ".join(f"{count:,} {place}" for place, count in sorted(found["counts"].items()))
        click.echo(f"Redacted: {clean(gone)}. Receipt: journal line {found['seq']:,}, {found['at']}.")
    elif found["found"]:
        note("Nothing was changed. --apply redacts it, and that can't be taken back.")


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count:,} × {clean(kind)}" for kind, count in kinds.items())
