"""The shim's decisions, against a daemon that says exactly what each test gives it.

Given a real Unix socket whose other end plays a script: one entry per connection, each a list of answers.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mcp_types.version as protocol
import pytest

from aimemory.config import load_config
from aimemory.stdio import messages, shim
from aimemory.stdio.link import Link, LinkError, Unanswered, Unsent

PACKAGE_ROOT = Path(shim.__file__).parents[2]
HANG_UP = b""
"""In a script: read the request, then close the connection without a byte of an answer."""


def http(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode() + body


def result(number: Any = 1, **content: Any) -> bytes:
    return http(json.dumps({"jsonrpc": "2.0", "id": number, "result": content}).encode())


class Daemon:
    """Plays its script and remembers the requests: (headers, body)."""

    def __init__(self, path: Path, script: list[list[bytes]]) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.hung_up = threading.Semaphore(0)
        """Released each time that a connection was closed."""
        self._script = script
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self) -> None:
        for answers in self._script:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                for answer in answers:
                    if not self._take(stream):
                        break
                    connection.sendall(answer)
            self.hung_up.release()

    def _take(self, stream: Any) -> bool:
        if not stream.readline():
            return False
        headers = {}
        while line := stream.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        self.requests.append((headers, stream.read(int(headers["Content-Length"]))))
        return True

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)


Play = Callable[..., Daemon]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory whose daemon must not be started: the one that answers is the test's."""
    (tmp_path / "down").touch()
    return tmp_path


@pytest.fixture
def play(data: Path) -> Iterator[Play]:
    daemons: list[Daemon] = []

    def start(*script: list[bytes]) -> Daemon:
        daemons.append(Daemon(data / "socket", list(script)))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


@pytest.fixture
def client(data: Path) -> Iterator[shim.Shim]:
    made = shim.Shim(str(data), str(data / "socket"), {}, reach_s=60, reach_first_s=60)
    yield made
    made.close()


def request(method: str = "tools/list", number: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def search(number: Any = 1) -> bytes:
    return request("tools/call", number, name="memory_search", arguments={"query": "x"})


def write(number: Any = 1) -> bytes:
    return request("tools/call", number, name="memory_write_page", arguments={"title": "t", "body": "b"})


def answered(client: shim.Shim, line: bytes) -> Any:
    reply = client.answer(line)
    assert reply is not None
    assert b"\n" not in reply
    return json.loads(reply)


# -- what it says itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"not json", None, -32700),
        (b"{", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"9" * 10_000, None, -32700),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
        (b"7", None, -32600),
        (b"{}", None, -32600),
        (b'{"id":5}', 5, -32600),
        (b'{"id":"five","method":5}', "five", -32600),
        (b'{"id":null,"method":"ping"}', None, -32600),
        (b'{"id":true,"method":"ping"}', None, -32600),
        (b'{"id":{},"method":"ping"}', None, -32600),
        (b'{"id":3,"method":"tools/list","params":"\xff"}', 3, -32700),
        (b'{"id":4,"method":"x","params":"' + b"x" * shim.MAX_MESSAGE_BYTES + b'"}', 4, -32600),
    ],
)
def test_what_is_no_request_is_answered_with_its_id_where_it_has_one(
    client: shim.Shim, line: bytes, number: Any, code: int
) -> None:
    reply = answered(client, line)
    assert (reply["id"], reply["error"]["code"]) == (number, code)


def test_an_empty_line_and_an_answer_of_the_clients_are_answered_by_nothing(client: shim.Shim) -> None:
    assert client.answer(b"  \r") is None
    assert client.answer(b'{"jsonrpc":"2.0","id":1,"result":{}}') is None


