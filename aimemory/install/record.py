"""`connect.json`: what connect wrote, so that disconnect can give back the same bytes. Losing it loses only that."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from aimemory.datadir import write_atomic
from aimemory.install.change import Written

_VERSION = 1


def read_record(file: Path) -> dict[str, Written]:
    """By the path of the agent's file; nothing where the record is gone or not ours."""
    try:
        data = json.loads(file.read_bytes())
        return {path: _written(entry) for path, entry in data["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_record(file: Path, files: Mapping[str, Written]) -> None:
    """Replace the record; an empty one is removed."""
    if not files:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    body = {"version": _VERSION, "files": {path: asdict(written) for path, written in sorted(files.items())}}
    write_atomic(file, json.dumps(body, indent=2).encode() + b"\n")


def _written(entry: dict[str, object]) -> Written:
    def texts(name: str) -> tuple[str, ...]:
        value = entry[name]
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    def text(name: str) -> str | None:
        value = entry[name]
        return value if isinstance(value, str) else None

    empties = entry["empties"]
    return Written(
        after=str(entry["after"]),
        original=text("original"),
        original_hash=text("original_hash"),
        is_restorable=entry["is_restorable"] is True,
        parts=tuple("hooks" if part == "hooks" else "mcp" for part in texts("parts")),
        made=entry["made"] is True,
        folders=texts("folders"),
        empties=tuple(tuple(map(str, key)) for key in empties) if isinstance(empties, list) else (),
    )
