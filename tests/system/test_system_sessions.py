"""Sessions of real processes: which process each runs in, and when each counts as closed."""

import itertools
import json
import sys
import time

import pytest
from living import Agent, git, repository
from recordings import moved, scenarios

from aimemory.model.ids import session_id

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
        daemon.wait(lambda: len(list(daemon.data.spool.glob("[!.]*.json"))) == 2, "both are spooled")
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
        pid, turns = agent.process.pid, itertools.count()

        def of_another_turn():  # a hook that a daemon just started makes wait hands over and ends: nothing to look at
            agent.say("Stop").say("UserPromptSubmit", prompt="and the peas", prompt_id=f"q{next(turns)}")
            known = [(process, confirmed) for _, process, confirmed in processes(daemon)[2:]]
            return known if len(known) >= 2 else None

        assert daemon.wait(of_another_turn, "the process is confirmed") == [(pid, False), (pid, True)]


# -- when it counts as closed --------------------------------------------------------------------------------------------

MINUTE = 60_000_000_000


def began(daemon, where, session, at_ns, harness="claude-code", **more):
    """A session of one prompt and one answer at an instant of the past, from no known process."""
    base = {"session_id": session, "cwd": str(where)}
    daemon.event(harness, "SessionStart", {**base, "source": "startup", **more}, at=at_ns, pid=1)
    daemon.event(harness, "UserPromptSubmit", {**base, "prompt": f"task of {session}"}, at=at_ns + 1000, pid=1)
    daemon.event(
        harness, "Stop", {**base, "last_assistant_message": f"answer of {session}"}, at=at_ns + 2000, pid=1
    )  # fmt: skip


def page_of(daemon, session):
    """The closed session's page, once it is written."""
    return daemon.wait(
        lambda: next((text for path in daemon.pages() if f"task of {session}" in (text := path.read_text())), None),
        f"the page of {session}",
    )


def closings(daemon):
    """Session → reason, of every closing that was begun."""
    names = {line["data"]["session"]: line["data"]["native_session"] for line in daemon.lines("observation")}
    return {names[line["data"]["session"]]: line["data"].get("reason") for line in daemon.lines("intent")}


def swept(daemon):
    """Wait until the sweep has looked at everything once more: it closes a session that ended an hour ago."""
    name = f"marker{len(daemon.lines())}"
    began(daemon, daemon.root, name, time.time_ns() - 60 * MINUTE)
    page_of(daemon, name)


def test_a_session_without_an_end_is_closed_by_silence_and_says_so(daemon, where):
    """CAP-07: a recorded run in which only the end is missing."""
    at_ns = time.time_ns() - 31 * MINUTE
    for n, row in enumerate(scenarios("claude-code")["first-run"]):
        if row["event"] != "SessionEnd":
            daemon.event("claude-code", row["event"], moved(row["payload"], where), at=at_ns + n * 10**8, pid=1)
    (page,) = daemon.wait(daemon.pages, "the page")

    assert "no end was reported" in page.read_text() and "closed: silent for 30 minutes" in page.read_text()
    assert "greeting" in daemon.get("/api/v1/brief", cwd=str(where))["text"]


def test_a_newer_start_closes_a_session_that_was_silent_for_ten_minutes_and_its_tail_is_kept(daemon, where):
    """CAP-08"""
    began(daemon, where, "old", time.time_ns() - 11 * MINUTE)
    daemon.hook(
        "claude-code", "SessionStart", {"session_id": "new", "cwd": str(where / "docs"), "source": "startup"}, where
    )

    text = page_of(daemon, "old")
    assert "answer of old" in text and "a newer session began in this directory" in text


def test_a_newer_start_closes_a_session_whose_process_is_gone_without_waiting(daemon, where):
    """CAP-08: the window was closed; nothing was said."""
    with Agent(daemon, where, "old") as first:
        first.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="task of old", prompt_id="p")
        first.say("PostToolUse", tool_name="Bash", tool_input={"command": "make beans"}, tool_use_id="t1")
        first.kill()
    with Agent(daemon, where, "new") as second:
        second.say("SessionStart", source="startup")

        text = page_of(daemon, "old")
        assert "make beans" in text and "its process is gone" in text
        assert list(closings(daemon)) == ["old"]


