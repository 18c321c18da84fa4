"""What a session's observations say of it. Source: design, "Sessions without ceremony"."""

import random

import pytest
from session_events import SECOND, START_NS, Events

from aimemory.model.event import EventKind
from aimemory.model.observation import Observation
from aimemory.model.process import Process
from aimemory.model.session import SessionState
from aimemory.sessions import state as limits
from aimemory.sessions.state import apply, fold, start


def folded(*observations: Observation) -> SessionState:
    state = fold(observations)
    assert state is not None
    return state


def test_goal_is_the_first_prompt_and_last_request_the_latest() -> None:
    e = Events()
    state = folded(e.start(), e.prompt("Add a PDF export"), e.prompt("Now the tests"), e.prompt("And the docs "))
    assert (state.goal, state.last_request, state.prompt_count) == ("Add a PDF export", "And the docs", 3)


@pytest.mark.parametrize("noise", ["", "  \n", "/clear", "/compact keep the plan", "/model opus", "/exit\n"])
def test_empty_prompts_and_control_commands_are_no_request(noise: str) -> None:
    e = Events()
    state = folded(e.prompt(noise), e.prompt("Fix the login"), e.prompt(noise))
    assert (state.goal, state.last_request, state.prompt_count) == ("Fix the login", "Fix the login", 1)


@pytest.mark.parametrize("request_", ["/fix-bug 12", "/review", "/help/index.md is broken", "/clear the table\nplease"])
def test_other_prompts_with_a_slash_are_requests(request_: str) -> None:
    assert folded(Events().prompt(request_)).goal == request_


def test_many_prompts_keep_the_first_and_the_latest() -> None:
    e = Events()
    state = folded(*(e.prompt(f"step {n}") for n in range(100)))
    assert state.prompt_count == 100
    assert state.prompts == ["step 0", *(f"step {n}" for n in range(80, 100))]


def test_work_of_interleaved_sub_agents_counts_but_their_words_do_not() -> None:
    """CAP-19: inside a child agent the session id is the parent's."""
    e = Events()
    state = folded(
        e.prompt("Delegate the listing"),
        e.prompt("list files", agent_id="a1"),
        e.ran("ls src", agent_id="a1", model="small"),
        e.prompt("write notes", agent_id="a2"),
        e.ran("make", failed=True),
        e.wrote("/w/app/notes.md", agent_id="a2"),
        e.answer("Both done.", agent_id="a2"),
        e.answer("Delegated.", model="large"),
        e.answer("There are three files.", agent_id="a1"),
    )
    assert (state.goal, state.last_request, state.last_message) == ("Delegate the listing",) * 2 + ("Delegated.",)
    assert (state.prompt_count, state.tool_count, state.agents) == (1, 3, {"a1", "a2"})
    assert (list(state.commands), list(state.files_written)) == (["ls src", "make"], ["notes.md"])
    assert state.model == "large"


def test_paths_are_relative_below_the_sessions_directory_only() -> None:
    e = Events(cwd="/w/app")
    state = folded(
        e.start(),
        e.wrote("/w/app/src/a.py", "src/./a.py", "/w/apple/b.py"),
        e.wrote("../c.py", "d.py", cwd="/w/app/deep"),
    )
    assert state.files_written == {"src/a.py": 2, "/w/apple/b.py": 1, "c.py": 1, "deep/d.py": 1}
    assert state.other_cwds == {"/w/app/deep"}


def test_a_failed_edit_changed_no_file() -> None:
    e = Events()
    state = folded(e.wrote("a.py", failed=True), e.wrote("b.py", failed=None))
    assert list(state.files_written) == ["b.py"]


def test_runs_of_a_command_are_one_entry_with_its_last_outcome() -> None:
    e = Events()
    state = folded(
        e.ran("pytest  -q", failed=True, exit_code=1, error="Exit code 1\n2 failed"),
        e.ran("pytest -q", failed=True, exit_code=2, error="Exit code 2\nno tests"),
        e.ran("pytest\n-q", failed=False, output="3 passed"),
    )
    (run,) = state.commands.values()
    assert (run.command, run.count, run.failures, run.failed, run.exit_code) == ("pytest -q", 3, 2, False, None)
    assert run.error == ""


def test_a_run_without_an_outcome_stays_unknown_and_keeps_the_end_of_its_output() -> None:
    e = Events(harness="codex")
    state = folded(e.ran("make", failed=None, output="x" * 9_000 + "\nmake: *** [all] Error 2\n"))
    run = state.commands["make"]
    assert (run.failed, run.failures) == (None, 0)
    assert run.printed.endswith("make: *** [all] Error 2")
    assert len(run.printed) == limits.EVIDENCE_CHARS


def test_a_call_without_a_result_is_pending_and_counts_once() -> None:
    e = Events()
    state = folded(
        e(EventKind.PRE_TOOL, tool="Bash", command="make", call_id="c1"),
        e(EventKind.PRE_TOOL, tool="Bash", command="sleep 9", call_id="c2"),
        e.ran("make", call_id="c1"),
        e.ran("ls", call_id="c3"),
    )
    assert state.pending_calls == {"c2": "sleep 9"}
    assert (state.tool_count, state.tools) == (3, {"Bash": 3})


def test_a_pending_call_says_what_it_was_for() -> None:
    e = Events()
    state = folded(
        e(EventKind.PRE_TOOL, tool="Write", call_id="c1", input={"content": "x" * 9_000, "file_path": "/w/app/a.md"}),
        e(EventKind.PRE_TOOL, tool="apply_patch", call_id="c2", input={"command": "*** Update File: b.py\n@@"}),
        e(EventKind.PRE_TOOL, tool="wait"),
    )
    assert list(state.pending_calls.values()) == ["Write /w/app/a.md", "apply_patch *** Update File: b.py @@", "wait"]


