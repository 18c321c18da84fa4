"""When the self-check is due, what is made of what it found, and what is said. The process is one of ours."""

import asyncio
import json
import os
import subprocess

import pytest
from test_backup_automatic import HOUR, Clock, Pulse

from aimemory.upkeep.verify.automatic import CheckPlan, SelfCheck
from aimemory.upkeep.verify.index import REINDEX


def printed(*damage):
    found = [{"level": "note", "part": "git", "where": "w", "what": "Waits.", "do": "Wait."}]
    for where, do in damage:
        found.append({"level": "damage", "part": "x", "where": where, "what": "It is ruined.", "do": do})
    return "echo '" + json.dumps({"findings": found, "left_out": 0}) + "'"


class Desk:
    def __init__(self, record, command, every_hours=24, after_crash=False):
        self.clock, self.pulse, self.started, self.rebuilt, self.ready = Clock(), Pulse(), [], [], True
        plan = CheckPlan(every_hours, ["/bin/sh", "-c", command], {"PATH": "/usr/bin:/bin"}, record, after_crash)
        self.check = SelfCheck(
            plan, self.clock, is_ready=lambda: self.ready, on_damaged_index=self.rebuild, start=self.start
        )

    def rebuild(self, why):
        self.rebuilt.append(why)
        self.ready = False

    def start(self, *arguments, **more):
        self.started.append(subprocess.Popen(*arguments, **more))
        return self.started[-1]

    def step(self, hours=0.0):
        self.clock.ns += int(hours * HOUR)
        asyncio.run(self.check.step(self.pulse))

    def run(self):
        """Look whether one is due, wait for its end, take note of it; how many were started in all."""
        self.step()
        if self.started:
            self.started[-1].wait(60)
            self.step()
        return len(self.started)


@pytest.mark.promise("P12.104")
def test_it_runs_by_the_clock_and_what_it_found_survives_a_restart(tmp_path):
    desk = Desk(tmp_path / "r.json", printed())
    assert desk.run() == 0  # right after a start there is other work
    desk.clock.ns += HOUR
    assert desk.run() == 1 and desk.check.problem() is None and desk.check.as_data()["problems"] == 0
    desk.clock.ns += 23 * HOUR
    assert desk.run() == 1

    again = Desk(tmp_path / "r.json", printed(("journal/1.jsonl:3", "Restore it.")))
    again.clock.ns = desk.clock.ns
    assert again.check.as_data()["last_at"] == desk.check.as_data()["last_at"]
    again.clock.ns += HOUR
    assert again.run() == 1
    assert "1 problems" in again.check.problem() and "journal/1.jsonl:3" in again.check.problem()
    assert again.rebuilt == [] and [one["where"] for one in again.check.as_data()["findings"]] == ["journal/1.jsonl:3"]


@pytest.mark.promise("P12.104")
def test_after_a_crash_it_runs_at_once_and_never_where_it_is_turned_off(tmp_path):
    assert Desk(tmp_path / "a", printed(), after_crash=True).run() == 1
    off = Desk(tmp_path / "b", printed(), every_hours=0, after_crash=True)
    off.clock.ns += 100 * HOUR
    assert off.run() == 0


@pytest.mark.promise("P12.105")
def test_a_damaged_index_is_built_anew_and_looked_at_once_more(tmp_path):
    desk = Desk(tmp_path / "r.json", printed(("cache/index.sqlite3", REINDEX)), after_crash=True)
    assert desk.run() == 1 and len(desk.rebuilt) == 1
    assert desk.run() == 1  # while it is being built
    desk.ready = True
    desk.clock.ns += 1
    assert desk.run() == 2 and len(desk.rebuilt) == 1  # not for ever
    desk.clock.ns += HOUR
    assert desk.run() == 2 and desk.check.problem()


@pytest.mark.promise("P12.105")
def test_an_index_is_left_as_it_is_where_anything_else_is_damaged_or_it_alone_has_what_was_lost(tmp_path):
    for other in (("journal/1.jsonl", "Restore."), ("cache/index.sqlite3", "Don't reindex before you have looked.")):
        desk = Desk(tmp_path / "r", printed(("cache/index.sqlite3", REINDEX), other), after_crash=True)
        assert desk.run() == 1 and desk.rebuilt == []


def test_one_that_fails_or_hangs_is_named_and_tried_again(tmp_path):
    desk = Desk(tmp_path / "r", "echo 'aimemory: no room' >&2; exit 1", after_crash=True)
    assert desk.run() == 1 and "no room" in desk.check.problem()
    desk.step(0.5)
    assert len(desk.started) == 1
    hangs = Desk(tmp_path / "r", "sleep 60", after_crash=True)
    hangs.step()
    assert os.getpriority(os.PRIO_PROCESS, hangs.started[0].pid) > 0
    hangs.step(3)
    assert "not done" in hangs.check.problem() and hangs.started[0].returncode == -9
    hangs.step(2)
    hangs.check.close()
    assert len(hangs.started) == 2 and hangs.started[1].returncode == -9
