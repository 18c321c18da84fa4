"""The data directory from outside: modes, room, marks, what waits in the spool."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.doctor.finding import Finding, Level, Situation
from aimemory.doctor.launchers import check_launchers
from aimemory.model.spool import MAX_FILE_BYTES
from aimemory.upkeep.disk import measure, size_text

_MIN_FREE = 500 << 20
_MIN_FREE_INODES = 10_000
_OLD_SPOOL_NS = 300_000_000_000
_LOOKED = 5_000
_LAST_BYTES = 64 << 10


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
    yield _owner(data)
    yield _writable(data)
    yield _room(data)
    yield _budget(situation)
    yield from _down(data, situation)
    yield from _spool(data, situation)
    yield from _rejects(data)
    yield from check_launchers(situation)


def _modes(data: DataDir) -> Iterator[Finding]:
    looked = [data.root, data.private, data.journal, data.wiki]
    if data.private.is_dir():
        looked += sorted(data.private.iterdir())
    loose = [path for path in looked if path.exists() and _is_loose(path)]

    def tighten() -> None:
        for path in loose:
            path.chmod(0o700 if path.is_dir() else 0o600)

    if loose:
        names = ", ".join(f"{path} {stat.S_IMODE(path.stat().st_mode):04o}" for path in loose)
        yield Finding(
            "files.modes", Level.WARNING, "Others on this machine can read the memory.", names,
            fix=f"chmod go= {' '.join(map(str, loose))}", repair=tighten,
        )  # fmt: skip
    else:
        yield Finding("files.modes", Level.OK, "Only you can read the memory.", f"{data.root} 0700")


def _is_loose(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _folders(data: DataDir) -> list[Path]:
    places = (data.root, data.wiki, data.journal, data.private, data.cache, data.spool, data.logs, data.bin)
    return [path for path in places if path.is_dir()]


def _owner(data: DataDir) -> Finding:
    """A run with `sudo` leaves files that the daemon can't write to later."""
    looked = [*_folders(data), data.lock_file, data.token_file, data.index, *sorted(data.journal.glob("*/*/*"))[-1:]]
    foreign = [path for path in looked if path.exists() and path.stat().st_uid != os.getuid()]
    if foreign:
        return Finding(
            "files.owner", Level.FAILURE, "Something in the data directory belongs to another user.",
            f"{foreign[0]} belongs to uid {foreign[0].stat().st_uid}",
            fix=f"sudo chown -R {os.getuid()} {data.root}",
        )  # fmt: skip
    return Finding("files.owner", Level.OK, "The data directory is yours.", f"uid {os.getuid()}")


def _writable(data: DataDir) -> Finding:
    """By writing, in each folder: a mode says nothing of a read-only mount, and a folder may be one."""
    for folder in _folders(data):
        probe = folder / ".doctor"
        try:
            probe.write_bytes(b"x" * 4096)
        except OSError as error:
            return Finding(
                "files.writable", Level.FAILURE, "Not everything in the data directory can be written to.",
                f"{folder}: {error.strerror}", fix="Make the disk writable, or free some room on it.",
            )  # fmt: skip
        finally:
            try:
                probe.unlink(missing_ok=True)
            except OSError:
                pass
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


def _budget(situation: Situation) -> Finding:
    """Looked at anew: the daemon's own look may be ten minutes old, or there is no daemon."""
    config = situation.config
    folder = Path(config.backup.folder) if config.backup.folder else None
    usage = measure(config.data.root, config.storage.budget, folder)
    seen = ", ".join(f"{name} {size_text(size)}" for name, size in usage.parts.items() if size)
    if usage.is_much:
        of = f"{size_text(usage.total)} of its {size_text(usage.budget)}"
        return Finding(
            "files.budget", Level.WARNING, f"The memory takes {of}; nothing is deleted by itself.", seen,
            fix="Raise [storage] budget, remove old backups, or: aimemory forget",
        )  # fmt: skip
    return Finding("files.budget", Level.OK, f"The memory takes {size_text(usage.total)}.", seen)


def _down(data: DataDir, situation: Situation) -> Iterator[Finding]:
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
    stuck = [(path, why) for path in waiting[:_LOOKED] if (why := _unreadable(path))]
    if stuck:
        yield Finding(
            "files.spool.unread", Level.WARNING, f"{len(stuck):,} files in the spool can't be read as events.",
            f"{stuck[0][0]}: {stuck[0][1]}", fix=f"Make them yours and readable, or remove them: {data.spool}",
        )  # fmt: skip


def _unreadable(path: Path) -> str | None:
    """Why a file of the spool can't be taken in, without reading it."""
    try:
        found = path.lstat()
    except OSError:  # delivered meanwhile
        return None
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if found.st_size > MAX_FILE_BYTES:
        return f"it has {found.st_size:,} bytes, which no event has"
    return None if os.access(path, os.R_OK) else "no permission"


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # delivered meanwhile
        return 1 << 62


def _rejects(data: DataDir) -> Iterator[Finding]:
    files = sorted(path for path in data.rejects.glob("*") if path.name[0] != ".") if data.rejects.is_dir() else []
    if not files:
        return
    yield Finding(
        "files.rejects", Level.NOTE, f"{len(files)} files hold events that could not be understood.",
        f"{files[-1]}: {_reason(files[-1])}", fix=f"Read them, then remove them: {data.rejects}",
    )  # fmt: skip


def _reason(path: Path) -> str:
    """What the newest line says; of a file that may be anything."""
    if not path.is_file():
        return "see there"
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LAST_BYTES))
            found = json.loads(file.read(_LAST_BYTES).decode("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return "see there"
    return str(found.get("reason", "see there")) if isinstance(found, dict) else "see there"
