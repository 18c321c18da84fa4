"""The stdio side of the shim: lines in, lines out, and nothing but our lines on stdout."""

import posix
import select

MAX_LINE_BYTES = 64 << 20
"""A longer line is thrown away, so that a client gone mad can't fill the memory."""

_CHUNK_BYTES = 1 << 18


class LineTooLong(Exception):
    """The line was discarded; the next one can be read."""


class Lines:
    """Takes stdin and stdout over for itself.

    From then on file descriptor 1 is stderr: whatever a library, a warning or the interpreter prints goes there, since
    one stray line on stdout ends a JSON-RPC session.
    """

    def __init__(self) -> None:
        """Raises OSError when stdin or stdout is closed."""
        posix.fstat(0)
        self._out = posix.dup(1)
        try:
            posix.dup2(2, 1)
        except OSError:  # no stderr either
            null = posix.open("/dev/null", posix.O_WRONLY)
            posix.dup2(null, 1)
            posix.close(null)
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._poll.register(self._out, 0)  # reports only that nobody can read from it any more
        self._ready: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False

    def next(self) -> bytes | None:
        """The next line without its end, or None when the input ended or nobody reads the output any more.

        Raises LineTooLong.
        """
        while not self._ready:
            if self._ended:
                return None
            if any(fd == self._out for fd, _ in self._poll.poll()):
                return None
            try:
                chunk = posix.read(0, _CHUNK_BYTES)
            except BlockingIOError:  # another reader of a shared non-blocking stdin was first
                continue
            except OSError:
                chunk = b""
            self._take(chunk)
        line = self._ready.pop(0)
        if len(line) > MAX_LINE_BYTES:
            raise LineTooLong
        return line

    def write(self, line: bytes) -> bool:
        """Write one line; False when nobody reads any more."""
        left = memoryview(line + b"\n")
        while left:
            try:
                left = left[posix.write(self._out, left) :]
            except BlockingIOError:
                self._wait_until_writable()
            except OSError:
                return False
        return True

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._keep(piece)
            self._ready.append(b"".join(self._parts))
            self._parts, self._size = [], 0
        self._keep(rest)
        if self._ended and self._size:  # a last line without its end
            self._ready.append(b"".join(self._parts))

    def _keep(self, piece: bytes) -> None:
        # One byte above the limit is kept, so that `next` can tell.
        piece = piece[: max(0, MAX_LINE_BYTES + 1 - self._size)]
        if piece:
            self._parts.append(piece)
            self._size += len(piece)

    def _wait_until_writable(self) -> None:
        poll = select.poll()
        poll.register(self._out, select.POLLOUT)
        poll.poll()
