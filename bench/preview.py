"""How long a 50 MB transcript takes to be read and folded, and `aimemory preview` with it, start of Python included.

Prints one JSON line per figure: name, bytes, events, seconds, floor_s (the same lines parsed as JSON, nothing else), and
the machine. The transcripts are made up, with the shares of record types that real ones have.
Run: python bench/preview.py [--mb 50] [--rounds 3]
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aimemory.facts.transcript.read import Transcript, read_transcript
from aimemory.model.ids import ProjectId
from aimemory.model.transcript import TranscriptSource
from aimemory.sessions.enrich import state_of

SESSION = "0b6f2c1e-7f3a-4a52-9a55-3f2c1e7f3a4a"
CLAUDE = TranscriptSource("claude-code", "claude", "~/.claude", ("projects",))
CODEX = TranscriptSource("codex", "codex", "~/.codex", ("sessions",))
SOURCE_TEXT = Path(json.__file__).read_text(encoding="utf-8")


def text(rng: random.Random, size: int) -> str:
    start = rng.randrange(max(len(SOURCE_TEXT) - 2000, 1))
    return (SOURCE_TEXT[start:] + SOURCE_TEXT * (size // len(SOURCE_TEXT) + 1))[:size]


def claude_rows(cwd: str) -> Iterator[dict]:
    rng = random.Random(7)
    common = {"isSidechain": False, "cwd": cwd, "sessionId": SESSION, "version": "2.1.197", "gitBranch": "main"}
    number = 0

    def row(kind: str, **said: object) -> dict:
        nonlocal number
        number += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_796_000_000 + number)) + ".000Z"
        return {"parentUuid": f"u{number - 1}", "type": kind, **said, "uuid": f"u{number}", "timestamp": at, **common}

    while True:
        yield row("user", message={"role": "user", "content": "Please go on with the next step. " + text(rng, 200)})
        for _ in range(20):
            call, pick = f"toolu_{number}", rng.random()
            if pick < 0.4:
                name, given, said = "Read", {"file_path": f"{cwd}/src/a{rng.randrange(90)}.py"}, text(rng, 9000)
            elif pick < 0.75:
                command = rng.choice(["uv run pytest -q tests | tail -20", "git status", "ls -la src", "rg -n foo src"])
                name, given, said = "Bash", {"command": command}, text(rng, 4000) + "\n12 passed in 3.21s"
            else:
                old = text(rng, 1500)
                name, given = (
                    "Edit",
                    {"file_path": f"{cwd}/src/a{rng.randrange(90)}.py", "old_string": old, "new_string": old},
                )
                said = "The file has been updated."
            usage = {"input_tokens": 9, "output_tokens": 200, "cache_read_input_tokens": 90000}
            message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-8", "usage": usage}
            yield row(
                "assistant",
                message={**message, "stop_reason": "tool_use", "content": [{"type": "text", "text": "Next."}]},
            )
            use = {"type": "tool_use", "id": call, "name": name, "input": given}
            yield row("assistant", message={**message, "stop_reason": "tool_use", "content": [use]})
            yield row("attachment", attachment={"type": "hook_success", "stdout": text(rng, 600)})
            result = {"tool_use_id": call, "type": "tool_result", "content": said, "is_error": False}
            yield row("user", message={"role": "user", "content": [result]}, toolUseResult={"stdout": said})
        yield row(
            "assistant",
            message={**message, "stop_reason": "end_turn", "content": [{"type": "text", "text": text(rng, 900)}]},
        )


def codex_rows(cwd: str) -> Iterator[dict]:
    rng = random.Random(7)
    number = 0

    def row(kind: str, **payload: object) -> dict:
        nonlocal number
        number += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_796_000_000 + number)) + ".000Z"
        return {"timestamp": at, "ordinal": number, "type": kind, "payload": payload}

    yield row("session_meta", id=SESSION, cwd=cwd, cli_version="0.171.0", source="cli")
    while True:
        said = [{"type": "input_text", "text": "Please go on. " + text(rng, 200)}]
        yield row("response_item", type="message", role="user", content=said)
        for _ in range(20):
            call = f"call_{number}"
            command = rng.choice(["uv run pytest -q tests", "git status", "sed -n 1,200p src/a.py", "rg -n foo src"])
            output = text(rng, rng.choice([500, 4000, 9000])) + "\n12 passed in 3.21s\n"
            yield row("response_item", type="reasoning", encrypted_content="x" * 3000)
            yield row(
                "response_item",
                type="function_call",
                name="exec_command",
                arguments=json.dumps({"cmd": command}),
                call_id=call,
            )
            item = {
                "type": "CommandExecution",
                "id": call,
                "command": ["bash", "-lc", command],
                "aggregated_output": output,
                "exit_code": 0,
            }
            yield row("event_msg", type="item_completed", item=item)
            out = f"Chunk ID: 1\nProcess exited with code 0\nOutput:\n{output}"
            yield row("response_item", type="function_call_output", call_id=call, output=out)
            yield row(
                "event_msg",
                type="token_count",
                info={"total_token_usage": {"input_tokens": number, "output_tokens": 3}},
            )
        yield row("event_msg", type="task_complete", last_agent_message=text(rng, 900))


def write(path: Path, rows: Iterator[dict], size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        written = 0
        for row in rows:
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
            written += file.write(line)
            if written >= size:
                return


def say(name: str, **figures: object) -> None:
    machine = f"{platform.machine()} {os.cpu_count()} cpus, Python {platform.python_version()}"
    print(json.dumps({"name": name, **figures, "machine": machine}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder), f"{folder}/work"
        os.mkdir(cwd)
        files = {
            "claude": (CLAUDE, home / f".claude/projects/x/{SESSION}.jsonl", claude_rows(cwd)),
            "codex": (CODEX, home / f".codex/sessions/2026/11/30/rollout-x-{SESSION}.jsonl", codex_rows(cwd)),
        }
        for name, (source, path, rows) in files.items():
            write(path, rows, args.mb << 20)
            best, floor, events = 9e9, 9e9, 0
            for _ in range(args.rounds):
                began = time.perf_counter()
                found = read_transcript(source, str(path), session=SESSION, home=folder, env={})
                assert isinstance(found, Transcript), found
                state = state_of(found, source.harness, ProjectId("p"))
                best, events = min(best, time.perf_counter() - began), len(found.events)
                assert state is not None and state.tests
                began = time.perf_counter()
                with path.open("rb") as file:
                    for line in file:
                        json.loads(line)
                floor = min(floor, time.perf_counter() - began)
            say(
                f"read and fold, {name}",
                bytes=path.stat().st_size,
                events=events,
                seconds=round(best, 3),
                floor_s=round(floor, 3),
            )
        command = [sys.executable, "-m", "aimemory", "preview", cwd]
        env = {**os.environ, "HOME": folder, "AIMEMORY_DATA_DIR": f"{folder}/none"}
        began = time.perf_counter()
        done = subprocess.run(command, env=env, capture_output=True, cwd=Path(__file__).parents[1], check=False)
        say(
            "aimemory preview, the newest of two read",
            seconds=round(time.perf_counter() - began, 3),
            exit_code=done.returncode,
        )


if __name__ == "__main__":
    main()
