"""`aimemory off` and `aimemory on`: where nothing is recorded, from the very next event on."""

import json
import os

import pytest
from acting import Agent
from living import Daemon, all_bytes, git, repository
from transcripts import SESSION, ClaudeLines


@pytest.fixture
def where(tmp_path):
    return repository(tmp_path / "app")


@pytest.fixture
def idle(tmp_path):
    """A data directory without a daemon, which no hook starts."""
    made = Daemon(tmp_path)
    yield made
    made.close()


def said(daemon, where, text, session="s", **more):
    payload = {"session_id": session, "cwd": str(where), "prompt": text, **more}
    return daemon.hook("claude-code", "UserPromptSubmit", payload, where if where.is_dir() else None)


def prompts(daemon):
    return [line["data"].get("prompt") for line in daemon.lines("observation")]


def test_off_holds_for_the_next_event_and_on_for_the_one_after(daemon, where):
    (where / "src").mkdir()
    said(daemon, where, "one")
    done = daemon.cli("off", cwd=where)
    assert "Nothing is recorded" in done.stdout and str(where) in done.stdout
    said(daemon, where, "two")
    said(daemon, where / "src", "three", session="t")
    assert "recorded again" in daemon.cli("on", str(where)).stdout
    said(daemon, where, "four")

    assert prompts(daemon) == ["one", "four"]
    counts = daemon.status()["capture"]["claude-code"]
    assert counts["reasons"] == {"capture is off in this folder (aimemory off)": 2}


def test_the_nearest_switch_wins(daemon, where):
    (where / "blog").mkdir()
    daemon.cli("off", str(where))
    assert daemon.cli("on", str(where / "blog")).returncode == 0
    said(daemon, where, "private", session="a")
    said(daemon, where / "blog", "public", session="b")

    assert prompts(daemon) == ["public"]
    assert f"{where / 'blog'} stays on" in daemon.cli("off", str(where)).stderr


def test_a_folder_is_a_folder_other_work_trees_are_others(daemon, where, tmp_path):
    git(where, "worktree", "add", "-q", str(tmp_path / "tree"))
    daemon.cli("off", str(where))
    said(daemon, where, "private", session="a")
    said(daemon, tmp_path / "tree", "public", session="b")

    assert prompts(daemon) == ["public"]


@pytest.mark.promise("P4.15")
def test_a_way_through_a_link_leads_to_the_same_folder(daemon, where, tmp_path):
    (tmp_path / "link").symlink_to(where)
    daemon.cli("off", str(tmp_path / "link"))
    said(daemon, where, "one", session="a")
    said(daemon, tmp_path / "link", "two", session="b")

    assert prompts(daemon) == []


@pytest.mark.promise("P4.15")
def test_nothing_of_a_folder_that_is_off_is_left_anywhere(daemon, where):
    daemon.cli("off", str(where))
    said(daemon, where, "water the pelargonium")

    assert daemon.get("/api/v1/projects")["projects"][0]["project"] == "default/_unfiled", "not even a project"
    assert {line["type"] for line in daemon.lines()} <= {"audit"}, "the switch itself may be told"
    assert git(where, "status", "--porcelain") == "", "the switch does not lie in the repository"


def test_what_can_not_be_understood_is_not_kept_there_either(daemon, where):
    daemon.cli("off", str(where))
    done = daemon.hook("claude-code", "Stop", b"no JSON, but pelargonium", where)
    status, answer = daemon.event("claude-code", "Stop", b"pelargonium", cwd=str(where))

    assert done.returncode == 0 and status == 400 and "off" in answer["error"]["message"]
    assert daemon.status()["capture"]["claude-code"]["rejected"] == 2
    daemon.stop()
    assert b"pelargonium" not in all_bytes(daemon.data.root)


