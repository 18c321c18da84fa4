"""Halves of characters in a JSON body: JavaScript strings may hold them, and the MCP library refuses them."""

import re

from starlette.types import Message, Receive

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\\\|" + _HIGH + _LOW + rb"|" + _HIGH + rb"|" + _LOW)
_ONE = 6
"""Bytes of an escape such as `\\ud83d`; the replacement is as long, so no length changes."""


def mended(receive: Receive) -> Receive:
    """The same body, whole in one message, with U+FFFD for each half; other messages pass."""
    parts: list[bytes] = []

    async def whole() -> Message:
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                body = b"".join(parts)
                parts.clear()
                return {"type": "http.request", "body": without_halves(body), "more_body": False}

    return whole


def without_halves(body: bytes) -> bytes:
    """JSON text with U+FFFD in place of each escaped half of a character."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda found: rb"\ufffd" if len(found[0]) == _ONE else found[0], body)
