"""What a brief can hold, as parts of single lines, each with its source. Choosing what fits is `fill`.

The user's own prompts are quoted. Words of agents, tools, files and git are left out, with a pointer to where they
stand, when they read like an instruction; commands are marked as code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.brief.fence import defang, gives_orders
from aimemory.model.gitfacts import GitSummary
from aimemory.model.handoff import Handoff
from aimemory.model.page import Page
from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import CommandRun, SessionState
from aimemory.sessions.digest import failing, last_turn_broke, only_looked, outcome
from aimemory.sessions.quoting import clip, code, one_line
from aimemory.sessions.testtext import standing, test_words

GIT_NOW = "git, checked now"
WITHHELD = "[withheld: reads like an instruction; see the source]"

RANK_NEWS = 5
RANK_LAST = 10
RANK_OWN = 12
RANK_GIT = 20
RANK_RULES = 22
RANK_LIVE = 24
RANK_LAST_MORE = 30
RANK_RELATED = 35
RANK_OPEN = 38
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
_OPEN_HANDOFFS = 5
_LIVE_FAILURES = 2
_DECLARED_CHARS = 700
_RULE_CHARS = 300

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
    """A session to tell about. page: path of its page, None while none is written. note: a line of ours about it."""

    state: SessionState
    page: str | None = None
    harness_name: str | None = None
    note: str | None = None

    @property
    def harness(self) -> str:
        return defang(one_line(self.harness_name or self.state.harness)) or "unknown harness"

    @property
    def source(self) -> str:
        return defang(one_line(self.page)) if self.page else f"session {self.state.id}, observed"


@dataclass(frozen=True, slots=True)
class BriefHandoff:
    """A handoff to tell about. state: of the session whose work it carries, None if nothing of it was observed.

    before: the handoff it continues. is_yours: the reader has taken it.
    """

    handoff: Handoff
    state: SessionState | None
    harness_name: str
    before: Handoff | None = None
    is_yours: bool = False

    @property
    def harness(self) -> str:
        return defang(one_line(self.harness_name)) or "an MCP client"

    @property
    def source(self) -> str:
        handoff = self.handoff
        return defang(one_line(handoff.page)) if handoff.page else f"session {handoff.session}, observed"


def last_session_parts(last: BriefSession, git_now: GitSummary | None, *, here: str | None = None) -> list[BriefPart]:
    """The last session, and the checkout as it is now: three parts, the first two for the brief's beginning.

    here: the reader's directory; a session that ran elsewhere is named with its own. git_now: None where nobody asked.
    """
    heading = defang(f"Last session: {last.harness}, {_when(last.state)}{_elsewhere(last.state.cwd, here)}")
    first = [*([last.note] if last.note else []), *_first_lines(last.state)]
    return [
        BriefPart(RANK_LAST, heading, _items(first, last.source)),
        git_part(git_now),
        BriefPart(RANK_LAST_MORE, "More about the last session", _items(_more_lines(last.state), last.source)),
    ]


def handoff_parts(
    given: BriefHandoff, git_now: GitSummary | None, *, here: str | None = None, notice: bool = False
) -> list[BriefPart]:
    """A handoff that is offered or that the reader has: what it is, then the state it carries, and the checkout now.

    notice: name it only.
    """
    handoff, state = given.handoff, given.state
    when = _when(state) if state is not None else f"written {rfc3339_local(handoff.changed_at_ns)}"
    heading = defang(f"Handoff: {given.harness}, {when}{_elsewhere(state.cwd if state else handoff.checkout, here)}")
    lead = _lead(given)
    if notice:
        title = f": {_foreign(handoff.title, _LINE_CHARS)}" if handoff.title else ""
        return [BriefPart(RANK_LAST, heading, _items([lead + title], given.source)), git_part(git_now)]
    declared = [
        f"{name}, declared by the agent and not checked: {_foreign(text, _DECLARED_CHARS)}" if text else ""
        for name, text in (("Its summary", handoff.summary), ("Next steps", handoff.next_steps))
    ]
    first = _first_lines(state) if state is not None else []
    more = _more_lines(state) if state is not None else []
    return [
        BriefPart(
            RANK_LAST,
            heading,
            _items([lead, _before(given), _where(handoff, git_now), *first[:2], *declared, *first[2:]], given.source),
        ),
        git_part(git_now),
        BriefPart(RANK_LAST_MORE, "More of the handoff", _items(more, given.source)),
    ]


def own_session_part(own: BriefSession, why: str) -> BriefPart:
    """The reader's own session so far, for one that lost sight of it."""
    return BriefPart(RANK_OWN, defang(f"This session {why}"), _items(_first_lines(own.state), own.source))


