"""The hook client's fast path: read the event, send it over the Unix socket, print the answer, be gone.

Imports nothing beyond `posix sys select time _socket _signal`: whole process 7 ms, where `json` and `re` alone double
that. It decides nothing. Whatever isn't delivered goes to a detached child of this process (`undelivered`).
"""

import select
import time

try:
    import _signal  # type: ignore[import-not-found]
    import _socket
    import posix
except ImportError:
    import os as posix  # type: ignore[no-redef]
    import signal as _signal
    import socket as _socket  # type: ignore[no-redef]

TYPE_CHECKING = False  # `typing` alone would double the start
if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 0.150
REPLY_LIMIT_S = 0.700
"""Longest stay of this process; with a reply the start of the daemon is included (vendors' own limits are ≥ 1 s)."""

HANDOVER_S = 0.012
"""An answer later than this is waited for by a detached child, so that a kill of the hook can't lose the event, and a
slow or hung daemon costs the agent this and not the limit. Above a healthy daemon's p99, below twice the floor."""

BODY_LIMIT_BYTES = 10 << 20
"""The daemon answers 413 above it: a longer payload is kept up to here, as incomplete."""

BREAKER_S = 10
DETACHED_S_PER_BYTE = 0.2e-6
"""What the detached child waits longer for large bodies: the daemon sanitises before it acknowledges."""

GUARDIAN_S = 5
ANSWER_LIMIT_BYTES = 1 << 20

# Outcomes of a delivery: an HTTP status, or one of these.
PENDING, NO_DAEMON, TIMEOUT, FAILED = -1, -2, -3, -4
OutcomeCode = int

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"


