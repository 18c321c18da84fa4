"""`aimemory audit`: every change with who made it, from the journal itself."""

import json

import pytest
from living import Agent, Daemon, repository

from aimemory.journal.lines import encode
from aimemory.journal.replay import replay


def audited(daemon, *arguments):
    done = daemon.cli("audit", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(daemon, *arguments):
    return [entry["said"].split(" handoff ")[0] for entry in audited(daemon, *arguments)["entries"]]


@pytest.fixture
def where(tmp_path):
    return repository(tmp_path / "app")


@pytest.mark.promise("P12.131")
def test_every_change_is_listed_with_who_made_it(daemon, where):
    with Agent(daemon, where, "s1") as agent:
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="begin")
        agent.tool("memory_write_page", title="Use SQLite", body="It is there.", project="app")
        agent.say("Stop").say("SessionEnd", reason="other")
    daemon.wait(lambda: daemon.lines("done"), "the closing is done")
    (page,) = daemon.pages("*/app/notes/*.md")
    name = page.relative_to(daemon.data.wiki).as_posix()
    daemon.cli("project", "alias", "app", "github.com/acme/app")
    daemon.cli("delete", name, "--apply")
    daemon.cli("undelete", name)
    page.write_text(page.read_text() + "\nBy hand.\n")
    daemon.wait(
        lambda: any(line["data"]["op"] == "edit-by-hand" for line in daemon.lines("audit")), "the edit is noticed"
    )
    daemon.cli("project", "rename", "app", "shop", "--apply")
    found = audited(daemon)["entries"]
    said = {entry["said"]: entry for entry in found}

    wrote = said[f"write {name}"]
    assert (wrote["user"], wrote["harness"], wrote["project"]) == ("ada", "claude-code", "default/shop")
    assert wrote["session"] and wrote["machine"]
    assert [entry["seq"] for entry in found] == sorted((entry["seq"] for entry in found), reverse=True)
    assert "rename default/app to default/shop" in said
    for part in ("alias: ", f"delete {name}", f"restore {name}", f"edit-by-hand {name}", "closed session "):
        assert any(text.startswith(part) for text in said), (part, list(said))
    assert told(daemon, "--kind", "delete") == [f"delete {name}"]
    assert {entry["harness"] for entry in audited(daemon, "--actor", "Claude-Code")["entries"]} == {"claude-code"}
    assert f"write {name}" in told(daemon, "--session", wrote["session"][:6])
    assert len(audited(daemon, "--project", "shop", "--limit", "2")["entries"]) == 2
    assert told(daemon, "--until", "2001-01-01") == []
    since = {entry["seq"] for entry in audited(daemon, "--since", "2001-01-01")["entries"]}
    assert {entry["seq"] for entry in found} <= since, "and what came meanwhile"
    assert daemon.cli("audit", "--since", "soon").returncode == daemon.cli("audit", "--project", "x").returncode == 2


def joined(daemon, *arguments):
    """All entries of an answer in parts, and its last part."""
    seen, cursor = [], None
    while True:
        page = audited(daemon, *arguments, *(["--cursor", cursor] if cursor else []))
        seen += page["entries"]
        cursor = page["next_cursor"]
        if cursor is None:
            return seen, page


@pytest.mark.promise("P12.132")
def test_pages_of_an_answer_join_without_gap_or_double_over_segments_and_unknown_types_show(tmp_path):
    daemon = Daemon(tmp_path, storage_segment_bytes=65536)
    try:
        daemon.start()
        for number in range(60):
            daemon.post(
                "/api/v1/page",
                {
                    "title": f"Page {number}",
                    "body": "x",
                    "project": "_unfiled",
                    "path": f"default/_unfiled/notes/p{number}.md",
                },
            )
            daemon.event("generic", "note", {"text": "filler " * 300, "session_id": "s", "id": str(number)})
        assert len(list(daemon.data.journal.rglob("*.jsonl*"))) > 1
        daemon.stop()
        newest = max(daemon.data.journal.rglob("*.jsonl"))
        last = daemon.lines()[-1]["seq"]
        with newest.open("ab") as file:
            file.write(encode(last + 1, "purge", 10**18, '{"op":"text","user":"ada","machine":"m","removed":3}'))
        daemon.start()
        seen, page = joined(daemon, "--limit", "7")
        events = ("observation", "brief", "intent", "gone")
        changes = [line.seq for line in replay(daemon.data.journal) if line.type not in events]
        assert [entry["seq"] for entry in seen] == sorted(changes, reverse=True)
        assert any(entry["said"] == "purge text: removed 3" for entry in seen)
        assert page["damage"] == []
        of_project = [entry["seq"] for entry in seen if entry["project"] == "default/_unfiled"]
        assert [entry["seq"] for entry in joined(daemon, "--limit", "7", "--project", "_unfiled")[0]] == of_project
        assert len(of_project) >= 60
    finally:
        daemon.close()


@pytest.mark.promise("P12.133")
def test_what_is_done_without_a_daemon_is_told_when_one_runs_and_needs_none(tmp_path, where):
    """A switch must work without a daemon and on a full disk; only word of it may be missing, and that is said."""
    daemon = Daemon(tmp_path)
    try:
        (daemon.home / ".claude").mkdir()
        assert daemon.cli("off", str(where)).returncode == 0
        daemon.start()
        daemon.wait(lambda: daemon.lines("audit"), "the switch is told")
        daemon.cli("connect", "claude-code", "--apply")
        daemon.cli("disconnect", "claude-code", "--apply")
        daemon.stop()
        assert daemon.cli("on", str(where)).returncode == 0
        waiting = sorted(daemon.data.deeds.glob("*.json"))
        twice = waiting[-1].read_bytes()
        daemon.start()
        daemon.wait(lambda: not list(daemon.data.deeds.glob("*.json")), "all is taken in")
        (daemon.data.deeds / "0-again.json").write_bytes(twice)  # a kill before the file went
        (daemon.data.deeds / "1-bad.json").write_bytes(b"{")
        daemon.wait(lambda: not list(daemon.data.deeds.glob("[01]-*.json")), "these too")

        said = told(daemon, "--kind", "audit")
        assert said == [f"on: directory {where}", said[1], said[2], f"off: directory {where}"]
        assert said[1].startswith("disconnect: agent claude-code, files ") and said[2].startswith("connect: ")
        assert (daemon.data.deeds / "bad-1-bad.json").exists()
        daemon.data.deeds.rename(daemon.data.deeds.with_name("elsewhere"))
        daemon.data.deeds.write_text("in the way")
        done = daemon.cli("off", str(where))
        assert done.returncode == 0 and "will not tell of it" in done.stderr
        assert "Nothing is recorded" in done.stdout
    finally:
        daemon.close()
