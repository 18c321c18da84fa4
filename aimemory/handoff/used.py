"""Whether a session used the baton it had taken, and which events take one."""

from collections.abc import Iterable

from aimemory.model.event import Event, EventKind
from aimemory.model.observation import Observation

_TOOLS = (EventKind.PRE_TOOL, EventKind.POST_TOOL)


def takes(event: Event) -> bool:
    """Whether an event of a session that holds an offer takes the handoff: a tool event, or a turn's end that wasn't a
    failure or an interruption. Never a start, a prompt, or anything of a sub-agent's."""
    if event.agent_id is not None:
        return False
    if event.kind is EventKind.TURN_END:
        return not event.failed and event.reason not in ("interrupt", "interrupted")
    return event.kind in _TOOLS


def used_since(observations: Iterable[Observation], since_ns: int, told_ns: int | None = None) -> bool:
    """Whether, from that instant on, a tool event wrote or ran something, or a request of the user's came.

    told_ns: when it was offered what it took at `since_ns`. What its sub-agents did in between is use too: of a
    harness that reports a call only when it is over, the call that started them is what takes the handoff.
    """
    first_ns = since_ns if told_ns is None else min(told_ns, since_ns)
    return any(_uses(found.event, found.at_ns > since_ns) for found in observations if found.at_ns >= first_ns)


def _uses(event: Event, is_later: bool) -> bool:
    if event.kind in _TOOLS:
        return bool(event.command or event.files_written)
    return is_later and event.kind is EventKind.PROMPT and event.agent_id is None and bool((event.prompt or "").strip())
