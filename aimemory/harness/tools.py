"""What a tool call says by its role: the command, the files, the readable text of its answer. Pure."""

import json
import re
from dataclasses import dataclass

from aimemory.harness.spec import Response, Tool
from aimemory.harness.table import Keys, Paths
from aimemory.model.event import Json

_PATCH_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ?(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Call:
    """What one call is about. hidden: the input key that `command` has already told, if any."""

    command: str | None = None
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hidden: Keys = ()


NO_CALL = Call()


def look_up(body: Json, keys: Keys) -> Json:
    """The value at that path, None where there is none."""
    for key in keys:
        if type(body) is not dict:
            return None
        body = body.get(key)
    return body


def read_call(tool: Tool | None, body: Json) -> Call:
    """The command or the files of a call; `NO_CALL` for a tool without a role, or whose input isn't as expected."""
    if tool is None:
        return NO_CALL
    for keys in tool.paths:
        value = look_up(body, keys)
        if type(value) is not str or not value:
            continue
        if tool.role == "shell":
            return Call(command=value, hidden=keys)
        if tool.role == "patch":
            return Call(written=patched_files(value))
        return Call(written=(value,)) if tool.role == "write" else Call(read=(value,))
    return NO_CALL


def patched_files(patch: str) -> tuple[str, ...]:
    """Files that a patch adds, updates, deletes or moves to, in its order, each once."""
    return tuple(dict.fromkeys(_PATCH_FILE.findall(patch)))


def plain_text(value: Json) -> str | None:
    """The text of a string, a number, or a list of strings and text parts; None where it is anything else or empty."""
    kind = type(value)
    if kind is str:
        return value or None
    if kind is int or kind is float:
        return str(value)
    if kind is not list or not value:
        return None
    parts = [part.get("text") if type(part) is dict else part for part in value]
    texts = [part for part in parts if type(part) is str]
    return "\n".join(texts) or None if len(texts) == len(parts) else None


def answer_text(value: Json, response: Response, tool: Tool | None) -> str | None:
    """A tool's answer as text: the text that the harness's data names, else compact JSON without repeated parts."""
    text = plain_text(value)
    if text is not None or not value or type(value) is bool:
        return text
    if type(value) is dict:
        if tool is not None and tool.role in ("write", "patch"):
            value = {key: inner for key, inner in value.items() if key not in response.omit_written}
        found = _texts(value, response.text)
        if found:
            return "\n".join(found)
    value = _without(value, response.omit)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


def _without(value: Json, keys: frozenset[str]) -> Json:
    """The value without these keys and without empty values, at any depth."""
    if type(value) is dict:
        inner = {key: _without(item, keys) for key, item in value.items() if key not in keys}
        return {key: item for key, item in inner.items() if item not in (None, "", [], {})}
    return [_without(item, keys) for item in value] if type(value) is list else value


def _texts(value: Json, paths: Paths) -> list[str]:
    texts = (plain_text(look_up(value, keys)) for keys in paths)
    return [text for text in texts if text is not None]
