"""`retention`."""

import click

from aimemory.cli.client import Client
from aimemory.cli.forget import LIMIT_S
from aimemory.cli.output import clean, counted, examples, json_option, note, print_json, translated
from aimemory.config import load_config
from aimemory.upkeep.disk import size_text


@click.command(epilog=examples("aimemory retention", "aimemory retention --json", "aimemory retention --apply"))
@click.option("--apply", is_flag=True, help="Let it go now; without, what would go is shown.")
@json_option
@translated
def retention(apply: bool, as_json: bool) -> None:
    """What is older than the settings of [retention] keep it. Off by default; the daemon sees to it once a day.

    What a person wrote or edited, what is pinned, open or taken stays, however old.
    """
    found = Client(load_config(), timeout_s=LIMIT_S).post("/api/v1/retention", {"apply": apply})
    if as_json:
        print_json(found)
        return
    if not found["days"]:
        note("Retention is off: everything is kept. [retention] in config.toml sets how many days each kind is.")
        return
    click.echo("Keeps: " + ", ".join(f"{kind} {counted(days, 'day')}" for kind, days in found["days"].items()))
    click.echo(f"{'Took out' if found['applied'] else 'Would take out'} what is older:")
    for what, count in sorted(found["counts"].items()):
        click.echo(f"  {count:>8,}  {clean(what)}")
    if not found["counts"]:
        click.echo("  nothing")
    elif found["bytes"]:
        sizes = ", ".join(f"{clean(part)} {size_text(size)}" for part, size in sorted(found["bytes"].items()))
        click.echo(f"  before compression: {sizes}")
    for path in found["pages"]:
        click.echo(f"            {clean(path)}")
    if found["spared"]:
        many = counted(found["spared"], "session or handoff", "sessions and handoffs")
        click.echo(f"Old enough, and stays: {many}, for a page that a person wrote, edited or pinned, or that goes on.")
    for one in found["remains"]:
        click.echo(f"  - {clean(one)}")
    if found["applied"]:
        click.echo(f"Receipt: journal line {found['seq']:,}, {found['at']}.")
    elif found["counts"]:
        note("Nothing was changed. --apply does it now, and it can't be taken back.")
