"""Capture broken in many ways, one at a time on one daemon: each is named with its cause, and gone when mended."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from threading import Thread

import pytest
from living import Agent, Daemon, repository
from test_system_doctor import bad, doctor

OLD = "import aimemory; aimemory.__version__ = '0.0.9'; from aimemory.cli.main import cli; cli()"
"""The program as an older version that is still in memory after an upgrade."""


@pytest.fixture
def connected(daemon):
    """A daemon with an event, and Claude Code's settings with our hooks."""
    (daemon.home / ".claude").mkdir()
    done = daemon.cli("connect", "claude-code", "--apply")
    assert done.returncode == 0, done.stderr
    daemon.event("claude-code", "UserPromptSubmit", {"session_id": "s", "prompt": "hello"})
    daemon.wait(lambda: daemon.status()["git"]["waiting"] == 0, "all is committed")
    return daemon


@contextmanager
def replaced(path, text):
    """The file with other content for the length of the block, in one step as editors do it."""
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    try:
        yield
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def answer_once(listening):
    connection, _ = listening.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def settings(daemon):
    return daemon.home / ".claude" / "settings.json"


def changed(daemon, **groups):
    """Our settings with the matcher groups of some events replaced."""
    data = json.loads(settings(daemon).read_text())
    for event, value in groups.items():
        data["hooks"][event] = value
    return json.dumps({**data, "hooks": {event: value for event, value in data["hooks"].items() if value is not None}})


@pytest.mark.promise("P12.160")
def test_hooks_that_are_gone_or_edited_or_overruled_are_named(connected, tmp_path):
    """DMN-12, CAP-10: what is wrong in an agent's own settings, and beside them."""
    mine = json.loads(settings(connected).read_text())["hooks"]
    project = repository(tmp_path / "app")
    assert bad(doctor(connected, cwd=project)[1]) == set()

    with replaced(settings(connected), '{"theme": "dark"}'):
        code, findings = doctor(connected)
        assert code == 1 and "removed" in findings["agents.claude-code.hooks"]["said"]
        assert findings["agents.claude-code.hooks"]["fix"] == "aimemory connect claude-code --apply"
        (told,) = json.loads(connected.cli("status", "--json").stdout)["harnesses"]
        assert told["hooks"]["state"] == "removed"  # a quiet day reads differently

    with replaced(settings(connected), changed(connected, Stop=None)):
        assert "Stop" in doctor(connected)[1]["agents.claude-code.hooks"]["evidence"]

    edited = [
        {**mine["PostToolUse"][0], "matcher": "Bash", "hooks": [{**mine["PostToolUse"][0]["hooks"][0], "timeout": 1}]}
    ]
    with replaced(settings(connected), changed(connected, PostToolUse=edited)):
        found = doctor(connected)[1]["agents.claude-code.hooks"]
        assert (
            "edited" in found["said"]
            and "timeout 1 instead of 5" in found["evidence"]
            and "'Bash'" in found["evidence"]
        )

    with replaced(settings(connected), changed(connected, Stop=[*mine["Stop"], *mine["Stop"]])):
        assert "1 events, Stop" in doctor(connected)[1]["agents.claude-code.twice"]["evidence"]

    other = [{"hooks": [{"type": "command", "command": "npx claude-mem hook stop"}]}]
    with replaced(settings(connected), changed(connected, Stop=[*mine["Stop"], *other])):
        found = doctor(connected)[1]["agents.claude-code.other-memory"]
        assert found["level"] == "note" and found["proven"] is False and "claude-mem" in found["evidence"]

    below = project / "src"
    below.mkdir()
    with replaced(project / ".claude" / "settings.local.json", json.dumps({"disableAllHooks": True})):
        found = doctor(connected, cwd=below)[1]["agents.claude-code.shadowed"]
        assert found["level"] == "warning" and "disableAllHooks = true" in found["evidence"]
    with replaced(project / ".claude" / "settings.json", json.dumps({"hooks": {"Stop": mine["Stop"]}})):
        found = doctor(connected, cwd=project)[1]["agents.claude-code.twice"]
        assert found["fix"] == f"Take ours out of {project}/.claude/settings.json."

    connected.more_env = {"CLAUDE_CONFIG_DIR": str(connected.home / "moved")}
    (connected.home / "moved").mkdir()
    findings = doctor(connected)[1]
    connected.more_env = {}
    assert findings["agents.elsewhere"]["evidence"].startswith(str(connected.home / ".claude"))

    assert bad(doctor(connected, cwd=project)[1]) == set()


