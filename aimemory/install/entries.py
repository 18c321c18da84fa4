"""Our entries in the files of agents: found, added, renewed and taken out. Text in, text out.

Every result is checked against what it came from: both parsed, all but our entries must be equal, else CannotEdit is
raised and nothing is written.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from aimemory.install import tomltext
from aimemory.install.agent import (
    Agent,
    CannotEdit,
    Hook,
    HookFile,
    Keys,
    Launchers,
    ServerFile,
    launcher_of,
    server_path,
)
from aimemory.install.found import (
    NOTHING,
    Place,
    at_path,
    hook_places,
    hooks_in,
    hooks_of,
    kind_of,
    line_of,
    read_toml,
    server_entry,
)
from aimemory.install.jsontext import JsonText, Members, Steps

_Read = TypeVar("_Read")
_UNSAFE = "It can't be edited without changing what is not ours; add or remove our entries by hand (docs/hooks.md)."


# -- hooks -----------------------------------------------------------------------------------------------------------


def add_hooks(text: str, file: HookFile, agent: Agent, launchers: Launchers) -> str:
    """The text with one hook of ours for every event, and none for other events. Raises CannotEdit."""
    new = text
    wanted = {hook.event: hook for hook in file.hooks}
    for event in dict.fromkeys([*wanted, *(place[0] for place in hook_places(hooks_in(text, file), agent))]):
        new = _settled(new, file, agent, event, wanted.get(event), launchers)
    _check_hooks(text, new, file, agent)
    if {hook for hook, *_ in hooks_of(new, file, agent)} != set(wanted):
        raise CannotEdit("It can't be edited safely: the result would not hold our hooks.")
    return new


def remove_hooks(text: str, file: HookFile, agent: Agent, kept: Iterable[Keys]) -> str:
    """The text without hooks of ours, and without what is empty for that reason. kept: containers that were there, and
    empty, before. Raises CannotEdit."""
    new = text
    events = dict.fromkeys(place[0] for place in hook_places(hooks_in(text, file), agent))
    for event in events:
        new = _settled(new, file, agent, event, None, None)
        if at_path(JsonText(new).data, (*file.key, event)) == [] and (*file.key, event) not in kept:
            new = JsonText(new).remove((*file.key, event))
    if events:
        new = _without_empty(new, file.key, kept)
    _check_hooks(text, new, file, agent)
    return new


def moved_by_removal(text: str, file: HookFile, agent: Agent) -> bool:
    """Do hooks of others stand behind ours in one list, so that their number changes when ours go?"""
    hooks = hooks_in(text, file)
    last = {event: group for event, group, _ in reversed(hook_places(hooks, agent))}
    return any(len(hooks[event]) > group + 1 for event, group in last.items())


def _settled(
    text: str, file: HookFile, agent: Agent, event: str, hook: Hook | None, launchers: Launchers | None
) -> str:
    """One event with exactly the wanted hook of ours. The first that is there is renewed in its place, since agents
    know a reviewed hook by its position."""
    places = [place for place in hook_places(hooks_in(text, file), agent) if place[0] == event]
    for place in reversed(places[1:] if hook else places):
        text = _without_place(text, file, place)
    if hook is None or launchers is None:
        return text
    command = launchers.command(agent, event)
    if not places:
        _check_list(text, file, event)
        return JsonText(text).append((*file.key, event), hook.group(command))
    return _renewed(text, file, places[0], hook, command)


def _renewed(text: str, file: HookFile, place: Place, hook: Hook, command: str) -> str:
    event, g, h = place
    where: Steps = (*file.key, event, g)
    group = at_path(JsonText(text).data, where)
    for name, value in hook.handler(command).items():
        if group["hooks"][h].get(name) != value:
            text = JsonText(text).put((*where, "hooks", h, name), value)
    if len(group["hooks"]) == 1 and not hook.takes_matcher(group.get("matcher")):
        document = JsonText(text)
        path = (*where, "matcher")
        text = document.remove(path) if hook.matcher is None else document.put(path, hook.matcher)
    return text


def _without_place(text: str, file: HookFile, place: Place) -> str:
    event, g, h = place
    document = JsonText(text)
    alone = len(at_path(document.data, (*file.key, event, g, "hooks"))) == 1
    return document.remove((*file.key, event, g) if alone else (*file.key, event, g, "hooks", h))


def _check_list(text: str, file: HookFile, event: str) -> None:
    found = hooks_in(text, file).get(event, [])
    if not isinstance(found, list):
        raise CannotEdit(f"`{'.'.join((*file.key, event))}` is {kind_of(found)}, not a list.", line_of(text, event))


def _check_hooks(before: str, after: str, file: HookFile, agent: Agent) -> None:
    old, new = JsonText(before), _read_again(JsonText, after)
    same = _foreign_hooks(old.tree, file.key, agent) == _foreign_hooks(new.tree, file.key, agent)
    if not same or old.comments != new.comments:
        raise CannotEdit(_UNSAFE)


def _foreign_hooks(tree: Any, key: Keys, agent: Agent) -> Any:
    """A file's content without our hooks and without containers that are empty."""
    if not isinstance(tree, Members):
        return tree
    if not key:
        events = Members((event, _foreign_groups(groups, agent)) for event, groups in tree)
        return Members(pair for pair in events if pair[1] not in ([], Members()))
    inner = Members((name, _foreign_hooks(value, key[1:], agent) if name == key[0] else value) for name, value in tree)
    return Members(pair for pair in inner if pair[0] != key[0] or pair[1] != Members())


