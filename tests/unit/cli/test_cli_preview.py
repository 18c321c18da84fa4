"""`aimemory preview`: told from transcripts alone, and nothing is written."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from transcripts import ClaudeLines, CodexLines, Lines

from aimemory.cli.main import cli
from aimemory.config import HARNESS_VARIABLES
from aimemory.harness.registry import load_registry
from aimemory.hookclient.autostart import PASSED_ON
from aimemory.privacy.folders import render

Ask = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def ask(home: Path) -> Ask:
    env = {"HOME": str(home), "AIMEMORY_DATA_DIR": str(home / "data"), "CODEX_HOME": None, "CLAUDE_CONFIG_DIR": None}

    def run(*args: str, **more: str) -> Result:
        return CliRunner().invoke(cli, ["preview", *args], env={**env, **more})

    return run


def worked(lines: Lines, goal: str = "Fix the login") -> Lines:
    if isinstance(lines, CodexLines):
        lines.head()
    lines.prompt(goal)
    lines.call("c1", "pytest -q")
    lines.result("c1", "FAILED tests/test_a.py::test_one - no\n1 failed in 0.1s\n", 1)
    lines.patch("c2")
    lines.answer("One test still fails.")
    return lines


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    return path


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("kind", [ClaudeLines, CodexLines])
def test_the_last_session_here_is_told_and_what_was_read_is_said(home: Path, ask: Ask, kind: type[Lines]) -> None:
    work = repository(home / "work")
    lines = worked(kind(cwd=str(work)))
    path = lines.save(lines.place(home))
    before = everything(home)
    done = ask(str(work))
    assert done.exit_code == 0, done.output
    assert "- Goal: “Fix the login” [1]" in done.stdout
    assert "- Failed: `pytest -q`: exit code 1" in done.stdout
    assert "“One test still fails.”" in done.stdout
    assert f"[1] {path}" in done.stdout
    assert "- Branch `main`" in done.stdout
    assert f"Read, {len(lines.rows)} lines: {load_registry().get(lines.harness).title}, " in done.stderr
    assert everything(home) == before
    assert not (home / "data").exists()


def test_the_directory_counts_that_a_transcript_names_not_the_folder_it_lies_in(home: Path, ask: Ask) -> None:
    mine, other = repository(home / "a-b"), repository(home / "a" / "b")
    lines = worked(ClaudeLines(cwd=str(other)), "Of the other one")
    lines.save(lines.place(home))
    assert "Of the other one" in ask(str(other)).stdout
    assert ask(str(mine)).stdout == ""


def test_a_session_in_a_subfolder_of_the_same_repository_is_of_this_project(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    (work / "api").mkdir()
    lines = worked(ClaudeLines(cwd=str(work / "api")))
    lines.save(lines.place(home))
    assert "Fix the login" in ask(str(work)).stdout


def test_the_newest_comes_first_whichever_agent_it_was(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    old, new = worked(ClaudeLines(cwd=str(work)), "The old goal"), CodexLines(cwd=str(work))
    new.second = 1000
    worked(new, "The new goal")
    for at, lines in enumerate((old, new)):
        os.utime(lines.save(lines.place(home)), (1_000_000_000 + at, 1_000_000_000 + at))
    shown = ask(str(work)).stdout
    assert "- Goal: “The new goal” [1]" in shown
    assert "Claude Code: “The old goal”" in shown


def test_a_moved_folder_of_an_agent_is_found_by_its_variable(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    lines = worked(CodexLines(cwd=str(work)))
    lines.save(lines.place(home / "moved"))
    assert ask(str(work)).stdout == ""
    assert "Fix the login" in ask(str(work), CODEX_HOME=str(home / "moved" / ".codex")).stdout


def test_json_has_the_text_and_the_account(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    lines = worked(ClaudeLines(cwd=str(work)))
    lines.raw(b"{torn")
    lines.save(lines.place(home))
    shown = json.loads(ask(str(work), "--json").stdout)
    assert "Fix the login" in shown["text"]
    (read,) = shown["transcripts"]
    assert (read["session"], read["skipped"], read["reason"]) == (lines.session, {"damaged": 1}, "")


def test_where_there_is_nothing_it_says_where_it_looked(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    done = ask(str(work))
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"0 transcripts lie in {home}/.claude/projects, {home}/.codex/sessions" in done.stderr


def test_threads_of_sub_agents_and_sessions_without_a_prompt_are_not_told(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    child = CodexLines(cwd=str(work), session="33333333-7f3a-4a52-9a55-3f2c1e7f3a4a")
    child.head(thread_source="subagent")
    child.prompt("A task of the agent")
    child.save(child.place(home))
    empty = ClaudeLines(cwd=str(work))
    empty.answer("Nobody asked")
    empty.save(empty.place(home))
    done = ask(str(work))
    assert done.stdout == ""
    assert "Not read (nobody asked for anything in it)" in done.stderr


def test_where_capture_is_off_transcripts_are_not_read_either(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    (work / ".aimemory.toml").write_text('[capture]\nmode = "off"\n')
    lines = worked(ClaudeLines(cwd=str(work)))
    lines.save(lines.place(home))
    done = ask(str(work))
    assert done.stdout == ""
    assert "Capture of this project is off" in done.stderr


def test_where_the_folder_is_off_transcripts_are_not_read_either(home: Path, ask: Ask) -> None:
    work = repository(home / "work")
    lines = worked(ClaudeLines(cwd=str(work)))
    lines.save(lines.place(home))
    data = home / "data"
    data.mkdir()
    (data / "folders.json").write_bytes(render({str(work): {"mode": "off", "since": "2026-11-30T12:00:00Z"}}))
    done = ask(str(work))
    assert done.stdout == ""
    assert "is off, so its transcripts are not read either" in done.stderr


def test_variables_that_move_an_agents_folder_reach_the_daemon() -> None:
    specs = load_registry().specs.values()
    moving = {spec.transcript.home_variable for spec in specs if spec.transcript} - {None}
    assert moving == set(HARNESS_VARIABLES)
    assert moving <= set(PASSED_ON)
