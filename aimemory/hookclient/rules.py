"""Reads the one capture rule that an undelivered event is held to: `[capture] mode` of an `.aimemory.toml`."""

import tomllib


def capture_mode(path: bytes) -> str | None:
    """The mode, or None when the file is silent about it or can't be read."""
    try:
        with open(path, "rb") as file:
            mode = tomllib.load(file)["capture"]["mode"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return mode if isinstance(mode, str) else None