def test_ping_needs_no_daemon(client: shim.Shim) -> None:
    assert answered(client, request("ping", "p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.mark.parametrize(
    ("wanted", "given"), [("2025-03-26", "2025-03-26"), ("2031-01-01", "2025-11-25"), (7, "2025-11-25")]
)
def test_initialize_is_answered_without_a_daemon_and_a_call_says_how_to_start_it(
    client: shim.Shim, wanted: Any, given: str
) -> None:
    """A client that gets an error to `initialize` gives the server up for the whole session."""
    hello = answered(client, request("initialize", 0, protocolVersion=wanted))
    assert hello["result"]["protocolVersion"] == given
    assert hello["result"]["capabilities"] == {"tools": {"listChanged": False}}
    error = answered(client, search())["error"]  # at once: nobody will start it while we wait
    assert "aimemory up" in error["message"]


def test_the_next_line_tries_again(client: shim.Shim, play: Play) -> None:
    assert "error" in answered(client, search(1))
    play([result(2)])
    assert "result" in answered(client, search(2))


# -- what it passes on -----------------------------------------------------------------------------------------------


def test_the_line_goes_out_as_it_came_and_the_answer_back(client: shim.Shim, play: Play) -> None:
    daemon = play([result(1, text="é")])
    line = search()
    assert client.answer(b"\xef\xbb\xbf" + line + b"\r") == result(1, text="é").split(b"\r\n\r\n")[1]
    assert daemon.requests[0][1] == line


def test_two_requests_share_a_connection(client: shim.Shim, play: Play) -> None:
    daemon = play([result(1), result(2)])
    assert "result" in answered(client, search(1))
    assert "result" in answered(client, search(2))
    assert len(daemon.requests) == 2


def test_the_version_of_the_handshake_is_sent_from_then_on(client: shim.Shim, play: Play) -> None:
    daemon = play([result(0, protocolVersion="2025-06-18"), result(1)])
    client.answer(request("initialize", 0, protocolVersion="2099-01-01"))
    client.answer(search(1))
    assert "MCP-Protocol-Version" not in daemon.requests[0][0]
    assert daemon.requests[1][0]["MCP-Protocol-Version"] == "2025-06-18"


def test_a_request_that_names_its_version_gets_the_headers_of_that_generation(client: shim.Shim, play: Play) -> None:
    daemon = play([result(1), result(2)])
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    client.answer(request("tools/call", 1, name="memory_search", _meta=meta))
    client.answer(request("tools/call", 2, name="süß\r\nX: y", _meta=meta))
    first, second = (headers for headers, _ in daemon.requests)
    assert first["MCP-Protocol-Version"] == "2026-07-28"
    assert (first["Mcp-Method"], first["Mcp-Name"]) == ("tools/call", "memory_search")
    assert second["Mcp-Name"] == "=?base64?c8O8w58NClg6IHk=?="
    assert "X" not in second


def test_notifications_are_passed_on_and_print_nothing(client: shim.Shim, play: Play) -> None:
    daemon = play([http(b"", "202 Accepted"), result(1)])
    assert client.answer(b'{"jsonrpc":"2.0","method":"notifications/initialized"}') is None
    assert "result" in answered(client, search())
    assert len(daemon.requests) == 2


def test_a_notification_starts_no_daemon_and_waits_for_none(client: shim.Shim, data: Path) -> None:
    (data / "down").unlink()
    assert client.answer(b'{"jsonrpc":"2.0","method":"notifications/cancelled"}') is None
    assert not (data / "spool").exists()


# -- answers that are none -------------------------------------------------------------------------------------------


@pytest.mark.promise("P11.22")
@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (http(b"Invalid Host header", "421 Misdirected Request"), -32603, "HTTP 421"),
        (http(b"", "406 Not Acceptable"), -32603, "HTTP 406"),
        (result(2), -32603, "HTTP 200"),
        (result("1"), -32603, "HTTP 200"),
        (http(b'{"error":{"type":"Busy","message":"The queue is full."}}', "429 X"), -32000, "The queue is full."),
        (http(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"No."}}', "400 X"), -32600, "No."),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", -32000, "without a usable length"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", -32000, "no daemon answered"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", -32000, "broke off"),
    ],
)
def test_an_answer_that_is_not_ours_becomes_an_error_with_the_id_of_the_request(
    client: shim.Shim, play: Play, answer: bytes, code: int, text: str
) -> None:
    """A line that is no JSON-RPC hung the client that got it."""
    play([answer])
    reply = answered(client, search(1))
    assert (reply["id"], reply["error"]["code"]) == (1, code)
    assert text in reply["error"]["message"]


def test_an_answer_of_several_lines_is_printed_as_one(client: shim.Shim, play: Play) -> None:
    play([http(b'{\n "jsonrpc": "2.0",\r\n "id": 1, "result": {}}')])
    assert answered(client, search(1))["result"] == {}


# -- broken connections ----------------------------------------------------------------------------------------------


def test_a_connection_that_the_daemon_closed_meanwhile_is_replaced(client: shim.Shim, play: Play) -> None:
    daemon = play([result(1)], [result(2)])
    answered(client, write(1))
    assert daemon.hung_up.acquire(timeout=60)
    assert "result" in answered(client, write(2))
    assert len(daemon.requests) == 2


@pytest.mark.promise("P2.21")
@pytest.mark.parametrize(("line", "sent"), [(search(7), 2), (write(7), 1), (request("tools/list", 7), 2)])
def test_what_broke_unanswered_is_repeated_once_unless_it_may_have_written(
    client: shim.Shim, play: Play, line: bytes, sent: int
) -> None:
    daemon = play([HANG_UP], [result(7)])
    reply = answered(client, line)
    assert len(daemon.requests) == sent
    assert ("result" in reply) == (sent == 2)
    if sent == 1:
        assert "it may have been done" in reply["error"]["message"]


def test_a_daemon_that_dies_of_a_request_is_asked_twice_and_no_more(client: shim.Shim, play: Play) -> None:
    daemon = play([HANG_UP], [HANG_UP], [result(1)])
    assert "error" in answered(client, search(1))
    assert len(daemon.requests) == 2


