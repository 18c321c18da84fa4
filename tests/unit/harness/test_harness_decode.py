"""Payload to event: what each field becomes, by the shipped data files."""

import json
from typing import Any

import pytest

from aimemory.harness.decode import decode, instant_ns
from aimemory.harness.registry import load_registry, shipped_dir
from aimemory.model.event import Delivery, Event, EventKind
from aimemory.privacy import sanitize_tree

REGISTRY = load_registry()
NOTHING = sanitize_tree(None, leaf_cap_bytes=64)
FENCE = "<aimemory-0123456789abcdef>\nLast session: the goal was PDF export\n</aimemory-0123456789abcdef>"


def event_of(harness: str, name: str, payload: Any, *, caps: tuple[int, int] = (16384, 4096), **said: Any) -> Event:
    body = NOTHING.derive(lambda _: payload)
    delivery = NOTHING.derive(lambda _: Delivery(harness, name, **said))
    return decode(body, delivery, REGISTRY.get(harness), prompt_bytes=caps[0], tool_bytes=caps[1]).value


def claude(name: str, **payload: Any) -> Event:
    return event_of("claude-code", name, {"session_id": "s1", "cwd": "/w", **payload})


def codex(name: str, **payload: Any) -> Event:
    return event_of("codex", name, {"session_id": "s1", "cwd": "/w", **payload})


def generic(name: str, **payload: Any) -> Event:
    return event_of("generic", name, payload)


def fixture(harness: str, name: str) -> Event:
    payload = json.loads((shipped_dir() / harness / "fixtures" / f"{name}.json").read_text(encoding="utf-8"))
    return event_of(harness, name.split(".")[0], payload)


# Who, where, when


def test_the_payload_wins_and_the_delivery_fills_what_it_lacks() -> None:
    both = event_of("codex", "Stop", {"cwd": "/payload"}, cwd="/url", session_id="from-url", at_ns=5, pid=7)
    assert (both.cwd, both.native_session, both.at_ns, both.pid) == ("/payload", "from-url", 5, 7)


def test_an_empty_payload_still_means_what_the_delivery_says() -> None:
    event = event_of("claude-code", "SessionEnd", None, cwd="/w", session_id="s1")
    assert (event.kind, event.native_session, event.cwd) == (EventKind.SESSION_END, "s1", "/w")


def test_the_payloads_own_event_name_wins_over_the_deliverys() -> None:
    assert claude("PreToolUse", hook_event_name="Stop").kind is EventKind.TURN_END


def test_an_alias_is_the_harness_itself() -> None:
    assert event_of("claude", "Stop", {}).harness == "claude-code"


def test_an_event_without_a_row_is_kept_as_other_with_its_content() -> None:
    event = claude("CwdChanged", new_cwd="/w/sub", depth=0)
    assert (event.kind, event.event, event.native_session) == (EventKind.OTHER, "CwdChanged", "s1")
    assert event.extra == {"new_cwd": "/w/sub", "depth": 0}


def test_an_unknown_harness_keeps_its_name_and_loses_nothing() -> None:
    event = event_of("new-agent", "prompt", {"prompt": "hello", "session_id": "n1", "cwd": "/w", "mood": "fine"})
    assert (event.harness, event.kind, event.native_session, event.cwd) == ("new-agent", EventKind.OTHER, "n1", "/w")
    assert event.prompt == "hello"
    assert event.extra == {"mood": "fine"}


@pytest.mark.parametrize("name", ["../x", "/etc", "..", "a\x1b[31m", "a\nb", " ", "x" * 200])
def test_an_unknown_name_that_is_no_plain_one_is_kept_as_generic(name: str) -> None:
    assert event_of(name, "prompt", {"prompt": "hello"}).harness == "generic"


@pytest.mark.parametrize("payload", [[1, "two"], 42, "two", True])
def test_a_payload_that_is_no_object_is_kept_as_text(payload: Any) -> None:
    event = event_of("claude-code", "Stop", payload, session_id="s1")
    assert event.kind is EventKind.OTHER
    assert event.text == (payload if isinstance(payload, str) else json.dumps(payload))
    assert event.native_session == "s1"


def test_what_is_too_long_to_be_an_id_or_a_path_is_not_cut_into_another_one() -> None:
    event = event_of("claude-code", "Stop", {"session_id": "s" * 5000, "cwd": "/d" * 5000})
    assert event.native_session is None
    assert event.cwd is None


# Prompts


def test_a_prompt_is_named_by_its_prompt_id_in_claude_code_and_by_nothing_in_codex() -> None:
    assert claude("UserPromptSubmit", prompt="go", prompt_id="p1").identity == ("p1",)
    assert codex("UserPromptSubmit", prompt="go", turn_id="t1").identity == ()
    assert claude("Stop", prompt_id="p1").identity == ()


