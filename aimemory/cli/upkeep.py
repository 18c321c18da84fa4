"""`reindex`, `hook`, `mcp`."""

import os
import subprocess
import sys
import time
from urllib.parse import urlencode

import click

from aimemory.cli.client import Client
from aimemory.cli.output import json_option, note, print_json, translated
from aimemory.cli.pages import here
from aimemory.config import load_config
from aimemory.errors import Damaged, Unavailable


@click.command(epilog="Example: aimemory reindex")
@json_option
@translated
def reindex(as_json: bool) -> None:
    """Rebuild the search index from wiki and journal. Recording and briefs go on meanwhile."""
    started = time.monotonic()
    result = None
    for step in Client(load_config(), timeout_s=600).lines("/api/v1/reindex", {}):
        if "step" in step:
            if sys.stderr.isatty():
                click.echo(f"\r{step['step']}: {step['count']:>10,}", nl=False, err=True)
        else:
            result = step
    if sys.stderr.isatty():
        click.echo("\r" + " " * 40 + "\r", nl=False, err=True)
    if result is None:
        raise Unavailable("The daemon went away before the index was done. `aimemory status` tells how it stands.")
    if "error" in result:
        raise (Unavailable if result.get("type") == "Unavailable" else Damaged)(result["error"])
    if as_json:
        print_json(result)
        return
    counts = result["counts"]
    click.echo(
        f"Indexed {counts['pages']:,} pages, {counts['observations']:,} events and {counts['sessions']:,} sessions "
        f"in {time.monotonic() - started:.1f} s."
    )
    for damage in result["damage"]:
        note(f"Damage: {damage}")


@click.command(epilog='Example: echo \'{"event": "note", "prompt": "hello"}\' | aimemory hook generic note')
@click.argument("harness")
@click.argument("event")
@translated
def hook(harness: str, event: str) -> None:
    """Send one event from standard input, and say what became of it.

    Vendors' hooks run the launcher `bin/hook` of the data directory instead, which is faster and always silent.
    """
    client = Client(load_config())
    client.ensure_daemon()
    body = sys.stdin.buffer.read()
    query = urlencode(
        {"harness": harness, "event": event, "at": time.time_ns(), "pid": os.getpid(), "cwd": here() or ""},
        errors="surrogateescape",
    )
    print_json(client.post_raw(f"/hook?{query}", body))


@click.command(epilog='Example, for an agent\'s MCP settings: {"command": "aimemory", "args": ["mcp"]}')
@translated
def mcp() -> None:
    """Serve MCP on standard input and output, for an agent to start.

    An agent's settings better name `bin/mcp` of the data directory: it stays when this program moves.
    """
    sys.exit(subprocess.call([str(load_config().data.mcp_launcher)]))
