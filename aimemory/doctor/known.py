"""The agents that can be connected, made from the harnesses' data files and this user's places."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aimemory.config import Config, vendor_variables
from aimemory.errors import UserError
from aimemory.harness.registry import Registry, load_registry
from aimemory.harness.spec import HarnessSpec
from aimemory.install.agent import (
    SERVER_NAME,
    Agent,
    Hook,
    HookFile,
    Keys,
    Launchers,
    OtherFile,
    ServerFile,
    Switch,
    Trust,
)
from aimemory.install.record import read_record
from aimemory.install.state import PartState, State, state_of


@dataclass(frozen=True, slots=True)
class Known:
    """All connectable agents by id, every name that means one of them, and where a payload names its event."""

    agents: dict[str, Agent]
    names: dict[str, str]
    event_fields: dict[str, Keys]


def known_agents(config: Config, registry: Registry | None = None) -> Known:
    """Every harness that has settings to edit. Raises UserError for a relative home variable."""
    registry = registry or load_registry()
    specs = [registry.specs[name] for name in registry.names() if registry.specs[name].hooks.shape == "matcher-groups"]
    set_here = vendor_variables(spec.hooks.home_variable for spec in specs if spec.hooks.home_variable)
    agents = {spec.id: _agent(spec, config, set_here.get(spec.hooks.home_variable or "")) for spec in specs}
    names = {name: spec.id for spec in specs for name in (spec.id, *spec.aliases)}
    return Known(agents, names, {spec.id: spec.other.fields["event"][0] for spec in specs})


def chosen(known: Known, names: Iterable[str]) -> list[Agent]:
    """The agents of these names. Raises UserError for one that is none."""
    names = list(names)
    unknown = [name for name in names if name not in known.names]
    if unknown:
        raise UserError(f"{', '.join(unknown)} can't be connected. Known: {', '.join(known.agents)}.")
    return [known.agents[name] for name in dict.fromkeys(known.names[name] for name in names)]


def is_detected(agent: Agent) -> bool:
    """Is this agent used here: does its folder exist, or its program?"""
    return agent.folder.is_dir() or (agent.binary is not None and shutil.which(agent.binary) is not None)


def looked_for(agent: Agent) -> str:
    """What would have shown that it is used here."""
    return f"{agent.title}: the folder {agent.folder}" + (f", or `{agent.binary}` on PATH" if agent.binary else "")


def launchers(config: Config) -> Launchers:
    return Launchers(config.data.hook_launcher, config.data.mcp_launcher)


def states(config: Config) -> list[State]:
    """How every agent that is used here stands. Raises UserError as `known_agents`."""
    places, written = launchers(config), read_record(config.data.connect_record)
    return [state_of(agent, places, written) for agent in known_agents(config).agents.values() if is_detected(agent)]


def state_data(state: State) -> dict[str, object]:
    """A state as JSON."""

    def part(found: PartState | None) -> dict[str, str] | None:
        return None if found is None else {"state": found.code, "detail": found.detail}

    return {"harness": state.agent, "hooks": part(state.hooks), "mcp": part(state.mcp)}


def _agent(spec: HarnessSpec, config: Config, home: str | None) -> Agent:
    if home is not None and not Path(home).is_absolute():
        raise UserError(f"{spec.hooks.home_variable} is {home!r}, which is relative. Give an absolute path.")

    def place(file: str) -> Path:
        if home is not None:
            return Path(home) / Path(file).name
        return Path(config.home) / file.removeprefix("~/")

    hooks, off, trust = spec.hooks, spec.hooks.off, spec.hooks.trust
    unit = 1000 if hooks.timeout_unit == "ms" else 1
    path = place(hooks.file)
    rows = [row for row in spec.events.values() if row.register]
    registered = tuple(Hook(row.name, (row.timeout_s or 0) * unit, row.matcher) for row in rows)
    sources = tuple(dict.fromkeys([str(path), str(Path(os.path.realpath(path.parent)) / path.name)]))
    return Agent(
        id=spec.id,
        title=spec.title,
        names=(spec.id, *spec.aliases),
        folder=path.parent,
        binary=spec.binary,
        hooks=HookFile(path, _keys(hooks.key), registered, hooks.reads),
        server=_server(spec, place(spec.mcp.file)) if spec.mcp else None,
        off=Switch(place(off.file), off.format, _keys(off.key), off.value, tuple(map(_keys, off.older)))
        if off
        else None,
        trust=Trust(trust.scheme, place(trust.file), _keys(trust.key), sources, trust.advice) if trust else None,
        others=tuple(
            OtherFile(
                str(place(other.file)) if other.file.startswith("~/") else other.file,
                other.format,
                _keys(other.hooks) if other.hooks else None,
                tuple((_keys(key), value) for key, value in other.off),
            )
            for other in hooks.others
        ),
    )


def _server(spec: HarnessSpec, path: Path) -> ServerFile | None:
    if spec.mcp is None or spec.mcp.format == "yaml-print":
        return None
    key = tuple(part.format(name=SERVER_NAME) for part in spec.mcp.key.split("."))
    return ServerFile(path, spec.mcp.format, key, spec.mcp.entry, spec.mcp.reads)


def _keys(path: str) -> Keys:
    return tuple(path.split("."))
