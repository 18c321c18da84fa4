"""Every path below the data directory, and every operating-system call that differs by platform.

Owns modes, the instance lock, atomic replacement and sync. Standard library only: the hook client uses it.
"""

import errno
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from aimemory import points
from aimemory.errors import Conflict, Damaged, Unavailable, UserError

_SUN_PATH_BYTES = 100
"""Unix socket paths are limited to 104 (BSD, macOS) or 108 bytes (Linux); stay below both."""


class DataDir:
    """The data directory; nothing else joins path segments below it."""

    def __init__(self, root: Path, runtime_dir: str | None = None) -> None:
        self.root = root
        self._runtime_dir = runtime_dir
        self.wiki: Path = root / "wiki"
        self.journal: Path = root / "journal"
        self.private: Path = root / "private"
        self.token_file: Path = root / "private" / "token"
        self.bin: Path = root / "bin"
        self.hook_launcher: Path = root / "bin" / "hook"
        self.mcp_launcher: Path = root / "bin" / "mcp"
        self.cache: Path = root / "cache"
        self.index: Path = root / "cache" / "index.sqlite3"
        self.vectors: Path = root / "cache" / "vectors.sqlite3"
        self.verified: Path = root / "cache" / "verified.json"
        self.spool: Path = root / "spool"
        self.rejects: Path = root / "spool" / "rejects"
        self.deeds: Path = root / "spool" / "deeds"
        self.breaker: Path = root / "spool" / ".breaker"
        self.start_attempt: Path = root / "spool" / ".start-attempt"
        self.logs: Path = root / "logs"
        self.log_file: Path = root / "logs" / "daemon.log"
        self.endpoint: Path = root / "endpoint"
        self.lock_file: Path = root / "lock"
        self.down_marker: Path = root / "down"
        self.actor_file: Path = root / "actor.json"
        self.config: Path = root / "config.toml"
        self.connect_record: Path = root / "connect.json"
        self.backups: Path = root / "backups"
        self.connect_backups: Path = root / "backups" / "connect"
        self.folders_file: Path = root / "folders.json"
        self.privacy_file: Path = root / "bin" / "privacy.json"
        self.edits: Path = root / "edits"
        self.conflicts: Path = root / "conflicts"
        self.embeddings_key: Path = root / "private" / "embeddings-key"
        self.forget_key: Path = root / "private" / "forget"
        self.purge_pending: Path = root / "private" / "purge.json"

    @property
    def socket(self) -> Path:
        """The Unix socket: `<data>/socket`, or a short path when that is too long for the kernel."""
        here = self.root / "socket"
        if len(os.fsencode(here)) <= _SUN_PATH_BYTES:
            return here
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        base = Path(self._runtime_dir) if self._runtime_dir else Path(tempfile.gettempdir()) / f"aimemory-{os.getuid()}"
        return base / f"aimemory-{name}" / "socket"

    def create(self) -> list[str]:
        """Make what is missing and tighten looser modes to 0700; returns the paths that were tightened.

        Raises UserError if the root is not a directory of ours.
        """
        tightened = []
        socket_parent = self.socket.parent
        fallback = [socket_parent.parent] if not self._runtime_dir and socket_parent != self.root else []
        for path in (
            self.root, self.wiki, self.journal, self.private, self.bin, self.cache, self.spool, self.rejects, self.logs,
            *fallback, socket_parent,
        ):  # fmt: skip
            try:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                found = path.stat()
            except PermissionError as error:
                raise UserError(
                    f"{path} can't be created or read: {error.strerror}. Choose another data directory."
                ) from error
            except FileNotFoundError as error:
                raise UserError(f"{path} can't be created here. Choose another data directory.") from error
            except (FileExistsError, NotADirectoryError) as error:
                raise UserError(
                    f"{error.filename} is not a directory. Move it away or choose another data directory."
                ) from error
            if found.st_uid != os.getuid():
                raise UserError(f"{path} belongs to another user (uid {found.st_uid}). Choose another data directory.")
            if stat.S_IMODE(found.st_mode) & 0o077:
                path.chmod(0o700)
                tightened.append(str(path))
        return tightened


def default_root(env: Mapping[str, str], platform_dir: str) -> Path:
    """`AIMEMORY_DATA_DIR`, else the platform's directory for application data; always absolute.

    Raises UserError for a relative path: hooks run in other directories.
    """
    given = env.get("AIMEMORY_DATA_DIR")
    if not given:
        return Path(platform_dir)
    path = Path(given).expanduser()
    if not path.is_absolute():
        raise UserError(f"AIMEMORY_DATA_DIR is {given!r}, which is relative. Give an absolute path.")
    return path


