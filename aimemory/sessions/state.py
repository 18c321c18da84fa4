"""Observations to session state: a pure fold, bounded in memory however long the session runs.

The order is (capture time, journal position). `apply` takes the next observation in that order; one that comes late is
refused, and the caller folds the session's observations again with `fold`. Deciding when a silent session counts as
closed, and storing states, is left to others.
"""

import re
from collections.abc import Iterable
from posixpath import join, normpath

from aimemory.facts.commits import commits_in
from aimemory.model.event import Event, EventKind
from aimemory.model.observation import Observation
from aimemory.model.session import CommandRun, Commit, SessionState
from aimemory.sessions.teststate import note_tests
from aimemory.sessions.todos import todos_in

MAX_FILES = 500
MAX_COMMANDS = 500
MAX_PENDING = 100
MAX_LATEST_PROMPTS = 20
MAX_NOTES = 50
MAX_NAMES = 200
MAX_COMMITS = 50
PROMPT_CHARS = 2_000
MESSAGE_CHARS = 16_384
EVIDENCE_CHARS = 500
STRAGGLER_NS = 10_000_000_000
"""How long after an end a report about the turn that it ended is still taken for that turn's and reopens nothing.

Claude Code 2.1.197 starts its StopFailure and SessionEnd hooks at once, and the end arrives first.
"""

_OPENING_KINDS = frozenset({EventKind.SESSION_START, EventKind.PROMPT, EventKind.PRE_TOOL})

_WORK_KINDS = frozenset({EventKind.PRE_TOOL, EventKind.POST_TOOL, EventKind.TURN_END})
"""Beside a request: what a session did. A start or an end adds nothing to hand over."""

_CONTROL_COMMAND = re.compile(
    r"/(?:agents|bug|clear|compact|config|context|cost|doctor|exit|export|help|hooks|login|logout|mcp|memory|model|new|"
    r"permissions|plugin|quit|resume|rewind|settings|status|statusline|terminal-setup|theme|undo|usage|vim)"
    r"(?:[ \t][^\n]*)?\Z"
)
"""Commands to the harness itself. Others (`/review`, a user's own `/fix-bug 12`) are requests for work."""


def fold(observations: Iterable[Observation]) -> SessionState | None:
    """The state after one session's observations, given in any order; one that is given twice counts once.

    Returns None when there are none. Observations without a session must not be given.
    """
    ordered = sorted({o.id: o for o in observations}.values(), key=lambda o: (o.at_ns, o.seq))
    if not ordered:
        return None
    state = start(ordered[0])
    for observation in ordered[1:]:
        apply(state, observation)
    return state


def start(observation: Observation) -> SessionState:
    """The state after a session's first observation, of whatever kind: not every session reports its start.

    Raises ValueError for an observation without a session, which belongs to no fold.
    """
    if observation.session is None:
        raise ValueError("an observation without a session can't start one")
    event = observation.event
    state = SessionState(
        id=observation.session,
        harness=event.harness,
        native=event.native_session or "",
        project=observation.project,
        first_at_ns=observation.at_ns,
        last_at_ns=-1,
    )
    apply(state, observation)
    return state


def apply(state: SessionState, observation: Observation) -> bool:
    """Fold the next observation into the state, in place.

    Returns False, with the state unchanged, for an observation that is not later than the latest one: it is either
    known already, or late, and then the session has to be folded anew.
    """
    if (observation.at_ns, observation.seq) <= (state.last_at_ns, state.tail_seq):
        return False
    event, kind, asked = observation.event, observation.event.kind, state.prompt_count
    if state.ended_at_ns is not None and _reopens(state.ended_at_ns, observation):
        state.ended_at_ns = None
        state.end_reason = None
    state.last_at_ns = observation.at_ns
    state.tail_seq = observation.seq
    state.last_seq = max(state.last_seq, observation.seq)
    _identify(state, event)
    if kind is EventKind.POST_TOOL:
        _tool_result(state, event, observation.at_ns)
    elif kind is EventKind.PRE_TOOL:
        _tool_call(state, event)
    elif kind is EventKind.PROMPT:
        _prompt(state, event)
    elif kind is EventKind.TURN_END:
        _turn_end(state, event)
    elif kind is EventKind.SESSION_END:
        if state.ended_at_ns is None and not event.agent_id:
            state.ended_at_ns = observation.at_ns
            state.end_reason = event.reason
    elif kind is EventKind.COMPACT:
        # Harnesses report a compaction before and, if it wasn't refused, once more after it.
        state.compactions += not event.event.lower().startswith("post")
    elif kind is EventKind.NOTE and event.text and len(state.notes) < MAX_NOTES:
        state.notes.append(event.text[:PROMPT_CHARS])
    if kind in _WORK_KINDS or state.prompt_count > asked:
        state.worked_at_ns = observation.at_ns
        state.worked_seq = max(state.worked_seq, observation.seq)
    if _is_interrupt(event):
        state.interrupted = True
        state.turn_open = False
    return True


def _reopens(ended_at_ns: int, observation: Observation) -> bool:
    kind, age_ns = observation.event.kind, observation.at_ns - ended_at_ns
    if age_ns <= 0 or kind is EventKind.SESSION_END:
        return False
    return kind in _OPENING_KINDS or age_ns > STRAGGLER_NS


def _identify(state: SessionState, event: Event) -> None:
    if event.native_session and not state.native:
        state.native = event.native_session
    if event.cwd and event.cwd != state.cwd:
        if state.cwd is None:
            state.cwd = event.cwd
        elif len(state.other_cwds) < MAX_NAMES:
            state.other_cwds.add(event.cwd)
    if event.process is not None:
        state.process = event.process
    if event.agent_id:
        # A sub-agent may run another model, and has a transcript of its own.
        if len(state.agents) < MAX_NAMES:
            state.agents.add(event.agent_id)
        return
    if event.model:
        state.model = event.model
    if event.transcript_path:
        state.transcript_path = event.transcript_path


