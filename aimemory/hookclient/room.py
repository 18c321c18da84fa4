"""Keeps the spool and the folder of rejects within their bounds, and counts what that costs.

A running tally tells when to look, so that an event costs no listing of a spool that may hold 700,000 files.
"""

import json
import os
import time

from aimemory.model.spool import event_kind, eviction_order, name_at_ns, name_kind

TEMP_PREFIX = ".aimemory-tmp-"
_TALLY = ".tally"
_DAY_NS = 86_400 * 10**9
_LOCK_WAIT_S = 5.0
_LEAVE = 0.9
"""A sweep goes down to this part of the bound, so that the next one is many events away."""


class Limits:
    """Bound of one folder; `counts` is the file that counts what was forced out, by kind."""

    __slots__ = ("age_ns", "counts", "limit_bytes")

    def __init__(self, limit_bytes: int, age_days: int, counts: str) -> None:
        self.limit_bytes = limit_bytes
        self.age_ns = age_days * _DAY_NS
        self.counts = counts


def make_room(folder: str, new_bytes: int, event: str, now_ns: int, limits: Limits) -> bool:
    """Call before writing `new_bytes` into the folder; False when so much never fits (counted as forced out).

    The tally counts before the write and knows nothing of the daemon's draining, so it may say too much, which costs
    a sweep, and never too little.
    """
    if new_bytes > limits.limit_bytes:
        add_counts(folder, limits.counts, {event_kind(event): 1})
        return False
    fd = os.open(f"{folder}/{_TALLY}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(fd)
        total, swept_ns = _read_tally(fd)
        if total + new_bytes > limits.limit_bytes or not 0 <= now_ns - swept_ns < _DAY_NS:
            total, forced_out = _sweep(folder, new_bytes, now_ns, limits)
            swept_ns = now_ns
            _write_counts(f"{folder}/{limits.counts}", forced_out)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps([total + new_bytes, swept_ns]).encode("ascii"), 0)
    finally:
        os.close(fd)
    return True


def add_counts(folder: str, counts: str, more: dict[str, int]) -> None:
    """Add to a file of counts, safe against other hooks doing the same."""
    fd = os.open(f"{folder}/{_TALLY}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(fd)
        _write_counts(f"{folder}/{counts}", more)
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    """Wait for the lock of the folder; go on without it when its holder seems stuck: worst is a count that is off."""
    until = time.monotonic() + _LOCK_WAIT_S
    while time.monotonic() < until:
        try:
            os.lockf(fd, os.F_TLOCK, 0)
            return
        except OSError:
            time.sleep(0.01)


def _read_tally(fd: int) -> tuple[int, int]:
    """Bytes in the folder and the time of the last sweep; zeros, which ask for a sweep, where there is none."""
    try:
        total, swept_ns = json.loads(os.pread(fd, 128, 0))
        return int(total), int(swept_ns)
    except (ValueError, TypeError, OverflowError):  # 1e999 is a number to JSON
        return 0, 0


def _sweep(folder: str, new_bytes: int, now_ns: int, limits: Limits) -> tuple[int, dict[str, int]]:
    """Remove what is too old, then what is too much; returns the bytes that stay and the counts by kind."""
    sizes: dict[str, int] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
                if name_kind(entry.name):
                    sizes[entry.name] = found.st_size
                elif entry.name.startswith(TEMP_PREFIX) and now_ns - found.st_mtime_ns > _DAY_NS:
                    os.unlink(entry.path)  # left by a child that was killed
            except FileNotFoundError:  # drained meanwhile
                pass
    total = sum(sizes.values())
    too_much = total + new_bytes > limits.limit_bytes
    forced_out: dict[str, int] = {}
    for name in eviction_order(sizes):
        too_old = now_ns - name_at_ns(name) > limits.age_ns
        if too_old or (too_much and total + new_bytes > limits.limit_bytes * _LEAVE):
            total -= sizes[name]
            kind = name_kind(name) or "other"
            try:
                os.unlink(f"{folder}/{name}")
                forced_out[kind] = forced_out.get(kind, 0) + 1
            except OSError:  # drained meanwhile, or no file: the daemon deals with it
                pass
    return total, forced_out


def _write_counts(path: str, more: dict[str, int]) -> None:
    """Add to the counts; the folder's lock is held. A damaged file starts anew."""
    if not more:
        return
    try:
        with open(path, encoding="ascii") as file:
            counts = json.load(file)
        counts = {str(key): int(value) for key, value in counts.items()}
    except (OSError, ValueError, AttributeError, TypeError, OverflowError):
        counts = {}
    for key, number in more.items():
        counts[key] = counts.get(key, 0) + number
    write_durable(path, json.dumps(counts, sort_keys=True).encode("ascii"))


def write_durable(path: str, content: bytes) -> None:
    """Temp file, sync, rename, sync of the folder; mode 0600. Not `datadir.write_atomic`, whose imports (`tempfile`,
    `pathlib`) cost this child as much as all its work. Raises OSError, and leaves nothing behind then."""
    folder, name = path.rsplit("/", 1)
    temp = f"{folder}/{TEMP_PREFIX}{os.getpid()}-{name}"
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.replace(temp, path)
    except BaseException:
        try:
            os.unlink(temp)
        except OSError:
            pass
        raise
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder_fd)
    finally:
        os.close(folder_fd)
