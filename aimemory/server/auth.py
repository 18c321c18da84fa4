"""Who may talk to the daemon: the check in front of every route.

The Unix socket is protected by its file mode; whoever can open it is the owner. Loopback TCP is open to every local
user and, through DNS rebinding, to web pages: there each request needs the token, a Host that is ours, and no foreign
Origin.
"""

import hmac
import ipaddress
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from aimemory import datadir
from aimemory.errors import AimemoryError, Forbidden, Unauthorized
from aimemory.server.faults import send_error


def load_token(path: Path) -> str:
    """The token in `private/`, made at first start: 43 URL-safe characters, file mode 0600."""
    try:
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        token = ""
    if len(token) < 32:
        token = secrets.token_urlsafe(32)
        datadir.write_atomic(path, token.encode() + b"\n")
    elif path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return token


class Guard:
    """ASGI wrapper for what comes over TCP; what comes over the Unix socket is served without it.

    Which of the two it is, the listener knows. The peer's address does not tell: it is gone when the client has reset
    the connection by the time its request is read.

    allow_remote: also accept Host names that are not loopback (a daemon bound to another address).
    """

    def __init__(self, app: ASGIApp, token: str, allow_remote: bool = False) -> None:
        self._app = app
        self._token = token.encode()
        self._allow_remote = allow_remote

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope)
            except AimemoryError as error:
                await send_error(scope, receive, send, error)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or not (self._allow_remote or _is_loopback_host(hosts[0])):
            raise Forbidden(
                "The Host header does not name this daemon. Use http://127.0.0.1 and the port it listens on."
            )
        for origin in headers.get(b"origin", []):
            if urlsplit(origin.decode("latin-1")).netloc.encode("latin-1") != hosts[0]:
                raise Forbidden("Requests from other web pages are refused.")
        if any(site not in (b"same-origin", b"none") for site in headers.get(b"sec-fetch-site", [])):
            raise Forbidden("Requests from other web pages are refused.")
        given = headers.get(b"authorization", [])
        if len(given) != 1 or not self._is_ours(given[0]):
            raise Unauthorized(
                "Send `Authorization: Bearer <token>`; the token lies in private/token of the data directory."
            )

    def _is_ours(self, header: bytes) -> bool:
        scheme, _, token = header.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _is_loopback_host(host: bytes) -> bool:
    try:
        name = urlsplit(b"//" + host).hostname
    except ValueError:
        return False
    if name is None or b"@" in host:
        return False
    text = name.decode("latin-1")
    if text == "localhost":
        return True
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False
