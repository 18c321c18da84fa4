"""Which files are opened as transcripts: a path in a payload is input, and only the harness's own folder is read."""

import os
from pathlib import Path

import pytest
from recordings import scenarios
from transcripts import SESSION, ClaudeLines, CodexLines, Lines

from aimemory.facts.known import Unknown
from aimemory.facts.transcript.locate import continued_in, open_transcript
from aimemory.facts.transcript.read import FORMATS, Transcript, read_transcript
from aimemory.harness.registry import load_registry
from aimemory.model.event import EventKind
from aimemory.model.transcript import TranscriptSource

SOURCES = {name: load_registry().get(name).transcript for name in ("claude-code", "codex")}
FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"


def source_of(harness: str) -> TranscriptSource:
    source = SOURCES[harness]
    assert source is not None
    return source


CLAUDE = source_of("claude-code")


def refusal(path: Path | str, home: Path, source: TranscriptSource = CLAUDE, **env: str) -> str:
    opened = open_transcript(source, str(path), home=str(home), env=env)
    if isinstance(opened, Unknown):
        return opened.reason
    opened.close()
    return ""


def test_every_harness_with_transcripts_has_a_reader() -> None:
    specs = load_registry().specs.values()
    assert {spec.transcript.format for spec in specs if spec.transcript} == FORMATS.keys()


def test_beside_a_path_that_leads_elsewhere_nothing_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ClaudeLines()
    lines.prompt("Fix it")
    elsewhere = lines.save(tmp_path / "elsewhere" / "other.jsonl")
    looked_at: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looked_at.append(str(folder)) or scandir(folder))
    found = read_transcript(CLAUDE, str(elsewhere.with_name("x.jsonl")), session=SESSION, home=str(tmp_path), env={})
    assert isinstance(found, Unknown) and "not below" in found.reason
    assert looked_at == []


@pytest.mark.parametrize("made", [ClaudeLines(), CodexLines()], ids=["claude", "codex"])
def test_a_file_in_the_harnesss_folder_is_opened_also_where_a_variable_has_moved_it(
    tmp_path: Path, made: Lines
) -> None:
    source = source_of(made.harness)
    path = made.save(made.place(tmp_path))
    assert refusal(path, tmp_path, source) == ""
    variable = source.home_variable
    assert variable is not None
    assert refusal(path, tmp_path / "elsewhere", source, **{variable: str(tmp_path / made.home)}) == ""
    assert "not below" in refusal(path, tmp_path, source, **{variable: str(tmp_path / "moved")})


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    lines = ClaudeLines()
    real = lines.save(lines.place(tmp_path / "dotfiles"))
    (tmp_path / ".claude").symlink_to(tmp_path / "dotfiles" / ".claude")
    assert refusal(lines.place(tmp_path), tmp_path) == ""
    assert refusal(real, tmp_path) == ""


def test_nothing_else_is_opened(tmp_path: Path) -> None:
    """TRN-14, and what somebody could put into a payload."""
    folder = tmp_path / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    secret = tmp_path / "secret.jsonl"
    secret.write_text("{}")
    (folder / "link.jsonl").symlink_to(secret)
    (tmp_path / ".claude" / "projects" / "y").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    locked = folder / "locked.jsonl"
    locked.write_text("{}")
    locked.chmod(0)
    assert "not below" in refusal(secret, tmp_path)
    assert "not below" in refusal(f"{folder}/../../../secret.jsonl", tmp_path)
    assert "not below" in refusal(f"{tmp_path}/.claude/projects", tmp_path)
    assert "not absolute" in refusal("secret.jsonl", tmp_path)
    assert "not absolute" in refusal(f"{folder}/a\0.jsonl", tmp_path)
    assert "can't be opened" in refusal(folder / "link.jsonl", tmp_path)
    assert "can't be opened" in refusal(tmp_path / ".claude/projects/y/secret.jsonl", tmp_path)
    assert refusal(folder / "pipe.jsonl", tmp_path) == "it is not a regular file"
    assert refusal(folder / "folder.jsonl", tmp_path) == "it is not a regular file"
    assert refusal(folder / "never-written.jsonl", tmp_path) == "it does not exist"
    if os.geteuid():
        assert "can't be opened" in refusal(locked, tmp_path)


