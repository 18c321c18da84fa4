"""Who this installation is: the user's name and the machine's id, fixed at first start."""

import json
import platform
import secrets
from pathlib import Path

from aimemory import datadir
from aimemory.config import Config
from aimemory.errors import Damaged
from aimemory.model.scope import Actor


def load_actor(config: Config) -> Actor:
    """The actor of everything done here. `[user] name` wins over the name noted at first start.

    Raises Damaged when `actor.json` can't be read: a new machine id would split one history in two.
    """
    path = config.data.actor_file
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        user, machine = str(noted["user"]), str(noted["machine"])
    except FileNotFoundError:
        user, machine = config.login, secrets.token_hex(4)
        content = {"user": user, "machine": machine, "host": platform.node()}
        datadir.write_atomic(path, json.dumps(content, indent=2).encode() + b"\n")
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path} can't be read. Restore it, or delete it to become a new machine.") from error
    return Actor(user=config.user.name or user, machine=machine)


def load_key(path: Path) -> bytes:
    """The 32 secret bytes in `path`, made at first use; the tag of a brief's fence depends on them."""
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) < 32:
        key = secrets.token_bytes(32)
        datadir.write_atomic(path, key)
    return key
