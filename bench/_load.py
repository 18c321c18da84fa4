"""A load generator for one HTTP path over a Unix socket: keep-alive clients, each waiting for its answer."""

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "captures" / "claude-code.jsonl"


def bodies(count: int) -> list[tuple[str, bytes]]:
    """(event, body) of recorded tool events and prompts, every one another event of one of 50 sessions."""
    rows = [json.loads(line) for line in CAPTURES.read_text(encoding="utf-8").splitlines()]
    rows = [r for r in rows if r["event"] in ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop")]
    made = []
    for n in range(count):
        row = rows[n % len(rows)]
        payload = dict(row["payload"], session_id=f"bench-{os.getpid()}-{n % 50}", cwd=f"/bench/project{n % 5}")
        for name in ("tool_use_id", "prompt_id"):
            if name in payload:
                payload[name] = f"{name}-{os.getpid()}-{n}"
        if "tool_response" in payload and isinstance(payload["tool_response"], dict):
            payload["tool_response"] = dict(payload["tool_response"], stdout=f"line {n} of output\n" * 80)
        made.append((row["event"], json.dumps(payload).encode()))
    return made


async def client(sock: str, work: list[tuple[str, bytes]], first: int, times: list[float]) -> None:
    reader, writer = await asyncio.open_unix_connection(sock)
    for n, (event, body) in enumerate(work, first):
        query = f"harness=claude-code&event={event}&at={time.time_ns()}&pid={n}"
        head = f"POST /hook?{query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        before = time.perf_counter()
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - before)
        if not answer.startswith(b"HTTP/1.1 20"):
            raise SystemExit(answer.decode())
    writer.close()


async def run(sock: str, clients: int, count: int) -> dict[str, object]:
    work = bodies(count)
    times: list[float] = []
    share = count // clients
    before = time.perf_counter()
    await asyncio.gather(*(client(sock, work[c * share : (c + 1) * share], c * share, times) for c in range(clients)))
    took = time.perf_counter() - before
    times.sort()
    return {
        "clients": clients, "events": len(times), "per_s": round(len(times) / took),
        "p50_ms": round(times[len(times) // 2] * 1e3, 2), "p99_ms": round(times[int(len(times) * 0.99)] * 1e3, 2),
        "bytes": round(sum(len(body) for _, body in work) / len(work)),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("clients", type=int)
    parser.add_argument("count", type=int)
    given = parser.parse_args()
    json.dump(asyncio.run(run(given.socket, given.clients, given.count)), sys.stdout)
