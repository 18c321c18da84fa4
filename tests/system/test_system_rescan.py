"""`aimemory rescan`: today's rules over what was stored before them."""

import json
import sqlite3
import sys

import pytest
from living import Daemon, all_bytes, git, repository

from aimemory.index.dump import dump

SECRET = "ghp_" + "Zq8R" * 9
MINE = "ghp_" + "Wm3T" * 9

WITHOUT_RULES = """
import sys
import aimemory.privacy.tree as tree
from aimemory.cli.main import cli
for module in (tree, sys.modules["aimemory.privacy.sanitize"]):
    module.scrubbed = lambda text, *about, **more: text
cli()
"""
"""A daemon of another day, which knew no rule."""


@pytest.fixture
def daemon(tmp_path):
    """Filled by one that knew no rule, then started as it is today."""
    made = Daemon(tmp_path)
    today, made.program = made.program, [sys.executable, "-I", "-c", WITHOUT_RULES]
    made.start()
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    base = {"session_id": "s1", "cwd": str(where)}
    made.event("claude-code", "SessionStart", {**base, "source": "startup"})
    made.event("claude-code", "UserPromptSubmit", {**base, "prompt": f"log in with {SECRET} please"})
    made.event("claude-code", "PostToolUse", {
        **base, "tool_name": "Bash", "tool_input": {"command": "env"}, "tool_use_id": "t1",
        "tool_response": {"stdout": f"TOKEN={SECRET}\\n", "stderr": ""},
    })  # fmt: skip
    made.event("claude-code", "SessionEnd", {**base, "reason": "other"})
    made.wait(lambda: made.lines("done"), "the session is closed")
    told = {"title": "The token", "body": f"It is {SECRET} for now.\\n", "project": "shop", "kind": "decision"}
    made.decision = made.data.wiki / made.post("/api/v1/page", told)["path"]
    made.mine = made.data.wiki / "default/shop/notes/mine.md"
    made.mine.parent.mkdir(exist_ok=True)
    made.mine.write_text(f"---\ntitle: Mine\n---\nmy own {MINE}\n")
    made.wait(lambda: made.search("own", observations=False), "the hand edit")
    made.wait(lambda: git(made.data.wiki, "status", "--porcelain") == "", "everything is committed")
    assert made.event("generic", "note", {"text": f"{SECRET} again", "cwd": str(where)}, at=10**18, pid=7)[0] == 202
    made.cli("down")
    made.process.wait(60)
    made.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "what waits in the spool"}, where)
    made.program = today
    made.data.down_marker.unlink()
    made.start()
    yield made
    made.close()


def dumped(daemon):
    with sqlite3.connect(f"file:{daemon.data.index}?mode=ro", uri=True) as db:
        text = dump(db)
    db.close()
    return text


@pytest.mark.promise("P4.140", "P4.141")
def test_what_was_stored_before_a_rule_is_found_unseen_and_taken_out_everywhere(daemon):
    shown = daemon.cli("rescan")
    assert shown.returncode == 0, shown.stderr
    assert SECRET not in shown.stdout and MINE not in shown.stdout
    for place in ("journal: ", "pages: ", "history: "):
        assert place in shown.stdout
    assert "default/shop/notes/mine.md" in shown.stdout and "github-token" in shown.stdout
    assert SECRET.encode() in all_bytes(daemon.data.root)

    done = daemon.cli("rescan", "--apply", "--history", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert found["applied"] and list(found["persons"]) == ["wiki/default/shop/notes/mine.md"]
    assert SECRET.encode() not in all_bytes(daemon.data.root)
    assert daemon.search("[redacted:github-token]") and daemon.search("log in")
    assert "It is [redacted:github-token] for now." in daemon.decision.read_text()
    assert daemon.mine.read_text().endswith(f"my own {MINE}\n")
    assert SECRET not in dumped(daemon) and MINE not in dumped(daemon)
    verified = daemon.cli("verify", "--json")
    assert verified.returncode == 0, verified.stdout
    again = json.loads(daemon.cli("rescan", "--json").stdout)
    assert (again["found"], again["applied"]) == ({}, False)
    (line,) = [x for x in daemon.lines("purge") if x["data"]["op"] == "done"]
    assert (line["data"]["what"], line["data"]["user"]) == ("rescan", "ada") and line["data"]["counts"]["pages"] >= 2


@pytest.mark.promise("P4.142")
def test_a_finding_that_is_acknowledged_holds_for_that_version_alone(daemon):
    path = "default/shop/notes/mine.md"
    daemon.mine.write_text(daemon.mine.read_text() + "another line\n")
    daemon.wait(lambda: path in daemon.status()["wiki"]["held"], "the edit is held")
    assert daemon.cli("rescan", "--accept", "default/shop/shop.md").returncode == 2

    done = daemon.cli("rescan", "--accept", path)

    assert done.returncode == 0 and "1 × github-token" in done.stdout, done.stderr
    assert daemon.status()["wiki"]["held"] == {}
    daemon.wait(lambda: "another line" in git(daemon.data.wiki, "show", f"HEAD:{path}"), "it is committed")
    assert MINE not in dumped(daemon)
    daemon.cli("reindex")
    daemon.stop()
    daemon.start()
    assert json.loads(daemon.cli("rescan", "--json").stdout)["persons"] == {}
    assert daemon.status()["wiki"]["held"] == {}
    (line,) = daemon.lines("accept")
    assert line["data"]["user"] == "ada" and MINE not in json.dumps(line)

    daemon.mine.write_text(daemon.mine.read_text() + "and one more\n")
    daemon.wait(lambda: path in daemon.status()["wiki"]["held"], "the next version is held again")


@pytest.mark.promise("P4.230")
def test_a_rule_that_is_added_later_finds_what_an_earlier_rescan_has_changed(daemon):
    """What a rescan left of a page of ours is no person's text."""
    daemon.stop()
    daemon.data.config.write_text("[privacy.patterns]\nwaiting = 'waits in the spool'\n")
    daemon.start()
    told = {"title": "Later", "body": "What customer KD-12345678 said.\n", "project": "shop"}
    page = daemon.data.wiki / daemon.post("/api/v1/page", told)["path"]
    first = json.loads(daemon.cli("rescan", "--apply", "--json").stdout)
    assert first["applied"] and SECRET not in daemon.decision.read_text()
    daemon.stop()
    daemon.data.config.write_text("[privacy.patterns]\nfor-now = 'for now'\ncustomer = 'KD-\\d{8}'\n")
    daemon.start()

    found = json.loads(daemon.cli("rescan", "--apply", "--json").stdout)

    assert list(found["persons"]) == ["wiki/default/shop/notes/mine.md"]
    assert "It is [redacted:github-token] [redacted:for-now]." in daemon.decision.read_text()
    assert "What customer [redacted:customer] said." in page.read_text()
    assert daemon.mine.read_text().endswith(f"my own {MINE}\n")
