"""Session state to the session page: title, front matter, markdown body, made without a model.

Order: what was asked, what was said last, what is open, what the tests say, what changed, what was run; then what was
read, and facts about the session. Every section says how its statements are known. Where pages lie, and writing them,
is left to others.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId
from aimemory.model.links import base_name
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import Actor
from aimemory.model.session import CommandRun, SessionState
from aimemory.sessions.quoting import block, clip, clip_bytes, code, one_line
from aimemory.sessions.teststate import failing_tests
from aimemory.sessions.testtext import test_line, tests_section
from aimemory.sessions.title import page_title

Field: TypeAlias = str | list[str] | dict[str, str]

MAX_PAGE_BYTES = 32_768
"""Front matter included. The allotments below add up to less, so that no section is ever cut in its middle."""

_GOAL_BYTES = 3_584
_REQUEST_BYTES = 3_072
_MESSAGE_BYTES = 4_096
_BETWEEN_BYTES = 2_048
_OPEN_BYTES = 2_560
_TESTS_BYTES = 2_560
_FILES_BYTES = 4_096
_COMMANDS_BYTES = 4_608
_READ_BYTES = 1_536
_FACTS_BYTES = 2_048

_HANDOFFS = 5
_OPEN_TESTS = 10
_COMMITS = 8
_EXCERPT_CHARS = 160
_COMMAND_CHARS = 300

_LOOKING = re.compile(  # no redirection, no second command
    r"(?:cat|cd|date|echo|fd|find|grep|head|jq|less|ls|pwd|rg|sed -n|stat|tail|tree|type|wc|which|whoami|"
    r"git (?:blame|branch|diff|log|show|status))\b[^;&|>]*\Z"
)


@dataclass(frozen=True, slots=True)
class SessionPage:
    """title: one line. fields: front matter in order. body: markdown, ends with a line feed."""

    title: str
    fields: dict[str, Field]
    body: str


def session_page(
    state: SessionState,
    git: GitSummary | None,
    *,
    page_id: PageId,
    actor: Actor,
    now_ns: int,
    project: str,
    harness_name: str | None = None,
    closed_by: str | None = None,
    project_page: str | None = None,
    handoffs: Sequence[str] = (),
) -> SessionPage:
    """The page of a session that is being closed; at most MAX_PAGE_BYTES with its front matter.

    git: the session's checkout at closing, None where nobody asked. project: as the wiki names it.
    harness_name: as people write it (`Claude Code`), else the id. closed_by: why it counts as closed when the harness
    reported no end (`silent for 30 minutes`). project_page, handoffs: paths of pages to link to.
    Equal inputs give equal bytes; `now_ns` shows only as the time of making.
    """
    harness = one_line(harness_name or state.harness) or "unknown harness"
    title = page_title(state, harness)
    ended_ns = state.last_at_ns if state.ended_at_ns is None else state.ended_at_ns
    fields: dict[str, Field] = {
        "type": "session",
        "title": title,
        "description": _description(state, harness),
        "tags": ["session", state.harness],
        "status": "closed",
        "generated": {"by": "aimemory", "at": rfc3339_local(now_ns)},
        "id": page_id,
        "session": state.id,
        "harness": state.harness,
        "project": project,
        "user": actor.user,
        "machine": actor.machine,
        "started": rfc3339_local(state.first_at_ns),
        "ended": rfc3339_local(ended_ns),
    }
    sections = (
        _asked(state),
        _said(state),
        _still_open(state),
        tests_section(state, _TESTS_BYTES),
        _files_changed(state, git),
        _commands(state),
        _files_read(state),
        _facts(state, git, harness, closed_by, link_lines(project_page, handoffs)),
    )
    body = "\n".join([f"# {title}\n", *(section for section in sections if section)])
    return SessionPage(title, fields, body)


def work_sections(state: SessionState, git: GitSummary | None) -> tuple[str, ...]:
    """What was asked, left open, changed, run and said, for a handoff's page; each ends in a line feed."""
    sections = (
        _asked(state), _still_open(state), tests_section(state, _TESTS_BYTES), _files_changed(state, git),
        _commands(state), _said(state),
    )  # fmt: skip
    return tuple(section for section in sections if section)


def failing(state: SessionState) -> list[CommandRun]:
    """Commands whose last run failed, the latest first; not those whose tests have passed in another run since."""
    return sorted(
        (run for run in state.commands.values() if run.failed and not _fixed(state, run)), key=lambda run: -run.at_ns
    )


