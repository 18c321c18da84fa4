"""The stored form of an event: one observation, and its shape in a journal line."""

from dataclasses import dataclass
from typing import Any

from aimemory.model.event import Event, EventKind, Json
from aimemory.model.ids import ObservationId, ProjectId, Seq, SessionId
from aimemory.model.process import process_from_data


@dataclass(frozen=True, slots=True)
class Observation:
    """One sanitised lifecycle event of a session, as the journal holds it.

    at_ns: capture time (the hook client's), or the time of receipt where the client gave none.
    """

    seq: Seq
    id: ObservationId
    session: SessionId | None
    project: ProjectId
    at_ns: int
    event: Event


_OPTIONAL = (
    "native_session", "cwd", "pid", "agent_id", "agent_type", "model", "transcript_path", "prompt", "message", "tool",
    "call_id", "command", "input", "output", "error", "failed", "exit_code", "reason", "text",
)  # fmt: skip


def event_data(event: Event) -> dict[str, Json]:
    """The event as a JSON object; fields without a value are left out."""
    data: dict[str, Json] = {"harness": event.harness, "event": event.event, "kind": event.kind.value}
    for name in _OPTIONAL:
        value = getattr(event, name)
        if value is not None:
            data[name] = value
    if event.files_written:
        data["files_written"] = list(event.files_written)
    if event.files_read:
        data["files_read"] = list(event.files_read)
    if event.process is not None:
        data["process"] = event.process.as_data()
    if event.extra:
        data["extra"] = event.extra
    return data


def event_from_data(data: dict[str, Any]) -> Event:
    """Back from `event_data`; unknown keys of newer versions are ignored, missing ones are None."""
    try:
        kind = EventKind(data.get("kind", "other"))
    except ValueError:
        kind = EventKind.OTHER
    return Event(
        harness=data.get("harness", ""),
        event=data.get("event", ""),
        kind=kind,
        at_ns=data.get("at"),
        files_written=tuple(data.get("files_written", ())),
        files_read=tuple(data.get("files_read", ())),
        process=process_from_data(data.get("process")),
        extra=data.get("extra", {}),
        **_optional(data),
    )


def _optional(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data.get(name) for name in _OPTIONAL}


def observation_from_data(seq: int, at_ns: int, data: dict[str, Any]) -> Observation:
    """An observation from the `data` of a journal line of type `observation`."""
    session = data.get("session")
    return Observation(
        seq=Seq(seq),
        id=ObservationId(data["id"]),
        session=SessionId(session) if session else None,
        project=ProjectId(data["project"]),
        at_ns=at_ns,
        event=event_from_data(data),
    )
