"""One of our own commands as a process beside the daemon, so that whoever acknowledges events does none of the work."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import IO

_COMPLAINT_BYTES = 64 << 10
_COMPLAINT_CHARS = 500

Start = Callable[..., "subprocess.Popen[bytes]"]


class Child:
    """At most one at a time. What it says goes to files without a name, which go with it."""

    def __init__(self, start: Start = subprocess.Popen) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: IO[bytes] | None = None
        self._errors: IO[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether one was begun whose end nobody has taken note of."""
        return self._process is not None

    def begin(self, command: Sequence[str], env: Mapping[str, str], *, nice: int = 0) -> None:
        """nice: how much it stands back for others, 0 to 19. Raises OSError when it can't be started."""
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - held as long as the process
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = self._start(
            list(command), env=dict(env), cwd="/", start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=self._printed, stderr=self._errors, close_fds=True,
        )  # fmt: skip
        if nice:
            try:
                os.setpriority(os.PRIO_PROCESS, self._process.pid, nice)
            except OSError:  # it has ended already
                pass

    def ended(self) -> int | None:
        """Its exit code once it has ended; None while it runs, and when there is none."""
        return self._process.poll() if self._process is not None else None

    def printed(self, limit: int) -> bytes:
        """The first bytes of its standard output."""
        return _read(self._printed, limit)

    def complaint(self) -> str:
        """What it said on standard error, in one line of at most 500 characters; empty when it said nothing."""
        words = " ".join(_read(self._errors, _COMPLAINT_BYTES).decode("utf-8", "replace").split())
        return words.removeprefix("aimemory: ")[:_COMPLAINT_CHARS]

    def close(self) -> None:
        """End one that runs, and forget it. Twice is fine."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        self._process = None
        for file in (self._printed, self._errors):
            if file is not None:
                file.close()
        self._printed = self._errors = None


def _read(file: IO[bytes] | None, limit: int) -> bytes:
    if file is None:
        return b""
    file.seek(0)
    return file.read(limit)
