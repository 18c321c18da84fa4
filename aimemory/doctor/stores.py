"""Journal, index and wiki as they lie on the disk: quick looks that read no more than ends and heads."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.doctor.finding import Finding, Level, Situation
from aimemory.errors import AimemoryError
from aimemory.index.connect import check, is_no_room, open_reader, open_writer
from aimemory.index.links import ambiguous_links, broken_links, link_counts, shared_names
from aimemory.index.pages import problems
from aimemory.index.read import read
from aimemory.index.schema import SCHEMA
from aimemory.journal.lines import decode
from aimemory.journal.segments import find_segments
from aimemory.upkeep.backup.scratch import scratch_folder
from aimemory.wiki.mend import can_mend, damage, fault
from aimemory.wiki.mendplace import left_by_a_kill

_GIT_S = 10.0
_TAIL = 1 << 16
_SHOWN = 5
_SMALL = 64 << 20
"""Up to this size, in bytes, an index is compared with itself at once: some seconds."""


def check_stores(situation: Situation) -> Iterator[Finding]:
    data = situation.config.data
    if not data.root.is_dir():
        return
    yield _journal(data.journal, situation)
    index = _database(data.index)
    yield index
    if index.level is Level.OK:
        yield _text(data)
        yield from _pages(data.index)
    yield from _wiki(data.wiki, situation.deep)
    left = left_by_a_kill(data.backups)
    if left:
        yield Finding(
            "stores.mending", Level.WARNING, "A mending of the wiki's repository was cut off.", str(left[0]),
            fix="aimemory restart finishes it, or takes it back.",
        )  # fmt: skip


def _journal(folder: Path, situation: Situation) -> Finding:
    """The last line of the newest segment: that one is written at any moment. And is it the file that is written to?"""
    told = situation.status["journal"] if situation.status else {}
    known = told.get("last_seq", 0)
    segments = find_segments(folder)
    if damage := told.get("damage"):  # also where writing went on in a new segment: what was in the old one is gone
        return _lost(" ".join(damage))
    if not segments and known:
        return _lost(f"{folder}: no segment is there, the daemon's last line is {known:,}")
    if not segments:
        return Finding("stores.journal", Level.NOTE, "The journal is empty.", str(folder))
    path = segments[-1].path
    try:
        if path.suffix == ".gz":
            return Finding("stores.journal", Level.OK, "The journal is sealed.", str(path))
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            lines = file.read().splitlines(keepends=True)
    except OSError as error:
        return Finding(
            "stores.journal", Level.FAILURE, "The journal can't be read.", f"{path}: {error.strerror}",
            fix="Check owner and mode of the file.",
        )  # fmt: skip
    whole = [line for line in lines if line.endswith(b"\n")]
    if not whole:
        return Finding("stores.journal", Level.NOTE, "The newest segment holds no whole line yet.", str(path))
    try:
        line = decode(whole[-1])
    except (AimemoryError, ValueError) as error:
        return Finding(
            "stores.journal", Level.WARNING, "The journal's last line is damaged.", f"{path}: {error}",
            fix="aimemory restart cuts off a torn write; aimemory reindex says what else is damaged",
        )  # fmt: skip
    if line.seq < known:
        return _lost(f"{path}: its last line is {line.seq:,}, the daemon's is {known:,}")
    return Finding("stores.journal", Level.OK, "The journal's last line is whole.", f"line {line.seq:,} in {path}")


def _lost(evidence: str) -> Finding:
    return Finding(
        "stores.journal", Level.FAILURE, "What the daemon acknowledged does not lie in the journal's file: it was "
        "moved, replaced or cut.", evidence, fix="Put the file back where it was if you can, then: aimemory restart",
    )  # fmt: skip


def _text(data: DataDir) -> Finding:
    """Full text against the rows it was made from, on a copy: SQLite's own check needs a write lock."""
    size = data.index.stat().st_size
    if size > _SMALL:
        return Finding(
            "stores.text", Level.OK, "The full text was not compared with its rows: the index is large.",
            f"{size >> 20} MiB; aimemory verify compares it",
        )  # fmt: skip
    try:
        with scratch_folder(data.cache, "doctor") as scratch:
            copy = scratch / "copy.sqlite3"
            with closing(open_reader(data.index)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            with closing(open_writer(copy)) as db:
                problems = check(db)
    except (sqlite3.Error, AimemoryError, OSError) as error:
        if is_no_room(error):
            return Finding(
                "stores.text", Level.NOTE, "The full text was not compared with its rows: a copy of the index finds no "
                "room.", str(error), fix="Free some room on the disk, and look again.",
            )  # fmt: skip
        problems = [str(error)]
    if problems:
        return Finding(
            "stores.text", Level.FAILURE, "The index is damaged: searches miss what is there.", "; ".join(problems),
            fix="aimemory reindex",
        )  # fmt: skip
    return Finding("stores.text", Level.OK, "The full text fits its rows.", f"{size >> 10:,} KiB compared")


def _database(path: Path) -> Finding:
    if not path.exists():
        return Finding("stores.index", Level.NOTE, "There is no index; the next start builds it.", str(path))
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2)) as db:
            schema = db.execute("pragma user_version").fetchone()[0]
            rows = db.execute("select count(*) from page").fetchone()[0]
            db.execute("select rowid from page_fts where page_fts match 'doctor' limit 1").fetchall()
    except sqlite3.Error as error:
        return Finding(
            "stores.index", Level.FAILURE, "The index can't be read.", f"{path}: {error}", fix="aimemory reindex"
        )
    if schema != SCHEMA:
        return Finding(
            "stores.index", Level.WARNING, "The index was made by another version.",
            f"schema {schema}, ours is {SCHEMA}", fix="aimemory restart rebuilds it",
        )  # fmt: skip
    return Finding("stores.index", Level.OK, "The index can be read and searched.", f"{rows:,} pages")


