"""`POST /hook`: one event in, the acknowledgement (and perhaps a brief) out.

A bare ASGI function, since it runs twice per tool call. With `reply=1` the body is the exact bytes that the hook must
print, possibly none; outcome, id and seq travel as headers.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import unquote_plus

from starlette.types import Message, Receive, Scope, Send

from aimemory.errors import AimemoryError, TooLarge, UserError
from aimemory.intake.decide import LIMIT_BYTES, Intake, Outcome
from aimemory.model.event import Delivery
from aimemory.server.faults import send_error
from aimemory.server.listen import peer_of

_DRAIN_BYTES = 64 << 20
"""A client that is still sending can't read an answer: up to here what is too large is read and thrown away."""


class Reply(Protocol):
    """What the bytes to print are."""

    async def __call__(
        self, outcome: Outcome, delivery: Delivery, still_listening: Callable[[], Awaitable[bool]]
    ) -> bytes:
        """The bytes for a stored event; given a way to ask whether the client still listens."""
        ...

    async def sent(self, outcome: Outcome) -> None:
        """They were handed over."""
        ...


class HookRoute:
    """The ASGI endpoint."""

    def __init__(self, intake: Intake, reply: Reply) -> None:
        self._intake = intake
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        delivery = None
        try:
            if scope["method"] != "POST":
                raise UserError("Send events with POST.")
            delivery = parse_delivery(scope["query_string"])
            body = await read_body(receive)
            outcome = await self._intake.take(delivery, body, peer_of(scope))
        except AimemoryError as error:
            if delivery is not None:
                self._intake.refused(delivery, error)
            await send_error(scope, receive, send, error)
            return
        if delivery.reply:
            await self._answer(outcome, delivery, receive, send)
        else:
            await _respond(
                send, 202 if outcome.outcome == "stored" else 200, _as_json(outcome), b"application/json", ()
            )

    async def _answer(self, outcome: Outcome, delivery: Delivery, receive: Receive, send: Send) -> None:
        gone = False

        async def still_listening() -> bool:
            nonlocal gone
            gone = gone or await _disconnected(receive)
            return not gone

        text = b""
        if outcome.outcome == "stored":
            text = await self._reply(outcome, delivery, still_listening)
        headers = [(b"x-aimemory-outcome", outcome.outcome.encode())]
        if outcome.id is not None:
            headers.append((b"x-aimemory-id", outcome.id.encode()))
        if outcome.seq is not None:
            headers.append((b"x-aimemory-seq", str(outcome.seq).encode()))
        await _respond(send, 200, text, b"application/octet-stream", headers)
        if text:
            await self._reply.sent(outcome)


def parse_delivery(query: bytes) -> Delivery:
    """The query string of `/hook`. Raises UserError that names every bad parameter at once."""
    given = _parameters(query.decode("latin-1"))
    problems = []
    numbers: dict[str, int | None] = {"at": None, "pid": None}
    for name in numbers:
        text = given.get(name)
        if text:
            if text.isascii() and text.isdigit() and len(text) <= 19:
                numbers[name] = int(text)
            else:
                problems.append(f"{name} is not a whole number")
    if given.get("reply", "0") not in ("0", "1", ""):
        problems.append("reply is neither 0 nor 1")
    if problems:
        raise UserError("The event was not stored: " + "; ".join(problems) + ".")
    return Delivery(
        harness=given.get("harness", ""),
        event=given.get("event", ""),
        at_ns=numbers["at"],
        pid=numbers["pid"],
        cwd=given.get("cwd") or None,
        session_id=given.get("session_id") or None,
        reply=given.get("reply") == "1",
    )


def _parameters(query: str) -> dict[str, str]:
    """The query string's parameters, the last of a name; decoded only where there is something to decode."""
    given = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        given[name] = unquote_plus(value) if "%" in value or "+" in value else value
    return given


async def read_body(receive: Receive) -> bytes:
    """The whole body; that it comes in time is the listener's part.

    Raises TooLarge beyond the limit, without keeping what came.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise UserError("The connection ended before the event was complete; it was not stored.")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > _DRAIN_BYTES:
            raise _too_large(size)
        if size > LIMIT_BYTES:
            chunks.clear()  # read on, so that the client hears why; what comes is not kept
        else:
            chunks.append(chunk)
        if not message.get("more_body", False):
            if size > LIMIT_BYTES:
                raise _too_large(size)
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(size: int) -> TooLarge:
    return TooLarge(f"The event has {size:,} bytes or more; the limit is {LIMIT_BYTES:,}. It was not stored.")


def _as_json(outcome: Outcome) -> bytes:
    body: dict[str, object] = {"outcome": outcome.outcome}
    for name in ("id", "seq", "reason"):
        value = getattr(outcome, name)
        if value is not None:
            body[name] = value
    return json.dumps(body).encode()


async def _respond(
    send: Send,
    status: int,
    body: bytes,
    kind: bytes,
    headers: "tuple[tuple[bytes, bytes], ...] | list[tuple[bytes, bytes]]",
) -> None:
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})


async def _disconnected(receive: Receive) -> bool:
    """Has the client hung up? Asks without waiting: an idle `receive` yields once and is then abandoned."""
    coroutine = receive()
    try:
        coroutine.send(None)  # type: ignore[attr-defined]
    except StopIteration as stop:
        return bool(stop.value["type"] == "http.disconnect")
    else:
        return False
    finally:
        coroutine.close()  # type: ignore[attr-defined]