@pytest.mark.parametrize("prompt", ["", "  \n", None, "<task-notification>\n<task-id>b1</task-id>", FENCE])
def test_a_prompt_that_nobody_typed_is_no_prompt_and_names_none(prompt: str | None) -> None:
    event = claude("UserPromptSubmit", prompt=prompt, prompt_id="p1")
    assert event.kind is EventKind.OTHER
    assert event.identity == ()


@pytest.mark.parametrize(("source", "kind"), [("user", "prompt"), ("sdk", "prompt"), ("loop_wakeup", "other")])
def test_a_prompt_by_the_programs_own_clock_is_no_prompt(source: str, kind: str) -> None:
    assert claude("UserPromptSubmit", prompt="check the build", source=source).kind == kind


def test_a_sub_agents_prompt_says_whose_it_is() -> None:
    event = codex("UserPromptSubmit", prompt="list files", agent_id="a1", agent_type="default")
    assert (event.kind, event.agent_id, event.agent_type) == (EventKind.PROMPT, "a1", "default")


def test_an_agent_without_a_type_is_the_compaction_and_no_sub_agent() -> None:
    event = claude("SubagentStop", agent_id="a1", agent_type="", last_assistant_message="A summary.")
    assert (event.kind, event.agent_id, event.message) == (EventKind.OTHER, None, "A summary.")
    assert event.extra == {"agent_id": "a1"}


# Turns and ends


def test_a_failed_turn_carries_its_error() -> None:
    event = fixture("claude-code", "StopFailure")
    assert (event.kind, event.failed, event.error) == (EventKind.TURN_END, True, "server_error")
    assert event.message is not None and event.message.startswith("API Error: 500")


def test_an_interrupt_ends_the_turn() -> None:
    event = fixture("codex", "Interrupt")
    assert (event.kind, event.reason) == (EventKind.TURN_END, "interrupt")


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("SessionStart", {"source": "clear"}, "clear"),
        ("SessionEnd", {"reason": "logout"}, "logout"),
        ("PreCompact", {"trigger": "auto"}, "auto"),
        ("Notification", {"notification_type": "idle_prompt", "message": "waiting"}, "idle_prompt"),
    ],
)
def test_the_reason_is_found_under_each_vendors_name(name: str, payload: dict[str, str], reason: str) -> None:
    assert claude(name, **payload).reason == reason


def test_a_compaction_keeps_its_summary() -> None:
    assert fixture("claude-code", "PostCompact").message == "All steps are done."


# Tools


def test_a_shell_command_is_told_once() -> None:
    event = fixture("claude-code", "PostToolUse")
    assert event.command == "echo hello > out.txt && python3 -m pytest -q || true"
    assert event.input == {"description": "Run a command"}
    assert event.output is not None and event.output.endswith("1 passed in 0.45s")
    assert (event.failed, event.exit_code) == (False, None)


def test_standard_error_follows_standard_output() -> None:
    response = {"stdout": "one", "stderr": "two", "interrupted": False}
    assert claude("PostToolUse", tool_name="Bash", tool_response=response).output == "one\ntwo"


def test_a_failure_event_gives_the_exit_code() -> None:
    event = fixture("claude-code", "PostToolUseFailure")
    assert (event.failed, event.exit_code, event.command) == (True, 2, "ls /nonexistent-dir")


def test_a_failure_without_an_exit_code_is_still_one() -> None:
    event = claude("PostToolUseFailure", tool_name="Edit", error="String to replace not found in file.")
    assert (event.failed, event.exit_code, event.files_written) == (True, None, ())


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_response": {"stdout": "", "interrupted": True}},
        {"tool_response": {"stdout": "", "backgroundTaskId": "b1"}},
        {"tool_input": {"command": "make watch", "run_in_background": True}, "tool_response": "started"},
    ],
)
def test_a_command_cut_off_or_still_running_has_no_outcome(payload: dict[str, Any]) -> None:
    assert claude("PostToolUse", tool_name="Bash", **payload).failed is None