def live_sessions_part(live: Sequence[BriefSession], *, here: str | None = None) -> BriefPart:
    """Sessions that are at work in this project just now: what they were asked, touched, and what fails there."""
    items: list[BriefItem] = []
    for told in live:
        state = told.state
        where = _elsewhere(state.cwd, here) or ", in this directory"
        name = f"{told.harness} since {rfc3339_local(state.first_at_ns)}, not closed{defang(where)}"
        goal = f": {_own(state.last_request or state.goal, _REQUEST_CHARS)}" if state.goal else ""
        lines = [f"{name}{goal}", _changed(state)]
        broken = failing(state)
        lines += [f"Failed: {_run(run, state)}" for run in broken[:_LIVE_FAILURES]]
        lines.append(_tests(state, broken))
        items += _items(lines, told.source)
    return BriefPart(RANK_LIVE, "At work here too: mind the files it changes", tuple(items))


def open_handoffs_part(others: Sequence[BriefHandoff]) -> BriefPart:
    """Further handoffs that could be taken, one line each."""
    items = []
    for given in others[:_OPEN_HANDOFFS]:
        handoff = given.handoff
        branch = f", branch {_code(handoff.branch, _PATH_CHARS)}" if handoff.branch else ""
        title = _foreign(handoff.title or (given.state.goal if given.state else ""), _LINE_CHARS)
        when = _when(given.state) if given.state is not None else f"written {rfc3339_local(handoff.changed_at_ns)}"
        items.append(BriefItem(f"Handoff {handoff.id} of {given.harness}, {when}{branch}: {title}", given.source))
    return BriefPart(RANK_OPEN, "Other open handoffs: `memory_handoff_claim` takes one", tuple(items))


def news_part(lines: Sequence[str]) -> BriefPart:
    """What changed since the session's brief; the lines are ours."""
    return BriefPart(RANK_NEWS, "News", _items([defang(one_line(line)) for line in lines], "handoffs, just now"))


def rules_part(rules: Sequence[Page]) -> BriefPart:
    """Rules and pinned pages with the beginning of their text. They are the user's own or agreed with him, but the file
    may hold anything: what reads like planted orders is left to be read there."""
    items = []
    for page in rules:
        said = f": {_foreign(page.text, _RULE_CHARS)}" if page.text.strip() else ""
        items.append(BriefItem(f"{_foreign(page.title, _LINE_CHARS)}{said}", defang(one_line(page.path))))
    return BriefPart(RANK_RULES, "Rules and pinned pages of this project", tuple(items))


def related_part(pages: Sequence[Page]) -> BriefPart:
    """Pages found by this branch, these changed files and this prompt."""
    part = recent_pages_part(pages)
    return BriefPart(RANK_RELATED, "About this branch, these files, this request", part.items)


def _elsewhere(cwd: str | None, here: str | None) -> str:
    """Where else a session ran; below the reader's directory by the rest of the path, else by the end of a long one."""
    if not cwd or not here or cwd == here:
        return ""
    if cwd.startswith(here.rstrip("/") + "/"):
        cwd = cwd[len(here.rstrip("/")) + 1 :]
    return f", in {code(cwd if len(cwd) <= _PATH_CHARS else '…' + cwd[1 - _PATH_CHARS :])}"


