"""A handoff's page: what the next session needs first, made without a model."""

from aimemory.facts.summary import NO_REMOTE
from aimemory.model.gitfacts import GitSummary
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.links import base_name
from aimemory.model.protocols import instant, rfc3339_local
from aimemory.model.scope import Actor, Project
from aimemory.model.session import SessionState
from aimemory.sessions.digest import Field, SessionPage, git_lines, link_lines, work_sections
from aimemory.sessions.quoting import block, clip, clip_bytes, code, one_line
from aimemory.sessions.title import page_title
from aimemory.wiki.names import slug

MAX_PAGE_BYTES = 32_768
_DECLARED_BYTES = 4_096
_COMMITS = 20
_LINE_CHARS = 160
_TELLING_CHARS = 25
"""A first request shorter than this says little of the work when it took over another's."""


def handoff_title(state: SessionState | None, harness: str, before: Handoff | None) -> str:
    """The title of its session; where that only says "go on", the title of what it went on with."""
    own = page_title(state, harness) if state is not None else f"Handoff of {harness}"
    goal = one_line(state.goal or "") if state is not None else ""
    return before.title if before is not None and before.title and len(goal) < _TELLING_CHARS else own


def handoff_page(
    handoff: Handoff, state: SessionState | None, git: GitSummary | None, *, actor: Actor, project: Project,
    harness_name: str, how: str, session_page: str | None, now_ns: int, before: Handoff | None = None,
) -> SessionPage:  # fmt: skip
    """The page of a handoff at MAX_PAGE_BYTES at most.

    state: of the session whose work it carries, None for a client that nothing was observed of. git: its checkout now.
    how: how that session stands, as a phrase (`ended 2026-11-30T14:55:10+01:00`, `not closed, last event at …`).
    session_page: path of its page, where one is written. before: the handoff it continues. Equal inputs, equal bytes.
    """
    title = handoff.title or handoff_title(state, harness_name, before)
    fields: dict[str, Field] = {
        "type": "handoff",
        "title": title,
        "description": f"Handoff of {one_line(harness_name)}: {how}",
        "tags": ["handoff", handoff.harness or "by-hand"],
        "status": (handoff.state if handoff.state is not HandoffState.CLAIMED else HandoffState.OPEN).value,
        "generated": {"by": "aimemory", "at": rfc3339_local(now_ns)},
        "id": f"handoff-{handoff.id}",
        "handoff": handoff.id,
        **({"session": handoff.session} if handoff.session else {}),
        **({"harness": handoff.harness} if handoff.harness else {}),
        "project": project.path,
        "user": actor.user,
        "machine": actor.machine,
        "origin": "manual" if handoff.manual else "automatic",
        **{name: value for name in ("branch", "checkout", "to", "continues") if (value := getattr(handoff, name))},
    }
    sections = (
        _head(handoff, project, harness_name, how, session_page, before),
        _declared("Summary", handoff.summary, handoff),
        _declared("Next steps", handoff.next_steps, handoff),
        *(work_sections(state, git) if state is not None else ("No work of this session was observed.\n",)),
        _git(git),
    )
    body = "\n".join([f"# {title}\n", *(section for section in sections if section)])
    return SessionPage(title, fields, clip_bytes(body, MAX_PAGE_BYTES - 4096))


def handoff_place(handoff: Handoff, title: str, started_ns: int, project: Project, actor: Actor) -> str:
    """`<project>/handoffs/<user>/2026/11/1130-1412-add-pdf-export-3f9a-handoff.md`: the session's start, local time.

    Derived from the handoff alone, so that a crash between page and journal line makes no second page.
    """
    start = instant(started_ns).astimezone()
    name = slug(title, fallback=handoff.harness or "handoff", max_bytes=44)
    return (
        f"{project.path}/handoffs/{slug(actor.user, fallback='user')}/{start:%Y/%m}/"
        f"{start:%m%d-%H%M}-{name}-{handoff.id[:6]}-handoff.md"
    )


def later(handoff: Handoff, state: SessionState | None, how: str) -> str:
    """What is added to a handoff page that a person has written in."""
    lines = [f"## Later: {how}", ""]
    if state is not None and state.last_request:
        lines += ["Last request:", "", block(clip(state.last_request, 2000)), ""]
    if state is not None and state.files_written:
        lines += [f"Files changed: {', '.join(code(path) for path in list(state.files_written)[-30:])}", ""]
    if handoff.summary:
        lines += ["Summary (declared; not checked):", "", block(clip(handoff.summary, 2000)), ""]
    return "\n".join(lines)


def _head(
    handoff: Handoff, project: Project, harness: str, how: str, session_page: str | None, before: Handoff | None
) -> str:
    lines = [f"- From: {one_line(harness)}, {how}", *(f"- {line}" for line in link_lines(project.page))]
    if session_page:
        lines.append(f"- Session: [[{base_name(session_page)}]]")
    if handoff.to:
        lines.append(f"- For: {code(handoff.to)}")
    if handoff.continues:
        title = f" {code(clip(before.title, _LINE_CHARS))}" if before is not None and before.title else ""
        page = f", [[{base_name(before.page)}]]" if before is not None and before.page else ""
        lines.append(f"- Continues: handoff {handoff.continues}{title}{page}")
    return "\n".join(lines) + "\n"


def _declared(heading: str, text: str, handoff: Handoff) -> str:
    if not text.strip():
        return ""
    quoted = block(clip_bytes(text.strip(), _DECLARED_BYTES))
    whose = "The agent's own words" if handoff.harness else "Written by hand"
    return f"## {heading}\n\n{whose} (declared; not checked):\n\n{quoted}\n"


def _git(git: GitSummary | None) -> str:
    lines = list(git_lines(git))
    if git is not None:
        lines += _remote_lines(git)
        lines += [f"In progress: {', '.join(git.in_progress)} (git)"] * bool(git.in_progress)
        lines.append(_commits_line(git))
        lines += [f"  - {code(clip(one_line(commit), _LINE_CHARS))}" for commit in (git.commits or ())[:_COMMITS]]
    shown = [line if line.startswith("  ") else f"- {line}" for line in lines if line]
    return "\n".join(["## Git\n", *shown]) + "\n"


def _commits_line(git: GitSummary) -> str:
    if git.commits is None:
        return "Commits of this session: not checked"
    if not git.commits:
        return "Commits of this session: none on this checkout (git)"
    more = f"; the latest {_COMMITS}" if len(git.commits) > _COMMITS else ""
    return f"Commits of this session: {len(git.commits)} (git{more})"


def _remote_lines(git: GitSummary) -> list[str]:
    if git.unpushed is None:
        return ["Commits on no remote: not checked"]
    if git.unpushed == NO_REMOTE:
        return ["Commits on no remote: this repository knows no remote branch (git)"]
    fetched = (
        f", last fetch {rfc3339_local(git.fetched_at_ns)}" if git.fetched_at_ns else ", never fetched since cloning"
    )
    return [f"Commits on no remote: {git.unpushed} (git{fetched})"]
