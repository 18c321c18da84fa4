"""One git process on somebody else's repository: read-only, alone, bounded in time and output.

Nothing of the repository's configuration gets to run (fsmonitor, hooks, external diffs, signature checks, fetches; for
content filters see git.py), nothing of the environment steers it, and no lock is taken. The user's own configuration
holds where `home` is given, above all his `safe.directory`.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from aimemory.facts.known import Unknown

_OPTIONS = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false", "core.pager=cat",
    "submodule.recurse=false", "log.showSignature=false", "credential.helper=",
    "gc.auto=0", "maintenance.auto=false", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip
_PATH = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin"
_STDERR_BYTES = 16 << 10
_REAP_S = 1.0
"""How long a killed child may take to go; one that hangs in the kernel is left to the event loop's child watcher."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a git process printed. cut: the limit was reached and the process ended."""

    code: int
    stdout: bytes
    stderr: bytes
    cut: bool = False


@dataclass(frozen=True, slots=True)
class GitRunner:
    """Runs git in one directory until one instant.

    deadline: the event loop's time. limit_s: the same as a duration, for the reason. git: the program. home: whose
    configuration holds; none if it is None. options: more `-c` settings.
    """

    directory: str
    deadline: float
    limit_s: float
    git: str = "git"
    home: str | None = None
    options: tuple[str, ...] = ()
    output_bytes: int = 4 << 20

    async def run(self, *args: str) -> Output | Unknown:
        """Run `git <args>` and wait for it; `Unknown` if it was not done in time or could not be started.

        The process and all it started are gone afterwards, also when the caller is cancelled.
        """
        if asyncio.get_running_loop().time() >= self.deadline:
            return self.late()
        spawn = asyncio.ensure_future(self._spawn(args))
        try:
            process = await asyncio.shield(spawn)
        except (OSError, ValueError) as error:
            return Unknown(f"git could not be started ({getattr(error, 'strerror', None) or 'bad argument'})")
        except asyncio.CancelledError:
            # Cancelled half-way, asyncio would kill the child alone, wait for its pipes and leave its own children.
            await _end(await spawn)
            raise
        done = False
        try:
            async with asyncio.timeout_at(self.deadline):
                output = await _collect(process, self.output_bytes)
                done = not output.cut
                return output
        except TimeoutError:
            return self.late()
        finally:
            if not done:
                await _end(process)

    def _spawn(self, args: tuple[str, ...]) -> Coroutine[Any, Any, asyncio.subprocess.Process]:
        settings = (part for option in (*_OPTIONS, *self.options) for part in ("-c", option))
        return asyncio.create_subprocess_exec(
            self.git, "--no-pager", "--no-optional-locks", "-C", self.directory, *settings, *args,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=self._environment(), cwd="/", start_new_session=True,
        )  # fmt: skip

    def late(self) -> Unknown:
        return Unknown(f"git did not answer within {self.limit_s * 1000:.0f} ms")

    def _environment(self) -> dict[str, str]:
        own = {"HOME": self.home} if self.home else {"HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": os.devnull}
        return own | {
            "PATH": _PATH, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat",
            "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_ATTR_NOSYSTEM": "1", "GIT_ASKPASS": "/bin/false",
        }  # fmt: skip


async def _collect(process: asyncio.subprocess.Process, limit_bytes: int) -> Output:
    async with asyncio.TaskGroup() as readers:
        errors = readers.create_task(_read(process.stderr, _STDERR_BYTES))
        stdout, cut = await _read(process.stdout, limit_bytes, stop=True)
        if cut:
            _kill(process)
            await _read(process.stdout)  # or the pipe stays open, and waiting for the process with it
    return Output(await process.wait(), stdout, errors.result()[0], cut)


async def _read(stream: asyncio.StreamReader | None, limit_bytes: int = 0, *, stop: bool = False) -> tuple[bytes, bool]:
    """The first bytes of a stream, and whether there were more; reads on to its end unless told to stop."""
    parts, size = [], 0
    while stream and (chunk := await stream.read(64 << 10)):
        parts.append(chunk[: max(0, limit_bytes - size)])
        size += len(chunk)
        if size > limit_bytes and stop:
            break
    return b"".join(parts), size > limit_bytes


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process with all it started, and reap it: pipes are read to their end, which closes them."""
    _kill(process)
    try:
        async with asyncio.timeout(_REAP_S), asyncio.TaskGroup() as readers:
            readers.create_task(_read(process.stdout))
            readers.create_task(_read(process.stderr))
            await process.wait()
    except TimeoutError:
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # gone by itself in the meantime
        pass
