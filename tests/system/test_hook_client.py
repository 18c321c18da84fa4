"""The hook client as harnesses run it: the real launcher through a bare shell, against listeners that behave or don't.

Promise 3 of docs/PROMISES.md, and the fault families CAP-01, CAP-06, CAP-14, DMN-07, DMN-08 and DMN-09.
"""

import fcntl
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from aimemory.datadir import DataDir
from aimemory.install.launchers import write_launchers
from aimemory.model.spool import SpoolFile, parse

pytestmark = pytest.mark.alone

REPLY_EVENTS = {"claude-code": ["SessionStart", "UserPromptSubmit"]}
PAYLOAD = json.dumps({"session_id": "s-1", "hook_event_name": "PostToolUse", "tool_name": "Bash"}).encode()
PROMPT = json.dumps({"session_id": "s-1", "prompt": "add the export"}).encode()
CANARY = "ghp_" + "Zq7Rk2Lm9Xw4Tn8Vb3Yc6Hd1Jf5Gs0Pa2Ue7"


@dataclass
class Hook:
    """An installed launcher and its data directory."""

    data: DataDir
    home: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def open(
        self, event: str = "PostToolUse", harness: str = "claude-code", before: str = ""
    ) -> "subprocess.Popen[bytes]":
        """Start it as a vendor does, in an environment of its own, in a process group of its own."""
        variables = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"} | self.env
        command = f"{before}{shlex.quote(str(self.data.hook_launcher))} {harness} {event}"
        return subprocess.Popen(
            ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), "/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            start_new_session=True,
        )

    def run(self, event: str = "PostToolUse", payload: bytes = PAYLOAD, harness: str = "claude-code") -> bytes:
        """Run it to its end, and whatever it left behind too; what it printed. It must exit 0 and not use stderr."""
        process = self.open(event, harness)
        out, err = process.communicate(payload, timeout=5)
        assert (process.returncode, err) == (0, b"")
        self.settle()
        return out

    def settle(self) -> None:
        """Wait until no process of this data directory's hooks is left: what isn't written now never will be."""
        eventually(lambda: not self.processes(), "the hook's processes to end")

    def processes(self) -> list[int]:
        """Processes whose command line names this data directory: launchers, clients, their detached children."""
        mine = os.fsencode(self.data.root)
        return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and mine in _command_line(p)]

    def spooled(self) -> list[SpoolFile]:
        """What lies in the spool once everything has settled, oldest first."""
        self.settle()
        return [parse(p.read_bytes(), p.name) for p in sorted(self.data.spool.glob("[0-9]*.json"))]

    def rejected(self) -> list[SpoolFile]:
        self.settle()
        return [parse(p.read_bytes(), p.name) for p in sorted(self.data.rejects.glob("[0-9]*.json"))]


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def eventually(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.005)


@dataclass
class Request:
    path: str
    headers: bytes
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        return {k: v[0] for k, v in parse_qs(urlsplit(self.path).query, errors="surrogateescape").items()}


Behaviour = Callable[[socket.socket], None]


class Peer:
    """Whoever listens on the daemon's socket: takes the whole request, remembers it, then behaves as told."""

    def __init__(self, path: Path, behave: Behaviour) -> None:
        self.requests: list[Request] = []
        self.arrived = threading.Semaphore(0)
        self._behave = behave
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._accepting = threading.Thread(target=self._accept)

    def __enter__(self) -> "Peer":
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(5)
        self._listener.close()
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(5)
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._talk, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        parts = [body]
        while sum(map(len, parts)) < length:
            parts.append(connection.recv(1 << 20))
        self.requests.append(Request(head.split(b" ")[1].decode("ascii"), head, b"".join(parts)))
        self.arrived.release()
        try:
            self._behave(connection)
        except OSError:  # the hook had enough of us
            pass

    def wait(self) -> None:
        assert self.arrived.acquire(timeout=5)


def answering(status: str, body: bytes = b"", ours: bool = True, length: int | None = None) -> Behaviour:
    """Answer and close. length: what Content-Length says, where that is not the body's length."""
    mark = "x-aimemory: 0.1.0\r\n" if ours else "server: other\r\n"
    head = f"HTTP/1.1 {status}\r\n{mark}content-length: {len(body) if length is None else length}\r\n\r\n"

    def behave(connection: socket.socket) -> None:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_RDWR)

    return behave


