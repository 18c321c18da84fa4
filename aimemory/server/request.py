"""What a request of `/api/v1` says: its JSON body, its numbers, who asks."""

import json
from typing import Any

from starlette.requests import Request

from aimemory.errors import UserError
from aimemory.model.answers import Caller
from aimemory.server.hook import read_body
from aimemory.server.listen import peer_of

CALLER: dict[str, type] = {"cwd": str, "harness": str, "session": str}


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
    kept = {name: value for name, value in given.items() if value is not None and name in fields}
    problems += [
        f"{name} must be {fields[name].__name__}"
        for name, value in kept.items()
        if not isinstance(value, fields[name]) or (fields[name] is int and isinstance(value, bool))
    ]
    if problems:
        raise UserError("; ".join(problems) + f". Known fields: {', '.join(fields)}.")
    return kept


def whole_number(text: str | None, name: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UserError(f"{name} must be a whole number.")
    return int(text)
