"""The data directory from outside: modes, room, marks, what waits in the spool."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from aimemory.datadir import DataDir, lock_holder
from aimemory.doctor.finding import Finding, Level, Situation

_MIN_FREE = 500 << 20
_MIN_FREE_INODES = 10_000
_OLD_SPOOL_NS = 300_000_000_000


def check_files(situation: Situation) -> Iterator[Finding]:
    data = situation.config.data
    if situation.config_problem:
        yield Finding(
            "files.settings", Level.FAILURE, "The settings can't be used, so the daemon won't start.",
            situation.config_problem, fix="Correct the file, or move it away to run with defaults.",
        )  # fmt: skip
    if not data.root.is_dir():
        yield Finding("files.data", Level.NOTE, "There is no data directory yet.", str(data.root), fix="aimemory up")
        return
    yield from _modes(data)
    yield _writable(data)
    yield _room(data)
    yield from _lock(data, situation)
    yield from _spool(data, situation)
    yield from _rejects(data)
    yield from _launchers(data)


def _modes(data: DataDir) -> Iterator[Finding]:
    loose = [path for path in (data.root, data.private, data.journal, data.wiki) if path.is_dir() and _is_loose(path)]

    def tighten() -> None:
        for path in loose:
            path.chmod(0o700)

    if loose:
        names = ", ".join(f"{path} {stat.S_IMODE(path.stat().st_mode):04o}" for path in loose)
        yield Finding(
            "files.modes", Level.WARNING, "Others on this machine can read the memory.", names,
            fix=f"chmod 700 {' '.join(map(str, loose))}", repair=tighten,
        )  # fmt: skip
    else:
        yield Finding("files.modes", Level.OK, "Only you can read the memory.", f"{data.root} 0700")


def _is_loose(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _writable(data: DataDir) -> Finding:
    """By writing: a mode says nothing of a read-only mount."""
    probe = data.root / ".doctor"
    try:
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        return Finding(
            "files.writable", Level.FAILURE, "Nothing can be written into the data directory.",
            f"{probe}: {error.strerror}", fix="Make the disk writable, or free some room on it.",
        )  # fmt: skip
    return Finding("files.writable", Level.OK, "The data directory can be written to.")


def _room(data: DataDir) -> Finding:
    found = os.statvfs(data.root)
    free = found.f_bavail * found.f_frsize
    seen = f"{free >> 20:,} MiB free at {data.root}"
    few = found.f_files and found.f_favail < _MIN_FREE_INODES
    if free < _MIN_FREE or few:
        what = "files" if few else "room"
        return Finding(
            "files.room", Level.WARNING, f"The disk has little {what} left.", seen, fix="Free some room on it."
        )
    return Finding("files.room", Level.OK, "The disk has room.", seen)


def _lock(data: DataDir, situation: Situation) -> Iterator[Finding]:
    holder = lock_holder(data)
    if situation.status is None and holder is not None:
        yield Finding(
            "files.lock", Level.FAILURE, "A process holds the data directory, but no daemon answers.",
            f"process {holder}, {data.lock_file}", fix=f"kill {holder}, then: aimemory up",
        )  # fmt: skip
    if situation.status is None and data.down_marker.exists():
        yield Finding(
            "files.down", Level.NOTE, "The daemon was stopped by `aimemory down`; hooks keep events in the spool.",
            str(data.down_marker), fix="aimemory up",
        )  # fmt: skip


def _spool(data: DataDir, situation: Situation) -> Iterator[Finding]:
    waiting = sorted(data.spool.glob("*.json")) if data.spool.is_dir() else []
    old = [path for path in waiting if situation.now_ns - _written(path) > _OLD_SPOOL_NS]
    if situation.status is not None and old:
        yield Finding(
            "files.spool", Level.WARNING, f"{len(old)} undelivered events wait although the daemon answers.",
            str(old[0]), fix="aimemory restart; if they stay, look at `aimemory status`",
        )  # fmt: skip
    elif waiting:
        yield Finding("files.spool", Level.NOTE, f"{len(waiting)} events wait in the spool.", str(data.spool))
    else:
        yield Finding("files.spool", Level.OK, "No event waits in the spool.")


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # delivered meanwhile
        return 1 << 62


def _rejects(data: DataDir) -> Iterator[Finding]:
    files = sorted(data.rejects.glob("*")) if data.rejects.is_dir() else []
    if not files:
        return
    yield Finding(
        "files.rejects", Level.NOTE, f"{len(files)} files hold events that could not be understood.",
        f"{files[-1]}: {_reason(files[-1])}", fix=f"Read them, then remove them: {data.rejects}",
    )  # fmt: skip


def _reason(path: Path) -> str:
    try:
        found = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return "see there"
    return str(found.get("reason", "see there")) if isinstance(found, dict) else "see there"


def _launchers(data: DataDir) -> Iterator[Finding]:
    for path in (data.hook_launcher, data.mcp_launcher):
        if not os.access(path, os.X_OK):
            yield Finding(
                "files.launchers", Level.FAILURE, "A launcher that agents' settings name is missing or can't be run.",
                str(path), fix="aimemory restart",
            )  # fmt: skip
            return
    yield Finding("files.launchers", Level.OK, "The launchers are in place.", str(data.bin))
