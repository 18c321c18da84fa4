"""`demo`: two scripted agents, one baton, in a temporary repository with a data directory of its own.

Nothing is staged but the agents' words: the files, the test runs, the hooks, the daemon and the handoff are real.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from aimemory.cli.client import Client, start_daemon, wait_until_down
from aimemory.cli.output import clean, examples, translated
from aimemory.config import Config, load_config
from aimemory.datadir import lock_holder
from aimemory.errors import Unavailable, UserError

_LIMIT_S = 20.0
_SHOWN_TESTS = "python3 -m unittest -v"

_WRONG = "def total(prices):\n    return sum(prices) / len(prices)\n"
_RIGHT = "def total(prices):\n    return sum(prices)\n"
_TEST = """import unittest

from basket import total


class BasketTest(unittest.TestCase):
    def test_total_of_two(self):
        self.assertEqual(total([2, 3]), 5)

    def test_total_of_nothing(self):
        self.assertEqual(total([]), 0)
"""

# What plays the harness: a process of its own that runs hooks as a harness does, so that its death can be seen.
_PLAYER = """
import json, subprocess, sys
for line in sys.stdin:
    command, payload = json.loads(line)
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(payload).encode(), capture_output=True)
    print(json.dumps(done.stdout.decode()), flush=True)
"""


class _Agent:
    """One scripted agent: a process that runs hooks, and words for what it says."""

    def __init__(self, harness: str, session: str, hook: Path, repo: Path) -> None:
        self._harness, self._session, self._hook, self._repo = harness, session, hook, repo
        self._calls = 0
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PLAYER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=repo
        )

    def event(self, name: str, **payload: Any) -> str:
        """Run the hook of one event; the context that it injects, "" if none."""
        body = {"session_id": self._session, "cwd": str(self._repo), "hook_event_name": name, **payload}
        command = f"{shlex.quote(str(self._hook))} {self._harness} {name}"
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([command, body]) + "\n")
        self._process.stdin.flush()
        printed: str = json.loads(self._process.stdout.readline())
        if not printed:
            return ""
        return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])

    def starts(self) -> str:
        return self.event("SessionStart", source="startup")

    def is_asked(self, prompt: str) -> None:
        _line("you", prompt)
        self.event("UserPromptSubmit", prompt=prompt, prompt_id=f"{self._session}-{self._calls}")

    def writes(self, path: str, text: str) -> None:
        (self._repo / path).write_text(text, encoding="utf-8")
        _line("edits", path)
        if self._harness == "codex":
            patch = f"*** Begin Patch\n*** Update File: {path}\n+{text}*** End Patch"
            self._tool("apply_patch", {"command": patch}, "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nDone")
        else:
            self._tool("Write", {"file_path": str(self._repo / path), "content": text}, {"type": "update"})

    def runs_tests(self) -> None:
        """Really run the tests, and report what they printed as this harness does."""
        done = subprocess.run(
            [sys.executable, "-m", "unittest", "-v"], cwd=self._repo, capture_output=True, text=True, timeout=_LIMIT_S,
            env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
        )  # fmt: skip
        output = done.stderr + done.stdout
        _line("runs", f"{_SHOWN_TESTS}  →  {output.strip().splitlines()[-1]}")
        given = {"command": _SHOWN_TESTS}
        if self._harness == "codex":
            self._tool("Bash", given, output)
        elif done.returncode:
            self._call("PostToolUseFailure", "Bash", given, error=f"Exit code {done.returncode}\n{output}")
        else:
            self._call("PostToolUse", "Bash", given, tool_response={"stdout": done.stdout, "stderr": done.stderr})

    def says(self, text: str) -> None:
        _line("says", f"“{text}”")
        self.event("Stop", last_assistant_message=text)

    def is_killed(self) -> None:
        self._process.kill()
        self._process.wait()

    def ends(self) -> None:
        self.event("SessionEnd", reason="other")
        self.is_killed()

    def _tool(self, tool: str, given: Mapping[str, Any], response: object) -> None:
        if self._harness == "codex":
            self._call("PreToolUse", tool, given, same_call=True)
        self._call("PostToolUse", tool, given, tool_response=response)

    def _call(self, event: str, tool: str, given: Mapping[str, Any], *, same_call: bool = False, **more: Any) -> None:
        name = f"{self._session}-t{self._calls}"
        self._calls += not same_call
        self.event(event, tool_name=tool, tool_input=dict(given), tool_use_id=name, **more)


@click.command(epilog=examples("aimemory demo", "aimemory demo --keep   (leaves its files for a look)"))
@click.option("--keep", is_flag=True, help="Leave the temporary folder with its repository and its wiki.")
@translated
def demo(keep: bool) -> None:
    """Two scripted agents in a temporary repository, a crash, a false "tests pass", and the baton.

    Real hooks, a real daemon with a data directory of its own, real test runs. Your data and your agents' settings are
    not touched.
    """
    root = Path(tempfile.mkdtemp(prefix="aimemory-demo-"))
    config = _config(root)
    try:
        start_daemon(config)
        client = Client(config)
        client.wait_until_up()
        _play(config, client, root)
    finally:
        _stop(config)
        if not config.data.socket.is_relative_to(root):
            shutil.rmtree(config.data.socket.parent, ignore_errors=True)
        if keep:
            click.echo(f"\nKept: {root}   (its memory: {config.data.root / 'wiki'})")
        else:
            shutil.rmtree(root, ignore_errors=True)


def _config(root: Path) -> Config:
    home = root / "home"
    home.mkdir()
    env = {
        "HOME": str(home), "USER": "you", "AIMEMORY_DATA_DIR": str(root / "memory"), "AIMEMORY_SERVER_TCP": "false",
        "TMPDIR": tempfile.gettempdir(),  # the daemon derives the place of a socket from it, as we do
    }  # fmt: skip
    return load_config(env, read_file=False)


def _play(config: Config, client: Client, root: Path) -> None:
    repo = root / "home" / "shop"
    _repository(repo)
    hook = config.data.hook_launcher
    _title("Claude Code works, claims success, and is killed")
    claude = _Agent("claude-code", "demo-claude", hook, repo)
    claude.starts()
    claude.is_asked("Write total() in basket.py so that the tests pass")
    claude.writes("basket.py", _WRONG)
    claude.runs_tests()
    claude.says("Done: total() is written and all tests pass.")
    claude.is_killed()
    _line("", "… the terminal is closed: no goodbye, no end event")

    _title("Codex starts in the same directory, and reads this before you type")
    codex = _Agent("codex", "demo-codex", hook, repo)
    told = codex.starts()
    _block(told)
    if "Failed:" not in told:
        raise Unavailable("The brief came too late on this machine just now. Try once more, or: aimemory demo --keep")
    _line("", "It said that all tests pass. What was recorded of the run says otherwise: that is handed over.")

    _title("Codex takes the baton with its first tool call")
    codex.is_asked("go on")
    codex.writes("basket.py", _RIGHT)
    codex.runs_tests()
    codex.says("total() is fixed; all tests pass.")
    _git(repo, "add", "-A")
    _git(repo, "commit", "-qm", "total() sums")
    codex.ends()
    _handed_on(client, repo)

    _title("The next agent reads")
    third = _Agent("claude-code", "demo-claude-2", hook, repo)
    _block(third.starts())
    third.is_killed()
    _line("", "This time the words and the record agree.")

    _title("aimemory trail")
    for step in client.get("/api/v1/trail", cwd=str(repo))["steps"]:
        click.echo(f"  {step['at'][11:19]}  {clean(step['said'])}")
    click.echo("\nTry it on your own work:  aimemory preview   ·   aimemory connect")


def _handed_on(client: Client, repo: Path) -> None:
    """Wait until the receiver's own handoff is written: its session ended a moment ago."""
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        found = client.get("/api/v1/handoffs", cwd=str(repo), state="open")["handoffs"]
        if any(one["page"] for one in found):
            return
        time.sleep(0.05)
    raise Unavailable("The handoff was not written in time. `aimemory demo --keep` leaves the files for a look.")


