"""The MCP server that agents start: each JSON-RPC line becomes one POST to the daemon, its answer one line back.

Adds what only this process knows (directory, harness, session) as headers, starts a daemon that isn't there, and sees
to it that every request gets exactly one answer. Knows no tools: what a line means is the daemon's business.
"""

import json
import posix
import sys
import time

from aimemory import __version__
from aimemory.stdio.lines import Lines, LineTooLong
from aimemory.stdio.link import Link, LinkError, Unanswered, Unsent
from aimemory.stdio.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    UNAVAILABLE,
    answers,
    as_failure,
    failure,
    header_value,
    meta,
    negotiated_version,
    one_line,
    parsed,
    quoted,
    success,
)

TYPE_CHECKING = False  # `typing` alone would cost a quarter of the start
if TYPE_CHECKING:
    from typing import Any

REACH_S = 5.0
"""How long a request waits for a daemon that is not there, its start included."""

REACH_FIRST_S = 1.0
"""The same for `initialize`, which can be answered without one, and after a start that was tried in vain just now."""

ANSWER_S = 60.0
ANSWER_FIRST_S = 5.0
"""How long a request, and `initialize`, wait for the answer of a daemon that is there."""

MAX_MESSAGE_BYTES = 16 << 20
"""Largest message that `/mcp` takes."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`, oldest first; a test holds them equal to the SDK's."""

READ_TOOLS = frozenset([
    "memory_doctor", "memory_handoff_list", "memory_read_page", "memory_recent", "memory_related", "memory_search",
    "memory_session_brief", "memory_status",
])  # fmt: skip
"""Tools that may run twice. Any other, later ones included, is never repeated once it may have had its effect."""

CLIENTS = (
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("gemini-cli", "gemini-cli"),
    ("qwen", "qwen-code"),
    ("kimi", "kimi-code"),
    ("github-copilot", "copilot-cli"),
    ("copilot", "copilot-cli"),
    ("opencode", "opencode"),
    ("cursor", "cursor"),
)
"""How the name that a client gives itself begins, and which harness that is."""

_META = "io.modelcontextprotocol/"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Down(Exception):
    """There is no daemon to talk to; the message is for the user."""


