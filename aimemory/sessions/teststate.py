"""Test runs folded into a session: the last state of each target of each test program."""

from posixpath import join, normpath

from aimemory.facts.testrunners import covers
from aimemory.facts.testruns import test_runs as runs_of
from aimemory.model.event import Event
from aimemory.model.session import SessionState, TestState
from aimemory.model.testrun import TestRun, Verdict

MAX_TESTS = 100
_COMMAND_CHARS = 500


def note_tests(state: SessionState, event: Event, at_ns: int, place: str) -> tuple[tuple[str, str], ...]:
    """Fold in the test runs of one shell call; returns the keys of the tests that failed in it.

    place: the call's folder, relative to the session's, "" for that one.
    """
    output = "\n".join(part for part in (event.output, event.error) if part)
    failed = []
    for run in runs_of(event.command or "", output, event.exit_code, event.failed):
        folder = _folder(place, run.directory, state.cwd)
        key = (run.runner, f"{run.target or 'all'} in {folder}" if folder else run.target)
        _note(state, key, run, folder, event, at_ns)
        if run.verdict is Verdict.FAILED:
            failed.append(key)
    return tuple(failed)


def failing_tests(state: SessionState) -> list[TestState]:
    """Tests whose last known run failed, the latest first."""
    return sorted((test for test in state.tests.values() if test.is_failing), key=lambda test: -test.at_ns)


def _folder(place: str, directory: str, cwd: str | None) -> str:
    path = normpath(join(place, directory)) if place or directory else "."
    if cwd and (path == cwd or path.startswith(cwd.rstrip("/") + "/")):
        path = path[len(cwd.rstrip("/")) :].lstrip("/")
    return "" if path in (".", "") else path


def _note(state: SessionState, key: tuple[str, str], run: TestRun, folder: str, event: Event, at_ns: int) -> None:
    test = state.tests.get(key)
    if test is None:
        if len(state.tests) >= MAX_TESTS:
            _make_room(state)
        test = state.tests[key] = TestState(key[1], folder, "", run, None, at_ns, count=0)
    test.last, test.at_ns, test.evidence = run, at_ns, event.evidence
    test.command = " ".join((event.command or "").split())[:_COMMAND_CHARS]
    test.count += 1
    if run.verdict is not Verdict.UNKNOWN:
        test.known, test.cleared_by = run, None
    if run.verdict is Verdict.PASSED:
        _clear(state, key, run, folder)


def _clear(state: SessionState, key: tuple[str, str], run: TestRun, folder: str) -> None:
    """A pass speaks for every narrower target in the same folder that failed before."""
    for (runner, _), other in state.tests.items():
        if runner != key[0] or folder != other.folder or not other.is_failing or other.known is None:
            continue
        if covers(run.target, other.known.target):
            other.cleared_by = key[1] or "all"


def _make_room(state: SessionState) -> None:
    """Forget the oldest that don't fail, else the oldest."""
    oldest = min(state.tests, key=lambda key: (state.tests[key].is_failing, state.tests[key].at_ns))
    del state.tests[oldest]
