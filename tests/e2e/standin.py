"""A model on loopback that does as it was told: Anthropic's Messages and OpenAI's Responses, streamed. Standard library.

    standin.py FOLDER PORT

FOLDER/plans.json holds pairs of a phrase and steps. A request whose newest prompt has the phrase gets the first step for
which it brings no result yet; any other prompt gets a sentence. A step is a list:

    ["run", COMMAND]  ["read", PATH]  ["write", PATH, TEXT]  ["edit", PATH, OLD, NEW]     a call of the agent's own tool
    ["say", TEXT]     the turn's last answer (every plan ends with "Done.")
    ["hang"]          begins to answer and goes on for ever

The plan stands beside the prompt and not in it, so that a test which finds a file's name in another agent's brief knows
that the name was observed and not quoted. Each request is kept in FOLDER/requests/NNNN.json before it is answered.

As the first process of a test's namespace it takes everything else in there with it when it ends.
"""

import gzip
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BETWEEN_S = 0.2
_ADDED = re.compile(r"<(aimemory-\w+|system-reminder|environment_context|user_instructions)\b.*?</\1>", re.DOTALL)
"""What the agent and the memory put around a prompt: no words of the user."""


# -- what is asked -------------------------------------------------------------------------------------------------------


def asked(items, results_in):
    """(the newest prompt, how many results of tools came since) of a conversation."""
    total = 0
    for item in reversed(items):
        results = results_in(item)
        total += results
        if item.get("role") == "user" and not results and (prompt := own_words(item["content"])):
            return prompt, total
    return "", total


def own_words(content):
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(filter(None, (_ADDED.sub("", part).strip() for part in parts)))


def asked_messages(body):
    def results_in(message):
        content = message["content"]
        return 0 if isinstance(content, str) else sum(part["type"] == "tool_result" for part in content)

    return asked(body["messages"], results_in)


def asked_responses(body):
    return asked(body["input"], lambda item: str(item.get("type")).endswith("call_output"))


def step_for(plans, prompt, results, has_tools):
    """The step that comes next for a prompt."""
    for phrase, steps in plans:
        if phrase in prompt and has_tools:
            return [*steps, ["say", "Done."]][min(results, len(steps))]
    return ["say", "There is nothing to do for this."]


# -- what is answered ----------------------------------------------------------------------------------------------------


def claude_call(step, cwd):
    """(tool, input) of Claude Code for a step."""
    match step:
        case ["run", command]:
            return "Bash", {"command": command, "description": "Run a command"}
        case ["read", path]:
            return "Read", {"file_path": f"{cwd}/{path}"}
        case ["write", path, text]:
            return "Write", {"file_path": f"{cwd}/{path}", "content": text}
        case ["edit", path, old, new]:
            return "Edit", {"file_path": f"{cwd}/{path}", "old_string": old, "new_string": new}
    return None


def codex_call(step):
    """(tool, arguments or free text) of Codex for a step."""
    match step:
        case ["run", command]:
            return "exec_command", json.dumps({"cmd": command, "yield_time_ms": 30_000})
        case ["read", path]:
            return "exec_command", json.dumps({"cmd": f"cat {path}"})
        case ["write", path, text]:
            lines = "".join(f"+{line}\n" for line in text.splitlines())
            return "apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        case ["edit", path, old, new]:
            return "apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
    return None


def messages_events(step, call, number):
    """Anthropic's stream."""
    usage = {"input_tokens": 100, "output_tokens": 10}
    text = step[1] if step[0] == "say" else "One step more."
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "standin", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    while step == ["hang"]:
        yield {"type": "ping"}
        time.sleep(BETWEEN_S)
    yield {"type": "content_block_stop", "index": 0}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        yield {"type": "content_block_start", "index": 1, "content_block": block}
        yield {"type": "content_block_delta", "index": 1, "delta": delta}
        yield {"type": "content_block_stop", "index": 1}
    reason = "tool_use" if call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def responses_events(step, call, number):
    """OpenAI's stream."""
    text = step[1] if step[0] == "say" else "One step more."
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    items = [said]
    if call and call[0] == "apply_patch":
        items.append({"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}", "name": call[0],
                      "input": call[1], "status": "completed"})  # fmt: skip
    elif call:
        items.append({"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call[0],
                      "arguments": call[1], "status": "completed"})  # fmt: skip
    response = {"id": f"resp_{number}", "object": "response", "created_at": int(time.time()), "model": "standin",
                "status": "in_progress", "output": [], "usage": None}  # fmt: skip
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        if item is said:
            yield {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": said["id"],
                   "delta": text}  # fmt: skip
        while step == ["hang"]:
            yield {"type": "response.in_progress", "response": response}
            time.sleep(BETWEEN_S)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}  # fmt: skip
    finished = {**response, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": finished}


# -- the server ----------------------------------------------------------------------------------------------------------


class Folder:
    """What the tests and the stand-in share."""

    def __init__(self, path):
        self.path = path
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def plans(self):
        try:
            return json.loads((self.path / "plans.json").read_text())
        except FileNotFoundError:
            return []

    def keep(self, record):
        """Keep a request; its number."""
        with self._lock:
            number = next(self._numbers)
        new = self.path / f"new-{number}"
        new.write_text(json.dumps({"n": number, "at": time.time(), **record}))
        new.rename(self.path / "requests" / f"{number:04d}.json")
        return number


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Folder

    def log_message(self, *_):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw)
        path = self.path.partition("?")[0]
        try:
            if path.endswith("/messages"):
                self._answer(body, "messages", asked_messages, messages_events)
            elif path.endswith("/responses"):
                self._answer(body, "responses", asked_responses, responses_events)
            else:
                self._refuse()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # an agent that was killed

    def do_GET(self):
        self._refuse()

    do_HEAD = do_GET

    def _answer(self, body, api, asked_in, events):
        prompt, results = asked_in(body)
        step = step_for(self.folder.plans(), prompt, results, bool(body.get("tools")))
        number = self.folder.keep({"api": api, "prompt": prompt, "results": results, "step": step, "body": body})
        cwd = os.environ["STANDIN_CWD"]
        call = claude_call(step, cwd) if api == "messages" else codex_call(step)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events(step, call, number):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def _refuse(self):
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as the namespace's first process: orphans are reaped
    Handler.folder = Folder(Path(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    server.daemon_threads = True
    (Handler.folder.path / "ready").touch()
    server.serve_forever()


if __name__ == "__main__":
    main()
