"""The file format of the spool: names, kinds, order of eviction, and one event as JSON.

Shared by the hook client, which writes these files, and the daemon, which drains them. Light to import, because the
detached child of a hook pays for it: without `typing` and `dataclasses`, which would cost more than all else in here.
Content is sanitised by whoever builds a `SpoolFile`.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping

from aimemory.errors import Damaged

SPOOL_VERSION = 1

MAX_FILE_BYTES = 64 << 20
"""No event of ours takes more: a payload of 10 MiB, each character of it escaped."""

DROPPED_FILE = ".dropped"
"""Below the spool: JSON object, kind → number of events that the bound forced out or that could not be kept."""

REJECTED_FILE = ".rejected"
"""Below the folder of rejects: JSON object, HTTP status → number of events the daemon refused."""

KINDS = ("tool", "other", "end", "prompt")
"""What is forced out first stands first; `end` and `prompt` rank equal (see `eviction_order`)."""

_RANK = {"tool": 0, "other": 1, "end": 2, "prompt": 2}
_LETTER = {kind: kind[0] for kind in KINDS}
_KIND = {letter: kind for kind, letter in _LETTER.items()}


class SpoolFile:
    """One undelivered event; equal to another with the same content.

    body: the sanitised payload, when it was valid JSON. text: the sanitised bytes as text, when it was not; then body
    is None. incomplete: the payload was cut off at the hook's time limit. status: the HTTP status of a refusal (only
    below the folder of rejects).
    """

    __slots__ = ("at_ns", "body", "cwd", "event", "harness", "incomplete", "pid", "status", "text")

    def __init__(
        self,
        *,
        harness: str,
        event: str,
        at_ns: int,
        pid: int,
        cwd: str | None,
        body: object = None,
        text: str | None = None,
        incomplete: bool = False,
        status: int | None = None,
    ) -> None:
        self.harness = harness
        self.event = event
        self.at_ns = at_ns
        self.pid = pid
        self.cwd = cwd
        self.body = body
        self.text = text
        self.incomplete = incomplete
        self.status = status

    @property
    def kind(self) -> str:
        return event_kind(self.event)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpoolFile) and serialise(self) == serialise(other)

    __hash__ = None  # type: ignore[assignment]  # a JSON body has no hash


def event_kind(event: str) -> str:
    """`prompt`, `end`, `tool` or `other`, guessed from the vendor's event name.

    Only the order of eviction hangs on it, so a guess will do: the client knows no decode tables.
    """
    name = event.lower().replace("_", "").replace("-", "").replace(".", "")
    if "tool" in name or "shell" in name or "mcp" in name or "file" in name or "model" in name:
        return "tool"
    if "prompt" in name or name in ("beforeagent", "beforeagentstart", "chatmessage", "input"):
        return "prompt"
    if "end" in name or "stop" in name or "shutdown" in name or name in ("afteragent", "sessionidle", "sessiondeleted"):
        return "end"
    return "other"


def file_name(at_ns: int, pid: int, kind: str, rand: str) -> str:
    """Name of a spool file; names sort by capture time. rand: hex digits that tell equal (at, pid) apart."""
    return f"{at_ns:020d}-{pid}-{_LETTER[kind]}{rand}.json"


def name_kind(name: str) -> str | None:
    """The kind in a spool file's name, or None when this is no spool file's name."""
    if name[:1] == "." or not name.endswith(".json"):
        return None
    parts = name[: -len(".json")].split("-")
    if len(parts) != 3 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return _KIND.get(parts[2][:1])


def name_at_ns(name: str) -> int:
    """The capture time in a spool file's name (one that `name_kind` accepts)."""
    return int(name.split("-", 1)[0])


def eviction_order(names: Iterable[str]) -> list[str]:
    """Spool file names, first to go first: tool events, then others, prompts and ends last; oldest first in each."""
    return sorted(names, key=lambda name: (_RANK[name_kind(name) or "other"], name))


def serialise(entry: SpoolFile) -> bytes:
    """The content of the spool file: one JSON object and a line end, ASCII only."""
    data: dict[str, object] = {
        "v": SPOOL_VERSION,
        "harness": entry.harness,
        "event": entry.event,
        "at": entry.at_ns,
        "pid": entry.pid,
        "cwd": entry.cwd,
        "session_id": None,
        "kind": entry.kind,
    }
    if entry.text is None:
        data["body"] = entry.body
    else:
        data["text"] = entry.text
    if entry.incomplete:
        data["incomplete"] = True
    if entry.status is not None:
        data["status"] = entry.status
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def read(path: str) -> SpoolFile:
    """The event in a file of the spool, whatever lies there: never waits, and never reads more than an event can be.

    Raises Damaged for what is no event, now or ever; OSError for what can't be read just now, or is gone.
    """
    name = path.rpartition("/")[2]
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise Damaged(f"{name} in the spool is no regular file. Look at it and delete it.")
    if found.st_size > MAX_FILE_BYTES:
        raise Damaged(f"{name} in the spool has {found.st_size:,} bytes, which is no event. Look at it and delete it.")
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:  # noqa: PTH123 -- a descriptor
        return parse(file.read(MAX_FILE_BYTES + 1), name)


def parse(content: bytes, name: str) -> SpoolFile:
    """Back from `serialise`; unknown keys of newer versions are ignored.

    name: the file's name, for the message. Raises Damaged when the content is not what `serialise` writes.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise Damaged(f"{name} in the spool is not JSON. Look at it and delete it.") from None
    if not isinstance(data, Mapping) or not _is_entry(data):
        raise Damaged(f"{name} in the spool lacks fields of a spooled event. Look at it and delete it.")
    return SpoolFile(
        harness=data["harness"],
        event=data["event"],
        at_ns=data["at"],
        pid=data["pid"],
        cwd=data.get("cwd"),
        body=data.get("body"),
        text=data.get("text"),
        incomplete=data.get("incomplete") is True,
        status=data.get("status"),
    )


def _is_entry(data: Mapping[str, object]) -> bool:
    return (
        all(isinstance(data.get(key), str) for key in ("harness", "event"))
        and all(type(data.get(key)) is int for key in ("at", "pid"))
        and all(isinstance(data.get(key), str | None) for key in ("cwd", "text"))
        and isinstance(data.get("status"), int | None)
        and ("body" in data or "text" in data)
    )
