"""Reading data files: what is accepted, what is reported, and how a harness is found by name."""

from pathlib import Path

import pytest

from aimemory.errors import UserError
from aimemory.harness.registry import load_registry
from aimemory.harness.spec import load_spec
from aimemory.model.event import EventKind

GOOD = """
id = "new-agent"
title = "New Agent"
aliases = ["na"]
[hooks]
shape = "flat"
[hooks.events]
Begin = { kind = "session-start", reply = true, register = true, timeout_s = 5 }
Ended = { kind = "session-end", identity = ["run.id"], fields = { reason = ["why"] } }
[fields]
event = "name"
session = ["run.id", "id"]
[inject]
reply = "json:out.text"
"""


def written(folder: Path, text: str, name: str = "new-agent") -> Path:
    file = folder / name / "harness.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_good_file_becomes_values(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, GOOD))
    ended = spec.row("Ended")
    assert (ended.kind, ended.identity) == (EventKind.SESSION_END, (("run", "id"),))
    assert ended.fields["reason"] == (("why",),)
    assert ended.fields["session"] == (("run", "id"), ("id",))
    assert spec.row("Begin").reply and not ended.reply
    assert spec.inject.json_path == ("out", "text")


def test_an_event_without_a_row_is_other_with_the_common_fields(tmp_path: Path) -> None:
    row = load_spec(written(tmp_path, GOOD)).row("Surprise")
    assert row.kind is EventKind.OTHER
    assert row.fields["event"] == (("name",),)
    assert "reason" not in row.fields


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        id = "New Agent"
        colour = "red"
        [hooks]
        shape = "round"
        [hooks.events]
        A = { kind = "party", timeout_s = 0, colour = "red" }
        B = { kind = "prompt", reply = true }
        C = { kind = "prompt", register = true }
        D = "prompt"
        [fields]
        shoe = ["x"]
        session = [""]
        [tools.dig]
        [outcome]
        error_pattern = "code ("
        output_pattern = "code"
        [inject]
        reply = "json"
        """,
    )
    with pytest.raises(UserError) as refused:
        load_spec(file)
    message = str(refused.value)
    for part in (
        str(file), "id is not lower-case", "title is missing", "colour is not a known key", "hooks.shape is none of",
        "hooks.events.A.kind is none of", "hooks.events.A.timeout_s is not a whole number above 0",
        "hooks.events.A.colour is not a known key", "hooks.events.B.reply is true, but register is not",
        "hooks.events.C.timeout_s is missing", "hooks.events.D is not a table", "fields.shoe is none of",
        "fields.session has an empty path", "tools.dig is none of", "outcome.error_pattern is no regular expression",
        "outcome.output_pattern needs exactly one group", "inject.reply is none of",
    ):  # fmt: skip
        assert part in message


@pytest.mark.parametrize("content", [b"id = ", b"\xff\xfe", None])
def test_a_file_that_cant_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "harness.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"harness\.toml"):
        load_spec(file)


def test_the_shipped_harnesses_are_found_by_id_and_alias() -> None:
    registry = load_registry()
    assert registry.names() == ["claude-code", "codex", "generic"]
    assert registry.get("claude") is registry.get("claude-code")
    assert registry.reply_events() == {
        "claude-code": ["SessionStart", "UserPromptSubmit"],
        "codex": ["SessionStart", "UserPromptSubmit"],
        "generic": ["session-start", "prompt"],
    }


def test_an_unknown_name_gets_a_description_without_meanings() -> None:
    spec = load_registry().get("never heard of")
    assert (spec.id, spec.known, spec.row("prompt").kind, spec.inject.reply) == (
        "never heard of",
        False,
        EventKind.OTHER,
        "none",
    )


def test_a_further_folder_adds_and_replaces(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    written(tmp_path, GOOD.replace('"new-agent"', '"codex"').replace('"na"', '"cx"'), "codex")
    registry = load_registry([tmp_path])
    assert registry.get("na").title == "New Agent"
    assert registry.get("codex").title == registry.get("cx").title == "New Agent"
    assert registry.get("codex-cli").known is False


@pytest.mark.parametrize(
    ("text", "name", "part"),
    [
        (GOOD, "other-name", "its folder is named 'other-name'"),
        (GOOD.replace('"na"', '"claude"'), "new-agent", "the alias 'claude', which also names claude-code"),
        ("id = 5", "new-agent", "id is not text"),
    ],
)
def test_a_bad_folder_is_refused_with_its_name(tmp_path: Path, text: str, name: str, part: str) -> None:
    written(tmp_path, text, name)
    with pytest.raises(UserError, match=part):
        load_registry([tmp_path])


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no"):
        load_registry([tmp_path / "missing"])
