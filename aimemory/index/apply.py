"""Journal lines to rows. One transaction a batch, one statement a table; nothing is applied twice or out of order.

Owns what each line type means for the tables. Where lines come from, and when to rebuild, is the projector's.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from aimemory.index.connect import transaction
from aimemory.index.feedback import apply_feedback
from aimemory.index.refile import Followed, apply_project_line
from aimemory.index.words import camel_parts, other_forms

BATCH_LINES = 512
_BATCH_TEXT = 8_000_000

_TEXT_CHARS = 1000
_ERROR_CHARS = 240
_FILES = 12


class AnyLine(Protocol):
    """What is needed of a journal line; `at_ns` counts from the Unix epoch. data_json: `data` encoded, if at hand."""

    @property
    def seq(self) -> int: ...
    @property
    def type(self) -> str: ...
    @property
    def at_ns(self) -> int: ...
    @property
    def data(self) -> dict[str, Any]: ...
    @property
    def data_json(self) -> str | None: ...


def apply_lines(db: sqlite3.Connection, lines: Sequence[AnyLine]) -> int:
    """Apply lines in ascending order of seq, all or none; returns the seq applied up to.

    Lines at or below what is applied already are skipped, so a batch may be given again. An observation whose key is
    known is ignored, in the full-text index as well. Unknown types are counted, else ignored.
    Raises NeedsRebuild when the file is damaged, Unavailable when SQLite refuses otherwise (busy, disk full), and
    ValueError for more than `BATCH_LINES` lines: a transaction is held for one batch.
    """
    if len(lines) > BATCH_LINES:
        raise ValueError(f"{len(lines)} lines in one batch, at most {BATCH_LINES}")
    with transaction(db):
        return _apply(db, lines)


def batches(lines: Iterable[AnyLine]) -> Iterator[list[AnyLine]]:
    """Cut a stream of lines into batches for `apply_lines`, bounded in lines and roughly in characters."""
    batch: list[AnyLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += sum(len(v) for v in line.data.values() if isinstance(v, str))
        if len(batch) == BATCH_LINES or size >= _BATCH_TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def observation_text(data: Mapping[str, Any]) -> str:
    """What of an observation is searchable: at most 1,000 characters of what was asked, said, run, touched and failed.

    Bulk output and inputs are left out: they would drown everything else, and the journal has them.
    """
    parts = [_text(data, name) for name in ("prompt", "text", "message")]
    command = _text(data, "command")
    tool = _text(data, "tool")
    if tool and not command:
        parts.append(tool)
    parts.append(command)
    cwd = _text(data, "cwd").rstrip("/") + "/"
    files = data.get("files_written") or data.get("files_read") or ()
    parts.extend(str(path).removeprefix(cwd) for path in list(files)[:_FILES])
    if data.get("failed"):
        parts.append("failed")
    parts.append(_text(data, "error")[:_ERROR_CHARS])
    return "\n".join(part for part in parts if part)[:_TEXT_CHARS]


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value.strip() if isinstance(value, str) else ""


def _apply(db: sqlite3.Connection, lines: Sequence[AnyLine]) -> int:
    (before,) = db.execute("select value from meta where key = 'applied_seq'").fetchone()
    fresh = [line for line in lines if line.seq > before]
    if not fresh:
        return int(before)
    for run in _runs(fresh):
        _apply_run(db, run, int(before))
        before = run[-1].seq
    last = max(line.seq for line in fresh)
    db.execute("update meta set value = ? where key = 'applied_seq'", (last,))
    return last


def _runs(lines: Sequence[AnyLine]) -> Iterator[list[AnyLine]]:
    """Lines of type `project` alone, since they change rows that others made; what lies between them in one go."""
    for is_project, run in groupby(lines, key=lambda line: line.type == "project"):
        among = list(run)
        yield from ([line] for line in among) if is_project else [among]


def _apply_run(db: sqlite3.Connection, lines: Sequence[AnyLine], before: int) -> None:
    by_type: dict[str, list[AnyLine]] = {}
    for line in lines:
        by_type.setdefault(line.type, []).append(line)
    for line in by_type.get("project", ()):
        apply_project_line(db, line.seq, line.at_ns, line.data)
    if found := by_type.get("observation"):
        _observations(db, found, before)
    if found := by_type.get("page"):
        withdrawals = [line for line in found if line.data.get("op") == "withdraw"]
        rows = _json(_written_row(line) for line in found if line.data.get("op") != "withdraw")
        db.execute(_PAGE_LINE, (rows,))
        db.execute(_WRITTEN, (rows,))
        for line in withdrawals:
            about = {"path": line.data["path"], "of": line.data["of"]}
            for statement in _WITHDRAW:
                db.execute(statement, about)
    if found := by_type.get("brief"):
        followed = Followed(db)
        db.execute(_BRIEF, (_json(_brief_row(line, followed) for line in found),))
    if found := by_type.get("intent"):
        db.execute(_INTENT, (_json([_closing_id(x), x.data.get("session"), x.seq, _ENCODE(x.data)] for x in found),))
    if found := by_type.get("done"):
        rows = _json(
            [_closing_id(x), x.seq, x.data.get("upto", x.seq), x.data.get("page"), x.data.get("handoff")] for x in found
        )
        db.execute(_DONE, (rows,))
        db.execute(_SESSION_DONE, (rows,))
    if found := by_type.get("handoff"):
        _handoffs(db, found)
    for line in by_type.get("purge", ()):
        db.execute(_PURGE, (line.seq, line.at_ns, _ENCODE(line.data)))
    for line in by_type.get("feedback", ()):
        apply_feedback(db, line.seq, line.at_ns, line.data)
    for line in by_type.get("accept", ()):
        db.execute(_ACCEPTED, (line.data["path"], line.data["version"], line.seq, line.at_ns))
    db.execute(_LINE_TYPE, (_json([kind, len(found)] for kind, found in by_type.items()),))


def _observations(db: sqlite3.Connection, lines: Sequence[AnyLine], before: int) -> None:
    rows = [_observation_row(line) for line in lines]
    if followed := Followed(db):
        for row in rows:
            _follow(row, followed)
    for some in (rows[i : i + _ROWS] for i in range(0, len(rows), _ROWS)):
        db.execute(_OBSERVATION + ",".join([_OBSERVATION_VALUES] * len(some)), [value for row in some for value in row])
    span = (before, lines[-1].seq)
    db.execute(_SESSION, span)
    if any(line.data.get("kind") == "session-end" for line in lines):
        db.execute(_SESSION_END, span)
    processes = {x.data["session"]: _ENCODE(x.data["process"]) for x in lines if _tells_process(x)}
    if processes:
        db.execute(_SESSION_PROCESS, (_json(processes.items()),))


def _follow(row: list[Any], followed: Followed) -> None:
    """An event that was on its way when its session was moved, or its project merged, belongs where that is now."""
    project = followed.project(row[_SESSION_AT], row[_SESSION_AT + 1])
    if project != row[_SESSION_AT + 1]:
        row[_SESSION_AT + 1] = project
        row[-1] = _ENCODE(json.loads(row[-1]) | {"project": project})


def _tells_process(line: AnyLine) -> bool:
    return "process" in line.data and line.data.get("session") is not None


def _observation_row(line: AnyLine) -> list[Any]:
    data = line.data
    text = observation_text(data)
    forms = " ".join((*camel_parts(text), other_forms(text))).rstrip()
    failed, exit_code = data.get("failed"), data.get("exit_code")
    return [
        line.seq, data["id"], data.get("key"), data.get("hash"), line.at_ns, data.get("session"),
        data.get("project", ""), data.get("harness", ""), data.get("event", ""), data.get("kind", "other"),
        data.get("tool"), data.get("agent_id"), data.get("cwd"), None if failed is None else int(failed),
        exit_code if isinstance(exit_code, int) else None, text, forms, line.data_json or _ENCODE(data),
    ]  # fmt: skip


def _written_row(line: AnyLine) -> list[Any]:
    data = line.data
    return [
        data["path"], data.get("version"), data.get("op", "write"), line.seq, line.at_ns, data.get("user"),
        data.get("harness"), data.get("session"), data.get("from"),
    ]  # fmt: skip


def _brief_row(line: AnyLine, followed: Followed) -> list[Any]:
    data = line.data
    live, project = data.get("live"), data.get("project")
    if project:
        project = followed.project(data.get("session"), project)
    return [
        line.seq, data.get("session"), project, line.at_ns, data.get("digest"), data.get("chars"),
        _ENCODE(live) if live else None,
    ]  # fmt: skip


def _handoffs(db: sqlite3.Connection, lines: Sequence[AnyLine]) -> None:
    """The writer has decided what may happen; a row only keeps what the last line said, for finding."""
    followed = Followed(db)
    for line in lines:
        data, op = line.data, str(line.data.get("op", ""))
        data_json = line.data_json
        if "project" in data and (project := followed.project(data.get("session"), data["project"])) != data["project"]:
            data, data_json = data | {"project": project}, None  # opened while its session was being moved
        name = str(data.get("handoff") or line.seq)
        db.execute(_HANDOFF_EVENT, (line.seq, name, op, line.at_ns, data_json or _ENCODE(data)))
        state = _HANDOFF_STATES.get(op)
        if "project" in data:
            db.execute(_HANDOFF, (
                name, data.get("session"), data["project"], data.get("page"), line.seq, line.at_ns,
            ))  # fmt: skip
        if op not in ("offer", "tell"):
            db.execute(_HANDOFF_MOVED, (state, line.seq, line.at_ns, name))


def _closing_id(line: AnyLine) -> str:
    """A closing is named by its `id`, else by its session, of which only one can be open."""
    return str(line.data.get("id") or line.data.get("session") or line.seq)


def _json(rows: Iterable[Any]) -> str:
    return _ENCODE(list(rows))


_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# Several rows a statement: each statement gives up the interpreter lock once, each row of executemany does. Bound
# values are half the cost of a JSON array here, since SQLite parses the array once a column.
_ROWS = 64
_SESSION_AT = 5
_OBSERVATION = """
insert or ignore into observation(
    seq, id, key, hash, at, session, project, harness, event, kind, tool, agent, cwd, failed, exit_code,
    text, forms, data)
