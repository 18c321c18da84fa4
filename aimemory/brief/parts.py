"""What a brief can hold, as parts of single lines, each with its source. Choosing what fits is `fill`, the wording of
single lines `lines`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.brief.fence import defang
from aimemory.brief.lines import (
    LINE_CHARS,
    PATH_CHARS,
    REQUEST_CHARS,
    branch_line,
    changed_line,
    code_words,
    elsewhere,
    first_lines,
    foreign_words,
    more_lines,
    own_words,
    run_line,
    tests_line,
    uncommitted_line,
    when,
)
from aimemory.model.gitfacts import GitSummary
from aimemory.model.handoff import Handoff
from aimemory.model.page import Page
from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import SessionState
from aimemory.sessions.quoting import one_line
from aimemory.sessions.sections import failing

GIT_NOW = "git, checked now"

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

_OTHERS = 10
_OPEN_HANDOFFS = 5
_LIVE_FAILURES = 2
_DECLARED_CHARS = 700
_RULE_CHARS = 300


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
        return defang(one_line(self.harness_name)) or "by hand"

    @property
    def source(self) -> str:
        handoff = self.handoff
        return defang(one_line(handoff.page)) if handoff.page else f"session {handoff.session}, observed"


def last_session_parts(last: BriefSession, git_now: GitSummary | None, *, here: str | None = None) -> list[BriefPart]:
    """The last session, and the checkout as it is now: three parts, the first two for the brief's beginning.

    here: the reader's directory; a session that ran elsewhere is named with its own. git_now: None where nobody asked.
    """
    heading = defang(f"Last session: {last.harness}, {when(last.state)}{elsewhere(last.state.cwd, here)}")
    first = [*([last.note] if last.note else []), *first_lines(last.state)]
    return [
        BriefPart(RANK_LAST, heading, _items(first, last.source)),
        git_part(git_now),
        BriefPart(RANK_LAST_MORE, "More about the last session", _items(more_lines(last.state), last.source)),
    ]


def handoff_parts(
    given: BriefHandoff, git_now: GitSummary | None, *, here: str | None = None, notice: bool = False
) -> list[BriefPart]:
    """A handoff that is offered or that the reader has: what it is, then the state it carries, and the checkout now.

    notice: name it only.
    """
    handoff, state = given.handoff, given.state
    stood = when(state) if state is not None else f"written {rfc3339_local(handoff.changed_at_ns)}"
    heading = defang(f"Handoff: {given.harness}, {stood}{elsewhere(state.cwd if state else handoff.checkout, here)}")
    lead = _lead(given)
    if notice:
        title = f": {foreign_words(handoff.title, LINE_CHARS)}" if handoff.title else ""
        return [BriefPart(RANK_LAST, heading, _items([lead + title], given.source)), git_part(git_now)]
    whose = "declared by the agent and not checked" if handoff.harness else "written by hand"
    declared = [
        f"{name}, {whose}: {foreign_words(text, _DECLARED_CHARS)}" if text else ""
        for name, text in (("Its summary", handoff.summary), ("Next steps", handoff.next_steps))
    ]
    first = first_lines(state) if state is not None else []
    more = more_lines(state) if state is not None else []
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
    return BriefPart(RANK_OWN, defang(f"This session {why}"), _items(first_lines(own.state), own.source))


def live_sessions_part(live: Sequence[BriefSession], *, here: str | None = None) -> BriefPart:
    """Sessions that are at work in this project just now: what they were asked, touched, and what fails there."""
    items: list[BriefItem] = []
    for told in live:
        state = told.state
        where = elsewhere(state.cwd, here) or ", in this directory"
        name = f"{told.harness} since {rfc3339_local(state.first_at_ns)}, not closed{defang(where)}"
        goal = f": {own_words(state.last_request or state.goal, REQUEST_CHARS)}" if state.goal else ""
        lines = [f"{name}{goal}", changed_line(state)]
        broken = failing(state)
        lines += [f"Failed: {run_line(run, state)}" for run in broken[:_LIVE_FAILURES]]
        lines.append(tests_line(state, broken))
        items += _items(lines, told.source)
    return BriefPart(RANK_LIVE, "At work here too: mind the files it changes", tuple(items))


def open_handoffs_part(others: Sequence[BriefHandoff]) -> BriefPart:
    """Further handoffs that could be taken, one line each."""
    items = []
    for given in others[:_OPEN_HANDOFFS]:
        handoff = given.handoff
        branch = f", branch {code_words(handoff.branch, PATH_CHARS)}" if handoff.branch else ""
        title = foreign_words(handoff.title or (given.state.goal if given.state else ""), LINE_CHARS)
        stood = when(given.state) if given.state is not None else f"written {rfc3339_local(handoff.changed_at_ns)}"
        items.append(BriefItem(f"Handoff {handoff.id} of {given.harness}, {stood}{branch}: {title}", given.source))
    return BriefPart(RANK_OPEN, "Other open handoffs: `memory_handoff_claim` takes one", tuple(items))


def news_part(lines: Sequence[str]) -> BriefPart:
    """What changed since the session's brief; the lines are ours."""
    return BriefPart(RANK_NEWS, "News", _items([defang(one_line(line)) for line in lines], "handoffs, just now"))