def _pages(path: Path) -> Iterator[Finding]:
    """What people would see as broken in Obsidian: links, front matter, and names that several pages have."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2)) as db:
            counts, broken = read(db, link_counts()), read(db, broken_links(_SHOWN))
            ambiguous, shared = read(db, ambiguous_links(_SHOWN)), read(db, shared_names(_SHOWN))
            faults = read(db, problems(limit=1000))
    except (sqlite3.Error, AimemoryError):  # the check of the index itself says what is wrong
        return
    if counts.broken:
        seen = "; ".join(f"{row.source}: {row.link.raw}" for row in broken)
        yield Finding(
            "stores.links", Level.NOTE, f"{counts.broken:,} of {counts.links:,} links between pages lead nowhere.",
            seen, fix="aimemory links -p '*' lists them",
        )  # fmt: skip
    else:
        yield Finding("stores.links", Level.OK, "No link between pages leads nowhere.", f"{counts.links:,} links")
    if faults:
        seen = "; ".join(f"{page}, {problem}" for page, problem in faults[:_SHOWN])
        yield Finding(
            "stores.front_matter", Level.WARNING,
            f"{len(faults):,} pages have front matter that can't be read as it was meant; their text is found.", seen,
            fix="Correct the line in the file.",
        )  # fmt: skip
    if shared:
        seen = "; ".join(f"{name}: {', '.join(paths)}" for name, paths in shared)
        seen += "".join(f"; {row.source}: {row.link.raw}" for row in ambiguous)
        yield Finding(
            "stores.names", Level.NOTE, "Pages share a name, so a link by it can mean each of them "
            f"({counts.ambiguous:,} links do).", seen, fix="Rename one of them, in Obsidian for instance.",
        )  # fmt: skip


def _wiki(folder: Path, deep: bool) -> Iterator[Finding]:
    if not (folder / ".git").exists():
        yield Finding(
            "stores.wiki", Level.WARNING, "The wiki's git repository is missing: older versions can't be had.",
            str(folder), fix="aimemory restart makes a new one",
        )  # fmt: skip
        return
    lock = folder / ".git" / "index.lock"
    if lock.exists():
        yield Finding(
            "stores.wiki.lock", Level.WARNING, "Another git, or a dead one, holds the wiki's index.", str(lock),
            proven=False, fix=f"If no git runs there: rm {lock}",
        )  # fmt: skip
    why = fault(folder)
    if why is not None:
        what = "The wiki's git repository is broken: nothing sound can be committed. The pages are not affected."
        yield _broken(folder, what, why)
        return
    if deep and (why := damage(folder)) is not None:
        yield _broken(folder, "Older versions of pages are damaged in the wiki's git. The pages are not affected.", why)
        return
    said = _git(folder, "rev-parse", "--verify", "-q", "HEAD")
    if said is None or said.returncode not in (0, 1):
        text = said.stderr.strip() if said is not None else f"git did not answer within {_GIT_S:.0f} s"
        yield Finding("stores.wiki", Level.WARNING, "Git can't read the wiki.", text, fix=f"git -C {folder} fsck")
        return
    how = "is whole" if deep else "can be read"
    yield Finding("stores.wiki", Level.OK, f"The wiki's repository {how}.", said.stdout.strip()[:12])


def _broken(folder: Path, said: str, why: str) -> Finding:
    if not can_mend(folder):
        return Finding(
            "stores.wiki", Level.WARNING, said, why,
            fix=f"Give it back to yourself: chmod -R u+rwX {folder / '.git'}; then look again.",
        )  # fmt: skip
    return Finding(
        "stores.wiki", Level.WARNING, said, why, route="/api/v1/wiki/mend",
        fix="aimemory doctor --fix sets it aside whole and goes on with the history that is all there, or "
        "begins anew, with the files as they are. If you have a clone, put its .git there instead.",
    )  # fmt: skip


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Nothing that the repository or the user has configured takes part."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *arguments]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0", "HOME": "/"}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, env=env, check=False)
    except (subprocess.TimeoutExpired, OSError):
        return None
