"""One test's world: a HOME of its own, a network that is only loopback, a model, the memory, and the agents in it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from living import Daemon, repository
from programs import CACHE, NotHere

HERE = Path(__file__).parent
PORT = 8790
VENV = Path(sys.executable).parent
LIMIT_S = 30.0
RUN_LIMIT_S = 90.0


def poll(condition: Callable[[], Any], what: str, limit_s: float = LIMIT_S) -> Any:
    """Wait until the condition holds, and return what it returned."""
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit_s:.0f} s: {what}")
        time.sleep(0.05)  # between two looks, never to let a race pass
    return found


# -- the namespace -------------------------------------------------------------------------------------------------------

AS_ROOT: tuple[list[str], list[str]] = ([], [])
AS_USER = (["--user", "--map-root-user"], ["--user", "--preserve-credentials"])
_ALONE = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]


def ways_in() -> tuple[list[str], list[str]]:
    """What `unshare` and `nsenter` need here for namespaces of network and processes. Raises NotHere."""
    for tool in ("unshare", "nsenter", "ip", "setsid"):
        if shutil.which(tool) is None:
            raise NotHere(f"{tool} is missing")
    reason = ""
    for flags in (AS_ROOT, AS_USER):
        done = subprocess.run(
            ["unshare", *flags[0], *_ALONE, "ip", "link", "set", "lo", "up"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return flags
        reason = done.stderr.strip()
    raise NotHere(f"no namespaces for network and processes: {reason}")


_MAKE = """\
set -e
ip link set lo up
tmp=$1; shift
while [ "$1" != -- ]; do
  case $1 in /tmp/*) mkdir -p "$tmp${1#/tmp}"; mount --rbind "$1" "$tmp${1#/tmp}" ;; esac
  shift
done
shift
mount --rbind "$tmp" /tmp
exec "$@"
"""
"""Loopback, and a /tmp with nothing in it but what is needed: both agents have folders there that belong to no HOME."""


class Namespace:
    """Processes that see loopback and each other. The first one is the model; when it ends, all are killed."""

    def __init__(self, root: Path, cwd: Path, flags: tuple[list[str], list[str]]) -> None:
        model, tmp = root / "model", root / "tmp"
        (model / "requests").mkdir(parents=True)
        tmp.mkdir()
        kept = [root, CACHE, HERE.parents[1], Path(sys.prefix), Path(sys.base_prefix)]
        inside = ["sh", "-c", _MAKE, "sh", str(tmp), *map(str, kept), "--"]
        with (root / "stderr").open("wb") as errors:
            self._outer = subprocess.Popen(
                ["unshare", *flags[0], *_ALONE, *inside, sys.executable, "-I", str(HERE / "standin.py"), str(model), str(PORT)],
                env={"PATH": os.environ["PATH"], "STANDIN_CWD": str(cwd)}, stdin=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
        poll(lambda: (model / "ready").exists(), f"the model listens; if not, {root / 'stderr'} says why")
        (self._first,) = children(self._outer.pid)
        self._enter = ["nsenter", f"--target={self._first}", "--net", "--pid", "--mount", *flags[1]]

    def command(self, argv: list[str], env: dict[str, str], cwd: Path) -> list[str]:
        """What runs a command in here, with this environment and nothing else."""
        given = [f"{name}={value}" for name, value in env.items()]
        return [*self._enter, "env", "-i", "-C", str(cwd), *given, *argv]

    def processes(self) -> dict[int, list[str]]:
        """Everything in here but the model: the pid as we see it, and its command line."""
        mine = Path(f"/proc/{self._first}/ns/pid").readlink()
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if int(path.name) != self._first and (path / "ns/pid").readlink() == mine:
                    found[int(path.name)] = (path / "cmdline").read_bytes().decode().split("\0")
            except (OSError, ValueError):
                pass  # it ended meanwhile
        return found

    def kill_groups(self, but: int) -> None:
        """SIGKILL to every process group in here but those that this process or the model leads."""
        groups = {os.getpgid(pid) for pid in self.processes()} - {but, os.getpgid(self._first)}
        for group in groups:
            os.killpg(group, signal.SIGKILL)

    def close(self) -> None:
        os.kill(self._first, signal.SIGKILL)
        self._outer.wait(LIMIT_S)


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
        except OSError:
            pass  # it ended meanwhile
    return found


_BLOCK = re.compile(r"<(aimemory-\w+)>.*?</\1>", re.DOTALL)


# -- the model -----------------------------------------------------------------------------------------------------------


class Model:
    """What the stand-in is to do, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._plans: list[tuple[str, list[list[str]]]] = []

    def plan(self, phrase: str, *steps: list[str]) -> None:
        """A prompt with the phrase is followed by these steps."""
        self._plans.append((phrase, list(steps)))
        new = self.folder / "plans.new"
        new.write_text(json.dumps(self._plans))
        new.rename(self.folder / "plans.json")

    def requests(self, phrase: str = "") -> list[dict[str, Any]]:
        """All requests whose newest prompt has the phrase, in order. A terminal's request for a title isn't one."""
        found = [json.loads(path.read_bytes()) for path in sorted((self.folder / "requests").glob("*.json"))]
        return [request for request in found if phrase in request["prompt"] and request["body"].get("tools")]

    def hanging(self, phrase: str) -> bool:
        """Whether an agent waits for the rest of an answer to this prompt."""
        return any(request["step"] == ["hang"] for request in self.requests(phrase))

    def first(self, phrase: str) -> dict[str, Any]:
        return poll(lambda: self.requests(phrase), f"a request for {phrase!r}")[0]


def briefs(request: dict[str, Any]) -> list[str]:
    """The memory's blocks in a request, wherever the agent put them."""
    return [found[0] for text in _strings(request["body"]) for found in _BLOCK.finditer(text)]


def brief(request: dict[str, Any]) -> str:
    """The only block of a request."""
    (found,) = briefs(request)
    return found


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for child in value.values() for text in _strings(child)]
    return [text for child in value for text in _strings(child)] if isinstance(value, list) else []


# -- the world -----------------------------------------------------------------------------------------------------------


class World:
    def __init__(self, root: Path, flags: tuple[list[str], list[str]]) -> None:
        self.memory = Daemon(root)  # as a client only: the daemon itself lives in the namespace
        self.home, self.data = self.memory.home, self.memory.data
        self.project = repository(root / "till")
        self.model = Model(root / "model")
        self.namespace = Namespace(root, self.project, flags)
        self.env = {
            "HOME": str(self.home), "PATH": f"{VENV}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
            "USER": "ada", "SHELL": "/bin/sh", "TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1",
            "AIMEMORY_DATA_DIR": str(self.data.root),
        }  # fmt: skip
        (self.home / ".profile").write_text(
            f"PATH={shlex.quote(str(VENV))}:$PATH\n"
        )  # Codex runs commands in a login shell

    def command(self, argv: list[str], **env: str) -> list[str]:
        return self.namespace.command(argv, {**self.env, **env}, self.project)

    def run(self, argv: list[str], **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project to its end."""
        return subprocess.run(
            self.command(argv, **env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_LIMIT_S,
            check=False,
        )  # fmt: skip

    def start(self, argv: list[str], **env: str) -> "Running":
        """Start a command in the project, in a process group of its own."""
        return Running(self.command(argv, **env))

    def aimemory(self, *arguments: str) -> str:
        """Run the command line; its output."""
        done = self.run([sys.executable, "-I", "-m", "aimemory", *arguments])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sessions(self) -> dict[str, list[dict[str, Any]]]:
        """The recorded observations by session, in order; the test of a connection belongs to none."""
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self.memory.lines("observation"):
            if "session" not in line["data"]:
                continue
            found.setdefault(line["data"]["session"], []).append({**line["data"], "at_s": line["at"] / 1e9})
        return found

    def events(self, harness: str) -> list[str]:
        """The vendor's names of what was recorded from an agent, in order."""
        observed = [event for events in self.sessions().values() for event in events]
        ordered = sorted(observed, key=lambda event: event["at_s"])
        return [event["event"] for event in ordered if event["harness"] == harness]

    def recent(self) -> list[dict[str, Any]]:
        return json.loads(self.aimemory("recent", "--json"))["items"]

    def daemons(self) -> list[int]:
        found = [pid for pid, argv in self.namespace.processes().items() if {"aimemory", "serve"} <= set(argv)]
        # What a daemon starts has its command line for a moment.
        return [pid for pid in found if not any(pid in children(other) for other in found)]

    def ours(self) -> list[list[str]]:
        """The command lines of everything of ours that runs in here: daemons, hooks and their children."""
        data = str(self.data.root)
        return [
            argv
            for argv in self.namespace.processes().values()
            if "aimemory" in argv or any(data in word for word in argv)
        ]

    def close(self) -> None:
        self.namespace.close()
        shutil.rmtree(self.home / ".codex/packages", ignore_errors=True)  # its server copied itself there: 130 MB


class Running:
    """A command in the namespace: `nsenter` out here, the program itself its child."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        (self.pid,) = poll(lambda: children(self.process.pid), "the program runs")

    def kill(self) -> None:
        """SIGKILL to the program alone."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        self.process.wait(LIMIT_S)
