"""The agent's own list of what is to do, as its planning tools last wrote it."""

from collections.abc import Mapping

from aimemory.model.event import Event, Json
from aimemory.model.session import Todo

MAX_TODOS = 50
_TEXT_CHARS = 300
_LISTS: Mapping[str, tuple[str, str]] = {"TodoWrite": ("todos", "content"), "update_plan": ("plan", "step")}
"""Tool → where its input holds the list, and each entry its text."""

_STATUS = {"completed": "done", "in_progress": "in progress", "pending": "open"}


def todos_in(event: Event) -> tuple[Todo, ...] | None:
    """The list that this call wrote, which replaces any earlier one; None for other calls and unreadable input."""
    names = _LISTS.get(event.tool or "")
    if names is None or type(event.input) is not dict:
        return None
    entries = event.input.get(names[0])
    if type(entries) is not list:
        return None
    found = (_todo(entry, names[1]) for entry in entries[:MAX_TODOS])
    return tuple(todo for todo in found if todo is not None)


def _todo(entry: Json, key: str) -> Todo | None:
    if type(entry) is not dict or type(entry.get(key)) is not str or not entry[key].strip():
        return None
    status = entry.get("status")
    return Todo(" ".join(entry[key].split())[:_TEXT_CHARS], _STATUS.get(status if type(status) is str else "", "open"))
