"""How an agent stands: what of ours its files hold, whether it runs, what the user has to do. Reads, never writes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aimemory.install.agent import Agent, CannotEdit, Launchers, server_path
from aimemory.install.filetext import decode, read_file
from aimemory.install.found import NOTHING, at_path, hooks_of, read_toml, server_entry
from aimemory.install.jsontext import JsonText
from aimemory.install.trust import codex_verdict

Code = Literal[
    "not installed", "installed", "incomplete", "not trusted", "changed since trusted", "off", "another data directory",
    "launcher missing", "unreadable", "name taken",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartState:
    """One of `hooks` and `mcp`. detail: a sentence about it, and what to do, where there is something to say."""

    code: Code
    detail: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """An agent's state; a part that it can't have is None."""

    agent: str
    title: str
    hooks: PartState | None
    mcp: PartState | None

    @property
    def line(self) -> str:
        """The state in one line: codes first, then what to do."""
        parts = [(name, part) for name, part in (("hooks", self.hooks), ("MCP", self.mcp)) if part]
        codes = ", ".join(f"{name} {part.code}" for name, part in parts)
        return " ".join([f"{codes}.", *dict.fromkeys(part.detail for _, part in parts if part.detail)])


def state_of(agent: Agent, launchers: Launchers) -> State:
    """Look at an agent's files. Never raises for what they are like."""
    return State(agent.id, agent.title, _hooks_state(agent, launchers), _server_state(agent, launchers))


def _hooks_state(agent: Agent, launchers: Launchers) -> PartState | None:
    file = agent.hooks
    if file is None:
        return None
    try:
        text = _text(file.path)
        found = list(hooks_of(text, file, agent))
    except CannotEdit as error:
        return PartState("unreadable", f"{file.path}: {error}")
    if not found:
        return PartState("not installed", f"`aimemory connect {agent.id} --apply` connects it.")
    where = _launcher_state({path for _, path, *_ in found}, launchers.hook, agent)
    if where is not None:
        return where
    if (off := switched_off(agent)) is not None:
        return off
    missing = {hook.event for hook in file.hooks} - {event for event, *_ in found}
    if missing:
        names = ", ".join(sorted(missing))
        return PartState("incomplete", f"Not registered: {names}. `aimemory connect {agent.id} --apply` adds them.")
    return _trust_state(agent, [(place, group) for _, _, place, group in found])


def _launcher_state(paths: set[str], wanted: Path, agent: Agent) -> PartState | None:
    """What is wrong with where the entries lead, if anything is."""
    renew = f"`aimemory connect {agent.id} --apply` renews it."
    others = sorted(paths - {str(wanted)})
    if others:
        return PartState("another data directory", f"They lead to {others[0]}. {renew}")
    if not os.access(wanted, os.X_OK):
        return PartState("launcher missing", f"{wanted} is not there. `aimemory up` writes it.")
    return None


def switched_off(agent: Agent) -> PartState | None:
    """The user's own setting by which this agent runs no hook, if it is set."""
    switch = agent.off
    if switch is None:
        return None
    try:
        value = at_path(_data(switch.path, switch.format), switch.key)
    except CannotEdit:
        return None
    if value is None or value != switch.value:
        return None
    setting = f"{'.'.join(switch.key)} = {str(switch.value).lower()}"
    return PartState("off", f"{switch.path} says {setting}: {agent.title} runs no hook at all.")


def _trust_state(agent: Agent, hooks: list[tuple[tuple[str, int, int], dict[str, Any]]]) -> PartState:
    trust = agent.trust
    if trust is None:
        return PartState("installed")
    try:
        noted = at_path(_data(trust.path, "toml"), trust.key)
    except CannotEdit as error:
        return PartState("unreadable", f"{trust.path}: {error}")
    noted = noted if isinstance(noted, dict) else {}
    verdicts = [codex_verdict(noted, trust.sources, place, group) for place, group in hooks]
    advice = f"{agent.title} runs no hook that you have not reviewed: {trust.advice}."
    if "changed" in verdicts:
        return PartState("changed since trusted", advice)
    if "untrusted" in verdicts:
        return PartState("not trusted", advice)
    if "off" in verdicts:
        return PartState("off", f"You have turned off {verdicts.count('off')} of our hooks in {agent.title}.")
    return PartState("installed")


def _server_state(agent: Agent, launchers: Launchers) -> PartState | None:
    file = agent.server
    if file is None:
        return None
    try:
        entry = server_entry(_text(file.path), file)
    except CannotEdit as error:
        return PartState("unreadable", f"{file.path}: {error}")
    if entry is NOTHING:
        return PartState("not installed", f"`aimemory connect {agent.id} --apply` connects it.")
    path = server_path(entry)
    if path is None:
        return PartState("name taken", f"`{'.'.join(file.key)}` in {file.path} is not ours.")
    return _launcher_state({path}, launchers.mcp, agent) or PartState("installed")


def _text(path: Path) -> str:
    raw = read_file(path)
    return "" if raw is None else decode(raw).text


def _data(path: Path, form: str) -> Any:
    """Raises CannotEdit."""
    text = _text(path)
    return read_toml(text) if form == "toml" else JsonText(text).data
