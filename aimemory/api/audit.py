"""Who changed what: every line of the journal that is no mere event, newest first."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aimemory.api.times import instant_ns
from aimemory.errors import NotFound, UserError
from aimemory.index.events import session as session_row
from aimemory.index.filed import renames
from aimemory.journal.backward import newest_first
from aimemory.journal.lines import GONE, Line
from aimemory.model.answers import AuditEntry, AuditList
from aimemory.model.handoff import HandoffId
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.protocols import rfc3339_local
from aimemory.store.audit import AuditLog
from aimemory.store.claims import Claims
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

MAX_LIMIT = 1000
_NO_MUTATIONS = ("observation", "brief", "intent", GONE)
"""Lines that change nothing but the record itself. Every other type is listed, also one that is added later."""

_WHO = ("user", "machine", "harness", "session", "by", "op", "id", "v")
_SHOWN = 200
_NAMED = 10
_BATCH = 500


class Audit:
    """Reached as `Memory.audit`. log: for operations that have no line of their own."""

    def __init__(self, *, journal: Path, projects: Projects, claims: Claims, reader: Reader, log: AuditLog) -> None:
        self._journal = journal
        self._projects = projects
        self._claims = claims
        self._reader = reader
        self.log = log

    async def listed(
        self, *, since: str | None = None, until: str | None = None, actor: str | None = None,
        session: str | None = None, project: str | None = None, kind: str | None = None, limit: int = 50,
        cursor: str | None = None,
    ) -> AuditList:  # fmt: skip
        """What was changed, newest first, from the journal itself: the index takes no part.

        actor: a user, a machine or a harness. session: an id of ours or its beginning. kind: a type of line or what was
        done (`page`, `delete`, `handoff`, `off`, …). cursor: from the answer before.
        Raises UserError for a filter that can't be understood, NotFound for an unknown project.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise UserError(f"limit is {limit}; give 1 to {MAX_LIMIT}.")
        if cursor is not None and not cursor.isdecimal():
            raise UserError("cursor is not one that an answer gave.")
        if project and self._projects.named(project) is None:
            raise NotFound(f"There is no project {project[:80]!r}. `aimemory project list` shows all.")
        first, last = instant_ns(since, "since"), instant_ns(until, "until")
        named = self._projects.named(project) if project else None
        renamed = await self._reader.read(renames())
        found: list[AuditEntry] = []
        damage: dict[str, None] = {}
        seen: set[str] = set()
        before = int(cursor) if cursor else None

        def wanted(line: Line) -> bool:
            at = line.at_ns
            return (
                (first is None or at >= first) and (last is None or at < last)
                and (not actor or actor.casefold() in {str(who).casefold() for who in _actor(line.data).values()})
                and (not session or any(one.startswith(session) for one in _sessions(line.data)))
                and (not kind or kind in (line.type, line.data.get("op")))
            )  # fmt: skip

        while True:
            page = await asyncio.to_thread(
                newest_first, self._journal, before=before, limit=min(_BATCH, limit) if named else limit - len(found),
                skip=_NO_MUTATIONS, wanted=wanted,
            )  # fmt: skip
            damage |= dict.fromkeys(page.damage)
            for line in page.lines:
                known = line.data.get("id") if line.type == "audit" else None
                if known in seen and known is not None:  # a kill came between its line and its file
                    continue
                seen |= {known} if known is not None else set()
                of = await self._project_of(line, renamed)
                if named is not None and of != named.id:
                    continue
                found.append(self._entry(line, of))
                if len(found) == limit:
                    more = line.seq if (line is not page.lines[-1] or page.next_before is not None) else None
                    return AuditList(tuple(found), str(more) if more else None, tuple(damage))
            before = page.next_before
            if before is None:
                return AuditList(tuple(found), None, tuple(damage))

    async def _project_of(self, line: Line, renamed: Sequence[tuple[int, str, str]]) -> ProjectId | None:
        """Of what a line speaks. renamed: a path's folder may have another name by now."""
        data = line.data
        if isinstance(data.get("project"), str):
            return ProjectId(data["project"])
        path = data.get("path") or next(iter(data.get("pages") or ()), None)
        if isinstance(path, str) and path.count("/") >= 2:
            folder = "/".join(path.split("/")[:2])
            later = next((project for seq, before, project in renamed if seq > line.seq and before == folder), None)
            if later is not None:
                return ProjectId(later)
            named = self._projects.named(folder)
            return named.id if named else None
        if line.type == "handoff" and isinstance(data.get("handoff"), str):
            handoff = await self._claims.find(HandoffId(data["handoff"]))
            return handoff.project if handoff else None
        if isinstance(data.get("session"), str):
            row = await self._reader.read(session_row(SessionId(data["session"])))
            return row.project if row else None
        return None

    def _entry(self, line: Line, project: ProjectId | None) -> AuditEntry:
        who = _actor(line.data)
        return AuditEntry(
            seq=line.seq, at=rfc3339_local(line.at_ns), type=line.type, op=line.data.get("op"),
            said=_said(line)[: _SHOWN * 2], user=who.get("user"), machine=who.get("machine"),
            harness=who.get("harness"), session=_session(line), project=self._projects.name_of(project),
        )  # fmt: skip


def _actor(data: Mapping[str, Any]) -> dict[str, Any]:
    by = data.get("by")
    found = by if isinstance(by, dict) else data
    return {name: found[name] for name in ("user", "machine", "harness") if found.get(name)}


def _session(line: Line) -> str | None:
    """Whose session did it; a `project` line's own `session` is the one that was moved."""
    by = line.data.get("by")
    if isinstance(by, dict):
        return by.get("session")
    if line.type == "project":
        return by if isinstance(by, str) else None
    own = line.data.get("session")
    return own if isinstance(own, str) else None


def _sessions(data: Mapping[str, Any]) -> Iterator[str]:
    by = data.get("by")
    for one in (data.get("session"), by.get("session") if isinstance(by, dict) else by):
        if isinstance(one, str):
            yield one


def _said(line: Line) -> str:
    """What was done, in a phrase; of a type that isn't known here its own words."""
    data, op = line.data, str(line.data.get("op") or "")
    match line.type:
        case "page":
            return f"{op or 'write'} {data.get('path')}"
        case "feedback" if op == "withdraw":
            return f"took back what was said of {data.get('path')} in line {_short(data.get('of'))}"
        case "feedback":
            return f"called {data.get('path')} {op}{': ' * bool(data.get('note'))}{_short(data.get('note') or '')}"
        case "handoff":
            return f"{op} handoff {data.get('handoff')}"
        case "done":
            return f"closed session {data.get('session')}"
        case "audit" if op.endswith("-by-hand"):
            return f"{op} {data.get('path') or 'of {:,} more pages'.format(data.get('and_more', 0))}"
        case "project" if op == "rename":
            return f"rename {data.get('from')} to {data.get('to')}"
        case "project" if op in ("merge", "unmerge"):
            where = f"{data.get('folder')} into {data.get('to')}" if op == "merge" else str(data.get("to"))
            return f"{op} {where}, {len(data.get('pages') or ()):,} pages"
        case "project" if op == "move-session":
            return f"move session {data.get('session')}"
    rest = {key: value for key, value in data.items() if key not in _WHO and value not in (None, "", [], {})}
    more = ", ".join(f"{key} {_short(value)}" for key, value in rest.items())
    head = " ".join(part for part in ("" if line.type == "audit" else line.type, op) if part)
    return f"{head}: {more}" if more else head


def _short(value: Any) -> str:
    if isinstance(value, (list, dict)) and len(value) > _NAMED:
        return f"{len(value):,}"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
