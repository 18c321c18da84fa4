"""The lifecycle event of a session: as delivered, and as understood.

A `Delivery` is what the hook client says about an event beside the vendor's own JSON. An `Event` is what a harness's
decode table makes of that JSON. Both hold sanitised text only: the privacy boundary lies before decoding.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from aimemory.model.process import Process

Json: TypeAlias = Any
"""A decoded JSON value. Only the edge and `Event.extra` hold one; everything else is typed."""


class EventKind(StrEnum):
    """What an event means, whatever the vendor calls it. `other` is kept and findable, but has no meaning here."""

    SESSION_START = "session-start"
    PROMPT = "prompt"
    PRE_TOOL = "pre-tool"
    POST_TOOL = "post-tool"
    TURN_END = "turn-end"
    COMPACT = "compact"
    SESSION_END = "session-end"
    NOTE = "note"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the client says about one event; `at_ns` and `pid` are the same in every delivery of that event."""

    harness: str
    event: str
    at_ns: int | None = None
    pid: int | None = None
    cwd: str | None = None
    session_id: str | None = None
    reply: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """One decoded event. Optional fields are None when the vendor does not say.

    prompt, message, output, error, text: sanitised text, capped.
    failed: True, False, or None for unknown (several harnesses don't tell).
    files_written, files_read: paths as the tool named them, absolute or relative to `cwd`.
    command: the shell command of a shell tool.
    process: the harness's own process, on the events that say something new about it.
    extra: vendor fields without a meaning here, sanitised.
    evidence: `observed` for what a hook said, `transcript` for what was read from the harness's own record; not stored.
    """

    harness: str
    event: str
    kind: EventKind
    native_session: str | None = None
    cwd: str | None = None
    at_ns: int | None = None
    pid: int | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    model: str | None = None
    transcript_path: str | None = None
    prompt: str | None = None
    message: str | None = None
    tool: str | None = None
    call_id: str | None = None
    command: str | None = None
    files_written: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    input: Json = None
    output: str | None = None
    error: str | None = None
    failed: bool | None = None
    exit_code: int | None = None
    reason: str | None = None
    text: str | None = None
    identity: tuple[str, ...] = ()
    process: Process | None = None
    extra: dict[str, Json] = field(default_factory=dict)
    evidence: str = "observed"