def test_a_codex_command_has_no_outcome_but_a_patch_has_one() -> None:
    assert fixture("codex", "PostToolUse").failed is None
    printed = codex("PostToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_response="Exit code: 3\n")
    assert (printed.failed, printed.exit_code) == (None, None)
    patched = codex("PostToolUse", tool_name="apply_patch", tool_response="Exit code: 0\nWall time: 0 seconds\n")
    assert (patched.failed, patched.exit_code) == (False, 0)


def test_a_patch_names_every_file_it_touches() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a b.md\n+x\n*** Update File: src/c.py\n*** Move to: src/d.py\n"
        "@@\n+*** Add File: no\n*** Delete File: e\n*** End Patch\n"
    )
    event = codex("PostToolUse", tool_name="apply_patch", tool_input={"command": patch}, tool_response="ok")
    assert event.files_written == ("a b.md", "src/c.py", "src/d.py", "e")
    assert event.command is None
    assert event.input == {"command": patch}


def test_a_patch_that_failed_wrote_nothing() -> None:
    event = fixture("codex", "PostToolUse.made-patch-failed")
    assert (event.failed, event.exit_code, event.files_written) == (True, 1, ())


@pytest.mark.parametrize(
    ("tool", "key"),
    [("Write", "file_path"), ("Edit", "file_path"), ("MultiEdit", "file_path"), ("NotebookEdit", "notebook_path")],
)
def test_a_write_is_known_once_it_is_done(tool: str, key: str) -> None:
    done = claude("PostToolUse", tool_name=tool, tool_input={key: "src/a.py"})
    planned = claude("PreToolUse", tool_name=tool, tool_input={key: "src/a.py"})
    assert done.files_written == ("src/a.py",)
    assert planned.files_written == ()


def test_a_read_file_is_read_and_not_written() -> None:
    event = fixture("claude-code", "PostToolUse.made-read")
    assert (event.files_read, event.files_written) == (("/home/dev/project/notes.md",), ())


def test_an_edits_answer_does_not_repeat_the_file() -> None:
    event = fixture("claude-code", "PostToolUse.made-edit")
    assert event.output is not None and "Greeting" not in event.output
    assert event.input["new_string"] == "good day"


@pytest.mark.parametrize(
    ("tool", "response", "output"),
    [
        ("Agent", {"status": "completed", "content": [{"type": "text", "text": "Three files."}]}, "Three files."),
        ("Grep", {"mode": "content", "content": "a.py:1:x", "filenames": []}, "a.py:1:x"),
        ("Glob", {"filenames": ["a.py"], "truncated": False}, '{"filenames":["a.py"],"truncated":false}'),
        ("Read", {"type": "text", "file": {"content": "# Greeting"}}, "# Greeting"),
        (
            "Read",
            {"type": "image", "file": {"base64": "iVBORw0KGgo=", "type": "png"}},
            '{"type":"image","file":{"type":"png"}}',
        ),
    ],
)
def test_an_answer_reads_as_what_the_tool_said(tool: str, response: dict[str, Any], output: str) -> None:
    assert claude("PostToolUse", tool_name=tool, tool_response=response).output == output


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert claude("PostToolUse", tool_name="mcp__tracker__get", tool_response=parts).output == "one\ntwo"


# Caps


def test_long_texts_are_capped_at_both_ends_of_the_value() -> None:
    long = "head " + "x" * 100_000 + " tail"
    event = event_of(
        "claude-code",
        "PostToolUse",
        {"tool_name": "Bash", "tool_input": {"command": long, "description": long}, "tool_response": long, "odd": long},
        caps=(16384, 4096),
    )
    assert event.output is not None and event.command is not None
    for text in (event.output, event.command):
        assert len(text.encode()) <= 4096
        assert text.startswith("head ") and text.endswith(" tail")
    assert len(json.dumps(event.input)) < 6000
    assert len(json.dumps(event.extra)) < 2000


def test_a_prompt_has_the_larger_cap() -> None:
    event = event_of("claude-code", "UserPromptSubmit", {"prompt": "word " * 5000}, caps=(16384, 4096))
    assert event.prompt is not None
    assert 12_000 < len(event.prompt.encode()) <= 16384


# What we said ourselves


@pytest.mark.promise("P8.20")
def test_our_own_block_is_never_captured_again() -> None:
    said = f"before\n{FENCE}\nafter"
    parts = {
        "prompt": claude("UserPromptSubmit", prompt=said).prompt,
        "message": claude("Stop", last_assistant_message=said).message,
        "output": claude("PostToolUse", tool_name="Bash", tool_response={"stdout": said}).output,
        "input": claude("PostToolUse", tool_name="Task", tool_input={"prompt": said}).input["prompt"],
        "extra": claude("PostToolBatch", tool_calls=[{"tool_response": said}]).extra["tool_calls"][0]["tool_response"],
        "text": event_of("claude-code", "Stop", said).text,
    }
    for where, text in parts.items():
        assert "before" in text and "after" in text, where
        assert "PDF export" not in text, where


