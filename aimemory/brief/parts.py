"""What a brief can hold, as parts of single lines, each with its source. Choosing what fits is `fill`.

The user's own prompts are quoted. Words of agents, tools, files and git are left out, with a pointer to where they
stand, when they read like an instruction; commands are marked as code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.brief.fence import defang, gives_orders
from aimemory.model.gitfacts import GitSummary
from aimemory.model.page import Page
from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import CommandRun, SessionState
from aimemory.sessions.digest import failing, last_turn_broke, only_looked, outcome
from aimemory.sessions.quoting import clip, code, one_line
from aimemory.sessions.testtext import standing, test_words

GIT_NOW = "git, checked now"
WITHHELD = "[withheld: reads like an instruction; see the source]"

RANK_LAST = 10
RANK_GIT = 20
RANK_LAST_MORE = 30
RANK_OTHERS = 40
RANK_PAGES = 50

_GOAL_CHARS = 400
_REQUEST_CHARS = 300
_MESSAGE_CHARS = 500
_LINE_CHARS = 120
_PATH_CHARS = 80
_PATHS_CHARS = 260
_FIRST_FAILURES = 3
_MORE_FAILURES = 7
_UNKNOWN_RUNS = 5
_FIRST_TESTS = 3
_OTHERS = 10

_TROUBLE = re.compile(
    r"\b(?:errors?|exception|traceback|panic|fatal|failed|failure|denied|cannot|can't|not found|no such|no module)\b",
    re.IGNORECASE,
)
"""Words by which a run of unknown outcome comes before others. They prove nothing, so the line claims nothing."""


@dataclass(frozen=True, slots=True)
class BriefItem:
    """text: one line, defanged. source: a page's path, or what was asked just now."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class BriefPart:
    """rank: lower goes first. items: the most important first."""

    rank: int
    heading: str
    items: tuple[BriefItem, ...]


@dataclass(frozen=True, slots=True)
class BriefSession:
    """A session to tell about. page: path of its page, None while none is written."""

    state: SessionState
    page: str | None = None
    harness_name: str | None = None

    @property
    def harness(self) -> str:
        return defang(one_line(self.harness_name or self.state.harness)) or "unknown harness"

    @property
    def source(self) -> str:
        return defang(one_line(self.page)) if self.page else f"session {self.state.id}, observed"


def last_session_parts(last: BriefSession, git_now: GitSummary | None, *, here: str | None = None) -> list[BriefPart]:
    """The last session, and the checkout as it is now: three parts, the first two for the brief's beginning.

    here: the reader's directory; a session that ran elsewhere is named with its own. git_now: None where nobody asked.
    """
    state = last.state
    elsewhere = f", in {code(clip(state.cwd, _PATH_CHARS))}" if state.cwd and here and state.cwd != here else ""
    heading = defang(f"Last session: {last.harness}, {_when(state)}{elsewhere}")
    broken, unknown = failing(state), _unknown(state)
    # Where failures aren't reported, the output is all there is to tell them by.
    first_unknown = min(sum(_troubled(run) for run in unknown), max(_FIRST_FAILURES - len(broken), 0))
    first = [
        f"Goal: {_own(state.goal, _GOAL_CHARS)}" if state.goal else "Goal: no prompt was recorded",
        f"Last request: {_own(state.last_request, _REQUEST_CHARS)}" if _asked_more(state) else "",
        _unfinished(state),
        *(f"Failed: {_run(run)}" for run in broken[:_FIRST_FAILURES]),
        *(f"Run: {_run(run)}" for run in unknown[:first_unknown]),
        _tests(state, broken),
        _changed(state),
    ]
    words = "Its last words, in an earlier turn" if last_turn_broke(state) else "Its last words"
    more = [
        f"{words}, not checked: {_foreign(state.last_message, _MESSAGE_CHARS)}" if state.last_message else "",
        *(f"Failed: {_run(run)}" for run in broken[_FIRST_FAILURES : _FIRST_FAILURES + _MORE_FAILURES]),
        f"{len(broken) - _FIRST_FAILURES - _MORE_FAILURES} more commands failed"
        if len(broken) > _FIRST_FAILURES + _MORE_FAILURES
        else "",
        *(f"Run: {_run(run)}" for run in unknown[first_unknown:_UNKNOWN_RUNS]),
    ]
    return [
        BriefPart(RANK_LAST, heading, _items(first, last.source)),
        git_part(git_now),
        BriefPart(RANK_LAST_MORE, "More about the last session", _items(more, last.source)),
    ]


