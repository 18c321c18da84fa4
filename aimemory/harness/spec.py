"""What is known of one harness, as typed values, and the reading of its `harness.toml` into them.

Facts only, no decisions: decoding, answering and installing read these values. Finding the files is `registry`'s part.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from aimemory.errors import UserError
from aimemory.harness.table import Keys, Paths, Table, split
from aimemory.model.event import EventKind
from aimemory.model.transcript import TranscriptSource

FIELDS = frozenset([
    "event", "session", "cwd", "at", "model", "transcript", "agent_id", "agent_type", "prompt", "message", "text",
    "tool", "call", "input", "output", "error", "exit_code", "reason",
])  # fmt: skip
"""What a payload can tell; the names used in `[fields]`."""

ROLES = ("shell", "write", "read", "patch")
SHAPES = ("matcher-groups", "flat", "exec-array", "named-group", "extension", "none")
READABLE = frozenset(["comments", "bom", "utf-16"])
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Tool:
    """What a tool does (one of `ROLES`) and where its command, path or patch text stands."""

    role: str
    paths: Paths


@dataclass(frozen=True, slots=True)
class EventRow:
    """One vendor event.

    fields: where to find what, the row's own paths before the common ones. identity: fields that name this very
    event. reply: its answer may carry a brief. register: installed as a hook. failed: what the event's name says of
    the outcome. reason: said when the payload gives none. other_when: a value with one of these patterns makes it
    kind `other` (`*` at the end matches any rest). timeout_s, matcher: what goes into the vendor's configuration.
    """

    name: str
    kind: EventKind
    fields: Mapping[str, Paths]
    identity: Paths = ()
    reply: bool = False
    register: bool = False
    failed: bool | None = None
    reason: str | None = None
    other_when: tuple[tuple[Keys, tuple[str, ...]], ...] = ()
    timeout_s: int | None = None
    matcher: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a tool call's outcome shows: patterns whose first group is the exit code, and values that leave it open."""

    error_pattern: re.Pattern[str] | None = None
    output_pattern: re.Pattern[str] | None = None
    open_when: Paths = ()


@dataclass(frozen=True, slots=True)
class Response:
    """How a tool's response object reads.

    text: where its readable text stands. omit: keys that are not kept at any depth. omit_written: keys in which a tool
    that writes repeats its input or the file.
    """

    text: Paths = ()
    omit: frozenset[str] = frozenset()
    omit_written: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Inject:
    """How a brief is handed over.

    reply: `none`, `text` or `json`. json_path: where the text goes; event_path: where the event's name goes, if at all.
    limit_chars, limit_bytes: largest text that the harness passes on whole, in Unicode characters and UTF-8 bytes.
    """

    reply: str = "none"
    json_path: Keys = ()
    event_path: Keys = ()
    limit_chars: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """A setting that, with this value, turns all hooks off. older: names that the harness still takes for `key`."""

    file: str
    format: str
    key: str
    value: Any
    older: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherFile:
    """Another file that the harness reads for hooks (`hooks`: under which key, if at all), or in which they can be
    turned off (`off`: settings with the value that does it). `{project}` in `file` is the directory it was started in.
    """

    file: str
    format: str
    hooks: str | None
    off: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Trust:
    """Where the harness notes which hooks its user has reviewed (`scheme` says how), and what the user does for it."""

    scheme: str
    file: str
    key: str
    advice: str


@dataclass(frozen=True, slots=True)
class HookFile:
    """Where and how hooks are registered. home_variable: names another place for the directory of this file and of all
    others of the harness. reads: what beside strict UTF-8 JSON the harness reads of it, of `READABLE`."""

    shape: str = "none"
    file: str = ""
    key: str = ""
    timeout_unit: str = "s"
    home_variable: str | None = None
    parent: str = "harness"
    reads: frozenset[str] = frozenset()
    off: Switch | None = None
    trust: Trust | None = None
    others: tuple[OtherFile, ...] = ()


@dataclass(frozen=True, slots=True)
class McpEntry:
    """Where the MCP server is registered; `{name}` and `{data}` in key and entry are filled in. reads: as of hooks."""

    file: str
    format: str
    key: str
    entry: Mapping[str, Any]
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verified:
    version: str
    os: str
    on: date


