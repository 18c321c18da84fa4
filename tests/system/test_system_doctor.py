"""`aimemory doctor`, one fault at a time: it is named, with what was seen and one thing to do."""

import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest
from living import Daemon, lock_holder, repository


def doctor(daemon, *arguments, **more):
    """(exit code, findings by check). No hook is run unless that is asked for: it takes its time where it fails."""
    how = arguments if "--test" in arguments else ("--no-test", *arguments)
    done = daemon.cli("doctor", "--json", *how, **more)
    assert done.stdout, done.stderr
    return done.returncode, {one["check"]: one for one in json.loads(done.stdout)["findings"]}


def bad(findings):
    return {name for name, one in findings.items() if one["level"] in ("warning", "failure")}


@pytest.fixture
def used(daemon):
    """A daemon with an event and a page, committed."""
    daemon.event("claude-code", "UserPromptSubmit", {"session_id": "s", "prompt": "hello"})
    daemon.post("/api/v1/page", {"title": "A page", "body": "Text.", "cwd": "/home/ada/app"})
    daemon.wait(lambda: daemon.status()["git"]["waiting"] == 0, "all is committed")
    return daemon


@pytest.mark.promise("P12.34")
def test_where_all_is_well_nothing_is_said(used):
    (used.home / ".claude").mkdir()
    assert used.cli("connect", "claude-code", "--apply").returncode == 0
    code, findings = doctor(used)

    assert code == 0 and bad(findings) == set()
    shown = used.cli("doctor")
    assert not list(used.data.root.rglob(".doctor")) and not list(used.data.cache.glob(".aimemory-tmp*"))
    assert shown.returncode == 0 and "warning" not in shown.stdout and "failure" not in shown.stdout
    assert "checks found nothing to say" in shown.stderr


@pytest.mark.promise("P12.34")
def test_no_daemon_and_stopped_by_hand(used):
    used.stop()
    code, findings = doctor(used)
    assert code == 1 and findings["daemon.answers"]["level"] == "failure"

    used.data.down_marker.touch()
    _, findings = doctor(used)
    assert findings["files.down"]["fix"] == "aimemory up"


@pytest.mark.promise("P12.34")
def test_loose_modes_are_tightened_on_request(used):
    used.data.root.chmod(0o755)
    code, findings = doctor(used)
    assert code == 0 and findings["files.modes"]["can_fix"] and "0755" in findings["files.modes"]["evidence"]

    _, findings = doctor(used, "--fix")
    assert findings["files.modes"]["level"] == "ok" and used.data.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.promise("P12.34")
def test_settings_that_cannot_be_used(used):
    used.data.config.write_text("[brief]\nchars = 'many'\n")
    code, findings = doctor(used)

    assert code == 1 and "chars" in findings["files.settings"]["evidence"]


@pytest.mark.promise("P12.34")
def test_events_that_wait_although_the_daemon_answers(used):
    spooled = used.data.spool / "0001-x.json"
    spooled.mkdir()  # nothing that the drain could deliver, or would take away
    os.utime(spooled, (time.time() - 3600,) * 2)

    _, findings = doctor(used)

    assert findings["files.spool"]["level"] == "warning" and str(spooled) in findings["files.spool"]["evidence"]


@pytest.mark.promise("P12.34")
def test_what_was_rejected_is_named_with_its_reason(used):
    assert used.event("claude-code", "Stop", b"not json")[0] == 400
    _, findings = doctor(used)

    assert findings["files.rejects"]["level"] == "note" and "not JSON" in findings["files.rejects"]["evidence"]


@pytest.mark.promise("P12.34")
def test_a_launcher_that_is_gone(used):
    used.data.hook_launcher.unlink()
    code, findings = doctor(used)

    assert code == 1 and findings["files.launchers"]["fix"] == "aimemory restart"


@pytest.mark.promise("P12.34")
def test_a_damaged_index_and_one_of_another_version(used):
    used.stop()
    with sqlite3.connect(used.data.index) as db:
        db.execute("pragma user_version = 99")
    assert "schema 99" in doctor(used)[1]["stores.index"]["evidence"]

    used.data.index.write_bytes(b"no database at all" * 1000)
    code, findings = doctor(used)
    assert code == 1 and findings["stores.index"]["fix"] == "aimemory reindex"


