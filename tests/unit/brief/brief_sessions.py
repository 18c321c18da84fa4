"""Session states made from a few observations, for briefs."""

from itertools import count

from aimemory.brief.parts import BriefSession
from aimemory.model.event import Event, EventKind
from aimemory.model.ids import ObservationId, ProjectId, Seq, SessionId
from aimemory.model.observation import Observation
from aimemory.sessions.state import fold

SECOND = 1_000_000_000
START_NS = 1_796_028_000 * SECOND
PAGE = "default/app/sessions/ann/2026/11/1130-0900-add-3f9a.md"


def prompt(text: str) -> Event:
    return Event("claude-code", "p", EventKind.PROMPT, prompt=text)


def ran(command: str, failed: bool | None = False, exit_code: int | None = None, said: str = "") -> Event:
    return Event(
        "claude-code", "t", EventKind.POST_TOOL, tool="Bash", command=command, failed=failed, exit_code=exit_code,
        error=said if failed else None, output=None if failed else said,
    )  # fmt: skip


def wrote(*paths: str) -> Event:
    return Event("claude-code", "t", EventKind.POST_TOOL, tool="Write", files_written=paths)


def answer(message: str) -> Event:
    return Event("claude-code", "s", EventKind.TURN_END, message=message)


def session(*events: Event, page: str | None = PAGE, name: str = "s1", start_ns: int = START_NS) -> BriefSession:
    ticks = count(1)
    observations = [
        Observation(Seq(n), ObservationId(f"{name}{n}"), SessionId(name), ProjectId("p"), start_ns + n * SECOND, event)
        for n, event in zip(
            ticks, [Event("claude-code", "b", EventKind.SESSION_START, cwd="/w/app"), *events], strict=False
        )
    ]
    state = fold(observations)
    assert state is not None
    return BriefSession(state, page, "Claude Code")
