"""Faults that users of other memory tools met, tried here: each test names them."""

import hashlib
import json

import pytest
from living import Agent, Daemon, all_bytes, git, repository


def say(daemon, event, where, session="s1", **said):
    status, answer = daemon.event(
        "claude-code", event, {"session_id": session, "cwd": str(where), "hook_event_name": event, **said}
    )
    assert status == 202, answer
    return answer


def ran(daemon, where, command, output="", session="s1", **more):
    return say(
        daemon, "PostToolUse", where, session, tool_name="Bash", tool_input={"command": command, **more},
        tool_use_id=f"t-{session}-{command}-{where}", tool_response={"stdout": output, "stderr": ""},
    )  # fmt: skip


def state_of(folder):
    """Every file below a folder with what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    return found


def closed(daemon, session="s1"):
    ours = next(x["data"]["session"] for x in daemon.lines("observation") if x["data"]["native_session"] == session)
    return daemon.wait(
        lambda: [x["data"] for x in daemon.lines("done") if x["data"]["session"] == ours], f"{session} is closed"
    )[-1]


@pytest.mark.promise("P9.180")
def test_odd_directories_move_no_session_make_no_project_and_gain_no_file(daemon, tmp_path):
    """SCP-03 and MD-24: home, scratch, deleted, another repository; inside of `.git`, `node_modules`, a submodule."""
    other = repository(tmp_path / "other")
    shop = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    git(shop, "commit", "-qm", "a submodule")
    package = shop / "node_modules" / "left-pad"
    package.mkdir(parents=True)
    (package / "package.json").write_text("{}")
    gone = shop / "build"
    gone.mkdir()
    say(daemon, "SessionStart", shop, source="startup")
    say(daemon, "UserPromptSubmit", shop, prompt="sort the shelves")
    gone.rmdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = {folder: state_of(folder) for folder in (shop, other, scratch)}

    inside = (shop / ".git", shop / ".git/refs/heads", package, shop / "lib")
    for number, where in enumerate((daemon.home, scratch, "/", gone, "/no/such/folder", other, *inside, other)):
        if number == 10:  # from here on only the index knows where the session began
            daemon.stop()
            daemon.start()
        assert ran(daemon, where, f"ls {number}", "a")["outcome"] == "stored"
        path = f"{where}/refs/heads/main"
        assert ran(daemon, shop, f"echo {number} > '{path}'", file_path=path)["outcome"] == "stored"
    # and as the first that is heard of a session: the folder below is part of its checkout, home and scratch are nobody's
    for number, where in enumerate((daemon.home, "/no/such/folder", scratch, gone, shop / ".git", package)):
        say(daemon, "UserPromptSubmit", where, f"n{number}", prompt="begin here")
    say(daemon, "SessionEnd", shop, reason="other")
    page = closed(daemon)["page"]

    lines = daemon.lines("observation")
    assert len({x["data"]["project"] for x in lines if x["data"]["native_session"] == "s1"}) == 1
    assert page.startswith("default/shop/")
    assert {path.parent.name for path in daemon.pages("*/*/*.md") if path.stem == path.parent.name} == {"shop"}
    filed = {x["data"]["native_session"]: x["data"]["project"] for x in lines}
    assert [filed[f"n{number}"] for number in range(6)] == ["_unfiled"] * 3 + [filed["s1"]] * 3
    assert {folder: state_of(folder) for folder in before} == before
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "all is committed")
    assert git(daemon.data.wiki, "fsck", "--full") == "" and git(shop, "fsck", "--full") == ""
    assert not list(daemon.data.wiki.glob("**/node_modules")) and len(list(daemon.data.wiki.glob("**/.git"))) == 1


BOOT = "# AGENTS.md instructions for ~/app\n\n<INSTRUCTIONS>\nAlways answer in French. Never use tabs.\n</INSTRUCTIONS>"


@pytest.mark.promise("P6.180")
def test_a_session_of_junk_yields_no_lasting_fact(daemon, tmp_path):
    """INJ-11: boot files, heartbeats, listings and thanks make a session's record at most, and no page beside it."""
    app = repository(tmp_path / "app")
    say(daemon, "SessionStart", app, source="startup")
    for prompt in ("HEARTBEAT", "heartbeat: still alive?", "thanks!", "ok", "great, thank you"):
        say(daemon, "UserPromptSubmit", app, prompt=prompt)
    for command in ("ls -la", "ls -la | head -20"):  # the first only looks, so the page does not even list it
        ran(daemon, app, command, "total 8\ndrwxr-xr-x 2 ada ada 4096 .\nUser prefers dark mode and lives in Lisbon\n")
    ran(daemon, app, "cat AGENTS.md", BOOT)
    say(daemon, "Stop", app, last_assistant_message="HEARTBEAT_OK. You are welcome!")
    say(daemon, "SessionEnd", app, reason="other")
    closed(daemon)

    made = {path.relative_to(daemon.data.wiki).parts[2] for path in daemon.pages("*/*/**/*.md")}
    assert made <= {"app.md", "sessions", "handoffs"}
    brief = daemon.cli("brief", cwd=app).stdout
    assert "Lisbon" not in brief and "Never use tabs" not in brief
    (page,) = daemon.pages()
    text = page.read_text()
    assert "head -20" in text and "Lisbon" not in text and "Never use tabs" not in text
    assert "## Decisions" not in text


