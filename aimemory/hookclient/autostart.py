"""Starts a daemon that isn't there: one attempt per 30 s, never against the user's `aimemory down`.

Light imports: on the way to a reply it runs in the hook's own process.
"""

import sys
import time

try:
    import _signal  # type: ignore[import-not-found]
    import posix
except ImportError:
    import os as posix  # type: ignore[no-redef]
    import signal as _signal

ATTEMPT_S = 30
JOIN_S = 3
"""So long after somebody else's attempt it is worth waiting for his daemon."""

PASSED_ON = ("HOME", "USER", "LOGNAME", "TZ", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""All that the daemon inherits from the harness. No TMPDIR (harnesses set one of their own, which goes away with them),
no proxy, key or Python variable. The last two say where harnesses keep their transcripts."""


def start(data: str, socket: str) -> bool:
    """Start the daemon unless it must stay down or was tried lately; whether waiting for it makes sense."""
    if _exists(f"{data}/down"):
        return False
    age = _claim_attempt(f"{data}/spool")
    if age is not None:
        return age < JOIN_S
    try:
        posix.chdir("/")  # the daemon outlives the project's directory; nothing here needs it any more
    except OSError:
        pass
    _hide_descriptors()
    python = sys.executable
    posix.posix_spawn(
        python,
        [python, "-I", "-m", "aimemory", "serve"],
        environment(data, socket),
        file_actions=[
            (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
            (posix.POSIX_SPAWN_OPEN, 1, "/dev/null", posix.O_WRONLY, 0),
            (posix.POSIX_SPAWN_OPEN, 2, "/dev/null", posix.O_WRONLY, 0),
        ],
        setsid=True,  # survives the harness's process group and terminal
        setsigdef=[_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT, _signal.SIGPIPE],
    )
    return True


def environment(data: str, socket: str) -> "dict[str, str]":
    """The daemon's environment: clean, and such that it listens where the launcher says."""
    given = {_text(name): _text(value) for name, value in posix.environ.items()}
    env = {name: given[name] for name in PASSED_ON if given.get(name)}
    env["PATH"] = "/usr/bin:/bin"
    env["AIMEMORY_DATA_DIR"] = data
    if not socket.startswith(data + "/"):
        env["XDG_RUNTIME_DIR"] = socket.rsplit("/", 2)[0]  # `DataDir.socket` joins the rest
    return env


def _text(value: "str | bytes") -> str:
    return value if isinstance(value, str) else value.decode(sys.getfilesystemencoding(), "surrogateescape")


def _exists(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def _claim_attempt(spool: str) -> "float | None":
    """None for the one caller per 30 s who shall start; for the others the age of that attempt in seconds.

    Raises OSError where the spool can't be written: then nobody could tell attempts apart, and none is made.
    """
    try:
        posix.mkdir(spool, 0o700)
    except FileExistsError:
        pass
    fd = posix.open(f"{spool}/.start-attempt", posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
    try:
        try:
            posix.lockf(fd, posix.F_TLOCK, 0)
        except OSError:  # held by the one who is about to start
            return 0.0
        found = posix.fstat(fd)
        age = time.time() - found.st_mtime
        if found.st_size and 0 <= age < ATTEMPT_S:
            return age
        posix.pwrite(fd, f"{posix.getpid()}\n".encode("ascii"), 0)
        return None
    finally:
        posix.close(fd)  # and with it the lock


def _hide_descriptors() -> None:
    """Keep the harness's inheritable descriptors out of the daemon; a held pipe end would block the harness."""
    for name in posix.listdir("/dev/fd"):
        if int(name) > 2:
            try:
                posix.set_inheritable(int(name), False)
            except OSError:  # the listing's own
                pass
