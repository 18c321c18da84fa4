"""Reading what the journal said: observations, sessions, briefs, closings, who wrote which page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.index.read import Plan, Row, Statement
from aimemory.model.ids import ProjectId, Seq, SessionId
from aimemory.model.observation import Observation, observation_from_data
from aimemory.model.process import Process, process_from_data


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """What is needed to tell a second delivery from another event."""

    seq: Seq
    id: str
    key: str | None
    hash: str | None
    at_ns: int
    session: str | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session summed over its observations; times are capture times in nanoseconds.

    ended_at_ns: the latest end event; it counts only if nothing came later (`has_ended`). closed_seq: the last
    observation that its page tells of; a later one reopens it (`is_closed`). process: the harness's.
    """

    id: SessionId
    harness: str
    native: str | None
    project: ProjectId
    cwd: str | None
    first_seq: int
    last_seq: int
    started_at_ns: int
    last_at_ns: int
    prompts: int
    tools: int
    ended_at_ns: int | None
    end_reason: str | None
    closed_seq: int | None
    page: str | None
    process: Process | None = None

    @property
    def has_ended(self) -> bool:
        return self.ended_at_ns is not None and self.ended_at_ns >= self.last_at_ns

    @property
    def is_closed(self) -> bool:
        return self.closed_seq is not None and self.closed_seq >= self.last_seq


