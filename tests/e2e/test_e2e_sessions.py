"""Sessions as the real agents make them: side by side, continued, compacted."""

import pytest
from scenes import GOAL, worked
from world import brief, briefs, poll

pytestmark = pytest.mark.e2e

OTHER_GOAL = "Print the receipt in two columns"
GATE = ["run", "until test -e .git/go; do sleep 0.1; done"]
"""What holds both agents in the middle of a turn until the test has seen both there."""


def test_two_agents_at_once_in_one_directory_are_two_live_sessions(world, claude, codex):
    world.model.plan(GOAL, GATE, ["write", "till.py", "x = 1\n"])
    world.model.plan(OTHER_GOAL, GATE, ["write", "receipt.py", "x = 2\n"])
    with claude.terminal() as one, codex.terminal() as two:
        codex.ready(two)
        claude.ready(one)
        one.say(GOAL, lambda: world.model.requests(GOAL))
        two.say(OTHER_GOAL, lambda: world.model.requests(OTHER_GOAL))
        assert [item["kind"] for item in world.recent()] == ["live session"] * 2
        (world.project / ".git/go").touch()
        poll(lambda: "Stop" in world.events("claude-code") and "Stop" in world.events("codex"), "both have finished")

    by_harness = {events[0]["harness"]: events for events in world.sessions().values()}
    assert set(by_harness) == {"claude-code", "codex"} and len(world.sessions()) == 2
    assert wrote(by_harness["claude-code"]) == {"till.py"}
    assert wrote(by_harness["codex"]) == {"receipt.py"}


def wrote(events):
    return {path.rpartition("/")[2] for event in events for path in event.get("files_written", ())}


@pytest.fixture(params=["claude-code", "codex"])
def continued(request, world, claude, codex):
    """The requests of a session's first run and of its second; another agent had worked there before."""
    agent, other = (claude, codex) if request.param == "claude-code" else (codex, claude)
    worked(world, other, OTHER_GOAL, "receipt.py")
    worked(world, agent, GOAL, "till.py")
    poll(lambda: len(world.memory.lines("done")) == 2, "both sessions have their page")
    world.model.plan("Now the tax", ["write", "tax.py", "x = 3\n"])
    agent.run_on("Now the tax")
    return world.model.first(GOAL), world.model.first("Now the tax")


def test_a_continued_session_stays_one_session_with_one_page(world, continued):
    poll(lambda: len(world.memory.lines("done")) == 3, "the page is written again")

    assert len(world.sessions()) == len(world.memory.pages()) == 2
    (page,) = [page.read_text() for page in world.memory.pages() if GOAL in page.read_text()]
    assert "till.py" in page and "tax.py" in page


def test_a_continued_session_is_not_told_again_what_stands_in_its_conversation(continued):
    told, again = brief(continued[0]), briefs(continued[1])

    assert OTHER_GOAL in told and again[0] == told
    assert all(len(text) < len(told) and OTHER_GOAL not in text for text in again[1:])


def test_a_compacted_session_goes_on_and_is_told_once_more(world, claude, codex):
    worked(world, codex, OTHER_GOAL, "receipt.py")
    world.model.plan(GOAL, ["write", "till.py", "x = 1\n"])
    world.model.plan("Now the tax", ["write", "tax.py", "x = 3\n"])
    with claude.terminal() as terminal:
        claude.ready(terminal)
        terminal.say(GOAL, lambda: world.model.requests(GOAL))
        poll(lambda: world.events("claude-code").count("Stop") == 1, "the first turn is over")
        claude.ready(terminal)
        terminal.say("/compact", lambda: "PreCompact" in world.events("claude-code"))
        poll(lambda: "PostCompact" in world.events("claude-code"), "the conversation is compacted")
        terminal.wait("Compacted")
        assert not [page for page in world.memory.pages() if GOAL in page.read_text()]
        terminal.say("Now the tax", lambda: world.model.requests("Now the tax"))
        poll(lambda: world.events("claude-code").count("Stop") == 2, "the second turn is over")
        terminal.say("/exit", terminal.ended)

    assert OTHER_GOAL in brief(world.model.first(GOAL))
    assert OTHER_GOAL in brief(world.model.first("Now the tax"))
    poll(lambda: len(world.memory.pages()) == 2, "both sessions have their page")
    (page,) = [page.read_text() for page in world.memory.pages() if GOAL in page.read_text()]
    assert "till.py" in page and "tax.py" in page
    events = [event for session in world.sessions().values() for event in session if event["harness"] == "claude-code"]
    calls = [event["call_id"] for event in events if event["kind"] == "post-tool"]
    assert len({event["session"] for event in events}) == 1 and len(calls) == len(set(calls)) == 2
