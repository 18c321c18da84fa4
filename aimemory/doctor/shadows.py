"""What stands beside our hooks: other files that turn them off, the same hook twice, another memory's hooks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aimemory.doctor.finding import Finding, Level
from aimemory.install.agent import Agent, Keys, launcher_of
from aimemory.install.found import at_path
from aimemory.install.state import data_or_none, said_of, turned_off_by

_MEMORIES = re.compile(
    r"claude-mem\b|\bmem0\b|mempalace|basic-memory|agent-?memory|memorix|memesh|hindsight|supermemory|cavemem|openmemory"
    r"|\bai-memory\b|mcp-memory|memory-bank|\bengram\b|superlocalmemory",
    re.IGNORECASE,
)
_MAX_PARENTS = 40


def check_shadows(agent: Agent, cwd: Path | None) -> Iterator[Finding]:
    """Of one agent. cwd: whose project's files count too."""
    if agent.hooks is None:
        return
    hooks: list[tuple[Path, str, str]] = [
        (agent.hooks.path, event, command)
        for event, command in _commands(data_or_none(agent.hooks.path, "json"), agent.hooks.key)
    ]
    for other in agent.others:
        for path in _places(other.path, cwd):
            if path.resolve() == agent.hooks.path.resolve():  # the home directory as a project
                continue
            if other.of_project and (found := turned_off_by(other, path)) is not None:
                yield Finding(
                    f"agents.{agent.id}.shadowed", Level.WARNING,
                    f"{agent.title}: a setting of this project keeps our hooks from running here.",
                    f"{path} says {said_of(*found)}", fix=f"If nobody means that, take it out of {path}.",
                )  # fmt: skip
            if other.hooks is not None:
                data = data_or_none(path, other.format)
                hooks += [(path, event, command) for event, command in _commands(data, other.hooks)]
    yield from _twice(agent, hooks)
    yield from _others(agent, hooks)


def _twice(agent: Agent, hooks: list[tuple[Path, str, str]]) -> Iterator[Finding]:
    places: dict[str, list[Path]] = {}
    for path, event, command in hooks:
        if launcher_of(command, agent):
            places.setdefault(event, []).append(path)
    double = {event: paths for event, paths in places.items() if len(paths) > 1}
    if double:
        event, paths = next(iter(double.items()))
        where = " and ".join(dict.fromkeys(map(str, paths)))
        yield Finding(
            f"agents.{agent.id}.twice", Level.WARNING,
            f"{agent.title}: our hook is registered twice, so each event makes its user wait twice; it is stored once.",
            f"{len(double)} events, {event} in {where}",
            fix=f"aimemory connect {agent.id} --apply" if len(set(paths)) == 1 else f"Take ours out of {paths[-1]}.",
        )  # fmt: skip


def _others(agent: Agent, hooks: list[tuple[Path, str, str]]) -> Iterator[Finding]:
    for path, event, command in hooks:
        if not launcher_of(command, agent) and (found := _MEMORIES.search(command)):
            yield Finding(
                f"agents.{agent.id}.other-memory", Level.NOTE,
                f"{agent.title}: another memory is registered too; both add to what the model reads.",
                f"{found[0]} at {event} in {path}", proven=False, fix="Keep one of them for briefs.",
            )  # fmt: skip
            return


def _places(path: str, cwd: Path | None) -> list[Path]:
    """Where that file may lie. A project's: the directory and those above it, up to its repository."""
    if not path.startswith("{project}"):
        return [Path(path)]
    found: list[Path] = []
    for folder in [cwd, *cwd.parents][:_MAX_PARENTS] if cwd else []:
        found.append(folder / path.removeprefix("{project}/"))
        if (folder / ".git").exists():
            break
    return [one for one in found if one.is_file()]


def _commands(data: Any, key: Keys) -> Iterator[tuple[str, str]]:
    """Every hook's event and command line in a file of matcher groups."""
    events = at_path(data, key)
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if isinstance(handler, dict) and isinstance(handler.get("command"), str):
                    yield str(event), handler["command"]
