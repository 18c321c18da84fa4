"""`connect` and `disconnect` as typed, without a daemon: plans, refusals, exit codes."""

import json
import os

import pytest
from click.testing import CliRunner
from desk import Desk

from aimemory.cli.main import cli


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Desk(tmp_path, monkeypatch)


def typed(*words):
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


@pytest.mark.promise("P9.15")
def test_a_plan_writes_nothing(desk):
    desk.put(".claude/settings.json", "{}")

    shown = typed("connect")

    assert shown.exit_code == 0
    assert "+++ " in shown.output and "Nothing was written. Add --apply" in shown.output
    assert (desk.home / ".claude" / "settings.json").read_text() == "{}"
    assert not desk.data.root.exists()
    assert "codex" not in shown.output


def test_no_agent_found_says_what_was_looked_for(desk):
    shown = typed("connect")

    assert shown.exit_code == 2
    for sign in (desk.home / ".claude", "`claude` on PATH", desk.home / ".codex", "`codex` on PATH"):
        assert str(sign) in shown.output


def test_a_program_on_the_path_is_found(desk, tmp_path):
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert str(desk.home / ".codex" / "hooks.json") in typed("connect").output


def test_an_agent_can_be_named_by_its_alias_and_in_part(desk):
    shown = typed("connect", "claude", "--only", "mcp", "--json")

    (file,) = json.loads(shown.stdout)["files"]
    assert (file["harness"], file["parts"], file["action"]) == ("claude-code", ["mcp"], "create")


def test_an_unknown_agent_is_wrong_use(desk):
    shown = typed("connect", "emacs")

    assert shown.exit_code == 2
    assert "emacs can't be connected. Known: claude-code, codex." in shown.output


@pytest.mark.promise("P9.14")
def test_a_broken_file_is_named_with_its_line_and_the_exit_code_is_1(desk):
    broken = desk.put(".claude/settings.json", '{\n  "a": 1,,\n}')

    shown = typed("connect", "claude-code")

    assert shown.exit_code == 1
    assert f"{broken}, line 2 was left as it is. It is not valid JSON" in shown.output
    assert "mcpServers" in shown.output


@pytest.mark.promise("P9.14")
def test_disconnect_says_what_to_remove_from_a_file_that_broke_since(desk):
    """INS-16."""
    desk.connect("claude-code")
    settings = desk.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text() + "oops")
    before = settings.read_bytes()

    shown = typed("disconnect", "--apply")

    assert shown.exit_code == 1
    assert settings.read_bytes() == before
    assert "remove by hand what names `…/bin/hook claude-code …`" in shown.output
    assert not (desk.home / ".claude.json").exists()


@pytest.mark.promise("P9.13")
def test_disconnect_works_without_daemon_data_directory_or_valid_settings(desk):
    """INS-15."""
    settings = desk.put(".claude/settings.json", '{"a": 1}')
    desk.connect("claude-code")
    os.rename(desk.data.root, str(desk.data.root) + "-gone")
    desk.data.root.mkdir()
    desk.data.config.write_text("broken [")

    shown = typed("disconnect", "--apply")

    assert shown.exit_code == 0
    assert settings.read_text() == '{"a": 1}'


def test_disconnect_of_what_was_never_connected_changes_nothing(desk):
    desk.put(".codex/config.toml", "a = 1\n")

    shown = typed("disconnect", "--apply")

    assert shown.exit_code == 0
    assert "holds nothing of ours" in shown.output
    assert not desk.data.root.exists()


def test_a_relative_home_of_a_vendor_is_refused(desk, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", "here")

    shown = typed("connect", "codex")

    assert shown.exit_code == 2
    assert "CODEX_HOME is 'here', which is relative" in shown.output


def test_a_plan_says_that_the_user_turned_hooks_off(desk):
    desk.put(".claude/settings.json", '{"disableAllHooks": true}')

    assert "disableAllHooks = true: Claude Code runs no hook at all" in typed("connect").output


def test_hooks_of_others_that_move_up_in_codex_are_said(desk):
    desk.connect("codex")
    hooks = desk.home / ".codex" / "hooks.json"
    data = json.loads(hooks.read_text())
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    hooks.write_text(json.dumps(data))

    assert "will ask you to review them again" in typed("disconnect", "codex").output


def test_status_tells_of_each_agent_found_also_without_a_daemon(desk):
    desk.connect("codex")

    shown = typed("status")

    assert shown.exit_code == 75
    assert "Codex CLI    hooks launcher missing, MCP launcher missing." in shown.output
    assert "Claude Code" not in shown.output
    assert [one["harness"] for one in json.loads(typed("status", "--json").stdout)["harnesses"]] == ["codex"]