@pytest.mark.promise("P12.160")
def test_launchers_that_run_nothing_or_something_else_are_named(connected, tmp_path):
    """CAP-14, DMN-03: a hook exits 0 whatever is wrong with it, so only a look at it tells."""
    launcher = connected.data.hook_launcher
    text = launcher.read_text()

    with replaced(launcher, text.replace(sys.executable, "/opt/gone/bin/python")):
        code, findings = doctor(connected)
        assert code == 1 and "/opt/gone/bin/python" in findings["files.launchers"]["evidence"]
        assert findings["files.launchers"]["can_fix"]

    package = tmp_path / "venv" / "aimemory"
    (package / "hookclient").mkdir(parents=True)
    (package / "hookclient" / "stub.py").touch()
    (package / "__init__.py").write_text('__version__ = "0.0.7"\n')
    stub = text.split(" s='")[1].split("'")[0]
    with replaced(launcher, text.replace(stub, str(package / "hookclient" / "stub.py"))):
        assert "version 0.0.7" in doctor(connected)[1]["files.launchers"]["evidence"]

    with replaced(launcher, text.replace(sys.executable, "/bin/true")):
        code, findings = doctor(connected, "--test")
        assert code == 1 and "another interpreter" in findings["files.launchers"]["said"]
        assert "did not arrive" in findings["agents.claude-code.self-test"]["evidence"]

    launcher.chmod(0)
    launcher.unlink()
    code, findings = doctor(connected, "--fix", "--test")
    assert code == 0 and findings["files.launchers"]["level"] == "ok" and launcher.read_text() == text
    assert findings["agents.claude-code.self-test"]["level"] == "ok"


@pytest.mark.promise("P12.160")
def test_a_daemon_that_cannot_be_reached_is_named_with_what_keeps_it(connected):
    pid = connected.process.pid
    with replaced(connected.data.token_file, "x" * 43):
        code, findings = doctor(connected)
        assert code == 1 and findings["daemon.token"]["fix"] == "aimemory restart"

    os.kill(pid, signal.SIGSTOP)
    try:
        assert f"process {pid} is paused" in doctor(connected)[1]["daemon.answers"]["evidence"]
    finally:
        os.kill(pid, signal.SIGCONT)

    aside = connected.data.root / "socket-aside"
    connected.data.socket.rename(aside)
    seen = doctor(connected)[1]["daemon.answers"]["evidence"]
    assert "is gone" in seen and str(pid) in seen
    with socket.socket(socket.AF_UNIX) as foreign:  # DMN-02: another server that answers 200 to everything
        foreign.bind(str(connected.data.socket))
        foreign.listen()
        Thread(target=answer_once, args=(foreign,)).start()
        assert "not aimemory" in doctor(connected)[1]["daemon.answers"]["evidence"]
    connected.data.socket.unlink()
    aside.rename(connected.data.socket)

    connected.cli("off", str(connected.home))
    assert "you turned it off" in doctor(connected)[1]["folder.off"]["said"]
    connected.cli("on", str(connected.home))
    assert bad(doctor(connected)[1]) == set()


@pytest.mark.promise("P12.160")
def test_a_segment_that_somebody_moved_is_a_failure_also_when_writing_goes_on_without_it(connected):
    connected.wait(lambda: any(line["type"] == "audit" for line in connected.lines()), "what `connect` did is noted")
    (segment,) = connected.data.journal.rglob("*.jsonl")
    moved = connected.data.root / "moved.jsonl"
    segment.rename(moved)
    code, findings = doctor(connected)
    assert code == 1 and "no segment is there" in findings["stores.journal"]["evidence"]

    moved.rename(segment)
    assert bad(doctor(connected)[1]) == set()

    segment.rename(moved)
    connected.event("generic", "note", {"session_id": "n", "text": "in a new segment"})
    code, findings = doctor(connected)
    assert code == 1 and "was removed or replaced" in findings["stores.journal"]["evidence"]
    moved.rename(segment.with_name("0009.jsonl"))
    connected.stop()
    connected.start()
    connected.level()
    assert bad(doctor(connected)[1]) == set()


