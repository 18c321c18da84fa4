"""`verify`."""

import dataclasses
import sys
import time

import click

from aimemory.cli.backup import Progress
from aimemory.cli.output import clean, cleaned, json_option, note, print_json, translated
from aimemory.config import load_config, load_place
from aimemory.errors import UserError


@click.command(
    epilog="Examples: aimemory verify   ·   aimemory verify --json | jq '.findings[] | select(.level==\"damage\")'"
)
@click.option("--quick", is_flag=True, help="Don't build an index anew to compare with; the rest as well.")
@json_option
@translated
def verify(quick: bool, as_json: bool) -> None:
    """Check that journal, wiki, git, index and spool are what was written. Changes nothing.

    Works beside a running daemon. Each finding names the file, the line, and what to do. Exit code 1 when something is
    damaged; notes (a page that waits for its commit) don't count.
    """
    from aimemory.upkeep.verify.run import verify as check

    data = load_place().data
    started = time.monotonic()
    with Progress() as progress:
        found = check(data, progress, rebuild=not quick)
    try:
        load_config()
    except UserError as error:
        found.add("damage", "files", "config.toml", str(error), "Correct it; the daemon does not start with it.")
    took_s = round(time.monotonic() - started, 1)
    if as_json:
        findings = [dataclasses.asdict(one) for one in found.found]
        print_json({
            "good": not found.is_damaged, "data": str(data.root), "took_s": took_s, "counts": dict(found.counts),
            "findings": findings, "left_out": found.left_out,
        })  # fmt: skip
    else:
        for one in found.found:
            shown = cleaned(dataclasses.asdict(one))
            click.echo(f"{shown['level'].upper():<6} {shown['where']}: {shown['what']}")
            click.echo(f"       {shown['do']}")
        if found.left_out:
            click.echo(f"… and {found.left_out:,} more.")
        counts = found.counts
        click.echo(
            f"{'DAMAGED' if found.is_damaged else 'Good'}: {counts['lines']:,} lines in {counts['segments']} segments, "
            f"{counts['pages']:,} pages, {counts['spooled']:,} spooled events; {took_s} s."
        )
        note(clean(str(data.root)))
    sys.exit(1 if found.is_damaged else 0)
