"""The MCP way as agents use it: the SDK's own clients, the real shim process, a real server on socket and loopback."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

STANDIN = Path(__file__).with_name("mcp_standin.py")
SHIM = Path(__file__).parents[2] / "aimemory" / "stdio" / "__main__.py"
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    },
}
NOISY = {
    "PYTHONWARNINGS": "default",
    "PYTHONVERBOSE": "1",
    "PYTHONDEBUG": "1",
    "PYTHONINSPECT": "1",
    "PYTHONDEVMODE": "1",
}


class Server:
    """The stand-in daemon; may be stopped and started again on the same socket."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(STANDIN), str(self._data / "socket")], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.communicate(timeout=20)
            self._process = None


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose own daemon stays down: the one that answers is the stand-in."""
    root = tmp_path_factory.mktemp("data")
    (root / "down").touch()
    return root


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Server]:
    made = Server(data)
    made.start()
    yield made
    made.stop(signal.SIGKILL)


def command(data: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(SHIM), str(data), str(data / "socket")]


class Shim:
    """A shim process that is spoken to line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.lines: list[bytes] = []

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        self.lines.append(self.process.stdout.readline())
        return json.loads(self.lines[-1])

    def ask(self, message: Any) -> Any:
        self.say(json.dumps(message).encode())
        return self.hear()

    def call(self, number: int, name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        return self.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


@contextmanager
def started(data: Path, **env: str) -> Iterator[Shim]:
    process = subprocess.Popen(
        command(data), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=data
    )
    with process:
        try:
            yield Shim(process)
        finally:
            process.kill()


def text_of(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


# -- the SDK's clients -----------------------------------------------------------------------------------------------


def use(client_of: Any) -> tuple[list[str], str, str]:
    """List the tools, write a page, read it back."""

    async def talk() -> tuple[list[str], str, str]:
        async with asyncio.timeout(30), client_of() as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            await client.call_tool("memory_write_page", {"title": "a", "body": "Grüße 你好"})
            read = await client.call_tool("memory_read_page", {"page": "a"})
            missing = await client.call_tool("memory_read_page", {"page": "b"})
            assert missing.is_error
            return tools, read.content[0].text, missing.content[0].text

    return asyncio.run(talk())


def check(tools: list[str], read: str, missing: str) -> None:
    assert "memory_search" in tools
    assert "Grüße 你好" in read
    assert missing == "There is no such page."


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_works_over_stdio(server: Server, data: Path, mode: str) -> None:
    python, *arguments = command(data)
    parameters = StdioServerParameters(command=python, args=arguments, cwd=data)
    check(*use(lambda: Client(parameters, mode=mode)))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_works_over_http(server: Server, mode: str) -> None:
    check(*use(lambda: Client(f"http://127.0.0.1:{server.port}/mcp", mode=mode)))


def test_a_restart_in_mid_session_breaks_no_client(server: Server, data: Path) -> None:
    """Other servers' clients keep a dead session id and every tool fails till the agent is restarted."""
    python, *arguments = command(data)

    async def talk() -> list[str]:
        stdio = stdio_client(StdioServerParameters(command=python, args=arguments, cwd=data))
        async with asyncio.timeout(60), stdio as streams, ClientSession(*streams) as session:
            await session.initialize()
            async with Client(f"http://127.0.0.1:{server.port}/mcp") as by_http:
                heard = [str((await session.call_tool("memory_status", {})).content)]
                heard.append(str((await by_http.call_tool("memory_status", {})).content))
                for how in (signal.SIGTERM, signal.SIGKILL):
                    await asyncio.to_thread(server.stop, how)
                    await asyncio.to_thread(server.start)
                    heard.append(str((await session.call_tool("memory_status", {})).content))
                return heard

    heard = asyncio.run(talk())
    assert len(heard) == 4
    assert all("pages" in answer for answer in heard)


# -- the process -----------------------------------------------------------------------------------------------------


def test_every_line_on_stdout_is_json_rpc_whatever_python_is_told_to_print(server: Server, data: Path) -> None:
    with started(data, **NOISY) as shim:
        assert shim.ask(HELLO)["result"]["serverInfo"]["name"] == "aimemory"
        shim.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        shim.say(b"")
        for number, line in enumerate(
            [b"nonsense", b"[]", b'{"id":2}', b'{"jsonrpc":"2.0","id":3,"method":"no/such"}']
        ):
            shim.say(line)
            assert "error" in shim.hear(), number
        assert "pages" in text_of(shim.call(9, "memory_status"))
        out, _ = shim.process.communicate(timeout=10)
        assert out == b""
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in shim.lines)
        assert shim.process.returncode == 0


def test_what_anything_prints_goes_to_stderr() -> None:
    code = (
        "import sys, os; sys.path.append(sys.argv[1]); from aimemory.stdio.lines import Lines; lines = Lines();"
        "print('stray', flush=True); os.write(1, b'raw'); os.system('echo child'); lines.write(b'ours')"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, str(SHIM.parents[2])], input=b"", capture_output=True, timeout=20, check=True
    )
    assert ran.stdout == b"ours\n"
    assert {b"stray", b"raw", b"child"} <= set(ran.stderr.replace(b"rawchild", b"raw\nchild").split())


