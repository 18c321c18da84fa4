"""Tests, to-dos and commits in a session's state and on its page."""

from session_events import Events

from aimemory.model.ids import PageId
from aimemory.model.observation import Observation
from aimemory.model.scope import Actor
from aimemory.model.session import SessionState
from aimemory.model.testrun import Verdict
from aimemory.sessions.digest import session_page
from aimemory.sessions.sections import failing
from aimemory.sessions.state import fold
from aimemory.sessions.teststate import MAX_TESTS, failing_tests

BAD = "FAILED tests/test_a.py::test_one - assert 0\n1 failed, 2 passed in 0.1s\n"
GOOD = "3 passed in 0.1s\n"


def folded(*observations: Observation) -> SessionState:
    state = fold(observations)
    assert state is not None
    return state


def page(state: SessionState) -> str:
    return session_page(
        state, None, page_id=PageId("p"), actor=Actor("ann", "m"), now_ns=1, project="default/app"
    ).body  # fmt: skip


def test_the_last_run_of_a_target_is_its_state() -> None:
    on = Events()
    state = folded(
        on.ran("pytest tests/a", True, exit_code=1, output=BAD),
        on.ran("uv run pytest -q tests/a", False, exit_code=0, output=GOOD),
    )
    (test,) = state.tests.values()
    assert (test.last.verdict, test.count, failing_tests(state)) == (Verdict.PASSED, 2, [])


def test_a_wider_pass_clears_a_narrower_failure_and_its_command_is_no_longer_failing() -> None:
    on = Events()
    state = folded(
        on.ran("pytest tests/a.py", True, exit_code=1, output=BAD), on.ran("pytest", False, exit_code=0, output=GOOD)
    )
    assert (failing_tests(state), failing(state)) == ([], [])
    assert state.tests["pytest", "tests/a.py"].cleared_by == "all"
    text = page(state)
    assert "`pytest` `tests/a.py`: failed: 1 failed, 2 passed (its own summary); passed since as part of `all`" in text
    assert "## Still open" not in text


def test_neither_another_folder_nor_another_selection_nor_an_unknown_outcome_clears_a_failure() -> None:
    on = Events()
    state = folded(
        on.ran("pytest tests/a.py", True, exit_code=1, output=BAD),
        on.ran("cd other && pytest", False, exit_code=0, output=GOOD),
        on.ran("pytest -k x", False, exit_code=0, output=GOOD),
        on.ran("pytest | tail -1", None, output=""),
        on.ran("pytest tests/a.py || true", None, output=""),
    )
    (test,) = failing_tests(state)
    assert (test.target, test.last.verdict) == ("tests/a.py", Verdict.UNKNOWN)
    assert "last known: failed: 1 failed, 2 passed; failing: `tests/test_a.py::test_one`" in page(state)


def test_a_folder_is_the_same_however_it_was_reached() -> None:
    on = Events(cwd="/w/app")
    state = folded(
        on.ran("cd api && pytest", True, exit_code=1, output=BAD),
        on.ran("pytest", False, exit_code=0, output=GOOD, cwd="/w/app/api"),
        on.ran("cd /w/app/api && pytest -x", False, exit_code=0, output=GOOD),
    )
    assert list(state.tests) == [("pytest", "all in api")]
    assert failing_tests(state) == []


def test_where_no_exit_code_is_reported_the_summary_counts_and_no_code_is_invented() -> None:
    on = Events(harness="codex")
    state = folded(on.ran("pytest -q", None, output=BAD))
    assert (state.commands["pytest -q"].failed, state.commands["pytest -q"].exit_code) == (None, None)
    text = page(state)
    assert "- Tests fail: `pytest` (all): failed: 1 failed, 2 passed (its own summary)" in text
    assert text.index("## Still open") < text.index("## Tests") < text.index("## Files changed")


def test_tests_stay_bounded_and_failures_are_forgotten_last() -> None:
    on = Events()
    runs = [on.ran("pytest first.py", True, exit_code=1, output=BAD)]
    runs += [on.ran(f"pytest t{n}.py", False, exit_code=0, output=GOOD) for n in range(MAX_TESTS + 20)]
    state = folded(*runs)
    assert len(state.tests) == MAX_TESTS
    assert ("pytest", "first.py") in state.tests


def test_the_agents_own_list_is_kept_as_last_written() -> None:
    on = Events()
    todos = [
        {"content": "write it", "status": "completed"},
        {"content": "test  it", "status": "in_progress"},
        7,
        {"content": ""},
    ]
    plan = {"plan": [{"step": "first", "status": "pending"}]}
    state = folded(on.ran("ls"), on(on.ran("x").event.kind, tool="TodoWrite", input={"todos": todos}))
    assert [(todo.text, todo.status) for todo in state.todos] == [("write it", "done"), ("test it", "in progress")]
    assert "- On the agent's list, in progress: `test it`" in page(state)
    state = folded(on.ran("ls"), on(on.ran("x").event.kind, tool="update_plan", input=plan))
    assert [todo.status for todo in state.todos] == ["open"]


def test_commits_are_those_that_git_reported() -> None:
    on = Events()
    state = folded(
        on.ran('git add -A && git commit -m "Fix it"', output="[main 4f2a9c1] Fix it\n 1 file changed\n"),
        on.ran("git log --oneline", output="[main 1111111] no report\n"),
        on.ran("cat notes", output="[main 2222222] nor this\n"),
    )
    assert [(commit.id, commit.subject) for commit in state.commits.values()] == [("4f2a9c1", "Fix it")]
    assert "- Commit: `4f2a9c1` `Fix it` (observed)" in page(state)
