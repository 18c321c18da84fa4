"""What is said of an agent: registered, running, or looking as if it were."""

import dataclasses
import json
from pathlib import Path

import pytest
from desk import Desk

from aimemory.config import load_config
from aimemory.doctor.known import launchers
from aimemory.install.agent import OtherFile
from aimemory.install.record import read_record
from aimemory.install.state import state_of
from aimemory.install.trust import codex_hash

HASHES = json.loads((Path(__file__).parents[2] / "fixtures" / "codex-hook-hashes.json").read_text(encoding="utf-8"))


@pytest.fixture
def desk(tmp_path, monkeypatch):
    made = Desk(tmp_path, monkeypatch)
    made.data.bin.mkdir(parents=True)
    for launcher in (made.data.hook_launcher, made.data.mcp_launcher):
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o700)
    return made


def state(desk, agent):
    return state_of(desk.agent(agent), launchers(load_config()), read_record(desk.data.connect_record))


def trust(desk, **changes):
    """What Codex writes when its user accepts all hooks."""
    path = desk.home / ".codex" / "hooks.json"
    entries = ""
    for event, groups in json.loads(path.read_text())["hooks"].items():
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        for g, group in enumerate(groups):
            for h, handler in enumerate(group["hooks"]):
                found = codex_hash(event, {**group, "hooks": [handler]})
                entries += f'[hooks.state."{path}:{name}:{g}:{h}"]\ntrusted_hash = "{found}"\n'
    with (desk.home / ".codex" / "config.toml").open("a") as file:
        file.write(f"\n[hooks.state]\n{entries}")


@pytest.mark.parametrize("row", HASHES["hooks"], ids=lambda row: f"{row['event']}-{row['hash'][7:13]}")
def test_the_hash_is_the_one_that_codex_shows(row):
    """Recorded from the real program; see the fixture."""
    assert codex_hash(row["event"], row["group"]) == row["hash"]


def test_nothing_installed(desk):
    found = state(desk, "codex")

    assert (found.hooks.code, found.mcp.code) == ("not installed", "not installed")
    assert found.line == ("hooks not installed, MCP not installed. `aimemory connect codex --apply` connects it.")


def test_installed_where_no_review_is_asked_for(desk):
    desk.connect("claude-code")

    assert state(desk, "claude-code").line == "hooks installed, MCP installed."


@pytest.mark.promise("P12.10")
def test_hooks_that_codex_skips_are_said_and_how_to_trust_them(desk):
    """CAP-09: Codex says nothing of a hook that was not reviewed, or was changed since."""
    desk.connect("codex")
    assert state(desk, "codex").hooks.code == "not trusted"
    assert 'start `codex` once and accept at "Hooks need review"' in state(desk, "codex").line

    trust(desk)
    assert state(desk, "codex").hooks.code == "installed"

    hooks = desk.home / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 10', '"timeout": 11', 1))
    assert state(desk, "codex").hooks.code == "changed since trusted"
    assert "Hooks need review" in state(desk, "codex").line


@pytest.mark.parametrize("timeout", ["null", '"10"', "[]"])
def test_a_timeout_that_is_no_number_is_a_change_and_no_crash(desk, timeout):
    desk.connect("codex")
    trust(desk)
    hooks = desk.home / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 10', f'"timeout": {timeout}', 1))

    assert state(desk, "codex").hooks.code == "changed since trusted"


def test_a_second_connect_keeps_what_was_reviewed(desk):
    desk.connect("codex")
    trust(desk)

    assert [done.change.action for done in desk.connect("codex")] == ["none", "none"]
    assert state(desk, "codex").hooks.code == "installed"


def test_a_home_behind_a_link_is_known_by_both_names(desk, monkeypatch, tmp_path):
    """Codex names the resolved place of CODEX_HOME in its own file."""
    desk.connect("codex")
    trust(desk)
    (tmp_path / "link").symlink_to(desk.home / ".codex")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))

    assert state(desk, "codex").hooks.code == "installed"


@pytest.mark.promise("P12.10")
@pytest.mark.parametrize(
    "agent, file, setting",
    [("claude-code", ".claude/settings.json", '{"disableAllHooks": true}'), ("codex", ".codex/config.toml", "[features]\nhooks = false\n")],
)  # fmt: skip
def test_hooks_that_the_user_turned_off_are_said_and_stay_off(desk, agent, file, setting):
    path = desk.put(file, setting)

    desk.connect(agent)

    assert state(desk, agent).hooks.code == "off"
    assert str(path) in state(desk, agent).line
    assert setting.splitlines()[-1].strip("{}") in path.read_text()


