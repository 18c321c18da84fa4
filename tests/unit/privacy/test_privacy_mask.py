"""What waits in the spool where only metadata is kept."""

from aimemory.privacy.mask import masked

PAYLOAD = {
    "session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1", "cwd": "/srv/app",
    "tool_input": {"command": "canary", "canary key": 1, "list": ["canary"], "amount": 4711},
    "tool_response": {"stdout": "canary", "interrupted": True, "exit_code": 2}, "prompt": "canary",
    "error": "Exit code 2\ncanary", "canary/key": "x", "timestamp": 5,
}  # fmt: skip


def test_texts_go_and_names_times_and_outcomes_stay():
    found = masked(PAYLOAD)

    assert "canary" not in repr(found) and "4711" not in repr(found)
    assert {name: found[name] for name in ("session_id", "tool_name", "tool_use_id", "cwd", "timestamp")} == {
        "session_id": "s1", "tool_name": "Bash", "tool_use_id": "t1", "cwd": "/srv/app", "timestamp": 5,
    }  # fmt: skip
    assert found["tool_response"] == {"stdout": "[not kept]", "interrupted": True, "exit_code": 2}
    assert found["error"].startswith("Exit code 2\n") and found["prompt"]


def test_masking_again_changes_nothing():
    assert masked(masked(PAYLOAD)) == masked(PAYLOAD)
    assert masked([PAYLOAD]) == masked("canary") == "[not kept]"
