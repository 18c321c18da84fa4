"""Claude Code's transcripts: `~/.claude/projects/<directory>/<session>.jsonl`, as seen from 2.1.197.

A row is one content block of a message, and rows of resumed and compacted sessions may stand there twice. What a hook
injected stands in `attachment` rows, which are never read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from aimemory.facts.transcript.common import block_texts, number_of, table_of, text_of, time_ns, wants_output
from aimemory.facts.transcript.raw import RawEvent
from aimemory.model.event import EventKind, Json
from aimemory.model.transcript import TranscriptReport

_NOTHING_TYPES = frozenset([
    "attachment", "file-history-snapshot", "queue-operation", "last-prompt", "ai-title", "custom-title", "summary",
    "mode", "permission-mode", "cost-state", "progress", "agent-name", "pr-link", "worktree-state", "tag",
    "task-summary",
])  # fmt: skip
_NOTHING_IN_IT = re.compile(rb'"type": ?"(' + "|".join(sorted(_NOTHING_TYPES)).encode() + rb')"')
_WRITERS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READERS = {"Read": "file_path"}
_SHELL = "Bash"

_NOT_TYPED = re.compile(
    r"\s*<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|"
    r"task-notification|system-reminder|user-memory-input|teammate-message)\b|\s*Caveat: The messages below were"
)
"""How text begins that stands in a user's row and that no user typed."""

_NOT_TYPED_SOURCES = frozenset(["system", "loop_wakeup", "schedule_wakeup", "poll_event"])
_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]\s*\Z")
_NEVER_RUN = re.compile(
    r"The user doesn't want to|User rejected|\[Request interrupted|Permission to use|<tool_use_error>|"
    r"The tool call was (?:rejected|denied)|.{0,80}(?:requires approval|haven't granted)"
)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,10})(?:\n|\Z)")
_MAX_OPEN_CALLS = 2_000
_MAX_SEEN = 1_000_000


@dataclass(slots=True)
class _Call:
    """A tool call whose result has not come yet."""

    tool: str
    command: str | None = None
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    input: Json = None


