"""What one hook costs the agent, against the floor: a bare interpreter that posts the same bytes to the same socket.

Run: python bench/hook.py [ROUNDS]. Prints one JSON object. Ways run in turn, so that the machine's moods hit all alike;
`ratio` is the median of the ratios within a round. Times are wall milliseconds of the whole process, launcher included;
`child_cpu_ms` is the processor time of the detached child, collected by adopting it (Linux).
"""

import ctypes
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.install.launchers import interpreter, write_launchers

FLOOR = """
import posix, _socket
chunks = []
while chunk := posix.read(0, 65536):
    chunks.append(chunk)
body = b"".join(chunks)
sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
sock.connect({socket!r})
head = b"POST /hook?harness=a&event=PostToolUse HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: %d\\r\\n\\r\\n"
sock.sendall(head % len(body) + body)
sock.recv(65536)
posix._exit(0)
"""

PAYLOAD = json.dumps(
    {
        "session_id": "5d0c9a3e-6f0b-4f0e-9d39-0a4b8f6f1c11",
        "hook_event_name": "PostToolUse",
        "cwd": "/home/me/app",
        "tool_name": "Bash",
        "tool_input": {"command": "python -m pytest -q tests/unit"},
        "tool_response": {"stdout": "tests/unit/test_a.py ....... [100%]\n" * 60, "stderr": "", "interrupted": False},
    }
).encode()

PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Way:
    """One way of being called: the command, what to put right before it, and what was measured."""

    command: list[str]
    before: Callable[[], None] = lambda: None
    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    child_cpu_ms: list[float] = field(default_factory=list)


def serve(path: Path, answers: bool) -> socket.socket:
    """A listener in a thread: acknowledges every request like the daemon, or accepts and never answers."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    silent: list[socket.socket] = []

    def loop() -> None:
        while True:
            connection = listener.accept()[0]
            if not answers:
                silent.append(connection)
                continue
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            while len(body) < length:
                body += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 202 Accepted\r\nx-aimemory: bench\r\ncontent-length: 0\r\n\r\n")
            connection.close()

    threading.Thread(target=loop, daemon=True).start()
    return listener


def measure(way: Way) -> None:
    """Run it once; wall time up to its end, then the processor time of it and of the children it left behind."""
    way.before()
    env = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
    begin = time.perf_counter()
    process = subprocess.Popen(way.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert process.stdin and process.stdout
    process.stdin.write(PAYLOAD)
    process.stdin.close()
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    way.wall_ms.append((time.perf_counter() - begin) * 1000)
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and output == b"", (way.command, process.returncode, output)
    way.cpu_ms.append((used.ru_utime + used.ru_stime) * 1000)
    left_behind = 0.0
    while True:
        try:
            _, _, used = os.wait4(-1, 0)
        except ChildProcessError:
            break
        left_behind += (used.ru_utime + used.ru_stime) * 1000
    way.child_cpu_ms.append(left_behind)


def data_dir(root: Path, name: str) -> DataDir:
    data = DataDir(root / name)
    data.create()
    data.down_marker.touch()  # no autostart: its daemon would run beside the figures
    write_launchers(data, {})
    return data


def ways(root: Path) -> dict[str, Way]:
    up, down, hung = (data_dir(root, name) for name in ("up", "down", "hung"))
    serve(up.socket, answers=True)
    serve(hung.socket, answers=False)
    floor = root / "floor.py"
    floor.write_text(FLOOR.format(socket=str(up.socket)), encoding="utf-8")

    def command(data: DataDir) -> list[str]:
        return [str(data.hook_launcher), "claude-code", "PostToolUse"]

    return {
        "floor": Way([str(interpreter()), "-I", "-S", str(floor)]),
        "delivered": Way(command(up)),
        "undelivered": Way(command(down)),
        "hung": Way(command(hung), before=lambda: hung.breaker.unlink(missing_ok=True)),
        "breaker": Way(command(hung), before=hung.breaker.touch),
    }


def report(name: str, way: Way, floor: Way) -> dict[str, float | int]:
    ordered = sorted(way.wall_ms)
    figures: dict[str, float | int] = {
        "p50_ms": round(statistics.median(ordered), 2),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 2),
        "ratio": round(statistics.median(a / b for a, b in zip(way.wall_ms, floor.wall_ms, strict=True)), 2),
        "p95_ratio": round(ordered[int(len(ordered) * 0.95)] / statistics.median(floor.wall_ms), 2),
        "cpu_ms": round(statistics.median(way.cpu_ms), 2),
    }
    if name in ("undelivered", "hung", "breaker"):
        child = statistics.median(way.child_cpu_ms)
        figures["child_cpu_ms"] = round(child, 2)
        figures["child_cpu_ratio"] = round(child / statistics.median(floor.cpu_ms), 2)
    return figures


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="aimemory-bench-") as folder:
        measured = ways(Path(folder))
        for way in measured.values():  # warm: compiled modules, page cache
            measure(way)
            way.wall_ms.clear()
            way.cpu_ms.clear()
            way.child_cpu_ms.clear()
        for _ in range(rounds):
            for way in measured.values():
                measure(way)
    figures = {name: report(name, way, measured["floor"]) for name, way in measured.items()}
    about = {
        "python": platform.python_version(),
        "rounds": rounds,
        "payload_bytes": len(PAYLOAD),
        "load": os.getloadavg()[0],
    }
    print(json.dumps({"hook": figures, "machine": about}, indent=2))


if __name__ == "__main__":
    main()
