"""What every harness with a data file has to keep, over its fixtures and all that the real programs sent."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from aimemory.harness.answer import answer
from aimemory.harness.decode import decode
from aimemory.harness.registry import load_registry, shipped_dir
from aimemory.model.event import Delivery, Event, EventKind
from aimemory.model.observation import event_data
from aimemory.privacy import sanitize_payload, sanitize_tree

REGISTRY = load_registry()
RECORDED = Path(__file__).parents[1] / "fixtures" / "captures"
ROWS = [(name, event) for name in REGISTRY.names() for event in REGISTRY.specs[name].events]
FIXTURES = [(path.parents[1].name, path) for path in sorted(shipped_dir().glob("*/fixtures/*.json"))]
NOTHING = sanitize_tree(None, leaf_cap_bytes=64)

KINDS = {
    "SessionStart": "session-start", "UserPromptSubmit": "prompt", "PreToolUse": "pre-tool", "PostToolUse": "post-tool",
    "PostToolUseFailure": "post-tool", "Stop": "turn-end", "StopFailure": "turn-end", "Interrupt": "turn-end",
    "PreCompact": "compact", "PostCompact": "compact", "SessionEnd": "session-end", "MessageDisplay": "other",
    "PostToolBatch": "other", "PermissionRequest": "other", "Notification": "other", "SubagentStart": "other",
    "SubagentStop": "other", "InstructionsLoaded": "other", "Setup": "other",
}  # fmt: skip

FIRED = {
    "claude-code": {
        "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
        "PostToolBatch", "MessageDisplay", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact",
        "PostCompact", "PermissionRequest", "Notification", "InstructionsLoaded", "Setup",
    },
    "codex": {
        "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact", "SessionStart", "SessionEnd",
        "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "Interrupt",
    },
    "generic": {
        "session-start", "prompt", "pre-tool", "post-tool", "turn-end", "compact", "session-end", "note",
    },
}  # fmt: skip
"""Event names that each program was seen to send (ours: that the shape defines)."""


def decoded(harness: str, event: str, payload: Any, **delivery: Any) -> Event:
    said = NOTHING.derive(lambda _: Delivery(harness, event, **delivery))
    body = sanitize_payload(json.dumps(payload).encode(), leaf_cap_bytes=65536)
    return decode(body, said, REGISTRY.get(harness)).value


def recorded(harness: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDED / f"{harness}.jsonl").read_text(encoding="utf-8").splitlines()]


def texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*(texts(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(texts(inner) for inner in value))
    return {value} if isinstance(value, str) and value else set()


@pytest.mark.parametrize(("harness", "event"), ROWS)
def test_every_row_has_a_payload(harness: str, event: str) -> None:
    assert any(name == harness and path.name.split(".")[0] == event for name, path in FIXTURES)


@pytest.mark.parametrize(("harness", "path"), FIXTURES, ids=lambda value: getattr(value, "name", value))
def test_a_payload_decodes_to_its_event_session_and_directory(harness: str, path: Path) -> None:
    event = path.name.split(".")[0]
    payload = json.loads(path.read_text(encoding="utf-8"))
    got = decoded(harness, event, payload)
    expected = "other" if "task-notification" in path.name else KINDS.get(event, event)
    assert (got.harness, got.event, got.kind) == (harness, event, expected)
    assert got.native_session == payload.get("session_id")
    assert got.cwd == payload["cwd"] == "/home/dev/project"


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_no_text_of_a_recorded_event_is_lost(harness: str) -> None:
    for record in recorded(harness):
        event = decoded(harness, record["event"], record["payload"])
        assert event.event == record["event"]
        assert event.kind == KINDS[record["event"]]
        ignored = REGISTRY.get(harness).ignore
        kept = "\n".join(texts(event_data(event)))
        wanted = texts({key: value for key, value in record["payload"].items() if key not in ignored})
        assert [text for text in wanted if text not in kept] == []


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
@pytest.mark.promise("P2.20")
def test_different_recorded_events_never_share_an_identity(harness: str) -> None:
    named = defaultdict(list)
    shared = 0
    turns = defaultdict(int)
    for record in recorded(harness):
        event = decoded(harness, record["event"], record["payload"])
        turn = (event.native_session, event.event, event.extra.get("prompt_id") or event.extra.get("turn_id"))
        shared += turns[turn] > 0
        turns[turn] += 1
        if event.identity:
            named[event.native_session, event.event, event.identity].append(record["payload"])
    assert shared, "the recordings hold events of one session, name and turn: without them this test says nothing"
    assert [payloads for payloads in named.values() if len(payloads) > 1] == []


@pytest.mark.parametrize("harness", ["claude-code", "codex"])
def test_tool_events_are_named_by_their_call(harness: str) -> None:
    calls = [r for r in recorded(harness) if r["event"] in ("PreToolUse", "PostToolUse", "PostToolUseFailure")]
    for record in calls:
        event = decoded(harness, record["event"], record["payload"])
        assert event.identity == (record["payload"]["tool_use_id"],)
    assert len(calls) > 10


@pytest.mark.parametrize("harness", REGISTRY.names())
def test_only_events_that_the_program_sends_have_a_row(harness: str) -> None:
    assert set(REGISTRY.get(harness).events) == FIRED[harness]


def test_events_without_work_are_not_registered() -> None:
    rows = REGISTRY.get("claude-code").events.values()
    assert {row.name for row in rows if not row.register} == {
        "PreToolUse", "PostToolBatch", "MessageDisplay", "PermissionRequest", "Notification", "SubagentStart",
        "InstructionsLoaded", "Setup",
    }  # fmt: skip


def test_codex_registers_the_only_trace_of_a_failed_patch() -> None:
    assert REGISTRY.get("codex").events["PreToolUse"].register


@pytest.mark.parametrize("harness", REGISTRY.names())
def test_every_registered_event_has_a_timeout_of_the_vendors_kind(harness: str) -> None:
    for row in REGISTRY.get(harness).events.values():
        if row.register:
            assert row.timeout_s is not None
            assert 2 <= row.timeout_s <= 600
            assert harness != "codex" or row.name not in ("SessionEnd", "Interrupt") or row.timeout_s <= 3


@pytest.mark.parametrize(("harness", "event"), ROWS)
@pytest.mark.promise("P3.20")
def test_an_answer_is_the_vendors_own_shape_or_nothing(harness: str, event: str) -> None:
    spec = REGISTRY.get(harness)
    brief = NOTHING.derive(lambda _: "<aimemory-0123456789ab>\nZuletzt: »PDF« — 導出\n</aimemory-0123456789ab>")
    got = answer(spec, event, brief)
    assert answer(spec, event, None) == b""
    assert answer(spec, event, NOTHING.derive(lambda _: "")) == b""
    if event not in REGISTRY.reply_events()[harness]:
        assert got == b""
    elif harness == "generic":
        assert got.decode("utf-8") == brief.value
    else:
        assert json.loads(got) == {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": brief.value}
        }  # Codex rejects an answer with any other field, Claude one with another event's name
        assert not got.endswith(b"\n")


@pytest.mark.parametrize("text", ["plain words of a memory ", "Übergabe – 引き継ぎ 🌍 "], ids=["ascii", "wide"])
@pytest.mark.parametrize("harness", ["claude-code", "codex"])
@pytest.mark.promise("P3.20")
def test_a_brief_over_the_limit_arrives_cut_and_closed(harness: str, text: str) -> None:
    spec = REGISTRY.get(harness)
    lines = [f"{number} {text}" for number in range(1000)]
    brief = NOTHING.derive(lambda _: "\n".join(["<aimemory-0123456789ab>", *lines, "</aimemory-0123456789ab>"]))
    got = json.loads(answer(spec, "SessionStart", brief))["hookSpecificOutput"]["additionalContext"]
    assert len(got) <= 10_000
    assert harness != "codex" or len(got.encode("utf-8")) <= 10_000
    assert got.startswith(f"<aimemory-0123456789ab>\n{lines[0]}\n{lines[1]}\n")
    assert got.endswith("prints all]\n</aimemory-0123456789ab>")
    assert len(got) > 2_000


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"in": [value]}
    return value


BROKEN = [
    None, [], {}, 42, 4.5, True, "", "only words", [1, "two", {"three": 3}], {"session_id": None, "cwd": None},
    {"session_id": ["a"], "cwd": {"x": 1}, "prompt": {"a": 1}},
    {"tool_name": 5, "tool_input": "text", "tool_response": 7},
    {"prompt": 5, "cwd": 12, "session_id": 12, "tool": [], "exit_code": "x", "at": {}, "id": {}},
    {"hook_event_name": ["Stop"], "event": {"a": 1}}, {"tool_response": [], "error": {}, "tool_input": []},
    {"tool_name": "Bash", "tool_input": {"command": ["ls"]}, "tool_response": {"stdout": 5, "stderr": [None]}},
    {"tool_name": "Write", "tool_input": None, "tool_response": [{"type": "text"}, None]},
    {"at": -1}, {"at": 10**40}, {"at": float("inf")}, {"at": "never"}, {"at": True},
    {"at": "0001-01-01T00:00:00+23:59"},
    {"exit_code": 10**30, "prompt": "x" * 200_000, "session_id": "y" * 5000, "cwd": "/z" * 5000},
    {"": "", "\u0000": "\ud800"}, nested(90),
]  # fmt: skip


@pytest.mark.parametrize("payload", BROKEN, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("harness", [*REGISTRY.names(), "an-unknown-one", ""])
def test_a_broken_payload_is_an_event_all_the_same(harness: str, payload: Any) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "prompt", "post-tool", "never-heard-of"):
        body = NOTHING.derive(lambda _: payload)
        said = NOTHING.derive(lambda _, name=name: Delivery(harness, name, 1, 2, "/home/dev", "s1"))
        event = decode(body, said, REGISTRY.get(harness)).value
        assert event.harness == (harness or "generic")
        assert event.kind in EventKind
        assert event.event
        json.dumps(event_data(event))
