"""What a request of `/api/v1` says: its JSON body, its numbers, who asks."""

import json
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from aimemory.errors import UserError
from aimemory.model.answers import Caller
from aimemory.server.hook import read_body
from aimemory.server.listen import peer_of

CALLER: dict[str, type] = {"cwd": str, "harness": str, "session": str}
_PATHS = ("cwd",)
"""Fields that name a directory of this machine. Paths are bytes: what is no UTF-8 in one stays as `os.fsdecode` gives
it. Every other text is repaired here, since no name of ours and nothing that is stored holds half a character."""


def caller_of(request: Request, given: dict[str, Any]) -> Caller:
    return Caller(
        cwd=given.get("cwd"), harness=given.get("harness"), session=given.get("session"), peer=peer_of(request.scope)
    )  # fmt: skip


async def json_body(request: Request, fields: dict[str, type]) -> dict[str, Any]:
    """The JSON object of a request. Raises UserError that lists every problem; null counts as absent."""
    raw = await read_body(request.receive)
    try:
        given = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise UserError("The body is not JSON.") from None
    if not isinstance(given, dict):
        raise UserError("The body must be a JSON object.")
    problems = [f"{name} is not a known field" for name in given if name not in fields]
    kept = {
        name: value if name in _PATHS else _repaired(value)
        for name, value in given.items()
        if value is not None and name in fields
    }
    problems += [
        f"{name} must be {fields[name].__name__}"
        for name, value in kept.items()
        if not isinstance(value, fields[name]) or (fields[name] is int and isinstance(value, bool))
    ]
    if problems:
        raise UserError("; ".join(problems) + f". Known fields: {', '.join(fields)}.")
    return kept


def query_of(request: Request) -> dict[str, str]:
    """The query's fields; of one that is there twice the last."""
    raw = request.scope["query_string"].decode("latin-1")
    pairs = parse_qsl(raw, keep_blank_values=True, errors="surrogateescape")
    return {name: value if name in _PATHS else _whole(value) for name, value in pairs}


def _whole(text: str) -> str:
    """Without halves of characters; NUL stays, for a name with one is refused where it is used."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, dict):
        return {_whole(name): _repaired(one) for name, one in value.items()}
    return [_repaired(one) for one in value] if isinstance(value, list) else value


def whole_number(text: str | None, name: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UserError(f"{name} must be a whole number.")
    return int(text)