def rules_part(rules: Sequence[Page]) -> BriefPart:
    """Rules and pinned pages with the beginning of their text. They are the user's own or agreed with him, but the file
    may hold anything: what reads like planted orders is left to be read there."""
    items = []
    for page in rules:
        said = f": {foreign_words(page.text, _RULE_CHARS)}" if page.text.strip() else ""
        items.append(BriefItem(f"{foreign_words(page.title, LINE_CHARS)}{said}", defang(one_line(page.path))))
    return BriefPart(RANK_RULES, "Rules and pinned pages of this project", tuple(items))


def related_part(pages: Sequence[Page]) -> BriefPart:
    """Pages found by this branch, these changed files and this prompt."""
    part = recent_pages_part(pages)
    return BriefPart(RANK_RELATED, "About this branch, these files, this request", part.items)


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
    return f"Its work is on branch {code_words(handoff.branch, PATH_CHARS)}; {here}"


def _branch_name(git: GitSummary) -> str:
    if git.branch is not None:
        return f"this directory is on {code_words(git.branch, PATH_CHARS)}"
    return "this directory has a detached head" if git.detached else "the branch of this directory was not checked"


def _before(given: BriefHandoff) -> str:
    before = given.before
    return f"It continues handoff {before.id}: {foreign_words(before.title, LINE_CHARS)}" if before is not None else ""


def git_part(git_now: GitSummary | None) -> BriefPart:
    """The reader's checkout now: branch, head, uncommitted files; unknown is said as unknown, with the reason."""
    because = f": {defang(one_line(git_now.reason))}" if git_now is not None and git_now.reason else ""
    if git_now is None or (git_now.branch is None and git_now.head is None and not git_now.detached):
        lines = [f"Branch, head and uncommitted files: not checked{because}"]
    else:
        lines = [branch_line(git_now, because), uncommitted_line(git_now, because)]
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
        about = f" ({foreign_words(page.description, LINE_CHARS)})" if page.description else ""
        text = f"{defang(one_line(page.kind))}: {foreign_words(page.title, LINE_CHARS)}{about}"
        items.append(BriefItem(text, defang(one_line(page.path))))
    return BriefPart(RANK_PAGES, "Recent pages", tuple(items))


def _items(lines: Sequence[str], source: str) -> tuple[BriefItem, ...]:
    return tuple(BriefItem(line, source) for line in lines if line)


def _one_session(told: BriefSession) -> str:
    state = told.state
    goal = own_words(state.goal, LINE_CHARS) if state.goal else "no prompt recorded"
    files, broken = len(state.files_written), len(failing(state))
    facts = []
    if files:
        facts.append(f"{files}{'+' if state.files_written_more else ''} {'file' if files == 1 else 'files'} edited")
    if broken:
        facts.append(f"{broken} {'command' if broken == 1 else 'commands'} failing")
    return f"{when(state)}, {told.harness}: {goal}{'; ' if facts else ''}{', '.join(facts)}"