class Shim:
    """One client's session. data: the data directory; socket: where its daemon listens; env: its environment.

    reach_s, reach_first_s: how long to wait for a daemon that isn't there.
    """

    def __init__(
        self,
        data: str,
        socket: str,
        env: "dict[str, str]",
        reach_s: float = REACH_S,
        reach_first_s: float = REACH_FIRST_S,
    ) -> None:
        self._reach_s = reach_s
        self._reach_first_s = reach_first_s
        self._data = data
        self._socket = socket
        self._link = Link(socket)
        self._env = env
        self._version: str | None = None
        self._client: str | None = None
        try:
            self._cwd = posix.getcwdb()  # now: starting a daemon changes it
        except OSError:  # deleted under us
            self._cwd = b""

    def answer(self, line: bytes) -> "bytes | None":
        """The line to print for this one; None for a notification, an answer of the client's, or nothing."""
        line = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not line:
            return None
        try:
            message = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return failure(None, PARSE_ERROR, "This line is not JSON.")
        if isinstance(message, list):
            return failure(None, INVALID_REQUEST, "Batches are not supported: send one message per line.")
        if not isinstance(message, dict):
            return failure(None, INVALID_REQUEST, "This line is no JSON-RPC message.")
        if "method" not in message and ("result" in message or "error" in message):
            return None  # the daemon asks clients nothing, so there is nobody to hand it to
        number = message.get("id")
        if "id" in message and (isinstance(number, bool) or not isinstance(number, str | int)):
            return failure(None, INVALID_REQUEST, "The id of a request must be text or a whole number.")
        if not isinstance(message.get("method"), str):
            return failure(number, INVALID_REQUEST, "The message has no method.")
        if "id" not in message:
            self._notify(message, line)
            return None
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return failure(number, PARSE_ERROR, "This line is not UTF-8.")
        if len(line) > MAX_MESSAGE_BYTES:
            return failure(number, INVALID_REQUEST, f"The message is larger than {MAX_MESSAGE_BYTES >> 20} MiB.")
        return self._request(message, line)

    def close(self) -> None:
        self._link.close()

    # -- one request ---------------------------------------------------------------------------------------------------

    def _request(self, message: "dict[str, Any]", line: bytes) -> bytes:
        number, method = message["id"], message["method"]
        self._meet_client(message)
        if method == "ping" and f"{_META}protocolVersion" not in meta(message):
            return success(number, {})
        if method == "initialize":
            return self._initialize(message, line)
        try:
            status, body = self._deliver(message, line, self._reach_s, ANSWER_S)
        except Down as error:
            return failure(number, UNAVAILABLE, str(error))
        except Unanswered:
            text = "The daemon went away while it worked on this; it may have been done. Check before repeating it."
            return failure(number, UNAVAILABLE, text)
        except LinkError as error:
            text = f"The aimemory daemon did not answer: {error}. `aimemory status` says why; a next call tries again."
            return failure(number, UNAVAILABLE, text)
        reply = parsed(body)
        return one_line(body, reply) if answers(reply, number) else as_failure(number, status, reply)

    def _initialize(self, message: "dict[str, Any]", line: bytes) -> bytes:
        """The daemon's answer, else our own: clients that get an error here give the server up for good."""
        try:
            _, body = self._deliver(message, line, self._reach_first_s, ANSWER_FIRST_S)
        except (Down, LinkError):
            return self._initialized(message)
        reply = parsed(body)
        if not answers(reply, message["id"]):
            return self._initialized(message)
        self._version = negotiated_version(reply) or self._version
        return one_line(body, reply)

    def _initialized(self, message: "dict[str, Any]") -> bytes:
        params = message.get("params")
        wanted = params.get("protocolVersion") if isinstance(params, dict) else None
        self._version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        result = {
            "protocolVersion": self._version,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "aimemory", "version": __version__},
        }
        return success(message["id"], result)

    def _deliver(self, message: "dict[str, Any]", line: bytes, reach_s: float, answer_s: float) -> "tuple[int, bytes]":
        """Status and body. Raises Down or LinkError; Unanswered if the request may have had its effect."""
        head = self._head(message, len(line))
        self._reach(time.monotonic() + reach_s)
        try:
            return self._link.post(head, line, time.monotonic() + answer_s)
        except Unsent:
            pass
        except Unanswered:
            if not _may_run_twice(message):
                raise
        self._reach(time.monotonic() + reach_s)
        try:
            return self._link.post(head, line, time.monotonic() + answer_s)
        except Unsent as error:
            raise Down(self._why_down()) from error

    def _notify(self, message: "dict[str, Any]", line: bytes) -> None:
        """Pass it on if that costs no waiting: nobody expects an answer, and a restarted daemon needs none of them."""
        try:
            now = time.monotonic()
            self._link.connect(now + 0.1)
            self._link.post(self._head(message, len(line)), line, now + 1.0)
        except OSError:
            pass

    def _head(self, message: "dict[str, Any]", size: int) -> bytes:
        envelope = meta(message).get(f"{_META}protocolVersion")
        lines = [
            "POST /mcp HTTP/1.1",
            "Host: 127.0.0.1:7377",  # with a port, as checks of the Host header like it
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {size}",
        ]
        if isinstance(envelope, str):
            lines += [
                f"MCP-Protocol-Version: {header_value(envelope)}",
                f"Mcp-Method: {header_value(message['method'])}",
            ]
            params = message.get("params")
            named = params.get(_NAMED_BY.get(message["method"], "")) if isinstance(params, dict) else None
            if isinstance(named, str):
                lines.append(f"Mcp-Name: {header_value(named)}")
        elif self._version and message["method"] != "initialize":
            lines.append(f"MCP-Protocol-Version: {header_value(self._version)}")
        for name, value in (("Cwd", self._cwd), ("Harness", self._harness()), ("Session", self._session())):
            if value:
                lines.append(f"X-Aimemory-{name}: {quoted(value)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    # -- who asks ------------------------------------------------------------------------------------------------------

    def _meet_client(self, message: "dict[str, Any]") -> None:
        params = message.get("params")
        info = params.get("clientInfo") if message["method"] == "initialize" and isinstance(params, dict) else None
        info = info or meta(message).get(f"{_META}clientInfo")
        if isinstance(info, dict) and isinstance(info.get("name"), str):
            self._client = info["name"].lower()

    def _harness(self) -> "str | None":
        """By the client's own name; by the environment, which a nested agent inherits, only where it gave none."""
        if self._client is not None:
            return next((harness for start, harness in CLIENTS if self._client.startswith(start)), None)
        return "claude-code" if self._env.get("CLAUDECODE") else None

    def _session(self) -> "str | None":
        """A hint: stale after `/clear`, and another agent's where one agent starts another, so only for its owner."""
        return self._env.get("CLAUDE_CODE_SESSION_ID") if self._harness() == "claude-code" else None

    # -- the daemon ----------------------------------------------------------------------------------------------------

    def _reach(self, until: float) -> None:
        """Have a connection, starting the daemon if need be. Raises Down."""
        asked_to_start = False
        pause_s = 0.005
        while True:
            try:
                return self._link.connect(until)
            except OSError:
                pass
            if self._is_stopped():
                raise Down(
                    self._why_down()
                )  # nobody will start it while we wait, and the agent's own start waits for us
            if not asked_to_start:
                asked_to_start = True
                if not self._start():
                    until = min(until, time.monotonic() + self._reach_first_s)
            if time.monotonic() + pause_s >= until:
                raise Down(self._why_down())
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.05)

    def _start(self) -> bool:
        """Whether it makes sense to wait for a daemon."""
        # Loaded here: nearly every run of the shim finds a daemon.
        from aimemory.hookclient import autostart

        _reap()
        try:
            return autostart.start(self._data, self._socket)
        except OSError:
            return False

    def _is_stopped(self) -> bool:
        """By the user, who wants it to stay so."""
        try:
            posix.stat(f"{self._data}/down")
        except OSError:
            return False
        return True

    def _why_down(self) -> str:
        if self._is_stopped():
            return "aimemory was stopped by `aimemory down`. Start it with `aimemory up`; the next call then works."
        return "The aimemory daemon can't be reached. `aimemory status` says why; the next call tries again."


