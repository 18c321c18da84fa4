"""Whether a session is live, and when it counts as closed although its harness never said so: the rules.

Pure: rows and instants in, answers out. Asking for rows and processes, and acting, is left to others. All ages are
between capture times, so that an event that comes late out of the spool decides as it would have in time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from aimemory.index.events import SessionRow
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.process import Process

QUIET_NS = 20_000_000_000
"""After this long without an event a session may be offered to another, though it may go on."""

REPLACED_NS = 600_000_000_000
"""Silent for this long, a session is closed by a newer one in its place. A turn without any event is seldom longer."""

_IN_ITS_PLACE = ("clear", "resume")
_NO_BEGINNING = ("compact",)
"""A start that continues its own session says nothing about others."""

IsAlive = Callable[[Process | None], bool | None]
"""Whether a process runs; None for unknown."""


class Liveness(StrEnum):
    """ended: its end event came, and nothing after it. gone: its process is known to have ended, without a word.
    quiet: no event for 20 seconds, or what is set. live: none of these. Whether its page is written is not asked."""

    LIVE = "live"
    QUIET = "quiet"
    GONE = "gone"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Start:
    """A session that began, as its start event tells it. process: None where it is unknown."""

    session: SessionId
    harness: str
    project: ProjectId
    cwd: str
    at_ns: int
    reason: str
    process: Process | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A session counts as closed, and why, in words for its page. last_seq: up to which line that was decided: with a
    later one it went on."""

    session: SessionId
    reason: str
    last_seq: int


def liveness(row: SessionRow, now_ns: int, is_alive: IsAlive, quiet_ns: int = QUIET_NS) -> Liveness:
    """The state of a session now."""
    if row.has_ended:
        return Liveness.ENDED
    if is_gone(row, is_alive):
        return Liveness.GONE
    return Liveness.QUIET if now_ns - row.last_at_ns >= quiet_ns else Liveness.LIVE


def is_gone(row: SessionRow, is_alive: IsAlive) -> bool:
    """Its process ended. One that was not confirmed may have been a helper: its end says nothing."""
    return row.process is not None and row.process.confirmed and is_alive(row.process) is False


def closed_by_time(row: SessionRow, now_ns: int, idle_ns: int, is_alive: IsAlive) -> str | None:
    """Why a session that did not end counts as closed by now; None while it may go on.

    A process that is gone is given 20 seconds, in which its last hooks, and its next start, may still arrive.
    """
    silent_ns = now_ns - row.last_at_ns
    if silent_ns >= idle_ns:
        return f"silent for {idle_ns // 60_000_000_000} minutes"
    if silent_ns >= QUIET_NS and is_gone(row, is_alive):
        return "its process is gone"
    return None


def closed_by_start(old: SessionRow, start: Start, is_alive: IsAlive) -> str | None:
    """Why a newer start in the same checkout closes this session; None when both may be live.

    Two terminals of one harness are two live sessions. So a start closes another only where that one has been silent
    for 10 minutes, where its process is gone, or where the start says that it takes the place of what ran in the very
    same process. That the checkouts are the same is for the caller to see to.
    """
    if old.id == start.session or old.harness != start.harness or old.has_ended or old.is_closed:
        return None
    if start.reason in _NO_BEGINNING or old.started_at_ns > start.at_ns:
        return None
    if start.at_ns - old.last_at_ns >= REPLACED_NS:
        return "a newer session began in this directory"
    if is_gone(old, is_alive):
        return "its process is gone, and a newer session began in this directory"
    if start.reason in _IN_ITS_PLACE and start.process is not None and start.process == old.process:
        return f"another session took its place ({start.reason})"
    return None
