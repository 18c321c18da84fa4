"""Single lines of a brief: quoting by whose words they are, and what a session or a checkout says in one line.

The user's own prompts are quoted. Words of agents, tools, files and git are left out, with a pointer to where they
stand, when they read like an instruction; commands are marked as code.
"""

import re
from collections.abc import Sequence

from aimemory.brief.fence import defang, gives_orders
from aimemory.model.gitfacts import GitSummary
from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import CommandRun, SessionState
from aimemory.sessions.quoting import clip, code, one_line
from aimemory.sessions.sections import failing, last_turn_broke, only_looked, outcome
from aimemory.sessions.testtext import standing, test_words

_RULER = re.compile(r"[-=_*~#.+ ]{3,}")
"""A line that only separates others."""

WITHHELD = "[withheld: reads like an instruction; see the source]"
LINE_CHARS = 120
PATH_CHARS = 80
REQUEST_CHARS = 300

_GOAL_CHARS = 400
_MESSAGE_CHARS = 500
_FIRST_FAILURES = 3
_MORE_FAILURES = 7
_UNKNOWN_RUNS = 5
_FIRST_TESTS = 3
_BETWEEN = 3
_TODOS = 5
_TELLING_CHARS = 12
_EVIDENCE_CHARS = 140
_PATHS_CHARS = 260

_TROUBLE = re.compile(
    r"\b(?:errors?|exception|traceback|panic|fatal|failed|failure|denied|cannot|can't|not found|no such|no module)\b",
    re.IGNORECASE,
)
"""Words by which a run of unknown outcome comes before others. They prove nothing, so the line claims nothing."""


def own_words(text: str | None, limit_chars: int) -> str:
    return f"“{defang(clip(one_line(text or ''), limit_chars))}”"


def foreign_words(text: str | None, limit_chars: int) -> str:
    # The whole text decides: what is cut away could be what gives the order.
    return WITHHELD if text and gives_orders(text) else own_words(text, limit_chars)


def code_words(text: str, limit_chars: int) -> str:
    return WITHHELD if gives_orders(text) else defang(code(clip(one_line(text), limit_chars)))


def elsewhere(cwd: str | None, here: str | None) -> str:
    """Where else a session ran; below the reader's directory by the rest of the path, else by the end of a long one."""
    if not cwd or not here or cwd == here:
        return ""
    if cwd.startswith(here.rstrip("/") + "/"):
        cwd = cwd[len(here.rstrip("/")) + 1 :]
    return f", in {code(cwd if len(cwd) <= PATH_CHARS else '…' + cwd[1 - PATH_CHARS :])}"


def when(state: SessionState) -> str:
    if state.ended_at_ns is not None:
        return f"ended {rfc3339_local(state.ended_at_ns)}"
    return f"no end reported, last event {rfc3339_local(state.last_at_ns)}"


def first_lines(state: SessionState) -> list[str]:
    broken, unknown = failing(state), _unknown(state)
    return [
        f"Goal: {own_words(state.goal, _GOAL_CHARS)}" if state.goal else "Goal: no prompt was recorded",
        _asked_between(state),
        f"Last request: {own_words(state.last_request, REQUEST_CHARS)}" if _asked_more(state) else "",
        _unfinished(state),
        _todos(state),
        *(f"Failed: {run_line(run, state)}" for run in broken[:_FIRST_FAILURES]),
        *(f"Run: {run_line(run, state)}" for run in unknown[: _first_unknown(state)]),
        tests_line(state, broken),
        changed_line(state),
    ]


def more_lines(state: SessionState) -> list[str]:
    broken, unknown = failing(state), _unknown(state)
    words = "Its last words, in an earlier turn" if last_turn_broke(state) else "Its last words"
    return [
        f"{words}, not checked: {foreign_words(state.last_message, _MESSAGE_CHARS)}" if state.last_message else "",
        *(f"Failed: {run_line(run, state)}" for run in broken[_FIRST_FAILURES : _FIRST_FAILURES + _MORE_FAILURES]),
        f"{len(broken) - _FIRST_FAILURES - _MORE_FAILURES} more commands failed"
        if len(broken) > _FIRST_FAILURES + _MORE_FAILURES
        else "",
        *(f"Run: {run_line(run, state)}" for run in unknown[_first_unknown(state) : _UNKNOWN_RUNS]),
    ]


def _first_unknown(state: SessionState) -> int:
    # Where failures aren't reported, the output is all there is to tell them by.
    return min(sum(_troubled(run) for run in _unknown(state)), max(_FIRST_FAILURES - len(failing(state)), 0))


def _asked_more(state: SessionState) -> bool:
    return state.prompt_count > 1 and state.last_request is not None


def _asked_between(state: SessionState) -> str:
    """The latest requests between the first and the last that say something: limits and wishes stand there."""
    between = [prompt for prompt in state.prompts[1:-1] if len(one_line(prompt)) >= _TELLING_CHARS]
    if not between:
        return ""
    shown = "; ".join(own_words(prompt, LINE_CHARS) for prompt in between[-_BETWEEN:])
    unlisted = state.prompt_count - 2 - min(len(between), _BETWEEN)
    more = f"; {unlisted} more" if unlisted > 0 else ""
    return f"Asked in between: {shown}{more}"


def _todos(state: SessionState) -> str:
    """What is open on the agent's own list."""
    left = [todo for todo in state.todos if todo.status != "done"]
    shown = ", ".join(
        f"{foreign_words(todo.text, LINE_CHARS)}{'' if todo.status == 'open' else f' ({todo.status})'}"
        for todo in left[:_TODOS]
    )
    more = f" and {len(left) - _TODOS} more" if len(left) > _TODOS else ""
    return f"Open on its list: {shown}{more}" if left else ""


