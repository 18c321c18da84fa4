"""What installing needs to know of one agent program: which entries go into which files, and how its trust shows.

Values only. The command line makes them from the harnesses' data files; nothing here reads any file.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from aimemory.errors import UserError

SERVER_NAME = "aimemory"
"""Under this name the MCP server is registered everywhere."""

Keys: TypeAlias = tuple[str, ...]
Part: TypeAlias = Literal["hooks", "mcp"]
_WHOLE_GROUP = (None, "", "*")
"""Matchers that mean the same: every tool."""


class CannotEdit(UserError):
    """A file of somebody else's that we leave as it is. `where` is the file, and the line where there is one."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True, slots=True)
class Hook:
    """One event to register; timeout in the vendor's own unit."""

    event: str
    timeout: int
    matcher: str | None = None

    def handler(self, command: str) -> dict[str, Any]:
        return {"type": "command", "command": command, "timeout": self.timeout}

    def group(self, command: str) -> dict[str, Any]:
        matcher = {} if self.matcher is None else {"matcher": self.matcher}
        return {**matcher, "hooks": [self.handler(command)]}

    def takes_matcher(self, found: object) -> bool:
        """Does a group with this matcher fire for the same calls as ours would?"""
        return found == self.matcher or (self.matcher in _WHOLE_GROUP and found in _WHOLE_GROUP)


@dataclass(frozen=True, slots=True)
class HookFile:
    """A JSON file of matcher groups. key: where the events stand in it. reads: what beside strict UTF-8 JSON the vendor
    can read of it (`comments`, `bom`, `utf-16`)."""

    path: Path
    key: Keys
    hooks: tuple[Hook, ...]
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServerFile:
    """Where the MCP server is registered. key: where its entry stands, its name included; entry: as it is written."""

    path: Path
    format: str
    key: Keys
    entry: Mapping[str, Any]
    reads: frozenset[str] = frozenset()

    @property
    def is_toml(self) -> bool:
        return self.format == "toml"


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting of the user's that, with this value, turns all hooks off. older: names that count where `key` is not
    set."""

    path: Path
    format: str
    key: Keys
    value: object
    older: tuple[Keys, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherFile:
    """Another file that the agent reads for hooks (`hooks`: under which key, if at all), or in which they can be turned
    off (`off`: settings with the value that does it). path: may begin with `{project}`."""

    path: str
    format: str
    hooks: Keys | None
    off: tuple[tuple[Keys, object], ...]

    @property
    def of_project(self) -> bool:
        return self.path.startswith("{project}")


@dataclass(frozen=True, slots=True)
class Trust:
    """Where the agent notes which hooks its user has reviewed. sources: the hook file's path as it names it there."""

    scheme: str
    path: Path
    key: Keys
    sources: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent program. names: what a hook command may call it. folder: its directory of settings."""

    id: str
    title: str
    names: tuple[str, ...]
    folder: Path
    binary: str | None
    hooks: HookFile | None = None
    server: ServerFile | None = None
    off: Switch | None = None
    trust: Trust | None = None
    others: tuple[OtherFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Launchers:
    """The two commands that settings name."""

    hook: Path
    mcp: Path

    def command(self, agent: Agent, event: str) -> str:
        """The shell command of a hook: the path quoted where a shell would take it apart."""
        return f"{shlex.quote(str(self.hook))} {agent.id} {event}"


_BY_HAND = re.compile(
    r"\s*(?:'|\")?(?P<path>/.*?/bin/hook)(?:'|\")?\s+(?P<harness>[a-z0-9-]+)\s+(?P<event>\w[\w-]*)\s*"
)


def launcher_of(command: object, agent: Agent) -> str | None:
    """The launcher's path if this hook command is one of ours, whatever the path: `…/bin/hook <harness> <Event>`."""
    if not isinstance(command, str):
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote
        return None
    if len(words) != 3 and (found := _BY_HAND.fullmatch(command)):  # a path with spaces that nobody quoted
        words = [found["path"], found["harness"], found["event"]]
    if len(words) == 3 and words[0].endswith("/bin/hook") and words[1] in agent.names:
        return words[0]
    return None


def server_path(entry: object) -> str | None:
    """The launcher's path if this MCP entry runs one of ours: `…/bin/mcp`, whatever the path."""
    command = entry.get("command") if isinstance(entry, Mapping) else None
    return command if isinstance(command, str) and command.endswith("/bin/mcp") else None
