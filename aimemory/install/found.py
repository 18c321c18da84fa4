"""Our entries in the files of agents, looked for. Text in, places out; editing is `entries`' part."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from aimemory.install.agent import Agent, CannotEdit, HookFile, ServerFile, launcher_of
from aimemory.install.jsontext import JsonText, Steps, as_data

Place = tuple[str, int, int]
"""Where a hook of ours stands: event, group, position in it."""

NOTHING = object()


def read_toml(text: str) -> dict[str, Any]:
    """The values. Raises CannotEdit with the line if it is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise CannotEdit(f"It is not valid TOML: {error}.", int(found[1]) if found else None) from None
    except RecursionError:
        raise CannotEdit("It is nested too deeply to be read.") from None


def hooks_of(text: str, file: HookFile, agent: Agent) -> Iterator[tuple[str, str, Place, dict[str, Any]]]:
    """Our hooks in a file: event, launcher's path, place, and the group with this hook alone."""
    hooks = hooks_in(text, file)
    for place in hook_places(hooks, agent):
        event, group, position = place
        found = hooks[event][group]
        handler = found["hooks"][position]
        yield event, launcher_of(handler["command"], agent) or "", place, {**found, "hooks": [handler]}


def hook_places(hooks: dict[str, Any], agent: Agent) -> list[Place]:
    """Where our hooks stand, in order."""
    return [
        (event, g, h)
        for event, groups in hooks.items()
        if isinstance(groups, list)
        for g, group in enumerate(groups)
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for h, handler in enumerate(group["hooks"])
        if isinstance(handler, dict) and launcher_of(handler.get("command"), agent)
    ]


def hooks_in(text: str, file: HookFile) -> dict[str, Any]:
    """The events of a hook file. Raises CannotEdit where something else stands in their place."""
    data = JsonText(text).data
    if not isinstance(data, dict):
        raise CannotEdit(f"At its top stands {kind_of(data)}, not an object.", 1)
    found = at_path(data, file.key, {})
    if not isinstance(found, dict):
        raise CannotEdit(f"`{'.'.join(file.key)}` is {kind_of(found)}, not an object.", line_of(text, file.key[-1]))
    return found


def server_entry(text: str, file: ServerFile) -> Any:
    """What is registered under our name, or `NOTHING`. Raises CannotEdit where the file's form is another."""
    data = read_toml(text) if file.is_toml else JsonText(text).data
    if not isinstance(data, dict):
        raise CannotEdit(f"At its top stands {kind_of(data)}, not an object.", 1)
    for depth in range(1, len(file.key)):
        found = at_path(data, file.key[:depth], {})
        if not isinstance(found, dict):
            name = file.key[depth - 1]
            raise CannotEdit(f"`{name}` is {kind_of(found)}, not an object.", line_of(text, name))
    return at_path(data, file.key, NOTHING)


def at_path(data: Any, path: Steps, default: Any = None) -> Any:
    """The value at a path, or `default` where nothing stands there; null is a value."""
    for key in path:
        if isinstance(data, dict) and key in data:
            data = data[str(key)]
        elif isinstance(data, list) and isinstance(key, int):
            data = data[key]
        else:
            return default
    return data


def kind_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(as_data(value)), "a number")


def line_of(text: str, name: str) -> int | None:
    at = text.find(name)
    return text.count("\n", 0, at) + 1 if at >= 0 else None