def test_a_session_that_began_where_it_is_off_is_not_recorded_from_elsewhere_either(daemon, where, tmp_path):
    other = repository(tmp_path / "other")
    daemon.cli("off", str(where))
    start = {"session_id": "s", "cwd": str(where), "source": "startup"}
    daemon.hook("claude-code", "SessionStart", start, where)
    said(daemon, other, "from elsewhere")
    said(daemon, other, "another session", session="t")

    assert prompts(daemon) == ["another session"]


@pytest.mark.promise("P4.15")
def test_a_step_aside_by_a_link_into_a_folder_that_is_off_is_not_recorded(daemon, where, tmp_path):
    other = repository(tmp_path / "other")
    (tmp_path / "link").symlink_to(where)
    daemon.cli("off", str(where))
    for cwd, text in ((other, "one"), (tmp_path / "link", "two"), (other, "three")):
        daemon.event("claude-code", "UserPromptSubmit", {"session_id": "s", "cwd": str(cwd), "prompt": text})

    assert prompts(daemon) == ["one", "three"]


def test_a_session_that_only_passed_through_is_recorded_again_when_it_is_back(daemon, where, tmp_path):
    other = repository(tmp_path / "other")
    daemon.cli("off", str(where))
    said(daemon, other, "one")
    said(daemon, where, "two")
    said(daemon, other, "three")

    assert prompts(daemon) == ["one", "three"]


@pytest.mark.alone
def test_what_a_transcript_holds_of_a_folder_that_is_off_is_told_to_nobody(daemon, where):
    """A session that began before the switch: what came after it stands in the harness's own record alone."""
    inner = where / "inner"
    inner.mkdir()
    lines = ClaudeLines(cwd=str(inner))
    past = Agent(daemon, "claude-code", SESSION, inner, ago_s=60)
    past.send("SessionStart", {"source": "startup", "transcript_path": str(lines.place(daemon.home))})
    past.prompt("sort the seeds")
    past.edits("seeds.txt")
    lines.second = 10**8  # long after these events
    lines.prompt("water the pelargonium")
    lines.answer("The pelargonium is watered.", ends=False)
    lines.save(lines.place(daemon.home))
    before = Agent(daemon, "codex", "x1", where).start()
    daemon.cli("off", str(inner))

    after = Agent(daemon, "codex", "x2", where).start()

    assert "sort the seeds" in before and "pelargonium" in before
    assert "sort the seeds" in after and "pelargonium" not in after


@pytest.mark.alone
def test_no_brief_is_given_where_it_is_off(daemon, where):
    daemon.closed_session({"session_id": "s", "cwd": str(where)}, where)
    start = {"session_id": "t", "cwd": str(where), "source": "startup"}
    assert b"sort the seeds" in daemon.hook("claude-code", "SessionStart", start, where).stdout
    daemon.cli("off", str(where))

    assert daemon.hook("claude-code", "SessionStart", start | {"session_id": "u"}, where).stdout == b""
    assert daemon.get("/api/v1/brief", cwd=str(where))["text"] == ""
    assert "aimemory off" in daemon.cli("brief", str(where)).stderr


def test_it_works_without_a_daemon_and_for_what_is_spooled(idle, where):
    """Nothing undelivered of such a folder lies in the spool, whichever way its name is said."""
    idle.start()
    idle.stop()
    idle.data.down_marker.touch()
    assert idle.cli("off", str(where)).returncode == 0
    said(idle, where, "private", session="a")
    hook = idle.hook("claude-code", "UserPromptSubmit", {"session_id": "b", "cwd": str(where), "prompt": "as well"})
    said(idle, idle.home, "public", session="c")
    idle.wait(lambda: list(idle.data.spool.glob("[!.]*.json")), "an event is spooled")
    idle.data.down_marker.unlink()
    idle.start()
    idle.wait(lambda: prompts(idle), "it is drained")

    assert hook.returncode == 0 and prompts(idle) == ["public"]


def test_a_switch_while_the_daemon_was_down_holds_when_it_is_up(idle, where):
    assert idle.cli("off", str(where)).returncode == 0
    idle.start()
    said(idle, where, "private")

    assert prompts(idle) == []


