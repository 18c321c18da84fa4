"""What readers said of pages: rows of journal lines of type `feedback`, and what they come to.

A page is known by its id here, which it keeps under other names. One session, or one person, has one voice about a
page: what it said last counts.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aimemory.index.read import Plan, Statement

Verdict = Literal["helpful", "not helpful", "stale", "wrong"]
VERDICTS: tuple[Verdict, ...] = ("helpful", "not helpful", "stale", "wrong")
WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class FeedbackRow:
    """One verdict that counts. path: the page's at that time. is_current: it was given to the text that stands."""

    seq: int
    page: str
    path: str
    verdict: Verdict
    note: str
    at_ns: int
    user: str | None
    harness: str | None
    session: str | None
    is_current: bool


def apply_feedback(db: sqlite3.Connection, seq: int, at_ns: int, data: Mapping[str, Any]) -> None:
    """In the batch's transaction. A verdict that this version doesn't know is left to the journal."""
    if data.get("op") == WITHDRAW:
        db.execute(
            """update feedback set withdrawn = ? where withdrawn is null
            and seq in (select value from json_each(?))""",
            (seq, json.dumps(data.get("of") or [])),
        )
    elif data.get("op") in VERDICTS:
        db.execute(
            "insert or ignore into feedback values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null)",
            (
                seq, str(data.get("page", "")), str(data.get("path", "")), str(data.get("version", "")), data["op"],
                str(data.get("note", "")), at_ns, data.get("user"), data.get("harness"), data.get("session"),
            ),
        )  # fmt: skip


def feedback_of(pages: Iterable[str]) -> Plan[list[FeedbackRow]]:
    """What counts of what was said of these pages, by their ids, the newest first."""
    rows = yield Statement(
        f"""select f.seq, f.page, f.path, f.verdict, f.note, f.at, f.user, f.harness, f.session,
            exists (select 1 from page p where p.id = f.page and p.version = f.version)
        from feedback f where f.page in (select value from json_each(?)) and {COUNTS} order by f.seq desc""",
        (json.dumps(list(pages)),),
    )
    return [FeedbackRow(*row) for row in rows]


def feedback_to_withdraw(
    page: str, user: str | None, harness: str | None, session: str | None, seq: int | None
) -> Plan[list[int]]:
    """Numbers of the lines that withdrawing takes back: the one named, else all that this voice said of the page."""
    rows = yield Statement(
        """select seq from feedback where page = ?1 and withdrawn is null and (seq = ?5 or (?5 is null
            and user is ?2 and harness is ?3 and session is ?4)) order by seq""",
        (page, user, harness, session, seq),
    )
    return [found for (found,) in rows]


def labels(rows: Sequence[FeedbackRow]) -> dict[str, tuple[str, ...]]:
    """By page what a reader of a list should know: `wrong` and `stale`, said of the text that stands, with how many."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.is_current and row.verdict in ("wrong", "stale"):
            counted = found.setdefault(row.page, {})
            counted[row.verdict] = counted.get(row.verdict, 0) + 1
    return {
        page: tuple(f"called {verdict} by {n}" for verdict, n in sorted(counted.items(), reverse=True))
        for page, counted in found.items()
    }


COUNTS = """f.withdrawn is null and not exists (select 1 from feedback g where g.page = f.page and g.seq > f.seq
    and g.user is f.user and g.harness is f.harness and g.session is f.session and g.withdrawn is null)"""
"""Of a row `f`: its voice has said nothing later of the page."""

STANDING = f"""coalesce((select json_group_array(json_array(f.verdict, f.version = t.version))
    from feedback f where f.page = t.id and {COUNTS}), '[]')"""
"""Of a page `t`: what counts, each with whether it was said of the text that stands."""
