"""The sanitising process: same result as here, survives being killed, ends with its owner."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from aimemory.errors import Busy
from aimemory.privacy import sanitize_payload
from aimemory.privacy.worker import Worker, WorkerFailed

BODY = json.dumps(
    {"a": "x " * 200_000 + "password=hunter2xyz ", "b": ["🍸", None, 1.5], "<private>k</private>": 1}
).encode()


@pytest.fixture
def worker():
    with closing(Worker()) as made:
        yield made


def test_result_is_the_same_as_in_process(worker):
    here = sanitize_payload(BODY, leaf_cap_bytes=5000)

    there = worker.submit(BODY, leaf_cap_bytes=5000).result(30)

    assert there.value == here.value
    assert there.counts == here.counts


def test_process_starts_with_the_first_payload_and_stays(worker):
    assert worker.pid is None

    worker.submit(b"{}").result(30)
    first = worker.pid
    worker.submit(b"{}").result(30)

    assert worker.pid == first is not None


def test_what_is_no_json_is_refused_as_in_process(worker):
    with pytest.raises(ValueError, match="not JSON") as caught:
        worker.submit(b'{"a": canary').result(30)

    assert "canary" not in str(caught.value)
    assert worker.submit(b"[1]").result(30).value == [1]


def test_killed_process_is_replaced_and_the_payload_done(worker):
    worker.submit(b"{}").result(30)
    first = worker.pid
    os.kill(first, signal.SIGKILL)

    assert worker.submit(b"[1]").result(30).value == [1]
    assert worker.pid != first


def test_payload_that_kills_twice_fails_and_the_next_is_done(worker, monkeypatch):
    monkeypatch.setattr("aimemory.privacy.worker._START", "import sys; sys.stdin.buffer.read(8); sys.exit(1)")
    with pytest.raises(WorkerFailed, match="died 2 times"):
        worker.submit(b"[1]").result(30)

    monkeypatch.undo()
    assert worker.submit(b"[2]").result(30).value == [2]


def test_process_that_hangs_is_ended_at_the_limit(monkeypatch):
    monkeypatch.setattr("aimemory.privacy.worker._START", "import time; time.sleep(60)")
    with closing(Worker(timeout_s=0.2)) as worker, pytest.raises(WorkerFailed, match=r"longer than 0\.2 s"):
        worker.submit(b"[1]").result(30)


def test_too_many_waiting_payloads_are_refused_at_once_and_the_waiting_ones_at_close(monkeypatch):
    monkeypatch.setattr("aimemory.privacy.worker._START", "import time; time.sleep(60)")
    worker = Worker(most_waiting=2)
    running = worker.submit(b"[1]")
    deadline = time.monotonic() + 60
    while not running.running() and time.monotonic() < deadline:
        pass
    waiting = [worker.submit(b"[2]"), worker.submit(b"[3]")]

    with pytest.raises(Busy):
        worker.submit(b"[4]")
    worker.close(wait_s=0)

    for future in (running, *waiting):
        with pytest.raises(WorkerFailed):
            future.result(0)


def test_closing_ends_the_process_and_refuses_more():
    worker = Worker()
    worker.submit(b"{}").result(30)
    pid = worker.pid

    worker.close()
    worker.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(WorkerFailed, match="stopping"):
        worker.submit(b"{}")


def test_process_ends_when_its_owner_is_killed(tmp_path):
    script = (
        "import os, signal; from aimemory.privacy.worker import Worker; w = Worker(); w.submit(b'{}').result(30);"
        "print(w.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )

    owner = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=30, check=False)

    deadline = time.monotonic() + 60
    while (alive := _is_alive(int(owner.stdout))) and time.monotonic() < deadline:
        pass
    assert not alive


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_gate_needs_no_installed_package():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import aimemory.privacy; print(*sys.modules)"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root], capture_output=True, text=True, check=True, timeout=30
    ).stdout.split()

    assert "aimemory.privacy.sanitize" in loaded
    assert not {"asyncio", "dataclasses", "pathlib", "subprocess", "aimemory.model.event"} & set(loaded)
