"""What commands say where something is missing: the directory one stands in, the daemon, valid settings."""

import json
import os

import click
import pytest
from click.testing import CliRunner
from desk import Desk

from aimemory.cli.main import cli
from aimemory.cli.output import counted, examples


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Desk(tmp_path, monkeypatch)


@pytest.fixture
def nowhere(desk, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    yield
    os.chdir(tmp_path)


def typed(*words):
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


@pytest.mark.parametrize("command", ["off", "on"])
def test_a_switch_in_a_deleted_directory_asks_for_a_folder(nowhere, command):
    shown = typed(command)

    assert shown.exit_code == 2
    assert f"does not exist any more. Name a folder: aimemory {command} DIR" in shown.output


@pytest.mark.parametrize(
    "words", [("write", "A title", "--body", "text"), ("handoff", "begin", "--summary", "Done; the docs are open.")]
)
def test_nothing_is_written_from_a_deleted_directory_without_a_project(nowhere, words):
    shown = typed(*words)

    assert shown.exit_code == 2
    assert "Name a project with --project." in shown.output


def test_an_empty_summary_is_wrong_use(desk):
    shown = typed("handoff", "begin", "--summary", " ")

    assert shown.exit_code == 2
    assert "The summary is empty." in shown.output


def test_status_without_a_daemon_names_settings_with_which_none_starts(desk):
    desk.data.root.mkdir(parents=True)
    desk.data.config.write_text("broken [")

    shown, data = typed("status"), json.loads(typed("status", "--json").stdout)

    assert shown.exit_code == 75
    assert f"PROBLEM: {desk.data.config} is not valid TOML" in shown.output
    assert data["problem"].startswith(f"{desk.data.config} is not valid TOML")


def test_status_without_a_daemon_has_no_problem_where_there_is_none(desk):
    assert json.loads(typed("status", "--json").stdout)["problem"] is None


def test_examples_stand_one_a_line(desk):
    assert "\n    aimemory off\n    aimemory off ~/private\n" in typed("off", "--help").output
    assert examples("a", "b") == "\b\nExamples:\n  a\n  b"


@pytest.mark.parametrize(("number", "said"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1234, "1,234 pages")])
def test_numbers_and_their_words_agree(number, said):
    assert counted(number, "page") == said
    assert counted(1, "file edited", "files edited") == "1 file edited"


@pytest.mark.parametrize(("value", "styled"), [("1", False), ("", True)])
def test_no_color_takes_the_styles_away(desk, monkeypatch, value, styled):
    monkeypatch.setenv("NO_COLOR", value)
    seen = []

    @click.command()
    def probe():
        seen.append(click.get_current_context().color)

    monkeypatch.setattr(type(cli), "get_command", lambda self, ctx, name: probe)
    typed("status")

    assert (seen[0] is not False) is styled
