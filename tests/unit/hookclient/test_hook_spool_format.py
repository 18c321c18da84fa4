"""The spool's file format, as hook client and daemon share it."""

import json

import pytest

from aimemory.errors import Damaged
from aimemory.model.spool import (
    SpoolFile,
    event_kind,
    eviction_order,
    file_name,
    name_at_ns,
    name_kind,
    parse,
    serialise,
)

ENTRY = SpoolFile(harness="codex", event="Stop", at_ns=17, pid=4, cwd="/a b", body={"k": ["é", None]})


@pytest.mark.parametrize(
    "entry",
    [
        ENTRY,
        SpoolFile(harness="codex", event="Stop", at_ns=17, pid=4, cwd=None, text="half", incomplete=True),
        SpoolFile(harness="codex", event="Stop", at_ns=17, pid=4, cwd=None, body=None, status=400),
    ],
)
def test_what_is_written_is_read(entry: SpoolFile) -> None:
    assert parse(serialise(entry), "name") == entry


def test_format_is_as_documented() -> None:
    assert json.loads(serialise(ENTRY)) == {
        "v": 1, "harness": "codex", "event": "Stop", "at": 17, "pid": 4, "cwd": "/a b", "session_id": None,
        "kind": "end", "body": {"k": ["é", None]},
    }  # fmt: skip


def test_keys_of_a_newer_version_are_ignored() -> None:
    data = json.loads(serialise(ENTRY)) | {"v": 9, "later": 1}
    assert parse(json.dumps(data).encode(), "name") == ENTRY


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"harness":"a","event":"b","at":true,"pid":1,"body":1}']
)
def test_damaged_file_is_named_and_not_guessed_at(content: bytes) -> None:
    with pytest.raises(Damaged, match=r"0017-4-t0\.json"):
        parse(content, "0017-4-t0.json")


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("UserPromptSubmit", "prompt"), ("userPromptSubmitted", "prompt"), ("BeforeAgent", "prompt"),
        ("beforeSubmitPrompt", "prompt"), ("chat.message", "prompt"), ("prompt", "prompt"),
        ("before_agent_start", "prompt"),
        ("SessionEnd", "end"), ("Stop", "end"), ("SubagentStop", "end"), ("AfterAgent", "end"), ("session.idle", "end"),
        ("turn-end", "end"), ("session_shutdown", "end"),
        ("PreToolUse", "tool"), ("PostToolUseFailure", "tool"), ("tool.execute.after", "tool"), ("AfterTool", "tool"),
        ("afterShellExecution", "tool"), ("afterFileEdit", "tool"), ("BeforeModel", "tool"), ("post-tool", "tool"),
        ("SessionStart", "other"), ("PreCompact", "other"), ("Notification", "other"), ("", "other"),
    ],
)  # fmt: skip
def test_kind_is_told_by_the_vendors_event_name(event: str, kind: str) -> None:
    assert event_kind(event) == kind


def test_name_says_kind_and_time_and_sorts_by_time() -> None:
    early, late = file_name(9, 100, "prompt", "ab"), file_name(10, 2, "tool", "cd")
    assert early == "00000000000000000009-100-pab.json"
    assert (name_kind(early), name_at_ns(early), name_kind(late)) == ("prompt", 9, "tool")
    assert early < late


@pytest.mark.parametrize("name", [".breaker", ".tally", "a.json", "1-2-x0.json", "1-2.json", "1-2-t0.tmp", "rejects"])
def test_other_names_are_no_spool_files(name: str) -> None:
    assert name_kind(name) is None


def test_eviction_takes_tools_then_others_then_the_rest_by_age() -> None:
    order = [(3, "tool"), (4, "tool"), (1, "other"), (0, "prompt"), (2, "end"), (5, "prompt")]
    expected = [file_name(at, 1, kind, "0") for at, kind in order]
    assert eviction_order(reversed(expected)) == expected