def silent(connection: socket.socket) -> None:
    connection.recv(1)  # returns when the other side goes away or the test ends


def dripping(connection: socket.socket) -> None:
    """A byte now and then, for ever: no single wait ever times out."""
    for byte in b"HTTP/1.1 200 OK\r\nx-aimemory: 1\r\nx-padding: " + b"a" * 10_000:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


acknowledging = answering("202 Accepted")


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    data = DataDir(tmp_path / "it's da ta")
    data.create()
    data.down_marker.touch()  # what starts a daemon says so: `daemon_in`
    write_launchers(data, REPLY_EVENTS)
    (tmp_path / "home").mkdir()
    (tmp_path / "my project").mkdir()
    made = Hook(data, tmp_path / "home", tmp_path / "my project")
    yield made
    made.settle()


# -- delivery --------------------------------------------------------------------------------------------------------


def test_event_arrives_as_it_was_given(hook: Hook) -> None:
    before = time.time_ns()
    with Peer(hook.data.socket, acknowledging) as daemon:
        assert hook.run() == b""
    [request] = daemon.requests
    assert request.body == PAYLOAD
    assert before < int(request.query.pop("at")) < time.time_ns()
    query = request.query
    assert int(query.pop("pid")) > 0 and query.pop("at")
    assert query == {"harness": "claude-code", "event": "PostToolUse", "cwd": str(hook.cwd)}
    assert b"\r\nHost: localhost\r\n" in request.headers
    assert hook.spooled() == []


@pytest.mark.promise("P3.2")
def test_reply_is_printed_byte_for_byte_and_nothing_else(hook: Hook) -> None:
    brief = '{"hookSpecificOutput":"é\\u0000"}\r\n\n'.encode() + bytes(range(256)) * 30
    with Peer(hook.data.socket, answering("200 OK", brief)) as daemon:
        assert hook.run("SessionStart") == brief
    assert daemon.requests[0].query["reply"] == "1"
    assert hook.spooled() == []


@pytest.mark.promise("P3.2")
@pytest.mark.parametrize(
    "answer, printed",
    [(answering("200 OK", b"brief, and more", length=5), b"brief"), (answering("202 Accepted", b"no brief"), b"")],
)
def test_what_stands_behind_a_reply_or_is_none_is_not_printed(hook: Hook, answer: Behaviour, printed: bytes) -> None:
    with Peer(hook.data.socket, answer):
        assert hook.run("SessionStart") == printed


@pytest.mark.promise("P3.2")
def test_only_events_that_may_carry_a_brief_ask_for_one(hook: Hook) -> None:
    with Peer(hook.data.socket, answering("200 OK", b"not to be printed")) as daemon:
        assert hook.run("PostToolUse") == b""
        assert hook.run("SessionStart", harness="codex") == b""
    assert all("reply" not in request.query for request in daemon.requests)


@pytest.mark.promise("P3.2")
def test_acknowledged_event_whose_reply_broke_off_prints_nothing_and_is_not_sent_twice(hook: Hook) -> None:
    with Peer(hook.data.socket, answering("200 OK", b'{"half":', length=100)):
        assert hook.run("SessionStart") == b""
    assert hook.spooled() == []


def test_stdin_left_open_does_not_hold_the_hook(hook: Hook) -> None:
    with Peer(hook.data.socket, acknowledging) as daemon:
        process = hook.open()
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(PAYLOAD)
        process.stdin.flush()
        assert process.wait(5) == 0
        process.communicate()
        hook.settle()
    assert daemon.requests[0].body == PAYLOAD


def test_ten_megabytes_arrive_whole(hook: Hook) -> None:
    large = json.dumps({"out": 'a "quoted" {brace} \\ ' * 480_000}).encode()[: 10 << 20]
    with Peer(hook.data.socket, acknowledging) as daemon:
        assert hook.run(payload=large) == b""
    assert [request.body == large for request in daemon.requests] == [True]


def test_bytes_that_are_no_utf8_arrive_as_they_came(hook: Hook) -> None:
    with Peer(hook.data.socket, acknowledging) as daemon:
        hook.run(payload=b'{"a":"\xff\xfe"}')
    assert daemon.requests[0].body == b'{"a":"\xff\xfe"}'


