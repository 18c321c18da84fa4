"""One agent stops without a word, the other goes on."""

import json
import re
import time

import pytest
from scenes import FAILING, GOAL, RUN_TESTS, till_with_a_test
from world import brief, briefs, poll

pytestmark = pytest.mark.e2e

QUIET_S = 20
EDIT = ["edit", "till.py", "    return sum(prices)", "    return round(sum(prices))"]


def test_codex_knows_what_claude_did_when_it_was_killed_in_mid_turn(world, claude, codex):
    till_with_a_test(world)
    world.model.plan(GOAL, ["read", "till.py"], EDIT, RUN_TESTS, ["hang"])
    running = claude.start(GOAL)
    poll(lambda: world.model.hanging(GOAL), "Claude waits for the model")
    running.kill()
    killed_at = time.time()

    codex.run("Go on please")

    request = world.model.first("Go on please")
    told = brief(request)
    assert request["at"] - killed_at < QUIET_S  # nobody had the time to call the session silent
    assert GOAL in told
    assert re.search(r"Files changed \(1\): `till.py`", told)
    assert FAILING in told


@pytest.fixture
def left(world, codex):
    """Codex's terminal did some work and was left; its server lives on and no end was reported."""
    till_with_a_test(world)
    world.model.plan(GOAL, EDIT, RUN_TESTS)
    with codex.terminal() as terminal:
        codex.ready(terminal)
        terminal.say(GOAL, lambda: world.model.requests(GOAL))
        poll(lambda: "Stop" in world.events("codex"), "the end of the turn is recorded")
        terminal.say("/quit", terminal.ended)
    assert "SessionEnd" not in world.events("codex")
    (session,) = world.sessions().values()
    return session[-1]


def test_claude_is_told_of_a_session_that_codexs_terminal_just_left_but_not_offered_it(world, left, claude):
    claude.run("Where were we?")

    request = world.model.first("Where were we?")
    told = brief(request)
    assert request["at"] - left["at_s"] < QUIET_S
    assert re.search(r"^- Codex CLI since .*, not closed", told, re.MULTILINE)
    assert GOAL in told and "`till.py`" in told and FAILING in told
    assert "is offered to you" not in told


def test_what_codexs_terminal_left_is_offered_after_silence_and_claimed_by_the_first_tool(world, left, claude):
    world.model.plan("Go on with that", ["read", "till.py"])
    with claude.terminal() as terminal:
        claude.ready(terminal)
        poll(lambda: "SessionStart" in world.events("claude-code"), "Claude's session has begun")
        assert time.time() - left["at_s"] < QUIET_S
        poll(lambda: time.time() - left["at_s"] > QUIET_S, "Codex was quiet for long enough")
        assert not [one for one in handoffs(world) if one["state"] == "claimed"]
        terminal.say("Go on with that", lambda: world.model.requests("Go on with that"))
        (handoff,) = poll(
            lambda: [h for h in handoffs(world) if h["state"] == "claimed" and h["page"]], "its tool takes it"
        )

    offered = "\n".join(briefs(world.model.first("Go on with that")))
    assert f"Handoff {handoff['id']} is offered to you" in offered
    assert (world.data.root / "wiki" / handoff["page"]).exists()
    (mine,) = [session for session, events in world.sessions().items() if events[0]["harness"] == "claude-code"]
    assert handoff["claimed_by"] == mine
    # It only read, and was left: the next one is offered it again.
    poll(lambda: [h for h in handoffs(world) if h["state"] == "open"], "who used it for nothing gives it back")


def handoffs(world):
    return json.loads(world.aimemory("handoffs", "--json"))["handoffs"]
