"""What the command line did by itself, on its way into the journal: `off` and `on`, agents' settings, a restore.

Those must work while no daemon runs, and only the daemon writes the journal. So each leaves one small file in the
spool, which the daemon takes in when it runs. Light to import.
"""

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aimemory.config import Config
from aimemory.datadir import write_atomic
from aimemory.errors import AimemoryError
from aimemory.privacy import Sanitized, sanitize_tree
from aimemory.store.actor import load_actor

_LIMIT_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that was done; `data` as the journal is to have it."""

    path: Path
    at_ns: int
    data: Sanitized[dict[str, Any]]


def note_deed(config: Config, op: str, about: Mapping[str, Any]) -> str | None:
    """Leave word of something done. Returns what hinders that, in a sentence, None where nothing does.

    What was done stays done in either case: a full disk must not keep anybody from switching capture off.
    """
    if not config.data.root.is_dir():
        return None  # disconnected after everything was deleted: there is no memory that could tell of it
    try:
        actor = load_actor(config)
        who = {"user": actor.user, "machine": actor.machine}
        at_ns = time.time_ns()
        content = sanitize_tree(
            {"v": 1, "at": at_ns, "data": {"op": op, "id": secrets.token_hex(8), **who, **about}}
        ).value
        folder = config.data.deeds
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(folder / f"{at_ns:020d}-{secrets.token_hex(4)}.json", json.dumps(content).encode() + b"\n")
    except (OSError, AimemoryError) as error:
        return f"It is done, but `aimemory audit` will not tell of it: {error}"
    return None


def waiting_deeds(folder: Path) -> Iterator[Deed]:
    """What waits, oldest first. A file that can't be used is moved beside, where `verify` and people find it."""
    for path in sorted(folder.glob("[0-9]*.json")):
        try:
            raw = path.read_bytes()
            found = json.loads(raw) if len(raw) <= _LIMIT_BYTES else None
            at_ns, data = (found.get("at"), found.get("data")) if isinstance(found, dict) else (None, None)
            if not isinstance(at_ns, int) or not isinstance(data, dict):
                raise ValueError("not a deed")
            yield Deed(path, at_ns, sanitize_tree(data))
        except FileNotFoundError:
            continue
        except (ValueError, RecursionError):
            path.replace(path.with_name(f"bad-{path.name}"))