def test_event_of_a_deleted_directory_arrives_without_one(hook: Hook) -> None:
    gone = hook.home / "gone"
    gone.mkdir()
    hook.cwd = gone
    with Peer(hook.data.socket, acknowledging) as daemon:
        process = hook.open(before="rmdir ../gone; ")
        process.communicate(PAYLOAD, timeout=5)
        hook.settle()
    assert process.returncode == 0 and "cwd" not in daemon.requests[0].query


def test_proxy_variables_and_a_decoy_interpreter_change_nothing(hook: Hook) -> None:
    """CAP-14, DMN-08."""
    decoy = hook.home / "bin"
    decoy.mkdir()
    for name in ("python3", "python", "sh"):
        (decoy / name).write_text("#!/bin/false\n")
        (decoy / name).chmod(0o755)
    dead = "http://127.0.0.1:9"
    hook.env = {"PATH": f"{decoy}:/usr/bin:/bin", "HTTP_PROXY": dead, "ALL_PROXY": dead, "PYTHONHOME": "/nowhere"}
    with Peer(hook.data.socket, acknowledging) as daemon:
        assert hook.run() == b""
    assert len(daemon.requests) == 1


# -- what can't be delivered -----------------------------------------------------------------------------------------


@pytest.mark.promise("P3.3")
def test_event_without_a_daemon_is_spooled_sanitised(hook: Hook) -> None:
    payload = json.dumps({"prompt": f"use {CANARY}", CANARY: [f"export TOKEN={CANARY}"]}).encode()
    assert hook.run("UserPromptSubmit", payload) == b""
    [entry] = hook.spooled()
    assert (entry.harness, entry.event, entry.kind) == ("claude-code", "UserPromptSubmit", "prompt")
    assert entry.cwd == str(hook.cwd) and entry.at_ns > 0 and entry.pid > 0 and not entry.incomplete
    assert isinstance(entry.body, dict) and entry.body["prompt"].startswith("use [redacted:")
    files = [p for p in hook.data.root.rglob("*") if p.is_file()]
    assert files and not any(CANARY.encode() in p.read_bytes() for p in files)
    assert [oct(p.stat().st_mode & 0o777) for p in hook.data.spool.glob("*.json")] == ["0o600"]


def test_spooling_holds_nothing_of_the_harness(hook: Hook) -> None:
    """The harness waits for the end of the hook's pipes: they close although the child is still at work."""
    with (hook.data.spool / ".tally").open("wb") as tally:
        fcntl.lockf(tally, fcntl.LOCK_EX)
        assert hook.open().communicate(PAYLOAD, timeout=5) == (b"", b"")
        assert hook.processes()
        assert list(hook.data.spool.glob("*.json")) == []
    assert len(hook.spooled()) == 1


def test_equal_events_are_two_spool_files(hook: Hook) -> None:
    hook.run()
    hook.run()
    assert [entry.body for entry in hook.spooled()] == [json.loads(PAYLOAD)] * 2


@pytest.mark.promise("P3.1")
@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
@pytest.mark.parametrize(
    "behave",
    [
        pytest.param(answering("500 Internal Server Error", b"boom"), id="500"),
        pytest.param(answering("503 Service Unavailable"), id="503"),
        pytest.param(answering("429 Too Many Requests"), id="429"),
        pytest.param(answering("200 OK", b"<html>hello</html>", ours=False), id="another-program"),
        pytest.param(lambda connection: connection.sendall(b"220 mail ready\r\n\r\n"), id="another-protocol"),
        pytest.param(lambda connection: connection.shutdown(socket.SHUT_RDWR), id="hangs-up"),
    ],
)
def test_event_that_nobody_of_ours_took_is_spooled_and_nothing_printed(
    hook: Hook, behave: Behaviour, event: str
) -> None:
    with Peer(hook.data.socket, behave):
        assert hook.run(event) == b""
        assert len(hook.spooled()) == 1
    assert not hook.data.breaker.exists()


@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
@pytest.mark.parametrize("behave", [silent, dripping])
def test_hung_daemon_trips_the_breaker_and_is_left_alone_then(hook: Hook, behave: Behaviour, event: str) -> None:
    with Peer(hook.data.socket, behave) as daemon:
        assert hook.run(event) == b""
        assert hook.data.breaker.exists()
        assert hook.run(event) == b""
        assert len(hook.spooled()) == 2
    assert len(daemon.requests) == 1


