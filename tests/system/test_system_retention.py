"""Retention: what is old goes, what is a person's, open or taken stays, and everything else is as it was."""

import json
import time

import pytest
from living import Daemon, repository
from pointed import Pointed
from test_system_forget import dumped, is_right

DAY_NS = 86_400 * 10**9
SETTINGS = {
    "retention_observations_days": 10, "retention_sessions_days": 90, "retention_handoffs_days": 60,
    "retention_conflicts_days": 5,
}  # fmt: skip
SAID = "the tulips of {} stand by the fence"


@pytest.fixture
def kept(tmp_path):
    """A daemon that keeps nothing for ever."""
    made = Daemon(tmp_path, **SETTINGS)
    made.start()
    yield made
    made.close()


@pytest.fixture
def garden(tmp_path):
    return repository(tmp_path / "garden", remote="git@github.com:acme/garden.git")


def work(daemon, where, name, days, *, settle=True):
    """A closed session that was at work so many days ago; returns our id of it and of its handoff."""
    base = {"session_id": name, "cwd": str(where)}
    at = time.time_ns() - days * DAY_NS
    prompt = SAID.format(name)
    events = [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": prompt}),
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": f"echo '{prompt}'"}, "tool_use_id": f"t-{name}",
                         "tool_response": {"stdout": f"{prompt}\n", "stderr": ""}}),
        ("SessionEnd", {"reason": "other"}),
    ]  # fmt: skip
    for number, (event, said) in enumerate(events):
        assert daemon.event("claude-code", event, {**base, **said}, at=at + number * 10**9)[0] == 202
    ours = next(x["data"]["session"] for x in daemon.lines("observation") if x["data"].get("native_session") == name)
    daemon.wait(lambda: ours in [x["data"]["session"] for x in daemon.lines("done")], f"{name} is closed")
    (handoff,) = [
        x["data"]["handoff"]
        for x in daemon.lines("handoff")
        if x["data"]["op"] == "open" and x["data"]["session"] == ours
    ]
    if settle:
        assert daemon.cli("handoff", "cancel", handoff, cwd=where).returncode == 0
    return ours, handoff


def sessions(daemon):
    return {x["data"]["native_session"] for x in daemon.lines("observation")}


def texts(daemon, name):
    """Fields of a session's events that hold what was said and done."""
    rows = [x["data"] for x in daemon.lines("observation") if x["data"]["native_session"] == name]
    return {field for row in rows for field in row if field in ("prompt", "command", "output", "input", "extra")}


def page_of(daemon, session):
    return daemon.data.wiki / daemon.get("/api/v1/sessions", session=session)["page"]