@pytest.mark.parametrize("features, code", [
    ("codex_hooks = false", "off"), ("hooks = true\ncodex_hooks = false", "not trusted"),
    ("hooks = false\ncodex_hooks = true", "off"), ("codex_hooks = true", "not trusted"),
])  # fmt: skip
def test_the_older_name_of_the_switch_counts_where_the_newer_is_not_set(desk, features, code):
    """CAP-10."""
    desk.put(".codex/config.toml", f"[features]\n{features}\n")
    desk.connect("codex")

    assert state(desk, "codex").hooks.code == code


def test_a_setting_of_the_machine_that_keeps_our_hooks_from_running_is_said(desk, tmp_path):
    desk.connect("claude-code")
    managed = tmp_path / "managed-settings.json"
    managed.write_text('{"allowManagedHooksOnly": true}')
    (real,) = [one for one in desk.agent("claude-code").others if one.path.startswith("/etc/")]
    agent = dataclasses.replace(
        desk.agent("claude-code"), others=(OtherFile(str(managed), real.format, real.hooks, real.off),)
    )
    found = state_of(agent, launchers(load_config())).hooks

    assert found.code == "off" and f"{managed} says allowManagedHooksOnly = true" in found.detail


@pytest.mark.parametrize("agent, file", [("claude-code", ".claude/settings.json"), ("codex", ".codex/config.toml")])
def test_entries_that_somebody_took_out_are_told_from_entries_that_never_were(desk, agent, file):
    desk.connect(agent)
    (desk.home / file).write_text("" if file.endswith("toml") else "{}")
    found = state(desk, agent)

    assert "removed" in (found.hooks.code, found.mcp.code) and str(desk.home / file) in found.line
    desk.put(file, "")
    desk.connect(agent)
    desk.disconnect(agent)
    assert state(desk, agent).hooks.code == "not installed"


def test_what_somebody_changed_in_our_entries_is_said_and_renewed(desk):
    desk.connect("claude-code")
    path = desk.home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("claude-code Stop", "claude-code SessionEnd", 1))
    assert state(desk, "claude-code").hooks.code == "edited"
    assert "Stop calls" in state(desk, "claude-code").line

    desk.connect("claude-code")
    assert state(desk, "claude-code").hooks.code == "installed"


def test_one_hook_turned_off_in_codex_is_said(desk):
    desk.connect("codex")
    trust(desk)
    config = desk.home / ".codex" / "config.toml"
    config.write_text(config.read_text() + "enabled = false\n")

    assert state(desk, "codex").line.startswith("hooks off, MCP installed. You have turned off 1 of our hooks")


@pytest.mark.promise("P12.10")
def test_entries_of_another_data_directory_are_said(desk, monkeypatch, tmp_path):
    desk.connect("claude-code")
    monkeypatch.setenv("AIMEMORY_DATA_DIR", str(tmp_path / "new"))

    found = state(desk, "claude-code")

    assert (found.hooks.code, found.mcp.code) == ("another data directory", "another data directory")
    assert str(desk.data.hook_launcher) in found.line


@pytest.mark.promise("P12.10")
def test_a_missing_launcher_is_said(desk):
    desk.connect("claude-code")
    desk.data.hook_launcher.unlink()

    assert state(desk, "claude-code").hooks.code == "launcher missing"


def test_a_registration_with_holes_is_said(desk):
    desk.connect("claude-code")
    path = desk.home / ".claude" / "settings.json"
    data = json.loads(path.read_text())
    del data["hooks"]["Stop"]
    path.write_text(json.dumps(data))

    assert state(desk, "claude-code").hooks.code == "incomplete"
    assert "Not registered: Stop." in state(desk, "claude-code").line


def test_files_that_cannot_be_read_are_said(desk):
    desk.put(".claude/settings.json", "{")
    desk.put(".claude.json", '{"mcpServers": {"aimemory": {"url": "x"}}}')

    found = state(desk, "claude-code")

    assert (found.hooks.code, found.mcp.code) == ("unreadable", "name taken")
