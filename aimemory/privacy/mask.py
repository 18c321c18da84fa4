"""A payload without its texts: what may wait in the spool where only metadata is kept.

The shape stays, so that decoding it gives the same kind, tool and outcome as the whole payload. Masking twice changes
nothing, and the daemon compares events of such places by their masked form, so that none is stored twice.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from aimemory.model.event import Json

MASK = "[not kept]"
_MAX_DEPTH = 8
_MAX_NAME = 256
_NAMES = re.compile(
    r"(?i)^(?:hook_?event_?name|event|type|kind|tool|tool_?name|name|model|cwd|at|ts|time|timestamp|source|reason|trigger|"
    r"status|id|call|session|agent_type|.*[_a-z]id)$"
)
_KEY = re.compile(r"[A-Za-z_][\w.-]{0,63}\Z")
_NUMBERS = re.compile(r"(?i)(?:^at|time|exit|code|status|signal|pid|_id|duration)")
_EXIT = re.compile(r"Exit code:? -?\d{1,10}(?=\n|\Z)")


def masked(value: "Json", depth: int = 0) -> "Json":
    """The payload with names, ids, times and outcomes only."""
    if not isinstance(value, dict):
        return MASK if value else value
    return {key: _kept(key, item, depth) for key, item in value.items() if _KEY.match(key)}


def _kept(key: str, value: "Json", depth: int) -> "Json":
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if _NUMBERS.search(key) else 0
    if isinstance(value, str):
        if depth == 0 and _NAMES.match(key) and len(value) <= _MAX_NAME:
            return value
        found = _EXIT.match(value)
        if found is None or value == found[0] + "\n" + MASK:
            return value if found else MASK if value else value
        return found[0] + "\n" + MASK
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        return masked(value, depth + 1)
    return MASK if value else value