@dataclass(frozen=True, slots=True)
class BriefRow:
    """live: sessions that it named as live, without an offer."""

    seq: int
    session: str | None
    project: str | None
    at_ns: int
    digest: str | None
    chars: int | None
    live: tuple[SessionId, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """The last recorded write of a path. before: the version recorded before that one.

    op: `write` by us or through us, `add` for what we added to a page that isn't ours to make anew, `edit` and
    `restore` by a person's command, `delete`, `move`; `redact` and `purge` for what forgetting left of a page that was
    ours to make anew, and of another.

    A line is written before the file is: after a crash between the two the version before still stands.
    """

    path: str
    version: str | None
    before: str | None
    op: str
    seq: int
    at_ns: int
    user: str | None
    harness: str | None
    session: str | None

    def is_ours(self, version: str | None) -> bool:
        """Was this version written by us, as far as the last two records tell?"""
        if self.op == "delete":  # it was taken away; what lies there again was put there by somebody
            return False
        return version is not None and version in (self.version, self.before)

    def may_replace(self, version: str | None) -> bool:
        """May a generated page of this version be made anew: was it generated, and did no person ask for its text?"""
        return self.op in ("write", "move", "redact") and self.is_ours(version)


@dataclass(frozen=True, slots=True)
class Closing:
    """The latest closing of a session: its intent line's data, and the done line's seq or None while it is open.

    why: what became of the session's handoff.
    """

    id: str
    session: str | None
    seq: int
    done_seq: int | None
    data: dict[str, Any]
    why: str | None = None


# -- observations ----------------------------------------------------------------------------------------------------


def observations_of(session: str, after_seq: int = 0, limit: int = -1) -> Plan[list[Observation]]:
    """A session's observations by capture time, then seq; only those with a higher seq than `after_seq`."""
    rows = yield Statement(
        "select seq, at, data from observation where session = ? and seq > ? order by at, seq limit ?",
        (session, after_seq, limit),
    )
    return [_observation(row) for row in rows]


def recent_observations(
    projects: Sequence[str] = (), kinds: Sequence[str] = (), before_seq: int | None = None, limit: int = 50
) -> Plan[list[Observation]]:
    """The newest by seq, newest first; no projects or kinds means all. `before_seq` pages on."""
    rows = yield Statement(
        """select seq, at, data from observation
        where (?1 = '[]' or project in (select value from json_each(?1)))
          and (?2 = '[]' or kind in (select value from json_each(?2)))
          and (?3 is null or seq < ?3)
        order by seq desc limit ?4""",
        (json.dumps(list(projects)), json.dumps(list(kinds)), before_seq, limit),
    )
    return [_observation(row) for row in rows]


def observation(observation_id: str) -> Plan[Observation | None]:
    rows = yield Statement("select seq, at, data from observation where id = ?", (observation_id,))
    return _observation(rows[0]) if rows else None


def known_events(keys: Sequence[str], hashes: Sequence[str] = ()) -> Plan[list[KnownEvent]]:
    """Stored events with one of these keys or payload hashes, by seq."""
    rows = yield Statement(
        """select seq, id, key, hash, at, session, data->>'pid' from observation
            where key in (select value from json_each(?))
        union select seq, id, key, hash, at, session, data->>'pid' from observation
            where hash in (select value from json_each(?)) and hash is not null
        order by 1""",
        (json.dumps(list(keys)), json.dumps(list(hashes))),
    )
    return [KnownEvent(*row) for row in rows]


def has_event_between(session: str, after_ns: int, before_ns: int) -> Plan[bool]:
    """Was an event of this session captured strictly between two instants?"""
    rows = yield Statement(
        "select 1 from observation where session = ? and at > ? and at < ? limit 1", (session, after_ns, before_ns)
    )
    return bool(rows)


def keys_after(key: str = "", limit: int = 50_000) -> Plan[list[str]]:
    """Stored keys in their own order, a page at a time: give the last one back to go on."""
    rows = yield Statement("select key from observation where key > ? order by key limit ?", (key, limit))
    return [key for (key,) in rows]


def stored_hashes() -> Plan[list[str]]:
    """Every payload hash that is stored, once each."""
    rows = yield Statement("select distinct hash from observation where hash is not null")
    return [value for (value,) in rows]


def _observation(row: Row) -> Observation:
    seq, at_ns, data = row
    return observation_from_data(seq, at_ns, json.loads(data))


# -- sessions --------------------------------------------------------------------------------------------------------


def session(session_id: str) -> Plan[SessionRow | None]:
    rows = yield Statement(f"select {_SESSION} from session where id = ?", (session_id,))
    return _session(rows[0]) if rows else None


def sessions(projects: Sequence[str] = (), limit: int = 50, offset: int = 0) -> Plan[list[SessionRow]]:
    """Sessions by their last event, newest first."""
    rows = yield Statement(
        f"""select {_SESSION} from session where ?1 = '[]' or project in (select value from json_each(?1))
        order by last_at desc, id limit ?2 offset ?3""",
        (json.dumps(list(projects)), limit, offset),
    )
    return [_session(row) for row in rows]


def sessions_named(name: str) -> Plan[list[SessionRow]]:
    """Those whose id begins so, else those that their harness calls so; the newest first, at most five."""
    tail = "order by last_at desc, id limit 5"
    rows = yield Statement(f"select {_SESSION} from session where substr(id, 1, ?) = ? {tail}", (len(name), name))
    if not rows:
        rows = yield Statement(f"select {_SESSION} from session where native = ? {tail}", (name,))
    return [_session(row) for row in rows]


def unclosed_sessions(project: str | None = None) -> Plan[list[SessionRow]]:
    """Sessions with events after their last closing, by their last event, oldest first."""
    rows = yield Statement(
        f"""select {_SESSION} from session
        where (closed_seq is null or closed_seq < last_seq) and (?1 is null or project = ?1) order by last_at, id""",
        (project,),
    )
    return [_session(row) for row in rows]


def last_of_harnesses() -> Plan[list[tuple[str, str, int]]]:
    """Per harness its own name of its last stored event, and when it was, in ns."""
    rows = yield Statement(
        """select harness, event, at from observation
        where seq in (select max(last_seq) from session group by harness)"""
    )
    return [(harness, event or "", at) for harness, event, at in rows]


_SESSION = (
    "id, harness, native, project, cwd, first_seq, last_seq, started_at, last_at, prompts, tools, ended_at, end_reason,"
    " closed_seq, page, process"
)


def _session(row: Row) -> SessionRow:
    process = process_from_data(json.loads(row[-1])) if row[-1] else None
    return SessionRow(*(*row[:-1], process))


# -- the rest --------------------------------------------------------------------------------------------------------


def briefs_of(session: str) -> Plan[list[BriefRow]]:
    """Briefs a session was given, oldest first."""
    rows = yield Statement(
        "select seq, session, project, at, digest, chars, live from brief where session = ? order by seq", (session,)
    )
    return [
        BriefRow(seq, about, project, at_ns, content, chars, tuple(json.loads(live or "[]")))
        for seq, about, project, at_ns, content, chars, live in rows
    ]


def written(paths: Sequence[str] | None = None) -> Plan[dict[str, WrittenRow]]:
    """The last recorded write of each path, or of those given."""
    rows = yield Statement(
        """select path, version, before, op, seq, at, user, harness, session from written
        where ?1 is null or path in (select value from json_each(?1))""",
        (None if paths is None else json.dumps(list(paths)),),
    )
    return {row[0]: WrittenRow(*row) for row in rows}


def deleted() -> Plan[dict[str, str | None]]:
    """Paths that pages left through us, deleted or moved away; with the user who deleted them."""
    rows = yield Statement(
        """select source, null from page_line where source is not null
        union all select path, user from written where op = 'delete'"""
    )
    return dict(rows)


def open_closings() -> Plan[list[Closing]]:
    """Closings that were begun and not finished, oldest first."""
    rows = yield Statement(f"select {_CLOSING} from closing where done_seq is null order by seq")
    return [_closing(row) for row in rows]


def closing_of(session: str) -> Plan[Closing | None]:
    rows = yield Statement(f"select {_CLOSING} from closing where session = ? order by seq desc limit 1", (session,))
    return _closing(rows[0]) if rows else None


def _closing(row: Row) -> Closing:
    closing_id, about, seq, done_seq, data, why = row
    return Closing(closing_id, about, seq, done_seq, json.loads(data), why)


_CLOSING = "id, session, seq, done_seq, data, why"


def counts() -> Plan[dict[str, int]]:
    """Rows of what people count: pages, observations, sessions, projects, briefs; and journal lines by type."""
    rows = yield Statement(
        """select 'pages', count(*) from page union all select 'observations', count(*) from observation
        union all select 'sessions', count(*) from session union all select 'projects', count(distinct id) from project
        union all select 'briefs', count(*) from brief union all select 'lines:' || type, lines from line_type"""
    )
    return dict(rows)
