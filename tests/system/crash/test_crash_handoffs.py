"""A daemon that dies between an offer and its brief: who never read of a handoff doesn't take it."""

import pytest
from acting import Agent
from living import repository
from pointed import Pointed


@pytest.fixture
def daemon(tmp_path):
    made = Pointed(tmp_path)
    made.start()
    yield made
    made.disarm()
    made.close()


def state(daemon, where):
    (found,) = daemon.get("/api/v1/handoffs", cwd=str(where))["handoffs"]
    return found["state"], found["claimed_by_harness"]


@pytest.mark.promise("P7.100")
@pytest.mark.parametrize("point", ["brief.offered", "brief.sent"])
def test_who_was_offered_what_no_brief_told_of_takes_nothing_and_is_told_at_its_next_request(daemon, tmp_path, point):
    where = repository(tmp_path / "home" / "app")
    Agent(daemon, "claude-code", "c1", where, ago_s=60).works("Fix the parser for empty files")
    daemon.arm(point)
    for number in range(20):  # on a busy machine a brief may be too late to be offered
        reader = Agent(daemon, "codex", f"x{number}", where)
        try:
            reader.start()
        except (OSError, IndexError):
            break
    daemon.dies()
    assert any(line["data"]["op"] == "offer" for line in daemon.lines("handoff")) and not daemon.lines("brief")
    daemon.start()

    reader.runs("make")
    daemon.search("make")
    assert state(daemon, where) == ("open", None)

    told = ""
    for _ in range(20):
        told = told or reader.prompt("what was I doing?")
        if told:
            break
    assert "is offered to you" in told
    reader.runs("make")
    daemon.wait(lambda: state(daemon, where) == ("claimed", "codex"), "it is taken now")
