"""A logical dump of the cache: what it says, without what a rebuild may number differently.

Two caches that answer alike give the same text, so "a rebuild equals what was before" is a comparison of two texts.
"""

import json
import sqlite3

TABLES = {
    "meta": "key, value",
    "line_type": "type, lines",
    "observation": (
        "seq, id, key, hash, at, session, project, harness, event, kind, tool, agent, cwd, failed, exit_code, text,"
        " forms, data"
    ),
    "session": (
        "id, harness, native, project, cwd, first_seq, last_seq, started_at, last_at, prompts, tools, ended_at,"
        " end_reason, closed_seq, page"
    ),
    "closing": "id, session, seq, done_seq, data, why",
    "brief": "seq, session, project, at, digest, chars, live",
    "handoff": "id, session, project, state, page, seq, changed_seq, changed_at",
    "handoff_event": "seq, handoff, op, at, data",
    "written": "path, version, before, op, seq, at, user, harness, session",
    "project_line": "seq, op, at, data",
    "refiled": "session, project",
    "purge": "seq, at, data",
    "accepted": "path, version, seq, at",
    "feedback": "seq, page, path, version, verdict, note, at, user, harness, session, withdrawn",
    "merged": "project, target",
    "merge_member": "line, kind, id",
    "page_line": "seq, path, source, version, op, at, user, harness, session",
    "page": (
        "path, id, kind, title, description, tags, status, created, updated, date_ns, project, workspace, version,"
        " problem, aliases"
    ),
    "link": "source, pos, kind, raw, target, name, alias, heading, block, is_file, dest, fits",
    "project": "page, id, workspace, folder, identity",
    "project_alias": "kind, value, page",
}
PAGE_TEXT = (
    "select p.path, t.title, t.title_forms, t.body, t.paths, t.idents, t.forms"
    " from page_text t left join page p on p.n = t.n"
)


def dump(db: sqlite3.Connection) -> str:
    """Every table, one row a line as JSON, sorted; row numbers of pages are left out, the text of a page has its path.

    What a stat walk remembers of files (time, size) is left out too: it says when they were looked at.
    Full text is represented by the columns it is made from; `connect.check` says whether it agrees with them.
    """
    lines = []
    for table, columns in TABLES.items():
        lines += _rows(db, table, f"select {columns} from {table}")
    lines += _rows(db, "page_text", PAGE_TEXT)
    return "".join(f"{line}\n" for line in lines)


def _rows(db: sqlite3.Connection, table: str, sql: str) -> list[str]:
    return sorted(f"{table} {json.dumps(row, ensure_ascii=False)}" for row in db.execute(sql))
