"""The index: SQLite's own checks on a copy of it, and a comparison with one that is built anew from the files."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError
from aimemory.index.apply import apply_lines, batches
from aimemory.index.compare import Difference, differences
from aimemory.index.connect import check, is_no_room, open_reader, open_writer
from aimemory.journal.lines import Line
from aimemory.journal.replay import replay
from aimemory.store.pagerows import is_project_page, take_pages
from aimemory.upkeep.backup.archive import Progress
from aimemory.upkeep.backup.scratch import scratch_folder
from aimemory.upkeep.verify.findings import Findings
from aimemory.wiki.files import WikiFiles

REINDEX = "It is a cache: `aimemory reindex` builds it anew."
"""What helps where the index alone is not right."""


def check_index(data: DataDir, last_seq: int, findings: Findings, progress: Progress, *, rebuild: bool) -> None:
    """Look at a copy, so that neither the daemon nor we wait for each other. rebuild: compare with one made anew.

    last_seq: the journal's last line, as read before.
    """
    where = data.index.relative_to(data.root).as_posix()
    if not data.index.exists():
        findings.add("note", "index", where, "There is none.", "`aimemory up` builds it.")
        return
    try:
        with scratch_folder(data.cache, "verify") as scratch:
            copy = scratch / "copy.sqlite3"
            _copy(data.index, copy, progress)
            with closing(open_writer(copy)) as db:
                for problem in check(db):
                    findings.add("damage", "index", where, f"{problem[:1].upper()}{problem[1:]}.", REINDEX)
                applied = _applied(db)
                findings.counts["indexed"] = applied
                if applied > last_seq:
                    what = f"It has seen lines up to {applied}; the journal it was read beside ends at {last_seq}."
                    _ahead(data, applied, what, findings)
                elif rebuild:
                    fresh = scratch / "fresh.sqlite3"
                    _build(data, fresh, applied, progress)
                    _tell(differences(db, fresh), data, db, findings)
    except (AimemoryError, sqlite3.DatabaseError, OSError) as error:
        if is_no_room(error):
            findings.add(
                "note", "index", where, "A copy to compare finds no room.", "Free some room, and verify again."
            )
            return
        if isinstance(error, AimemoryError):
            findings.add("damage", "index", where, str(error), REINDEX)
            return
        findings.add("damage", "index", where, f"It can't be read ({type(error).__name__}).", REINDEX)


def _copy(source: Path, target: Path, progress: Progress) -> None:
    with closing(open_reader(source)) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy, pages=2000, progress=lambda _, left, total: progress("index", total - left))


def _applied(db: sqlite3.Connection) -> int:
    (value,) = db.execute("select value from meta where key = 'applied_seq'").fetchone()
    return int(value)


def _ahead(data: DataDir, applied: int, what: str, findings: Findings) -> None:
    """Only if the journal still lacks them: the daemon goes on while we look."""
    newest = max((line.seq for line in replay(data.journal, applied - 1)), default=0)
    if newest < applied:
        do = "Events were lost from the journal. A backup may hold them; don't reindex before you have looked."
        findings.add("damage", "index", data.index.relative_to(data.root).as_posix(), what, do)


def _build(data: DataDir, path: Path, applied: int, progress: Progress) -> None:
    def lines() -> Iterator[Line]:
        yield from takewhile(lambda line: line.seq <= applied, replay(data.journal))

    with closing(open_writer(path)) as db:
        db.execute("pragma synchronous=off")
        done = 0
        for batch in batches(lines()):
            apply_lines(db, batch)
            done += len(batch)
            progress("rebuilt", done)
        take_pages(WikiFiles(data.wiki), _key(data))(db, progress)


def _key(data: DataDir) -> bytes:
    try:
        return data.forget_key.read_bytes()
    except OSError:  # none was made yet
        return b""


def _tell(found: list[Difference], data: DataDir, db: sqlite3.Connection, findings: Findings) -> None:
    where = data.index.relative_to(data.root).as_posix()
    files = WikiFiles(data.wiki)
    stale = {path for one in found if one.is_of_pages for path in one.names if _is_behind(db, files, path)}
    project_changed = any(is_project_page(path) for path in stale)  # says something of every page in its folder
    for one in found:
        what = f"In table {one.table} {one.missing} rows are missing and {one.extra} are too many"
        same = [name for name in one.names if name not in stale]
        if one.is_of_pages and (project_changed or not same):
            what += f": files changed since they were looked at ({', '.join(one.names[:5])})."
            findings.add("note", "index", where, what, "The daemon takes it in by itself.")
        else:
            findings.add("damage", "index", where, f"{what} ({', '.join(same[:5])}).", REINDEX)


def _is_behind(db: sqlite3.Connection, files: WikiFiles, path: str) -> bool:
    """Whether the file is another one than the index knows."""
    row = db.execute("select version from page where path = ?", (path,)).fetchone()
    try:
        return (row[0] if row else None) != files.version(path)
    except (AimemoryError, OSError):
        return True