@pytest.mark.promise("P8.20")
def test_our_own_block_is_known_when_it_is_cut() -> None:
    without_end = "before\n<aimemory-0123456789abcdef>\nLast session: the goal was PDF"
    without_start = "was PDF export\n</aimemory-0123456789abcdef>\nafter"
    assert claude("UserPromptSubmit", prompt=without_end).prompt == "before"
    assert claude("UserPromptSubmit", prompt=without_start).prompt == "after"


def test_a_question_about_the_tag_is_the_users_own() -> None:
    prompt = "What does <aimemory-0123456789ab> mean, and who closes </aimemory-0123456789ab> again?"
    assert claude("UserPromptSubmit", prompt=prompt).prompt == prompt


@pytest.mark.promise("P8.20")
@pytest.mark.parametrize("tool", ["mcp__aimemory__memory_search", "mcp__aimemory-work__memory_recent", "memory_search"])
def test_an_answer_of_our_own_tool_is_not_kept_again(tool: str) -> None:
    found = [{"type": "text", "text": "1. decisions/export.md"}]
    event = claude("PostToolUse", tool_name=tool, tool_input={"query": "export"}, tool_response=found)
    batch = claude("PostToolBatch", tool_calls=[{"tool_name": tool, "tool_response": found}])
    assert event.output is not None and "decisions" not in event.output
    assert event.input == {"query": "export"}
    assert "decisions" not in json.dumps(batch.extra)


def test_an_answer_of_someone_elses_tool_is_kept() -> None:
    event = claude("PostToolUse", tool_name="mcp__notes__memory_search", tool_response="1. decisions/export.md")
    assert event.output == "1. decisions/export.md"


@pytest.mark.promise("P8.20")
@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("aimemory search export", False),
        ("/opt/bin/aimemory brief 2>&1 | head -5", False),
        ("make test; aimemory search export", True),
        ("aimemory search export && make test", True),
        ("grep -r aimemory search.py", True),
        ("aimemory status", True),
    ],
)
def test_output_of_our_own_reading_commands_is_not_kept_again(command: str, kept: bool) -> None:
    event = claude("PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "text"})
    assert (event.output == "text") is kept


def test_a_payload_nested_without_end_is_cut_and_says_so() -> None:
    value: Any = "bottom"
    for _ in range(400):
        value = [value]
    event = claude("PostToolBatch", tool_calls=value)
    assert "nested too deep" in json.dumps(event.extra)


# Our own shape


def test_a_generic_call_has_an_exit_code_and_a_time() -> None:
    event = fixture("generic", "post-tool.made")
    assert (event.kind, event.command, event.failed, event.exit_code) == (EventKind.POST_TOOL, "make test", True, 1)
    assert (event.identity, event.at_ns) == (("c1",), 1796028685049000000)


def test_a_generic_event_is_named_by_the_delivery_when_the_body_names_none() -> None:
    assert generic("prompt", prompt="hello").kind is EventKind.PROMPT
    assert generic("prompt", event="turn-end", output="done").message == "done"
    assert generic("prompt", event="party").kind is EventKind.OTHER


def test_a_note_is_text() -> None:
    assert fixture("generic", "note.made").text == "The customer wants A4, not Letter."


def test_numbers_are_text_where_text_is_meant_and_other_types_stay_unread() -> None:
    event = generic("prompt", prompt=5, session_id=12, cwd=None, tool={"a": 1}, exit_code=[1])
    assert (event.kind, event.prompt, event.native_session, event.cwd) == (EventKind.PROMPT, "5", "12", None)
    assert event.extra == {"tool": {"a": 1}, "exit_code": [1]}


@pytest.mark.parametrize(
    ("code", "expected"), [(0, False), (1, True), ("2", True), (-9, True), (None, None), ("--1", None)]
)
def test_an_exit_code_decides_the_outcome(code: Any, expected: bool | None) -> None:
    assert generic("post-tool", tool="shell", input="make", exit_code=code).failed is expected


@pytest.mark.parametrize(
    "value",
    [
        1796028685, 1796028685.0, 1796028685000, 1796028685000000, 1796028685000000000, "1796028685",
        "2026-11-30T08:51:25Z", "2026-11-30T09:51:25+01:00", "2026-11-30 08:51:25",
    ],
)  # fmt: skip
def test_every_notation_of_an_instant_is_the_same_instant(value: Any) -> None:
    assert instant_ns(value) == 1796028685 * 10**9


@pytest.mark.parametrize("value", ["", "soon", -5, 0, True, None, [], float("nan"), float("inf"), 10**40, "9" * 5000])
def test_what_is_no_time_is_none(value: Any) -> None:
    assert instant_ns(value) is None
