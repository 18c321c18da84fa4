"""`.aimemory.toml`: what a folder says about itself. Which folders are asked is decided by resolve.py."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from aimemory.project.identity import clean_name, portable_name
from aimemory.project.parsed import ParsedFiles, Unreadable
from aimemory.project.tomllines import value_lines

SETTINGS_FILE = ".aimemory.toml"
_LIMIT_BYTES = 64 << 10

UNREADABLE_CAPTURE: Mapping[str, Any] = MappingProxyType({"mode": "metadata"})
"""What holds while a file can't be read: it may have said that nothing is to be recorded, so no content is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file says; None where it says nothing. capture: its `[capture]` table as written; lines: where."""

    project: str | None = None
    workspace: str | None = None
    capture: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def read_settings(path: str, data: bytes) -> Settings:
    """The file's settings. A damaged file names no project and lets only metadata be captured; wrong keys are left out.

    Never raises: every problem is a sentence that names the file.
    """
    try:
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        where = str(error).rpartition("(")[2].rstrip(")") if "(at " in str(error) else "not UTF-8 text"
        return _damaged(f"{path} is not valid TOML ({where}). It counts as absent, and only metadata is recorded.")
    problems = [
        f"{path}: {key} is not a known setting." for key in table if key not in ("project", "workspace", "capture")
    ]
    project = _name(path, table, "project", problems)
    workspace = _name(path, table, "workspace", problems)
    capture = table.get("capture")
    if capture is not None and not isinstance(capture, dict):
        problems.append(f"{path}: capture is not a table. Only metadata is recorded below it.")
        capture = UNREADABLE_CAPTURE
    return Settings(
        project,
        portable_name(workspace, "workspace") if workspace else None,
        None if capture is None else MappingProxyType(capture),
        tuple(problems),
        value_lines(text, "capture", capture) if capture else {},
    )


def _damaged(problem: str) -> Settings:
    """Stands for a file that is there and can't be used."""
    return Settings(capture=UNREADABLE_CAPTURE, problems=(problem,))


def _name(path: str, table: Mapping[str, Any], key: str, problems: list[str]) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    name = clean_name(value) if isinstance(value, str) else None
    if name is None:
        problems.append(f"{path}: {key} is not a name. Give a text of 1 to 200 printable characters.")
    return name


@dataclass(slots=True)
class Told:
    """What several files say together: each setting from the first file that has it, and where that lies."""

    project: str | None = None
    project_root: str | None = None
    workspace: str | None = None
    capture: Mapping[str, Any] | None = None
    capture_root: str | None = None
    capture_lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class SettingsFiles:
    """Reads settings files, again only when they changed."""

    def __init__(self) -> None:
        self._files = ParsedFiles(read_settings, limit_bytes=_LIMIT_BYTES)

    def told(self, folders: Iterable[tuple[str, bool]]) -> Told:
        """What the folders say, nearest first; the flag says whether a folder's `project` counts here."""
        told = Told()
        for folder, may_name in folders:
            found = self._files.get(f"{folder.rstrip('/')}/{SETTINGS_FILE}")
            if found is None:
                continue
            if isinstance(found, Unreadable):
                found = _damaged(f"{found.reason} It counts as absent, and only metadata is recorded.")
            told.problems += found.problems
            if may_name and found.project and told.project is None:
                told.project, told.project_root = found.project, folder
            if told.workspace is None:
                told.workspace = found.workspace
            if found.capture is not None and told.capture is None:
                told.capture, told.capture_root, told.capture_lines = found.capture, folder, found.lines
        return told