def test_the_end_of_a_sub_agent_is_not_the_end_of_its_parent() -> None:
    e = Events()

    state = fold([e.prompt("list files"), e.end("done", agent_id="a1")])

    assert state and state.ended_at_ns is None


def test_a_session_runs_in_the_process_that_was_told_last() -> None:
    e = Events()
    first, second = Process(60, 100, "b/1"), Process(61, 500, "b/1")

    state = fold([e.start(process=first), e.prompt("list files"), e.start(process=second), e.ran("ls")])

    assert state and state.process == second


def test_an_end_closes_and_later_ends_change_nothing() -> None:
    e = Events()
    state = folded(e.prompt("Go"), e.end("exit", after_s=10), e.end("other", after_s=70), e.end("other", after_s=80))
    assert (state.ended_at_ns, state.end_reason) == (START_NS + 10 * SECOND, "exit")


@pytest.mark.parametrize("kind", [EventKind.SESSION_START, EventKind.PROMPT, EventKind.PRE_TOOL])
def test_new_work_after_the_end_reopens(kind: EventKind) -> None:
    e = Events()
    state = folded(e.prompt("Go"), e.end("exit", after_s=10), e(kind, after_s=10.001, prompt="On"))
    assert (state.ended_at_ns, state.end_reason) == (None, None)


@pytest.mark.parametrize(("after_s", "reopened"), [(10.0, False), (10.025, False), (19.9, False), (21.0, True)])
def test_only_a_late_report_about_the_last_turn_reopens(after_s: float, reopened: bool) -> None:
    """Recorded (Claude Code 2.1.197, api-400): the failed turn's report follows 25 ms after the session's end."""
    e = Events()
    report = e(EventKind.TURN_END, after_s=after_s, failed=True, error="server_error")
    state = folded(e.prompt("Go"), e.end("other", after_s=10), report)
    assert (state.ended_at_ns is None, state.turn_error) == (reopened, "server_error")


def test_turn_error_and_interruption_are_the_last_turns() -> None:
    e = Events()
    events = [e.prompt("One"), e.answer("API Error: 529", failed=True, error="server_error")]
    assert folded(*events).turn_error == "server_error: API Error: 529"
    events += [e.prompt("Two"), e(EventKind.TURN_END, event="Interrupt", reason="interrupt")]
    state = folded(*events)
    assert (state.turn_error, state.interrupted, state.turn_open, state.last_message) == (None, True, False, None)
    events += [e.prompt("Three")]
    state = folded(*events)
    assert (state.interrupted, state.turn_open) == (False, True)


def test_turns_without_an_end_neither_merge_nor_vanish() -> None:
    """CAP-11: no end of turn after a text-only answer, and an empty prompt."""
    e = Events(harness="gemini-cli")
    state = folded(e.prompt("First"), e.prompt(""), e.prompt("Second"), e.answer("Did it"))
    assert (state.prompts, state.last_message, state.turn_open) == (["First", "Second"], "Did it", False)


def test_a_session_that_reported_no_start_is_a_session() -> None:
    """CAP-12."""
    state = folded(Events().ran("make", failed=True))
    assert (state.native, state.cwd, state.tool_count, state.did_work) == ("n1", "/w/app", 1, False)


def test_order_of_arrival_and_duplicates_change_nothing() -> None:
    e = Events()
    events = [e.start(), e.prompt("Go"), e.ran("make"), e.wrote("a.py"), e.answer("Done"), e.end("exit")]
    shuffled = events + events[1:4]
    random.Random(7).shuffle(shuffled)
    assert fold(shuffled) == fold(events)


def test_apply_refuses_what_is_known_or_late_and_leaves_the_state_as_it_was() -> None:
    e = Events()
    first, late, last = e.start(), e.prompt("Go"), e.answer("Done")
    state = start(first)
    assert apply(state, last)
    assert not apply(state, last)
    assert not apply(state, late)
    assert state == fold([first, last])


def test_folding_nothing_gives_nothing() -> None:
    assert fold([]) is None


@pytest.mark.promise("P11.53")
def test_an_endless_session_stays_bounded() -> None:
    e = Events()
    events = [e.prompt("Go " * 6_000), e.ran("pytest", failed=True, exit_code=1, error="E" * 5_000)]
    for n in range(1_500):
        events += [e.ran(f"echo {n}"), e.wrote(f"f{n}.py"), e(EventKind.PRE_TOOL, tool=f"T{n}", agent_id=f"a{n}")]
        events += [e(EventKind.NOTE, text=f"note {n}")]
    state = folded(*events)
    assert len(state.files_written) == limits.MAX_FILES
    assert state.files_written_more == 1_000
    assert len(state.commands) <= limits.MAX_COMMANDS
    assert state.commands_more + sum(run.count for run in state.commands.values()) == 1_501
    assert (len(state.pending_calls), len(state.tools)) == (limits.MAX_PENDING, limits.MAX_NAMES)
    assert (len(state.agents), len(state.notes)) == (limits.MAX_NAMES, limits.MAX_NOTES)
    assert state.commands["pytest"].failures == 1, "a failure outlives commands that went well"


def test_compactions_and_notes_are_kept() -> None:
    e = Events()
    state = folded(
        e(EventKind.COMPACT, event="PreCompact"),
        e(EventKind.COMPACT, event="PostCompact"),
        e(EventKind.NOTE, text="hm"),
    )
    assert (state.compactions, state.notes) == (1, ["hm"])
