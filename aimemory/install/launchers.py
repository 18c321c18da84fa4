"""The stable launchers `bin/hook` and `bin/mcp`, which vendor configurations name.

Their paths and arguments never change, because vendors distrust or drop a changed hook command; their content follows
the installed program and is written anew at every start of the daemon.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from aimemory.datadir import DataDir, write_atomic
from aimemory.errors import UserError

PACKAGE = Path(__file__).resolve().parents[1]


def write_launchers(
    data: DataDir,
    reply_events: Mapping[str, Iterable[str]],
    *,
    spool_bytes: int = 1 << 30,
    python: Path | None = None,
    package: Path = PACKAGE,
) -> None:
    """Write both launchers, mode 0700, each replaced in one step, so that a hook running meanwhile sees a whole one.

    reply_events: harness → the vendor's event names whose hook output may carry a brief.
    spool_bytes: bound of the spool. python: absolute path of the interpreter, by default this one's.
    """
    chosen = python or interpreter()
    data.bin.mkdir(mode=0o700, parents=True, exist_ok=True)
    hook = hook_script(chosen, package / "hookclient" / "stub.py", data.root, data.socket, reply_events, spool_bytes)
    write_atomic(data.hook_launcher, hook, 0o700)
    mcp = mcp_script(chosen, package / "stdio" / "__main__.py", data.root, data.socket)
    write_atomic(data.mcp_launcher, mcp, 0o700)


def hook_script(
    python: Path,
    stub: Path,
    data: Path,
    socket: Path,
    reply_events: Mapping[str, Iterable[str]],
    spool_bytes: int = 1 << 30,
) -> bytes:
    """The text of `bin/hook`. It exits 0 and prints nothing whatever is missing or broken, for any other status makes
    some harness block a prompt or a tool."""
    patterns = [
        f"{harness}/{event}" for harness in sorted(reply_events) for event in sorted(set(reply_events[harness]))
    ]
    case = [f'case "$1/$2" in {"|".join(map(_quoted_text, patterns))}) r=1 ;; esac'] if patterns else []
    lines = [
        "#!/bin/sh",
        "# Written by aimemory at every start of its daemon. Usage: hook HARNESS EVENT <payload",
        f"p={_quoted(python)} s={_quoted(stub)} r=0",
        '[ -x "$p" ] && [ -r "$s" ] || exit 0',
        *case,
        # Not `exec`: an interpreter that is there but fails to load (127, 1) must not decide our exit status. The fork
        # costs 0.2 ms of 12. Its complaint goes to /dev/null, since harnesses show stderr.
        f'"$p" -I -S "$s" {_quoted(data)} {_quoted(socket)} {spool_bytes} $r "$1" "$2" 2>/dev/null',
        "exit 0",
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def mcp_script(python: Path, shim: Path, data: Path, socket: Path) -> bytes:
    """The text of `bin/mcp`: the stdio shim in place of the shell, which must see the client's signals and pipes."""
    lines = [
        "#!/bin/sh",
        "# Written by aimemory at every start of its daemon.",
        f"p={_quoted(python)} s={_quoted(shim)}",
        'if [ ! -x "$p" ] || [ ! -r "$s" ]; then',
        '  echo "aimemory: its program is gone from $s. Install it again, then run: aimemory up" >&2',
        "  exit 1",
        "fi",
        f'exec "$p" -I -S "$s" {_quoted(data)} {_quoted(socket)} "$@"',
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def interpreter(
    executable: str = sys.executable, prefix: str = sys.prefix, running: Path = Path("/proc/self/exe")
) -> Path:
    """The absolute path of a real interpreter: this process's own, never a script that looks for one (a version
    manager's shim takes 170 ms). Second and third choice: the one of the environment `prefix`, the file that runs now.

    Raises UserError when there is none.
    """
    candidates = [Path(executable or "-"), Path(prefix) / "bin" / "python3", running.resolve()]
    for path in candidates:
        if path.is_absolute() and _is_binary(path):
            return path
    raise UserError(
        f"{executable or 'the interpreter'} is a script, not an interpreter. Install aimemory with a Python that is "
        "not behind a version manager's shim, for instance in a virtual environment."
    )


def _is_binary(path: Path) -> bool:
    if not os.access(path, os.X_OK):
        return False
    try:
        with path.open("rb") as file:
            return file.read(2) != b"#!"
    except OSError:
        return False


def _quoted(path: Path) -> str:
    return _quoted_text(str(path))


def _quoted_text(text: str) -> str:
    """A shell word, whatever the text holds."""
    return "'" + text.replace("'", "'\\''") + "'"
