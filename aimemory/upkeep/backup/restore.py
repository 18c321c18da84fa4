"""Puts a backup in place: written and checked beside the data directory, then the two change places.

What was there is moved aside, never deleted. What no archive holds (launchers, archives, without secrets our token and
keys) and events that still wait in the spool are taken along from it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from aimemory import points
from aimemory.datadir import AlreadyRunning, DataDir, instance_lock, sync_dir
from aimemory.errors import Conflict, Unavailable, UserError
from aimemory.model.protocols import Clock, instant
from aimemory.model.spool import name_kind
from aimemory.upkeep.backup.archive import Manifest, Progress, extract
from aimemory.upkeep.backup.check import check_restored, require
from aimemory.upkeep.backup.scratch import scratch_folder
from aimemory.upkeep.backup.since import ForgottenSince, forgotten_since
from aimemory.wiki.exchange import exchange

_TAKEN_ALONG = ("bin", "private", "connect.json", "backups", "down")


@dataclass(frozen=True, slots=True)
class Restored:
    """A data directory that was put in place. aside: where what was there lies now. kept: names taken along from it.

    forgotten: what was forgotten there since the backup was made, and is back with it.
    """

    target: Path
    aside: Path | None
    manifest: Manifest
    damage: tuple[str, ...]
    kept: tuple[str, ...]
    forgotten: tuple[ForgottenSince, ...] = ()


def restore_backup(archive: Path, target: Path, *, apply: bool, clock: Clock, progress: Progress) -> Restored:
    """Restore into `target`, which is made if need be. Blocks. Durable on return.

    apply: replace a data directory that holds something. Nothing is changed until the archive is written out and found
    good; a kill leaves the old or the new one in place. The folder `<target>.restore-<time>` that a kill may leave
    beside it holds the other one.
    Raises Conflict when `target` holds something and `apply` is not given; Unavailable while a daemon runs in it, and
    when the disk refuses; UserError for a target that is no data directory, or a newer format; Damaged.
    """
    require(archive)
    target = Path(os.path.realpath(target))
    old = _occupied(target)
    if old and not apply:
        there = _aside(target, clock, "before-restore")
        raise Conflict(
            f"{target} holds data. With --apply it is moved aside, to {there}, and the "
            f"backup takes its place; nothing is deleted. `aimemory backup verify` shows what is in an archive."
        )
    with _alone(target) if old else nullcontext():
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with scratch_folder(target.parent, "restore") as scratch:
                fresh = scratch / "data"
                fresh.mkdir(mode=0o700)
                manifest = extract(archive, fresh, progress)
                damage = check_restored(archive, fresh, manifest, progress)
                kept = _take_along(target, fresh) if old else ()
                forgotten = forgotten_since(target, fresh) if old else ()
                points.reached("restore.written")
                os.sync()  # tens of thousands of small files: asked for one by one it takes minutes
                aside = _put_in_place(fresh, target, clock, is_occupied=old)
        except OSError as error:
            raise Unavailable(
                f"{error.filename or target} can't be written: {error.strerror}. {target} is as it was."
            ) from error
        points.reached("restore.in-place")
        if aside is not None:
            _take_spool_along(aside, target)  # hooks went on until the change-over
    return Restored(target, aside, manifest, damage, kept, forgotten)


def _occupied(target: Path) -> bool:
    """Whether there is a data directory with something in it. Raises UserError for what is something else."""
    try:
        names = {path.name for path in target.iterdir()}
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UserError(f"{target} can't be used: {error.strerror}. Name another directory.") from error
    if names and not {"journal", "wiki"} <= names:
        raise UserError(f"{target} holds other things than aimemory's data. Name another directory.")
    return bool(names)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    try:
        with instance_lock(DataDir(target)):
            yield
    except AlreadyRunning as error:
        raise Unavailable(
            f"A daemon, or another restore, works in {target} (process {error.pid}). Stop it with `aimemory down`, "
            "then restore."
        ) from None


def _aside(target: Path, clock: Clock, what: str) -> Path:
    at = instant(clock.now_ns()).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    free = target.with_name(f"{target.name}.{what}-{at}")
    number = 1
    while free.exists():
        number += 1
        free = target.with_name(f"{target.name}.{what}-{at}-{number}")
    return free


def _put_in_place(fresh: Path, target: Path, clock: Clock, *, is_occupied: bool) -> Path | None:
    """Returns where the old one lies now. At every instant the target is the old one or the new one, where the system
    can exchange names; else there is an instant between two renames."""
    if not is_occupied:
        fresh.replace(target)  # an empty folder in its place is replaced too
        sync_dir(target.parent)
        return None
    other, aside = _aside(target, clock, "restore"), _aside(target, clock, "before-restore")
    fresh.rename(other)  # out of the scratch folder, which is removed
    points.reached("restore.beside")
    if exchange(other, target):
        points.reached("restore.exchanged")
        other.rename(aside)
    else:
        target.rename(aside)
        try:
            other.rename(target)
        except OSError:
            aside.rename(target)
            raise
    sync_dir(target.parent)
    return aside


def _take_along(old: Path, fresh: Path) -> tuple[str, ...]:
    kept = []
    for name in _TAKEN_ALONG:
        source, target = old / name, fresh / name
        if source.is_dir():
            kept += [name] if _merge(source, target) else []
        elif source.is_file() and not target.exists():
            shutil.copy2(source, target, follow_symlinks=False)
            kept.append(name)
    if _take_spool_along(old, fresh):
        kept.append("spool")
    return tuple(kept)


def _merge(source: Path, target: Path) -> bool:
    """Files that the archive doesn't have, as links where that is possible: archives are large. True if any."""
    found = False
    for path in sorted(source.rglob("*")):
        into = target / path.relative_to(source)
        if path.is_symlink() or not path.is_file() or into.exists():
            continue
        into.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.link(path, into)
        except OSError:
            shutil.copy2(path, into)
        found = True
    return found


def _take_spool_along(old: Path, fresh: Path) -> int:
    """Events that nobody has stored yet; one that the archive's journal holds too is known by its identity."""
    source, target = DataDir(old).spool, DataDir(fresh).spool
    names = [path.name for path in source.glob("*.json") if name_kind(path.name) is not None]
    for name in names:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (target / name).exists():
            shutil.copy2(source / name, target / name)
    return len(names)