@pytest.mark.promise("P10.180", "P10.181", "P10.182")
def test_what_is_old_goes_and_what_is_a_persons_or_open_stays(kept, garden):
    daemon = kept
    gone, its_handoff = work(daemon, garden, "gone", 100)
    work(daemon, garden, "waiting", 100, settle=False)
    edited, _ = work(daemon, garden, "edited", 100)
    recent, _ = work(daemon, garden, "recent", 20)
    work(daemon, garden, "new", 1)
    mine = page_of(daemon, edited)
    mine.write_text(mine.read_text() + "\nMy own line.\n")
    theirs, going = page_of(daemon, recent), page_of(daemon, gone)
    assert daemon.cli("feedback", going.relative_to(daemon.data.wiki), "helpful").returncode == 0
    page = daemon.post("/api/v1/page", {"title": "Old note", "body": "as old as it is", "project": "garden"})
    daemon.wait(lambda: daemon.search("My own line", observations=False), "the hand edit")
    daemon.wait(lambda: daemon.status()["git"]["waiting"] == 0, "all is committed")
    daemon.wait(lambda: any(x["data"]["op"] == "edit-by-hand" for x in daemon.lines("audit")), "the edit is told")
    before, pages = daemon.lines(), {path: path.read_bytes() for path in daemon.pages("*/*/*/**/*.md")}

    shown = json.loads(daemon.cli("retention", "--json").stdout)
    assert (shown["applied"], shown["counts"]["sessions"], shown["counts"]["handoffs"]) == (False, 1, 1)
    assert shown["counts"]["pages"] == 2 and shown["bytes"]["pages"] > 500 and shown["spared"] == 1
    assert "--apply does it" in daemon.cli("retention").stderr
    assert daemon.lines() == before, "looking changes nothing"

    done = daemon.cli("retention", "--apply")
    assert done.returncode == 0, done.stderr
    assert sessions(daemon) == {"waiting", "edited", "recent", "new"} and not going.exists()
    assert {path for path in pages if not path.exists()} == {going, *(p for p in pages if its_handoff in str(pages[p]))}
    assert all(path.read_bytes() == raw for path, raw in pages.items() if path.exists())
    assert mine.exists() and theirs.exists() and (daemon.data.wiki / page["path"]).exists()
    # old events keep names, times and outcomes; those of an open handoff's session, and new ones, keep all
    assert texts(daemon, "recent") == texts(daemon, "edited") == set()
    assert texts(daemon, "waiting") == texts(daemon, "new") >= {"prompt", "command", "output"}
    tool = next(
        x for x in daemon.lines("observation") if x["data"]["native_session"] == "recent" and "tool" in x["data"]
    )
    assert tool["data"]["tool"] == "Bash" and tool["data"]["event"] == "PostToolUse"
    assert SAID.format("recent") in theirs.read_text(), "its page is what remains"
    of_it = [x for x in daemon.lines() if x["type"] not in ("purge", "audit")]
    for name in (gone, its_handoff, *(path.name for path in pages if not path.exists())):
        assert not [x for x in of_it if name in json.dumps(x)], name

    told = [x["data"] for x in daemon.lines("purge")]
    assert [(x["op"], x["what"]) for x in told] == [("begin", "retention"), ("done", "retention")]
    assert told[1]["counts"]["pages"] == 2 and "sessions" not in told[0]
    assert "retention" in daemon.cli("audit", "--kind", "purge").stdout
    status = daemon.status()["retention"]
    assert status["last_run"]["counts"] == told[1]["counts"] and status["next_at"] > status["last_run"]["at"]
    assert "keeps    " in daemon.cli("status").stdout
    is_right(daemon)
    daemon.level()
    live = dumped(daemon)
    daemon.cli("reindex")
    assert dumped(daemon) == live

    # nothing is left to take, and what is old may begin anew
    assert json.loads(daemon.cli("retention", "--apply", "--json").stdout)["counts"] == {}
    base = {"session_id": "gone", "cwd": str(garden)}
    assert daemon.event("claude-code", "UserPromptSubmit", {**base, "prompt": "once more"})[1]["outcome"] == "stored"
    for command in (("handoffs",), ("trail",), ("sessions",), ("doctor", "--no-test")):
        assert daemon.cli(*command, cwd=garden).returncode in (0, 1), command


@pytest.mark.promise("P10.183")
def test_retention_is_off_unless_set_and_is_finished_after_a_kill_at_any_step(tmp_path, garden):
    daemon = Pointed(tmp_path)
    try:
        daemon.start()
        work(daemon, garden, "gone", 4000)
        assert daemon.cli("retention", "--apply").stderr.startswith("Retention is off")
        assert daemon.lines("purge") == [] and daemon.status()["retention"]["days"] == {}
        daemon.stop()
        daemon.settings |= SETTINGS
        daemon.start()
        daemon.arm("purge.pages")
        assert daemon.cli("retention", "--apply").returncode != 0
        daemon.dies()
        for step in ("journal", "told"):
            daemon.arm(f"purge.{step}")
            daemon.spawn()
            daemon.dies()
        daemon.spawn()
        daemon.wait(daemon.is_up, "the daemon answers")
        daemon.wait(lambda: not daemon.data.purge_pending.exists(), "the purge is finished")
        assert sessions(daemon) == set() and daemon.pages() == []
        assert [x["data"]["op"] for x in daemon.lines("purge")] == ["begin", "done"]
        is_right(daemon)
    finally:
        daemon.close()
