"""The listening sockets, and uvicorn's protocol on them.

uvicorn's own server would widen the Unix socket's mode and install signal handlers; only its HTTP protocol is used.
"""

import asyncio
import os
import socket
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from aimemory.errors import Unavailable

_BACKLOG = 512
_PORTS_TO_TRY = 50


def unix_socket(path: Path) -> socket.socket:
    """A listening Unix socket of mode 0600; a left-over file of a dead daemon is replaced.

    The caller holds the instance lock, so nobody else can be listening on this path.
    """
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(str(path))
    finally:
        os.umask(before)
    sock.listen(_BACKLOG)
    sock.setblocking(False)
    return sock


def inherited_socket() -> socket.socket:
    """The Unix socket that systemd listens on: the first descriptor of its protocol (sd_listen_fds(3))."""
    sock = socket.socket(fileno=3)
    sock.setblocking(False)
    sock.set_inheritable(False)
    return sock


def tcp_socket(host: str, port: int) -> socket.socket:
    """A listening TCP socket on `port`, or on the next free one when somebody else has it; 0 takes any.

    Raises Unavailable when none of the next ports is free either.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if port == 0 else range(port, min(port + _PORTS_TO_TRY, 65536)):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, candidate))
            sock.listen(_BACKLOG)
        except OSError:
            sock.close()
            continue
        sock.setblocking(False)
        return sock
    raise Unavailable(f"No free port on {host} from {port} on. Set [server] port, or tcp = false.")


class Listener:
    """Serves one ASGI app on several sockets until closed."""

    def __init__(self, app: ASGIApp, version: str) -> None:
        self._config = uvicorn.Config(
            app, lifespan="off", access_log=False, log_config=None, server_header=False, date_header=False,
            timeout_keep_alive=75, ws="none", proxy_headers=False,
        )  # fmt: skip
        self._config.load()
        self._state = uvicorn.server.ServerState()
        self._state.default_headers = [(b"x-aimemory", version.encode())]
        self._servers: list[asyncio.Server] = []

    async def open(self, sockets: list[socket.socket]) -> None:
        """Start accepting."""
        loop = asyncio.get_running_loop()
        for sock in sockets:
            if sock.family == socket.AF_UNIX:
                server = await loop.create_unix_server(self._protocol, sock=sock, backlog=_BACKLOG)
            else:
                server = await loop.create_server(self._protocol, sock=sock, backlog=_BACKLOG)
            self._servers.append(server)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self._config.http_protocol_class(  # type: ignore[call-arg]
            config=self._config, server_state=self._state, app_state={}
        )
        return made

    async def close(self, limit_s: float) -> int:
        """Stop accepting, let open requests end for at most `limit_s` seconds; returns how many were cut off."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(limit_s):
                while self._state.tasks:
                    await asyncio.wait(set(self._state.tasks))
        except TimeoutError:
            pass
        left = list(self._state.tasks)
        for task in left:
            task.cancel()
        return len(left)
