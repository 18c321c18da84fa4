"""The listening sockets, and uvicorn's protocol on them.

uvicorn's own server would widen the Unix socket's mode and install signal handlers; only its HTTP protocol is used.
"""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Scope

from aimemory.errors import Unavailable
from aimemory.processes import peer_pid

_PEER = "aimemory_peer"

_BACKLOG = 512
_PORTS_TO_TRY = 50
_HEAD_BYTES = 64 << 10
_REQUEST_S = 60.0
_TCP_CONNECTIONS = 256
"""Any local user can connect to loopback; the descriptors that this takes must not be all there are."""


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


def peer_of(scope: Scope) -> int | None:
    """Pid of the process that connected over the Unix socket, as the listener saw it; None where that is unknown."""
    peer: int | None = scope.get("state", {}).get(_PEER)
    return peer


class Listener:
    """Serves requests until closed: those over the Unix socket with one app, those over TCP with another."""

    def __init__(self, over_unix: ASGIApp, over_tcp: ASGIApp, version: str) -> None:
        self._unix = _config(over_unix)
        self._tcp = _config(over_tcp)
        self._class = _limited(self._unix.http_protocol_class)
        self._state = uvicorn.server.ServerState()
        self._state.default_headers = [(b"x-aimemory", version.encode())]
        self._tcp_connections: set[object] = set()
        self._servers: list[asyncio.Server] = []

    async def open(self, sockets: list[socket.socket]) -> None:
        """Start accepting."""
        loop = asyncio.get_running_loop()
        for sock in sockets:
            if sock.family == socket.AF_UNIX:
                server = await loop.create_unix_server(self._unix_protocol, sock=sock, backlog=_BACKLOG)
            else:
                server = await loop.create_server(self._tcp_protocol, sock=sock, backlog=_BACKLOG)
            self._servers.append(server)

    def _unix_protocol(self) -> asyncio.Protocol:
        return self._protocol(self._unix, None)

    def _tcp_protocol(self) -> asyncio.Protocol:
        return self._protocol(self._tcp, self._tcp_connections)

    def _protocol(self, config: uvicorn.Config, crowd: set[object] | None) -> asyncio.Protocol:
        made: asyncio.Protocol = self._class(crowd=crowd, config=config, server_state=self._state, app_state={})
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


def _config(app: ASGIApp) -> uvicorn.Config:
    config = uvicorn.Config(
        app, lifespan="off", access_log=False, log_config=None, server_header=False, date_header=False,
        timeout_keep_alive=75, ws="none", proxy_headers=False,
    )  # fmt: skip
    config.load()
    return config


def _limited(base: Any) -> Any:
    """uvicorn's protocol class with bounds of its own: bytes of a head, time for a request, connections in a crowd."""

    class Limited(base):  # type: ignore[misc]  # which class it is depends on what is installed
        def __init__(self, crowd: set[object] | None, **given: Any) -> None:
            super().__init__(**given)
            self.crowd = crowd
            self.head_bytes = 0
            self.too_slow: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self.expect_more()
            if self.crowd is not None:
                self.crowd.add(self)
                if len(self.crowd) > _TCP_CONNECTIONS:
                    transport.abort()
            elif (sock := transport.get_extra_info("socket")) is not None:
                self.app_state[_PEER] = peer_pid(sock)

        def connection_lost(self, exc: Exception | None) -> None:
            self.expect_nothing()
            if self.crowd is not None:
                self.crowd.discard(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            now = self.cycle
            if now is before and (now is None or now.response_complete):  # still within a head
                self.head_bytes += len(data)
                self.expect_more()
                if self.head_bytes > _HEAD_BYTES:
                    self.transport.abort()
            else:
                self.head_bytes = 0
                if now is not None and now.more_body:
                    self.expect_more()
                elif self.too_slow is not None:
                    self.expect_nothing()

        def expect_more(self) -> None:
            """The rest of a request must come in time; one that comes whole never gets here."""
            if self.too_slow is None:
                self.too_slow = asyncio.get_running_loop().call_later(_REQUEST_S, self.transport.abort)

        def expect_nothing(self) -> None:
            if self.too_slow is not None:
                self.too_slow.cancel()
                self.too_slow = None

    return Limited