def test_a_request_that_never_got_out_has_no_effect_and_says_so(data: Path, play: Play) -> None:
    play([b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"])
    link = Link(str(data / "socket"))
    link.connect(time.monotonic() + 60)
    assert link._sock is not None
    link._sock.shutdown(socket.SHUT_WR)
    with pytest.raises(Unsent):
        link.post(b"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\n\r\n", b"x", time.monotonic() + 60)


def test_a_daemon_that_never_answers_is_given_up_in_time(data: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(data / "socket"))
        listener.listen(1)
        link = Link(str(data / "socket"))
        link.connect(time.monotonic() + 60)
        with pytest.raises(LinkError, match="too long") as caught:
            link.post(b"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\n\r\n", b"x", time.monotonic() + 0.05)
        assert not isinstance(caught.value, Unsent | Unanswered)


# -- who asks --------------------------------------------------------------------------------------------------------


def hints(data: Path, play: Play, env: dict[str, str], client_name: str | None) -> tuple[str | None, str | None]:
    daemon = play([result(0, protocolVersion="2025-11-25"), result(1)])
    client = shim.Shim(str(data), str(data / "socket"), env)
    if client_name is not None:
        client.answer(request("initialize", 0, clientInfo={"name": client_name}))
    client.answer(search(1))
    client.close()
    headers = daemon.requests[-1][0]
    return headers.get("X-Aimemory-Harness"), headers.get("X-Aimemory-Session")


CLAUDE = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "abc"}


@pytest.mark.parametrize(
    ("env", "client_name", "expected"),
    [
        (CLAUDE, "claude-code", ("claude-code", "abc")),
        (CLAUDE, None, ("claude-code", "abc")),
        ({}, "codex-mcp-client", ("codex", None)),
        (CLAUDE, "codex-mcp-client", ("codex", None)),  # Codex started from Claude Code inherits its variables
        (CLAUDE, "some-editor", (None, None)),
        ({}, None, (None, None)),
    ],
)
def test_harness_and_session_are_those_of_the_client(
    data: Path, play: Play, env: dict[str, str], client_name: str | None, expected: tuple[str | None, str | None]
) -> None:
    assert hints(data, play, env, client_name) == expected


def test_the_directory_of_the_client_is_sent_whatever_its_name(
    data: Path, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a b\r\n% é"
    folder.mkdir()
    monkeypatch.chdir(folder)
    daemon = play([result(1)])
    client = shim.Shim(str(data), str(data / "socket"), {})
    client.answer(search(1))
    client.close()
    assert unquote(daemon.requests[0][0]["X-Aimemory-Cwd"]) == str(folder)


# -- what must stay equal elsewhere ----------------------------------------------------------------------------------


def test_the_versions_with_a_handshake_are_those_of_the_sdk() -> None:
    assert shim.HANDSHAKE_VERSIONS == protocol.HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": "/home/a"},
        {"HOME": "/home/a", "XDG_DATA_HOME": "/data"},
        {"HOME": "/home/a", "AIMEMORY_DATA_DIR": "/elsewhere/memory"},
        {"HOME": "/home/a", "AIMEMORY_DATA_DIR": "/" + "long" * 30, "XDG_RUNTIME_DIR": "/run/user/1"},
    ],
)
def test_the_command_finds_the_data_directory_that_everything_else_uses(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "AIMEMORY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    config = load_config()
    assert shim.places(env) == (str(config.data.root), str(config.data.socket))


def test_a_relative_data_directory_is_refused() -> None:
    with pytest.raises(ValueError, match="absolute"):
        shim.places({"HOME": "/home/a", "AIMEMORY_DATA_DIR": "memory"})


@pytest.mark.parametrize("value", ["tools/call", "süß", " edge ", "", "=?base64?eA==?=", "a\nb"])
def test_a_header_value_is_what_the_sdk_reads_back(value: str) -> None:
    from mcp.shared.inbound import decode_header_value

    assert decode_header_value(messages.header_value(value)) == value


def test_the_shim_imports_only_what_a_fast_start_allows() -> None:
    """`typing`, `dataclasses`, `pathlib`, `socket` or `subprocess` alone would cost more than all the rest."""
    code = "import sys; sys.path.append(sys.argv[1]); import aimemory.stdio.shim; print(*sorted(sys.modules))"
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(PACKAGE_ROOT)],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    loaded = {name.split(".")[0] for name in out.stdout.split()}
    heavy = {"typing", "dataclasses", "pathlib", "socket", "subprocess", "asyncio", "http", "urllib", "tempfile"}
    assert not loaded & heavy
    assert {name for name in out.stdout.split() if name.startswith("aimemory")} == {
        "aimemory", "aimemory.stdio", "aimemory.stdio.lines", "aimemory.stdio.link", "aimemory.stdio.messages",
        "aimemory.stdio.shim",
    }  # fmt: skip
