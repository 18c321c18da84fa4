"""`audit`: who changed what."""

import click

from aimemory.cli.client import Client
from aimemory.cli.output import clean, examples, json_option, note, print_json, translated
from aimemory.config import load_config


@click.command(
    epilog=examples(
        "aimemory audit", "aimemory audit --since 2026-11-01 --kind delete", "aimemory audit --actor claude-code --json"
    )
)
@click.option("--since", metavar="TIME", help="A date, or a time like 2026-11-30T14:12.")
@click.option("--until", metavar="TIME", help="Before that.")
@click.option("--actor", metavar="WHO", help="A user, a machine or an agent.")
@click.option("--session", metavar="ID", help="What this session did, or was done to it; the beginning will do.")
@click.option("--project", metavar="NAME", help="In this project only.")
@click.option("--kind", metavar="KIND", help="page, handoff, project, …; or what was done: delete, claim, off …")
@click.option("--limit", default=50, show_default=True, help="How many, at most 1000.")
@click.option("--cursor", help="Go on behind an answer: its next_cursor.")
@json_option
@translated
def audit(as_json: bool, **asked: object) -> None:
    """Every change with who made it, newest first: pages, handoffs, projects, switches, agents' settings.

    It is read from the journal. Recorded events are no changes; `aimemory recent` shows those.
    """
    found = Client(load_config(), timeout_s=300).get("/api/v1/audit", **asked)
    if as_json:
        print_json(found)
        return
    for one in found["entries"]:
        who = one["user"] or "?"
        if one["harness"]:
            who += f" by {one['harness']}"
        if one["session"]:
            who += f" ({one['session'][:8]})"
        where = f"  [{one['project']}]" if one["project"] else ""
        click.echo(clean(f"{one['at']}  {who}  {one['said']}{where}"))
    if not found["entries"]:
        note("Nothing was changed, as far as these filters go.")
    for what in found["damage"]:
        note(clean(f"Can't be read: {what}"))
    if found["next_cursor"]:
        note(f"There is more: --cursor {found['next_cursor']}")