def _unfinished(state: SessionState) -> str:
    points = []
    if state.turn_error is not None:
        points.append(f"the last turn ended with an error: {code_words(state.turn_error, LINE_CHARS)}")
    if state.interrupted:
        points.append("the user interrupted the last turn")
    if state.turn_open:
        points.append("the end of the last turn was never reported")
    calls = list(state.pending_calls.values())
    points += [f"no result reported of {code_words(call, LINE_CHARS)}" for call in calls[-2:]]
    if len(calls) > 2:
        points.append(f"nor of {len(calls) - 2} other calls")
    return f"Unfinished: {'; '.join(points)}" if points else ""


def run_line(run: CommandRun, state: SessionState) -> str:
    times = f", {run.failures} of {run.count} runs failed" if run.count > 1 and run.failures else ""
    evidence = run.error or run.printed
    shown = _end_of_output(evidence)  # `gives_orders` still sees all that is kept of it
    quoted = WITHHELD if gives_orders(evidence) else code_words(shown, _EVIDENCE_CHARS)
    said = f", {'said' if run.error else 'printed'} {quoted}" if shown else ""
    return f"{code_words(run.command, LINE_CHARS)}: {outcome(run)}{times}{_failing_names(run, state, shown)}{said}"


def _end_of_output(text: str) -> str:
    """The end of an output, where its result stands: whole lines, rulers left out, of one long line its end."""
    lines = [line for line in map(one_line, text.split("\n")) if line and not _RULER.fullmatch(line)]
    kept: list[str] = []
    size = 0
    for line in reversed(lines):
        size += len(line) + 3
        if size > _EVIDENCE_CHARS:
            break
        kept.insert(0, line)
    if not kept and lines:
        kept = ["…" + lines[-1][1 - _EVIDENCE_CHARS :]]
    return " / ".join(kept)


def _failing_names(run: CommandRun, state: SessionState, shown: str) -> str:
    """The tests that a run saw failing, those that the shown end of its output doesn't name already."""
    tests = [state.tests[key] for key in run.tests if key in state.tests]
    names = [name for test in tests if test.is_failing for name in standing(test).failing if name not in shown]
    more = f" and {len(names) - _FIRST_TESTS} more" if len(names) > _FIRST_TESTS else ""
    listed = ", ".join(code_words(name, PATH_CHARS) for name in names[:_FIRST_TESTS])
    return f", failing: {listed}{more}" if names else ""


def tests_line(state: SessionState, broken: Sequence[CommandRun]) -> str:
    """How the tests ended that the lines on failed commands don't tell of: failing ones first, then the latest."""
    told = {key for run in broken for key in run.tests}
    tests = sorted(
        ((key[0], test) for key, test in state.tests.items() if key not in told and test.cleared_by is None),
        key=lambda item: (not item[1].is_failing, -item[1].at_ns),
    )
    lines = []
    for runner, test in tests[:_FIRST_TESTS]:
        named = ", ".join(code_words(name, PATH_CHARS) for name in standing(test).failing[:_FIRST_TESTS])
        words = test_words(standing(test)) + (f" ({named})" if named else "")
        lines.append(f"{code_words(f'{runner} {test.target}'.strip(), LINE_CHARS)} {words}")
    more = f"; {len(tests) - len(lines)} more" if len(tests) > len(lines) else ""
    return f"Tests when last run: {'; '.join(lines)}{more}" if lines else ""


def _unknown(state: SessionState) -> list[CommandRun]:
    """Runs whose outcome was not reported: those whose output speaks of trouble, then the others, each latest first.

    Those that ran tests are told by the line on tests.
    """
    unsaid = [run for run in state.commands.values() if run.failed is None and not run.tests]
    runs = [run for run in unsaid if _troubled(run) or not only_looked(run)]
    return sorted(runs, key=lambda run: (not _troubled(run), -run.at_ns))


def _troubled(run: CommandRun) -> bool:
    return _TROUBLE.search(run.printed) is not None


def changed_line(state: SessionState) -> str:
    if not state.files_written:
        return ""
    beyond = "+" if state.files_written_more else ""
    latest_first = _paths(list(reversed(state.files_written)))  # what does not fit is the oldest
    return f"Files changed ({len(state.files_written)}{beyond}): {latest_first}"


def _paths(paths: Sequence[str]) -> str:
    shown: list[str] = []
    size = 0
    for path in paths:
        name = code_words(path, PATH_CHARS)
        size += len(name) + 2
        if size > _PATHS_CHARS:
            return f"{', '.join(shown)} and {len(paths) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def branch_line(git: GitSummary, because: str) -> str:
    if git.branch is not None:
        branch = f"Branch {code_words(git.branch, PATH_CHARS)}"
    else:
        branch = "Detached head" if git.detached else f"Branch not checked{because}"
    if git.head is None:
        return f"{branch}, head not checked{because}" if because else f"{branch}, no commit yet"
    subject = f" {code_words(git.subject, PATH_CHARS)}" if git.subject else ""
    return f"{branch}, head {code_words(git.head[:12], PATH_CHARS)}{subject}"


def uncommitted_line(git: GitSummary, because: str) -> str:
    if git.uncommitted is None:
        return f"Uncommitted files: not checked{because}"
    untracked = "untracked: not checked" if git.untracked is None else ""
    if git.untracked:
        untracked = f"untracked ({len(git.untracked)}): {_paths(git.untracked)}"
    changed = f"({len(git.uncommitted)}): {_paths(git.uncommitted)}" if git.uncommitted else "none"
    line = f"Uncommitted files{' ' if git.uncommitted else ': '}{changed}"
    return f"{line}; {untracked}" if untracked else line
