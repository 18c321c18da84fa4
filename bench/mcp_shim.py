"""The MCP way: from spawn of the shim to its first answer, and one tool call, beside the floors of the same run.

    python bench/mcp_shim.py [--json]

A server with nothing but `/mcp` over pages in memory answers, so the figures are those of the way and not of recall.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aimemory.stdio.link import Link

ROOT = Path(__file__).resolve().parents[1]
STANDIN = ROOT / "tests" / "system" / "mcp_standin.py"
SHIM = ROOT / "aimemory" / "stdio" / "__main__.py"
RUNS = 15
CALLS = 200
FAST = [sys.executable, "-I", "-S"]


def message(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


HELLO = message(
    0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"}
)
CALL = message(1, "tools/call", name="memory_search", arguments={"query": "word"})


class Process:
    """A child that is spoken to line by line."""

    def __init__(self, command: list[str]) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line: bytes) -> bytes:
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(line)
        self._child.stdin.flush()
        return self._child.stdout.readline()

    def end(self) -> None:
        self._child.communicate()


def ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def first_answer(command: list[str]) -> float:
    """Milliseconds from spawn to the first line."""
    children: list[Process] = []

    def work() -> None:
        children.append(Process(command))
        assert children[0].ask(HELLO)

    taken = ms(work)
    children[0].end()
    return taken


def direct_calls(path: str) -> list[float]:
    """The same call without the shim: a POST on a keep-alive connection."""
    body = CALL.strip()
    head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    link = Link(path)
    link.connect(time.monotonic() + 5)
    taken = [ms(lambda: link.post(head.encode(), body, time.monotonic() + 5)) for _ in range(CALLS)]
    link.close()
    return taken


def measure(data: Path) -> dict[str, list[float]]:
    path = str(data / "socket")
    (data / "down").touch()
    server = subprocess.Popen([sys.executable, str(STANDIN), path], stdout=subprocess.PIPE)
    try:
        assert server.stdout
        server.stdout.readline()
        shim = [*FAST, str(SHIM), str(data), path]
        first_answer(shim)  # compiles, and lets the server load what it loads late
        echo = [*FAST, "-c", "import sys; sys.stdout.write(sys.stdin.readline())"]
        found: dict[str, list[float]] = {"bare": [], "echo": [], "initialize": []}
        for _ in range(RUNS):
            found["bare"].append(ms(lambda: subprocess.run([*FAST, "-c", "pass"], check=True)))
            found["echo"].append(first_answer(echo))
            found["initialize"].append(first_answer(shim))
        child = Process(shim)
        child.ask(HELLO)
        found["call"] = [ms(lambda: child.ask(CALL)) for _ in range(CALLS)]
        child.end()
        found["direct"] = direct_calls(path)
        return found
    finally:
        server.terminate()
        server.communicate()


LABELS = {
    "bare": "bare interpreter, start to end",
    "echo": "bare interpreter, spawn to its first line",
    "initialize": "shim, spawn to the answer to initialize",
    "direct": "tools/call, POST over the Unix socket",
    "call": "tools/call through the shim",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    rows = {
        name: {"p50_ms": round(statistics.median(values), 2), "max_ms": round(max(values), 2), "runs": len(values)}
        for name, values in ((name, found[name]) for name in LABELS)
    }
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for name, row in rows.items():
        print(f"{LABELS[name]:45} p50 {row['p50_ms']:7.2f} ms   max {row['max_ms']:7.2f} ms   {row['runs']} runs")


if __name__ == "__main__":
    main()