def test_the_server_learns_directory_harness_and_session(server: Server, data: Path) -> None:
    with started(data, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s-1") as shim:
        shim.ask(HELLO)
        text = text_of(shim.call(1, "memory_recent"))
    assert text.startswith(f"Project: {data.name} (from the working directory of claude-code, session s-1)")


def test_a_message_of_ten_megabytes_passes_both_ways(server: Server, data: Path) -> None:
    body = "x" * 10_000_000
    with started(data) as shim:
        assert "Created" in text_of(shim.call(1, "memory_write_page", title="big", body=body))
        assert '"characters": 10000000' in text_of(shim.call(2, "memory_status"))
        assert "offset=16000" in text_of(shim.call(3, "memory_read_page", page="big"))


def test_pipelined_requests_are_answered_in_order_each_once(server: Server, data: Path) -> None:
    with started(data) as shim:
        lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/list"}).encode() for n in range(50)]
        shim.say(b"\n".join(lines))
        assert [shim.hear()["id"] for _ in lines] == list(range(50))


def test_lines_that_are_in_when_stdin_closes_are_still_answered(server: Server, data: Path) -> None:
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}) for n in range(3)]
    ran = subprocess.run(command(data), input="\n".join(lines).encode(), capture_output=True, timeout=20, check=True)
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [0, 1, 2]


@pytest.mark.parametrize("end", ["stdin", "stdout"])
def test_the_shim_ends_when_its_client_is_gone(server: Server, data: Path, end: str) -> None:
    with started(data) as shim:
        shim.ask(HELLO)
        stream = getattr(shim.process, end)
        stream.close()
        assert shim.process.wait(timeout=60) == 0


def test_the_shim_ends_when_its_client_is_killed(server: Server, data: Path) -> None:
    """The client is a process of its own, which starts the shim, says hello and waits to be killed."""
    code = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[2:], stdin=-1, stdout=-1);"
        "p.stdin.write(sys.argv[1].encode() + b'\\n'); p.stdin.flush(); p.stdout.readline();"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    client = subprocess.Popen([sys.executable, "-c", code, json.dumps(HELLO), *command(data)], stdout=subprocess.PIPE)
    with client:
        assert client.stdout is not None
        watched = os.pidfd_open(int(client.stdout.readline()))
        client.kill()
        try:
            ready, _, _ = select.select([watched], [], [], 10)
        finally:
            os.close(watched)
    assert ready


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_are_no_crash(data: Path, closed: str) -> None:
    words = " ".join(f"'{word}'" for word in command(data))
    ran = subprocess.run(
        ["sh", "-c", f"exec {words} {closed}"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.promise("P12.21")
def test_without_a_daemon_the_session_begins_and_works_once_one_is_there(tmp_path: Path) -> None:
    (tmp_path / "down").touch()
    server = Server(tmp_path)
    with started(tmp_path) as shim:
        assert shim.ask(HELLO)["result"]["protocolVersion"] == "2025-11-25"
        assert "aimemory up" in shim.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["error"]["message"]
        server.start()
        try:
            assert shim.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})["result"]["tools"]
        finally:
            server.stop(signal.SIGKILL)