@dataclass(frozen=True, slots=True)
class HarnessSpec:
    """One harness. `other` is the row of events that have none of their own; known: it has a data file; binary: its
    program's name.

    agent_needs_type: an agent id beside an empty agent type names no sub-agent. ignore: payload keys without content.
    has_true_end: its end event comes when the session ends, if it comes. transcript: where it keeps its own records.
    """

    id: str
    title: str
    events: Mapping[str, EventRow]
    other: EventRow
    aliases: tuple[str, ...] = ()
    binary: str | None = None
    verified: Verified | None = None
    hooks: HookFile = HookFile()
    mcp: McpEntry | None = None
    tools: Mapping[str, Tool] = field(default_factory=dict)
    outcome: Outcome = Outcome()
    response: Response = Response()
    inject: Inject = Inject()
    transcript: TranscriptSource | None = None
    ignore: frozenset[str] = frozenset()
    agent_needs_type: bool = False
    has_true_end: bool = True
    known: bool = True

    def row(self, event: str) -> EventRow:
        """The row of that vendor event, or the one that keeps it as `other`."""
        return self.events.get(event, self.other)

    def unknown(self, name: str) -> "HarnessSpec":
        """This description for a harness that has none: the same fields, but no event has a meaning."""
        return replace(self, id=name, title=name, aliases=(), events={}, inject=Inject(), known=False)


