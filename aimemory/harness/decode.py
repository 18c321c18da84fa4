"""Makes a vendor's payload an `Event`, by the harness's data file alone. Pure: no clock, no files, no state.

What is kept and what is dropped is decided later, by the capture rules; whether two events are one, by intake.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from aimemory.harness.registry import FALLBACK
from aimemory.harness.spec import EventRow, HarnessSpec
from aimemory.harness.table import Paths
from aimemory.harness.tools import NO_CALL, Call, answer_text, look_up, plain_text, read_call
from aimemory.model.event import Delivery, Event, EventKind, Json
from aimemory.model.injected import OWN_ANSWER, is_own_command, without_ours
from aimemory.privacy import Sanitized, cap_text, cap_tree

_ID_CHARS = 1024
_PATH_CHARS = 4096
"""Longer ones are no ids and no paths; they are not cut, since a cut one would name something else."""

_EXTRA_BYTES = 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_NS = 2**63 - 1
_WHOLE_NUMBER = re.compile(r"\s*-?[0-9]{1,10}\s*")

_PLAIN = re.compile(r"\w[\w.+ -]{0,79}")
"""What a harness without a data file may be called; it is shown, and named in pages."""


def decode(
    payload: Sanitized[Json],
    delivery: Sanitized[Delivery],
    spec: HarnessSpec,
    *,
    prompt_bytes: int = 16384,
    tool_bytes: int = 4096,
) -> Sanitized[Event]:
    """The event that this payload tells; never raises, whatever JSON it is.

    The payload wins over the delivery where both say something. What has no field goes to `extra`; a name without a
    row, a prompt that nobody typed and a payload that is no object become kind `other`. Our own text is taken out
    first, then fields are capped: prompt, message and text at prompt_bytes, input, command, output and error at
    tool_bytes.
    """
    said = delivery.value
    return payload.derive(lambda body: _event(body, said, spec, prompt_bytes, tool_bytes))


class _Payload:
    """The vendor's object, where to find what in it, and which of its keys have been read."""

    __slots__ = ("body", "fields", "used")

    def __init__(self, body: dict[str, Json], fields: Mapping[str, Paths]) -> None:
        self.body = body
        self.fields = fields
        self.used: set[str] = set()

    def take(self, field: str, accept: Callable[[Json], Json]) -> Json:
        """The first value that `accept` makes something of; its key is then used, and not read for another field."""
        for keys in self.fields.get(field, ()):
            first = keys[0]
            if first not in self.body or first in self.used:
                continue
            if len(keys) > 1:
                taken = accept(look_up(self.body, keys))
            elif (taken := accept(self.body[first])) is not None:
                self.used.add(first)
            if taken is not None:
                return taken
        return None


def _event(body: Json, said: Delivery, spec: HarnessSpec, prompt_bytes: int, tool_bytes: int) -> Event:
    common = spec.other.fields
    body = without_ours(body, _roots(common, "tool"), _roots(common, "output"))
    harness = spec.id if spec.known else said.harness if _PLAIN.fullmatch(said.harness) else FALLBACK
    if body is None:
        body = {}
    if type(body) is not dict:
        return _shapeless(body, said, harness, prompt_bytes)
    seen = _Payload(body, common)
    take = seen.take
    name = take("event", _id) or said.event
    row = spec.row(name)
    seen.fields = row.fields
    agent_type = take("agent_type", _id)
    agent_id = take("agent_id", _id) if agent_type or not spec.agent_needs_type else None
    tool = take("tool", _id)
    message = take("message", plain_text)
    text = take("text", plain_text)
    prompt = take("prompt", plain_text)
    kind = _kind(row, body, prompt)
    known_tool = spec.tools.get(tool) if tool else None
    call = read_call(known_tool, body)
    output = take("output", lambda value: answer_text(value, spec.response, known_tool))
    if output and call.command and is_own_command(call.command):
        output = OWN_ANSWER
    error = take("error", lambda value: answer_text(value, spec.response, None))
    exit_code = take("exit_code", _exit_code)
    if exit_code is None:
        exit_code = _exit_code_in_text(spec, error, output)
    failed = _failed(row, spec, body, exit_code)
    files = call if kind is EventKind.POST_TOOL and not failed else NO_CALL
    raw_input = take("input", _anything)
    return Event(
        harness=harness,
        event=name,
        kind=kind,
        native_session=take("session", _id) or said.session_id or None,
        cwd=take("cwd", _path) or said.cwd or None,
        at_ns=take("at", instant_ns) or said.at_ns,
        pid=said.pid,
        agent_id=agent_id,
        agent_type=agent_type,
        model=take("model", _id),
        transcript_path=take("transcript", _path),
        prompt=prompt and cap_text(prompt, prompt_bytes),
        message=message and cap_text(message, prompt_bytes),
        tool=tool,
        call_id=take("call", _id),
        command=call.command and cap_text(call.command, tool_bytes),
        files_written=files.written,
        files_read=files.read,
        input=_input(raw_input, row.fields.get("input", ()), call, tool_bytes),
        output=output and cap_text(output, tool_bytes),
        error=error and cap_text(error, tool_bytes),
        failed=failed,
        exit_code=exit_code,
        reason=take("reason", _id) or row.reason,
        text=text and cap_text(text, prompt_bytes),
        identity=_identity(row, body) if kind is row.kind else (),
        extra=_extra(seen, spec, tool_bytes if kind is EventKind.OTHER else _EXTRA_BYTES),
    )