values """
_OBSERVATION_VALUES = f"({','.join('?' * 18)})"

# Session rows are sums and extremes over all observations, in no order, so a rebuild gives the same rows. Only what
# is fixed once (harness, native id) comes from the first line; the project from the first that was filed under one.
_SESSION = """
insert into session(
    id, harness, native, project, cwd, first_seq, last_seq, started_at, last_at, prompts, tools, ended_at)
select o.session, o.harness, o.data->>'native_session', l.project, c.cwd, s.first, s.last, s.started, s.latest,
    s.prompts, s.tools, s.ended
from (
    select session, min(seq) first, max(seq) last, min(at) started, max(at) latest,
        sum(kind = 'prompt' and agent is null) prompts, sum(kind = 'post-tool') tools,
        max(case when kind = 'session-end' and agent is null then at end) ended,
        min(case when cwd is not null then seq end) with_cwd
    from observation where seq > ? and seq <= ? and session is not null group by session
) s join observation o on o.seq = s.first join observation l on l.seq = s.last
    left join observation c on c.seq = s.with_cwd
where true
on conflict(id) do update set
    cwd = coalesce(cwd, excluded.cwd),
    project = excluded.project,
    last_seq = excluded.last_seq,
    started_at = min(started_at, excluded.started_at),
    last_at = max(last_at, excluded.last_at),
    prompts = prompts + excluded.prompts,
    tools = tools + excluded.tools,
    ended_at = nullif(max(coalesce(ended_at, -1), coalesce(excluded.ended_at, -1)), -1)
