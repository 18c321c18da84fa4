"""Every recorded scenario of the real agents through the real launcher, client and daemon."""

import json
from collections import Counter

import pytest
from living import all_bytes, git, repository
from recordings import moved, scenarios

from aimemory.harness.registry import load_registry

pytestmark = pytest.mark.alone

ALL = [(harness, name) for harness in ("claude-code", "codex") for name in scenarios(harness)]


def replay(daemon, harness, name, cwd):
    """Send a scenario; returns what each hook printed."""
    printed = []
    for row in scenarios(harness)[name]:
        done = daemon.hook(harness, row["event"], moved(row["payload"], cwd), cwd)
        assert done.returncode == 0 and done.stderr == b""
        printed.append((row["event"], done.stdout))
    return printed


@pytest.mark.parametrize("harness, name", ALL)
def test_every_event_of_a_scenario_is_stored_once_and_nothing_is_injected_into_the_first_session(
    daemon, tmp_path, harness, name
):
    where = repository(tmp_path / "project")
    events = scenarios(harness)[name]

    printed = replay(daemon, harness, name, where)

    assert all(out == b"" for _, out in printed[:1])
    daemon.wait(lambda: len(daemon.lines("observation")) >= len(events), "all are stored")
    stored = Counter(line["data"]["event"] for line in daemon.lines("observation"))
    assert stored == Counter(row["event"] for row in events)
    spec = load_registry().get(harness)
    assert all(
        line["data"]["kind"] == "other" or spec.row(line["data"]["event"]).kind for line in daemon.lines("observation")
    )
    assert {line["data"]["project"] for line in daemon.lines("observation")} != {"_unfiled"}


def additional_context(out):
    answer = json.loads(out)
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    return answer["hookSpecificOutput"]["additionalContext"]


def codex_start(daemon, where, session="c1"):
    start = {"session_id": session, "cwd": str(where), "hook_event_name": "SessionStart", "source": "startup"}
    return daemon.hook("codex", "SessionStart", start, where).stdout


def test_codex_starts_with_what_claude_code_did_in_the_same_directory(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)
    (where / "draft.txt").write_text("not committed")

    brief = additional_context(codex_start(daemon, where))

    assert len(brief) <= 6000
    goal = next(
        r["payload"]["prompt"] for r in scenarios("claude-code")["tool-failure"] if r["event"] == "UserPromptSubmit"
    )
    assert goal.split("[[")[0].strip()[:20] in brief
    assert "ls /nonexistent-dir" in brief and "exit code 2" in brief
    assert "main" in brief and git(where, "rev-parse", "--short", "HEAD").strip()[:7] in brief
    assert "draft.txt" in brief
    assert brief.startswith("<aimemory-") and brief.rstrip().endswith(">")


def test_the_changed_files_of_the_last_session_are_named(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "first-run", where)

    assert "notes.md" in additional_context(codex_start(daemon, where))


def test_aimemory_brief_prints_the_same_text(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)
    daemon.wait(daemon.pages, "the session's page")

    told = additional_context(codex_start(daemon, where))
    printed = daemon.cli("brief", cwd=where).stdout

    assert printed.splitlines()[1:-1] == told.splitlines()[1:-1]


def test_a_session_is_given_its_brief_once(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)
    assert codex_start(daemon, where)

    again = codex_start(daemon, where)
    prompt = daemon.hook("codex", "UserPromptSubmit", {"session_id": "c1", "cwd": str(where), "prompt": "go on"}, where)

    assert again == b"" and prompt.stdout == b""
    assert daemon.status()["capture"]["codex"]["brief_given"] == 1


def test_a_compacted_session_is_given_its_brief_again(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)
    codex_start(daemon, where)

    compact = {"session_id": "c1", "cwd": str(where), "hook_event_name": "SessionStart", "source": "compact"}

    assert additional_context(daemon.hook("codex", "SessionStart", compact, where).stdout)


def test_a_session_that_never_reported_a_start_gets_its_brief_at_its_first_prompt(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)

    first = daemon.hook("codex", "UserPromptSubmit", {"session_id": "c9", "cwd": str(where), "prompt": "go on"}, where)
    second = daemon.hook(
        "codex", "UserPromptSubmit", {"session_id": "c9", "cwd": str(where), "prompt": "and on"}, where
    )

    assert json.loads(first.stdout)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert second.stdout == b""


def stopped(daemon):
    return [line for line in daemon.lines("observation") if line["data"]["event"] == "Stop"]


def queue_of(daemon, task):
    return next(one["queue"] for one in daemon.status()["tasks"] if one["name"] == task)


def test_what_was_injected_is_not_captured_again(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "tool-failure", where)
    brief = additional_context(codex_start(daemon, where))
    before = len(all_bytes(daemon.data.journal))
    stops = len(stopped(daemon))

    for part in (brief, brief[: len(brief) // 2], f"before {brief} after"):
        daemon.hook("codex", "Stop", {"session_id": "c1", "cwd": str(where), "last_assistant_message": part}, where)

    daemon.wait(lambda: len(stopped(daemon)) == stops + 3, "all three are stored")
    texts = [line["data"].get("message", "") for line in stopped(daemon)]
    assert not any("ls /nonexistent-dir" in text for text in texts if "Goal" in text or "aimemory-" in text)
    assert not any("<aimemory-" in text for text in texts)
    assert len(all_bytes(daemon.data.journal)) - before < 6000


def test_one_page_per_closed_session_is_written_and_found(daemon, tmp_path):
    where = repository(tmp_path / "project")
    replay(daemon, "claude-code", "first-run", where)
    ended = {r["payload"]["session_id"] for r in scenarios("claude-code")["first-run"] if r["event"] == "SessionEnd"}

    daemon.wait(lambda: len(daemon.pages()) == len(ended), "a page for each session that ended")
    texts = [page.read_text() for page in daemon.pages()]

    assert all(text.startswith("---\ntype: session\n") for text in texts)
    assert sum("notes.md" in text for text in texts) == 1
    assert any(hit["kind"] == "session" for hit in daemon.search("greeting"))


def test_an_end_that_comes_three_times_writes_one_page(daemon, tmp_path):
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the seeds"}, where)
    for reason in ("other", "other", "logout"):
        daemon.hook("claude-code", "SessionEnd", {**base, "reason": reason}, where)

    daemon.wait(daemon.pages, "a page")
    daemon.wait(lambda: len(daemon.lines("done")) >= 1 and queue_of(daemon, "closer") == 0, "all closings are done")
    assert len(daemon.pages()) == 1


def test_a_page_that_a_person_edited_is_kept_and_only_added_to(daemon, tmp_path):
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    page = daemon.closed_session(base, where)
    mine = page.read_text() + "\nMy own remark: the beans go first.\n"
    page.write_text(mine)

    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "now the beans"}, where)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)

    daemon.wait(lambda: "now the beans" in page.read_text(), "the addition")
    assert page.read_text().startswith(mine.rstrip())
    assert len(daemon.pages()) == 1


def test_a_page_that_a_person_deleted_is_not_made_again(daemon, tmp_path):
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    page = daemon.closed_session(base, where)
    page.unlink()

    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "now the beans"}, where)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)

    daemon.wait(lambda: len(daemon.lines("done")) >= 2, "the second closing is done")
    assert daemon.pages() == []
