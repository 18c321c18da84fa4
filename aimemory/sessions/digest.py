"""Session state to the session page: title, front matter, markdown body, made without a model.

Order: what was asked, what was said last, what is open, what the tests say, what changed, what was run; then what was
read, and facts about the session. Every section says how its statements are known. Where pages lie, and writing them,
is left to others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId
from aimemory.model.links import base_name
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import Actor
from aimemory.model.session import SessionState
from aimemory.sessions.quoting import clip, code, one_line
from aimemory.sessions.sections import (
    asked,
    because,
    commands,
    count,
    failing,
    files_changed,
    files_read,
    listed,
    said,
    still_open,
)
from aimemory.sessions.testtext import tests_section
from aimemory.sessions.title import page_title

Field: TypeAlias = str | list[str] | dict[str, str]

MAX_PAGE_BYTES = 32_768
"""Front matter included. The allotments of all sections add up to less, so that none is ever cut in its middle."""

_TESTS_BYTES = 2_560
_FACTS_BYTES = 2_048

_HANDOFFS = 5
_COMMITS = 8
_EXCERPT_CHARS = 160
_COMMAND_CHARS = 300


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
        asked(state),
        said(state),
        still_open(state),
        tests_section(state, _TESTS_BYTES),
        files_changed(state, git),
        commands(state),
        files_read(state),
        _facts(state, git, harness, closed_by, link_lines(project_page, handoffs)),
    )
    body = "\n".join([f"# {title}\n", *(section for section in sections if section)])
    return SessionPage(title, fields, body)


def work_sections(state: SessionState, git: GitSummary | None) -> tuple[str, ...]:
    """What was asked, left open, changed, run and said, for a handoff's page; each ends in a line feed."""
    sections = (
        asked(state), still_open(state), tests_section(state, _TESTS_BYTES), files_changed(state, git),
        commands(state), said(state),
    )  # fmt: skip
    return tuple(section for section in sections if section)


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
        lines.append(f"- {count(len(state.commits) - len(commits), 'earlier commit', 'earlier commits')} not listed")
    if state.tokens:
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in state.tokens.items())
        lines.append(f"- Tokens: {kinds} (transcript)")
    if state.transcript:
        lines.append(f"- Transcript: {one_line(state.transcript)}")
    if state.compactions:
        lines.append(f"- Compactions of the context begun: {state.compactions}")
    lines += [f"- Note: {code(clip(one_line(note), _EXCERPT_CHARS))}" for note in state.notes[:5]]
    return "\n".join(["## Session\n", listed(lines, _FACTS_BYTES)])


def _ending(state: SessionState, closed_by: str | None) -> str:
    if state.ended_at_ns is not None:
        reason = f", reason {code(clip(state.end_reason, _EXCERPT_CHARS))}" if state.end_reason else ""
        return f"Ended: {rfc3339_local(state.ended_at_ns)} (observed{reason})"
    why = f"; closed: {one_line(closed_by)}" if closed_by else ""
    return f"Ended: no end was reported; last event {rfc3339_local(state.last_at_ns)}{why}"


def git_lines(git: GitSummary | None) -> list[str]:
    """Branch and head as one line of markdown each; unknown is said as unknown, with the reason."""
    if git is None or (git.branch is None and git.head is None and not git.detached):
        return [f"Branch and head: not checked{because(git)}"]
    branch = "detached head" if git.detached else f"not checked{because(git)}"
    lines = [f"Branch: {code(clip(git.branch, _EXCERPT_CHARS)) if git.branch is not None else branch} (git)"]
    if git.head is None:
        return [*lines, "Head: no commit yet (git)" if git.reason is None else f"Head: not checked{because(git)}"]
    subject = f" {code(clip(one_line(git.subject), _EXCERPT_CHARS))}" if git.subject else ""
    return [*lines, f"Head: {code(git.head[:12])}{subject} (git)"]


def _description(state: SessionState, harness: str) -> str:
    files, runs, broken = len(state.files_written), len(state.commands), len(failing(state))
    return ", ".join(
        [
            f"{harness}: {count(state.prompt_count, 'request', 'requests')}",
            *(
                [f"{files}{'+' if state.files_written_more else ''} {'file' if files == 1 else 'files'} edited"]
                * bool(files)
            ),
            count(runs, "command", "commands") + (f" ({broken} failing)" if broken else ""),
        ]
    )