def _fixed(state: SessionState, run: CommandRun) -> bool:
    known = [state.tests[key] for key in run.tests if key in state.tests]
    return bool(known) and not any(test.is_failing for test in known)


def outcome(run: CommandRun) -> str:
    """The last run's outcome, no stronger than what the harness reported or recorded."""
    if run.exit_code is not None:
        return f"exit code {run.exit_code}" + (" (transcript)" if run.evidence == "transcript" else "")
    if run.failed is None:
        return "outcome not reported"
    return "failed, exit code not reported" if run.failed else "succeeded, exit code not reported"


def only_looked(run: CommandRun) -> bool:
    """Whether a command that never failed only looked at something, which tells the next reader nothing."""
    return not run.failures and _LOOKING.match(run.command) is not None


def _asked(state: SessionState) -> str:
    if state.goal is None:
        return "## Goal\n\nNo prompt of a user was recorded.\n"
    parts = ["## Goal\n", "The first request, as the user wrote it (observed):\n", _quoted(state.goal, _GOAL_BYTES)]
    between = state.prompts[1:-1] if state.prompt_count > 1 else []
    if between:
        lines = [f"- {code(clip(one_line(prompt), _EXCERPT_CHARS))}" for prompt in between]
        unlisted = state.prompt_count - 2 - len(between)
        parts += ["## Requests in between\n"]
        parts += (
            [f"{_count(unlisted, 'earlier one', 'earlier ones')} not listed; the latest (observed):\n"]
            if unlisted
            else []
        )
        parts += [_listed(lines, _BETWEEN_BYTES)]
    if state.prompt_count > 1 and state.last_request is not None:
        parts += [
            "## Last request\n",
            "As the user wrote it (observed):\n",
            _quoted(state.last_request, _REQUEST_BYTES),
        ]
    return "\n".join(parts)


def last_turn_broke(state: SessionState) -> bool:
    """Whether the last turn has no regular end; its answer is then unknown, since one is only reported at the end."""
    return state.turn_open or state.interrupted or state.turn_error is not None


def _said(state: SessionState) -> str:
    heading = "## What was said last\n"
    if state.last_message is None:
        return f"{heading}\nNo answer of the agent was recorded.\n"
    when = " in an earlier turn; the last one brought no answer" if last_turn_broke(state) else ""
    how = f"The agent's own words{when} (declared; not checked):\n"
    return "\n".join([heading, how, _quoted(state.last_message, _MESSAGE_BYTES)])


def open_points(state: SessionState) -> list[str]:
    """What the observations show as unfinished, one line of markdown each; the agent's words are no source for it."""
    points = []
    if state.turn_error is not None:
        points.append(f"The last turn ended with an error: {code(state.turn_error)}")
    if state.interrupted:
        points.append("The last turn was interrupted by the user.")
    if state.turn_open:
        points.append("The end of the last turn was never reported.")
    points += [
        f"Started, no result reported: {code(clip(call, _COMMAND_CHARS))}" for call in state.pending_calls.values()
    ]
    return points


def _seen(state: SessionState) -> str:
    """How the lists are known; single facts that only the transcript has say so themselves where they can."""
    return "Observed, or read in the transcript" if state.from_transcript else "Observed"


def _still_open(state: SessionState) -> str:
    broken_tests = failing_tests(state)
    points = [*open_points(state), *(f"Tests fail: {test_line(test)}" for test in broken_tests[:_OPEN_TESTS])]
    if len(broken_tests) > _OPEN_TESTS:
        points.append(
            f"{_count(len(broken_tests) - _OPEN_TESTS, 'more test run', 'more test runs')} failed; see Tests."
        )
    broken = [run for run in failing(state) if not run.tests]
    points += [f"Failed when last run: {code(clip(run.command, _EXCERPT_CHARS))}, {outcome(run)}" for run in broken[:5]]
    if len(broken) > 5:
        points.append(f"{_count(len(broken) - 5, 'more command', 'more commands')} failed when last run; see Commands.")
    points += [
        f"On the agent's list, {todo.status}: {code(todo.text)}" for todo in state.todos if todo.status != "done"
    ]
    if not points:
        return ""
    return "\n".join(
        ["## Still open\n", f"{_seen(state)}:\n", _listed([f"- {point}" for point in points], _OPEN_BYTES)]
    )