def test_breaker_closes_again_with_time(hook: Hook) -> None:
    hook.data.breaker.touch()
    os.utime(hook.data.breaker, (time.time() - 11, time.time() - 11))
    with Peer(hook.data.socket, acknowledging) as daemon:
        hook.run()
    assert len(daemon.requests) == 1


def test_slow_answer_is_an_acknowledgement(hook: Hook) -> None:
    """Later than the hook stays, sooner than the limit: the child that took over hears it."""
    gone = threading.Event()

    def slow(connection: socket.socket) -> None:
        assert gone.wait(5)
        acknowledging(connection)

    with Peer(hook.data.socket, slow):
        process = hook.open()
        process.communicate(PAYLOAD, timeout=5)
        gone.set()
        assert process.returncode == 0
        assert hook.spooled() == []


@pytest.mark.parametrize("status", [400, 413])
def test_refused_event_goes_to_the_rejects_and_is_counted(hook: Hook, status: int) -> None:
    with Peer(hook.data.socket, answering(f"{status} No", b"why")):
        assert hook.run(payload=f'{{"a":"{CANARY}"}}'.encode()) == b""
        [entry] = hook.rejected()
    assert entry.status == status and CANARY not in str(entry.body)
    assert hook.spooled() == []
    assert json.loads((hook.data.rejects / ".rejected").read_text()) == {str(status): 1}


def test_cut_off_payload_is_kept_as_text(hook: Hook) -> None:
    process = hook.open()
    assert process.stdin
    process.stdin.write(b'{"prompt":"half a sen')
    process.stdin.flush()
    assert process.wait(5) == 0
    process.communicate()
    [entry] = hook.spooled()
    assert entry.incomplete and entry.body is None and entry.text == '{"prompt":"half a sen'


def test_payload_that_is_no_json_is_kept_as_text(hook: Hook) -> None:
    hook.run(payload=b"\xff\xfe plain words")
    [entry] = hook.spooled()
    assert entry.text is not None and entry.text.endswith("plain words") and not entry.incomplete


def test_head_of_an_oversized_payload_is_kept(hook: Hook) -> None:
    with Peer(hook.data.socket, acknowledging) as daemon:
        hook.run(payload=b'{"out":"' + b"words " * (2 << 20) + b'"}')
        [entry] = hook.spooled()
    assert entry.incomplete and entry.text and entry.text.startswith('{"out":"words')
    assert daemon.requests == []


def test_folder_whose_capture_is_off_leaves_nothing(hook: Hook) -> None:
    (hook.cwd / ".aimemory.toml").write_text('[capture]\nmode = "off"\n')
    below = hook.cwd / "src"
    below.mkdir()
    hook.cwd = below
    hook.run()
    assert hook.spooled() == []


@pytest.mark.promise("P4.15")
@pytest.mark.parametrize("way", ["its own directory", "the payload's", "through a link"])
def test_folder_that_is_switched_off_leaves_nothing(hook: Hook, way: str) -> None:
    off = hook.cwd / "off"
    (off / "src").mkdir(parents=True)
    (hook.cwd / "link").symlink_to(off)
    hook.data.folders_file.write_text(json.dumps({"v": 1, "folders": {str(off): {"mode": "off", "since": "x"}}}))
    payload = b"{}"
    if way == "its own directory":
        hook.cwd = off / "src"
    else:
        cwd = off / "src" if way == "the payload's" else hook.cwd / "link" / "src"
        payload = json.dumps({"cwd": str(cwd)}).encode()
    hook.run(payload=payload)
    assert hook.spooled() == []


def test_folder_that_is_on_below_one_that_is_off_is_kept(hook: Hook) -> None:
    on = hook.cwd / "on"
    on.mkdir()
    modes = {str(hook.cwd): {"mode": "off", "since": "x"}, str(on): {"mode": "on", "since": "x"}}
    hook.data.folders_file.write_text(json.dumps({"v": 1, "folders": modes}))
    hook.run(payload=json.dumps({"cwd": str(on)}).encode())
    assert len(hook.spooled()) == 1


def test_spool_is_made_by_whoever_comes_first(hook: Hook) -> None:
    hook.data.rejects.rmdir()
    hook.data.spool.rmdir()
    hook.run()
    assert len(hook.spooled()) == 1
    assert hook.data.spool.stat().st_mode & 0o777 == 0o700


