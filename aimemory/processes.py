"""Whose hook is this, and does that process still run: read from `/proc`.

Where there is no `/proc` every answer is "unknown"; no answer is a guess. Takes microseconds and never waits, so that
it may be called on the event loop.
"""

# ruff: noqa: PTH115
# os.readlink, because this runs while a hook waits, and pathlib costs more than the system call.

import os
import re
import socket
import struct
from dataclasses import dataclass

from aimemory.model.process import Process

_DEPTH = 12
"""More processes than this between a hook and its harness have not been seen (3 is usual)."""

_BETWEEN = frozenset([
    "ash", "bash", "busybox", "chrt", "dash", "env", "fish", "flock", "ionice", "ksh", "mksh", "nice", "nohup",
    "script", "setsid", "sh", "stdbuf", "taskset", "tcsh", "time", "timeout", "xargs", "yash", "zsh",
])  # fmt: skip
"""Shells and launchers by which a hook is run. Our own launcher is a shell, our interpreter is the hook itself. No
interpreters of other languages: several harnesses are scripts of one."""

_ABOVE = frozenset([
    "agetty", "conmon", "containerd-shim", "cron", "crond", "dockerd", "dumb-init", "init", "launchd", "login", "runit",
    "screen", "s6-svscan", "sshd", "sshd-session", "su", "sudo", "supervisord", "systemd", "tini", "tmux", "zellij",
])  # fmt: skip
"""What starts shells. A way that leads here met no harness: it is gone, or it is a shell script itself."""

_VERSION = re.compile(r"[-.\d]+\Z")
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class _Stat:
    name: str
    state: str
    parent: int
    started: int


def peer_pid(sock: socket.socket) -> int | None:
    """The process at the other end of a Unix socket, as of its connecting; None where the system doesn't tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        pid: int = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))[0]
    except (OSError, struct.error):
        return None
    return pid or None  # 0: it runs in a space of processes that we don't see


class Processes:
    """The processes of this machine. proc: where the proc file system is mounted."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._boot = self._read_boot()

    def harness_of(self, hook: int) -> Process | None:
        """The process on whose behalf a hook runs: up its parents, the first that is no shell or launcher.

        hook: pid of the hook client, or of any other program that a harness starts for itself. None when that can't be
        told, and when the harness is gone already.
        """
        child = self._stat(hook)
        if child is None or self._boot is None:
            return None
        for _ in range(_DEPTH):
            pid = child.parent
            found = self._stat(pid) if pid > 1 else None
            if found is None or found.started > child.started:  # nobody, or a later one that was given the same pid
                return None
            name = self._program(pid) or found.name
            if name in _ABOVE:
                return None
            if name not in _BETWEEN:
                return Process(pid, found.started, self._boot)
            child = found
        return None

    def exists(self, pid: int) -> bool:
        """Whether a process has this pid now, ended and not waited for included."""
        return self._stat(pid) is not None

    def is_alive(self, process: Process | None) -> bool | None:
        """Whether that very process still runs; None when that can't be told."""
        if process is None or self._boot is None:
            return None
        boot, _, space = process.boot.partition("/")
        own_boot, _, own_space = self._boot.partition("/")
        if boot != own_boot:
            return False
        if space != own_space:
            return None
        found = self._stat(process.pid)
        return found is not None and found.started == process.started and found.state not in "ZX"

    def _stat(self, pid: int) -> _Stat | None:
        """See proc(5), `/proc/pid/stat`. The name stands in parentheses and may hold any character, also these."""
        raw = self._read(f"{pid}/stat")
        head, _, rest = raw.rpartition(b") ")
        fields = rest.split(b" ", 20)
        if len(fields) < 21:
            return None
        name = head.partition(b" (")[2].decode("utf-8", "replace")
        return _Stat(name, fields[0].decode("ascii"), int(fields[1]), int(fields[19]))

    def _program(self, pid: int) -> str | None:
        """The name of its program's file, without a version: `zsh` for /bin/zsh-5.9. None if it is not ours to read."""
        try:
            path = os.readlink(f"{self._proc}/{pid}/exe")
        except OSError:
            return None
        return _VERSION.sub("", os.path.basename(path.removesuffix(" (deleted)")))  # noqa: PTH119

    def _read_boot(self) -> str | None:
        """`<boot id>/<pid namespace>`; a pid means nothing without either."""
        boot = self._read("sys/kernel/random/boot_id").decode("ascii", "replace").strip()
        try:
            space = os.readlink(f"{self._proc}/self/ns/pid")
        except OSError:
            return None
        return f"{boot}/{space.removeprefix('pid:').strip('[]')}" if boot else None

    def _read(self, name: str) -> bytes:
        """A file of a few hundred bytes, in one piece; empty when it is not there."""
        try:
            fd = os.open(f"{self._proc}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(fd, 4096)
        except OSError:  # it ended in between
            return b""
        finally:
            os.close(fd)
