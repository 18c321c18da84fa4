"""From a real hook to a file: what is stored, what is refused, what is found again."""

import json
import os

import pytest
from living import Daemon, all_bytes, git, repository

CANARY = "ghp_" + "Zq8R" * 9


def prompt(text="Add a PDF export", session="s1", **more):
    return {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": text, **more}


def test_an_event_through_the_launcher_is_in_the_journal_and_found(daemon):
    done = daemon.hook("claude-code", "PostToolUse", {
        "session_id": "s1", "cwd": "/srv/app", "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make widgets"}, "tool_response": {"stdout": "ok", "stderr": ""}, "tool_use_id": "t1",
    })  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (line,) = daemon.wait(lambda: daemon.lines("observation"), "the event is stored")
    assert line["data"]["command"] == "make widgets"
    assert any("make widgets" in hit["snippet"] for hit in daemon.search("widgets"))


@pytest.mark.promise("P2.1")
def test_stored_is_said_when_the_line_is_on_disk_and_not_before(daemon):
    status, answer = daemon.event("claude-code", "UserPromptSubmit", prompt(prompt_id="p1"), at=10**18, pid=7)

    assert (status, answer["outcome"]) == (202, "stored")
    assert [line["seq"] for line in daemon.lines()][-1] >= answer["seq"]
    assert answer["id"] in {line["data"].get("id") for line in daemon.lines("observation")}


def test_the_same_event_again_is_a_duplicate_with_the_same_id(daemon):
    first = daemon.event("claude-code", "UserPromptSubmit", prompt(prompt_id="p1"), at=10**18, pid=7)[1]
    status, again = daemon.event("claude-code", "UserPromptSubmit", prompt(prompt_id="p1"), at=10**18 + 5, pid=8)

    assert (status, again["outcome"], again["id"]) == (200, "duplicate", first["id"])
    assert len(daemon.lines("observation")) == 1


def test_a_duplicate_is_known_after_a_restart_too(daemon):
    first = daemon.event("claude-code", "Stop", {"session_id": "s1"}, at=10**18, pid=7)[1]
    daemon.kill()
    daemon.start()

    assert daemon.event("claude-code", "Stop", {"session_id": "s1"}, at=10**18, pid=7)[1] == {
        "outcome": "duplicate", "id": first["id"]
    }  # fmt: skip


def test_two_events_at_once_with_one_identity_are_stored_once(daemon):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(
            lambda n: daemon.event("claude-code", "UserPromptSubmit", prompt(prompt_id="p1"), at=10**18 + n, pid=n)[1],
            range(16),
        ))  # fmt: skip

    assert sorted(a["outcome"] for a in answers) == ["duplicate"] * 15 + ["stored"]
    assert len({a["id"] for a in answers}) == 1


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": 1', b"\xff\xfe", b"not json"])
def test_what_is_not_json_is_refused_kept_and_counted(daemon, body):
    status, answer = daemon.event("claude-code", "Stop", body)

    assert status == 400
    assert "not JSON" in answer["error"]["message"]
    counts = daemon.status()["capture"]["claude-code"]
    assert counts["rejected"] == 1 and any("not JSON" in reason for reason in counts["reasons"])
    assert (daemon.data.rejects / "rejects.jsonl").exists()


def test_a_request_that_names_nothing_is_refused_in_a_plain_sentence(daemon):
    status, answer = daemon.event("", "", {})

    assert status == 400
    assert "names no harness or no event" in answer["error"]["message"]


@pytest.mark.parametrize("query", [{"at": "soon"}, {"pid": "x"}, {"reply": "maybe"}, {"at": "9" * 30}])
def test_parameters_that_make_no_sense_are_named(daemon, query):
    status, _, body = daemon.request(
        "POST", "/hook?harness=generic&event=note&" + "&".join(f"{k}={v}" for k, v in query.items()), b"{}"
    )

    assert status == 400
    assert next(iter(query)) in json.loads(body)["error"]["message"]


def test_more_than_ten_mebibytes_are_refused(daemon):
    body = json.dumps({"prompt": "x" * (10 << 20)}).encode()

    status, answer = daemon.event("generic", "prompt", body)

    assert status == 413
    assert "limit" in answer["error"]["message"]


def test_ten_mebibytes_are_taken_and_capped_while_others_are_answered(daemon):
    body = json.dumps({"session_id": "big", "tool": "Bash", "output": "line of output\n" * 640_000}).encode()
    assert len(body) < 10 << 20

    status, answer = daemon.event("generic", "post-tool", body)

    assert (status, answer["outcome"]) == (202, "stored")
    (line,) = daemon.lines("observation")
    assert len(line["data"]["output"].encode()) <= 4096


@pytest.mark.parametrize(
    "payload", [{}, {"cwd": None, "session_id": None}, {"prompt": None, "timestamp": None}, [], 42, "text"]
)
def test_events_without_directory_session_or_time_land_in_unfiled_and_are_found(daemon, payload):
    status, _ = daemon.event("some-agent", "SomethingNew", payload)

    assert status == 202
    (line,) = daemon.lines("observation")
    assert line["data"]["project"] == "_unfiled"
    assert line["data"]["kind"] == "other"
    recent = daemon.get("/api/v1/recent", project="_unfiled", kind="observation", after=1)
    assert len(recent["items"]) == 1


