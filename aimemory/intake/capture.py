"""What the capture rules say of an event that arrives: those of its session's directory and of its own.

What answers a call is treated as the call was: some harnesses send the output without the command, and a command that
runs in the background is asked for its output later.
"""

import os.path
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from aimemory.model.event import Event, Json
from aimemory.model.ids import SessionId
from aimemory.privacy import Sanitized
from aimemory.privacy.capture import (
    CaptureRules,
    Dropped,
    Level,
    Mode,
    Tree,
    Verdict,
    judge,
    metadata_of,
    stricter,
)
from aimemory.project.bounds import KEEP_ALL
from aimemory.store.projects import Filing, Projects

_REMEMBERED = 5000
_HANDLES = ("id",)
_ANSWERS = ("tool_response", "tool_result", "tool_output", "output", "result", "response")
_LEVELS: tuple[Level, ...] = ("full", "metadata", "drop")


class Capture:
    """Decides what is kept of events; remembers what it decided about calls that are still to be answered."""

    def __init__(self, projects: Projects, mode: Mode) -> None:
        """mode: of `[capture]` in the settings, for all projects."""
        self._projects = projects
        self._mode = mode
        self._calls: OrderedDict[tuple[SessionId | None, str], Level] = OrderedDict()

    async def verdict(
        self, event: Event, whole: Callable[[], Event], filing: Filing, session: SessionId | None, payload: Json
    ) -> Verdict:
        """The strictest of all that hold here. whole: the event before its caps, as what is cut off may name a path.

        Raises Unavailable when the directory doesn't answer.
        """
        bounds = [filing.bounds]
        if event.cwd is not None and event.cwd.startswith("/") and event.cwd != filing.place:
            elsewhere = await self._projects.bounds_at(event.cwd)
            if elsewhere.file != filing.bounds.file:
                bounds.append(elsewhere)
        if self._mode == "full" and all(one.rules is KEEP_ALL for one in bounds):
            return Verdict("full")
        rules = [(stricter(self._mode, one.rules), one.tree) for one in bounds]
        if not any(one.has_paths for one, _ in rules):
            return _strictest([judge(event, one, tree) for one, tree in rules])
        uncut = whole()
        found = await self._projects.aside(lambda: _judged(uncut, rules))
        return self._as_its_call(found, uncut, session, payload)

    def _as_its_call(self, found: Verdict, event: Event, session: SessionId | None, payload: Json) -> Verdict:
        """Bring together a call and what answers it."""
        earlier: list[Level] = []
        for handle in (event.call_id, *_leaves(event.input)):
            if handle and (known := self._calls.get((session, handle))) is not None:
                earlier.append(known)
        if "drop" in earlier and found.level != "drop":
            found = Verdict("drop", "ignore", path="what a dropped call gave")
        elif "metadata" in earlier and found.level == "full":
            found = Verdict("metadata", "metadata", path="what such a call gave")
        elif "full" in earlier and found.rule == "only" and not found.path:
            found = Verdict("full", "only")
        if event.tool is not None and (found.level != "full" or found.rule == "only"):
            handles = [*_handles(payload)] if found.level != "full" else []
            for handle in filter(None, (event.call_id, *handles)):
                self._calls[session, handle] = found.level
                self._calls.move_to_end((session, handle))
            while len(self._calls) > _REMEMBERED:
                self._calls.popitem(last=False)
        return found


def kept_by(verdict: Verdict, event: Sanitized[Event]) -> Sanitized[Event] | Dropped:
    """What the verdict leaves of an event."""
    if verdict.level == "drop":
        return Dropped(verdict.reason)
    return event.derive(metadata_of) if verdict.level == "metadata" else event


def _judged(event: Event, rules: list[tuple[CaptureRules, Tree]]) -> Verdict:
    return _strictest([judge(event, one, tree, os.path.realpath) for one, tree in rules])


def _strictest(found: list[Verdict]) -> Verdict:
    return max(found, key=lambda verdict: _LEVELS.index(verdict.level))


def _leaves(value: Json, depth: int = 0) -> Iterator[str]:
    """Short texts of a tool's input that could be the name of a command in the background."""
    if isinstance(value, str) and 4 <= len(value) <= 64:
        yield value
    elif isinstance(value, dict) and depth < 2:
        for item in value.values():
            yield from _leaves(item, depth + 1)


def _handles(payload: Any) -> Iterator[str]:
    """By what a command that goes on in the background is asked for later."""
    if isinstance(payload, dict):
        for name in _ANSWERS:
            answer = payload.get(name)
            if isinstance(answer, dict):
                yield from (
                    value
                    for key, value in answer.items()
                    if key.lower().endswith(_HANDLES) and isinstance(value, str) and 4 <= len(value) <= 64
                )