class ClaudeDecoder:
    """Rows of one session. session: its id, so that rows copied from another one are told apart; None: any."""

    name = "claude"
    start = re.compile(rb'\{"(?:parentUuid|type|isSidechain|uuid|sessionId)":')

    def __init__(self, session: str | None = None) -> None:
        self._session = session
        self._seen: set[str] = set()
        self._calls: dict[str, _Call] = {}
        self._usage: dict[str, dict[str, Json]] = {}
        self._loose: RawEvent | None = None  # an answer of which older versions don't say that it ended the turn
        self._kinds: dict[str, Callable[[dict[str, Json], TranscriptReport], list[RawEvent]]] = {
            "user": self._user, "assistant": self._assistant, "system": self._system,
        }  # fmt: skip

    def passes_over(self, line: bytes) -> str | None:
        if b'"message"' in line or (found := _NOTHING_IN_IT.search(line)) is None:
            return None
        return found[1].decode()

    def take(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent] | None:
        kind = text_of(row.get("type")) or ""
        if kind in _NOTHING_TYPES:
            return []
        read = self._kinds.get(kind)
        if read is None:
            return None
        if reason := self._copied(row):
            report.skip(reason)
            return []
        self._note(row, report)
        return read(row, report)

    def finish(self, report: TranscriptReport) -> list[RawEvent]:
        names = (
            ("input", "input_tokens"), ("cache write", "cache_creation_input_tokens"),
            ("cache read", "cache_read_input_tokens"), ("output", "output_tokens"),
        )  # fmt: skip
        for usage in self._usage.values():
            for name, key in names:
                report.tokens[name] = report.tokens.get(name, 0) + max(number_of(usage.get(key)) or 0, 0)
        self._usage.clear()
        return []

    def _copied(self, row: dict[str, Json]) -> str:
        """Why a row is no new one; "" if it is."""
        owner = row.get("sessionId")
        if row.get("forkedFrom") or (self._session and type(owner) is str and owner != self._session):
            return "copied from another session"
        uuid = row.get("uuid")
        if type(uuid) is str and len(uuid) <= 128:
            if uuid in self._seen:
                return "repeated"
            if len(self._seen) < _MAX_SEEN:
                self._seen.add(uuid)
        return ""

    @staticmethod
    def _note(row: dict[str, Json], report: TranscriptReport) -> None:
        at_ns = time_ns(row.get("timestamp"))
        if at_ns is not None:
            report.first_ns = at_ns if report.first_ns is None else min(report.first_ns, at_ns)
            report.last_ns = at_ns if report.last_ns is None else max(report.last_ns, at_ns)
        report.session = report.session or text_of(row.get("sessionId"))
        report.cwd = report.cwd or text_of(row.get("cwd"))
        report.version = text_of(row.get("version")) or report.version

    @staticmethod
    def _event(row: dict[str, Json], name: str, kind: EventKind) -> RawEvent:
        agent = text_of(row.get("agentId")) or "sub-agent" if row.get("isSidechain") is True else None
        return RawEvent(
            name, kind, time_ns(row.get("timestamp")), session=text_of(row.get("sessionId")),
            cwd=text_of(row.get("cwd")), agent_id=agent,
        )  # fmt: skip

    # -- what a person typed, and what tools answered -----------------------------------------------------------------

    def _user(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent]:
        content = table_of(row.get("message")).get("content")
        blocks = content if type(content) is list else []
        results = [block for block in blocks if type(block) is dict and block.get("type") == "tool_result"]
        found = [event for block in results if (event := self._result(row, block)) is not None]
        if results or row.get("isMeta") is True or row.get("isCompactSummary") is True:
            return found
        text = "\n".join(block_texts(content, "text")).strip()
        if _INTERRUPTED.match(text):
            event = self._event(row, "interrupted", EventKind.TURN_END)
            event.reason = "interrupted"
            self._loose = None
            return [event]
        origin = table_of(row.get("origin")).get("kind")
        if not text or _NOT_TYPED.match(text) or text_of(row.get("promptSource")) in _NOT_TYPED_SOURCES:
            return []
        if type(origin) is str and origin != "human":
            return []
        event = self._event(row, "user", EventKind.PROMPT)
        event.prompt = text
        return [*self._settle(), event]

    def _result(self, row: dict[str, Json], block: dict[str, Json]) -> RawEvent | None:
        call_id = text_of(block.get("tool_use_id"))
        if call_id is None:
            return None
        call = self._calls.pop(call_id, _Call("unnamed"))
        text = "\n".join(block_texts(block.get("content"), "text"))
        event = self._event(row, "tool_result", EventKind.POST_TOOL)
        event.call_id, event.tool, event.input = call_id, call.tool, call.input
        told = row.get("toolUseResult")
        failed = block.get("is_error") is True
        if failed and _NEVER_RUN.match(text):
            event.reason = "not run"
            event.failed = True if text.startswith("<tool_use_error>") else None
            return event
        open_ = table_of(told)
        unsettled = bool(open_.get("interrupted") or open_.get("backgroundTaskId"))
        event.failed = True if failed else None if unsettled else False
        event.command = call.command
        if not failed:
            event.files_written, event.files_read = call.written, call.read
        if failed:
            event.error = text
            code = _EXIT_CODE.match(text)
            event.exit_code = int(code[1]) if code else None
        elif call.command is not None and wants_output(call.command, event.failed):
            event.output = text
        return event

    # -- what the agent said and called -------------------------------------------------------------------------------

    def _assistant(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent]:
        message = table_of(row.get("message"))
        model = text_of(message.get("model"))
        if model is not None and not model.startswith("<") and row.get("isSidechain") is not True:
            report.model = model
        message_id, usage = text_of(message.get("id")), message.get("usage")
        if message_id is not None and type(usage) is dict and len(self._usage) < _MAX_SEEN:
            self._usage[message_id] = usage
        found: list[RawEvent] = []
        text = "\n".join(block_texts(message.get("content"), "text")).strip()
        if text:
            found.append(self._words(row, text, message.get("stop_reason"), report.model))
        blocks = message.get("content")
        for block in blocks if type(blocks) is list else []:
            if type(block) is dict and block.get("type") == "tool_use" and (call_id := text_of(block.get("id"))):
                self._loose = None
                found.append(self._called(row, block, call_id))
        return found

    def _words(self, row: dict[str, Json], text: str, stop_reason: Json, model: str | None) -> RawEvent:
        event = self._event(row, "assistant", EventKind.OTHER)
        event.message, event.model = text, model if event.agent_id is None else None
        if row.get("isApiErrorMessage") is True:
            event.kind, event.error, event.message, event.failed = EventKind.TURN_END, text, None, True
        elif stop_reason in ("end_turn", "stop_sequence", "max_tokens", "refusal"):
            event.kind = EventKind.TURN_END
        elif stop_reason is None and event.agent_id is None:
            self._loose = event
        return event

    def _called(self, row: dict[str, Json], block: dict[str, Json], call_id: str) -> RawEvent:
        tool, given = text_of(block.get("name")) or "unnamed", table_of(block.get("input"))
        call = _Call(tool)
        if tool == _SHELL:
            call.command = text_of(given.get("command"))
        elif tool in _WRITERS:
            call.written = tuple(filter(None, [text_of(given.get(_WRITERS[tool]))]))
        elif tool in _READERS:
            call.read = tuple(filter(None, [text_of(given.get(_READERS[tool]))]))
        else:
            call.input = given
        if len(self._calls) >= _MAX_OPEN_CALLS:
            del self._calls[next(iter(self._calls))]
        self._calls[call_id] = call
        event = self._event(row, "tool_use", EventKind.PRE_TOOL)
        event.tool, event.call_id, event.command, event.input = tool, call_id, call.command, call.input
        if call.written or call.read:
            event.input = {"file_path": (call.written or call.read)[0]}
        return event

    def _system(self, row: dict[str, Json], report: TranscriptReport) -> list[RawEvent]:
        subtype = row.get("subtype")
        if subtype == "compact_boundary":
            return [self._event(row, "compact_boundary", EventKind.COMPACT)]
        return self._settle() if subtype in ("stop_hook_summary", "turn_duration") else []

    def _settle(self) -> list[RawEvent]:
        """The end of a turn that only what came next shows."""
        loose, self._loose = self._loose, None
        if loose is None:
            return []
        loose_end = RawEvent("assistant", EventKind.TURN_END, loose.at_ns, loose.session, loose.cwd)
        loose_end.message = loose.message
        return [loose_end]
