"""`read`: a page or a section of it, as it is, as it was, or what changed. `related`: what is around it.
`feedback`: what it was worth.
"""

import shlex
import sys
from typing import Any

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, counted, examples, json_option, print_json, translated
from aimemory.cli.output import note as say
from aimemory.cli.pages import here, project_option
from aimemory.config import load_config
from aimemory.errors import UserError

_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(
    epilog=examples(
        "aimemory read default/app/decisions/use-sqlite-1f2e.md",
        "aimemory read 'Use SQLite' --sections",
        "aimemory read use-sqlite-1f2e --section 'Setup > Linux'",
        "aimemory read use-sqlite-1f2e --as-of 2026-11-30",
        "aimemory read use-sqlite-1f2e --diff 2 --as-of 1",
    )
)
@click.argument("page")
@project_option
@click.option("-s", "--section", help="Only this section: its heading, the headings that lead to it, or its number.")
@click.option("--sections", "outline", is_flag=True, help="List the sections in place of the text.")
@click.option("--as-of", metavar="WHEN", help="As it was then, also if it is gone: a day, a time, a commit, a number.")
@click.option("--diff", metavar="WHEN", help="What changed since then, until --as-of or now.")
@click.option("--offset", type=click.IntRange(0), default=0, help="First character to print.")
@click.option("--chars", type=click.IntRange(1), help="How many characters; by default all.")
@click.option(
    "--version", "show_version", is_flag=True, help="Print the version token on stderr, for `write --version`."
)
@json_option
@translated
def read(
    page: str, outline: bool, offset: int, chars: int | None, show_version: bool, as_json: bool, **asked: str | None
) -> None:
    """Print a page, found by its path, id, title or alias.

    WHEN is a day such as 2026-11-30 (its end), a time, a commit of the wiki, or a number or version token from
    `aimemory history`; the page is followed through renames.
    """
    found = Client(load_config()).get(
        "/api/v1/page", page=page, cwd=here(), outline=int(outline), offset=offset, max_chars=chars, **asked
    )
    if as_json:
        print_json(found)
        return
    for one in found["feedback"]:
        say(clean(f"{_voice(one)}"))
    if outline:
        _print_sections(found)
    else:
        _print_text(found, offset)
    if found["next_offset"] is not None:
        say(
            f"{found['next_offset']:,} of {found['total_chars']:,} characters; --offset {found['next_offset']} goes on."
        )
    if show_version:
        say(found["version"])


def _print_text(found: dict[str, Any], offset: int) -> None:
    if found["diff_from"]:
        since, until = found["diff_from"]["said"], found["as_of"]["said"] if found["as_of"] else "now"
        say(clean(f"{found['path']}: from {since} to {until}"))
    elif found["as_of"]:
        say(clean(f"{found['path']}: {found['as_of']['said']}"))
    text = found["text"]
    if not text and offset and offset >= found["total_chars"]:
        of = "difference" if found["diff_from"] else "section" if found["section"] else "page"
        say(f"The {of} ends at character {found['total_chars']:,}.")
    elif not text and found["diff_from"]:
        say("Nothing changed.")
    elif found["diff_from"] and sys.stdout.isatty():
        for line in clean(text).splitlines():
            color = None if line.startswith(("+++", "---")) else _DIFF_COLORS.get(line[:1])
            click.echo(click.style(line, fg=color) if color else line)
    else:
        click.echo(clean(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))


def _print_sections(found: dict[str, Any]) -> None:
    for one in found["sections"]:
        name = clean(one["name"].rpartition(" > ")[2])
        click.echo(f"{one['number']:>3}. {'  ' * (one['level'] - 1)}{name}  {click.style(str(one['chars']), dim=True)}")
    if found["sections_total"] > len(found["sections"]):
        say(f"{counted(found['sections_total'] - len(found['sections']), 'more section')} not listed.")
    if not found["sections"]:
        say("The page has no headings.")


