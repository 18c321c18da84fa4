"""Which session a tool call belongs to, by what the caller shows of itself."""

import asyncio
from dataclasses import replace

import pytest

from aimemory.index.events import SessionRow
from aimemory.model.answers import Caller
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.process import Process
from aimemory.sessions.caller import CallerSession, choose

A, B = Process(60, 100, "b/1", confirmed=True), Process(61, 500, "b/1", confirmed=True)
DEAD = Process(62, 600, "b/1", confirmed=True)
HERE = Caller("/w/app", "claude-code")
CHECKOUTS = {"/w/app/docs": "/w/app", "/w/app/src": "/w/app"}


def row(session, process=None, cwd="/w/app", harness="claude-code", last=10, **more):
    return SessionRow(
        id=SessionId(session), harness=harness, native=session, project=ProjectId("p"), cwd=cwd, first_seq=1,
        last_seq=9, started_at_ns=1, last_at_ns=last, prompts=1, tools=1, ended_at_ns=None, end_reason=None,
        closed_seq=None, page=None, process=process,
    ) if not more else replace(row(session, process, cwd, harness, last), **more)  # fmt: skip


def named(session, known=None):
    return CallerSession(SessionId(session), "the session that the caller named", known)


def chosen(caller, *rows, by_name=None, process=None):
    async def place(cwd):
        return CHECKOUTS.get(cwd, cwd)

    def is_alive(asked):
        return None if asked is None else asked != DEAD

    found = asyncio.run(choose(caller, by_name, process, rows, is_alive, place))
    return found.session, found.how


def test_the_named_session_is_it_while_it_is_live():
    assert chosen(HERE, row("s"), row("t", A), by_name=named("s"), process=A)[0] == "s"


@pytest.mark.parametrize(
    "stale", [[], [row("s", A, ended_at_ns=10)], [row("s", DEAD)]],
    ids=["closed, or never seen", "ended", "its process is gone"],
)  # fmt: skip
def test_a_stale_name_gives_way_to_the_session_of_the_same_process(stale):
    assert chosen(HERE, *stale, row("t", A), row("u", B), by_name=named("s"), process=A) == (
        "t", "the session of the process that the caller runs in"
    )  # fmt: skip


def test_of_two_in_one_process_the_latest_is_meant():
    assert chosen(HERE, row("s", A, last=10), row("t", A, last=20), process=A)[0] == "t"


def test_without_a_process_the_only_live_session_of_directory_and_harness_is_it():
    others = [row("x", cwd="/w/other"), row("y", harness="codex"), row("z", DEAD), row("e", ended_at_ns=10)]

    assert chosen(HERE, row("s"), *others) == ("s", "the only live session of claude-code in this directory")


def test_five_dead_sessions_do_not_make_it_ambiguous():
    """HND-05"""
    assert chosen(HERE, *[row(f"d{n}", DEAD) for n in range(5)], row("s", A))[0] == "s"


def test_between_two_live_sessions_nobody_guesses():
    assert chosen(HERE, row("s"), row("t")) == (None, "2 sessions of claude-code are live in this directory")


def test_a_session_of_the_checkout_counts_where_none_began_in_the_very_directory():
    assert chosen(replace(HERE, cwd="/w/app/docs"), row("s"))[0] == "s"
    assert chosen(replace(HERE, cwd="/w/app/docs"), row("s", cwd="/w/app/src"), row("t", cwd="/w/app/docs"))[0] == "t"


def test_a_named_session_that_nothing_is_known_of_is_kept_when_no_other_fits():
    assert chosen(HERE, by_name=named("s"))[0] == "s"


def test_without_anything_to_go_by_there_is_none():
    assert chosen(Caller(), row("s")) == (None, "the caller names no session")
    assert chosen(replace(HERE, harness=None), row("s"))[0] is None, "another client is not Claude Code"
    assert chosen(HERE) == (None, "no sessions of claude-code are live in this directory")


def test_a_command_that_an_agent_runs_is_known_by_its_process_alone():
    assert chosen(Caller(cwd="/elsewhere"), row("s", A), row("t"), process=A)[0] == "s"
