"""A session page through the real daemon: hooks and the harness's own transcript together."""

from pathlib import Path

from living import repository
from transcripts import SESSION, CodexLines

CANARY = "ghp_" + "Zq8R" * 9


def recorded(home: Path, work: Path) -> tuple[CodexLines, Path]:
    lines = CodexLines(cwd=str(work))
    lines.head()
    lines.prompt("Fix the login")
    lines.call("c1", "make lint")
    lines.result("c1", f"no such rule {CANARY}", 2)
    lines.answer("Lint is broken.")
    return lines, lines.save(lines.place(home))


def observed(daemon, work: Path, path: Path) -> str:
    base = {"session_id": SESSION, "cwd": str(work), "transcript_path": str(path)}
    call = {**base, "tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "make lint"}}
    for event, payload in (
        ("SessionStart", {**base, "source": "startup"}),
        ("UserPromptSubmit", {**base, "prompt": "Fix the login"}),
        ("PreToolUse", call),
        ("PostToolUse", {**call, "tool_response": "no such rule"}),
        ("Stop", {**base, "last_assistant_message": "Lint is broken."}),
        ("SessionEnd", {**base, "reason": "other"}),
    ):
        assert daemon.event("codex", event, payload)[0] == 202
    (page,) = daemon.wait(daemon.pages, "a page")
    daemon.wait(lambda: daemon.lines("done"), "the closing is done")
    return page.read_text()


def test_the_page_has_the_exit_code_that_codexs_hooks_leave_out(daemon, tmp_path):
    work = repository(tmp_path / "work")
    _, path = recorded(daemon.home, work)

    page = observed(daemon, work, path)

    assert "- Failed when last run: `make lint`, exit code 2 (transcript)" in page
    assert "- Transcript: read, gave 1 outcome of calls, tokens" in page
    assert CANARY not in page


def test_a_path_that_leads_elsewhere_is_not_read_and_the_page_is_written(daemon, tmp_path):
    work = repository(tmp_path / "work")
    lines, _ = recorded(daemon.home, work)
    elsewhere = lines.save(tmp_path / "elsewhere.jsonl")

    page = observed(daemon, work, elsewhere)

    assert "`make lint`: outcome not reported; printed `no such rule`" in page
    assert "- Transcript: not read: its path is not below a folder in which codex keeps transcripts" in page
