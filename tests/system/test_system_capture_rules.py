"""`[capture]` of a repository's `.aimemory.toml` from end to end: what it forbids reaches no byte of the disk."""

import json

import pytest
from living import all_bytes, git, repository

CANARY = b"canary4711"
SAID = CANARY.decode()


@pytest.fixture
def where(tmp_path):
    found = repository(tmp_path / "app")
    (found / "secrets").mkdir()
    (found / "door").symlink_to("secrets")
    (found / ".aimemory.toml").write_text('[capture]\nignore = ["secrets/**", "*.pem"]\nmetadata = ["infra/**"]\n')
    git(found, "worktree", "add", "-q", str(tmp_path / "tree"))
    return found


def tool(where, tool="Bash", *, event="PostToolUse", session="s1", output=SAID, **given):
    call = given.pop("call", f"t{json.dumps(given)}")
    return {
        "session_id": session, "cwd": str(where), "hook_event_name": event, "tool_name": tool, "tool_use_id": call,
        "tool_input": given, "tool_response": {"stdout": output, "stderr": ""},
    }  # fmt: skip


@pytest.mark.promise("P4.131")
def test_nothing_of_an_ignored_path_reaches_the_disk_whoever_names_it_however(daemon, where, tmp_path):
    tree = tmp_path / "tree"
    calls = [
        tool(where, command="cat secrets/x"), tool(where, command="cd secrets && cat x"), tool(where, command="cat door/x"),
        tool(where, command="cat s*/x"), tool(where, command=f"cat {tree}/secrets/x"), tool(where / "secrets", command="cat x"),
        tool(where, "Read", file_path=f"{where}/secrets/x"), tool(where, "mcp__fs__read", paths=["ok", "secrets/x"]),
        tool(where, "NotebookEdit", notebook_path="secrets/n.ipynb", new_source=SAID), tool(tree, command="cat secrets/x"),
        tool(where, command="git log -p", output=f"diff --git a/secrets/x b/secrets/x\n+{SAID}"),
        tool(where, command="cat a " + "b/c " * 1000 + "secrets/x " + "b/c " * 1000),
        {**tool(where, command="cat secrets/x", call="sub"), "agent_id": "a1", "agent_type": "explorer"},
    ]  # fmt: skip
    for number, call in enumerate(calls):
        _, answer = daemon.event("claude-code", "PostToolUse", call)
        assert (number, answer.get("reason")) == (number, "ignored path")
    patch = {"command": f"*** Begin Patch\n*** Update File: secrets/x\n+{SAID}\n*** End Patch"}
    for event in ("PreToolUse", "PostToolUse"):
        call = {**tool(where, "apply_patch", event=event, session="c1"), "tool_input": patch, "turn_id": "1"}
        assert daemon.event("codex", event, call)[1]["outcome"] == "dropped"
    assert (
        daemon.event("claude-code", "PostToolUse", tool(where, command="make", output="fine"))[1]["outcome"] == "stored"
    )

    assert CANARY not in all_bytes(daemon.data.root)
    assert daemon.status()["capture"]["claude-code"]["reasons"] == {"ignored path": len(calls)}


@pytest.mark.promise("P4.134")
def test_what_answers_a_dropped_call_is_dropped_and_what_answers_metadata_is_metadata(daemon, where):
    base = {"session_id": "g", "cwd": str(where)}
    daemon.event("generic", "pre-tool", {**base, "tool": "sh", "input": {"command": "cat secrets/x"}, "id": "c1"})
    assert (
        daemon.event("generic", "post-tool", {**base, "tool": "sh", "output": SAID, "id": "c1"})[1]["outcome"]
        == "dropped"
    )
    daemon.event("generic", "pre-tool", {**base, "tool": "sh", "input": {"command": "cat infra/x"}, "id": "c2"})
    daemon.event("generic", "post-tool", {**base, "tool": "sh", "output": SAID, "id": "c2"})
    begun = tool(where, command="tail -f secrets/log", output="")
    begun["tool_response"] |= {"backgroundTaskId": "bash_17"}
    daemon.event("claude-code", "PostToolUse", begun)
    later = daemon.event("claude-code", "PostToolUse", tool(where, "BashOutput", bash_id="bash_17"))[1]

    assert later["outcome"] == "dropped"
    assert CANARY not in all_bytes(daemon.data.root)
    assert {line["data"]["tool"] for line in daemon.lines("observation")} == {"sh"}


@pytest.mark.promise("P4.135")
def test_rules_of_the_folder_an_event_ran_in_hold_beside_those_of_its_session(daemon, where, tmp_path):
    """Also SCP-03: a step into a temporary or another folder leaves the session where it is."""
    other = repository(tmp_path / "private")
    (other / ".aimemory.toml").write_text('[capture]\nmode = "off"\n')
    daemon.event("claude-code", "UserPromptSubmit", {"session_id": "s1", "cwd": str(where), "prompt": "begin"})

    assert daemon.event("claude-code", "PostToolUse", tool(other, command="cat notes"))[1]["outcome"] == "dropped"
    assert (
        daemon.event("claude-code", "PostToolUse", tool("/tmp/x", command="ls", output="a"))[1]["outcome"] == "stored"
    )
    assert {line["data"]["project"] for line in daemon.lines("observation")} == {
        daemon.lines("observation")[0]["data"]["project"]
    }
    assert CANARY not in all_bytes(daemon.data.root)


