"""The capture rules that an undelivered event is held to: those of the nearest `.aimemory.toml` that has any.

Loaded only where there is such a file. What can't be told from here (other work trees, the settings of the daemon) is
decided by the daemon, which decides again when it drains.
"""

import os
import tomllib

from aimemory.model.spool import SpoolFile
from aimemory.privacy.capture import CaptureRules, Tree, judge_named, rules_from_table
from aimemory.privacy.mask import masked
from aimemory.privacy.touched import in_arguments, quoted

_LIMIT_BYTES = 64 << 10
_NO_ARGUMENTS = (
    "cwd", "prompt", "message", "last_assistant_message", "text", "session_id", "hook_event_name", "workspace_roots",
    "tool_response", "tool_result", "tool_output", "output", "result", "response", "stdout", "stderr", "error",
)  # fmt: skip
_OUTPUTS = _NO_ARGUMENTS[8:]


class Told:
    """What the file says. table: None for one that can't be read, beside which only metadata is kept."""

    __slots__ = ("folder", "table")

    def __init__(self, folder: str, table: "dict[str, object] | None") -> None:
        self.folder = folder
        self.table = table

    @property
    def is_off(self) -> bool:
        return self.table is not None and self.table.get("mode") == "off"


def told_by(path: bytes) -> Told | None:
    """What this file says of capture, None when it is silent."""
    folder = os.path.realpath(os.fsdecode(os.path.dirname(path)))
    try:
        with open(path, "rb") as file:
            raw = file.read(_LIMIT_BYTES + 1)
        if len(raw) > _LIMIT_BYTES:
            return Told(folder, None)
        table = tomllib.loads(raw.decode()).get("capture")
    except (OSError, ValueError, RecursionError):
        return Told(folder, None)
    if table is None:
        return None
    return Told(folder, table if isinstance(table, dict) else None)


def level_of(entry: SpoolFile, told: Told) -> str:
    """How much of the event may be kept: `full`, `metadata` or `drop`."""
    if told.table is None:
        return "metadata"
    rules, _ = rules_from_table(told.table)
    return _level(entry, rules, told.folder) if rules.has_paths else {"off": "drop"}.get(rules.mode, rules.mode)


def without_texts(entry: SpoolFile) -> SpoolFile:
    """The event with names, times and outcomes only."""
    return SpoolFile(
        harness=entry.harness, event=entry.event, at_ns=entry.at_ns, pid=entry.pid, cwd=entry.cwd,
        body=None if entry.body is None else masked(entry.body), text=None if entry.text is None else "",
        incomplete=entry.incomplete, status=entry.status,
    )  # fmt: skip


def _level(entry: SpoolFile, rules: CaptureRules, folder: str) -> str:
    body = entry.body if isinstance(entry.body, dict) else {}
    named = [*in_arguments({key: value for key, value in body.items() if key not in _NO_ARGUMENTS})]
    for key in _OUTPUTS:
        named += [one._replace(is_sure=False) for text in _texts(body.get(key)) for one in quoted(text)]
    is_call = any(key.lower().startswith("tool") and body[key] for key in body)
    cwd = body.get("cwd") or entry.cwd
    where = cwd if isinstance(cwd, str) and cwd.startswith("/") else folder
    tree = Tree(folder, folder, home=os.path.expanduser("~"), fold=os.path.exists(f"{folder}/.AIMEMORY.TOML"))
    return judge_named(named, rules, tree, where, os.path.realpath, is_call=is_call).level


def _texts(value: object) -> "list[str]":
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _texts(item)][:200]