# -- durable files ---------------------------------------------------------------------------------------------------


def sync_fd(fd: int) -> None:
    """Make the data of an open file durable."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:  # macOS: fsync does not reach the platter, F_FULLFSYNC does
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is None:
            os.fsync(fd)
        else:
            fcntl.fcntl(fd, full)


def sync_dir(path: Path) -> None:
    """Make names in a directory durable (a new file, a rename, a removal)."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


TEMP_PREFIX = ".aimemory-tmp-"


def write_atomic(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace `path` by `content` so that a reader or a crash sees the old file or the new one, never a part."""
    fd, temp = tempfile.mkstemp(prefix=TEMP_PREFIX, dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        points.reached("file.temp-synced")
        Path(temp).replace(path)
    except BaseException:
        Path(temp).unlink(missing_ok=True)
        raise
    points.reached("file.named")
    sync_dir(path.parent)


class Changed(Conflict):
    """A file is no longer what it was when its new content was made."""


def replace_file(path: Path, content: bytes, *, expected: bytes | None, mode: int) -> None:
    """Replace somebody else's file in one step, if it still holds `expected` (None: does not exist) right before.

    Mode, owner and extended attributes of an existing file are kept; `mode` is for a new one. Nothing is left beside it
    by a full disk or a kill: the new content has no name until it is complete. `path` must not be a link.
    Raises Changed, OSError.
    """
    remove_leftovers(path.parent)
    old = _stat_or_none(path)
    fd, name = _nameless(path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            _dress(file.fileno(), path, old, mode)
            os.fsync(file.fileno())
            if _content_or_none(path) != expected:
                raise Changed(f"{path} was changed by somebody else just now. Run the command again.")
            if name is None:
                name = path.parent / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
                _give_name(file.fileno(), name)
            name.replace(path)
    except BaseException:
        if name is not None:
            name.unlink(missing_ok=True)
        raise
    sync_dir(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Temporary files of ours that a kill between two system calls has left, older than a minute."""
    for path in folder.glob(f"{TEMP_PREFIX}*"):
        try:
            if time.time() - path.lstat().st_mtime > 60:
                path.unlink()
        except OSError:
            continue


def _nameless(folder: Path) -> tuple[int, Path | None]:
    """A file without a name in that folder, or a temporary one where the system knows no such thing."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").exists():
        try:
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600), None
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
    fd, temp = tempfile.mkstemp(prefix=TEMP_PREFIX, dir=folder)
    return fd, Path(temp)


def _give_name(fd: int, name: Path) -> None:
    """Only with a directory's descriptor does Python follow the link in /proc."""
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{fd}", name.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _dress(fd: int, path: Path, old: os.stat_result | None, mode: int) -> None:
    """Owner, mode and extended attributes of the file that is replaced. Raises OSError if the owner can't be kept."""
    if old is None:
        os.fchmod(fd, mode)
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
    for name in os.listxattr(path) if hasattr(os, "listxattr") else ():
        try:
            os.setxattr(fd, name, os.getxattr(path, name))
        except OSError:  # security labels are the system's to give
            continue


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _content_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


# -- the instance lock -----------------------------------------------------------------------------------------------


_LOCK_TRIES = 10
_LOCK_PAUSE_S = 0.02


class AlreadyRunning(Unavailable):
    """Another daemon holds this data directory; `pid` is what it wrote into the lock file, if readable."""

    def __init__(self, root: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"A daemon already owns {root}: {who}. `aimemory status` shows it, `aimemory down` stops it.")
        self.pid = pid


@contextmanager
def instance_lock(data: DataDir) -> Iterator[None]:
    """Hold the data directory for the length of the block.

    The kernel drops the lock with the process, so a left-over file or a recycled pid never counts.
    Raises AlreadyRunning.
    """
    fd = os.open(data.lock_file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        try:
            _lock(fd)
        except BlockingIOError:
            raise AlreadyRunning(data.root, _pid_in(fd)) from None
        except OSError as error:
            raise Damaged(f"{data.lock_file} can't be locked: {error.strerror}. Is it on a network share?") from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    """Take the lock; somebody who only looks (`lock_holder`) has it for an instant, so refuse not at the first try."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_holder(data: DataDir) -> int | None:
    """Pid of the daemon that owns the data directory, or None when nobody does (0: somebody, pid unreadable)."""
    try:
        fd = os.open(data.lock_file, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(fd) or 0
    finally:
        os.close(fd)
    return None


def _pid_in(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
