"""Reading what the journal said of handoffs. What the lines mean is `handoff.lifecycle`'s."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aimemory.index.read import Plan, Row, Statement


@dataclass(frozen=True, slots=True)
class HandoffEvent:
    """One journal line of type `handoff`."""

    seq: int
    handoff: str
    op: str
    at_ns: int
    data: dict[str, Any]


def live_handoffs() -> Plan[list[HandoffEvent]]:
    """All lines of the handoffs that are open or claimed, by seq."""
    rows = yield Statement(
        f"""select {_EVENT} from handoff_event e join handoff h on h.id = e.handoff
        where h.state in ('open', 'claimed') order by e.seq"""
    )
    return [_event(row) for row in rows]


def told_offers() -> Plan[list[tuple[str, str, int]]]:
    """Handoff, session and instant of each brief that followed an offer to its session, by seq; of live handoffs."""
    rows = yield Statement(
        """select e.handoff, b.session, b.at from handoff h join handoff_event e on e.handoff = h.id and e.op = 'offer'
        join brief b on b.session = json_extract(e.data, '$.by.session') and b.seq > e.seq
        where h.state in ('open', 'claimed') order by b.seq"""
    )
    return [(handoff, session, at_ns) for handoff, session, at_ns in rows]


def handoff_events(handoffs: Sequence[str]) -> Plan[list[HandoffEvent]]:
    """All lines of these handoffs, by seq."""
    rows = yield Statement(
        f"select {_EVENT} from handoff_event e where handoff in (select value from json_each(?)) order by seq",
        (json.dumps(list(handoffs)),),
    )
    return [_event(row) for row in rows]


def handoff_ids(
    projects: Sequence[str] = (), states: Sequence[str] = (), session: str | None = None, limit: int = 50
) -> Plan[list[str]]:
    """Handoffs by their last change, newest first; nothing given means all. session: whose work they carry."""
    rows = yield Statement(
        """select id from handoff
        where (?1 = '[]' or project in (select value from json_each(?1)))
          and (?2 = '[]' or state in (select value from json_each(?2)))
          and (?3 is null or session = ?3)
        order by changed_at desc, id limit ?4""",
        (json.dumps(list(projects)), json.dumps(list(states)), session, limit),
    )
    return [handoff for (handoff,) in rows]


def given_back_by(session: str) -> Plan[list[HandoffEvent]]:
    """The lines by which this session gave handoffs back, by seq."""
    rows = yield Statement(
        f"""select {_EVENT} from handoff_event e
        where e.op = 'release' and json_extract(e.data, '$.by.session') = ? order by e.seq""",
        (session,),
    )
    return [_event(row) for row in rows]


def handoffs_like(prefix: str) -> Plan[list[str]]:
    """Ids that begin so, at most five."""
    rows = yield Statement(
        "select id from handoff where substr(id, 1, ?) = ? order by id limit 5", (len(prefix), prefix)
    )
    return [handoff for (handoff,) in rows]


_EVENT = "e.seq, e.handoff, e.op, e.at, e.data"


def _event(row: Row) -> HandoffEvent:
    seq, handoff, op, at_ns, data = row
    return HandoffEvent(seq, handoff, op, at_ns, json.loads(data))