def test_two_terminals_are_two_live_sessions(daemon, where):
    with Agent(daemon, where, "one") as one, Agent(daemon, where, "two") as two:
        one.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="task of one", prompt_id="p")
        two.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="task of two", prompt_id="q")
        two.say("SessionStart", source="clear", session_id="three")
        one.say("Stop", last_assistant_message="answer of one")

        page_of(daemon, "two")
        swept(daemon)
        assert set(closings(daemon)) == {"two"} | {n for n in closings(daemon) if n.startswith("marker")}


def test_clear_closes_what_ran_in_the_same_process_at_once(daemon, where):
    with Agent(daemon, where, "old") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="task of old", prompt_id="p")
        agent.say("SessionStart", source="clear", session_id="new")

        assert "another session took its place (clear)" in page_of(daemon, "old")


def test_a_newer_start_elsewhere_or_of_another_harness_closes_nothing(daemon, where, tmp_path):
    other = repository(tmp_path / "other")
    tree = tmp_path / "tree"
    git(where, "worktree", "add", "-q", str(tree))
    began(daemon, where, "old", time.time_ns() - 11 * MINUTE)
    for place, harness in ((other, "claude-code"), (tree, "claude-code"), (where, "codex")):
        daemon.hook(
            harness, "SessionStart", {"session_id": f"new-{place.name}", "cwd": str(place), "source": "startup"}
        )
    swept(daemon)

    assert "old" not in closings(daemon)


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_a_sub_agent_neither_closes_its_parent_nor_another(daemon, where, event):
    """CAP-19: it speaks under its parent's session id."""
    began(daemon, where, "old", time.time_ns() - 11 * MINUTE)
    began(daemon, where, "parent", time.time_ns() - 9 * MINUTE, agent_id="a0", agent_type="worker")
    for agent in ("a1", "a2"):
        daemon.event("claude-code", event, {
            "session_id": "parent", "cwd": str(where), "agent_id": agent, "agent_type": "worker", "source": "startup",
        })  # fmt: skip
    swept(daemon)

    assert not {"old", "parent"} & set(closings(daemon))


def test_a_killed_agent_is_closed_without_a_successor_and_its_next_start_goes_on(daemon, where):
    with Agent(daemon, where, "old") as agent:
        agent.say("SessionStart", ago_s=21, source="startup")
        agent.say("UserPromptSubmit", ago_s=20, prompt="task of old", prompt_id="p")
        swept(daemon)
        assert "old" not in closings(daemon), "it is quiet, and runs"
        agent.kill()
    assert "closed: its process is gone" in page_of(daemon, "old")

    with Agent(daemon, where, "old") as again:
        again.say("SessionStart", source="resume").say("UserPromptSubmit", prompt="and the peas", prompt_id="q")
        again.say("SessionEnd", reason="other")
        daemon.wait(lambda: "and the peas" in page_of(daemon, "old"), "the page tells of both")
    assert len(daemon.pages("*/app/sessions/**/*.md")) == 1


def test_several_ends_and_a_late_one_are_one_closing(daemon, where):
    base = {"session_id": "s", "cwd": str(where)}
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "task of s"}, where)
    for n in range(3):
        daemon.event("claude-code", "SessionEnd", {**base, "reason": "exit"}, at=time.time_ns(), pid=n)
    page_of(daemon, "s")
    daemon.event("claude-code", "SessionEnd", {**base, "reason": "late"}, at=time.time_ns() + 60 * 10**9, pid=9)
    swept(daemon)

    assert len(daemon.pages("*/app/sessions/**/*.md")) == 1
    assert "no end was reported" not in page_of(daemon, "s")


def test_why_a_session_was_closed_is_known_after_a_crash_in_the_middle_and_after_a_rebuild(daemon, where):
    """The intent is on disk, page and done line are not; the reason was a start that nobody sees again."""
    began(daemon, where, "old", time.time_ns() - 11 * MINUTE)
    began(daemon, where, "new", time.time_ns())
    page_of(daemon, "old")
    daemon.wait(lambda: daemon.lines("done"), "the closing is done")
    daemon.stop()
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    intent = next(n for n, raw in enumerate(lines) if json.loads(raw)["type"] == "intent")
    segment.write_bytes(b"".join(lines[: intent + 1]))
    for path in daemon.pages():
        path.unlink()
        git(daemon.data.wiki, "rm", "-q", "--cached", str(path.relative_to(daemon.data.wiki)))
    git(daemon.data.wiki, "commit", "-qm", "as before")
    daemon.data.index.unlink()
    daemon.start()

    assert "a newer session began in this directory" in page_of(daemon, "old")


