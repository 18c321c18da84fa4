"""Talks HTTP to the daemon over its Unix socket, and starts one that isn't there.

A raw socket: importing an HTTP library would cost more than the request.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aimemory.config import Config
from aimemory.datadir import lock_holder
from aimemory.errors import AimemoryError, Busy, Conflict, Damaged, Forbidden, NotFound, Unavailable, UserError

START_LIMIT_S = 20.0
_POLL_S = 0.02
_READING = ("/api/v1/search",)
"""Asked with a body, and changes nothing."""
_FOREIGN = "Something that is not aimemory answers on the daemon's socket."
_ERRORS: Mapping[str, type[AimemoryError]] = {
    "UserError": UserError,
    "NotFound": NotFound,
    "Forbidden": Forbidden,
    "Unavailable": Unavailable,
    "Damaged": Damaged,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One response: status code and decoded JSON (or text)."""

    status: int
    body: Any


class Client:
    """Requests to one daemon. `timeout_s` bounds every wait for bytes."""

    def __init__(self, config: Config, timeout_s: float = 30.0) -> None:
        self._config = config
        self._timeout_s = timeout_s

    def get(self, path: str, **query: object) -> Any:
        """The JSON body of a successful answer; starts the daemon if need be. Raises what the daemon reports."""
        return self._checked("GET", _with_query(path, query), None)

    def post(self, path: str, body: object) -> Any:
        return self._checked("POST", path, body)

    def post_raw(self, path: str, body: bytes) -> Any:
        """As `post`, with bytes that are sent as they are."""
        return self._checked("POST", path, body)

    def lines(self, path: str, body: object) -> Iterator[Any]:
        """The lines of a streamed answer, one JSON value each, as they come. Raises Unavailable when it breaks off."""
        self.ensure_daemon()
        with self._send("POST", path, body) as file, _answered(True):
            status, headers = _head(file)
            if status >= 400:
                _raise(status, _body(file, headers))
            for chunk in _chunks(file, headers):
                if chunk.strip():
                    yield json.loads(chunk)

    def alive(self) -> bool:
        """Does a daemon of ours answer?"""
        try:
            return self.request("GET", "/healthz").status == 200
        except Unavailable:
            return False

    def request(self, method: str, path: str, body: object = None) -> Answer:
        """One request, without starting anything. Raises Unavailable when nobody of ours answers, or only in part."""
        with self._send(method, path, body) as file, _answered(method != "GET" and path not in _READING):
            status, headers = _head(file)
            return Answer(status, _body(file, headers))

    def ensure_daemon(self) -> bool:
        """Start the daemon if none answers; True if this call started it.

        Raises Unavailable after `aimemory down`, or when the new daemon does not answer in time.
        """
        if self.alive():
            return False
        if self._config.data.down_marker.exists():
            raise Unavailable("The daemon was stopped with `aimemory down`. `aimemory up` starts it again.")
        self._config.data.create()  # what is wrong with the place is said here, not in a log that can't be written
        start_daemon(self._config)
        self.wait_until_up()
        return True

    def wait_until_up(self, limit_s: float = START_LIMIT_S) -> None:
        """Wait for the first answer. Raises Unavailable, naming the log, when it doesn't come."""
        deadline = time.monotonic() + limit_s
        while not self.alive():
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"The daemon did not answer within {limit_s:.0f} s. See {self._config.data.log_file}."
                )
            time.sleep(_POLL_S)

    def _checked(self, method: str, path: str, body: object) -> Any:
        self.ensure_daemon()
        answer = self.request(method, path, body)
        if answer.status >= 400:
            _raise(answer.status, answer.body)
        return answer.body

    def _send(self, method: str, path: str, body: object) -> Any:
        where = self._config.data.socket
        try:
            if where.stat().st_uid != os.getuid():
                raise Unavailable(f"{where} belongs to another user; nothing was sent.")
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(self._timeout_s)
            try:
                sock.connect(str(where))
                payload = _payload(body)
                head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                about = f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
                sock.sendall((head + about).encode() + payload)
                return sock.makefile("rb")
            finally:
                sock.close()  # the file keeps the connection
        except OSError as error:
            raise Unavailable(f"The daemon does not answer on {where}: {error.strerror or error}.") from error


def _payload(body: object) -> bytes:
    if body is None or isinstance(body, bytes):
        return body or b""
    return json.dumps(body).encode()


def start_daemon(config: Config) -> None:
    """Start `aimemory serve`, independent of this terminal, with a clean environment."""
    subprocess.Popen(
        [sys.executable, "-I", "-m", "aimemory", "serve", "--background"],
        env=dict(config.child_env), cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=True,
    )  # fmt: skip


def wait_until_down(config: Config, limit_s: float) -> bool:
    """Wait until nobody holds the data directory; False if somebody still does."""
    deadline = time.monotonic() + limit_s
    while lock_holder(config.data) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None and value != ()}
    return f"{path}?{urlencode(given, doseq=True, errors='surrogateescape')}" if given else path


@contextmanager
def _answered(changes: bool) -> Iterator[None]:
    """Around reading an answer: one that doesn't come whole is Unavailable, and says what that means for a change."""
    unknown = " What was asked for may be done or not: look before you ask again." if changes else ""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise Unavailable(f"The daemon went away before it had answered.{unknown}") from error
    except OSError as error:
        raise Unavailable(f"The daemon did not answer in time: {error}.{unknown}") from error


def _head(file: Any) -> tuple[int, dict[str, str]]:
    first = _line(file)
    headers: dict[str, str] = {}
    if not first.startswith(b"HTTP/"):
        raise Unavailable(_FOREIGN)
    while (line := _line(file)).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if "x-aimemory" not in headers:
        raise Unavailable(_FOREIGN)
    return int(first.split(b" ", 2)[1]), headers


def _line(file: Any) -> bytes:
    """Raises EOFError for a line that was cut off."""
    found: bytes = file.readline(65536)
    if not found.endswith(b"\n"):
        raise EOFError if len(found) < 65536 else Unavailable(_FOREIGN)
    return found


def _exactly(file: Any, size: int) -> bytes:
    found: bytes = file.read(size)
    if len(found) < size:
        raise EOFError
    return found


def _body(file: Any, headers: Mapping[str, str]) -> Any:
    if "chunked" in headers.get("transfer-encoding", ""):
        raw = b"".join(_chunks(file, headers))
    else:
        raw = _exactly(file, int(headers.get("content-length", "0")))
    if headers.get("content-type", "").startswith("application/json"):
        return json.loads(raw) if raw else None
    return raw.decode("utf-8", "replace")


def _chunks(file: Any, headers: Mapping[str, str]) -> Iterator[bytes]:
    if "chunked" not in headers.get("transfer-encoding", ""):
        while line := file.readline():
            if not line.endswith(b"\n"):
                raise EOFError
            yield line
        return
    while size := int(_line(file).strip(), 16):
        yield _exactly(file, size)
        _line(file)


def _raise(status: int, body: Any) -> None:
    error = body.get("error", {}) if isinstance(body, dict) else {}
    message = error.get("message") or f"The daemon answered with status {status}."
    if error.get("type") == "Conflict":
        raise Conflict(message, current=error.get("current"), version=error.get("version"), kept=error.get("kept"))
    if error.get("type") == "Busy":
        raise Busy(message)
    raise _ERRORS.get(error.get("type", ""), AimemoryError)(message)
