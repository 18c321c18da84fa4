"""Reading what is old enough to go by the settings of `[retention]`: the index proposes, `upkeep.retention` decides."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from aimemory.index.read import Plan, Statement


@dataclass(frozen=True, slots=True)
class OldSession:
    """A closed session. page: its page, if it has one."""

    id: str
    page: str | None


@dataclass(frozen=True, slots=True)
class SettledHandoff:
    """A handoff that nobody waits for any more. by_person: begun by somebody at the command line."""

    id: str
    session: str | None
    page: str | None
    changed_at_ns: int
    by_person: bool


def old_sessions(before_ns: int) -> Plan[list[OldSession]]:
    """Sessions whose last event is older, that are closed and stayed so, and of which no handoff is open or taken."""
    rows = yield Statement(
        f"select s.id, s.page from session s where s.last_at < ? and not ({_BUSY}) order by s.id", (before_ns,)
    )
    return [OldSession(*row) for row in rows]


def busy_sessions() -> Plan[list[str]]:
    """Sessions that are not closed, or of which a handoff is open or taken."""
    rows = yield Statement(f"select s.id from session s where {_BUSY} order by s.id")
    return [session for (session,) in rows]


def settled_handoffs() -> Plan[list[SettledHandoff]]:
    """Handoffs that are done, cancelled or expired."""
    rows = yield Statement(
        """select h.id, h.session, h.page, h.changed_at, exists (
            select 1 from handoff_event e where e.handoff = h.id and e.op = 'open' and e.data ->> '$.manual'
                and coalesce(e.data ->> '$.harness', '') = '')
        from handoff h where h.state in ('done', 'cancelled', 'expired') order by h.id"""
    )
    return [SettledHandoff(name, session, page, at_ns, bool(own)) for name, session, page, at_ns, own in rows]


def pinned(paths: Sequence[str]) -> Plan[set[str]]:
    """Those of these pages that are tagged `pinned`."""
    rows = yield Statement(
        """select path from page where path in (select value from json_each(?))
            and exists (select 1 from json_each(tags) where value in ('pinned', '#pinned'))""",
        (json.dumps(list(paths)),),
    )
    return {path for (path,) in rows}


_BUSY = """
    s.closed_seq is null or s.closed_seq < s.last_seq
    or exists (select 1 from handoff h where h.session = s.id and h.state in ('open', 'claimed'))
    or exists (select 1 from closing c where c.session = s.id and c.done_seq is null)
"""
