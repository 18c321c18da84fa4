"""Starting, stopping, staying alone."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from living import Daemon, exchange, git


@pytest.fixture
def idle(tmp_path):
    """A data directory whose daemon is started by the test itself."""
    made = Daemon(tmp_path)
    yield made
    made.cli("down")
    made.close()


def test_up_starts_answers_and_says_where_everything_is(idle):
    done = idle.cli("up")

    assert done.returncode == 0, done.stderr
    assert str(idle.data.root) in done.stdout
    assert idle.cli("up").stdout.startswith("aimemory") and "already up" in idle.cli("up").stdout


def test_down_stops_and_keeps_hooks_from_starting_again(idle):
    idle.cli("up")

    assert idle.cli("down").stdout == "aimemory is down.\n"
    idle.hook("claude-code", "Stop", {"session_id": "s"})

    idle.wait(lambda: list(idle.data.spool.glob("[!.]*.json")), "the event is spooled")
    assert idle.cli("status").returncode == 75
    assert idle.cli("search", "x").returncode == 75
    assert "aimemory up" in idle.cli("search", "x").stderr
    assert idle.cli("down").stdout == "aimemory was not running.\n"


def test_what_was_spooled_while_it_was_down_is_stored_after_up(idle):
    idle.cli("up")
    idle.cli("down")
    idle.hook("claude-code", "UserPromptSubmit", {"session_id": "s", "prompt": "water the pelargonium"})
    idle.wait(lambda: list(idle.data.spool.glob("[!.]*.json")), "the event is spooled")

    idle.cli("up")

    idle.wait(lambda: not list(idle.data.spool.glob("*.json")), "the spool is empty")
    assert any("pelargonium" in hit["snippet"] for hit in idle.search("pelargonium"))


def test_an_event_that_was_delivered_and_spooled_is_stored_once(idle):
    """The answer was lost: the same capture comes twice, once raw, once sanitised and later."""
    idle.start()
    at, pid = time.time_ns(), 4242
    idle.event("claude-code", "Stop", {"session_id": "s", "last_assistant_message": "done"}, at=at, pid=pid, cwd="/w")
    spooled = {"v": 1, "harness": "claude-code", "event": "Stop", "at": at, "pid": pid, "cwd": "/w", "session_id": None,
               "kind": "end", "body": {"session_id": "s", "last_assistant_message": "done"}}  # fmt: skip

    (idle.data.spool / f"{at:020d}-{pid}-e00ff.json").write_text(json.dumps(spooled))

    idle.wait(lambda: not list(idle.data.spool.glob("0*.json")), "the spool is empty")
    assert len(idle.lines("observation")) == 1


def test_a_hook_starts_a_daemon_that_outlives_the_hooks_process_group(idle):
    idle.start()
    idle.stop()
    agent = subprocess.Popen(
        ["/bin/sh", "-c", f"'{idle.data.hook_launcher}' claude-code Stop; sleep 60"], stdin=subprocess.PIPE,
        env={"HOME": str(idle.home), "PATH": "/usr/bin:/bin"}, start_new_session=True, cwd=idle.home,
    )  # fmt: skip
    agent.stdin.write(b'{"session_id": "s"}')
    agent.stdin.close()
    idle.wait(lambda: idle.data.endpoint.exists(), "the daemon is started by the hook")
    os.killpg(agent.pid, signal.SIGKILL)
    agent.wait()

    idle.wait(idle.is_up, "the daemon answers")
    idle.wait(lambda: idle.lines("observation"), "the event is stored")


def test_a_second_daemon_refuses_and_names_the_first(daemon):
    again = subprocess.run(
        [sys.executable, "-I", "-m", "aimemory", "serve"], env=daemon.env, capture_output=True, text=True, timeout=20,
        check=False,
    )  # fmt: skip

    assert again.returncode == 75
    assert str(daemon.process.pid) in again.stderr and str(daemon.data.root) in again.stderr
    assert daemon.is_up()


def test_a_left_over_lock_file_with_a_living_foreign_pid_is_no_daemon(idle):
    idle.data.create()
    idle.data.lock_file.write_text(str(os.getpid()))
    (idle.data.root / "socket").write_text("left over")

    idle.start()

    assert idle.status()["pid"] == idle.process.pid


def test_a_taken_port_moves_to_the_next_free_one_and_status_says_so(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = Daemon(tmp_path, server_port=port).start()
        try:
            endpoint = daemon.status()["endpoint"]
            assert endpoint["tcp"] != f"http://127.0.0.1:{port}"
            assert "taken" in endpoint["note"]
            assert json.loads(daemon.data.endpoint.read_text()) == endpoint
        finally:
            daemon.close()


def test_somebody_elses_server_on_the_socket_is_recognised(idle):
    idle.data.create()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(idle.data.socket))
        other.listen()
        status = subprocess.Popen(
            [sys.executable, "-I", "-m", "aimemory", "status"], env=idle.env, stdout=subprocess.PIPE, text=True
        )
        connection, _ = other.accept()
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        connection.close()
        out, _ = status.communicate(timeout=20)

    assert status.returncode == 75
    assert "No daemon answers" in out


@pytest.mark.alone
@pytest.mark.promise("P2.4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_ends_within_five_seconds_with_everything_in_files_index_and_git(daemon, number):
    for n in range(20):
        daemon.event("generic", "note", {"session_id": "s", "text": f"note {n}"}, at=10**18 + n, pid=n)
    page = daemon.post("/api/v1/page", {"title": "Kept", "body": "text", "project": "_unfiled"})

    took = daemon.stop(number)

    assert took < 5
    assert not daemon.data.socket.exists() and not daemon.data.endpoint.exists()
    assert len(daemon.lines("observation")) == 20
    with closing(sqlite3.connect(daemon.data.index)) as db:
        assert db.execute("select count(*) from observation").fetchone() == (20,)
        assert db.execute("select count(*) from page where title = 'Kept'").fetchone() == (1,)
    assert git(daemon.data.wiki, "status", "--porcelain") == ""
    assert page["path"] in git(daemon.data.wiki, "ls-tree", "-r", "--name-only", "HEAD")


def test_tasks_are_shown_with_their_state(daemon):
    def running():
        found = {task["name"]: task for task in daemon.status()["tasks"]}
        return found if all(task["state"] == "running" for task in found.values()) else None

    tasks = daemon.wait(running, "all tasks run")

    assert set(tasks) == {
        "committer",
        "writer",
        "projector",
        "watcher",
        "batons",
        "closer",
        "scheduler",
        "mcp",
        "vectors",
    }
    assert all(task["error"] is None for task in tasks.values())


def test_open_modes_are_tightened_and_named(idle):
    idle.data.create()
    idle.data.root.chmod(0o755)
    idle.data.journal.chmod(0o777)

    idle.start()

    assert oct(idle.data.root.stat().st_mode & 0o777) == "0o700"
    assert any(str(idle.data.journal) in problem for problem in idle.status()["problems"])
    assert oct(idle.data.socket.stat().st_mode & 0o777) == "0o600"
    assert oct(idle.data.token_file.stat().st_mode & 0o777) == "0o600"


def test_a_data_path_too_long_for_a_socket_works(tmp_path):
    daemon = Daemon(tmp_path / ("d" * 120))
    try:
        daemon.start()
        assert len(str(daemon.data.socket)) <= 100
        assert daemon.hook("claude-code", "Stop", {"session_id": "s"}).returncode == 0
        daemon.wait(lambda: daemon.lines("observation"), "the event is stored")
    finally:
        daemon.close()


def test_proxy_variables_are_never_looked_at(daemon):
    daemon.settings = dict(daemon.settings)
    env = daemon.env | dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"), "http://127.0.0.1:9")

    done = subprocess.run(
        [sys.executable, "-I", "-m", "aimemory", "status"],
        env=env,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_two_instances_of_one_user_live_side_by_side(tmp_path):
    one, two = Daemon(tmp_path / "one", server_port=7377), Daemon(tmp_path / "two", server_port=7377)
    try:
        one.start()
        two.start()
        one.event("generic", "note", {"text": "only in one"})
        assert len(one.lines("observation")) == 1 and two.lines("observation") == []
        assert one.status()["endpoint"]["tcp"] != two.status()["endpoint"]["tcp"]
    finally:
        one.close()
        two.close()


# -- TCP -------------------------------------------------------------------------------------------------------------

ROUTES = [("GET", "/healthz"), ("GET", "/api/v1/status"), ("POST", "/hook?harness=generic&event=note"),
          ("POST", "/mcp"), ("POST", "/api/v1/stop"), ("GET", "/nothing/here"), ("POST", "/api/v1/search")]  # fmt: skip


def over_tcp(daemon, method, path, **headers):
    host, _, port = daemon.status()["endpoint"]["tcp"].removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        given = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return exchange(sock, method, path, b"{}", given)[0]


def token(daemon):
    return f"Bearer {daemon.data.token_file.read_text().strip()}"


@pytest.mark.parametrize("method, path", ROUTES)
def test_without_the_token_every_route_is_closed(daemon, method, path):
    assert over_tcp(daemon, method, path) == 401
    assert over_tcp(daemon, method, path, Authorization="Bearer wrong") == 401
    assert daemon.is_up()


@pytest.mark.parametrize("method, path", ROUTES)
@pytest.mark.parametrize("headers", [
    {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:7377"}, {"Origin": "http://evil.example"},
    {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
], ids=str)  # fmt: skip
def test_other_hosts_and_other_pages_are_refused_on_every_route_even_with_the_token(daemon, method, path, headers):
    assert over_tcp(daemon, method, path, Authorization=token(daemon), **headers) == 403


def test_with_the_token_it_answers(daemon):
    assert over_tcp(daemon, "GET", "/healthz", Authorization=token(daemon)) == 200
    assert over_tcp(daemon, "POST", "/hook?harness=generic&event=note", Authorization=token(daemon)) == 202


def test_no_other_user_can_reach_socket_token_or_data(daemon):
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    look = (
        "import os, socket, sys\nos.setgid(65534); os.setuid(65534)\nfound = []\n"
        "for path in sys.argv[2:]:\n"
        "    try: open(path).read(); found.append(path)\n"
        "    except OSError: pass\n"
        "try: socket.socket(socket.AF_UNIX).connect(sys.argv[1]); found.append('socket')\n"
        "except OSError: pass\nprint(found)"
    )
    paths = [daemon.data.token_file, daemon.data.endpoint, *daemon.data.journal.rglob("*.jsonl"), daemon.data.index]

    done = subprocess.run(
        [sys.executable, "-I", "-c", look, str(daemon.data.socket), *map(str, paths)], capture_output=True, text=True
    )

    assert done.stdout == "[]\n", done.stderr
    assert token(daemon).split()[1].encode() not in Path(f"/proc/{daemon.process.pid}/cmdline").read_bytes()


def test_another_address_needs_an_explicit_yes(tmp_path):
    daemon = Daemon(tmp_path, server_host="0.0.0.0")
    done = daemon.cli("serve")

    assert done.returncode == 2
    assert "allow_remote" in done.stderr


@pytest.mark.promise("P5.1")
def test_everything_works_where_there_is_no_network_at_all(tmp_path):
    alone = ["unshare", "-n", "-r"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("this machine allows no network namespaces")
    daemon = Daemon(tmp_path)
    script = (
        f'\'{sys.executable}\' -I -m aimemory up && echo \'{{"session_id": "s", "prompt": "plant the lupins"}}\' | '
        f"'{daemon.data.hook_launcher}' generic prompt && "
        f"'{sys.executable}' -I -m aimemory search -p '*' lupins && '{sys.executable}' -I -m aimemory down"
    )

    done = subprocess.run(
        [*alone, "/bin/sh", "-c", script], env=daemon.env, cwd=daemon.home, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert "plant the lupins" in done.stdout


@pytest.mark.promise("P12.1")
def test_status_names_for_each_harness_what_was_stored_what_was_not_and_why(daemon):
    daemon.event("claude-code", "Stop", {"session_id": "s"})
    daemon.event("claude-code", "Stop", b"{broken")
    daemon.event("codex", "Stop", {"session_id": "s"}, at=10**18, pid=7)
    daemon.event("codex", "Stop", {"session_id": "s"}, at=10**18, pid=7)
    assert daemon.cli("off", str(daemon.home)).returncode == 0
    daemon.event("codex", "UserPromptSubmit", {"session_id": "s", "prompt": "hi", "cwd": str(daemon.home)})

    shown = daemon.cli("status").stdout
    counts = daemon.status()["capture"]

    assert counts["claude-code"]["stored"] == 1 and counts["claude-code"]["rejected"] == 1
    assert counts["claude-code"]["last"]["stored"]["event"] == "Stop"
    (reason,) = counts["claude-code"]["reasons"]
    assert "not JSON" in reason and f"1 × {reason}" in shown
    codex = counts["codex"]
    assert [codex[fate] for fate in ("stored", "duplicate", "dropped")] == [1, 1, 1]
    assert {fate: last["event"] for fate, last in codex["last"].items()} == {
        "stored": "Stop", "duplicate": "Stop", "dropped": "UserPromptSubmit",
    }  # fmt: skip
    (reason,) = codex["reasons"]
    assert f"1 × {reason}" in shown and "1 stored" in shown and "1 dropped" in shown


def test_status_still_names_a_harness_that_has_been_silent_since_the_start(daemon):
    daemon.event("codex", "Stop", {"session_id": "s"})
    before = daemon.status()["capture"]["codex"]["last"]["stored"]
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: "codex" in daemon.status()["capture"], "what is stored is known")

    assert daemon.status()["capture"]["codex"]["last"]["stored"] == before
    assert "nothing since the start" in daemon.cli("status").stdout


def test_broken_settings_stop_neither_status_nor_down(daemon):
    daemon.data.config.write_text("[server\n")

    assert daemon.cli("search", "x").returncode == 2
    assert daemon.cli("status").returncode == 0
    assert daemon.cli("down").returncode == 0
    daemon.process.wait(60)


@pytest.mark.parametrize("place", ["/proc/nowhere", "a-file"])
def test_a_place_that_can_not_hold_data_is_said_at_once(tmp_path, place):
    (tmp_path / "a-file").write_text("x")
    daemon = Daemon(tmp_path)
    env = daemon.env | {"AIMEMORY_DATA_DIR": str(tmp_path / place)}

    done = subprocess.run(
        [sys.executable, "-I", "-m", "aimemory", "up"], env=env, capture_output=True, text=True, timeout=15, check=False
    )

    assert done.returncode == 2
    assert "Choose another data directory" in done.stderr and "Traceback" not in done.stderr


def test_settings_that_changed_since_the_start_are_named(daemon):
    assert daemon.status()["problems"] == []

    daemon.data.config.write_text('[capture]\nmode = "metadata"\n')

    assert any("aimemory restart" in problem for problem in daemon.status()["problems"])


def test_an_unknown_path_is_answered_in_the_same_shape_as_every_error(daemon):
    status, _, body = daemon.request("GET", "/nothing/here")

    assert status == 404
    assert json.loads(body)["error"]["type"] == "NotFound"


HANGS = """
import pathlib, threading
import aimemory.daemon.gauge as gauge
def measure(*given):
    pathlib.Path({reached!r}).touch()
    threading.Event().wait()
gauge.measure = measure
from aimemory.__main__ import main
main()
"""
"""The program with a thread that never ends, as on a share that went away."""


@pytest.mark.promise("P11.340")
def test_a_stop_ends_though_a_thread_hangs_and_keeps_what_was_acknowledged(idle, tmp_path):
    reached = tmp_path / "reached"
    ours, idle.program = idle.program, [sys.executable, "-I", "-c", HANGS.format(reached=str(reached))]
    idle.start()
    idle.wait(reached.exists, "a thread hangs")
    assert idle.event("generic", "prompt", {"session_id": "s", "prompt": "water the pelargonium"})[0] == 202

    idle.stop()  # waits for the process with a bound, and raises

    idle.program = ours
    assert "cut off at the stop" in idle.data.log_file.read_text()
    assert any("pelargonium" in json.dumps(line) for line in idle.lines("observation"))
    idle.start()
    assert any("pelargonium" in hit["snippet"] for hit in idle.search("pelargonium"))