def _shapeless(body: Json, said: Delivery, harness: str, prompt_bytes: int) -> Event:
    text = body if type(body) is str else json.dumps(body, ensure_ascii=False)
    return Event(
        harness=harness,
        event=said.event,
        kind=EventKind.OTHER,
        native_session=said.session_id or None,
        cwd=said.cwd or None,
        at_ns=said.at_ns,
        pid=said.pid,
        text=cap_text(text, prompt_bytes) or None,
    )


def _roots(fields: Mapping[str, Paths], field: str) -> list[str]:
    return [keys[0] for keys in fields.get(field, ())]


def _id(value: Json) -> str | None:
    kind = type(value)
    if kind is int or kind is float:
        return str(value)
    return value if kind is str and 0 < len(value) <= _ID_CHARS else None


def _path(value: Json) -> str | None:
    return value if type(value) is str and 0 < len(value) <= _PATH_CHARS else None


def _anything(value: Json) -> Json:
    return None if value in ("", [], {}) else value


def _exit_code(value: Json) -> int | None:
    if type(value) is str and _WHOLE_NUMBER.fullmatch(value):
        value = int(value)
    return int(value) if type(value) is int and abs(value) < 2**32 else None


def instant_ns(value: Json) -> int | None:
    """Nanoseconds since the epoch of RFC 3339 text, or of a number of seconds, milli-, micro- or nanoseconds.

    The unit of a number follows from its size (a date between 1970 and 2100 or so). None where it is no time.
    """
    if type(value) is str:
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return _since_epoch(value.strip())
    if type(value) not in (int, float) or not 0 < value < _LAST_NS:
        return None
    for below, factor in ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3)):
        if value < below:
            # A float of seconds has no nanoseconds to give: microseconds are the last digits that are true.
            micros: int = round(value * (factor // 1000))
            return micros * 1000
    return int(value)


def _since_epoch(text: str) -> int | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    ns = (aware - _EPOCH) // timedelta(microseconds=1) * 1000
    return ns if 0 < ns <= _LAST_NS else None


def _kind(row: EventRow, body: dict[str, Json], prompt: str | None) -> EventKind:
    if row.kind is EventKind.PROMPT and (prompt is None or not prompt.strip()):
        return EventKind.OTHER
    for keys, patterns in row.other_when:
        value = look_up(body, keys)
        if type(value) is str and any(_matches(value.lstrip(), pattern) for pattern in patterns):
            return EventKind.OTHER
    return row.kind


def _matches(value: str, pattern: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _exit_code_in_text(spec: HarnessSpec, error: str | None, output: str | None) -> int | None:
    outcome = spec.outcome
    found = None
    if error and outcome.error_pattern is not None:
        found = outcome.error_pattern.match(error)
    if output and found is None and outcome.output_pattern is not None:
        found = outcome.output_pattern.match(output)
    return None if found is None else _exit_code(found[1])


def _failed(row: EventRow, spec: HarnessSpec, body: dict[str, Json], exit_code: int | None) -> bool | None:
    failed = row.failed if exit_code is None else exit_code != 0
    if failed is False:
        for keys in spec.outcome.open_when:
            if look_up(body, keys):
                return None
    return failed


def _input(value: Json, paths: Paths, call: Call, tool_bytes: int) -> Json:
    """The tool's input without the command, which has its own field."""
    for keys in paths:
        if call.hidden == keys:
            return None
        if call.hidden and call.hidden[:-1] == keys and type(value) is dict:
            value = {key: inner for key, inner in value.items() if key != call.hidden[-1]}
    return cap_tree(value, tool_bytes) if value else None


def _identity(row: EventRow, body: dict[str, Json]) -> tuple[str, ...]:
    values = []
    for keys in row.identity:
        value = _id(look_up(body, keys))
        if value is None:
            return ()
        values.append(value)
    return tuple(values)


def _extra(seen: _Payload, spec: HarnessSpec, limit_bytes: int) -> dict[str, Json]:
    known = seen.used | spec.ignore
    extra = {key: value for key, value in seen.body.items() if key not in known and (value or value == 0)}
    capped = cap_tree(extra, limit_bytes) if extra else extra
    return capped if type(capped) is dict else {"rest": capped}