"""

_SESSION_END = """
update session set end_reason = (
    select o.data->>'reason' from observation o
    where o.session = session.id and o.kind = 'session-end' and o.agent is null order by o.at desc, o.seq desc limit 1)
where id in (select session from observation where seq > ? and seq <= ? and kind = 'session-end')
"""

_SESSION_PROCESS = """
update session set process = p.value->>1 from json_each(?) p where session.id = p.value->>0
"""

_WRITTEN = """
insert into written(path, version, op, seq, at, user, harness, session)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 from json_each(?)
where true
on conflict(path) do update set
    before = written.version, version = excluded.version, op = excluded.op, seq = excluded.seq, at = excluded.at,
    user = excluded.user, harness = excluded.harness, session = excluded.session
where excluded.seq > seq
"""

_PAGE_LINE = """
insert or ignore into page_line(path, version, op, seq, at, user, harness, session, source)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
from json_each(?)
"""

_WITHDRAW = (
    "delete from page_line where path = :path and seq = :of",
    "delete from written where path = :path",
    """
    insert into written(path, version, before, op, seq, at, user, harness, session)
    select path, version, (
        select version from page_line where path = :path and seq < last.seq order by seq desc limit 1
    ), op, seq, at, user, harness, session
    from page_line last where path = :path order by seq desc limit 1
    """,
)
"""As if the line `of` had never been."""

_BRIEF = """
insert or ignore into brief(seq, session, project, at, digest, chars, live)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6 from json_each(?)
"""

_HANDOFF_STATES = {
    "claim": "claimed", "release": "open", "done": "done", "cancel": "cancelled", "expire": "expired",
}  # fmt: skip

_HANDOFF_EVENT = "insert or ignore into handoff_event(seq, handoff, op, at, data) values (?, ?, ?, ?, ?)"

_HANDOFF = """
insert into handoff(id, session, project, state, page, seq, changed_seq, changed_at)
values (?1, ?2, ?3, 'open', ?4, ?5, ?5, ?6)
on conflict(id) do update set page = coalesce(excluded.page, page), project = excluded.project
"""

_HANDOFF_MOVED = """
update handoff set state = coalesce(?, state), changed_seq = ?, changed_at = ? where id = ?
"""

_INTENT = """
insert into closing(id, session, seq, data) select value->>0, value->>1, value->>2, value->>3 from json_each(?)
where true
on conflict(id) do update set session = excluded.session, seq = excluded.seq, data = excluded.data, done_seq = null,
    why = null
"""

_DONE = """
update closing set done_seq = d.seq, why = d.why
from (select value->>0 id, max(value->>1) seq, value->>4 why from json_each(?) group by 1) d
where closing.id = d.id and closing.seq < d.seq
"""

# A done line closes the session its intent named, up to the observation that `upto` names: what was captured while the
# page was being written is not in it. One without an intent speaks of something else.
_SESSION_DONE = """
update session set closed_seq = d.seq, page = coalesce(d.page, session.page)
from (
    select c.session, max(j.value->>2) seq, j.value->>3 page
    from json_each(?) j join closing c on c.id = j.value->>0 group by 1
) d where session.id = d.session
"""

_PURGE = "insert or ignore into purge(seq, at, data) values (?, ?, ?)"

_ACCEPTED = """
insert into accepted(path, version, seq, at) values (?, ?, ?, ?)
on conflict(path) do update set version = excluded.version, seq = excluded.seq, at = excluded.at
"""

_LINE_TYPE = """
insert into line_type(type, lines) select value->>0, value->>1 from json_each(?) where true
on conflict(type) do update set lines = lines + excluded.lines
"""
