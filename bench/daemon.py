"""The daemon as a whole: start, memory, durable events per second, beside the floors of the same run."""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from living import Daemon

HERE = Path(__file__).parent
FLOOR_APP = """
import asyncio, sys, uvloop
from aimemory.server.listen import Listener, unix_socket
from pathlib import Path
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})
async def main():
    await Listener(app, app, "0").open([unix_socket(Path(sys.argv[1]))])
    print("up", flush=True)
    await asyncio.Event().wait()
uvloop.run(main())
"""


def say(what: str, **figures: object) -> None:
    print(json.dumps({"bench": "daemon", "what": what, **figures}), flush=True)


def load(sock: object, clients: int, count: int) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, str(HERE / "_load.py"), str(sock), str(clients), str(count)], capture_output=True, check=True
    )
    return json.loads(done.stdout)


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def sync_floor(folder: Path) -> None:
    times = []
    with (folder / "floor").open("ab", buffering=0) as file:
        for _ in range(200):
            before = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - before)
    times.sort()
    say("append 4 KiB + fdatasync", p50_ms=round(times[100] * 1e3, 3), p95_ms=round(times[190] * 1e3, 3))


def http_floor(folder: Path) -> None:
    sock = folder / "floor.sock"
    floor = subprocess.Popen([sys.executable, "-c", FLOOR_APP, str(sock)], stdout=subprocess.PIPE)
    floor.stdout.readline()
    for clients, count in ((16, 16000), (1, 3000)):
        say("floor: POST answered by nothing but uvicorn's protocol", **load(sock, clients, count))
    floor.terminate()
    floor.wait()


def first_answers(folder: Path) -> None:
    """From the start of the process to the first event's and the first MCP call's answer, and memory when idle."""
    daemon = Daemon(folder / "start")
    before = time.perf_counter()
    with (folder / "err").open("ab") as errors:
        daemon.process = subprocess.Popen(
            [sys.executable, "-I", "-m", "aimemory", "serve"],
            env=daemon.env, cwd="/", stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
    while True:
        try:
            daemon.event("generic", "note", {"text": "first"})
            break
        except (OSError, ConnectionError):
            time.sleep(0.002)
    say("start to the first event's answer", s=round(time.perf_counter() - before, 3))
    say("memory before the MCP library", mb=rss_mb(daemon.process.pid))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    before = time.perf_counter()
    status, _, _ = daemon.request("POST", "/mcp", call, headers)
    say("first MCP call, library included", s=round(time.perf_counter() - before, 3), status=status)
    say("memory, empty, everything loaded", mb=rss_mb(daemon.process.pid))
    daemon.close()


def events(folder: Path) -> None:
    daemon = Daemon(folder / "events").start()
    load(daemon.data.socket, 16, 1600)
    daemon.wait(lambda: [t for t in daemon.status()["tasks"] if t["last"] == "loaded"], "the MCP library is loaded")
    for clients, count in ((16, 24000), (1, 6000)):
        figures = load(daemon.data.socket, clients, count)
        before = time.perf_counter()
        while daemon.status()["index"]["lag"]:
            time.sleep(0.01)
        say("durable events", **figures, projector_level_after_s=round(time.perf_counter() - before, 2))
    say("memory after these events", mb=rss_mb(daemon.process.pid), events=daemon.status()["counts"]["observations"])
    took = daemon.stop()
    say("clean stop", s=round(took, 2))
    daemon.close()


def hooks(folder: Path) -> None:
    """The launcher against the real daemon, alone and while bodies of 10 MiB are being taken in."""
    daemon = Daemon(folder / "hooks").start()
    payload = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "true"}, "tool_response": "x" * 2000}
    big = json.dumps({"session_id": "big", "tool": "Bash", "output": "line of output\n" * 640_000}).encode()

    def times(count: int) -> list[float]:
        found = []
        for n in range(count):
            before = time.perf_counter()
            daemon.hook("claude-code", "PostToolUse", payload | {"tool_use_id": f"{count}-{n}"})
            found.append((time.perf_counter() - before) * 1e3)
        return sorted(found)

    times(5)
    alone = times(60)
    done = threading.Event()

    def feed() -> None:
        n = 0
        while not done.is_set():
            n += 1
            daemon.event("generic", "post-tool", big, at=time.time_ns(), pid=n)

    feeder = threading.Thread(target=feed)
    feeder.start()
    busy = times(60)
    done.set()
    feeder.join()
    for what, found in (("hook, the daemon idle", alone), ("hook, while 10 MiB bodies are taken in", busy)):
        say(
            what,
            p50_ms=round(found[30], 1),
            p95_ms=round(found[56], 1),
            p95_to_idle_p50=round(found[56] / alone[30], 2),
        )
    daemon.close()


def main() -> None:
    say("machine", cpu=platform.processor() or platform.machine(), cores=os.cpu_count(),
        python=platform.python_version(), load=round(os.getloadavg()[0], 1))  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sync_floor(folder)
        http_floor(folder)
        first_answers(folder)
        events(folder)
        hooks(folder)


if __name__ == "__main__":
    main()
