"""How an agent stands: what of ours its files hold, whether it runs, what the user has to do. Reads, never writes."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aimemory.install.agent import Agent, CannotEdit, Keys, Launchers, OtherFile, Part, server_path
from aimemory.install.change import Written
from aimemory.install.filetext import decode, read_file
from aimemory.install.found import NOTHING, at_path, hooks_of, read_toml, server_entry
from aimemory.install.jsontext import JsonText
from aimemory.install.trust import codex_verdict

Code = Literal[
    "not installed", "installed", "removed", "incomplete", "not trusted", "changed since trusted", "edited", "off",
    "another data directory", "launcher missing", "unreadable", "name taken",
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


def state_of(agent: Agent, launchers: Launchers, written: Mapping[str, Written] | None = None) -> State:
    """Look at an agent's files. Never raises for what they are like. written: the record of what connect wrote."""
    record = written or {}
    return State(agent.id, agent.title, _hooks_state(agent, launchers, record), _server_state(agent, launchers, record))


def _absent(agent: Agent, path: Path, part: Part, written: Mapping[str, Written]) -> PartState:
    """Nothing of ours is there: because nobody asked for it, or because somebody took it out."""
    renew = f"`aimemory connect {agent.id} --apply` connects it."
    entry = written.get(str(path))
    if entry is None or part not in entry.parts:
        return PartState("not installed", renew)
    return PartState("removed", f"`connect` wrote to {path}, and what it wrote is gone from there. {renew}")


def _hooks_state(agent: Agent, launchers: Launchers, written: Mapping[str, Written]) -> PartState | None:
    file = agent.hooks
    if file is None:
        return None
    try:
        text = _text(file.path)
        found = list(hooks_of(text, file, agent))
    except CannotEdit as error:
        return PartState("unreadable", f"{file.path}: {error}")
    if not found:
        return _absent(agent, file.path, "hooks", written)
    where = _launcher_state({path for _, path, *_ in found}, launchers.hook, agent)
    if where is not None:
        return where
    if (off := switched_off(agent)) is not None:
        return off
    missing = {hook.event for hook in file.hooks} - {event for event, *_ in found}
    if missing:
        names = ", ".join(sorted(missing))
        return PartState("incomplete", f"Not registered: {names}. `aimemory connect {agent.id} --apply` adds them.")
    trust = _trust_state(agent, [(place, group) for _, _, place, group in found])
    return trust if trust.code != "installed" else _edited(agent, launchers, found) or trust


def _edited(agent: Agent, launchers: Launchers, found: list[tuple[str, str, Any, dict[str, Any]]]) -> PartState | None:
    """What somebody changed in our entries, so that they run otherwise than we wrote them."""
    wanted = {hook.event: hook for hook in agent.hooks.hooks} if agent.hooks else {}
    changed = []
    for event, _, _, group in found:
        hook, handler = wanted.get(event), group["hooks"][0]
        if hook is None:
            changed.append(f"{event} is none of ours")
            continue
        for name, value in hook.handler(launchers.command(agent, event)).items():
            if name == "command":
                if shlex.split(str(handler.get(name))) != shlex.split(str(value)):
                    changed.append(f"{event} calls {handler.get(name)}")
            elif handler.get(name) != value:
                changed.append(f"{event} has {name} {handler.get(name)!r} instead of {value!r}")
        if not hook.takes_matcher(group.get("matcher")):
            changed.append(f"{event} has matcher {group.get('matcher')!r}")
    if not changed:
        return None
    return PartState("edited", f"{'; '.join(changed)}. `aimemory connect {agent.id} --apply` renews them.")


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
    if switch is not None:
        data = data_or_none(switch.path, switch.format)
        keys = (switch.key, *switch.older)
        key = next((one for one in keys if at_path(data, one) is not None), switch.key)
        if at_path(data, key) == switch.value and at_path(data, key) is not None:
            return _off(switch.path, key, switch.value, f"{agent.title} runs no hook at all")
    for other in agent.others:
        if not other.of_project and (found := turned_off_by(other, Path(other.path))) is not None:
            return _off(Path(other.path), *found, f"{agent.title} does not run our hooks")
    return None


def turned_off_by(other: OtherFile, path: Path) -> tuple[Keys, object] | None:
    """The setting in another file, at `path`, by which our hooks don't run."""
    data = data_or_none(path, other.format)
    return next(((key, value) for key, value in other.off if at_path(data, key) == value), None)


def said_of(key: Keys, value: object) -> str:
    """A setting as a person writes it."""
    return f"{'.'.join(key)} = {str(value).lower()}"


def _off(path: Path, key: Keys, value: object, effect: str) -> PartState:
    return PartState("off", f"{path} says {said_of(key, value)}: {effect}.")


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


def _server_state(agent: Agent, launchers: Launchers, written: Mapping[str, Written]) -> PartState | None:
    file = agent.server
    if file is None:
        return None
    try:
        entry = server_entry(_text(file.path), file)
    except CannotEdit as error:
        return PartState("unreadable", f"{file.path}: {error}")
    if entry is NOTHING:
        return _absent(agent, file.path, "mcp", written)
    path = server_path(entry)
    if path is None:
        return PartState("name taken", f"`{'.'.join(file.key)}` in {file.path} is not ours.")
    return _launcher_state({path}, launchers.mcp, agent) or PartState("installed")


def _text(path: Path) -> str:
    raw = read_file(path)
    return "" if raw is None else decode(raw).text


def data_or_none(path: Path, form: str) -> Any:
    """What a file of settings holds; None where it can't be read."""
    try:
        return _data(path, form)
    except CannotEdit:
        return None


def _data(path: Path, form: str) -> Any:
    """Raises CannotEdit."""
    text = _text(path)
    return read_toml(text) if form == "toml" else JsonText(text).data
