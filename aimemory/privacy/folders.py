"""`aimemory off` and `aimemory on`: folders in which nothing is recorded, whatever their repository says.

The table is one JSON file in the data directory, so that a repository doesn't show it, and the hook's detached child
can read it without a daemon. Each reader looks anew, so a switch holds for the very next event.
"""

# ruff: noqa: PTH116, PTH123
# os.path, because this runs for every event, and pathlib costs five times as much.

import json
import os
from collections.abc import Mapping

from aimemory.errors import Unavailable

ON, OFF = "on", "off"
OFF_REASON = "capture is off in this folder (aimemory off)"
_VERSION = 1

Table = Mapping[str, Mapping[str, str]]
"""Folder, an absolute path without links → `mode` (`on` or `off`) and `since` (RFC 3339)."""


def off_by(table: Table, path: str | None) -> str | None:
    """The folder that switches this path off: its own entry counts, or the nearest above it; None where it is on.

    path: absolute; without one nothing is switched off.
    """
    if not table or not path or not path.startswith("/"):
        return None
    place = os.path.normpath(path) if "/." in path or "//" in path or path[-1] == "/" else path
    while place not in table:
        if place == "/":
            return None
        place = place[: place.rindex("/")] or "/"
    return place if table[place]["mode"] == OFF else None


def switched(table: Table, path: str, mode: str, since: str) -> Table:
    """The table with a folder switched.

    Entries below it stay: what was switched there by itself was meant for there. "Off" is always kept, for a folder
    above may be switched on again; "on" only where a folder above is off.
    """
    if path in table and table[path]["mode"] == mode:
        return table
    rest = {folder: entry for folder, entry in table.items() if folder != path}
    return rest if mode == ON and off_by(rest, path) is None else rest | {path: {"mode": mode, "since": since}}


def render(table: Table) -> bytes:
    """The content of the file."""
    return json.dumps({"v": _VERSION, "folders": table}, indent=2, sort_keys=True).encode("ascii") + b"\n"


def parse(raw: bytes) -> Table:
    """Back from `render`. Raises ValueError for anything else."""
    try:
        folders = json.loads(raw)["folders"]
        table = {path: {"mode": entry["mode"], "since": entry["since"]} for path, entry in folders.items()}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a table of folders") from error
    if any(entry["mode"] not in (ON, OFF) or not path.startswith("/") for path, entry in table.items()):
        raise ValueError("neither on nor off, or no absolute path")
    return table


def read(path: str) -> Table:
    """The table in a file; empty when there is none.

    Raises Unavailable when it can't be read: then nobody knows what must not be recorded, and nothing may be stored.
    """
    try:
        with open(path, "rb") as file:
            return parse(file.read())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Unavailable(f"{path} can't be read ({error.strerror}); nothing is stored until it can.") from error
    except ValueError:
        raise Unavailable(
            f"{path} is not what `aimemory off` writes; nothing is stored until it is mended or removed."
        ) from None


class Folders:
    """The table as the daemon asks it: at every event, hence read again only when the file is another one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._table: Table = {}

    def table(self) -> Table:
        """What holds now. Raises Unavailable when it can't be read."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._table = None, {}
            return self._table
        except OSError:  # `read` says what is wrong
            self._seen, self._table = None, read(self._path)
            return self._table
        seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        if seen != self._seen:
            self._table, self._seen = read(self._path), seen
        return self._table

    def is_off(self, *paths: str | None) -> bool:
        """Whether nothing may be recorded of one of these places. Raises Unavailable when that can't be told."""
        return self.off_by(*paths) is not None

    def off_by(self, *paths: str | None) -> str | None:
        """The folder that switches one of these places off. Raises Unavailable when that can't be told."""
        table = self.table()
        return next((found for path in paths if (found := off_by(table, path)) is not None), None) if table else None
