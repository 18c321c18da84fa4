"""`.aimemory.toml`: what a folder says about itself. Which folders are asked is decided by resolve.py."""

import re
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
_SAID = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL)
_QUOTES = re.compile(r"\(|'[^']{2,}'|\"[^\"]{2,}\"")
"""In what the parser says: names that it took out of the file."""

UNREADABLE_CAPTURE: Mapping[str, Any] = MappingProxyType({"mode": "metadata"})
"""What holds while a file can't be read: it may have said that nothing is to be recorded, so no content is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one file says; None where it says nothing. capture: its `[capture]` table as written; lines: where.

    unusable: why something strict stands in place of a `[capture]` that can't be read.
    """

    project: str | None = None
    workspace: str | None = None
    capture: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    unusable: str | None = None


def read_settings(path: str, data: bytes) -> Settings:
    """The file's settings. A damaged file names no project and lets only metadata be captured; wrong keys are left out.

    Never raises: every problem is a sentence that names the file.
    """
    try:
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return _damaged(f"{path} is not valid TOML{_why(error)}. It counts as absent, and only metadata is recorded.")
    problems = [
        f"{path}: {key} is not a known setting." for key in table if key not in ("project", "workspace", "capture")
    ]
    project = _name(path, table, "project", problems)
    workspace = _name(path, table, "workspace", problems)
    capture, unusable = table.get("capture"), None
    if capture is not None and not isinstance(capture, dict):
        unusable = f"{path}: capture is not a table. Only metadata is recorded below it."
        problems.append(unusable)
        capture = UNREADABLE_CAPTURE
    return Settings(
        project,
        portable_name(workspace, "workspace") if workspace else None,
        None if capture is None else MappingProxyType(capture),
        tuple(problems),
        value_lines(text, "capture", capture) if capture and unusable is None else {},
        unusable,
    )


def _why(error: Exception) -> str:
    """Where, and what the parser says of it, unless it repeats what stands there."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        return ": it is nested too deeply" if isinstance(error, RecursionError) else ": it is no UTF-8"
    found = _SAID.fullmatch(str(error))
    if found is None:
        return ""
    where = f"line {found['line']}" if found["line"] else "at its end"
    return f", {where}" if _QUOTES.search(found["what"]) else f", {where}: {found['what']}"


def _damaged(problem: str) -> Settings:
    """Stands for a file that is there and can't be used."""
    return Settings(capture=UNREADABLE_CAPTURE, problems=(problem,), unusable=problem)


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
    capture_problem: str | None = None
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
                told.capture_problem = found.unusable
        return told
