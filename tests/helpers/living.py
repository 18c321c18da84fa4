"""A real daemon on a data directory of its own, and what a user or an agent does with it."""

import gzip
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

from aimemory.datadir import DataDir, lock_holder

LIMIT_S = 45.0
"""When to give up waiting: longer than a busy machine takes, and less than the minute after which the walk over the
whole tree would find what the watcher or a write should have."""


class Daemon:
    """Starts `aimemory serve` as a process. Everything waits for states, with a bound."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        self.data = DataDir(root / "data")
        self.home = root / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.settings = {
            "server_port": 0, "wiki_listing_seconds": 0, "storage_verify_hours": 0, "recall_vectors": "off", **settings,
        }  # fmt: skip
        self.editor = "false"
        self.program = [sys.executable, "-I", "-m", "aimemory"]
        self.more_env: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> dict[str, str]:
        named = {f"AIMEMORY_{name.upper()}": str(value) for name, value in self.settings.items()}
        return {
            "HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "ada",
            "EDITOR": self.editor, "AIMEMORY_DATA_DIR": str(self.data.root), **named, **self.more_env,
        }  # fmt: skip

    def start(self) -> "Daemon":
        self.spawn()
        self.wait(self.is_up, "the daemon answers")
        return self

    def spawn(self) -> None:
        """Start the process and don't wait for an answer."""
        with (self.root / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                [*self.program, "serve"], env=self.env, cwd="/",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Signal the daemon and wait for its end; returns how long that took, in seconds."""
        assert self.process is not None
        before = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(LIMIT_S)
        self.process = None
        return time.monotonic() - before

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def close(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.terminate()
                try:
                    self.process.wait(LIMIT_S)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            self.process = None
        self.data.down_marker.parent.mkdir(parents=True, exist_ok=True)
        self.data.down_marker.touch()  # a hook of the test may have started another one
        if pid := lock_holder(self.data):
            os.kill(pid, signal.SIGKILL)
            self.wait(lambda: lock_holder(self.data) is None, "the other daemon is gone")

    def is_up(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError("the daemon ended: " + (self.root / "stderr").read_text())
        try:
            return self.request("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def _end(self) -> str:
        """What became of the process, for whoever misses an answer of it."""
        if self.process is None:
            return "no daemon runs"
        try:
            code = self.process.wait(2)  # it may be about to go
        except subprocess.TimeoutExpired:
            return "the daemon runs on"
        return f"the daemon ended with {code}: " + (self.root / "stderr").read_text()[-4000:]

    # -- HTTP over the Unix socket -----------------------------------------------------------------------------------

    def request(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None):
        """(status, headers, body bytes)."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(LIMIT_S)
            sock.connect(str(self.data.socket))
            try:
                return exchange(sock, method, path, raw, headers or {})
            except ConnectionError as error:
                raise ConnectionError(f"{method} {path}: {error}; {self._end()}") from error

    def get(self, path: str, **query: object):
        status, _, body = self.request("GET", f"{path}?{urlencode(query)}" if query else path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, body: object):
        status, _, answer = self.request("POST", path, body)
        assert status < 300, answer
        return json.loads(answer)

    def status(self):
        return self.get("/api/v1/status")

    def event(self, harness: str, event: str, payload: object, **query: object):
        """POST an event; (status, answer)."""
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        status, headers, body = self.request(
            "POST", "/hook?" + urlencode({"harness": harness, "event": event, **query}), raw
        )
        if query.get("reply"):
            return status, headers, body
        return status, json.loads(body)

    def level(self) -> None:
        """Wait until the index shows every line that the journal's files hold: a line is in its file before it is told."""
        if lines := self.lines():
            seq = lines[-1]["seq"]
            self.wait(lambda: self.status()["index"]["applied_seq"] >= seq, f"the index shows line {seq}")

    def search(self, query: str, **more: object):
        seq = self.status()["journal"]["last_seq"]
        found = self.post("/api/v1/search", {"query": query, "project": "*", "after": seq, "limit": 50, **more})
        return found["answer"]["hits"]

    # -- as an agent and as a user -----------------------------------------------------------------------------------

    def hook(self, harness: str, event: str, payload: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
        """Run the installed launcher as a vendor does: by a shell, with a bare environment."""
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        command = f"'{self.data.hook_launcher}' {harness} {event}"
        before = self.answered()
        done = subprocess.run(
            ["/usr/bin/env", "-i", f"HOME={self.home}", "PATH=/usr/bin:/bin", "/bin/sh", "-c", command],
            input=raw, capture_output=True, cwd=cwd or self.home, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        self.has_answered_since(before)
        return done

    def answered(self) -> int | None:
        """How many events the daemon has taken or refused since its start; None where none answers."""
        if self.process is None or self.process.poll() is not None:
            return None
        try:
            counts = self.status()["capture"].values()
        except (OSError, AssertionError, ValueError, IndexError):  # it is going, or dies of the test
            return None
        return sum(one.get(what, 0) for one in counts for what in ("stored", "duplicate", "dropped", "rejected"))

    def has_answered_since(self, before: int | None) -> None:
        """Wait for the answer to a hook's event: of a busy daemon it comes after the hook, to a child of it."""
        if before is not None:
            self.wait(lambda: (now := self.answered()) is None or now > before, "the event is answered")

    def cli(self, *arguments: str, cwd: Path | None = None, **more: object) -> subprocess.CompletedProcess:
        """Run the command line."""
        return subprocess.run(
            [*self.program, *arguments], env=self.env, cwd=cwd or self.home,
            capture_output=True, text=True, timeout=60, check=False, **more,
        )  # fmt: skip

    def closed_session(self, base: dict[str, str], where: Path) -> Path:
        """A session of one prompt, the first of this daemon, through the real hook; returns its page."""
        self.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the seeds"}, where)
        self.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)
        (page,) = self.wait(self.pages, "a page")
        self.wait(lambda: self.lines("done"), "the closing is done")
        return page

    def wait(self, condition, what: str, limit_s: float = LIMIT_S):
        """Wait until the condition holds, and return what it returned."""
        deadline = time.monotonic() + limit_s
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {limit_s:.0f} s: {what}")
            time.sleep(0.02)  # between two looks, never to let a race pass
        return found

    def pages(self, pattern: str = "*/*/sessions/**/*.md") -> list[Path]:
        return sorted(self.data.wiki.glob(pattern))

    def lines(self, kind: str | None = None) -> list[dict]:
        """The journal as people read it, compressed segments too."""
        found = []
        for path in sorted(self.data.journal.rglob("[0-9]*.jsonl*")):  # none that is being sealed
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found += [json.loads(row) for row in raw.splitlines()]
        found.sort(key=lambda line: line["seq"])
        return [line for line in found if kind is None or line["type"] == kind]


AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    command, payload = json.loads(line)
    done = subprocess.run(["/bin/sh", "-c", command + "; true"], input=payload.encode(), stdout=subprocess.PIPE)
    print(json.dumps([done.returncode, done.stdout.decode()]), flush=True)
"""
"""A harness: a process that lives as long as its session and runs each hook through a shell, as vendors do."""

PAST_HOOK = """
import os, socket, sys
path, query, body = sys.argv[1], sys.argv[2], sys.stdin.buffer.read()
sock = socket.socket(socket.AF_UNIX)
sock.connect(path)
head = f"POST /hook?{query}&pid={os.getpid()} HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
sock.sendall(head.encode() + body)
assert b" 202 " in sock.recv(4096)
"""
"""As the hook client, but an event that was captured earlier."""


class Agent:
    """One running harness in a directory; `say` runs a hook and waits for its end."""

    def __init__(self, daemon: Daemon, where: Path, session: str, harness: str = "claude-code") -> None:
        self.daemon = daemon
        self.session = session
        self.where = where
        self.harness = harness
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", AGENT], cwd=where, text=True,
            env={"HOME": str(daemon.home), "PATH": "/usr/bin:/bin"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def say(self, event: str, ago_s: int = 0, **payload: object) -> "Agent":
        """One event of this agent's session (`session_id` names another one), as if captured `ago_s` seconds ago."""
        said = {"session_id": self.session, "cwd": str(self.where), "hook_event_name": event, **payload}
        hook = [str(self.daemon.data.hook_launcher), self.harness, event]
        if ago_s:
            query = urlencode({"harness": self.harness, "event": event, "at": time.time_ns() - ago_s * 10**9})
            hook = [sys.executable, "-I", "-c", PAST_HOOK, str(self.daemon.data.socket), query]
        before = self.daemon.answered()
        assert self.run(hook, json.dumps(said))[0] == 0
        self.daemon.has_answered_since(before)
        return self

    def tool(self, name: str, session: str | None = None, **arguments: object) -> str:
        """Call an MCP tool as this agent's client does. session: what it put into the server's environment."""
        calls = [
            ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                            "clientInfo": {"name": self.harness, "version": "1"}}),
            ("tools/call", {"name": name, "arguments": arguments}),
        ]  # fmt: skip
        lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}) for n, (m, p) in enumerate(calls)]
        env = ["env", f"CLAUDE_CODE_SESSION_ID={session}"] if session else []
        _, answers = self.run([*env, str(self.daemon.data.mcp_launcher)], "\n".join(lines) + "\n")
        result = json.loads(answers.splitlines()[1])["result"]
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def run(self, command: list[str], given: str) -> tuple[int, str]:
        """A child of the agent, behind a shell: its exit code and output."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([shlex.join(command), given]) + "\n")
        self.process.stdin.flush()
        code, output = json.loads(self.process.stdout.readline())
        return code, output

    def kill(self) -> None:
        """As the kernel or an impatient user does: nothing is said any more."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def exchange(sock: socket.socket, method: str, path: str, body: bytes, headers: dict[str, str]):
    """One HTTP exchange on an open connection; (status, headers, body). Raises OSError where no answer comes."""
    given = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body)), **headers}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in given.items() if v is not None)
    sock.sendall(head.encode() + b"\r\n" + body)
    raw = bytearray()
    while chunk := sock.recv(1 << 16):
        raw += chunk
    if not raw:
        raise ConnectionResetError("closed without an answer")
    head_raw, _, rest = bytes(raw).partition(b"\r\n\r\n")
    lines = head_raw.decode("latin-1").split("\r\n")
    found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "chunked" in found.get("transfer-encoding", ""):
        rest = _dechunked(rest)
    return int(lines[0].split()[1]), found, rest


def _dechunked(raw: bytes) -> bytes:
    out = b""
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        out, raw = out + raw[:length], raw[length + 2 :]
        if not length:
            break
    return out


def git(where: Path, *arguments: str, **more: str) -> str:
    """Run git as a person with no configuration of his own. more: environment variables."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(where),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **more,
    }
    done = subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "-c", "init.defaultBranch=main", *arguments],
        cwd=where, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def repository(where: Path, remote: str | None = None, **more: str) -> Path:
    """A git repository with one commit. more: environment variables of that commit."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q")
    (where / "README.md").write_text("# Project\n")
    git(where, "add", "-A")
    git(where, "commit", "-qm", "start", **more)
    if remote:
        git(where, "remote", "add", "origin", remote)
    return where


def all_bytes(folder: Path) -> bytes:
    """Every byte below a folder, git objects inflated: where a secret could hide."""
    import zlib

    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            raw = path.read_bytes()
            found.append(raw)
            if "objects" in path.parts:
                try:
                    found.append(zlib.decompress(raw))
                except zlib.error:
                    pass
            if path.suffix == ".gz":
                found.append(gzip.decompress(raw))
            found.append(path.name.encode())
    return b"\n".join(found)


def copy_tree(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
