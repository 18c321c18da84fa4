"""When an automatic backup is due, and what is said of it. The process is one of ours."""

import asyncio
import subprocess
from datetime import UTC, datetime

import pytest

from aimemory.upkeep.backup.automatic import Automatic, Plan

HOUR = 3_600_000_000_000
NOON = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()) * 10**9


class Clock:
    def __init__(self):
        self.ns = NOON

    def now_ns(self):
        return self.ns


class Pulse:
    def __init__(self):
        self.failures, self.done = [], []

    def over(self, what=""):
        pass

    def beat(self, queue=0, last=None):
        self.done.append(last)

    def fail(self, reason):
        self.failures.append(reason)


class Desk:
    def __init__(self, folder, command, every_hours=24):
        self.clock, self.pulse, self.started = Clock(), Pulse(), []
        plan = Plan(every_hours, folder, "5f3a9c01", ["/bin/sh", "-c", command], {"PATH": "/usr/bin:/bin"})
        self.automatic = Automatic(plan, self.clock, self.start)

    def start(self, *arguments, **more):
        self.started.append(subprocess.Popen(*arguments, **more))
        return self.started[-1]

    def step(self):
        asyncio.run(self.automatic.step(self.pulse))

    def run(self):
        """Start one if it is due, wait for its end, look how it came out; how many were started for that."""
        before = len(self.started)
        self.step()
        count = len(self.started) - before
        for process in self.started:
            process.wait(60)
        self.clock.ns += 1
        self.step()
        self.automatic.close()  # another one, if its command left no archive
        return count


def archive(folder, at, machine="5f3a9c01"):
    (folder / f"aimemory-auto-{machine}-{at}-17.tar.gz").touch()


def test_none_is_made_unless_that_is_asked_for(tmp_path):
    assert Desk(tmp_path, "true", every_hours=0).run() == 0


def test_one_is_due_when_there_is_none_or_the_newest_is_old_enough(tmp_path):
    archive(tmp_path, "20261129T110000Z")
    archive(tmp_path, "20261130T115959Z", machine="ffffffff")
    desk = Desk(tmp_path, f"touch {tmp_path}/aimemory-auto-5f3a9c01-20261130T120000Z-18.tar.gz")

    assert desk.run() == 1
    desk.clock.ns = NOON + 23 * HOUR
    assert desk.run() == 0
    desk.clock.ns = NOON + 24 * HOUR
    assert desk.run() == 1
    assert desk.automatic.as_data()["last_success_at"].startswith("2026-11-30")


def test_a_second_one_is_never_started_beside_the_first(tmp_path):
    desk = Desk(tmp_path, "exec cat /dev/zero >/dev/null")
    try:
        desk.step()
        desk.step()

        assert len(desk.started) == 1 and desk.automatic.as_data()["running"]
    finally:
        desk.automatic.close()
    assert desk.started[0].returncode == -9 and not desk.automatic.as_data()["running"]
    desk.automatic.close()


@pytest.mark.promise("P12.33")
def test_a_failure_is_said_with_its_reason_until_one_succeeds_and_tried_again_after_an_hour(tmp_path):
    good = tmp_path / "attached"
    desk = Desk(tmp_path, f"test -e {good} || {{ echo 'aimemory: There is no folder.' >&2; exit 2; }}")

    assert desk.run() == 1
    assert "There is no folder" in desk.automatic.problem() and desk.pulse.failures == ["backup: There is no folder."]
    good.touch()
    assert desk.run() == 0
    desk.clock.ns = NOON + HOUR + 10
    assert desk.run() == 1
    assert desk.automatic.problem() is None and desk.automatic.as_data()["last_failure_at"]
