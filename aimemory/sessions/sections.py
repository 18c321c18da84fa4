"""The sections of a session's page that tell of its work, each a pure function of the session's state.

A section is markdown with its heading and ends in a line feed; "" where there is nothing to tell. Each is cut to its
allotment, by whole lines, and says how its statements are known.
"""

import re
from collections.abc import Iterable, Sequence

from aimemory.model.gitfacts import GitSummary
from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import CommandRun, SessionState
from aimemory.sessions.quoting import block, clip, clip_bytes, code, one_line
from aimemory.sessions.teststate import failing_tests
from aimemory.sessions.testtext import test_line

_GOAL_BYTES = 3_584
_REQUEST_BYTES = 3_072
_MESSAGE_BYTES = 4_096
_BETWEEN_BYTES = 2_048
_OPEN_BYTES = 2_560
_FILES_BYTES = 4_096
_COMMANDS_BYTES = 4_608
_READ_BYTES = 1_536

_OPEN_TESTS = 10
_EXCERPT_CHARS = 160
_COMMAND_CHARS = 300

_LOOKING = re.compile(  # no redirection, no second command
    r"(?:cat|cd|date|echo|fd|find|grep|head|jq|less|ls|pwd|rg|sed -n|stat|tail|tree|type|wc|which|whoami|"
    r"git (?:blame|branch|diff|log|show|status))\b[^;&|>]*\Z"
)


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


def asked(state: SessionState) -> str:
    """The requests, as the user wrote them."""
    if state.goal is None:
        return "## Goal\n\nNo prompt of a user was recorded.\n"
    parts = ["## Goal\n", "The first request, as the user wrote it (observed):\n", _quoted(state.goal, _GOAL_BYTES)]
    between = state.prompts[1:-1] if state.prompt_count > 1 else []
    if between:
        lines = [f"- {code(clip(one_line(prompt), _EXCERPT_CHARS))}" for prompt in between]
        unlisted = state.prompt_count - 2 - len(between)
        parts += ["## Requests in between\n"]
        parts += (
            [f"{count(unlisted, 'earlier one', 'earlier ones')} not listed; the latest (observed):\n"]
            if unlisted
            else []
        )
        parts += [listed(lines, _BETWEEN_BYTES)]
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


def said(state: SessionState) -> str:
    """The agent's own last words, which nothing has checked."""
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


def still_open(state: SessionState) -> str:
    """What is left to do, as far as the record tells."""
    broken_tests = failing_tests(state)
    points = [*open_points(state), *(f"Tests fail: {test_line(test)}" for test in broken_tests[:_OPEN_TESTS])]
    if len(broken_tests) > _OPEN_TESTS:
        points.append(f"{count(len(broken_tests) - _OPEN_TESTS, 'more test run', 'more test runs')} failed; see Tests.")
    broken = [run for run in failing(state) if not run.tests]
    points += [f"Failed when last run: {code(clip(run.command, _EXCERPT_CHARS))}, {outcome(run)}" for run in broken[:5]]
    if len(broken) > 5:
        points.append(f"{count(len(broken) - 5, 'more command', 'more commands')} failed when last run; see Commands.")
    points += [
        f"On the agent's list, {todo.status}: {code(todo.text)}" for todo in state.todos if todo.status != "done"
    ]
    if not points:
        return ""
    return "\n".join(["## Still open\n", f"{_seen(state)}:\n", listed([f"- {point}" for point in points], _OPEN_BYTES)])


def files_changed(state: SessionState, git: GitSummary | None) -> str:
    """Files that tools wrote, and what git calls uncommitted."""
    parts = ["## Files changed\n"]
    if state.files_written:
        lines = [_file_line(path, times) for path, times in state.files_written.items()]
        more = state.files_written_more
        lines += [f"- {count(more, 'further edit', 'further edits')} of files beyond these"] if more else []
        parts += [f"By editing tools ({_seen(state).lower()}; what shell commands wrote is not in this list):\n"]
        parts += [listed(lines, _FILES_BYTES // 2)]
    else:
        parts += ["No edit by an editing tool was observed.\n"]
    parts += [_uncommitted(git)]
    return "\n".join(parts)


def _uncommitted(git: GitSummary | None) -> str:
    if git is None or git.uncommitted is None:
        return f"Uncommitted when this was written: not checked{because(git)}.\n"
    when = "" if git.checked_at_ns is None else f", checked {rfc3339_local(git.checked_at_ns)}"
    files = [f"- {code(path)}" for path in git.uncommitted]
    files += [f"- {code(path)} (untracked)" for path in git.untracked or ()]
    untracked = "; untracked files not checked" if git.untracked is None else ""
    if not files:
        return f"Uncommitted when this was written: nothing (git{when}{untracked}).\n"
    head = f"Uncommitted when this was written (git{when}{untracked}):\n"
    return f"{head}\n{listed(files, _FILES_BYTES // 2)}"


def commands(state: SessionState) -> str:
    """What was run, with the last outcome of each; what failed first."""
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
    parts += [listed(lines, _COMMANDS_BYTES)] if lines else []
    parts += (
        [f"{count(left_out, 'run', 'runs')} not listed: they only looked at something, or are long past.\n"]
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


def files_read(state: SessionState) -> str:
    """What was looked at and not changed."""
    if not state.files_read:
        return ""
    lines = [_file_line(path, times) for path, times in state.files_read.items() if path not in state.files_written]
    if state.files_read_more:
        lines.append(f"- {count(state.files_read_more, 'further read', 'further reads')} of files beyond these")
    return (
        "\n".join(["## Files read, not changed\n", f"{_seen(state)}:\n", listed(lines, _READ_BYTES)]) if lines else ""
    )


def because(git: GitSummary | None) -> str:
    """Why git was not asked, to be put behind a statement."""
    return f": {one_line(git.reason)}" if git is not None and git.reason else ""


def _file_line(path: str, times: int) -> str:
    return f"- {code(clip(path, _COMMAND_CHARS))}" + (f" ({times} times)" if times > 1 else "")


def _quoted(text: str, limit_bytes: int) -> str:
    return block(clip_bytes(text, limit_bytes)) + "\n"


def count(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def listed(lines: Sequence[str], limit_bytes: int) -> str:
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