def _lead(given: BriefHandoff) -> str:
    handoff = given.handoff
    what = f"Handoff {handoff.id}"
    if given.is_yours:
        return f"{what} is yours since {rfc3339_local(handoff.claimed_at_ns or handoff.changed_at_ns)}"
    how = f"{what} is offered to you: it is yours with your first tool call or finished turn"
    return f"{how}; its session is not closed" if handoff.page is None else how


def _where(handoff: Handoff, git_now: GitSummary | None) -> str:
    """Where the work lies, if that isn't where the reader stands."""
    if not handoff.branch or git_now is None or handoff.branch == git_now.branch:
        return ""
    here = _branch_name(git_now)
    return f"Its work is on branch {_code(handoff.branch, _PATH_CHARS)}; {here}"


def _branch_name(git: GitSummary) -> str:
    if git.branch is not None:
        return f"this directory is on {_code(git.branch, _PATH_CHARS)}"
    return "this directory has a detached head" if git.detached else "the branch of this directory was not checked"


def _before(given: BriefHandoff) -> str:
    before = given.before
    return f"It continues handoff {before.id}: {_foreign(before.title, _LINE_CHARS)}" if before is not None else ""


def _first_lines(state: SessionState) -> list[str]:
    broken, unknown = failing(state), _unknown(state)
    return [
        f"Goal: {_own(state.goal, _GOAL_CHARS)}" if state.goal else "Goal: no prompt was recorded",
        f"Last request: {_own(state.last_request, _REQUEST_CHARS)}" if _asked_more(state) else "",
        _unfinished(state),
        *(f"Failed: {_run(run, state)}" for run in broken[:_FIRST_FAILURES]),
        *(f"Run: {_run(run, state)}" for run in unknown[: _first_unknown(state)]),
        _tests(state, broken),
        _changed(state),
    ]


def _first_unknown(state: SessionState) -> int:
    # Where failures aren't reported, the output is all there is to tell them by.
    return min(sum(_troubled(run) for run in _unknown(state)), max(_FIRST_FAILURES - len(failing(state)), 0))


def _more_lines(state: SessionState) -> list[str]:
    broken, unknown = failing(state), _unknown(state)
    words = "Its last words, in an earlier turn" if last_turn_broke(state) else "Its last words"
    return [
        f"{words}, not checked: {_foreign(state.last_message, _MESSAGE_CHARS)}" if state.last_message else "",
        *(f"Failed: {_run(run, state)}" for run in broken[_FIRST_FAILURES : _FIRST_FAILURES + _MORE_FAILURES]),
        f"{len(broken) - _FIRST_FAILURES - _MORE_FAILURES} more commands failed"
        if len(broken) > _FIRST_FAILURES + _MORE_FAILURES
        else "",
        *(f"Run: {_run(run, state)}" for run in unknown[_first_unknown(state) : _UNKNOWN_RUNS]),
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


def _run(run: CommandRun, state: SessionState) -> str:
    times = f", {run.failures} of {run.count} runs failed" if run.count > 1 and run.failures else ""
    evidence = run.error or run.printed
    # The end of an output is where its result stands; `gives_orders` still sees all that is kept of it.
    tail = one_line(evidence)
    shown = tail if len(tail) <= _LINE_CHARS else "…" + tail[1 - _LINE_CHARS :]
    quoted = WITHHELD if gives_orders(evidence) else _code(shown, _LINE_CHARS)
    said = f", {'said' if run.error else 'printed'} {quoted}" if shown else ""
    return f"{_code(run.command, _LINE_CHARS)}: {outcome(run)}{times}{_failing_names(run, state, shown)}{said}"


def _failing_names(run: CommandRun, state: SessionState, shown: str) -> str:
    """The tests that a run saw failing, those that the shown end of its output doesn't name already."""
    tests = [state.tests[key] for key in run.tests if key in state.tests]
    names = [name for test in tests if test.is_failing for name in standing(test).failing if name not in shown]
    more = f" and {len(names) - _FIRST_TESTS} more" if len(names) > _FIRST_TESTS else ""
    listed = ", ".join(_code(name, _PATH_CHARS) for name in names[:_FIRST_TESTS])
    return f", failing: {listed}{more}" if names else ""


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
