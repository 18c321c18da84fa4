"""`connect --apply` with a real daemon: what it wrote is tried out as the agent would run it."""

import json
import shlex
import subprocess

import pytest


@pytest.fixture
def user(daemon):
    """A user of Claude Code and Codex, with settings of his own."""
    for name, text in (("claude/settings.json", '{"model": "x"}\n'), ("codex/config.toml", 'model = "y"\n')):
        path = daemon.home / f".{name}"
        path.parent.mkdir()
        path.write_text(text)
    return daemon


def files(home):
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.promise("P9.12")
@pytest.mark.promise("P12.11")
def test_connect_writes_tries_and_leaves_no_trace_in_the_memory(user):
    before = files(user.home)

    done = user.cli("connect", "--apply")

    assert done.returncode == 0, done.stderr
    for agent in ("Claude Code", "Codex CLI"):
        assert f"{agent}: An event sent with this hook is in the journal; it took " in done.stdout
    assert 'start `codex` once and accept at "Hooks need review"' in done.stdout
    lines = user.lines("observation")
    assert [(line["data"]["harness"], line["data"]["kind"]) for line in lines] == [
        ("claude-code", "other"),
        ("codex", "other"),
    ]
    assert all("session" not in line["data"] and line["data"]["project"] == "_unfiled" for line in lines)
    counts = user.status()["counts"]
    assert (counts["sessions"], counts["pages"]) == (0, 0)
    assert user.get("/api/v1/brief", cwd=str(user.home))["text"] == ""

    assert user.cli("disconnect", "--apply").returncode == 0
    assert files(user.home) == before


def test_every_command_in_the_settings_runs_and_the_server_answers(user):
    user.cli("connect", "--apply")
    settings = json.loads((user.home / ".claude" / "settings.json").read_text())
    server = json.loads((user.home / ".claude.json").read_text())["mcpServers"]["aimemory"]

    commands = [group["hooks"][0]["command"] for groups in settings["hooks"].values() for group in groups]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    answer = subprocess.run(
        [server["command"], *server["args"]], input=json.dumps(hello).encode() + b"\n", capture_output=True, timeout=20,
    )  # fmt: skip

    assert {shlex.split(command)[0] for command in commands} == {str(user.data.hook_launcher)}
    assert json.loads(answer.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "aimemory"


@pytest.mark.promise("P12.11")
@pytest.mark.parametrize(
    "launcher, said", [("exit 3", "ended with 3"), ("echo loud", "said 'loud'"), ("exit 0", "did not arrive within")]
)
def test_a_hook_that_does_not_deliver_is_said_with_exit_code_1(user, launcher, said):
    user.data.hook_launcher.write_text(f"#!/bin/sh\n{launcher}\n")

    done = user.cli("connect", "codex", "--only", "hooks", "--apply", "--json")

    assert done.returncode == 1
    (test,) = json.loads(done.stdout)["self_tests"]
    assert not test["ok"] and said in test["said"]


def test_a_user_who_keeps_nothing_hears_that_the_event_arrived_and_was_dropped(user):
    user.stop()
    user.settings["capture_mode"] = "off"
    user.start()

    done = user.cli("connect", "codex", "--apply")

    assert done.returncode == 0
    assert "was dropped: capture is off" in done.stdout


def test_connect_starts_the_daemon_unless_it_was_stopped_on_purpose(user):
    user.stop()
    assert user.cli("connect", "--apply").returncode == 0

    user.cli("down")
    before = files(user.home)
    refused = user.cli("connect", "--apply")

    assert refused.returncode == 75
    assert files(user.home) == before
    assert user.cli("connect").returncode == 0
