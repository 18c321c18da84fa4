"""What the doctor makes of a daemon's own numbers: a clock that was set, a part that stopped, an index that is behind."""

import dataclasses
import time

import pytest

from aimemory.config import load_config
from aimemory.datadir import DataDir
from aimemory.doctor.all import examine
from aimemory.doctor.daemon import check_daemon
from aimemory.doctor.finding import Level
from aimemory.doctor.situation import look
from aimemory.model.protocols import rfc3339_local

NOW = time.time_ns() // 10**9 * 10**9
WELL = {
    "version": "", "pid": 1, "started_at": rfc3339_local(NOW - 3600 * 10**9), "uptime_s": 3600, "endpoint": {},
    "tasks": [{"name": "writer", "state": "running", "error": None}],
    "index": {"state": "level", "lag": 0, "applied_seq": 7}, "wiki": {"watch_problem": None}, "problems": [],
}  # fmt: skip


@pytest.fixture
def situation(tmp_path, monkeypatch):
    monkeypatch.setenv("AIMEMORY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AIMEMORY_SERVER_TCP", "false")
    found = look(load_config(), status=None)
    return dataclasses.replace(found, status={**WELL, "version": found.version}, now_ns=NOW)


def bad(situation):
    return {one.check: one for one in check_daemon(situation) if one.level is not Level.OK}


def test_a_daemon_that_is_well(situation):
    assert bad(situation) == {}


@pytest.mark.parametrize("by_s", [-7200, 7200])
def test_a_clock_that_was_set_under_the_daemon(situation, by_s):
    found = bad(dataclasses.replace(situation, now_ns=NOW + by_s * 10**9))

    assert found["daemon.clock"].evidence == f"by {by_s:+d} s" and not found["daemon.clock"].proven


@pytest.mark.parametrize("changes, check", [
    ({"tasks": [{"name": "committer", "state": "dead", "error": "no space"}]}, "daemon.task"),
    ({"index": {"state": "level", "lag": 9_000, "applied_seq": 7}}, "daemon.index"),
    ({"index": {"state": "rebuilding", "lag": 0, "applied_seq": 7}}, "daemon.index"),
    ({"problems": ["Pages wait for a commit: locked"]}, "daemon.problem"),
])  # fmt: skip
def test_what_the_daemon_says_of_itself(situation, changes, check):
    assert list(bad(dataclasses.replace(situation, status={**situation.status, **changes}))) == [check]


def test_a_check_that_breaks_leaves_the_others(situation):
    DataDir(situation.config.data.root).create()
    found = {one.check: one for one in examine(dataclasses.replace(situation, status={"version": "x", "pid": 1}))}

    assert "endpoint" in found["doctor.check_daemon"].evidence and "files.modes" in found