def test_a_tool_event_of_an_unknown_session_starts_one_that_is_seen_everywhere(daemon, tmp_path):
    where = repository(tmp_path / "shop")
    daemon.event("claude-code", "PostToolUse", {
        "session_id": "never-started", "cwd": str(where), "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "make marmalade"}, "tool_response": {"stdout": "", "stderr": ""},
    })  # fmt: skip

    daemon.search("marmalade")
    items = daemon.get("/api/v1/recent", cwd=str(where))["items"]
    assert [item["kind"] for item in items] == ["live session"]


@pytest.mark.promise("P4.11")
def test_a_secret_through_every_entrance_reaches_no_byte_of_the_disk(daemon, tmp_path):
    where = repository(tmp_path / "shop")
    base = {"session_id": "s1", "cwd": str(where)}
    daemon.hook(
        "claude-code", "UserPromptSubmit", {**base, "prompt": f"use {CANARY} please", "prompt_id": CANARY}, where
    )
    daemon.hook("claude-code", "PostToolUse", {
        **base, "tool_name": "Bash", "tool_input": {"command": f"curl -H 'Authorization: Bearer {CANARY}' x"},
        "tool_response": {"stdout": f"export TOKEN={CANARY}", "stderr": ""}, "tool_use_id": "t1", CANARY: CANARY,
    }, where)  # fmt: skip
    daemon.event("claude-code", "Stop", b'{"a": "' + CANARY.encode())
    daemon.event(CANARY, CANARY, {}, cwd=f"/tmp/{CANARY}", session_id=CANARY)
    daemon.post("/api/v1/page", {"title": f"About {CANARY}", "body": f"It is {CANARY}", "project": "shop"})
    daemon.event("claude-code", "SessionEnd", {**base, "reason": "other"})
    daemon.wait(daemon.pages, "the session's page")
    daemon.search(CANARY)
    daemon.cli("down")
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": f"again {CANARY}"}, where)
    daemon.wait(lambda: list(daemon.data.spool.glob("[!.]*.json")), "the spooled event")

    assert CANARY.encode() not in all_bytes(daemon.data.root)


@pytest.mark.promise("P9.1")
def test_a_whole_session_leaves_no_trace_in_the_users_repository(daemon, tmp_path):
    where = repository(tmp_path / "shop")
    os.utime(where / "README.md", (1, 1))  # a git that may take locks would write its index anew when it looks

    def trace():
        return {
            p.relative_to(where): (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else None)
            for p in where.rglob("*")
        }

    before = trace()
    base = {"session_id": "s1", "cwd": str(where)}
    daemon.hook("claude-code", "SessionStart", {**base, "source": "startup"}, where)
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "hello"}, where)
    daemon.hook("claude-code", "SessionEnd", base, where)
    daemon.wait(daemon.pages, "the session's page")

    assert trace() == before
    assert git(where, "status", "--porcelain") == ""


def test_fifty_events_at_a_first_start_are_all_kept(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    daemon = Daemon(tmp_path)
    try:
        daemon.start()
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(
                lambda n: daemon.event("generic", "note", {"session_id": f"s{n % 5}", "text": f"note {n}", "cwd": f"/w/p{n % 7}"}, at=10**18 + n * 10**10, pid=n)[1]["outcome"],
                range(50),
            ))  # fmt: skip
        assert answers == ["stored"] * 50
        assert len(daemon.lines("observation")) == 50
    finally:
        daemon.close()


def test_rules_of_a_repository_keep_events_out(daemon, tmp_path):
    where = repository(tmp_path / "secretive")
    (where / ".aimemory.toml").write_text('[capture]\nmode = "off"\n')

    status, answer = daemon.event("claude-code", "UserPromptSubmit", prompt(cwd=str(where)))

    assert (status, answer["outcome"]) == (200, "dropped")
    assert answer["reason"]
    assert daemon.lines("observation") == []
    assert daemon.status()["capture"]["claude-code"]["dropped"] == 1


def test_metadata_mode_keeps_that_something_happened_and_no_text(daemon, tmp_path):
    where = repository(tmp_path / "careful")
    (where / ".aimemory.toml").write_text('[capture]\nmode = "metadata"\n')

    daemon.event("claude-code", "UserPromptSubmit", prompt("the merger with Initech", cwd=str(where)))

    (line,) = daemon.lines("observation")
    assert line["data"]["kind"] == "prompt"
    assert b"Initech" not in all_bytes(daemon.data.root)


def test_an_agent_that_runs_in_our_own_data_directory_is_not_recorded(daemon):
    status, answer = daemon.event("claude-code", "UserPromptSubmit", prompt(cwd=str(daemon.data.wiki)))

    assert (status, answer["outcome"]) == (200, "dropped")
    assert "aimemory itself" in answer["reason"]
    assert daemon.lines("observation") == []
