"""What every transcript reader promises, whatever the format and whatever state the file is in.

Numbers such as TRN-01 are those of faults that were met in this field.
"""

import io
import json
import random
import tracemalloc
from collections.abc import Callable

import pytest
from transcripts import SESSION, START_S, ClaudeLines, CodexLines, Lines

from aimemory.facts.transcript.base import MAX_LINE_BYTES, Reading
from aimemory.facts.transcript.read import FORMATS
from aimemory.model.event import Event, EventKind
from aimemory.model.transcript import TranscriptReport

WRITERS = {"claude": ClaudeLines, "codex": CodexLines}
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"


@pytest.fixture(params=sorted(FORMATS))
def lines(request: pytest.FixtureRequest) -> Lines:
    made = WRITERS[request.param]()
    made.head()
    return made


def read(lines: Lines, data: bytes | None = None) -> tuple[list[Event], TranscriptReport]:
    file = io.BytesIO(lines.data if data is None else data)
    reading = Reading(file, FORMATS[lines.format](SESSION), harness=lines.harness)
    return list(reading), reading.report


def of_kind(events: list[Event], kind: EventKind) -> list[Event]:
    return [event for event in events if event.kind is kind]


def prompts(events: list[Event]) -> list[str | None]:
    return [event.prompt for event in of_kind(events, EventKind.PROMPT)]


def test_every_format_has_its_writer() -> None:
    assert WRITERS.keys() == FORMATS.keys()


def test_a_session_is_events_of_the_type_that_hooks_give(lines: Lines) -> None:
    lines.prompt("Fix the test")
    lines.call("c1", "pytest -q")
    lines.result("c1", "1 failed in 0.1s", 1)
    lines.patch("c2")
    lines.call("c3", "pytest -q")
    lines.result("c3", "1 passed in 0.1s", 0)
    lines.answer("Fixed.")
    events, report = read(lines)
    calls = of_kind(events, EventKind.POST_TOOL)
    assert prompts(events) == ["Fix the test"]
    assert [(e.call_id, e.tool, e.command, e.failed) for e in calls] == [
        ("c1", "Bash", "pytest -q", True), ("c2", calls[1].tool, None, False), ("c3", "Bash", "pytest -q", False),
    ]  # fmt: skip
    assert (calls[0].exit_code, calls[1].files_written) == (1, ("/w/app/a.py",))
    assert "1 failed in 0.1s" in (calls[0].error or "")
    assert calls[2].output and "1 passed" in calls[2].output
    assert [e.call_id for e in of_kind(events, EventKind.PRE_TOOL)] == ["c1", "c2", "c3"]
    (end,) = of_kind(events, EventKind.TURN_END)
    assert (end.message, end.cwd, end.native_session) == ("Fixed.", "/w/app", SESSION)
    assert all(e.harness == lines.harness and e.evidence == "transcript" for e in events)
    assert [e.at_ns for e in events] == sorted(e.at_ns or 0 for e in events)
    assert (report.session, report.cwd, report.skipped, report.unknown) == (SESSION, "/w/app", {}, {})
    assert report.first_ns is not None and report.last_ns is not None
    assert START_S * 10**9 < report.first_ns <= report.last_ns < (START_S + 60) * 10**9
    assert (report.lines, report.bytes) == (len(lines.rows), len(lines.data))
    assert report.model in ("claude-opus-4-8", "gpt-5.5")
    assert report.tokens["output"] == 5 and report.tokens["input"] > 0


def test_what_was_injected_and_what_nobody_typed_are_no_prompts_and_no_answers(lines: Lines) -> None:
    lines.injected("Remembered: never do this")
    lines.not_typed()
    lines.prompt("Real words")
    lines.prompt("<aimemory-0123456789ab>\nold memory\n</aimemory-0123456789ab>\nAnd then?")
    events, _ = read(lines)
    assert prompts(events) == ["Real words", "And then?"]
    told = " ".join(str(event) for event in events)
    assert "Remembered" not in told and "old memory" not in told


