"""When a session counts as closed although nothing said so, and when two are live beside each other."""

from dataclasses import replace

import pytest

from aimemory.index.events import SessionRow
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.process import Process
from aimemory.sessions.liveness import (
    Liveness,
    Start,
    closed_by_start,
    closed_by_time,
    liveness,
)

SECOND, MINUTE = 1_000_000_000, 60_000_000_000
NOW = 1_796_028_000 * SECOND
A, B = Process(60, 100, "b/1", confirmed=True), Process(61, 500, "b/1", confirmed=True)

OPEN = SessionRow(
    id=SessionId("old"), harness="claude-code", native="o", project=ProjectId("p"), cwd="/w/app", first_seq=1,
    last_seq=9, started_at_ns=NOW - 60 * MINUTE, last_at_ns=NOW - MINUTE, prompts=1, tools=1, ended_at_ns=None,
    end_reason=None, closed_seq=None, page=None, process=A,
)  # fmt: skip
START = Start(SessionId("new"), "claude-code", ProjectId("p"), "/w/app", NOW, "startup", B)


def runs(process):
    return None if process is None else True


def gone(process):
    return None if process is None else False


def unknown(_):
    return None


# -- by a newer start ----------------------------------------------------------------------------------------------------


def test_two_terminals_of_one_harness_are_two_live_sessions():
    assert closed_by_start(OPEN, START, runs) is None


def test_a_newer_start_closes_one_that_was_silent_for_ten_minutes():
    old = replace(OPEN, last_at_ns=NOW - 10 * MINUTE)

    assert closed_by_start(old, START, unknown) == "a newer session began in this directory"
    assert closed_by_start(replace(old, last_at_ns=old.last_at_ns + 1), START, unknown) is None


def test_a_newer_start_closes_one_whose_process_is_gone_at_once():
    assert "process is gone" in closed_by_start(replace(OPEN, last_at_ns=NOW - SECOND), START, gone)


def test_a_process_that_was_seen_once_may_have_been_a_helper_and_its_end_closes_nothing():
    once = replace(OPEN, process=Process(60, 100, "b/1"))

    assert closed_by_start(once, START, gone) is None
    assert closed_by_time(once, NOW, 30 * MINUTE, gone) is None


@pytest.mark.parametrize("reason", ["clear", "resume"])
def test_a_start_that_takes_the_place_of_what_ran_in_its_process_closes_it(reason):
    assert closed_by_start(OPEN, replace(START, reason=reason, process=A), runs) == (
        f"another session took its place ({reason})"
    )


@pytest.mark.parametrize("reason", ["clear", "resume"])
@pytest.mark.parametrize("processes", [(A, B), (A, None), (None, B), (None, None)])
def test_from_another_or_an_unknown_process_clear_and_resume_close_no_other_session(reason, processes):
    old, new = processes

    assert closed_by_start(replace(OPEN, process=old), replace(START, reason=reason, process=new), runs) is None


def test_a_plain_start_from_the_same_process_closes_nothing():
    """A program that hosts several sessions starts them one beside the other."""
    assert closed_by_start(OPEN, replace(START, process=A), runs) is None


@pytest.mark.parametrize(
    "old, start",
    [
        (replace(OPEN, id=START.session), START),
        (replace(OPEN, harness="codex"), START),
        (replace(OPEN, ended_at_ns=OPEN.last_at_ns), START),
        (replace(OPEN, closed_seq=OPEN.last_seq), START),
        (replace(OPEN, started_at_ns=NOW + 1), START),
        (OPEN, replace(START, reason="compact")),
    ],
    ids=["itself", "another harness", "ended", "closed", "a later session", "a session that goes on"],
)
def test_what_no_start_closes(old, start):
    old = replace(old, last_at_ns=max(old.last_at_ns - 60 * MINUTE, old.ended_at_ns or 0))

    assert closed_by_start(old, start, gone) is None


def test_a_start_out_of_the_spool_decides_as_it_would_have_in_time():
    """Ages lie between capture times: what happened since the start is not silence before it."""
    late = replace(START, at_ns=NOW - 30 * MINUTE)

    assert closed_by_start(replace(OPEN, last_at_ns=late.at_ns - 9 * MINUTE), late, unknown) is None
    assert closed_by_start(OPEN, late, unknown) is None
    assert closed_by_start(replace(OPEN, last_at_ns=late.at_ns - 10 * MINUTE), late, unknown)


# -- by time -----------------------------------------------------------------------------------------------------------


def test_silence_closes_whatever_the_process_does():
    silent = replace(OPEN, last_at_ns=NOW - 30 * MINUTE)

    assert closed_by_time(silent, NOW, 30 * MINUTE, runs) == "silent for 30 minutes"
    assert closed_by_time(silent, NOW - 1, 30 * MINUTE, runs) is None


def test_a_process_that_is_gone_closes_after_twenty_seconds_in_which_its_last_events_may_arrive():
    old = replace(OPEN, last_at_ns=NOW - 20 * SECOND)

    assert closed_by_time(old, NOW, 30 * MINUTE, gone) == "its process is gone"
    assert closed_by_time(old, NOW - 1, 30 * MINUTE, gone) is None
    assert closed_by_time(old, NOW, 30 * MINUTE, runs) is None
    assert closed_by_time(old, NOW, 30 * MINUTE, unknown) is None


# -- the state ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row, is_alive, state",
    [
        (replace(OPEN, last_at_ns=NOW), runs, Liveness.LIVE),
        (replace(OPEN, last_at_ns=NOW - 20 * SECOND + 1), runs, Liveness.LIVE),
        (replace(OPEN, last_at_ns=NOW - 20 * SECOND), runs, Liveness.QUIET),
        (replace(OPEN, process=None), unknown, Liveness.QUIET),
        (replace(OPEN, last_at_ns=NOW), gone, Liveness.GONE),
        (replace(OPEN, process=Process(60, 100, "b/1"), last_at_ns=NOW), gone, Liveness.LIVE),
        (replace(OPEN, ended_at_ns=OPEN.last_at_ns), gone, Liveness.ENDED),
        (replace(OPEN, ended_at_ns=OPEN.last_at_ns - 1), runs, Liveness.QUIET),
    ],
)
def test_the_state_of_a_session(row, is_alive, state):
    assert liveness(row, NOW, is_alive) is state
