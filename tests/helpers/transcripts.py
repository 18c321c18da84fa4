"""Transcripts made by hand, in the layout that the real programs write (compare tests/fixtures/captures)."""

import json
import time
from pathlib import Path

SESSION = "0b6f2c1e-7f3a-4a52-9a55-3f2c1e7f3a4a"
START_S = 1_796_028_000


def stamp(second: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(START_S + int(second))) + f".{round(second % 1 * 1000):03}Z"


class Lines:
    """Rows as they are written, a second apart; `data` is the file."""

    def __init__(self, cwd: str = "/w/app", session: str = SESSION) -> None:
        self.cwd, self.session = cwd, session
        self.rows: list[bytes] = []
        self.second = 0

    @property
    def data(self) -> bytes:
        return b"".join(row + b"\n" for row in self.rows)

    def raw(self, line: bytes) -> None:
        self.rows.append(line)

    def add(self, row: dict) -> None:
        self.rows.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))

    def tick(self) -> str:
        self.second += 1
        return stamp(self.second)

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


class ClaudeLines(Lines):
    harness, format, home = "claude-code", "claude", ".claude"
    shell, wrote_path = "Bash", "/w/app/a.py"

    def row(self, kind: str, **said: object) -> dict:
        when = self.tick()
        return {
            "parentUuid": None, "isSidechain": False, "type": kind, "uuid": f"u{self.second}", "timestamp": when,
            "cwd": self.cwd, "sessionId": self.session, "version": "2.1.197", **said,
        }  # fmt: skip

    def place(self, home: Path) -> Path:
        return home / ".claude" / "projects" / "-w-app" / f"{self.session}.jsonl"

    def head(self) -> None:
        self.add({"type": "queue-operation", "operation": "enqueue", "sessionId": self.session})

    def prompt(self, text: object, **said: object) -> None:
        self.add(self.row("user", message={"role": "user", "content": text}, **said))

    def answer(self, text: str, *, ends: bool = True, **said: object) -> None:
        usage = {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 1,
        }
        message = {
            "id": f"msg_{self.second}", "role": "assistant", "model": "claude-opus-4-8", "usage": usage,
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn" if ends else "tool_use",
        }  # fmt: skip
        self.add(self.row("assistant", message=message, **said))

    def call(self, call: str, command: str, **said: object) -> None:
        self._use(call, "Bash", {"command": command}, **said)

    def patch(self, call: str) -> None:
        self._use(call, "Write", {"file_path": "/w/app/a.py", "content": "x"})
        self._result(call, "File created", False)

    def _use(self, call: str, tool: str, given: dict, **said: object) -> None:
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self.add(
            self.row("assistant", message={"role": "assistant", "content": [block], "stop_reason": "tool_use"}, **said)
        )

    def todo(self, call: str, text: str) -> None:
        self._use(call, "TodoWrite", {"todos": [{"content": text, "status": "pending"}]})
        self._result(call, "ok", False)

    def result(self, call: str, output: str, code: int) -> None:
        self._result(call, f"Exit code {code}\n{output}" if code else output, code != 0)

    def _result(self, call: str, output: str, failed: bool) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        self.add(self.row("user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": output}))

    def injected(self, text: str) -> None:
        self.add(self.row("attachment", attachment={"type": "hook_additional_context", "content": [text]}))

    def not_typed(self) -> None:
        self.prompt("<command-name>/clear</command-name>")
        self.prompt("a skill's text", isMeta=True)
        self.prompt("This session is being continued from a previous one", isCompactSummary=True)
        self.prompt("<task-notification>done</task-notification>", origin={"kind": "task-notification"})

    def interrupted(self) -> None:
        self.prompt([{"type": "text", "text": "[Request interrupted by user]"}])

    def compacted(self) -> None:
        self.add(self.row("system", subtype="compact_boundary"))


class CodexLines(Lines):
    harness, format, home = "codex", "codex", ".codex"
    shell, wrote_path = "Bash", "/w/app/a.py"

    def row(self, kind: str, **payload: object) -> dict:
        when = self.tick()
        return {"timestamp": when, "ordinal": self.second, "type": kind, "payload": payload}

    def place(self, home: Path) -> Path:
        return home / ".codex" / "sessions" / "2026" / "11" / "30" / f"rollout-2026-11-30T09-00-00-{self.session}.jsonl"

    def head(self, **said: object) -> None:
        self.add(self.row("session_meta", id=self.session, cwd=self.cwd, cli_version="0.171.0", source="cli", **said))
        self.add(self.row("turn_context", cwd=self.cwd, model="gpt-5.5"))

    def prompt(self, text: str, kinds: list[str] | None = None, role: str = "user") -> None:
        said = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}} if kinds else {}
        content = [{"type": "input_text", "text": text}]
        self.add(self.row("response_item", type="message", role=role, content=content, **said))

    def answer(self, text: str, *, ends: bool = True) -> None:
        content = [{"type": "output_text", "text": text}]
        self.add(self.row("response_item", type="message", role="assistant", content=content))
        if ends:
            usage = {"input_tokens": 10 * self.second, "cached_input_tokens": 3, "output_tokens": 5, "total_tokens": 9}
            self.add(self.row("event_msg", type="token_count", info={"total_token_usage": usage}))
            self.add(self.row("event_msg", type="task_complete", last_agent_message=text))

    def call(self, call: str, command: str) -> None:
        arguments = json.dumps({"cmd": command})
        self.add(
            self.row("response_item", type="function_call", name="exec_command", arguments=arguments, call_id=call)
        )

    def patch(self, call: str) -> None:
        patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\n"
        self.add(self.row("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id=call))
        item = {"type": "FileChange", "id": call, "changes": {"/w/app/a.py": {"type": "add"}}, "status": "completed"}
        self.add(self.row("event_msg", type="item_completed", item=item))
        self.add(
            self.row("response_item", type="custom_tool_call_output", call_id=call, output="Exit code: 0\nOutput:\nok")
        )

    def todo(self, call: str, text: str) -> None:
        arguments = json.dumps({"plan": [{"step": text, "status": "pending"}]})
        self.add(self.row("response_item", type="function_call", name="update_plan", arguments=arguments, call_id=call))
        self.add(self.row("response_item", type="function_call_output", call_id=call, output="Plan updated"))

    def result(self, call: str, output: str, code: int) -> None:
        text = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"
        self.add(self.row("response_item", type="function_call_output", call_id=call, output=text))

    def injected(self, text: str) -> None:
        self.prompt(text, role="developer")

    def not_typed(self) -> None:
        self.prompt("<environment_context>\n<cwd>/w/app</cwd>\n</environment_context>")
        self.prompt("# AGENTS.md instructions for /w/app\n\n<INSTRUCTIONS>never</INSTRUCTIONS>")
        self.prompt("words of the harness", kinds=["generic.turn_aborted"])

    def interrupted(self) -> None:
        self.add(self.row("event_msg", type="turn_aborted", reason="interrupted"))

    def compacted(self) -> None:
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "an old prompt"}]}]
        self.add(self.row("compacted", message="a summary", replacement_history=history))
