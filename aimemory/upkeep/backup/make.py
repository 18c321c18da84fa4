"""Makes a backup: a consistent copy, checked, given its name in one step; and removes older automatic ones."""

import hashlib
import os
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from aimemory import __version__, points
from aimemory.config import Config
from aimemory.datadir import DataDir, sync_dir
from aimemory.errors import Conflict, NotFound, Unavailable, UserError
from aimemory.journal.replay import replay
from aimemory.model.protocols import Clock, instant, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.upkeep.backup.archive import Manifest, Moved, Progress, Writer
from aimemory.upkeep.backup.check import check_archive
from aimemory.upkeep.backup.contents import GIT
from aimemory.upkeep.backup.copying import Copying
from aimemory.upkeep.backup.scratch import scratch_file

SUFFIX = ".tar.gz"
_ATTEMPTS = 3
_SUFFIXES = (".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True)
class Made:
    """A finished backup. verified: whether it was restored and compared. damage: of the original, and so in the copy.

    removed: names of older automatic backups that `keep` removed.
    """

    file: Path
    bytes: int
    sha256: str
    manifest: Manifest
    verified: bool
    damage: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for. target: a folder, a file that doesn't exist yet, or None for the data directory's own folder.

    keep: makes it an automatic backup, of which so many are kept in its folder; None for one that stays.
    """

    target: Path | None = None
    with_secrets: bool = False
    verify: bool = True
    keep: int | None = None


def make_backup(config: Config, actor: Actor, clock: Clock, wanted: Wanted, progress: Progress) -> Made:
    """Make one. Reads the data directory and takes no lock: a daemon may run, start and stop meanwhile. Blocks.

    The archive has mode 0600 and its name only when it is whole, synced and checked; a failure leaves nothing.
    Raises UserError for a target that can't be, Conflict when it exists, Unavailable when the disk refuses or the data
    directory changes faster than it can be read, Damaged when the archive isn't what was written.
    """
    if wanted.keep is not None and not wanted.verify:
        raise UserError("--keep removes older backups, so the new one must be checked. Leave out --no-verify.")
    if not config.data.journal.is_dir():
        raise NotFound(f"{config.data.root} holds no data of aimemory yet.")
    folder, name = _place(config, wanted)
    with scratch_file(folder, "backup") as (fd, temp):
        try:
            manifest = _written(fd, config, actor, clock, wanted, progress)
            os.fsync(fd)
        except OSError as error:
            raise Unavailable(
                f"{folder} can't be written: {error.strerror}. Make room or name another place."
            ) from error
        points.reached("backup.written")
        damage = check_archive(temp, progress).damage if wanted.verify else ()
        size, digest = os.fstat(fd).st_size, _sha256(temp)
        _refuse_forgotten(config.data, manifest.seq)
        if name is not None:
            file = folder / name
            _publish(temp, file)
        else:
            file = _publish_as_free(temp, folder, _name(manifest, actor, clock, is_automatic=wanted.keep is not None))
        try:  # a purge that was decided since then looks for archives after that; one before is seen here
            _refuse_forgotten(config.data, manifest.seq)
        except Unavailable:
            file.unlink(missing_ok=True)
            raise
    removed = _prune(folder, actor, wanted.keep, file.name) if wanted.keep is not None else ()
    return Made(file, size, digest, manifest, wanted.verify, damage, removed)


def _place(config: Config, wanted: Wanted) -> tuple[Path, str | None]:
    """The folder, and the file's name where it was given."""
    data = config.data
    if wanted.target is None:
        data.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        return data.backups, None
    target = wanted.target
    if wanted.keep is not None and not target.is_dir():
        raise UserError(f"There is no folder {target}. Make it, or attach the disk; with --keep a folder is needed.")
    folder, name = (target, None) if target.is_dir() else (target.parent, target.name)
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Make it, or name another place.")
    if name is not None and not name.lower().endswith(_SUFFIXES) and not target.exists():
        raise UserError(
            f"There is no folder {target}. Make it, or attach the disk; the name of a file ends in .tar.gz or .tgz."
        )
    inside = folder.resolve()
    root = data.root.resolve()
    if inside.is_relative_to(root) and not inside.is_relative_to(data.backups.resolve()):
        raise UserError(
            f"{folder} is inside the data directory and would end up in the next backup. Choose another place."
        )
    if name is not None and target.exists():
        raise Conflict(f"{target} exists already and was left as it is. Choose another name.")
    return folder, name


def _written(fd: int, config: Config, actor: Actor, clock: Clock, wanted: Wanted, progress: Progress) -> Manifest:
    """The archive's content in the open file, from its start."""
    for _ in range(_ATTEMPTS):
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        with os.fdopen(os.dup(fd), "wb") as file, closing(Writer(file)) as writer:
            copying = Copying(config.data, writer, progress, with_secrets=wanted.with_secrets)
            try:
                copying.run()
            except Moved:
                continue
            moved_config = _add_config(config, writer)
            manifest = Manifest(
                made_at=rfc3339_local(clock.now_ns()), version=__version__, user=actor.user, machine=actor.machine,
                seq=copying.seq, branch=_branch(config.data.root / GIT), with_secrets=wanted.with_secrets,
                config_from=moved_config, counts=copying.counts(), skipped=sorted(copying.skipped), files=writer.files,
            )  # fmt: skip
            writer.finish(manifest)
            return manifest
    raise Unavailable("The wiki's repository or the journal was rewritten during each of three attempts. Try again.")


def _refuse_forgotten(data: DataDir, seq: int) -> None:
    """Raises Unavailable where something was forgotten since the copy was taken, which is in it as it was."""
    if data.purge_pending.exists() or any(
        line.type == "purge" for line in replay(data.journal, seq, lambda what: None)
    ):
        raise Unavailable("Something was forgotten while the backup was made, and would be in it. Make it again.")


def _add_config(config: Config, writer: Writer) -> str | None:
    """Settings that lie elsewhere (`AIMEMORY_CONFIG`), in the place of the data directory's own."""
    source = config.source
    if source is None or source.resolve() == config.data.config.resolve():
        return None
    with source.open("rb") as file:
        writer.add(config.data.config.name, file, os.fstat(file.fileno()))
    return str(source)


def _branch(git: Path) -> str | None:
    try:
        text = (git / "HEAD").read_text("ascii").strip()
        return text.removeprefix("ref: ") or None
    except (OSError, UnicodeDecodeError):
        return None


def _name(manifest: Manifest, actor: Actor, clock: Clock, *, is_automatic: bool) -> str:
    at = instant(clock.now_ns()).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"aimemory-{'auto-' if is_automatic else ''}{actor.machine}-{at}-{manifest.seq}"


def _publish_as_free(temp: Path, folder: Path, stem: str) -> Path:
    """Under this name, or with a number if there was one in the same second."""
    for number in range(2, 1000):
        file = folder / f"{stem}{SUFFIX}"
        try:
            _publish(temp, file)
            return file
        except Conflict:
            stem = f"{stem.removesuffix(f'.{number - 1}')}.{number}"
    raise Conflict(f"{folder} holds a thousand backups of this second. Name another place.")


def _publish(temp: Path, file: Path) -> None:
    """Give the archive its name, if nobody has it."""
    try:
        os.link(temp, file, follow_symlinks=False)
    except FileExistsError:
        raise Conflict(f"{file} exists already and was left as it is. Choose another name.") from None
    except OSError:  # a file system without hard links
        if file.exists():
            raise Conflict(f"{file} exists already and was left as it is. Choose another name.") from None
        temp.rename(file)
    points.reached("backup.named")
    sync_dir(file.parent)


def automatic_names(folder: Path, machine: str) -> list[str]:
    """Archives that `keep` made of this machine's data directory, oldest first. Raises OSError."""
    ours = re.compile(rf"aimemory-auto-{re.escape(machine)}-\d{{8}}T\d{{6}}Z-\d+(\.\d+)?{re.escape(SUFFIX)}")
    return sorted(path.name for path in folder.iterdir() if ours.fullmatch(path.name))


def _prune(folder: Path, actor: Actor, keep: int, newest: str) -> tuple[str, ...]:
    """Remove the oldest automatic backups of this machine's data directory in the folder; the new one always stays."""
    older = [name for name in reversed(automatic_names(folder, actor.machine)) if name != newest]
    gone = older[max(0, keep - 1) :]
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    sync_dir(folder)
    return tuple(sorted(gone))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