def _prompt(state: SessionState, event: Event) -> None:
    text = (event.prompt or "").strip()
    if event.agent_id or not text or _CONTROL_COMMAND.match(text):
        return
    state.goal = state.goal or text
    state.last_request = text
    state.prompt_count += 1
    state.prompts.append(text[:PROMPT_CHARS])
    if len(state.prompts) > MAX_LATEST_PROMPTS + 1:
        del state.prompts[1]
    state.turn_open = True
    state.turn_error = None
    state.interrupted = False


def _turn_end(state: SessionState, event: Event) -> None:
    if event.agent_id:
        return
    state.turn_open = False
    state.interrupted = False
    if event.error or event.failed:
        said = ": ".join(part for part in (event.error, event.message) if part)
        state.turn_error = _end_of(said) or "no reason reported"
        return
    state.turn_error = None
    if event.message and event.message.strip():
        state.last_message = event.message.strip()[:MESSAGE_CHARS]


def _tool_call(state: SessionState, event: Event) -> None:
    _count_tool(state, event)
    pending = state.pending_calls
    if len(pending) >= MAX_PENDING:
        del pending[next(iter(pending))]
    pending[_call_key(event)] = _call_text(event)


def _tool_result(state: SessionState, event: Event, at_ns: int) -> None:
    if state.pending_calls.pop(_call_key(event), None) is None:
        _count_tool(state, event)
    if event.failed is not True:
        for path in event.files_written:
            state.files_written_more += _touch(state.files_written, _shown_path(path, event.cwd, state.cwd))
        for path in event.files_read:
            state.files_read_more += _touch(state.files_read, _shown_path(path, event.cwd, state.cwd))
    if event.failed is not True and not event.agent_id and (todos := todos_in(event)) is not None:
        state.todos = todos
    if event.command and (command := " ".join(event.command.split())):
        _ran(state, command, event, at_ns)


def _count_tool(state: SessionState, event: Event) -> None:
    state.tool_count += 1
    name = event.tool or "unnamed"
    if name in state.tools or len(state.tools) < MAX_NAMES:
        state.tools[name] = state.tools.get(name, 0) + 1


def _call_key(event: Event) -> str:
    return event.call_id or f"{event.agent_id or ''} {event.tool or ''} {event.command or ''}"


def _call_text(event: Event) -> str:
    """What a call was for: a shell call's command, else the tool and what its input says of a file, or says first."""
    if event.command:
        return " ".join(event.command.split())[:EVIDENCE_CHARS]
    what = ", ".join(event.files_written or event.files_read)
    if not what and isinstance(event.input, dict):
        keys = sorted(event.input, key=lambda key: ("path" not in key and "file" not in key, key))
        what = next((event.input[key] for key in keys if isinstance(event.input[key], str)), "")
    return " ".join(f"{event.tool or 'tool'} {what[:EVIDENCE_CHARS]}".split())[:EVIDENCE_CHARS]


def _touch(files: dict[str, int], path: str) -> bool:
    """Count the touch of a file; True when the bound kept it out."""
    if path not in files and len(files) >= MAX_FILES:
        return True
    files[path] = files.get(path, 0) + 1
    return False


def _shown_path(path: str, cwd: str | None, session_cwd: str | None) -> str:
    base = cwd or session_cwd
    if base and not path.startswith(("/", "~")):
        path = join(base, path)
    if path.startswith("/"):
        path = normpath(path)
    if session_cwd and path.startswith(session_cwd.rstrip("/") + "/"):
        return path[len(session_cwd.rstrip("/")) + 1 :]
    return path


def _ran(state: SessionState, command: str, event: Event, at_ns: int) -> None:
    run = state.commands.get(command)
    if run is None:
        if len(state.commands) >= MAX_COMMANDS:
            _make_room(state)
        run = state.commands[command] = CommandRun(command, at_ns, None, None, count=0)
    run.at_ns = at_ns
    run.count += 1
    run.failed = event.failed
    run.exit_code = event.exit_code
    run.failures += event.failed is True
    said = event.error or event.output or ""
    if event.exit_code is not None:
        said = said.removeprefix(f"Exit code {event.exit_code}\n")
    run.error = _end_of(said) if event.failed else ""
    run.printed = _end_of(event.output or "") if event.failed is None else ""
    run.evidence = event.evidence
    place = _shown_path(".", event.cwd, state.cwd)
    run.tests = note_tests(state, event, at_ns, "" if place in (".", state.cwd) else place)
    for commit, subject in commits_in(event.command or "", event.output or ""):
        if len(state.commits) < MAX_COMMITS:
            state.commits.setdefault(commit, Commit(commit, subject))


def _make_room(state: SessionState) -> None:
    """Forget the oldest fifth of the commands, first those that never failed: failures are what a reader needs."""
    by_worth = sorted(state.commands, key=lambda command: state.commands[command].failures > 0)
    for command in by_worth[: MAX_COMMANDS // 5]:
        state.commands_more += state.commands.pop(command).count


def _end_of(text: str) -> str:
    """The end of a text, where programs say what went wrong."""
    text = text.strip()
    return text if len(text) <= EVIDENCE_CHARS else "…" + text[1 - EVIDENCE_CHARS :]


def _is_interrupt(event: Event) -> bool:
    if event.agent_id or event.kind in (EventKind.SESSION_END, EventKind.POST_TOOL):
        return False
    return event.event.lower() == "interrupt" or (event.reason or "").lower() in ("interrupt", "interrupted")