class Call:
    """One run of the hook: what the launcher said, and the event as read. Paths are joined here, not by `DataDir`,
    because `pathlib` alone costs as much as the rest; a test keeps the names equal."""

    __slots__ = ("at_ns", "body", "cwd", "data", "event", "harness", "pid", "reply", "socket", "spool_bytes", "whole")

    def __init__(self, argv: "list[str]") -> None:
        self.at_ns = time.time_ns()
        self.pid = posix.getpid()
        self.data, self.socket, spool_bytes, self.reply, self.harness, self.event = (
            argv[0], argv[1], argv[2], argv[3] == "1", argv[4], argv[5],
        )  # fmt: skip
        self.spool_bytes = int(spool_bytes)
        self.body = b""
        self.whole = False
        try:
            self.cwd: bytes | None = posix.getcwdb()
        except OSError:  # deleted under us
            self.cwd = None

    @property
    def spool(self) -> str:
        return f"{self.data}/spool"

    @property
    def breaker(self) -> str:
        return f"{self.data}/spool/.breaker"

    def request(self) -> bytes:
        """The whole HTTP request."""
        query = f"harness={quote(self.harness)}&event={quote(self.event)}&at={self.at_ns}&pid={self.pid}"
        if self.cwd is not None:
            query += f"&cwd={quote(self.cwd)}"
        if self.reply:
            query += "&reply=1"
        head = (
            f"POST /hook?{query} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(self.body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode("ascii") + self.body


def quote(text: "str | bytes") -> str:
    """Percent-encoded, for a query."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)


# -- stdin -----------------------------------------------------------------------------------------------------------


def is_whole(body: bytes) -> bool:
    """Whether this is one complete JSON object, told without a parser: brackets outside strings are balanced."""
    text = body.strip()
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return False
    parts = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    outside = b"".join(parts[::2])
    return (
        len(parts) % 2 == 1
        and outside.count(b"{") == outside.count(b"}")
        and outside.count(b"[") == outside.count(b"]")
    )


def read_stdin(until: float) -> "tuple[bytes, bool]":
    """The payload, and whether it is whole: up to the end of input, or one JSON object (some harnesses leave stdin
    open), or what came until then. What exceeds the limit is read and thrown away, so the harness's write succeeds."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    chunks: list[bytes] = []
    size = 0
    while True:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return b"".join(chunks), False
        try:
            chunk = posix.read(0, 1 << 18)
        except BlockingIOError:  # another reader of a shared non-blocking stdin was first
            continue
        except OSError:  # closed stdin
            chunk = b""
        if not chunk:
            return b"".join(chunks), size <= BODY_LIMIT_BYTES
        if size < BODY_LIMIT_BYTES:
            chunks.append(chunk[: BODY_LIMIT_BYTES - size])
        size += len(chunk)
        if size <= BODY_LIMIT_BYTES and chunk.rstrip()[-1:] in (b"}", b"") and is_whole(b"".join(chunks)):
            return b"".join(chunks), True


# -- delivery --------------------------------------------------------------------------------------------------------


class Post:
    """One request on its way. `advance` can be called again, also by the child that took the connection over."""

    __slots__ = ("_answer", "_left", "_reply", "_sock", "body")

    def __init__(self, request: bytes, reply: bool) -> None:
        self._left = memoryview(request)
        self._reply = reply
        self._answer = b""
        self._sock: _socket.socket | None = None
        self.body: bytes | None = None

    def connect(self, path: str, until: float) -> OutcomeCode:
        """PENDING when the connection stands; NO_DAEMON or FAILED otherwise."""
        try:
            found = posix.stat(path)
            if found.st_uid != posix.getuid():
                return FAILED  # somebody else listens where our daemon should
            sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            sock.settimeout(max(until - time.monotonic(), 0.001))
            sock.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return NO_DAEMON
        except OSError:
            return FAILED
        self._sock = sock
        return PENDING

    def fileno(self) -> int:
        return self._sock.fileno() if self._sock else -1

    def advance(self, until: float) -> OutcomeCode:
        """Send and receive until the answer is there (its HTTP status, or FAILED) or `until` is past (PENDING)."""
        assert self._sock
        try:
            while self._left:
                self._sock.settimeout(_remaining(until))
                self._left = self._left[self._sock.send(self._left) :]
        except (BrokenPipeError, ConnectionResetError):
            self._left = memoryview(b"")  # answered before it read everything
        except TimeoutError:
            return PENDING
        except OSError:
            return FAILED
        try:
            while (outcome := self._outcome(at_end=False)) == PENDING:
                self._sock.settimeout(_remaining(until))
                chunk = self._sock.recv(1 << 16)
                if not chunk:
                    return self._outcome(at_end=True)
                self._answer += chunk
        except TimeoutError:
            return PENDING
        except OSError:
            return self._outcome(at_end=True)
        return outcome

    def given_up(self) -> OutcomeCode:
        """What it came to when nobody waits any longer. A status acknowledges, even if its body broke off."""
        outcome = self._outcome(at_end=True)
        return TIMEOUT if outcome == FAILED and b"\r\n\r\n" not in self._answer else outcome

    def _outcome(self, at_end: bool) -> OutcomeCode:
        head, blank, body = self._answer.partition(b"\r\n\r\n")
        if not blank:
            return FAILED if at_end or len(head) > ANSWER_LIMIT_BYTES else PENDING
        lines = head.lower().split(b"\r\n")
        status = lines[0][9:12]
        headers = dict(line.split(b":", 1) for line in lines[1:] if b":" in line)
        if not (lines[0].startswith(b"http/1.") and status.isdigit() and b"x-aimemory" in headers):
            return FAILED  # not our daemon
        if not (self._reply and status == b"200"):
            return int(status)
        length = headers.get(b"content-length", b"").strip()
        if length.isdigit() and int(length) <= ANSWER_LIMIT_BYTES:
            if len(body) < int(length) and not at_end:
                return PENDING
            if len(body) >= int(length):
                self.body = body[: int(length)]
        return int(status)


def _remaining(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def print_reply(body: bytes, until: float) -> None:
    """Write to stdout, byte for byte; a reader that takes nothing can't hold us. In pieces that a pipe takes whole."""
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    while body and (left := until - time.monotonic()) > 0 and poll.poll(left * 1000):
        body = body[posix.write(1, body[:4096]) :]


# -- what can't be delivered -----------------------------------------------------------------------------------------


def breaker_is_open(call: Call) -> bool:
    try:
        return 0 <= time.time() - posix.stat(call.breaker).st_mtime < BREAKER_S
    except OSError:
        return False


def detach(*keep: int) -> None:
    """In a forked child: leave the harness's session, and hold none of its pipes, for it would wait for them."""
    posix.setsid()
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(null, fd)
    try:
        fds = [int(name) for name in posix.listdir("/dev/fd")]
    except OSError:
        fds = list(range(3, 256))
    for fd in fds:
        if fd > 2 and fd not in keep:
            try:
                posix.close(fd)
            except OSError:
                pass
    try:
        posix.chdir("/")  # pins no one's directory
    except OSError:
        pass


def keep_event(call: Call, outcome: OutcomeCode) -> None:
    """In the detached child: spool, or write to the rejects, unless the outcome is a delivery."""
    if 200 <= outcome < 300:
        return
    # Loaded here: these modules cost more than the whole fast path, which must not meet them.
    from aimemory.hookclient import undelivered

    if outcome == TIMEOUT:
        undelivered.open_breaker(call)
    refused = 400 <= outcome < 500 and outcome != 429
    undelivered.keep(call, outcome if refused else None)
    if outcome == NO_DAEMON and not call.reply:
        from aimemory.hookclient import autostart

        autostart.start(call.data, call.socket)


def in_child(work: "Callable[[], None]") -> None:
    """Fork; the parent goes on at once, the child does this and ends."""
    if posix.fork() == 0:
        try:
            work()
        finally:
            posix._exit(0)


def leave_to_child(call: Call, outcome: OutcomeCode) -> None:
    def work() -> None:
        detach()
        keep_event(call, outcome)

    in_child(work)


def hand_over(call: Call, post: Post, started: float) -> None:
    """A child goes on waiting for the answer, and keeps the event if none comes."""

    def work() -> None:
        detach(post.fileno())
        outcome = post.advance(started + LIMIT_S + len(call.body) * DETACHED_S_PER_BYTE)
        keep_event(call, post.given_up() if outcome == PENDING else outcome)

    in_child(work)


class Guardian:
    """A detached child that keeps the event unless this process tells it how the delivery went: killed means kept."""

    __slots__ = ("_pipe",)

    def __init__(self, call: Call) -> None:
        reading, self._pipe = posix.pipe()

        def work() -> None:
            detach(reading)  # lets go of the connection too: the daemon must see it when the hook itself goes away
            poll = select.poll()
            poll.register(reading, select.POLLIN)
            word = posix.read(reading, 16) if poll.poll(GUARDIAN_S * 1000) else b""
            keep_event(call, int(word) if word else FAILED)

        in_child(work)
        posix.close(reading)

    def tell(self, outcome: OutcomeCode) -> None:
        try:
            posix.write(self._pipe, str(outcome).encode("ascii"))
        except OSError:  # the child is gone; the reply still has to be printed
            pass


def fetch_reply(call: Call, post: Post, outcome: OutcomeCode, started: float) -> None:
    """Wait for the answer up to the limit, starting a daemon if there is none, and print it."""
    until = started + REPLY_LIMIT_S
    guardian = Guardian(call)
    if outcome == NO_DAEMON:
        from aimemory.hookclient import autostart  # see `keep_event`

        if autostart.start(call.data, call.socket):
            while (outcome := post.connect(call.socket, until)) == NO_DAEMON and time.monotonic() + 0.01 < until:
                time.sleep(0.01)
    if outcome == PENDING and (outcome := post.advance(until)) == PENDING:
        outcome = post.given_up()
    guardian.tell(outcome)
    if outcome == 200 and post.body:
        print_reply(post.body, until + 0.1)


def run(argv: "list[str]") -> None:
    """Deliver one event. argv: data directory, socket, bound of the spool in bytes, reply (1 or 0), harness, event."""
    started = time.monotonic()
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT):
        _signal.signal(number, _signal.SIG_IGN)  # the limit ends us soon enough; until then the event is in our hands
    call = Call(argv)
    limit = REPLY_LIMIT_S if call.reply else LIMIT_S
    call.body, call.whole = read_stdin(started + LIMIT_S)
    if not call.whole or breaker_is_open(call):
        return leave_to_child(call, FAILED)
    post = Post(call.request(), call.reply)
    asked = time.monotonic()
    outcome = post.connect(call.socket, started + limit)
    if outcome == PENDING:
        outcome = post.advance(min(asked + HANDOVER_S, started + limit))
    if call.reply and outcome in (PENDING, NO_DAEMON):
        return fetch_reply(call, post, outcome, started)
    if outcome == PENDING:
        return hand_over(call, post, started)
    if not 200 <= outcome < 300:
        return leave_to_child(call, outcome)
    if outcome == 200 and post.body:
        print_reply(post.body, started + limit + 0.1)
    return None