@click.command(
    epilog=examples("aimemory related use-sqlite-1f2e", "aimemory related use-sqlite-1f2e --depth 2 --events 0")
)
@click.argument("page")
@click.option("-d", "--depth", type=click.IntRange(1, 3), default=1, show_default=True, help="Steps from the page.")
@click.option("-n", "--limit", type=click.IntRange(0, 100), default=20, show_default=True, help="Number of pages.")
@click.option(
    "--events",
    type=click.IntRange(0, 50),
    default=10,
    show_default=True,
    help="Events of each session behind the page.",
)
@click.option("--before", type=click.IntRange(1), metavar="LINE", help="Only events before this line of the journal.")
@project_option
@json_option
@translated
def related(
    page: str, depth: int, limit: int, events: int, before: int | None, project: str | None, as_json: bool
) -> None:
    """Pages that belong to PAGE, each with why, and the recorded events behind it.

    Links both ways, what the same session wrote or left, handoffs, and tags that both have.
    """
    found = Client(load_config()).get(
        "/api/v1/page/related", page=page, depth=depth, limit=limit, events=events, before=before, project=project,
        cwd=here(),
    )  # fmt: skip
    if as_json:
        print_json(found)
        return
    say(clean(f"{found['path']}: {counted(found['total'], 'related page')}"))
    for one in found["pages"]:
        click.echo(
            f"{one['distance']}  {click.style(clean(one['title']), bold=True)}  [{one['kind']}, {one['date'][:10]}]"
        )
        click.echo(f"   {click.style(clean(one['path']), fg='cyan')}")
        click.echo(f"   {clean('; '.join(one['why']))}")
    for behind in found["behind"]:
        say(clean(f"{_ROLES[behind['role']]} session {behind['session']}:"))
        for event in behind["events"]:
            tool = f" {event['tool']}" if event["tool"] else ""
            about = clean(f"line {event['seq']}  {event['at'][:19]}  {event['harness']} {event['kind']}{tool}")
            click.echo(f"{click.style(about, fg='cyan')}  {clean(' '.join(event['text'].split()))[:200]}")
        if behind["next_before"] is not None:
            shown = f"{len(behind['events'])} of {behind['total']} events"
            say(f"{shown}; --before {behind['next_before']} gives earlier ones.")


_ROLES = {"page": "This is the page of", "handoff": "This is a handoff of", "write": "Written by"}


@click.command(
    epilog=examples(
        "aimemory feedback use-sqlite-1f2e helpful",
        "aimemory feedback use-sqlite-1f2e wrong -m 'we use PostgreSQL since May'",
        "aimemory feedback use-sqlite-1f2e --undo",
    )
)
@click.argument("page")
@click.argument("verdict", required=False, type=click.Choice(["helpful", "not-helpful", "stale", "wrong"]))
@click.option("-m", "--note", default="", help="Why, in a sentence or two; whoever reads the page sees it.")
@click.option("--undo", is_flag=True, help="Take back what you said of the page.")
@click.option(
    "--line", "seq", type=click.IntRange(1), help="With --undo: what this line of the journal says, of anybody."
)
@project_option
@json_option
@translated
def feedback(
    page: str, verdict: str | None, note: str, undo: bool, seq: int | None, project: str | None, as_json: bool
) -> None:
    """Say what a page was worth. It moves the page a little in searches, and marks what is stale or wrong."""
    if undo == (verdict is not None) or (seq is not None and not undo):
        raise UserError("Give a verdict (helpful, not-helpful, stale, wrong), or --undo.")
    body = {"page": page, "verdict": verdict or "withdraw", "note": note, "seq": seq, "project": project, "cwd": here()}
    given = Client(load_config()).post("/api/v1/page/feedback", body)
    if as_json:
        print_json(given)
        return
    click.echo(clean(given["path"]))
    if given["withdrawn"]:
        say(f"Taken back: line {', '.join(map(str, given['withdrawn']))} of the journal.")
    else:
        say(f"Recorded as {given['verdict']}, line {given['seq']}. To take it back: {_undo_command(given)}")
    for one in given["feedback"]:
        say(clean(_voice(one)))


def _undo_command(given: dict[str, Any]) -> str:
    return f"aimemory feedback {shlex.quote(given['path'])} --undo --line {given['seq']}"


def _voice(one: dict[str, Any]) -> str:
    who = one["harness"] or one["user"] or "somebody"
    before = "" if one["is_current"] else ", of an earlier text"
    return f"Called {one['verdict']} by {who}, {one['at'][:10]}{before}{': ' * bool(one['note'])}{one['note']}"