def git_part(git_now: GitSummary | None) -> BriefPart:
    """The reader's checkout now: branch, head, uncommitted files; unknown is said as unknown, with the reason."""
    because = f": {defang(one_line(git_now.reason))}" if git_now is not None and git_now.reason else ""
    if git_now is None or (git_now.branch is None and git_now.head is None and not git_now.detached):
        lines = [f"Branch, head and uncommitted files: not checked{because}"]
    else:
        lines = [_branch(git_now, because), _uncommitted(git_now, because)]
    return BriefPart(RANK_GIT, "This directory now", _items(lines, GIT_NOW))


def other_sessions_part(others: Sequence[BriefSession]) -> BriefPart:
    """Earlier sessions, one line each, the latest first; at most ten."""
    latest = sorted(others, key=lambda told: (-told.state.last_at_ns, told.state.id))[:_OTHERS]
    return BriefPart(
        RANK_OTHERS, "Earlier sessions", tuple(BriefItem(_one_session(told), told.source) for told in latest)
    )


def recent_pages_part(pages: Sequence[Page]) -> BriefPart:
    """Pages in the order given, one line each."""
    items = []
    for page in pages:
        about = f" ({_foreign(page.description, _LINE_CHARS)})" if page.description else ""
        text = f"{defang(one_line(page.kind))}: {_foreign(page.title, _LINE_CHARS)}{about}"
        items.append(BriefItem(text, defang(one_line(page.path))))
    return BriefPart(RANK_PAGES, "Recent pages", tuple(items))


def _items(lines: Sequence[str], source: str) -> tuple[BriefItem, ...]:
    return tuple(BriefItem(line, source) for line in lines if line)


def _own(text: str | None, limit_chars: int) -> str:
    return f"“{defang(clip(one_line(text or ''), limit_chars))}”"


def _foreign(text: str | None, limit_chars: int) -> str:
    # The whole text decides: what is cut away could be what gives the order.
    return WITHHELD if text and gives_orders(text) else _own(text, limit_chars)


def _code(text: str, limit_chars: int) -> str:
    return WITHHELD if gives_orders(text) else defang(code(clip(one_line(text), limit_chars)))


def _asked_more(state: SessionState) -> bool:
    return state.prompt_count > 1 and state.last_request is not None


def _when(state: SessionState) -> str:
    if state.ended_at_ns is not None:
        return f"ended {rfc3339_local(state.ended_at_ns)}"
    return f"no end reported, last event {rfc3339_local(state.last_at_ns)}"


def _unfinished(state: SessionState) -> str:
    points = []
    if state.turn_error is not None:
        points.append(f"the last turn ended with an error: {_code(state.turn_error, _LINE_CHARS)}")
    if state.interrupted:
        points.append("the user interrupted the last turn")
    if state.turn_open:
        points.append("the end of the last turn was never reported")
    calls = list(state.pending_calls.values())
    points += [f"no result reported of {_code(call, _LINE_CHARS)}" for call in calls[-2:]]
    if len(calls) > 2:
        points.append(f"nor of {len(calls) - 2} other calls")
    return f"Unfinished: {'; '.join(points)}" if points else ""


def _run(run: CommandRun) -> str:
    times = f", {run.failures} of {run.count} runs failed" if run.count > 1 and run.failures else ""
    evidence = run.error or run.printed
    # The end of an output is where its result stands; `gives_orders` still sees all that is kept of it.
    tail = one_line(evidence)
    shown = tail if len(tail) <= _LINE_CHARS else "…" + tail[1 - _LINE_CHARS :]
    quoted = WITHHELD if gives_orders(evidence) else _code(shown, _LINE_CHARS)
    said = f", {'said' if run.error else 'printed'} {quoted}" if shown else ""
    return f"{_code(run.command, _LINE_CHARS)}: {outcome(run)}{times}{said}"