def test_a_file_of_somebody_else_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ClaudeLines()
    path = lines.save(lines.place(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert refusal(path, tmp_path) == "it is not our own"


def aged(path: Path, seconds: int) -> None:
    os.utime(path, (1_000_000_000 + seconds, 1_000_000_000 + seconds))


def test_the_younger_file_of_the_same_session_is_read_as_well(tmp_path: Path) -> None:
    """TRN-04: after a compaction the hooks' path still names the frozen file."""
    old = ClaudeLines()
    old.prompt("Old words")
    first = old.save(old.place(tmp_path))
    new = ClaudeLines()
    new.rows, new.second = list(old.rows), old.second
    new.prompt("New words")
    second = new.save(first.with_name("99999999-7f3a-4a52-9a55-3f2c1e7f3a4a.jsonl"))
    other = ClaudeLines(session="22222222-7f3a-4a52-9a55-3f2c1e7f3a4a")
    other.prompt("Of another session")
    third = other.save(other.place(tmp_path))
    for age, path in enumerate((first, second, third)):
        aged(path, age)
    assert continued_in(str(first), SESSION) == str(second)
    assert continued_in(str(second), SESSION) is None
    found = read_transcript(CLAUDE, str(first), session=SESSION, home=str(tmp_path), env={})
    assert isinstance(found, Transcript)
    assert [event.prompt for event in found.events] == ["Old words", "New words"]
    assert found.paths == (str(first), str(second))
    first.unlink()
    found = read_transcript(CLAUDE, str(first), session=SESSION, home=str(tmp_path), env={})
    assert isinstance(found, Transcript)
    assert [event.prompt for event in found.events] == ["Old words", "New words"]


def test_work_of_sub_agents_in_files_of_their_own_is_part_of_the_session(tmp_path: Path) -> None:
    """TRN-12"""
    main = ClaudeLines()
    main.prompt("Delegate it")
    path = main.save(main.place(tmp_path))
    child = ClaudeLines()
    child.second = 5
    child.prompt("A task", isSidechain=True, agentId="a1")
    child.patch("c1")
    child.rows = [row.replace(b'"isSidechain":false', b'"isSidechain":true,"agentId":"a1"') for row in child.rows]
    child.save(path.with_suffix("") / "subagents" / "agent-a1.jsonl")
    found = read_transcript(CLAUDE, str(path), session=SESSION, home=str(tmp_path), env={})
    assert isinstance(found, Transcript)
    wrote = [event for event in found.events if event.files_written]
    assert [(event.agent_id, event.files_written) for event in wrote] == [("a1", ("/w/app/a.py",))]


def test_an_unknown_layout_is_said_and_is_no_empty_session(tmp_path: Path) -> None:
    path = ClaudeLines().place(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('{"kind":"turn"}\n')
    found = read_transcript(CLAUDE, str(path), session=SESSION, home=str(tmp_path), env={})
    assert found == Unknown("its format is not supported (None)")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.jsonl")), ids=lambda path: path.name[:24])
def test_recorded_transcripts_are_understood_whole(tmp_path: Path, path: Path) -> None:
    harness = "codex" if path.name.startswith("rollout") else "claude-code"
    source = source_of(harness)
    copy = tmp_path / source.home.removeprefix("~/") / source.folders[0] / path.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    found = read_transcript(source, str(copy), session=path.stem[-36:], home=str(tmp_path), env={})
    assert isinstance(found, Transcript)
    report = found.report
    assert (report.skipped, report.unknown, report.lines) == ({}, {}, report.records)
    assert not any("MARKER" in str(event) for event in found.events)
    begun = {event.call_id for event in found.events if event.kind is EventKind.PRE_TOOL}
    ended = {event.call_id for event in found.events if event.kind is EventKind.POST_TOOL}
    assert begun == ended != set()


def test_call_ids_of_a_recorded_rollout_are_those_of_its_hooks() -> None:
    hooked = {
        row["payload"]["tool_use_id"]
        for rows in scenarios("codex").values()
        for row in rows
        if row["payload"].get("session_id") == "01a22baf-604e-7b63-9bff-73e166f3f582"
        and "tool_use_id" in row["payload"]
    }
    text = next(FIXTURES.glob("*604e*")).read_text(encoding="utf-8")
    assert len(hooked) == 2
    assert all(f'"call_id": "{call}"' in text for call in hooked)