def _repository(repo: Path) -> None:
    repo.mkdir()
    (repo / "test_basket.py").write_text(_TEST, encoding="utf-8")
    _git(repo, "init", "-q")
    _git(repo, "add", "-A")
    _git(repo, "commit", "-qm", "Tests for the basket")


def _git(repo: Path, *arguments: str) -> None:
    env = {"PATH": os.defpath, "HOME": str(repo.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    names = ("-c", "user.name=You", "-c", "user.email=you@example.invalid", "-c", "init.defaultBranch=main")
    git = shutil.which("git")
    if git is None:
        raise UserError("The demo needs git.")
    subprocess.run([git, *names, *arguments], cwd=repo, env=env, check=True, capture_output=True)


def _stop(config: Config) -> None:
    if lock_holder(config.data) is None:
        return
    config.data.down_marker.touch()
    try:
        Client(config, timeout_s=2).request("POST", "/api/v1/stop", {})
    except Unavailable:
        return
    wait_until_down(config, 8.0)


def _title(text: str) -> None:
    click.echo("\n" + click.style(f"── {text}", bold=True))


def _line(who: str, text: str) -> None:
    click.echo(f"  {click.style(f'{who:<6}', fg='cyan')} {clean(text)}")


def _block(brief: str) -> None:
    width = max(40, min(110, shutil.get_terminal_size((110, 24)).columns))
    for line in brief.splitlines():
        click.echo(textwrap.fill(clean(line), width, initial_indent="  │ ", subsequent_indent="  │   "))