@pytest.mark.promise("P12.34")
def test_a_torn_journal(used):
    used.stop()
    (segment,) = used.data.journal.rglob("*.jsonl")
    raw = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(raw[:-1]) + raw[-1].replace(b'"seq"', b'"sec"'))

    assert doctor(used)[1]["stores.journal"]["level"] == "warning"


@pytest.mark.promise("P12.34")
def test_a_wiki_whose_git_is_broken_locked_or_gone(used):
    used.stop()  # who would mend some of it
    lock = used.data.wiki / ".git" / "index.lock"
    lock.touch()
    findings = doctor(used)[1]
    assert findings["stores.wiki.lock"]["proven"] is False
    lock.unlink()

    (used.data.wiki / ".git" / "HEAD").write_text("nonsense")
    assert doctor(used)[1]["stores.wiki"]["level"] == "warning"

    (used.data.backups / "damaged-git-1.new").mkdir(parents=True)
    assert doctor(used)[1]["stores.mending"]["evidence"].endswith("damaged-git-1.new")

    subprocess.run(["rm", "-rf", used.data.wiki / ".git"], check=True)
    assert "missing" in doctor(used)[1]["stores.wiki"]["said"]


@pytest.mark.promise("P12.34")
def test_what_rules_of_the_folder_and_the_settings_keep_back(daemon, tmp_path):
    where = repository(tmp_path / "app")
    (where / ".aimemory.toml").write_text('[capture]\nmode = "metadata"\n')
    found = doctor(daemon, cwd=where)[1]
    assert "only names, times and outcomes" in found["folder.rules"]["said"] and bad(found) == set()
    assert found["folder.rules"]["evidence"].endswith(f".aimemory.toml in {where}")

    (where / ".aimemory.toml").write_text('[capture]\nignore = ["x["]\n')
    found = doctor(daemon, cwd=where)[1]["folder.problem"]
    assert found["level"] == "warning" and "line 2" in found["said"] and found["evidence"] == str(where)

    daemon.stop()
    daemon.settings["capture_mode"] = "off"
    daemon.start()
    assert "nothing is recorded, in every folder" in doctor(daemon, cwd=where)[1]["folder.settings"]["said"]


@pytest.mark.promise("P12.34")
def test_a_machine_without_a_memory_and_without_an_agent(tmp_path):
    found = doctor(Daemon(tmp_path))[1]

    assert found["files.data"]["evidence"] == str(tmp_path / "data") and found["files.data"]["fix"] == "aimemory up"
    assert found["agents.known"]["level"] == "note" and not (tmp_path / "data").exists()


@pytest.mark.promise("P12.35")
def test_an_agent_that_works_while_nothing_arrives(used):
    """Its hooks stand in the settings, its transcript is new, and no event came: it was started before."""
    (used.home / ".claude").mkdir()
    connected = used.cli("connect", "claude-code", "--apply")
    assert connected.returncode == 0, connected.stderr
    transcripts = used.home / ".claude" / "projects" / "-home-ada-app"
    transcripts.mkdir(parents=True)
    path = transcripts / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_text('{"type":"user"}\n')
    os.utime(path, (time.time() + 3600,) * 2)

    code, findings = doctor(used)

    found = findings["agents.claude-code.arrival"]
    assert code == 0 and found["level"] == "warning" and found["proven"] is False and str(path) in found["evidence"]
    assert "no event ever came" in found["evidence"], "that of connect's own try is none"


def test_hooks_that_are_not_trusted_or_lead_elsewhere(used, tmp_path):
    (used.home / ".codex").mkdir()
    assert used.cli("connect", "codex", "--apply").returncode in (0, 1)
    code, findings = doctor(used)
    assert code == 1 and "not trusted" in findings["agents.codex.hooks"]["said"]

    other = Daemon(tmp_path / "other")
    other.home = used.home
    other.start()
    try:
        _, findings = doctor(other)
        assert "another data directory" in findings["agents.codex.hooks"]["said"]
    finally:
        other.close()


def test_fix_starts_a_daemon_that_is_down(used):
    used.stop()
    code, findings = doctor(used, "--fix")

    assert code == 0 and findings["daemon.answers"]["level"] == "ok"
    pid = lock_holder(used.data)
    os.kill(pid, signal.SIGTERM)
    used.wait(lambda: lock_holder(used.data) is None, "it is gone")
