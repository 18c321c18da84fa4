"""Writes planned changes: a backup first, then the file in one step, then the record."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from aimemory.datadir import Changed, DataDir, replace_file, sync_dir, write_atomic
from aimemory.errors import AimemoryError
from aimemory.install.change import Change, Job, Written, digest
from aimemory.install.record import read_record, write_record

_NEW_FILE = 0o600
"""Both vendors write their own files so."""

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one change. backup: where the bytes from before lie. error: why it was not written."""

    change: Change
    backup: Path | None = None
    error: str | None = None


class Applier:
    """Applies the changes of one run; all its backups lie in one folder, named by the run's start."""

    def __init__(self, data: DataDir, now: datetime) -> None:
        self._data = data
        self._folder = data.connect_backups / now.strftime("%Y%m%dT%H%M%S.%fZ")

    def apply(self, job: Job, change: Change) -> Done:
        """Write one change; planned again when somebody wrote meanwhile. Never raises for what the disk does."""
        for _ in range(_TRIES):
            if change.action in ("refuse", "none"):
                return Done(change)
            try:
                return self._written(job, change)
            except Changed:
                change = job.plan()
            except (OSError, AimemoryError) as error:
                return Done(change, error=_reason(error))
        return Done(change, error=f"Somebody else keeps writing it. Close {job.agent.title}, then run this again.")

    def _written(self, job: Job, change: Change) -> Done:
        backup = self._back_up(change)
        target = change.target
        if change.after is None:
            self._removed(target, change.before)
            self._forget(job, change)
            return Done(change, backup)
        folders = _made(target.parent)
        try:
            replace_file(target, change.after, expected=change.before, mode=_NEW_FILE)
        except BaseException:
            _remove_empty(folders)
            raise
        try:
            self._remember(job, change, backup, folders)
        except OSError as error:
            return Done(change, backup, f"It was written, but {self._data.connect_record} was not: {error.strerror}.")
        return Done(change, backup)

    def _back_up(self, change: Change) -> Path | None:
        if change.before is None:
            return None
        folder = self._folder / change.agent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for own in (self._folder, self._data.connect_backups, self._data.connect_backups.parent):
            own.chmod(0o700)
        backup = folder / change.path.name.lstrip(".")
        write_atomic(backup, change.before)
        return backup

    def _removed(self, target: Path, expected: bytes | None) -> None:
        if target.read_bytes() != expected:
            raise Changed(f"{target} was changed just now.")
        target.unlink()
        sync_dir(target.parent)

    def _remember(self, job: Job, change: Change, backup: Path | None, folders: tuple[str, ...]) -> None:
        files = read_record(self._data.connect_record)
        path, after = str(change.path), digest(change.after or b"")
        earlier = files.get(path)
        if job.removing:
            files.pop(path, None)
        elif earlier and change.before is not None and digest(change.before) == earlier.after:
            parts = tuple(dict.fromkeys((*earlier.parts, *change.parts)))
            files[path] = replace(earlier, after=after, parts=parts)
        else:
            files[path] = Written(
                after=after,
                original=str(backup) if backup else None,
                original_hash=digest(change.before) if change.before is not None else None,
                is_restorable=not job.holds_ours(change.before),
                parts=change.parts,
                made=change.before is None or (earlier is not None and earlier.made),
                folders=_ours_above(change.target, files, folders),
                empties=change.empties or (earlier.empties if earlier else ()),
            )
        write_record(self._data.connect_record, files)

    def _forget(self, job: Job, change: Change) -> None:
        files = read_record(self._data.connect_record)
        written = files.pop(str(change.path), None)
        write_record(self._data.connect_record, files)
        _remove_empty(written.folders if written else ())


def _made(folder: Path) -> tuple[str, ...]:
    """Make a directory; returns those that were missing, outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    return tuple(str(path) for path in reversed(missing))


def _ours_above(target: Path, files: dict[str, Written], made: tuple[str, ...]) -> tuple[str, ...]:
    """Directories above a file that were made just now or for another file of ours, outermost first."""
    ours = {*made, *(folder for written in files.values() for folder in written.folders)}
    return tuple(str(path) for path in reversed(target.parents) if str(path) in ours)


def _remove_empty(folders: tuple[str, ...]) -> None:
    for folder in reversed(folders):
        try:
            Path(folder).rmdir()
        except OSError:  # somebody uses it
            return


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "It can't be written: permission denied. Its folder must be writable, and its owner be you."
    if isinstance(error, OSError):
        return f"It can't be written: {error.strerror or error}. It is as it was."
    return str(error)