def _foreign_groups(groups: Any, agent: Agent) -> Any:
    if not isinstance(groups, list):
        return groups
    found = []
    for group in groups:
        handlers = dict(group).get("hooks") if isinstance(group, Members) else None
        if not isinstance(handlers, list):
            found.append(group)
            continue
        others = [one for one in handlers if not _is_ours(one, agent)]
        if len(others) == len(handlers):
            found.append(group)
        elif others:
            found.append(Members((name, others if name == "hooks" else value) for name, value in group))
    return found


def _is_ours(handler: Any, agent: Agent) -> bool:
    return isinstance(handler, Members) and launcher_of(dict(handler).get("command"), agent) is not None


# -- the MCP server --------------------------------------------------------------------------------------------------


def add_server(text: str, file: ServerFile, launchers: Launchers) -> str:
    """The text with our server. Raises CannotEdit, also where somebody else's has its name."""
    found = server_entry(text, file)
    command = str(launchers.mcp)
    entry = {**file.entry, "command": command}
    if found is NOTHING:
        new = tomltext.put_table(text, file.key, entry) if file.is_toml else JsonText(text).put(file.key, entry)
    elif server_path(found) is None:
        raise CannotEdit(
            f"`{'.'.join(file.key)}` is there already and is not ours. It was left. Rename or remove it, "
            f"then run `aimemory connect` again; or add {command} under another name by hand.",
            line_of(text, file.key[-1]),
        )
    elif found["command"] == command:
        return text
    elif file.is_toml:
        new = tomltext.put_value(text, (*file.key, "command"), command)
    else:
        new = JsonText(text).put((*file.key, "command"), command)
    _check_server(text, new, file)
    if server_path(server_entry(new, file)) != command:
        raise CannotEdit("It can't be edited safely: the result would not hold our server.")
    return new


def remove_server(text: str, file: ServerFile, kept: Iterable[Keys]) -> str:
    """The text without our server; one of its name that is not ours stays. Raises CannotEdit."""
    if server_path(server_entry(text, file)) is None:
        return text
    if file.is_toml:
        new = tomltext.remove_table(text, file.key)
    else:
        new = _without_empty(JsonText(text).remove(file.key), file.key[:-1], kept)
    _check_server(text, new, file)
    return new


def _check_server(before: str, after: str, file: ServerFile) -> None:
    if file.is_toml:
        then, now = read_toml(before), _read_again(read_toml, after)
        same = _foreign_table(then, file.key) == _foreign_table(now, file.key)
    else:
        old, new = JsonText(before), _read_again(JsonText, after)
        same = _foreign_server(old.tree, file.key) == _foreign_server(new.tree, file.key)
        same = same and old.comments == new.comments
    if not same:
        raise CannotEdit(_UNSAFE)


def _foreign_server(tree: Any, key: Keys) -> Any:
    if not isinstance(tree, Members):
        return tree
    if len(key) == 1:
        return Members(pair for pair in tree if pair[0] != key[0])
    inner = Members((name, _foreign_server(value, key[1:]) if name == key[0] else value) for name, value in tree)
    return Members(pair for pair in inner if pair[0] != key[0] or pair[1] != Members())


def _foreign_table(data: dict[str, Any], key: Keys) -> dict[str, Any]:
    inner = data.get(key[0])
    if len(key) > 1 and isinstance(inner, dict):
        data = {**data, key[0]: _foreign_table(inner, key[1:])}
    else:
        data = {name: value for name, value in data.items() if name != key[0]}
    return {name: value for name, value in data.items() if name != key[0] or value != {}}


# -- both ------------------------------------------------------------------------------------------------------------


def empty_containers(text: str, keys: Iterable[Keys], is_toml: bool) -> list[Keys]:
    """Which of these containers are in the text and hold nothing: they are the user's, and stay."""
    data = read_toml(text) if is_toml else JsonText(text).data
    return [key for key in keys if at_path(data, key) in ({}, []) and isinstance(at_path(data, key), dict | list)]


def _without_empty(text: str, key: Keys, kept: Iterable[Keys]) -> str:
    kept = set(kept)
    while key and key not in kept and at_path(JsonText(text).data, key) == {}:
        text = JsonText(text).remove(key)
        key = key[:-1]
    return text


def _read_again(read: Callable[[str], _Read], text: str) -> _Read:
    """A result of ours; that it can't be read is our fault, not the file's."""
    try:
        return read(text)
    except CannotEdit:
        raise CannotEdit(_UNSAFE) from None
