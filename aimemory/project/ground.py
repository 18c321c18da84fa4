"""Paths before any meaning: which folder is really meant, and which folders can be nobody's project."""

# ruff: noqa: PTH110, PTH112, PTH120
# os.path, because this runs for every folder of every event, and pathlib costs five times as much.

import os.path
from collections.abc import Iterator, Sequence


def ancestors(path: str) -> Iterator[str]:
    """The path itself, then each folder above it, up to the root."""
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def real_path(cwd: str | None) -> str | None:
    """Without links, `..` and a slash at the end; None for what is no absolute path."""
    if not cwd or not cwd.startswith("/") or "\0" in cwd:
        return None
    try:
        os.fsencode(cwd)
    except UnicodeEncodeError:
        return None
    return os.path.realpath(cwd)


def nearest_folder(real: str) -> tuple[str, bool]:
    """The nearest folder that exists, and whether what was asked for is gone. A file stands for its folder.

    `.git` and `node_modules` and all below them stand for the folder that holds them.
    """
    for path in ancestors(real):
        if os.path.isdir(path):
            return _outside_of_machinery(path), path != real and not os.path.exists(real)
    return "/", True


def _outside_of_machinery(path: str) -> str:
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part in (".git", "node_modules"):
            return "/".join(parts[:at]) or "/"
    return path


class Ground:
    """The folders that belong to everybody: `/`, the home folder and those above it, temporary folders."""

    def __init__(self, home: str, temp_dirs: Sequence[str]) -> None:
        self.home = os.path.realpath(home) if home else "/"
        self.temps = frozenset(os.path.realpath(path) for path in temp_dirs if path)
        self.never = frozenset({"/", *ancestors(self.home), *self.temps})
        self._below_home = self.home.rstrip("/") + "/"

    def checkout_stops(self, start: str) -> frozenset[str]:
        """Where the search for a checkout ends: at home if it begins there, since the rest of home is not dotfiles."""
        below = start == self.home or start.startswith(self._below_home)
        return frozenset({"/", self.home}) if below else frozenset("/")

    def own_folders(self, folder: str) -> Iterator[str]:
        """The folder and those above it, as long as they can be one project's."""
        for path in ancestors(folder):
            if path in self.never:
                return
            yield path

    def is_temporary(self, folder: str) -> bool:
        return any(path in self.temps for path in ancestors(folder))