@pytest.mark.promise("P3.1")
def test_spool_that_can_not_be_written_hurts_nobody(hook: Hook) -> None:
    hook.data.rejects.rmdir()
    hook.data.spool.rmdir()
    hook.data.spool.write_text("in the way")
    assert hook.run() == b""
    assert hook.run("SessionStart") == b""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket away")
def test_socket_of_another_user_is_not_talked_to(hook: Hook) -> None:
    with Peer(hook.data.socket, acknowledging) as daemon:
        os.chown(hook.data.socket, 12345, 12345)
        hook.run()
        assert len(hook.spooled()) == 1
    assert daemon.requests == []


# -- killed, or without a program ------------------------------------------------------------------------------------


@pytest.mark.promise("P3.3")
@pytest.mark.parametrize("event", ["SessionEnd", "SessionStart"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_event_survives_the_kill_of_the_hook_and_its_group(hook: Hook, number: int, event: str) -> None:
    """CAP-06: harnesses kill their hooks when they leave. By then a process outside the group holds the event."""
    with Peer(hook.data.socket, silent) as daemon:
        process = hook.open(event)
        assert process.stdin
        process.stdin.write(PROMPT)
        process.stdin.close()
        daemon.wait()
        eventually(lambda: any(_session(pid) not in (process.pid, None) for pid in hook.processes()), "the child")
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:  # it has left already
            pass
        process.wait(5)
        for stream in (process.stdout, process.stderr):
            assert stream
            stream.close()
        assert [entry.body for entry in hook.spooled()] == [json.loads(PROMPT)]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def test_daemon_sees_that_the_hook_it_answers_has_gone(hook: Hook) -> None:
    """Else it takes the brief for printed. The child that keeps the event, here busy, must not hold the connection."""
    seen = threading.Event()

    def watching(connection: socket.socket) -> None:
        if connection.recv(1) == b"":
            seen.set()

    with Peer(hook.data.socket, watching) as daemon, (hook.data.spool / ".tally").open("wb") as tally:
        fcntl.lockf(tally, fcntl.LOCK_EX)
        process = hook.open("SessionStart")
        assert process.stdin
        process.stdin.write(PROMPT)
        process.stdin.flush()
        daemon.wait()
        eventually(lambda: any(_session(pid) not in (process.pid, None) for pid in hook.processes()), "the child")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=5)
        assert seen.wait(2) and hook.processes()


def test_polite_kill_is_outlived(hook: Hook) -> None:
    """Before any other process holds the event, TERM, HUP and INT don't stop its delivery."""
    with Peer(hook.data.socket, silent) as daemon:
        process = hook.open()
        assert process.stdin
        process.stdin.write(PAYLOAD)
        process.stdin.flush()
        daemon.wait()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
        process.communicate(timeout=5)
        assert len(hook.spooled()) == 1


def _no_interpreter(hook: Hook, tmp_path: Path) -> None:
    write_launchers(hook.data, REPLY_EVENTS, python=tmp_path / "gone" / "python")


def _no_program(hook: Hook, tmp_path: Path) -> None:
    write_launchers(hook.data, REPLY_EVENTS, package=tmp_path / "gone")


def _failing_interpreter(hook: Hook, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'error while loading shared libraries' >&2\nexit 127\n")
    broken.chmod(0o755)
    write_launchers(hook.data, REPLY_EVENTS, python=broken)


def _unloadable_interpreter(hook: Hook, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_bytes(b"\x7fELF of another machine")
    broken.chmod(0o755)
    write_launchers(hook.data, REPLY_EVENTS, python=broken)


def _broken_program(hook: Hook, tmp_path: Path) -> None:
    (tmp_path / "pkg" / "hookclient").mkdir(parents=True)
    (tmp_path / "pkg" / "hookclient" / "stub.py").write_text("this is no Python\n")
    write_launchers(hook.data, REPLY_EVENTS, package=tmp_path / "pkg")


@pytest.mark.promise("P3.1")
@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart"])
@pytest.mark.parametrize(
    "breaks", [_no_interpreter, _no_program, _failing_interpreter, _unloadable_interpreter, _broken_program]
)
def test_launcher_without_a_working_program_exits_0_in_silence(
    hook: Hook, tmp_path: Path, breaks: Callable[[Hook, Path], None], event: str
) -> None:
    breaks(hook, tmp_path)
    process = hook.open(event)
    try:
        out, err = process.communicate(PAYLOAD, timeout=5)
    except BrokenPipeError:  # nobody read it
        out, err = process.communicate(timeout=5)
    assert (process.returncode, out, err) == (0, b"", b"")


# -- starting a daemon -----------------------------------------------------------------------------------------------

DAEMON = """
import json, os, socket, sys
root = os.environ["AIMEMORY_DATA_DIR"]
with open(root + "/started", "a") as log:
    about = {"pid": os.getpid(), "sid": os.getsid(0), "argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}
    log.write(json.dumps(about) + "\\n")
listener = socket.socket(socket.AF_UNIX)
listener.settimeout(20)
listener.bind(root + "/socket")
listener.listen(16)
while True:
    connection = listener.accept()[0]
    data = connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nx-aimemory: 1\\r\\ncontent-length: 5\\r\\n\\r\\nbrief")
    connection.close()
    if data.startswith(b"POST /stop"):
        break
"""


@dataclass
class Installed:
    """A virtual environment whose `aimemory serve` is a small daemon that notes how it was started."""

    hook: Hook

    def starts(self) -> list[dict[str, object]]:
        path = self.hook.data.root / "started"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def ask(self, line: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.hook.data.socket))
            connection.sendall(line)
            return connection.recv(65536)


@pytest.fixture
def installed(hook: Hook, tmp_path: Path) -> Iterator[Installed]:
    base = Path(sys.executable).resolve()
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages/aimemory"
    env = tmp_path / "venv"
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").symlink_to(base)
    (env / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (env / library).mkdir(parents=True)
    (env / library / "__init__.py").write_text("")
    (env / library / "__main__.py").write_text(DAEMON)
    write_launchers(hook.data, REPLY_EVENTS, python=env / "bin" / "python")
    hook.data.down_marker.unlink()
    made = Installed(hook)
    yield made
    if hook.data.socket.exists():
        try:
            made.ask(b"POST /stop")
        except ConnectionRefusedError:
            pass


def test_brief_of_a_daemon_that_the_hook_had_to_start_is_printed(installed: Installed) -> None:
    assert installed.hook.run("SessionStart", PROMPT) == b"brief"
    assert installed.hook.spooled() == []


def test_started_daemon_outlives_the_harness_and_inherits_nothing_of_it(installed: Installed) -> None:
    """DMN-09."""
    installed.hook.env = {"HTTP_PROXY": "http://dead", "OPENAI_API_KEY": CANARY, "TMPDIR": "/gone", "TZ": "UTC"}
    process = installed.hook.open("SessionStart")
    assert process.communicate(PROMPT, timeout=5)[0] == b"brief"
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    [start] = installed.starts()
    assert start["sid"] == start["pid"] != process.pid
    assert (start["argv"], start["cwd"]) == (["serve"], "/")
    env = start["env"]
    assert isinstance(env, dict)
    assert set(env) - {"LC_CTYPE"} == {"HOME", "PATH", "TZ", "AIMEMORY_DATA_DIR"} and env["PATH"] == "/usr/bin:/bin"
    assert installed.ask(b"POST /hook").endswith(b"brief")


def test_ten_hooks_at_once_make_one_attempt(installed: Installed) -> None:
    processes = [installed.hook.open() for _ in range(10)]
    for process in processes:
        assert process.communicate(PAYLOAD, timeout=10)[0] == b""
    installed.hook.settle()
    eventually(installed.hook.data.socket.exists, "the daemon")
    assert len(installed.starts()) == 1


def test_daemon_that_another_hook_is_about_to_start_is_left_to_it(installed: Installed) -> None:
    with installed.hook.data.start_attempt.open("wb") as attempt:
        fcntl.lockf(attempt, fcntl.LOCK_EX)
        assert installed.hook.run("SessionStart") == b""
    assert installed.starts() == []


def test_daemon_that_was_tried_lately_is_not_tried_again(installed: Installed) -> None:
    installed.hook.data.start_attempt.write_text("1\n")
    assert installed.hook.run() == b""
    assert installed.hook.run("SessionStart") == b""
    assert len(installed.hook.spooled()) == 2
    assert installed.starts() == []


def test_down_marker_keeps_the_daemon_down(installed: Installed) -> None:
    installed.hook.data.down_marker.touch()
    assert installed.hook.run() == b""
    assert installed.hook.run("SessionStart") == b""
    assert len(installed.hook.spooled()) == 2
    assert installed.starts() == [] and not installed.hook.data.start_attempt.exists()
