"""`off` and `on`: where nothing is recorded. They work without a daemon, which looks at the same file."""

import fcntl
import os
import time
from pathlib import Path

import click

from aimemory.cli.output import clean, examples, json_option, note, print_json, translated
from aimemory.config import load_config
from aimemory.datadir import DataDir, write_atomic
from aimemory.errors import Unavailable, UserError
from aimemory.model.protocols import rfc3339_local
from aimemory.privacy.folders import OFF, ON, Table, off_by, read, render, switched
from aimemory.store.outside import note_deed


@click.command(epilog=examples("aimemory off", "aimemory off ~/private", "aimemory off --list"))
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@click.option("--list", "as_list", is_flag=True, help="Show all folders that were switched, and change nothing.")
@json_option
@translated
def off(directory: str | None, as_list: bool, as_json: bool) -> None:
    """Record nothing in a folder and below, from the next event on, and give no brief there.

    The switch lies in the data directory, not in the folder. What was recorded before stays.
    """
    if as_list:
        if directory:
            raise UserError("--list shows all folders; leave the directory out.")
        _print_list(read(str(load_config().data.folders_file)), as_json)
        return
    _turn(directory, OFF, as_json)


@click.command(epilog=examples("aimemory on", "aimemory on ~/private/blog"))
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@json_option
@translated
def on(directory: str | None, as_json: bool) -> None:
    """Record again in a folder and below, also where a folder above it is off.

    What a repository says in its `.aimemory.toml` holds all the same.
    """
    _turn(directory, ON, as_json)


def _turn(directory: str | None, mode: str, as_json: bool) -> None:
    try:
        path = os.path.realpath(directory or ".")
    except FileNotFoundError:
        verb = "off" if mode == OFF else "on"
        raise UserError(f"The working directory does not exist any more. Name a folder: aimemory {verb} DIR") from None
    config = load_config()
    data = config.data
    try:
        before, table = switch(data, path, mode)
    except OSError as error:
        raise Unavailable(f"{data.folders_file} can't be written: {error.strerror}. Nothing was changed.") from error
    if table != before and (problem := note_deed(config, mode, {"directory": path})):
        note(clean(problem))
    below = sorted(folder for folder in table if folder.startswith(path.rstrip("/") + "/"))
    others = [folder for folder in below if table[folder]["mode"] != mode]
    if as_json:
        found = {"directory": path, "mode": mode, "changed": table != before, "off_by": off_by(table, path)}
        print_json(found | {"exceptions": others})
        return
    if table == before:
        click.echo(clean(f"Capture is {mode} in {path} already."))
    elif mode == ON:
        click.echo(clean(f"Events in {path} and below are recorded again."))
    else:
        click.echo(clean(f"Nothing is recorded in {path} and below from now on, and no brief is given there."))
    for folder in others:
        note(clean(f"{folder} stays {table[folder]['mode']}: it was switched by itself."))


def switch(data: DataDir, path: str, mode: str) -> tuple[Table, Table]:
    """Switch a folder and keep that; the tables before and after. Two at once don't undo each other.

    path: absolute, without links. Raises Unavailable when the file can't be read, OSError when it can't be written.
    """
    data.create()
    lock = os.open(data.root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = read(str(data.folders_file))
        table = switched(before, path, mode, rfc3339_local(time.time_ns()))
        if table != before:
            write_atomic(data.folders_file, render(table))
    finally:
        os.close(lock)
    return before, table


def _print_list(table: Table, as_json: bool) -> None:
    if as_json:
        print_json({"folders": [{"directory": path, **entry} for path, entry in sorted(table.items())]})
        return
    for path, entry in sorted(table.items()):
        gone = "" if Path(path).is_dir() else "  (not there)"
        click.echo(clean(f"{entry['mode']:<3}  {path}  since {entry['since']}{gone}"))
    if not table:
        note("No folder is off. `aimemory off DIR` switches one off.")
