"""MCP answers as text that a model reads: bounded, and with everything recorded inside an untrusted block.

Titles, paths, snippets and page text came from sessions, tools and other people. What makes a block safe is
`brief.fence`; what goes into it, and what is ours to say outside, is decided here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aimemory.brief.fence import defang, fence
from aimemory.errors import Conflict
from aimemory.model.answers import (
    Deletion,
    FeedbackGiven,
    FeedbackView,
    Found,
    HandoffList,
    HandoffView,
    PageView,
    Recent,
    RelatedView,
    Written,
)
from aimemory.model.page import Hit, total_text
from aimemory.sessions.quoting import clip, one_line

ANSWER_CHARS = 20_000
"""Largest answer, in Unicode characters."""

_ROOM_FOR_FRAME = 2_000
"""Characters kept free for headings, markers and pointers."""

_FINDING_CHARS = 700

_LISTING_CHARS = ANSWER_CHARS - _ROOM_FOR_FRAME
_CURRENT_CHARS = 16_000
_SECTIONS_CHARS = 3_000
_VOICES = 5


def search_text(found: Found) -> str:
    """Hits best first, each with where it is and why it was found."""
    answer = found.answer
    head = [_project_line(found.project, found.project_how)]
    if answer.loosened:
        head.append(f"Not quite as written: {_line(answer.loosened, 300)}")
    head += [_line(note, 300) for note in answer.notes[:3]]
    if not answer.hits:
        return "\n".join([*head, "No results. Try fewer or other words, or another project."])
    head.append(f"{len(answer.hits)} of {total_text(max(answer.total, len(answer.hits)))} results, best first.")
    room = _LISTING_CHARS // len(answer.hits)
    items = [_hit_text(number, hit, min(room, 1_500)) for number, hit in enumerate(answer.hits, 1)]
    tail = ["memory_read_page reads a page in full by its path."]
    if found.next_cursor:
        tail.append(f'More results: repeat memory_search with cursor="{_line(found.next_cursor, 300)}".')
    return "\n".join([*head, fenced("\n".join(items)), *tail])


def page_text(view: PageView, offset: int) -> str:
    """A part of a page, its version for a later write, and where to read on."""
    listing, said = _sections_text(view), _said_text(view.feedback) if offset == 0 else ""
    shown, taken = fit(view.text, ANSWER_CHARS - 2 * _ROOM_FOR_FRAME - len(listing) - len(said))
    cut_here = taken < len(view.text)
    end = offset + taken
    next_offset = end if cut_here else view.next_offset
    head = [_project_line(view.project, view.project_how), _version_line(view)]
    if view.diff_from is not None:
        since, until = _line(view.diff_from.said, 200), view.as_of.said if view.as_of else "now"
        head.append(f"What changed from {since} to {_line(until, 200)}, as unified diff.")
    elif view.as_of is not None:
        head.append(f"As it was: {_line(view.as_of.said, 200)}. This is no present text.")
    if view.total_chars or not view.sections:
        of = "the difference" if view.diff_from else "the section" if view.section else "the page"
        head.append(f"Characters {offset} to {end} of {view.total_chars} of {of}.")
    if shown != view.text[:taken]:
        head.append(
            "Shown defanged: ‹ stands for < in tags, invisible characters are left out. Mind it when writing back."
        )
    label = f"{_line(view.path, 400)} · {_line(view.kind, 40)} · {_line(view.title, 200)}"
    label += f" · section {_line(view.section, 200)}" if view.section else ""
    tail = [] if next_offset is None else [f"The text goes on: memory_read_page with offset={next_offset}."]
    if listing:
        tail.append("memory_read_page with section reads one of them, by its headings or its number.")
    body = "\n\n".join(part for part in (label, said, listing, shown) if part)
    return "\n".join([*head, fenced(body), *tail])


def _version_line(view: PageView) -> str:
    about = f"id {_line(view.id, 100)} · version {_line(view.version, 100)}"
    if view.redacted:
        kinds = ", ".join(_line(kind, 40) for kind in view.redacted)
        return f"id {_line(view.id, 100)} · {kinds} taken out below, so this page can only be changed in its file."
    if view.as_of is not None or view.diff_from is not None:
        return f"{about} (to change the page, read it without as_of and diff)"
    return f"{about} (memory_write_page needs it to change this)"


def related_text(found: RelatedView) -> str:
    """Related pages by distance with why, then the events behind the page; as many as find room."""
    events = sum(len(one.events) for one in found.behind)
    room = _LISTING_CHARS // max(1, len(found.pages) + events + len(found.behind) + 1)
    lines = [f"{_line(found.path, 300)} · {_line(found.kind, 40)} · {_line(found.title, 200)}"]
    for page in found.pages:
        head = f"- {page.distance} [{_line(page.kind, 30)}] {_line(page.title, 100)} · {_line(page.path, 200)}"
        about = f" · {page.date[:10]}{f' · {_line(page.status, 20)}' if page.status else ''}"
        lines.append(clip(f"{head}{about} ({_line('; '.join(page.why), 300)})", min(room, 700)))
    tail = ["memory_read_page reads a page by its path."]
    for behind in found.behind:
        lines.append(clip(f"Events of session {_line(behind.session, 60)} ({_ROLES[behind.role]}):", room))
        for event in behind.events:
            tool = f" {_line(event.tool, 60)}" if event.tool else ""
            head = f"- line {event.seq} {event.at[:19]} {_line(event.harness, 30)} {event.kind}{tool}: "
            lines.append(clip(f"{head}{_line(event.text, 1_000)}", min(room, 500)))
        if behind.next_before is not None:
            shown = f"{len(behind.events)} of {behind.total} events of session {_line(behind.session, 60)}"
            tail.append(f"{shown} are shown; memory_related with before={behind.next_before} gives earlier ones.")
    count = f"{len(found.pages)} of {found.total} related pages, nearest first, up to {found.depth} steps away."
    return "\n".join([_project_line(found.project, found.project_how), count, fenced("\n".join(lines)), *tail])


_ROLES = {
    "page": "the page is its own", "handoff": "the handoff is its own", "write": "it wrote the page; these came before",
}  # fmt: skip


def feedback_text(given: FeedbackGiven) -> str:
    did = "Taken back" if given.withdrawn else f"Recorded as {given.verdict}"
    listed = _said_text(given.feedback)
    return "\n".join([f"{did}: {_line(given.path, 400)}", *([fenced(listed)] if listed else [])])


def _said_text(feedback: Sequence[FeedbackView]) -> str:
    """What readers say of a page, one a line."""
    lines = []
    for one in feedback[:_VOICES]:
        who = one.harness or one.user or "somebody"
        before = "" if one.is_current else ", of an earlier text"
        note = f": {_line(one.note, 300)}" if one.note else ""
        lines.append(f"- {one.verdict} ({_line(who, 40)}, {one.at[:10]}{before}){note}")
    more = [f"- and {len(feedback) - _VOICES} more"] if len(feedback) > _VOICES else []
    return "\n".join(["What readers say of this page:", *lines, *more]) if lines else ""


def _sections_text(view: PageView) -> str:
    """The sections of a page, one a line, those that find room."""
    if not view.sections:
        return ""
    lines, room = ["Sections:"], _SECTIONS_CHARS
    for one in view.sections:
        line = f"{one.number}. {'  ' * (one.level - 1)}{_line(one.name, 200)} ({one.chars} characters)"
        if len(line) > room:
            break
        lines.append(line)
        room -= len(line) + 1
    left = view.sections_total - len(lines) + 1
    return "\n".join([*lines, *([f"… and {left} more"] if left else [])])


def error_text(message: str) -> str:
    """The message of an error of ours, which may name pages and projects."""
    return defang(message)


def written_text(written: Written) -> str:
    did = "Created" if written.created else "Changed"
    return "\n".join(
        [
            _project_line(written.project, written.project_how),
            f"{did} {_line(written.path, 400)}",
            f"id {_line(written.id, 100)} · version {_line(written.version, 100)} (needed to change it again)",
            *([_MERGED] if written.merged else []),
            *(["Taken out before it was stored: " + ", ".join(written.redacted)] if written.redacted else []),
        ]
    )


_MERGED = (
    "Somebody had changed the page since the version you gave. The changes don't touch, so both are in it now: read it "
    "again before you rely on its text."
)


def deleted_text(deleted: Deletion) -> str:
    """What is gone, what remains, who still links to it, how it comes back."""
    path = _line(deleted.path, 400)
    links = "\n".join(_line(f"- {linking}", 300) for linking in deleted.linked_from)
    return "\n".join(
        [
            f"Deleted {path}",
            *deleted.remains,
            *(["These pages still link to it:", fenced(links)] if links else []),
            f"To bring it back, the user runs: aimemory undelete {path}",
        ]
    )


def recent_text(recent: Recent) -> str:
    """One line per item, newest first."""
    head = _project_line(recent.project, recent.project_how)
    if not recent.items:
        return f"{head}\nNothing is recorded here yet."
    room = min(_LISTING_CHARS // len(recent.items), 700) - 1
    lines = []
    for item in recent.items:
        where = [item.path and _line(item.path, 200), item.session and f"session {_line(item.session, 60)}"]
        tail = "".join(f" · {part}" for part in where if part)
        start = f"- {_line(item.when, 40)} [{_line(item.kind, 40)}] "
        lines.append(start + _line(item.title, max(20, room - len(start) - len(tail))) + tail)
    return "\n".join([head, fenced("\n".join(lines)), "memory_read_page reads a page in full by its path."])


def brief_text(text: str, project: str | None, how: str) -> str:
    """A brief, which is fenced already."""
    head = _project_line(project, how)
    return f"{head}\n{text}" if text else f"{head}\nNothing is recorded here yet, and no handoff is open."


def handoff_text(view: HandoffView, head: str) -> str:
    """One handoff after something was done to it."""
    return f"{head}\n{fenced(_handoff_line(view, 1_000))}"


def handoffs_text(found: HandoffList) -> str:
    """One line per handoff, those that can be taken first."""
    head = _project_line(found.project, found.project_how)
    if not found.handoffs:
        return f"{head}\nThere is no handoff here."
    room = min(_LISTING_CHARS // len(found.handoffs), 700)
    lines = [_handoff_line(view, room) for view in found.handoffs]
    return "\n".join([head, fenced("\n".join(lines)), "memory_handoff_claim takes an open one by its id."])


def _handoff_line(view: HandoffView, room: int) -> str:
    state = view.state if view.page else f"{view.state}, its session is not closed"
    who = f", taken by {view.claimed_by_harness or view.claimed_by_user} {view.claimed}" if view.claimed else ""
    facts = [
        f"of {view.harness or 'a person'}, changed {view.changed}",
        view.branch and f"branch {view.branch}",
        view.to and f"for {view.to}",
        view.page,
    ]
    tail = "".join(f" · {_line(fact, 200)}" for fact in facts if fact)
    start = f"- {view.id} [{_line(state + who, 160)}] "
    return start + _line(view.title or "without a title", max(20, room - len(start) - len(tail))) + tail


def status_text(status: Mapping[str, Any]) -> str:
    """The status as indented JSON."""
    text = json.dumps(status, indent=1, ensure_ascii=False, default=str)
    shown, taken = fit(text, ANSWER_CHARS - _ROOM_FOR_FRAME)
    return shown if taken == len(text) else f"{shown}\n… cut; `aimemory status --json` on a terminal shows all."


def doctor_text(findings: Sequence[Mapping[str, object]], show_all: bool) -> str:
    """One line per finding, the worst first, with what was seen and what to do."""
    order = ("failure", "warning", "note", "ok")
    shown = [one for one in findings if show_all or one["level"] != "ok"]
    shown.sort(key=lambda one: order.index(str(one["level"])))
    end = "`aimemory doctor` on a terminal also runs a hook of each agent, and repairs."
    lines = [f"{sum(one['level'] == 'ok' for one in findings)} of {len(findings)} checks found nothing to say."]
    left = ANSWER_CHARS - _ROOM_FOR_FRAME - len(lines[0]) - len(end)
    for number, one in enumerate(shown):
        facts = [
            f"{'seen' if one['proven'] else 'inferred from'}: {_line(str(one['evidence']), 240)}"
            if one["evidence"]
            else "",
            f"do: {_line(str(one['fix']), 200)}" if one["fix"] and one["level"] != "ok" else "",
        ]
        tail = "".join(f" · {fact}" for fact in facts if fact)
        line = _line(f"- [{one['level']}] {one['check']}: {_line(str(one['said']), 200)}{tail}", _FINDING_CHARS)
        if len(line) >= left:
            lines.append(f"{len(shown) - number} more are left out.")
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join([*lines, end])


def conflict_text(error: Conflict, *, deleting: bool = False) -> str:
    """What happened, the version and text that stand now, and what to do."""
    parts = [_line(str(error), 1_000)]
    if error.version:
        parts.append(f"The current version is {_line(error.version, 100)}.")
    if error.current is not None:
        shown, taken = fit(error.current, _CURRENT_CHARS)
        parts += ["The current text is:", fenced(shown)]
        if taken < len(error.current):
            parts.append(f"Cut after {taken} of {len(error.current)} characters; memory_read_page reads the rest.")
    if deleting:
        parts.append("Nothing was deleted. Delete it with its present version only if that text should go too.")
    elif error.version or error.current is not None:  # else it is no page that was to be written
        parts.append(
            "Nothing was written. Read the page again, put your change into that text and write it with its version."
        )
    if error.kept:
        parts.append(f"The text you sent is kept for the user as conflict copy {_line(error.kept, 40)}.")
    return "\n".join(parts)


def problems_text(tool: str, problems: list[str], expected: str) -> str:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    shown = [f"- {_line(problem, 300)}" for problem in problems[:30]]
    return "\n".join([f"{tool} did not run: {count} with its arguments.", *shown, expected])


def capped(text: str) -> str:
    """At most `ANSWER_CHARS`: the last guard, for what the renderers did not expect."""
    if len(text) <= ANSWER_CHARS:
        return text
    note = "\n… cut: the answer was too long."
    return text[: ANSWER_CHARS - len(note)] + note


# -- recorded text -----------------------------------------------------------------------------------------------------


def fenced(recorded: str) -> str:
    """Recorded text as one untrusted block, the shape that capture knows again when the answer comes back to it."""
    # No secret key: the tag depends on the text itself, and defanging takes apart whatever looks like its end.
    return fence(recorded, key=b"mcp", session="")


def fit(text: str, limit_chars: int) -> tuple[str, int]:
    """The longest safe beginning of at most `limit_chars`, and how many characters of `text` it stands for."""
    taken = min(len(text), limit_chars)
    return defang(text[:taken]), taken


def _line(text: str, limit_chars: int) -> str:
    return clip(one_line(defang(text)), limit_chars)


def _project_line(project: str | None, how: str) -> str:
    return f"Project: {_line(project, 200) if project else 'none'} ({_line(how, 300)})"


def _hit_text(number: int, hit: Hit, room: int) -> str:
    facts = [
        hit.path and _line(hit.path, 120),
        hit.section and f"section {_line(hit.section, 120)}",
        hit.date and _line(hit.date, 30),
        hit.project and f"project {_line(hit.project, 60)}",
        hit.observation and f"observation {_line(hit.observation, 40)}",
        hit.session and f"session {_line(hit.session, 40)}",
        hit.like_count and f"and {hit.like_count} like it{f': {_line(hit.like[0], 120)}' if hit.like else ''}",
    ]
    tail = "".join(f" · {fact}" for fact in facts if fact)
    start = f"{number}. [{_line(hit.kind, 30)}] " + "".join(f"({_line(label, 40)}) " for label in hit.labels[:4])
    head = start + _line(hit.title, max(40, min(160, room // 3))) + tail
    left = room - len(head) - 10
    lines = [_line(head, room - 1)]
    if left >= 60:
        why = f"({_line(hit.why, min(160, left // 3))})" if hit.why else ""
        lines.append(f"   {_line(hit.snippet, max(20, left - len(why)))} {why}".rstrip())
    return "\n".join(lines)