@pytest.mark.promise("P4.136")
def test_the_spool_is_held_to_the_rules_and_converges_with_a_direct_delivery(daemon, where):
    """The detached child drops and masks; what it spooled is one event with the same delivered before."""
    (where / "careful").mkdir()
    careful = where / "careful" / ".aimemory.toml"
    careful.write_text('[capture]\nmode = "metadata"\n')
    ended = {"session_id": "m", "cwd": str(careful.parent), "hook_event_name": "Stop", "last_assistant_message": SAID}
    daemon.event("claude-code", "Stop", ended, at=10**18, pid=7)
    daemon.cli("down")
    daemon.hook("claude-code", "PostToolUse", tool(where, command="cat secrets/x"), where)
    daemon.hook("claude-code", "PostToolUse", tool(where, command="cat infra/x"), where)
    daemon.hook(
        "claude-code",
        "UserPromptSubmit",
        {"session_id": "m", "cwd": str(careful.parent), "prompt": SAID},
        careful.parent,
    )
    spooled = daemon.wait(
        lambda: len(found := list(daemon.data.spool.glob("[!.]*.json"))) == 2 and found, "two are spooled"
    )
    assert CANARY not in all_bytes(daemon.data.root)
    masked = json.loads(spooled[0].read_text())
    masked |= {"event": "Stop", "at": 10**18, "pid": 7, "cwd": str(careful.parent)}
    masked["body"] = {**ended, "last_assistant_message": "[not kept]"}
    spooled[0].with_name(spooled[0].name.replace(".json", "0.json")).write_text(json.dumps(masked))
    daemon.cli("up")
    daemon.wait(lambda: not list(daemon.data.spool.glob("[!.]*.json")), "the spool is drained")

    kinds = sorted((line["data"]["kind"], line["data"].get("tool")) for line in daemon.lines("observation"))
    assert kinds == [("post-tool", "Bash"), ("prompt", None), ("turn-end", None)]
    assert CANARY not in all_bytes(daemon.data.root)


@pytest.mark.promise("P4.133")
def test_a_file_with_a_pattern_that_cannot_be_used_is_named_with_its_line_in_status(daemon, where):
    (where / ".aimemory.toml").write_text('[capture]\nignore = [\n  "secrets/**",\n  "x[",\n]\n')
    daemon.event("claude-code", "PostToolUse", tool(where, command="make"))

    assert CANARY not in all_bytes(daemon.data.root)
    (problem,) = [found for found in daemon.status()["problems"] if "x[" in found]
    assert f"{where}/.aimemory.toml: line 4" in problem


@pytest.mark.promise("P12.130")
def test_explain_capture_names_the_rule_with_its_line_and_records_nothing(daemon, where, tmp_path):
    def explained(*arguments, **more):
        done = daemon.cli("project", "explain-capture", *arguments, "--json", **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = explained(str(where), "--command", "cd secrets && cat x")
    assert (found["file"], found["project"]) == (f"{where}/.aimemory.toml", "default/app")
    assert [(r["setting"], r["value"], r["line"]) for r in found["rules"]] == [
        ("ignore", "secrets/**", 2), ("ignore", "*.pem", 2), ("metadata", "infra/**", 3),
    ]  # fmt: skip
    verdict = found["verdict"]
    assert (verdict["level"], verdict["rule"], verdict["pattern"], verdict["line"]) == (
        "drop",
        "ignore",
        "secrets/**",
        2,
    )
    assert set(found["work_trees"]) == {str(where), str(tmp_path / "tree")}
    assert explained(str(where), "--path", "src/a")["verdict"]["level"] == "full"
    assert explained(str(where), "--path", f"{tmp_path}/tree/infra/a")["verdict"]["line"] == 3
    event = json.dumps(tool(where, "Read", file_path="door/x"))
    assert explained("--event", "claude-code:PostToolUse", input=event)["verdict"]["pattern"] == "secrets/**"

    (where / ".aimemory.toml").write_text('[capture]\n# no\nmode = "metadata"\nonly = ["src/**",\n  "a["]\n')
    plain = daemon.cli("project", "explain-capture", cwd=where)
    assert "line 3    mode      metadata" in plain.stdout and "line 5    only      a[" in plain.stdout
    assert f"names, times and outcomes only: mode ({where}/.aimemory.toml line 3)" in plain.stdout
    assert f"{where}/.aimemory.toml: line 5: [capture] only: the pattern 'a['" in plain.stderr
    (where / ".aimemory.toml").write_text("[[[bad")
    broken = explained(cwd=where)
    wrong = f"{where}/.aimemory.toml is not valid TOML, line 1: "
    assert broken["problems"][0].startswith(wrong) and broken["rules"][0]["problem"].startswith(wrong)
    assert broken["verdict"]["said"] == "names, times and outcomes only: what can't be understood in the file is strict"
    assert f"Problem: {wrong}" in daemon.cli("project", "explain-capture", cwd=where).stderr
    daemon.cli("off", cwd=where)
    assert f"`aimemory off {where}` holds" in explained(cwd=where)["verdict"]["said"]
    assert daemon.cli("project", "explain-capture", "--event", "x", input="{}").returncode == 2
    assert daemon.lines("observation") == []