def _may_run_twice(message: "dict[str, Any]") -> bool:
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return message["method"] != "tools/call" or (isinstance(name, str) and name in READ_TOOLS)


def _reap() -> None:
    """Let a daemon that we started and that ended be gone from the process table."""
    try:
        while posix.waitpid(-1, posix.WNOHANG)[0]:
            pass
    except OSError:  # no children
        pass


# -- the process -------------------------------------------------------------------------------------------------------


def run(data: str, socket: str) -> int:
    """Serve stdin until it ends or nobody reads stdout; returns the exit code."""
    try:
        lines = Lines()
    except OSError:
        return 0  # started without stdin or stdout: there is nobody to serve
    shim = Shim(data, socket, _environment())
    try:
        while True:
            try:
                line = lines.next()
            except LineTooLong:
                lines.write(failure(None, INVALID_REQUEST, "The line is too long."))
                continue
            if line is None:
                return 0
            reply = shim.answer(line)
            if reply is not None and not lines.write(reply):
                return 0
    except KeyboardInterrupt:
        return 130
    finally:
        shim.close()


def run_from_environment() -> int:
    """`aimemory mcp`: as the launcher does, with the data directory that the environment gives."""
    try:
        data, socket = places(_environment())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return run(data, socket)


def places(env: "dict[str, str]") -> "tuple[str, str]":
    """Data directory and socket, as `config` and `datadir` compute them. Raises ValueError for a relative path."""
    # Loaded here: the launcher of vendor configs gives both, and these imports cost more than all the rest.
    from aimemory.datadir import DataDir, default_root
    from aimemory.errors import UserError

    home = env.get("HOME") or "/"
    share = env.get("XDG_DATA_HOME", "")
    if not share.startswith("/"):
        share = f"{home}/Library/Application Support" if sys.platform == "darwin" else f"{home}/.local/share"
    try:
        root = default_root(env, f"{share.rstrip('/')}/aimemory")
    except UserError as error:
        raise ValueError(str(error)) from None
    return str(root), str(DataDir(root, env.get("XDG_RUNTIME_DIR")).socket)


def _environment() -> "dict[str, str]":
    encoding = sys.getfilesystemencoding()
    return {
        name.decode(encoding, "surrogateescape"): value.decode(encoding, "surrogateescape")
        for name, value in posix.environ.items()
    }
