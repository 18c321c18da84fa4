"""How fast payloads are sanitised: small ones, dense ones, 10 MB ones, and how long a large one holds up the daemon.

Prints one JSON line per figure: name, bytes, mb_per_s (of JSON in), floor_mb_per_s (the same texts lowered, translated
once, in the same run), and the machine. `worker` lines add the longest pause of this process's own thread meanwhile.
Run: python bench/sanitise.py [--rounds 5]
"""

import argparse
import base64
import json
import os
import platform
import random
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from aimemory.privacy import sanitize_payload
from aimemory.privacy.worker import Worker

MODULES = (
    "argparse",
    "ast",
    "calendar",
    "csv",
    "datetime",
    "difflib",
    "dis",
    "fractions",
    "heapq",
    "inspect",
    "pathlib",
    "shutil",
    "statistics",
    "tarfile",
)
IDENTITY = bytes(range(256))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    code = "\n".join(
        (Path(sysconfig.get_paths()["stdlib"]) / f"{name}.py").read_text(encoding="utf-8") for name in MODULES
    )
    small = [tool_event(code[at : at + 2300]) for at in range(0, 300 * 2300, 2300)]
    clean = [body for body in small if not sanitize_payload(body).counts]
    secret = "ghp_" + "a1B2c3" * 6
    leaking = [
        tool_event(code[at : at + 1150] + f"\nexport API_TOKEN={secret}\n" + code[at + 1150 : at + 2300])
        for at in range(0, 300 * 2300, 2300)
    ]
    dense = [tool_event("\n".join(f"SERVICE_{n}_PASSWORD=hunter{n}xyz{at}" for n in range(60))) for at in range(100)]
    measure("small, nothing to redact", clean, rounds)
    measure("small, one secret each", leaking, rounds)
    measure("small, a secret in every line", dense, rounds)
    prose = tool_event(("All work and no play makes a long report, said Ann. " * 45 + "\n") * 4600)
    output = tool_event(code * (10_000_000 // len(code)))
    image = tool_event(base64.b64encode(random.Random(7).randbytes(7_500_000)).decode())
    for name, body in (("10 MB of prose", prose), ("10 MB of code", output), ("10 MB of base64", image)):
        measure(name, [body], min(rounds, 3))
        measure_worker(f"worker, {name}", body)


def tool_event(output: str) -> bytes:
    payload = {
        "session_id": "8c0f4c5e-6d0e-4f59-9a62-1d6c6f6f3a10",
        "transcript_path": "/home/dev/.claude/projects/-home-dev-project/8c0f4c5e.jsonl",
        "cwd": "/home/dev/project",
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "sed -n 1,60p src/app/export.py", "description": "Read the exporter"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
        "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
    }
    return json.dumps(payload).encode()


def measure(name: str, bodies: list[bytes], rounds: int) -> None:
    texts = [body.decode() for body in bodies]
    size = sum(map(len, bodies))
    best = fastest(lambda: [sanitize_payload(body) for body in bodies], rounds)
    floor = fastest(lambda: [(text.lower(), text.encode().translate(IDENTITY)) for text in texts], rounds)
    report(name, size // len(bodies), mb_per_s=round(size / best / 1e6, 1), floor_mb_per_s=round(size / floor / 1e6, 1))


def measure_worker(name: str, body: bytes) -> None:
    worker = Worker()
    try:
        worker.submit(b"{}").result(30)
        pauses = [0.0]
        begun = last = time.perf_counter()
        future = worker.submit(body)
        while not future.done():
            time.sleep(0.001)
            now = time.perf_counter()
            pauses.append(now - last)
            last = now
        future.result()
        took = time.perf_counter() - begun
    finally:
        worker.close()
    report(name, len(body), mb_per_s=round(len(body) / took / 1e6, 1), longest_pause_ms=round(max(pauses) * 1000, 1))


def fastest(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def report(name: str, size: int, **figures: float) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(json.dumps({"bench": "sanitise", "name": name, "bytes": size, **figures, "machine": machine}), flush=True)


if __name__ == "__main__":
    main()
