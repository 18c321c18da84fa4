"""The daemon's side of the shim: one keep-alive HTTP connection over the Unix socket.

Knows HTTP as far as our own daemon speaks it, and tells apart whether a request that failed can have had an effect.
"""

import _socket
import posix
import time

_MAX_HEAD_BYTES = 1 << 16
_MAX_BODY_BYTES = 64 << 20


class LinkError(OSError):
    """The request got no answer."""


class Unsent(LinkError):
    """The connection broke before the whole request was out: it had no effect, repeating it is safe."""


class Unanswered(LinkError):
    """The connection ended after the request was out and before any byte of an answer: it may have had its effect."""


class Link:
    """Connects when told, keeps the connection between requests, drops it after anything unexpected."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sock: _socket.socket | None = None
        self._seen = b""

    def connect(self, until: float) -> None:
        """Have a connection. `until`: monotonic. Raises OSError.

        One that the daemon closed meanwhile shows in `post`, as Unsent: sending to a closed peer fails at once here.
        """
        if self._sock is not None:
            return
        if posix.stat(self._path).st_uid != posix.geteuid():
            raise PermissionError("somebody else listens where the daemon should")
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            sock.settimeout(_left(until))
            sock.connect(self._path)
        except OSError:
            sock.close()
            raise
        self._sock = sock

    def post(self, head: bytes, body: bytes, until: float) -> tuple[int, bytes]:
        """Status and body of the answer. Raises Unsent, Unanswered or LinkError; the connection is closed then."""
        assert self._sock is not None
        try:
            return self._exchange(self._sock, head + body, until)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def _exchange(self, sock: _socket.socket, request: bytes, until: float) -> tuple[int, bytes]:
        try:
            sock.settimeout(_left(until))
            sock.sendall(request)
        except TimeoutError:
            raise LinkError("the daemon took too long") from None
        except OSError as error:
            raise Unsent(str(error)) from None
        self._seen = b""
        head, blank, rest = b"", b"", b""
        while not blank:
            self._seen += self._receive(sock, until)
            head, blank, rest = self._seen.partition(b"\r\n\r\n")
            if len(head) > _MAX_HEAD_BYTES:
                raise LinkError("something that is no daemon answered")
        status, length, keep = _parse_head(head)
        parts, size = [rest], len(rest)
        while size < length:
            chunk = self._receive(sock, until)
            parts.append(chunk)
            size += len(chunk)
        if not keep:
            self.close()
        return status, b"".join(parts)[:length]

    def _receive(self, sock: _socket.socket, until: float) -> bytes:
        try:
            sock.settimeout(_left(until))  # each time anew: a peer sending byte by byte would outlive a fixed one
            chunk = sock.recv(1 << 18)
        except TimeoutError:
            raise LinkError("the daemon took too long") from None
        except OSError:
            chunk = b""
        if not chunk:
            raise LinkError("the answer broke off") if self._seen else Unanswered("the connection ended")
        return chunk


def _left(until: float) -> float:
    return max(until - time.monotonic(), 0.001)


def _parse_head(head: bytes) -> tuple[int, int, bool]:
    """Status, length of the body in bytes, whether the connection stays. Raises LinkError."""
    lines = head.split(b"\r\n")
    start = lines[0].split(b" ")
    if not start[0].startswith(b"HTTP/1.") or len(start) < 2 or not start[1].isdigit():
        raise LinkError("something that is no daemon answered")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip().lower()
    status = int(start[1])
    length = headers.get(b"content-length", b"0" if status in (202, 204, 304) else b"")
    if not length.isdigit() or int(length) > _MAX_BODY_BYTES:
        raise LinkError("the daemon answered without a usable length")
    return status, int(length), headers.get(b"connection") != b"close"