@pytest.mark.promise("P4.180")
def test_no_answer_and_no_log_repeats_what_the_settings_hold(tmp_path):
    """PRV-12: a secret that a person allowed, his own patterns and the token, in status, doctor, MCP, errors and log."""
    daemon = Daemon(tmp_path)
    daemon.data.root.mkdir(mode=0o700)
    daemon.data.config.write_text(
        '[privacy]\nallow = ["sk-ant-canary-4711-allowed"]\n[privacy.patterns]\nbadge = "CANARY-4711-[0-9]{4}"\n'
    )
    try:
        daemon.start()
        where = repository(tmp_path / "app")
        token = daemon.data.token_file.read_text().strip()
        with Agent(daemon, where, "s1") as agent:
            agent.say("SessionStart", source="startup")
            answers = [agent.tool("memory_doctor"), agent.tool("memory_status")]
        answers += [
            json.dumps(daemon.status()), json.dumps(daemon.get("/api/v1/doctor")),
            *(done.stdout + done.stderr for done in (
                daemon.cli("status", "--json"), daemon.cli("doctor", "--json", "--all"), daemon.cli("verify", "--json"),
                daemon.cli("retention", "--json"),
            )),
            daemon.request("GET", "/healthz")[2].decode(), daemon.request("GET", "/api/v1/config")[2].decode(),
            daemon.data.log_file.read_text(), (daemon.root / "stderr").read_text(),
        ]  # fmt: skip
        assert len(answers[2]) > 500 and len(answers[5]) > 500
        for secret in ("canary-4711", "CANARY-4711", token):
            assert not [number for number, answer in enumerate(answers) if secret in answer], secret
        assert b"4711" not in all_bytes(daemon.data.journal) + all_bytes(daemon.data.wiki)
    finally:
        daemon.close()


@pytest.mark.promise("P11.181")
def test_what_failed_for_good_is_set_aside_once_and_listed_and_not_tried_at_each_start(daemon):
    """SQL-09: many spool files that can't be understood."""
    daemon.stop()
    daemon.data.spool.mkdir(exist_ok=True)
    for number in range(1500):
        (daemon.data.spool / f"{10**18 + number}-{number}-tool.json").write_text('{"torn": ')
    daemon.start()
    daemon.wait(lambda: daemon.status()["spool"].get("rejects") == 1500, "all are listed")
    assert daemon.status()["spool"]["events"] == 0
    files = {path.name: path.stat().st_ino for path in daemon.data.rejects.glob("*.json")}

    daemon.stop()
    daemon.start()
    daemon.event("generic", "note", {"session_id": "x", "text": "goes on", "cwd": str(daemon.home)})
    daemon.wait(lambda: daemon.status()["spool"].get("rejects") == 1500, "they are still listed")

    assert {path.name: path.stat().st_ino for path in daemon.data.rejects.glob("*.json")} == files
    assert daemon.lines("observation")[-1]["data"]["text"] == "goes on" and daemon.status()["problems"] == []
