"""An agent as a test plays it: the events of one session, sent as its harness sends them."""

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

from living import Daemon

SECOND = 1_000_000_000


class Agent:
    """ago_s: how long ago its events happened, for sessions that have been quiet since. clock: gives the instant of each
    event instead, in ns. An agent of the past reads no brief."""

    _calls = itertools.count()

    def __init__(
        self, daemon: Daemon, harness: str, session: str, cwd: Path, ago_s: float = 0.0,
        clock: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        self.daemon, self.harness, self.session, self.cwd = daemon, harness, session, cwd
        self.is_past = ago_s > 0 or clock is not None
        self.now_ns = clock or (lambda: time.time_ns() - int(ago_s * SECOND))

    def send(self, event: str, payload: dict | None = None, *, reply: bool = False) -> str:
        """Send one event; the context that the hook would inject, "" if none."""
        body = {"session_id": self.session, "cwd": str(self.cwd), "hook_event_name": event, **(payload or {})}
        more = {"reply": 1} if reply else {}
        at = self.now_ns()
        answer = self.daemon.event(self.harness, event, body, at=at, pid=next(self._calls) + 1, **more)
        if not reply:
            return ""
        status, _, raw = answer
        assert status == 200, raw
        return json.loads(raw)["hookSpecificOutput"]["additionalContext"] if raw else ""

    def start(self, source: str = "startup") -> str:
        return self.send("SessionStart", {"source": source}, reply=not self.is_past)

    def prompt(self, text: str) -> str:
        more = {"prompt_id": f"p{next(self._calls)}"} if self.harness == "claude-code" else {}
        return self.send("UserPromptSubmit", {"prompt": text, **more}, reply=not self.is_past)

    def edits(self, path: str) -> None:
        self._tool("Write", {"file_path": str(self.cwd / path), "content": "x"}, {"type": "create"})

    def reads(self, path: str) -> None:
        self._tool("Read", {"file_path": str(self.cwd / path)}, {"type": "text"})

    def runs(self, command: str, output: str = "", code: int = 0) -> None:
        if code and self.harness == "claude-code":
            self.send("PostToolUseFailure", {
                "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"t{next(self._calls)}",
                "error": f"Exit code {code}\n{output}",
            })  # fmt: skip
        else:
            self._tool("Bash", {"command": command}, {"stdout": output, "stderr": ""})

    def _tool(self, name: str, given: dict, response: dict) -> None:
        call = {"tool_name": name, "tool_input": given, "tool_use_id": f"t{next(self._calls)}"}
        if self.harness == "codex":
            self.send("PreToolUse", call)
        self.send("PostToolUse", {**call, "tool_response": response})

    def stops(self, said: str = "Done.") -> None:
        self.send("Stop", {"last_assistant_message": said})

    def ends(self, reason: str = "other") -> None:
        self.send("SessionEnd", {"reason": reason})

    def works(self, prompt: str = "Fix the parser") -> "Agent":
        """A prompt, an edit and a failing test: what is worth handing over."""
        self.start()
        self.prompt(prompt)
        self.edits("parser.py")
        self.runs("pytest -q", "FAILED tests/test_parser.py::test_empty - assert 0\n1 failed in 0.1s", code=1)
        return self


def handoffs(daemon: Daemon, cwd: Path, **query: object) -> list[dict]:
    """The handoffs of a directory's project, once the index shows all that is stored."""
    daemon.level()
    return daemon.get("/api/v1/handoffs", cwd=str(cwd), **query)["handoffs"]


def in_state(daemon: Daemon, cwd: Path, state: str) -> list[dict]:
    """Wait until a handoff there is in this state."""
    return daemon.wait(lambda: [h for h in handoffs(daemon, cwd) if h["state"] == state], f"a handoff is {state}")


def handed_over(daemon: Daemon, cwd: Path) -> dict:
    """Wait for the one open handoff there that has its page."""

    def written() -> list[dict]:
        return [h for h in handoffs(daemon, cwd, state="open") if h["page"]]

    (found,) = daemon.wait(written, "a handoff's page is written")
    return found


def closed(daemon: Daemon, count: int = 1) -> None:
    """Wait until so many closings are done."""
    daemon.wait(lambda: len(daemon.lines("done")) >= count, f"{count} sessions are closed")