def load_spec(file: Path) -> HarnessSpec:
    """Read one `harness.toml`.

    Raises UserError that lists all problems of the file at once.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not valid TOML: {error}. Correct the file or remove its folder.") from error
    except OSError as error:
        raise UserError(f"{file} can't be read: {error.strerror}. Correct its mode or remove its folder.") from error
    top = Table(table, "", [])
    spec = _spec(top)
    if top.problems:
        raise UserError(f"{file} has problems:\n" + "\n".join(f"  {problem}" for problem in top.problems))
    return spec


def _spec(top: Table) -> HarnessSpec:
    name = top.text("id")
    if not _ID.fullmatch(name):
        top.report("id", "is not lower-case letters, digits and hyphens")
    common = _fields(top.table("fields"))
    hooks = top.table("hooks")
    rows = hooks.table("events")
    registered = _hook_file(hooks)
    limits = top.table("limits")
    events = {event: _row(event, rows.table(event), common) for event in list(rows.left)}
    spec = HarnessSpec(
        id=name,
        title=top.text("title"),
        aliases=tuple(top.texts("aliases")),
        binary=top.text("binary", "") or None,
        verified=_verified(top.table("verified")) if "verified" in top.left else None,
        events=events,
        other=EventRow("", EventKind.OTHER, common),
        hooks=registered,
        mcp=_mcp(top.table("mcp")) if "mcp" in top.left else None,
        tools=_tools(top.table("tools")),
        outcome=_outcome(top.table("outcome")),
        response=_response(top.table("response")),
        inject=_inject(top.table("inject")),
        transcript=_transcript(name, top.table("transcript"), registered.home_variable)
        if "transcript" in top.left
        else None,
        ignore=frozenset(hooks.texts("ignore")),
        agent_needs_type=hooks.flag("agent_needs_type", False),
        has_true_end=limits.flag("has_true_end", True),
    )
    for table in (hooks, rows, limits, top):
        table.done()
    return spec


def _verified(table: Table) -> Verified:
    found = Verified(table.text("version"), table.text("os"), table.day("on"))
    table.done()
    return found


def _fields(table: Table) -> dict[str, Paths]:
    found = {}
    for name in list(table.left):
        if name not in FIELDS:
            table.report(name, f"is none of {', '.join(sorted(FIELDS))}")
        found[name] = table.paths(name)
    return found


def _row(name: str, table: Table, common: Mapping[str, Paths]) -> EventRow:
    own = _fields(table.table("fields"))
    conditions = table.table("other_when")
    row = EventRow(
        name=name,
        kind=EventKind(table.choice("kind", tuple(EventKind))),
        fields={**common, **{field: paths + common.get(field, ()) for field, paths in own.items()}},
        identity=table.paths("identity"),
        reply=table.flag("reply", False),
        register=table.flag("register", False),
        failed=table.flag("failed", False) if "failed" in table.left else None,
        reason=table.text("reason", "") or None,
        other_when=tuple((split(path), tuple(conditions.texts(path))) for path in list(conditions.left)),
        timeout_s=table.number("timeout_s"),
        matcher=table.text("matcher", "") or None,
    )
    if row.reply and not row.register:
        table.report("reply", "is true, but register is not")
    if row.register and row.timeout_s is None:
        table.report("timeout_s", "is missing for a registered event")
    table.done()
    return row


def _hook_file(table: Table) -> HookFile:
    off, trust = table.table("off"), table.table("trust")
    found = HookFile(
        shape=table.choice("shape", SHAPES),
        file=table.text("file", ""),
        key=table.text("key", ""),
        timeout_unit=table.choice("timeout_unit", ("s", "ms"), "s"),
        home_variable=table.text("home_variable", "") or None,
        parent=table.choice("hook_parent", ("harness", "server"), "harness"),
        reads=_reads(table),
        off=_switch(off) if off.left else None,
        trust=_trust(trust) if trust.left else None,
        others=tuple(_other(one) for one in table.tables("others")),
    )
    off.done()
    trust.done()
    return found


def _switch(table: Table) -> Switch:
    value = table.left.pop("value", None)
    if value is None:
        table.report("value", "is missing")
    older = tuple(table.texts("older"))
    return Switch(table.text("file"), table.choice("format", _FORMATS), table.text("key"), value, older)


def _other(table: Table) -> OtherFile:
    off = table.table("off")
    found = OtherFile(
        file=table.text("file"),
        format=table.choice("format", ("json", "toml")),
        hooks=table.text("hooks", "") or None,
        off=tuple(off.left.items()),
    )
    if not found.file.startswith(("/", "~/", "{project}/")):
        table.report("file", "is none of /…, ~/…, {project}/…")
    table.done()
    return found


def _trust(table: Table) -> Trust:
    scheme = table.choice("scheme", _TRUST_SCHEMES)
    return Trust(scheme, table.text("file"), table.text("key"), table.text("advice"))


def _reads(table: Table) -> frozenset[str]:
    found = frozenset(table.texts("reads"))
    for name in sorted(found - READABLE):
        table.report("reads", f"has {name!r}, which is none of {', '.join(sorted(READABLE))}")
    return found


def _mcp(table: Table) -> McpEntry:
    entry = table.table("entry")
    found = McpEntry(
        table.text("file"), table.choice("format", _FORMATS), table.text("key"), dict(entry.left), _reads(table)
    )
    table.done()
    return found


_FORMATS = ("json", "jsonc", "toml", "yaml-print")
_TRUST_SCHEMES = ("codex",)


def _tools(table: Table) -> dict[str, Tool]:
    found = {}
    for role in list(table.left):
        if role not in ROLES:
            table.report(role, f"is none of {', '.join(ROLES)}")
        tools = table.table(role)
        for tool in list(tools.left):
            found[tool] = Tool(role, tools.paths(tool))
    return found


def _outcome(table: Table) -> Outcome:
    found = Outcome(table.pattern("error_pattern"), table.pattern("output_pattern"), table.paths("open_when"))
    table.done()
    return found


def _response(table: Table) -> Response:
    found = Response(table.paths("text"), frozenset(table.texts("omit")), frozenset(table.texts("omit_written")))
    table.done()
    return found


def _transcript(name: str, table: Table, variable: str | None) -> TranscriptSource:
    found = TranscriptSource(
        harness=name,
        format=table.text("format"),
        home=table.text("home"),
        folders=tuple(table.texts("folders")),
        home_variable=variable,
    )
    if not found.home.startswith("~/"):
        table.report("home", "is not below ~/")
    if not found.folders or any(folder.startswith("/") or ".." in folder.split("/") for folder in found.folders):
        table.report("folders", "is not a list of folders below home")
    table.done()
    return found


def _inject(table: Table) -> Inject:
    reply, _, path = table.text("reply", "none").partition(":")
    if reply not in ("none", "text", "json") or (reply == "json") != bool(path):
        table.report("reply", "is none of none, text, json:<path>")
    found = Inject(
        reply=reply,
        json_path=split(path),
        event_path=split(table.text("event_path", "")),
        limit_chars=table.number("limit_chars"),
        limit_bytes=table.number("limit_bytes"),
    )
    table.done()
    return found