def test_where_and_list_show_what_is_switched(daemon, where):
    (where / "blog").mkdir()
    daemon.cli("off", str(where)), daemon.cli("on", str(where / "blog"))

    assert f"`aimemory off {where}` holds" in daemon.cli("where", str(where / "src")).stdout
    assert "holds" not in daemon.cli("where", str(where / "blog")).stdout
    listed = daemon.cli("off", "--list").stdout.splitlines()
    assert [line.split()[:2] for line in listed] == [["off", str(where)], ["on", str(where / "blog")]]
    as_json = json.loads(daemon.cli("off", "--list", "--json").stdout)["folders"]
    assert [(entry["directory"], entry["mode"]) for entry in as_json] == [
        (str(where), "off"),
        (str(where / "blog"), "on"),
    ]
    found = json.loads(daemon.cli("off", str(where), "--json").stdout)
    assert (found["changed"], found["off_by"], found["exceptions"]) == (False, str(where), [str(where / "blog")])


def test_list_takes_no_directory_and_an_empty_list_says_so(daemon, where):
    assert daemon.cli("off", "--list", str(where)).returncode == 2
    assert daemon.cli("off", "--list").stderr.startswith("No folder is off")


def test_ten_switches_at_once_are_all_kept(idle, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(10) as pool:
        done = list(pool.map(lambda n: idle.cli("off", str(tmp_path / f"f{n}")).returncode, range(10)))

    assert done == [0] * 10
    assert len(json.loads(idle.data.folders_file.read_text())["folders"]) == 10
    assert os.stat(idle.data.folders_file).st_mode & 0o777 == 0o600


def test_a_table_that_can_not_be_read_keeps_events_in_the_spool_until_it_is_mended(daemon, where):
    daemon.data.folders_file.write_text("{")
    said(daemon, where, "water the beans")
    daemon.wait(lambda: list(daemon.data.spool.glob("[!.]*.json")), "the event is spooled")
    assert prompts(daemon) == []
    assert any("folders.json" in problem for problem in daemon.status()["problems"])
    assert daemon.cli("on", str(where)).returncode == 75

    daemon.data.folders_file.unlink()
    daemon.wait(lambda: prompts(daemon) == ["water the beans"], "it is stored")


@pytest.mark.promise("P4.15")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_session_brief", {}),
        ("memory_session_close", {"summary": "half done"}),
        ("memory_handoff_begin", {"summary": "half done"}),
        ("memory_handoff_begin", {"summary": "half done", "project": "app"}),
        ("memory_write_page", {"title": "Pots", "body": "They are in the shed."}),
    ],
)
def test_an_agents_own_tools_record_nothing_there_and_brief_nobody(daemon, where, tool, arguments):
    from test_system_mcp import Client

    said(daemon, where, "one")
    daemon.cli("off", cwd=where)
    client = Client(daemon, where)
    client.call("initialize", protocolVersion="2025-11-25", capabilities={},
                clientInfo={"name": "codex-mcp-client", "version": "1"})  # fmt: skip
    daemon.wait(lambda: daemon.lines("audit"), "the switch is told")
    before = len(daemon.lines())

    text, failed = client.tool(tool, **arguments)
    client.close()

    assert failed and "`aimemory off` holds for" in text
    assert len(daemon.lines()) == before


def test_a_person_is_told_and_may_name_the_project(daemon, where):
    said(daemon, where, "one")
    stop = {"session_id": "s", "cwd": str(where), "last_assistant_message": "Done."}
    daemon.hook("claude-code", "Stop", stop, where)
    daemon.cli("off", cwd=where)

    refused = daemon.cli("handoff", "begin", "--summary", "half done", cwd=where)
    meant = daemon.cli("handoff", "begin", "--summary", "half done", "-p", "app", cwd=where)

    assert refused.returncode and "`aimemory off` holds for" in refused.stderr
    assert meant.returncode == 0, meant.stderr
