"""What a reader found in one record, before the privacy boundary; and the way through it, many at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.model.event import Event, EventKind, Json
from aimemory.model.fence import TAG_NAME, remove_injected
from aimemory.model.injected import OWN_ANSWER, is_own_command, is_own_tool
from aimemory.model.transcript import TranscriptReport
from aimemory.privacy import cap_text, cap_tree, sanitize_tree
from aimemory.privacy.tags import any_tag

_ID_CHARS = 1024
_PATH_CHARS = 4096
_HEAD = 2
_TAIL = 4
"""How much more than is kept of a long output is looked at, at either end."""

_LEAF_BYTES = 65536


@dataclass(slots=True)
class RawEvent:
    """An event with raw text. The fields are those of `Event`; text that is too long may be cut at its middle."""

    event: str
    kind: EventKind
    at_ns: int | None
    session: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    model: str | None = None
    prompt: str | None = None
    message: str | None = None
    tool: str | None = None
    call_id: str | None = None
    command: str | None = None
    files_written: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    input: Json = None
    output: str | None = None
    error: str | None = None
    failed: bool | None = None
    exit_code: int | None = None
    reason: str | None = None

    def texts(self, tool_bytes: int) -> list[Json]:
        """Everything in it that came from outside, for the boundary."""
        return [
            _short(self.session), _path(self.cwd), _short(self.agent_id), _short(self.agent_type), _short(self.model),
            _without_ours(self.prompt), _without_ours(self.message), _short(self.tool), _short(self.call_id),
            self.command, [path for path in self.files_written if _path(path)],
            [path for path in self.files_read if _path(path)], self.input, self._output(self.output, tool_bytes),
            self._output(self.error, tool_bytes), _short(self.reason),
        ]  # fmt: skip

    def _output(self, text: str | None, tool_bytes: int) -> str | None:
        if not text:
            return None
        if (self.tool and is_own_tool(self.tool)) or (self.command and is_own_command(self.command)):
            return OWN_ANSWER
        return _without_ours(windowed(text, tool_bytes))


def windowed(text: str, keep_bytes: int) -> str:
    """A long text's beginning and end, as much as must be looked at so that what is kept is clean.

    Cut between lines only: half a secret is none that a pattern knows, and it may end up in what is kept, however much
    more is looked at, since redacting shortens what stands before it. Whole where there is no line to cut at, and where
    something in it may reach over lines: a part marked private, a key in armour, a block of ours.
    """
    head, tail = _HEAD * keep_bytes, _TAIL * keep_bytes
    if len(text) <= head + tail or "PRIVATE KEY" in text or TAG_NAME in text or any_tag(text.lower()):
        return text
    begin = text.rfind("\n", head // 2, head) + 1
    end = text.find("\n", len(text) - tail, len(text) - tail // 2) + 1
    if not begin or not end:
        return text
    missing = len(text[begin:end].encode("utf-8", "surrogatepass"))
    return f"{text[:begin]}[… {missing:,} bytes cut …]\n{text[end:]}"


def sealed(raws: Sequence[RawEvent], harness: str, path: str | None, prompt_bytes: int, tool_bytes: int) -> list[Event]:
    """The events, through the privacy boundary all at once and each text once, then capped."""
    if not raws:
        return []
    places: dict[str, int] = {}
    gathered: list[list[Json]] = []
    rows = []
    for raw in raws:
        row: list[Json] = []
        for value in raw.texts(tool_bytes):
            if value is None or value == []:
                row.append(None)
            elif type(value) is str:
                row.append(places.setdefault(value, len(gathered)))
                if places[value] == len(gathered):
                    gathered.append([value])
            else:
                row.append(len(gathered))
                gathered.append([value])
        rows.append(row)

    def events(clean: Json) -> list[Event]:
        filled = ([None if at is None else clean[at][0] for at in row] for row in rows)
        pairs = zip(raws, filled, strict=True)
        return [_event(raw, texts, harness, path, prompt_bytes, tool_bytes) for raw, texts in pairs]

    return sanitize_tree(gathered, leaf_cap_bytes=_LEAF_BYTES).derive(events).value


def _event(
    raw: RawEvent, texts: list[Json], harness: str, path: str | None, prompt_bytes: int, tool_bytes: int
) -> Event:
    (session, cwd, agent_id, agent_type, model, prompt, message, tool, call_id, command, written, read, given, output,
     error, reason) = texts  # fmt: skip
    return Event(
        harness=harness, event=raw.event, kind=raw.kind, native_session=session, cwd=cwd, at_ns=raw.at_ns,
        agent_id=agent_id, agent_type=agent_type, model=model, transcript_path=path,
        prompt=prompt and cap_text(prompt, prompt_bytes), message=message and cap_text(message, prompt_bytes),
        tool=tool, call_id=call_id, command=command and cap_text(command, tool_bytes),
        files_written=tuple(written or ()), files_read=tuple(read or ()),
        input=cap_tree(given, tool_bytes) if given else None,
        output=output and cap_text(output, tool_bytes), error=error and cap_text(error, tool_bytes),
        failed=raw.failed, exit_code=raw.exit_code, reason=reason, evidence="transcript",
    )  # fmt: skip


def note_words(report: TranscriptReport, events: Sequence[Event]) -> None:
    """Keep the agent's latest words; a sub-agent's are not the session's."""
    for event in events:
        if event.message and not event.agent_id and event.message.strip():
            report.last_words, report.last_words_ns = event.message.strip(), event.at_ns or 0


def _short(text: str | None) -> str | None:
    return text if text and len(text) <= _ID_CHARS else None


def _path(text: str | None) -> str | None:
    return text if text and len(text) <= _PATH_CHARS else None


def _without_ours(text: str | None) -> str | None:
    return remove_injected(text) if text and TAG_NAME in text else text
