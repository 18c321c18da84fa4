"""Sessions of real processes: which process each runs in, and when each counts as closed."""

import sys

import pytest
from living import Agent, repository

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are read from /proc")


@pytest.fixture
def where(tmp_path):
    return repository(tmp_path / "app")


def processes(daemon):
    """(event, pid, confirmed) of every event that told its process."""
    found = [line["data"] for line in daemon.lines("observation") if "process" in line["data"]]
    return [(data["event"], data["process"]["pid"], data["process"].get("confirmed", False)) for data in found]


# -- the process of a session ------------------------------------------------------------------------------------------


def test_a_session_runs_in_the_process_that_ran_its_hooks(daemon, where):
    with Agent(daemon, where, "s") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="water the beans", prompt_id="p")
        for n in range(3):
            agent.say("PostToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id=f"t{n}")
        pid = agent.process.pid

        assert processes(daemon) == [("SessionStart", pid, False), ("UserPromptSubmit", pid, True)]


def test_an_event_from_the_spool_has_no_process(daemon, where):
    daemon.stop()
    daemon.data.down_marker.touch()
    with Agent(daemon, where, "s") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="water the beans", prompt_id="p")
        daemon.wait(lambda: len(list(daemon.data.spool.glob("*.json"))) == 2, "both are spooled")
        daemon.data.down_marker.unlink()
        daemon.start()
        daemon.wait(lambda: len(daemon.lines("observation")) == 2, "both are stored")

        assert processes(daemon) == []


def test_hooks_of_a_background_server_have_no_process(daemon, where):
    with Agent(daemon, where, "s", harness="codex") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="water the beans")

        assert len(daemon.lines("observation")) == 2 and processes(daemon) == []


def test_who_sends_for_somebody_else_is_not_taken_for_a_hook(daemon, where):
    daemon.event("claude-code", "SessionStart", {"session_id": "s", "cwd": str(where)}, at=10**18, pid=7)

    assert len(daemon.lines("observation")) == 1 and processes(daemon) == []


def test_the_process_is_known_again_after_a_restart_of_the_daemon(daemon, where):
    with Agent(daemon, where, "s") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="water the beans", prompt_id="p")
        daemon.kill()
        daemon.start()
        agent.say("Stop").say("UserPromptSubmit", prompt="and the peas", prompt_id="q")
        pid = agent.process.pid

        assert processes(daemon)[2:] == [("Stop", pid, False), ("UserPromptSubmit", pid, True)]