def _files_changed(state: SessionState, git: GitSummary | None) -> str:
    parts = ["## Files changed\n"]
    if state.files_written:
        lines = [_file_line(path, times) for path, times in state.files_written.items()]
        more = state.files_written_more
        lines += [f"- {_count(more, 'further edit', 'further edits')} of files beyond these"] if more else []
        parts += [f"By editing tools ({_seen(state).lower()}; what shell commands wrote is not in this list):\n"]
        parts += [_listed(lines, _FILES_BYTES // 2)]
    else:
        parts += ["No edit by an editing tool was observed.\n"]
    parts += [_uncommitted(git)]
    return "\n".join(parts)


def _uncommitted(git: GitSummary | None) -> str:
    if git is None or git.uncommitted is None:
        return f"Uncommitted when this was written: not checked{_because(git)}.\n"
    when = "" if git.checked_at_ns is None else f", checked {rfc3339_local(git.checked_at_ns)}"
    files = [f"- {code(path)}" for path in git.uncommitted]
    files += [f"- {code(path)} (untracked)" for path in git.untracked or ()]
    untracked = "; untracked files not checked" if git.untracked is None else ""
    if not files:
        return f"Uncommitted when this was written: nothing (git{when}{untracked}).\n"
    head = f"Uncommitted when this was written (git{when}{untracked}):\n"
    return f"{head}\n{_listed(files, _FILES_BYTES // 2)}"


def _commands(state: SessionState) -> str:
    if not state.commands:
        return ""
    runs = sorted(state.commands.values(), key=lambda run: -run.at_ns)
    looking = [run for run in runs if run.failed is False and only_looked(run)]
    skipped = {id(run) for run in looking}
    broken = {id(run) for run in failing(state)}
    groups: tuple[tuple[str, list[CommandRun]], ...] = (
        ("Failed when last run", [run for run in runs if id(run) in broken]),
        ("Failed; its tests have passed in another run since", [r for r in runs if r.failed and id(r) not in broken]),
        ("Failed first, then succeeded", [run for run in runs if run.failed is False and run.failures]),
        ("Outcome not reported by the harness", [run for run in runs if run.failed is None]),
        ("Succeeded", [r for r in runs if r.failed is False and not r.failures and id(r) not in skipped]),
    )
    lines: list[str] = []
    for name, group in groups:
        lines += [f"\n{name}:\n"] * bool(group) + [_command_line(run) for run in group]
    if lines:
        lines[0] = lines[0].lstrip("\n")
    left_out = sum(run.count for run in looking) + state.commands_more
    parts = ["## Commands\n", f"{_seen(state)}, the latest first.\n"]
    parts += [_listed(lines, _COMMANDS_BYTES)] if lines else []
    parts += (
        [f"{_count(left_out, 'run', 'runs')} not listed: they only looked at something, or are long past.\n"]
        if left_out
        else []
    )
    return "\n".join(parts)


def _command_line(run: CommandRun) -> str:
    facts = [outcome(run)]
    if run.count > 1:
        facts.append(f"{run.count} runs")
    if run.failures and run.count > 1:
        facts.append(f"{run.failures} failed")
    line = f"- {code(clip(run.command, _COMMAND_CHARS))}: {', '.join(facts)}"
    evidence = one_line(run.error or run.printed)
    if evidence:
        verb = "said" if run.error else "printed"
        # The end of an output is where its result stands.
        shown = evidence if len(evidence) <= _COMMAND_CHARS else "…" + evidence[1 - _COMMAND_CHARS :]
        line += f"; {verb} {code(shown)}"
    return line


def _files_read(state: SessionState) -> str:
    if not state.files_read:
        return ""
    lines = [_file_line(path, times) for path, times in state.files_read.items() if path not in state.files_written]
    if state.files_read_more:
        lines.append(f"- {_count(state.files_read_more, 'further read', 'further reads')} of files beyond these")
    return (
        "\n".join(["## Files read, not changed\n", f"{_seen(state)}:\n", _listed(lines, _READ_BYTES)]) if lines else ""
    )


def link_lines(project_page: str | None, handoffs: Sequence[str] = ()) -> list[str]:
    """Links by base name, which is unique for names that we choose: edges of the graph in Obsidian."""
    lines = [f"Project: [[{base_name(project_page)}]]"] if project_page else []
    return lines + [f"Handoff: [[{base_name(path)}]]" for path in handoffs[-_HANDOFFS:]]


def _facts(
    state: SessionState, git: GitSummary | None, harness: str, closed_by: str | None, links: Sequence[str]
) -> str:
    commits = list(state.commits.values())[-_COMMITS:]
    tools = sorted(state.tools.items(), key=lambda item: (-item[1], item[0]))[:10]
    lines = [
        *(f"- {line}" for line in links),
        f"- Harness: {harness}" + (f", model {code(clip(state.model, _EXCERPT_CHARS))}" if state.model else ""),
        f"- Started: {rfc3339_local(state.first_at_ns)} (observed)",
        f"- {_ending(state, closed_by)}",
        f"- Directory: {code(clip(state.cwd, _COMMAND_CHARS))}" if state.cwd else "- Directory: not reported",
        *(f"- {line}" for line in git_lines(git)),
        f"- Requests: {state.prompt_count}; tool calls: {state.tool_count}"
        + (f" ({', '.join(f'{one_line(name)[:60]} {times}' for name, times in tools)})" if tools else ""),
    ]
    if state.agents:
        lines.append(f"- Sub-agents: {len(state.agents)}; their edits and commands are in the lists above")
    lines += [
        f"- Commit: {code(commit.id)} {code(clip(commit.subject, _EXCERPT_CHARS))} (observed)" for commit in commits
    ]
    if len(state.commits) > len(commits):
        lines.append(f"- {_count(len(state.commits) - len(commits), 'earlier commit', 'earlier commits')} not listed")
    if state.tokens:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in state.tokens.items())
        lines.append(f"- Tokens: {kinds} (transcript)")
    if state.transcript:
        lines.append(f"- Transcript: {one_line(state.transcript)}")
    if state.compactions:
        lines.append(f"- Compactions of the context begun: {state.compactions}")
    lines += [f"- Note: {code(clip(one_line(note), _EXCERPT_CHARS))}" for note in state.notes[:5]]
    return "\n".join(["## Session\n", _listed(lines, _FACTS_BYTES)])


def _ending(state: SessionState, closed_by: str | None) -> str:
    if state.ended_at_ns is not None:
        reason = f", reason {code(clip(state.end_reason, _EXCERPT_CHARS))}" if state.end_reason else ""
        return f"Ended: {rfc3339_local(state.ended_at_ns)} (observed{reason})"
    why = f"; closed: {one_line(closed_by)}" if closed_by else ""
    return f"Ended: no end was reported; last event {rfc3339_local(state.last_at_ns)}{why}"


def git_lines(git: GitSummary | None) -> list[str]:
    """Branch and head as one line of markdown each; unknown is said as unknown, with the reason."""
    if git is None or (git.branch is None and git.head is None and not git.detached):
        return [f"Branch and head: not checked{_because(git)}"]
    branch = "detached head" if git.detached else f"not checked{_because(git)}"
    lines = [f"Branch: {code(clip(git.branch, _EXCERPT_CHARS)) if git.branch is not None else branch} (git)"]
    if git.head is None:
        return [*lines, "Head: no commit yet (git)" if git.reason is None else f"Head: not checked{_because(git)}"]
    subject = f" {code(clip(one_line(git.subject), _EXCERPT_CHARS))}" if git.subject else ""
    return [*lines, f"Head: {code(git.head[:12])}{subject} (git)"]


def _because(git: GitSummary | None) -> str:
    return f": {one_line(git.reason)}" if git is not None and git.reason else ""


def _description(state: SessionState, harness: str) -> str:
    files, commands, broken = len(state.files_written), len(state.commands), len(failing(state))
    return ", ".join(
        [
            f"{harness}: {_count(state.prompt_count, 'request', 'requests')}",
            *(
                [f"{files}{'+' if state.files_written_more else ''} {'file' if files == 1 else 'files'} edited"]
                * bool(files)
            ),
            _count(commands, "command", "commands") + (f" ({broken} failing)" if broken else ""),
        ]
    )


def _file_line(path: str, times: int) -> str:
    return f"- {code(clip(path, _COMMAND_CHARS))}" + (f" ({times} times)" if times > 1 else "")


def _quoted(text: str, limit_bytes: int) -> str:
    return block(clip_bytes(text, limit_bytes)) + "\n"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _listed(lines: Sequence[str], limit_bytes: int) -> str:
    """The lines that fit, in order, and how many didn't."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8")) + 1
        if size > limit_bytes:
            left = _items(lines[len(kept) :])
            kept.append(f"- … and {left} more")
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def _items(lines: Iterable[str]) -> int:
    return sum(line.startswith("- ") for line in lines)
