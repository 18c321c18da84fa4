"""All checks of a data directory, one after the other."""

import json
from collections.abc import Callable

from aimemory.datadir import DataDir
from aimemory.errors import Damaged, NotFound
from aimemory.model.spool import DROPPED_FILE, REJECTED_FILE, name_kind, read
from aimemory.upkeep.backup.archive import Progress
from aimemory.upkeep.verify.findings import Findings
from aimemory.upkeep.verify.index import check_index
from aimemory.upkeep.verify.journal import check_journal
from aimemory.upkeep.verify.wiki import check_wiki


def verify(data: DataDir, progress: Progress, *, rebuild: bool = True) -> Findings:
    """Look at everything; changes no file but scratch files in `cache/`, which go at the end. Blocks.

    Right beside a running daemon too: what is being written just now is no finding. rebuild: also build an index anew
    and compare. Raises NotFound where there is no data.
    """
    if not data.journal.is_dir():
        raise NotFound(f"{data.root} holds no data of aimemory yet.")
    findings = Findings()
    last_seq = check_journal(data, findings, progress)
    if rebuild and findings.is_damaged:
        rebuild = False  # the index may hold what the journal lost: advice to build it anew would lose it for good
        what = "It was not compared with the journal, which is damaged."
        findings.add("note", "index", "cache/index.sqlite3", what, "Don't reindex before the journal is restored.")
    if data.purge_pending.exists():
        rebuild = False
        what = "Something is being forgotten just now, or that was cut off. The index was not compared."
        findings.add("note", "files", "private/purge.json", what, "`aimemory up` finishes it; then verify again.")
    check_wiki(data, findings, progress)
    check_index(data, last_seq, findings, progress, rebuild=rebuild)
    _check_spool(data, findings)
    _check_files(data, findings)
    return findings


def _check_spool(data: DataDir, findings: Findings) -> None:
    for path in sorted(data.spool.glob("*.json")):
        if name_kind(path.name) is None:
            continue
        findings.counts["spooled"] += 1
        try:
            read(str(path))
        except FileNotFoundError:  # drained meanwhile
            continue
        except Damaged as error:
            do = "The daemon moves it to `spool/rejects`; that event is lost."
            findings.add("damage", "spool", f"spool/{path.name}", str(error), do)
        except OSError as error:
            findings.add(
                "damage", "spool", f"spool/{path.name}", f"It can't be read: {error.strerror}.", "Make it readable."
            )


def _check_files(data: DataDir, findings: Findings) -> None:
    """Small files of ours that must parse."""
    wanted: tuple[tuple[str, str, Callable[[object], bool]], ...] = (
        ("actor.json", "Restore it from a backup, or delete it to become a new machine.", _is_actor),
        ("folders.json", "Nothing is recorded. Correct it, or delete it and repeat `aimemory off`.", _is_object),
        ("connect.json", "Delete it: `disconnect` then removes exactly our entries.", _is_object),
        (f"spool/{DROPPED_FILE}", "Delete it; only a count is lost.", _is_object),
        (f"spool/rejects/{REJECTED_FILE}", "Delete it; only a count is lost.", _is_object),
    )  # fmt: skip
    for name, do, is_right in wanted:
        try:
            if not is_right(json.loads((data.root / name).read_bytes())):
                findings.add("damage", "files", name, "It is JSON, but not what we write.", do)
        except FileNotFoundError:
            continue
        except (ValueError, OSError) as error:
            findings.add("damage", "files", name, f"It can't be read ({type(error).__name__}).", do)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_actor(value: object) -> bool:
    return isinstance(value, dict) and {"user", "machine"} <= value.keys()
