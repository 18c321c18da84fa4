"""Recognises what this program itself put before the model, so that memory is never captured as new memory.

Two kinds come back: fenced blocks inside any text, and answers of our own tools and commands. The fence's shape is
`model.fence`'s.
"""

import re
from collections.abc import Sequence

from aimemory.model.event import Json
from aimemory.model.fence import TAG_NAME, remove_injected

OWN_ANSWER = "[an answer of aimemory itself: not kept again]"
TOO_DEEP = "[nested too deep: not kept]"
MAX_DEPTH = 64
"""Levels of a payload that are kept; far below the interpreter's own limit, far above what a harness sends."""

_OWN_TOOLS = ("memory_", "mcp__aimemory", "mcp_aimemory", "aimemory_", "aimemory-")
_OWN_COMMAND = re.compile(
    r"\s*(?:[^\s;&|]*/)?aimemory\s+(?:search|read|recent|brief|preview|grep|history|sessions|handoffs?|trail|why)\b[^;&\n]*"
)


def is_own_tool(name: Json) -> bool:
    """Whether a tool of that name is one of our MCP server's."""
    return type(name) is str and name.startswith(_OWN_TOOLS)


def is_own_command(command: str) -> bool:
    """Whether a shell command only prints what we stored: then its output is ours. With another command it is not."""
    return "aimemory" in command and _OWN_COMMAND.fullmatch(command.replace("2>&1", "")) is not None


def without_ours(node: Json, tool_keys: Sequence[str], output_keys: Sequence[str], depth: int = MAX_DEPTH) -> Json:
    """The payload without our own text, at any depth; what has none is given back as it is.

    tool_keys, output_keys: where an object names a tool and holds its answer.
    """
    kind = type(node)
    if kind is str:
        return remove_injected(node) if TAG_NAME in node else node
    if kind is not dict and kind is not list:
        return node
    if depth == 0:
        return TOO_DEEP
    own = kind is dict and _names_own_tool(node, tool_keys)
    changed: dict[Json, Json] = {}
    for key, value in node.items() if kind is dict else enumerate(node):
        if own and key in output_keys:
            changed[key] = OWN_ANSWER
        elif type(value) is str:  # most values, most of them free of our tag: no call for those
            if TAG_NAME in value:
                changed[key] = remove_injected(value)
        elif type(value) is dict or type(value) is list:
            inner = without_ours(value, tool_keys, output_keys, depth - 1)
            if inner is not value:
                changed[key] = inner
    if not changed:
        return node
    return {**node, **changed} if kind is dict else [changed.get(at, value) for at, value in enumerate(node)]


def _names_own_tool(node: dict[str, Json], tool_keys: Sequence[str]) -> bool:
    for key in tool_keys:
        name = node.get(key)
        if name is not None and is_own_tool(name):
            return True
    return False