def test_five_dead_sessions_stay_no_ghosts(daemon, where):
    """HND-05"""
    for n in range(5):
        with Agent(daemon, where, f"dead{n}") as agent:
            agent.say("SessionStart", source="startup").say(
                "UserPromptSubmit", prompt=f"task of dead{n}", prompt_id="p"
            )
            agent.kill()
    with Agent(daemon, where, "mine") as agent:
        agent.say("SessionStart", source="startup")
        for n in range(5):
            page_of(daemon, f"dead{n}")

        assert set(closings(daemon)) == {f"dead{n}" for n in range(5)}


# -- whose is a call -------------------------------------------------------------------------------------------------------


def wrote(daemon, title):
    """The session under which the page of that title was written."""
    (found,) = [line["data"] for line in daemon.lines("page") if f"/{title}-" in line["data"]["path"]]
    return found.get("session")


def under_way(agent, session=None):
    named = {"session_id": session} if session else {}
    agent.say("SessionStart", source="startup", **named)
    return agent.say("UserPromptSubmit", prompt=f"task of {session or agent.session}", prompt_id="p", **named)


def test_what_an_agent_writes_joins_the_session_that_its_hooks_report(daemon, where):
    """HND-06"""
    with Agent(daemon, where, "mine") as agent:
        under_way(agent)
        agent.tool("memory_write_page", title="beans", body="They like it dry.")

    assert wrote(daemon, "beans") == session_id("claude-code", "mine")


def test_two_agents_at_once_in_one_directory_each_write_under_their_own_session(daemon, where):
    with Agent(daemon, where, "one") as one, Agent(daemon, where, "two") as two:
        under_way(one), under_way(two)
        one.tool("memory_write_page", title="beans", body="dry")
        two.tool("memory_write_page", title="peas", body="wet")
        command = [sys.executable, "-I", "-m", "aimemory", "write", "leeks", "--body", "earthed"]
        two.run(["env", f"AIMEMORY_DATA_DIR={daemon.data.root}", *command], "")

    titles = [("beans", "one"), ("peas", "two"), ("leeks", "two")]
    assert [wrote(daemon, title) for title, _ in titles] == [session_id("claude-code", name) for _, name in titles]


def test_after_clear_the_id_in_the_servers_environment_is_stale_and_gives_way(daemon, where):
    with Agent(daemon, where, "before") as agent:
        under_way(agent)
        agent.say("SessionEnd", reason="clear").say("SessionStart", source="clear", session_id="after")
        agent.say("UserPromptSubmit", prompt="task of after", prompt_id="q", session_id="after")
        agent.tool("memory_write_page", session="before", title="beans", body="dry")

    assert wrote(daemon, "beans") == session_id("claude-code", "after")


def test_after_five_crashes_a_save_without_a_session_id_finds_its_own(daemon, where):
    """HND-05: none of the dead makes it ambiguous, here without any process to tell by."""
    for n in range(5):
        with Agent(daemon, where, f"dead{n}", harness="codex") as agent:
            under_way(agent)
        daemon.event("codex", "SessionEnd", {"session_id": f"dead{n}", "cwd": str(where)}, at=time.time_ns(), pid=1)
    with Agent(daemon, where, "mine", harness="codex") as agent:
        under_way(agent)
        agent.tool("memory_write_page", title="beans", body="dry")

    assert wrote(daemon, "beans") == session_id("codex", "mine")


def test_two_sessions_at_once_keep_what_each_did(daemon, where):
    """SCP-10, CAP-19: interleaved, with two sub-agents under one of them."""
    with Agent(daemon, where, "one") as one, Agent(daemon, where, "two") as two:
        under_way(one), under_way(two)
        for n in range(6):
            child = {"agent_id": f"a{n % 2}", "agent_type": "worker"} if n < 4 else {}
            one.say("PostToolUse", tool_name="Bash", tool_input={"command": f"left {n}"}, tool_use_id=f"l{n}", **child)
            two.say("PostToolUse", tool_name="Bash", tool_input={"command": f"right {n}"}, tool_use_id=f"r{n}")
        one.say("SessionEnd", reason="exit")
        two.say("SessionEnd", reason="exit")
        left, right = page_of(daemon, "one"), page_of(daemon, "two")

    assert all(f"left {n}" in left and f"right {n}" in right for n in range(6))
    assert "right" not in left and "left" not in right
