"""Whose hook it is and whether that process runs: on trees of processes written by hand, and on real ones."""

import os
import shlex
import signal
import socket
import subprocess
import sys

import pytest

from aimemory.model.process import Process, process_from_data
from aimemory.processes import Processes, peer_pid

BOOT = "6e0675c4-a716-4f93-b0af-3603f1312cc9"


class Proc:
    """A proc file system in a folder: each process is (pid, parent, program, started)."""

    def __init__(self, root, boot=BOOT, space=1):
        self.root = root
        (root / "sys/kernel/random").mkdir(parents=True)
        (root / "sys/kernel/random/boot_id").write_text(boot + "\n")
        (root / "self/ns").mkdir(parents=True)
        (root / "self/ns/pid").symlink_to(f"pid:[{space}]")

    def add(self, pid, parent, program, started, name=None, state="S"):
        folder = self.root / str(pid)
        folder.mkdir()
        rest = f"{state} {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {started} 1000 10"
        (folder / "stat").write_text(f"{pid} ({name or program.rpartition('/')[2][:15]}) {rest}\n")
        if program.startswith("/"):
            (folder / "exe").symlink_to(program)
        return self

    def table(self):
        return Processes(str(self.root))


@pytest.fixture
def proc(tmp_path):
    return Proc(tmp_path)


def test_the_harness_is_the_first_above_the_hook_that_is_no_shell_or_launcher(proc):
    proc.add(1, 0, "/sbin/init", 1).add(50, 1, "/bin/zsh-5.9", 90).add(60, 50, "/opt/claude", 100)
    proc.add(70, 60, "/usr/bin/dash", 200, name="sh").add(71, 70, "/usr/bin/dash", 201, name="hook")
    proc.add(72, 71, "/usr/bin/python3.11", 202)

    assert proc.table().harness_of(72) == Process(60, 100, f"{BOOT}/1")


@pytest.mark.parametrize("between", ["timeout", "env", "bash", "zsh-5.9", "fish", "busybox", "nice"])
def test_what_only_runs_the_hook_is_passed(proc, between):
    proc.add(60, 50, "/opt/claude", 100).add(70, 60, f"/usr/bin/{between}", 200).add(72, 70, "/usr/bin/python3", 202)

    assert proc.table().harness_of(72).pid == 60


@pytest.mark.parametrize("program", ["/usr/bin/node", "/usr/bin/python3.12", "/opt/sh-agent", "/opt/claude (deleted)"])
def test_a_harness_may_be_a_script_of_any_language_or_replaced_on_disk(proc, program):
    proc.add(60, 50, program, 100).add(72, 60, "/usr/bin/python3", 202)

    assert proc.table().harness_of(72).pid == 60


@pytest.mark.parametrize("above", ["systemd", "sshd", "tmux", "login", "cron", "containerd-shim"])
def test_a_way_that_ends_at_what_starts_shells_met_no_harness(proc, above):
    proc.add(40, 1, above, 10).add(50, 40, "/bin/bash", 90).add(72, 50, "/usr/bin/python3", 202)

    assert proc.table().harness_of(72) is None


def test_a_parent_that_is_younger_than_its_child_is_another_process_with_its_pid(proc):
    proc.add(60, 50, "/opt/claude", 300).add(72, 60, "/usr/bin/python3", 202)

    assert proc.table().harness_of(72) is None


def test_a_hook_that_was_left_behind_or_is_gone_has_no_harness(proc):
    proc.add(1, 0, "/sbin/init", 1).add(72, 1, "/usr/bin/python3", 202).add(73, 900, "/usr/bin/python3", 202)

    assert [proc.table().harness_of(pid) for pid in (72, 73, 74)] == [None, None, None]
    assert [proc.table().exists(pid) for pid in (72, 73, 74)] == [True, True, False]


def test_a_name_with_parentheses_and_spaces_is_read_right(proc):
    proc.add(60, 50, "unreadable", 100, name="my) (S 1 agent").add(72, 60, "/usr/bin/python3", 202)

    assert proc.table().harness_of(72) == Process(60, 100, f"{BOOT}/1")


def test_a_process_runs_while_pid_and_start_are_the_same(proc):
    proc.add(60, 1, "/opt/claude", 100).add(61, 1, "/opt/claude", 100, state="Z")
    table = proc.table()

    assert table.is_alive(Process(60, 100, f"{BOOT}/1")) is True
    assert table.is_alive(Process(60, 99, f"{BOOT}/1")) is False, "another process has that pid now"
    assert table.is_alive(Process(61, 100, f"{BOOT}/1")) is False, "a zombie does nothing any more"
    assert table.is_alive(Process(62, 100, f"{BOOT}/1")) is False


def test_after_a_reboot_no_process_of_before_runs(proc):
    proc.add(60, 1, "/opt/claude", 100)

    assert proc.table().is_alive(Process(60, 100, "another-boot/1")) is False


def test_pids_of_another_container_say_nothing(proc):
    assert proc.table().is_alive(Process(60, 100, f"{BOOT}/2")) is None


def test_without_proc_everything_is_unknown(tmp_path):
    table = Processes(str(tmp_path / "nothing"))

    assert table.harness_of(os.getpid()) is None
    assert table.is_alive(Process(os.getpid(), 1, f"{BOOT}/1")) is None
    assert table.is_alive(None) is None


def test_a_process_comes_back_from_its_data_and_other_data_is_none():
    for process in (Process(7, 8, "b/1"), Process(7, 8, "b/1", confirmed=True)):
        back = process_from_data(process.as_data())
        assert (back, back.confirmed) == (process, process.confirmed)
    assert [process_from_data(data) for data in (None, [], {}, {"pid": "7", "started": 8, "boot": "b"})] == [None] * 4


# -- real processes ------------------------------------------------------------------------------------------------------

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these facts are read from /proc")


@linux
def test_a_real_child_behind_two_shells_finds_this_process_and_its_end():
    code = "import sys; from aimemory.processes import Processes; import os; print(Processes().harness_of(os.getpid()).pid)"
    inner = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}; true"
    done = subprocess.run(["/bin/sh", "-c", f"/bin/sh -c {shlex.quote(inner)}; true"], capture_output=True, text=True)

    assert done.stdout.strip() == str(os.getpid()), done.stderr


@linux
def test_a_killed_process_is_gone():
    code = "import subprocess; p = subprocess.Popen(['/bin/cat'], stdin=-1); print(p.pid, flush=True); p.wait()"
    table = Processes()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as agent:
        process = table.harness_of(int(agent.stdout.readline()))
        assert process.pid == agent.pid
        assert table.is_alive(process) is True
        agent.send_signal(signal.SIGKILL)
        agent.wait()
    assert table.is_alive(process) is False


@linux
def test_the_peer_of_a_socket_is_who_connected_also_when_it_is_gone(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen(1)
        client = subprocess.Popen(
            [sys.executable, "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({str(tmp_path / 's')!r})"]
        )
        connection, _ = listener.accept()
        client.wait()
        assert peer_pid(connection) == client.pid
        connection.close()
    with socket.socket() as tcp:
        assert peer_pid(tcp) in (None, os.getpid())
