"""Codex CLI's rollouts: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-….jsonl`, as seen from 0.171.0.

Records are `{timestamp, ordinal, type, payload}`; older ones are the bare payload, and both may stand in one file. Call
ids equal the `tool_use_id` of the hooks. What hooks injected stands in `developer` messages, which are never read.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from aimemory.facts.transcript.common import block_texts, number_of, table_of, text_of, time_ns, wants_output
from aimemory.facts.transcript.raw import RawEvent
from aimemory.model.event import EventKind, Json
from aimemory.model.transcript import TranscriptReport

_NOTHING_IN_IT = re.compile(
    rb'\{"timestamp": ?"[^"]{0,40}", ?(?:"ordinal": ?\d+, ?)?"type": ?(?:"(world_state|token_usage_record)"'
    rb'|"response_item", ?"payload": ?\{"type": ?"(reasoning|ghost_snapshot|web_search_call)"'
    rb'|"event_msg", ?"payload": ?\{"type": ?"([a-z_]*reasoning[a-z_]*|[a-z_]*_delta|thread_settings_applied)")'
)
_PATCH_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ?(.+?)\s*$", re.MULTILINE)
_SHELLS = frozenset(["exec_command", "shell", "local_shell", "shell_command", "container.exec"])
_SHELL = "Bash"
"""The name that hooks give the shell tool, whatever the model calls it."""

_NOT_TYPED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|skills?_instructions|turn_aborted|"
    r"subagent_notification|INSTRUCTIONS|skill|apps_instructions|collaboration_mode|user_shell_command|hook_prompt)\b|"
    r"# AGENTS\.md instructions)"
)
_STATUS = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,10})\b")
_RUNNING = re.compile(r"Process running with session ID")
_HEAD = re.compile(r"\A(?:[^\n]*\n){0,8}?Output:\n")
_FAILED_PATCH = re.compile(r"apply_patch verification failed|Failed to apply|patch rejected|Invalid patch")
_NEVER_RUN = re.compile(r"exec command rejected|rejected by user|aborted by user|blocked by")
_MAX_OPEN_CALLS = 2_000
_TYPES = frozenset(["session_meta", "turn_context", "response_item", "event_msg", "compacted"])
_BARE_ITEMS = frozenset([
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "web_search_call",
])  # fmt: skip


@dataclass(slots=True)
class _Call:
    tool: str
    command: str | None = None
    written: tuple[str, ...] = ()
    input: Json = None


class CodexDecoder:
    """Records of one thread. session: its id, for a rollout whose first record is damaged."""

    name = "codex"
    start = re.compile(rb'\{"(?:timestamp|type|ordinal)":')

    def __init__(self, session: str | None = None) -> None:
        self._calls: dict[str, _Call] = {}
        self._done: set[str] = set()
        self._agent: str | None = None
        self._cwd: str | None = None
        self._session = session
        self._metas = 0
        self._errored = False
        self._items: dict[str, Callable[[dict[str, Json], int | None], list[RawEvent]]] = {
            "message": self._message,
            "function_call": self._function_call,
            "custom_tool_call": self._custom_call,
            "local_shell_call": self._local_shell_call,
            "function_call_output": self._call_output,
            "custom_tool_call_output": self._call_output,
        }
        self._messages: dict[str, Callable[[dict[str, Json], int | None], list[RawEvent]]] = {
            "task_complete": self._task_complete,
            "turn_aborted": self._turn_aborted,
            "exec_command_end": self._exec_end,
            "patch_apply_end": self._patch_end,
            "item_completed": self._item_completed,
            "error": self._error,
            "stream_error": self._nothing,
        }

    def passes_over(self, line: bytes) -> str | None:
        found = _NOTHING_IN_IT.match(line)
        return next(group for group in found.groups() if group).decode() if found is not None else None

    def take(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent] | None:
        kind, payload, at_ns = text_of(row.get("type")), row.get("payload"), time_ns(row.get("timestamp"))
        if type(payload) is not dict:
            if kind in _BARE_ITEMS:  # the generation before the envelope
                kind, payload = "response_item", row
            elif type(row.get("id")) is str and "instructions" in row:
                kind, payload = "session_meta", row
            elif "record_type" in row:
                return []
            else:
                return None
        if kind in ("world_state", "token_usage_record"):
            return []
        if kind not in _TYPES:
            return None
        if at_ns is not None:
            report.first_ns = at_ns if report.first_ns is None else min(report.first_ns, at_ns)
            report.last_ns = at_ns if report.last_ns is None else max(report.last_ns, at_ns)
        if kind == "session_meta":
            self._meta(payload, report)
            return []
        if kind == "turn_context":
            self._cwd = text_of(payload.get("cwd")) or self._cwd
            report.model = text_of(payload.get("model")) or report.model
            return []
        if kind == "compacted":
            return [self._event("compacted", EventKind.COMPACT, at_ns)]
        inner = text_of(payload.get("type"))
        if inner == "token_count":
            _count_tokens(payload, report)
            return []
        among = self._items if kind == "response_item" else self._messages
        return among.get(inner or "", self._nothing)(payload, at_ns)

    def finish(self, report: TranscriptReport) -> list[RawEvent]:
        return []

    def _meta(self, payload: dict[str, Json], report: TranscriptReport) -> None:
        """The thread; a second one in the file is that of a thread whose history was copied into it."""
        self._metas += 1
        if self._metas > 1:
            return
        report.session = text_of(payload.get("id")) or text_of(payload.get("session_id"))
        self._session = report.session or self._session
        report.cwd = self._cwd = text_of(payload.get("cwd"))
        report.version = text_of(payload.get("cli_version"))
        source = payload.get("source")
        if payload.get("thread_source") == "subagent" or (type(source) is dict and "subagent" in source):
            self._agent = report.session or "sub-agent"

    def _event(self, name: str, kind: EventKind, at_ns: int | None) -> RawEvent:
        return RawEvent(name, kind, at_ns, session=self._session, cwd=self._cwd, agent_id=self._agent)

    def _nothing(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        return []

    # -- words --------------------------------------------------------------------------------------------------------

    def _message(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        role = payload.get("role")
        text = "\n".join(block_texts(payload.get("content"), "input_text", "output_text", "text")).strip()
        if not text:
            return []
        if role == "assistant":
            event = self._event("assistant", EventKind.OTHER, at_ns)
            event.message = text
            return [event]
        if role != "user" or _NOT_TYPED.match(text) or not _is_typed(payload):
            return []
        self._errored = False
        event = self._event("user", EventKind.PROMPT, at_ns)
        event.prompt = text
        return [event]

    def _task_complete(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        message = text_of(payload.get("last_agent_message"))
        if message is None and self._errored:  # the error has ended the turn already
            return []
        event = self._event("task_complete", EventKind.TURN_END, at_ns)
        event.message = message
        return [event]

    def _turn_aborted(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        event = self._event("turn_aborted", EventKind.TURN_END, at_ns)
        event.reason = "interrupted" if payload.get("reason") == "interrupted" else text_of(payload.get("reason"))
        return [event]

    def _error(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        self._errored = True
        event = self._event("error", EventKind.TURN_END, at_ns)
        event.error, event.failed = text_of(payload.get("message")) or "no reason reported", True
        return [event]

    # -- calls --------------------------------------------------------------------------------------------------------

    def _function_call(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        name = text_of(payload.get("name")) or "unnamed"
        given = _json_table(payload.get("arguments"))
        if name in _SHELLS:
            return self._called(payload, _Call(_SHELL, _command_of(given.get("cmd") or given.get("command"))), at_ns)
        patch = text_of(given.get("input")) or text_of(given.get("patch"))
        if name == "apply_patch" and patch is not None:
            return self._called(payload, _Call(name, written=_files_of(patch)), at_ns)
        if name == "write_stdin":  # goes on with a command that is running, which is reported by itself
            return []
        return self._called(payload, _Call(name, input=given), at_ns)

    def _custom_call(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        name, given = text_of(payload.get("name")) or "unnamed", text_of(payload.get("input"))
        if name == "apply_patch":
            return self._called(payload, _Call(name, written=_files_of(given or "")), at_ns)
        return self._called(payload, _Call(name, input={"input": given} if given else None), at_ns)

    def _local_shell_call(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        command = _command_of(table_of(payload.get("action")).get("command"))
        return self._called(payload, _Call(_SHELL, command), at_ns)

    def _called(self, payload: dict[str, Json], call: _Call, at_ns: int | None) -> list[RawEvent]:
        call_id = text_of(payload.get("call_id")) or text_of(payload.get("id"))
        if call_id is None:
            return []
        if len(self._calls) >= _MAX_OPEN_CALLS:
            del self._calls[next(iter(self._calls))]
        self._calls[call_id] = call
        event = self._event(call.tool, EventKind.PRE_TOOL, at_ns)
        event.tool, event.call_id, event.command, event.input = call.tool, call_id, call.command, call.input
        if call.written:
            event.input = {"file_path": ", ".join(call.written)[:1000]}
        return [event]

    def _ended(self, call_id: Json, at_ns: int | None) -> tuple[RawEvent, _Call] | None:
        """The end of a call that is told of in several records: the first conclusive one counts."""
        if type(call_id) is not str or call_id in self._done:
            return None
        call = self._calls.pop(call_id, None)
        if call is None:
            return None
        if len(self._done) < 100_000:
            self._done.add(call_id)
        event = self._event("tool_result", EventKind.POST_TOOL, at_ns)
        event.tool, event.call_id, event.command, event.input = call.tool, call_id, call.command, call.input
        return event, call

    def _call_output(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        text, exit_code = _answer(payload.get("output"))
        if _RUNNING.search(text[:400]):
            return []
        ended = self._ended(payload.get("call_id"), at_ns)
        if ended is None:
            return []
        event, call = ended
        if exit_code is None and (status := _STATUS.search(text[:400])) is not None:
            exit_code = int(status[1])
        text = _HEAD.sub("", text, count=1)
        if exit_code is None and _NEVER_RUN.search(text[:400]):
            event.command, event.reason = None, "not run"
            return [event]
        event.exit_code = exit_code
        event.failed = None if exit_code is None else exit_code != 0
        if call.tool == "apply_patch" and _FAILED_PATCH.search(text[:400]):
            event.failed = True
        if call.written and event.failed is False:
            event.files_written = call.written
        return [_with_output(event, text)]

    def _exec_end(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        ended = self._ended(payload.get("call_id"), at_ns)
        if ended is None:
            return []
        event, _ = ended
        event.exit_code = number_of(payload.get("exit_code"))
        event.failed = None if event.exit_code is None else event.exit_code != 0
        output = text_of(payload.get("aggregated_output")) or "\n".join(
            part for key in ("stdout", "stderr") if (part := text_of(payload.get(key)))
        )
        return [_with_output(event, output)]

    def _patch_end(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        changes = table_of(payload.get("changes"))
        return self._patched(payload.get("call_id"), changes, payload.get("success") is True, payload, at_ns)

    def _item_completed(self, payload: dict[str, Json], at_ns: int | None) -> list[RawEvent]:
        item = table_of(payload.get("item"))
        if item.get("type") == "CommandExecution" and number_of(item.get("exit_code")) is not None:
            return self._exec_end({**item, "call_id": item.get("id")}, at_ns)
        if item.get("type") == "FileChange":
            done = item.get("status") == "completed"
            return self._patched(item.get("id"), table_of(item.get("changes")), done, item, at_ns)
        return []

    def _patched(
        self, call_id: Json, changes: dict[str, Json], done: bool, said: dict[str, Json], at_ns: int | None
    ) -> list[RawEvent]:
        ended = self._ended(call_id, at_ns)
        if ended is None:
            return []
        event, call = ended
        event.failed = not done
        if done:
            event.files_written = tuple(changes) or call.written
        return [_with_output(event, text_of(said.get("stderr")) or text_of(said.get("stdout")) or "")]


def _with_output(event: RawEvent, text: str) -> RawEvent:
    if event.failed is True:
        event.error = text or None
    elif wants_output(event.command, event.failed):
        event.output = text or None
    return event


def _is_typed(payload: dict[str, Json]) -> bool:
    """Newer records say what a user's message is made of; those that don't are taken by their text."""
    kinds = table_of(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    return type(kinds) is not list or any(type(kind) is str and kind.startswith("user.") for kind in kinds)


def _json_table(value: Json) -> dict[str, Json]:
    if type(value) is str:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return table_of(value)


def _command_of(value: Json) -> str | None:
    """`["bash", "-lc", "make test"]` is `make test`; other argument lists are joined."""
    if type(value) is not list:
        return text_of(value)
    words = [word for word in value if type(word) is str]
    if len(words) == 3 and words[1] in ("-lc", "-c") and words[0].endswith("sh"):
        return words[2]
    return " ".join(words) or None


def _answer(value: Json) -> tuple[str, int | None]:
    """A call's output as text, and its exit code where it is said beside it."""
    if type(value) is str and value.startswith('{"output":'):
        inner = _json_table(value)
        code = number_of(table_of(inner.get("metadata")).get("exit_code"))
        if type(inner.get("output")) is str:
            return inner["output"], code
    if type(value) is dict:
        return text_of(value.get("content")) or text_of(value.get("output")) or "", None
    return "\n".join(block_texts(value, "input_text", "output_text", "text")), None


def _files_of(patch: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PATCH_FILE.findall(patch)))[:200]


def _count_tokens(payload: dict[str, Json], report: TranscriptReport) -> None:
    """The thread's totals so far: the last record's are the session's."""
    total = table_of(table_of(payload.get("info")).get("total_token_usage"))
    names = (
        ("input", "input_tokens"), ("cache read", "cached_input_tokens"), ("output", "output_tokens"),
        ("reasoning", "reasoning_output_tokens"),
    )  # fmt: skip
    for name, key in names:
        if (number := number_of(total.get(key))) is not None:
            report.tokens[name] = number