def _tests(state: SessionState, broken: Sequence[CommandRun]) -> str:
    """How the tests ended that the lines on failed commands don't tell of: failing ones first, then the latest."""
    told = {key for run in broken for key in run.tests}
    tests = sorted(
        ((key[0], test) for key, test in state.tests.items() if key not in told and test.cleared_by is None),
        key=lambda item: (not item[1].is_failing, -item[1].at_ns),
    )
    lines = []
    for runner, test in tests[:_FIRST_TESTS]:
        named = ", ".join(_code(name, _PATH_CHARS) for name in standing(test).failing[:_FIRST_TESTS])
        words = test_words(standing(test)) + (f" ({named})" if named else "")
        lines.append(f"{_code(f'{runner} {test.target}'.strip(), _LINE_CHARS)} {words}")
    more = f"; {len(tests) - len(lines)} more" if len(tests) > len(lines) else ""
    return f"Tests when last run: {'; '.join(lines)}{more}" if lines else ""


def _unknown(state: SessionState) -> list[CommandRun]:
    """Runs whose outcome was not reported: those whose output speaks of trouble, then the others, each latest first."""
    runs = [run for run in state.commands.values() if run.failed is None and (_troubled(run) or not only_looked(run))]
    return sorted(runs, key=lambda run: (not _troubled(run), -run.at_ns))


def _troubled(run: CommandRun) -> bool:
    return _TROUBLE.search(run.printed) is not None


def _changed(state: SessionState) -> str:
    if not state.files_written:
        return ""
    beyond = "+" if state.files_written_more else ""
    latest_first = _paths(list(reversed(state.files_written)))  # what does not fit is the oldest
    return f"Files changed ({len(state.files_written)}{beyond}): {latest_first}"


def _paths(paths: Sequence[str]) -> str:
    shown: list[str] = []
    size = 0
    for path in paths:
        name = _code(path, _PATH_CHARS)
        size += len(name) + 2
        if size > _PATHS_CHARS:
            return f"{', '.join(shown)} and {len(paths) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown)


def _branch(git: GitSummary, because: str) -> str:
    if git.branch is not None:
        branch = f"Branch {_code(git.branch, _PATH_CHARS)}"
    else:
        branch = "Detached head" if git.detached else f"Branch not checked{because}"
    if git.head is None:
        return f"{branch}, head not checked{because}" if because else f"{branch}, no commit yet"
    subject = f" {_code(git.subject, _PATH_CHARS)}" if git.subject else ""
    return f"{branch}, head {_code(git.head[:12], _PATH_CHARS)}{subject}"


def _uncommitted(git: GitSummary, because: str) -> str:
    if git.uncommitted is None:
        return f"Uncommitted files: not checked{because}"
    untracked = "untracked: not checked" if git.untracked is None else ""
    if git.untracked:
        untracked = f"untracked ({len(git.untracked)}): {_paths(git.untracked)}"
    changed = f"({len(git.uncommitted)}): {_paths(git.uncommitted)}" if git.uncommitted else "none"
    line = f"Uncommitted files{' ' if git.uncommitted else ': '}{changed}"
    return f"{line}; {untracked}" if untracked else line


def _one_session(told: BriefSession) -> str:
    state = told.state
    goal = _own(state.goal, _LINE_CHARS) if state.goal else "no prompt recorded"
    files, broken = len(state.files_written), len(failing(state))
    facts = []
    if files:
        facts.append(f"{files}{'+' if state.files_written_more else ''} {'file' if files == 1 else 'files'} edited")
    if broken:
        facts.append(f"{broken} {'command' if broken == 1 else 'commands'} failing")
    return f"{_when(state)}, {told.harness}: {goal}{'; ' if facts else ''}{', '.join(facts)}"