@pytest.mark.promise("P12.161")
def test_an_agent_can_ask_and_nothing_is_changed_by_it(connected):
    connected.cli("off", str(connected.home / "quiet"))
    (connected.home / "quiet").mkdir()
    connected.data.root.chmod(0o755)
    connected.wait(lambda: not list(connected.data.deeds.glob("*.json")), "what the command line did is told")
    lines = len(connected.lines())
    with replaced(connected.data.token_file, "x" * 43), Agent(connected, connected.home / "quiet", "s") as agent:
        told = agent.tool("memory_doctor").splitlines()

    assert told[1].startswith("- [failure] daemon.token: ") and "do: aimemory restart" in told[1]
    assert any(line.startswith("- [warning] files.modes: ") and "0755" in line for line in told)
    assert any("folder.off" in line and f"aimemory on {connected.home}/quiet" in line for line in told)
    assert not any("[ok]" in line for line in told)
    assert connected.data.root.stat().st_mode & 0o777 == 0o755 and len(connected.lines()) == lines


def test_full_text_that_lost_its_rows_is_named(connected):
    connected.stop()
    with sqlite3.connect(connected.data.index) as db:
        db.execute("delete from observation_fts where rowid in (select seq from observation)")
    code, findings = doctor(connected)

    assert code == 1 and "observation_fts" in findings["stores.text"]["evidence"]
    assert findings["stores.index"]["level"] == "ok"  # it opens, and answers with less


def test_an_old_daemon_in_another_zone_on_another_port_without_file_events(tmp_path):
    """DMN-02, DMN-03, DMN-12: four faults of one daemon, all of them named."""
    limited = ["unshare", "-r", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"', "sh"]
    if subprocess.run([*limited, "true"], capture_output=True).returncode:
        pytest.skip("needs user namespaces")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = Daemon(tmp_path, server_port=port)
        daemon.program = [*limited, sys.executable, "-I", "-c", OLD]
        daemon.more_env = {"TZ": "Asia/Tokyo"}
        daemon.start()
        daemon.more_env = {"TZ": "UTC"}
        daemon.program = Daemon(tmp_path / "new").program
        try:
            daemon.wait(lambda: daemon.status()["wiki"]["watch_problem"], "it polls")
            _, findings = doctor(daemon)
        finally:
            daemon.close()

    assert findings["daemon.version"]["evidence"].startswith("daemon 0.0.9, program ")
    assert "+0900" in findings["daemon.zone"]["evidence"] and "+0000" in findings["daemon.zone"]["evidence"]
    assert f"port {port} was taken" in findings["daemon.port"]["evidence"]
    assert "no file events" in findings["daemon.watches"]["evidence"]
    assert findings["daemon.token"]["level"] == "ok"


def test_a_disk_that_is_read_only_or_full_or_nearly_so(tmp_path):
    """In a namespace of its own, without a daemon: what a mount is like shows to whoever writes."""
    daemon = Daemon(tmp_path)
    daemon.data.create()
    mount = f"mount -t tmpfs -o size=64k tmpfs '{daemon.data.journal}'"
    alone = ["unshare", "-r", "-m", "sh", "-c"]
    if subprocess.run([*alone, mount], capture_output=True).returncode:
        pytest.skip("needs user namespaces")

    def seen(*steps):
        command = " && ".join([mount, *steps, 'exec "$@"'])
        done = subprocess.run(
            [*alone, command, "sh", *daemon.program, "doctor", "--json", "--no-test"],
            env=daemon.env, cwd="/", capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, {one["check"]: one for one in json.loads(done.stdout)["findings"]}

    code, findings = seen(f"mount -o remount,ro '{daemon.data.journal}'")
    assert code == 1 and findings["files.writable"]["evidence"] == f"{daemon.data.journal}: Read-only file system"

    full = f"{{ head -c 1M /dev/zero > '{daemon.data.journal}/fill' 2>/dev/null || true; }}"
    assert "No space left" in seen(full)[1]["files.writable"]["evidence"]

    small = f"mount -t tmpfs -o size=1m,mode=700 tmpfs '{daemon.data.root}'"
    assert "little" in seen(small)[1]["files.room"]["said"]


def test_files_of_another_user(tmp_path):
    daemon = Daemon(tmp_path)
    daemon.data.create()
    try:
        os.chown(daemon.data.journal, 12345, -1)
    except PermissionError:
        pytest.skip("only root can give a file away")
    code, findings = doctor(daemon)

    assert code == 1 and findings["files.owner"]["evidence"] == f"{daemon.data.journal} belongs to uid 12345"
    os.chown(daemon.data.journal, os.getuid(), -1)
