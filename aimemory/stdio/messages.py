"""JSON-RPC messages and HTTP header fields as the shim reads and writes them. Pure."""

import binascii
import json

TYPE_CHECKING = False  # `typing` alone would cost a quarter of the start
if TYPE_CHECKING:
    from typing import Any

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR, UNAVAILABLE = -32700, -32600, -32603, -32000

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def failure(number: "str | int | None", code: int, text: str, data: object = None) -> bytes:
    """A JSON-RPC error."""
    error = {"code": code, "message": text} | ({} if data is None else {"data": data})
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode("ascii")


def success(number: "str | int", result: object) -> bytes:
    """A JSON-RPC result."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode("ascii")


def meta(message: "dict[str, Any]") -> "dict[str, Any]":
    """The `_meta` of a message's parameters, empty where there is none."""
    params = message.get("params")
    found = params.get("_meta") if isinstance(params, dict) else None
    return found if isinstance(found, dict) else {}


def parsed(body: bytes) -> object:
    """The JSON value, or None for what is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def answers(reply: object, number: "str | int") -> bool:
    """Whether this is the JSON-RPC answer to that request."""
    if not isinstance(reply, dict) or reply.get("jsonrpc") != "2.0" or not ("result" in reply or "error" in reply):
        return False
    return type(reply.get("id")) is type(number) and reply["id"] == number


def as_failure(number: "str | int", status: int, reply: object) -> bytes:
    """An error for this request made of an answer that is not JSON-RPC, or that names no request."""
    error = reply.get("error") if isinstance(reply, dict) else None
    text = error.get("message") if isinstance(error, dict) else None
    if not isinstance(error, dict) or not isinstance(text, str):
        return failure(number, INTERNAL_ERROR, f"The daemon gave no usable answer (HTTP {status}).")
    code = error.get("code")
    return failure(number, code if isinstance(code, int) else UNAVAILABLE, text, error.get("data"))


def one_line(body: bytes, reply: object) -> bytes:
    """The reply as it came where it is one line, else written anew."""
    return json.dumps(reply).encode("ascii") if b"\n" in body or b"\r" in body else body


def negotiated_version(reply: object) -> "str | None":
    """The protocol version in an answer to `initialize`."""
    result = reply.get("result") if isinstance(reply, dict) else None
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def header_value(value: str) -> str:
    """As it stands if it survives a header field, else in the protocol's base64 form."""
    plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    if plain:
        return value
    return f"=?base64?{binascii.b2a_base64(value.encode('utf-8', 'replace'), newline=False).decode('ascii')}?="


def quoted(value: "str | bytes") -> str:
    """Percent-encoded."""
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)