def test_answers_of_our_own_commands_are_not_taken_in_again(lines: Lines) -> None:
    lines.call("c1", "aimemory search tests")
    lines.result("c1", "FAILED: a memory", 1)
    (call,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert "a memory" not in str(call)


def test_an_interruption_and_a_compaction_are_events(lines: Lines) -> None:
    lines.prompt("Go on")
    lines.interrupted()
    lines.compacted()
    events, _ = read(lines)
    assert [e.reason for e in of_kind(events, EventKind.TURN_END)] == ["interrupted"]
    assert len(of_kind(events, EventKind.COMPACT)) == 1
    assert prompts(events) == ["Go on"]


def test_the_agents_list_is_in_the_calls_input(lines: Lines) -> None:
    lines.todo("c1", "write it")
    assert "write it" in json.dumps(of_kind(read(lines)[0], EventKind.POST_TOOL)[0].input)


def test_a_call_without_a_result_is_pending_and_results_may_come_in_any_order(lines: Lines) -> None:
    """TRN-15: another record between a call and its output, outputs reversed, a partner missing."""
    lines.call("c1", "make a")
    lines.call("c2", "make b")
    lines.call("c3", "make c")
    lines.answer("Meanwhile.", ends=False)
    lines.result("c2", "", 0)
    lines.result("c1", "", 2)
    lines.result("c9", "nobody's", 0)
    events, report = read(lines)
    done = {e.call_id: e.failed for e in of_kind(events, EventKind.POST_TOOL)}
    assert (done["c1"], done["c2"], "c3" in done) == (True, False, False)
    assert report.last_words == "Meanwhile."


DAMAGE: dict[str, Callable[[Lines], None]] = {
    "a half line": lambda lines: lines.raw(lines.rows[-1][: len(lines.rows[-1]) // 2]),
    "an empty line": lambda lines: lines.raw(b""),
    "null": lambda lines: lines.raw(b"null"),
    "a number": lambda lines: lines.raw(b"42"),
    "a list": lambda lines: lines.raw(b"[]"),
    "NULs": lambda lines: lines.raw(b"\0" * 4096),
    "binary": lambda lines: lines.raw(bytes(range(128, 256))),
    "deep nesting": lambda lines: lines.raw(b"[" * 100_000),
    "an endless number": lambda lines: lines.raw(b'{"type":' + b"9" * 5000 + b"}"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_one_damaged_line_costs_no_other_and_is_counted(lines: Lines, damage: str) -> None:
    """TRN-01"""
    lines.prompt("Before")
    DAMAGE[damage](lines)
    lines.prompt("After")
    events, report = read(lines)
    assert prompts(events) == ["Before", "After"]
    assert sum(report.skipped.values()) == 1


def test_an_unknown_type_of_record_is_named_and_costs_no_other(lines: Lines) -> None:
    lines.prompt("Before")
    lines.add({"type": "hologram", "timestamp": "2026-11-30T09:00:00Z", "payload": {}})
    lines.prompt("After")
    events, report = read(lines)
    assert prompts(events) == ["Before", "After"]
    assert report.unknown == {"hologram": 1}


def test_a_record_behind_a_torn_one_on_the_same_line_is_used(lines: Lines) -> None:
    """TRN-02"""
    lines.prompt("Torn words that are lost")
    lines.prompt("Whole words")
    torn, whole = lines.rows[-2:]
    lines.rows[-2:] = [torn[: len(torn) - 30] + whole]
    lines.prompt("The next")
    events, report = read(lines)
    assert prompts(events) == ["Whole words", "The next"]
    assert report.skipped == {"damaged": 1}


def test_a_torn_last_line_and_one_without_its_end_are_told_apart(lines: Lines) -> None:
    lines.prompt("One")
    lines.prompt("Two")
    events, report = read(lines, lines.data[:-1])
    assert (prompts(events), report.skipped) == (["One", "Two"], {})
    events, report = read(lines, lines.data[:-9])
    assert (prompts(events), report.skipped) == (["One"], {"damaged": 1})


def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(lines: Lines) -> None:
    lines.prompt("One")
    lines.answer("Two")
    plain, _ = read(lines)
    other, report = read(lines, b"\xef\xbb\xbf" + lines.data.replace(b"\n", b"\r\n"))
    assert (other, report.skipped) == (plain, {})


def test_a_huge_line_is_passed_over_in_bounded_memory(lines: Lines) -> None:
    lines.prompt("Before")
    lines.raw(b'{"type":"user","x":"' + b"y" * (3 * MAX_LINE_BYTES) + b'"}')
    lines.prompt("After")
    data = lines.data
    tracemalloc.start()
    events, report = read(lines, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert prompts(events) == ["Before", "After"]
    assert report.skipped == {"longer than 16 MiB": 1}
    assert peak < 3 * MAX_LINE_BYTES


def test_text_is_the_same_raw_or_escaped_and_halves_of_characters_do_no_harm(lines: Lines) -> None:
    """TRN-08"""
    lines.prompt("a 🍸 glass")
    lines.raw(json.dumps(json.loads(lines.rows[-1]), ensure_ascii=True).replace("u2", "u3", 1).encode())
    lines.prompt("half X of one")
    lines.rows[-1] = lines.rows[-1].replace(b"X", b"\\ud83c")
    assert prompts(read(lines)[0])[-1] == "half \ufffd of one"
    assert set(prompts(read(lines)[0])[:-1]) == {"a 🍸 glass"}


def test_a_secret_is_gone_also_where_the_cut_goes_through_it(lines: Lines) -> None:
    for at in (2000, 2030, 8170, 8192, 16384, 16300, 24550, 30000):
        text = ("x " * 40_000)[:at] + TOKEN + ("y " * 40_000)[: 40_000 - at]
        lines.call(f"c{at}", "make a")
        lines.result(f"c{at}", text, 1)
    lines.prompt(f"use {TOKEN}")
    lines.call("last", f"curl -H 'Authorization: Bearer {TOKEN}' https://x.example")
    told = "".join(str(event) for event in read(lines)[0])
    assert "A1b2C3d4" not in told and "O5p6Q7r8" not in told
    assert told.count("[redacted:") >= 2


def test_a_private_part_of_any_length_is_gone(lines: Lines) -> None:
    lines.call("c1", "make a")
    lines.result("c1", "start <private>" + "hidden words " * 9000 + "</private> end of it", 1)
    (call,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert "hidden" not in str(call) and "end of it" in (call.error or "")


@pytest.mark.parametrize("between", ["\n", " "])
def test_a_secret_is_gone_also_where_others_before_it_shrank(lines: Lines, between: str) -> None:
    """Redacting shortens a text, so what stood far from the cut may come to stand in what is kept."""
    chance = random.Random(1)
    tokens = ["eyJhbGciOiJIUzI1NiJ9.eyJ" + "".join(chance.choices("abcXYZ0189", k=870)) for _ in range(60)]
    tokens = [f"{token}.{''.join(chance.choices('abcXYZ0189', k=43))}" for token in tokens]
    lines.call("c1", "make")
    lines.result("c1", between.join(tokens), 1)
    (event,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert "[redacted:jwt]" in (event.error or "")
    pieces = [token[at : at + 30] for token in tokens for at in range(24, 860, 30)]
    assert not [piece for piece in pieces if piece in (event.error or "")]


def test_outputs_and_words_are_capped(lines: Lines) -> None:
    lines.prompt("p" * 100_000)
    lines.call("c1", "c" * 50_000)
    lines.result("c1", "o" * 300_000, 1)
    lines.answer("a" * 100_000)
    for event in read(lines)[0]:
        for text, limit in ((event.prompt, 16384), (event.message, 16384), (event.command, 4096), (event.error, 4096)):
            assert text is None or len(text.encode()) <= limit


def test_what_the_report_names_has_passed_the_boundary_too(lines: Lines) -> None:
    lines.cwd = f"/w/{TOKEN}"
    lines.rows.clear()
    lines.head()
    lines.prompt("One")
    lines.add({"type": TOKEN})
    assert "A1b2C3d4" not in str(read(lines)[1])


def mutated(value: object, rng: random.Random) -> object:
    if rng.random() < 0.04:
        return rng.choice(
            [None, 0, -1, 1.5, "", [], {}, "x" * 9, [1], {"a": 1}, True, 10**30, [{"type": "tool_use", "id": 3}]]
        )
    if isinstance(value, dict):
        return {key: mutated(item, rng) for key, item in value.items() if rng.random() > 0.02}
    return [mutated(item, rng) for item in value] if isinstance(value, list) else value


def test_values_of_unexpected_types_are_no_errors(lines: Lines) -> None:
    rng = random.Random(7)
    lines.prompt("One")
    lines.call("c1", "pytest -q")
    lines.result("c1", "1 failed in 0.1s", 1)
    lines.patch("c2")
    lines.todo("c3", "write it")
    lines.not_typed()
    lines.answer("Done.")
    lines.interrupted()
    lines.compacted()
    rows = [json.loads(row) for row in lines.rows]
    for _ in range(200):
        data = b"\n".join(json.dumps(mutated(rng.choice(rows), rng)).encode() for _ in range(20))
        events, report = read(lines, data)
        assert report.lines == 20
        assert all(isinstance(event.prompt, str | None) and isinstance(event.command, str | None) for event in events)


def test_a_layout_that_nobody_knows_is_not_an_empty_session(lines: Lines) -> None:
    """TRN-09"""
    _, report = read(lines, b'{"kind":"turn","v":7}\n' * 5)
    assert (report.is_understood, report.unknown) == (False, {"None": 5})
    assert read(lines, b"")[1].is_understood


def test_reading_the_same_file_twice_gives_the_same(lines: Lines) -> None:
    lines.prompt("One")
    lines.call("c1", "make a")
    assert read(lines)[0] == read(lines)[0]


# -- what only one of them has ----------------------------------------------------------------------------------------


def test_claude_rows_of_resumed_and_forked_sessions_count_once() -> None:
    """TRN-05"""
    lines = ClaudeLines()
    lines.prompt("Old words")
    lines.rows.append(lines.rows[0])
    lines.prompt("Copied from another session", sessionId="11111111-7f3a-4a52-9a55-3f2c1e7f3a4a")
    lines.prompt("A fork's copy", forkedFrom={"sessionId": "x"})
    lines.prompt("New words")
    events, report = read(lines)
    assert prompts(events) == ["Old words", "New words"]
    assert report.skipped == {"repeated": 1, "copied from another session": 2}


def test_claude_rows_of_a_sidechain_are_a_sub_agents() -> None:
    lines = ClaudeLines()
    lines.prompt("A task for the sub-agent", isSidechain=True, agentId="a1")
    lines.call("c1", "make a", isSidechain=True, agentId="a1")
    lines.answer("Its answer", isSidechain=True, agentId="a1")
    events, report = read(lines)
    assert {event.agent_id for event in events} == {"a1"}
    assert report.last_words is None


def test_claude_tokens_of_a_message_count_once_however_many_rows_it_has() -> None:
    lines = ClaudeLines()
    lines.answer("One", ends=False)
    row = json.loads(lines.rows[-1])
    lines.add({**row, "uuid": "another"})
    assert read(lines)[1].tokens == {"input": 10, "cache write": 1, "cache read": 100, "output": 5}


def test_claude_answers_of_versions_without_a_stop_reason_end_a_turn_when_something_follows() -> None:
    lines = ClaudeLines()
    lines.prompt("One")
    lines.answer("Done one", ends=False)
    row = json.loads(lines.rows[-1])
    row["message"]["stop_reason"] = None
    lines.rows[-1] = json.dumps(row).encode()
    assert of_kind(read(lines)[0], EventKind.TURN_END) == []
    lines.prompt("Two")
    assert [e.message for e in of_kind(read(lines)[0], EventKind.TURN_END)] == ["Done one"]


@pytest.mark.parametrize(
    "said", ["The user doesn't want to proceed with this tool use.", "Permission to use Bash has been denied"]
)
def test_claude_calls_that_were_refused_are_no_failed_commands(said: str) -> None:
    lines = ClaudeLines()
    lines.call("c1", "rm -r build")
    lines._result("c1", said, True)
    (call,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert (call.command, call.failed, call.reason) == (None, None, "not run")


def test_codex_exit_codes_come_from_whichever_record_is_conclusive_and_calls_end_once() -> None:
    lines = CodexLines()
    lines.head()
    lines.call("c1", "make a")
    lines.add(
        lines.row(
            "response_item", type="function_call_output", call_id="c1", output="Process running with session ID 7\n"
        )
    )
    item = {
        "type": "CommandExecution",
        "id": "c1",
        "command": ["bash", "-lc", "make a"],
        "aggregated_output": "no",
        "exit_code": 3,
    }
    lines.add(lines.row("event_msg", type="item_completed", item=item))
    lines.result("c1", "no", 3)
    (call,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert (call.exit_code, call.failed, call.error) == (3, True, "no")


def test_codex_records_of_two_generations_in_one_file_are_all_used() -> None:
    """TRN-13"""
    lines = CodexLines()
    lines.add({"id": SESSION, "timestamp": "2026-11-30T09:00:00Z", "instructions": None, "git": {}})
    lines.add({"record_type": "state"})
    lines.add({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Old words"}]})
    arguments = json.dumps({"command": ["bash", "-lc", "make a"]})
    lines.add({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1"})
    output = json.dumps({"output": "no", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
    lines.add({"type": "function_call_output", "call_id": "c1", "output": output})
    lines.prompt("New words")
    lines.call("c2", "make b")
    lines.add(lines.row("event_msg", type="exec_command_end", call_id="c2", exit_code=0, aggregated_output="fine"))
    events, report = read(lines)
    assert prompts(events) == ["Old words", "New words"]
    ends = of_kind(events, EventKind.POST_TOOL)
    assert [(e.command, e.exit_code, e.error) for e in ends] == [("make a", 2, "no"), ("make b", 0, None)]
    assert report.skipped == report.unknown == {}


def test_codex_patches_that_did_not_apply_changed_no_file() -> None:
    lines = CodexLines()
    lines.head()
    patch = "*** Begin Patch\n*** Update File: b.py\n@@\n-a\n+b\n*** End Patch\n"
    lines.add(lines.row("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id="c1"))
    said = "apply_patch verification failed: Failed to read file to update /w/app/b.py"
    lines.add(lines.row("response_item", type="custom_tool_call_output", call_id="c1", output=said))
    (call,) = of_kind(read(lines)[0], EventKind.POST_TOOL)
    assert (call.failed, call.files_written, call.error) == (True, (), said)


def test_codex_threads_of_sub_agents_are_marked() -> None:
    lines = CodexLines()
    lines.head(thread_source="subagent")
    lines.prompt("A task")
    assert [event.agent_id for event in read(lines)[0]] == [SESSION]
