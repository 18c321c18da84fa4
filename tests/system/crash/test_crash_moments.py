"""Two things in one moment: a session is closed while its project gets another name."""

import sys
import threading

import pytest
from living import Daemon, repository

SLOW = """
import asyncio, pathlib, sys
from aimemory.handoff.closing import Closer
step = getattr(Closer, {name!r})
async def slow(self, *given):
    pathlib.Path({reached!r}).touch()
    while not pathlib.Path({go_on!r}).exists():
        await asyncio.sleep(0.01)
    return await step(self, *given)
Closer.{name} = slow
from aimemory.__main__ import main
main()
"""
"""The program with one step of a closing that waits until it is told to go on."""


@pytest.mark.promise("P9.100")
@pytest.mark.parametrize("step", ["_git", "_target", "_write"])
def test_a_session_that_is_closed_while_its_project_is_renamed_has_its_page_in_the_new_folder(tmp_path, step):
    reached, go_on = tmp_path / "reached", tmp_path / "go-on"
    daemon = Daemon(tmp_path)
    daemon.program = [sys.executable, "-I", "-c", SLOW.format(name=step, reached=str(reached), go_on=str(go_on))]
    where = repository(tmp_path / "shop")
    try:
        daemon.start()
        base = {"session_id": "s", "cwd": str(where)}
        daemon.event("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the seeds"})
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"}
        daemon.event("claude-code", "PostToolUse", {**base, **call, "tool_response": {"stdout": "", "stderr": ""}})
        daemon.event("claude-code", "SessionEnd", base)
        daemon.wait(reached.exists, "the closing is under way")
        answers = []
        told = {"project": "default/shop", "name": "store", "apply": True}
        renaming = threading.Thread(target=lambda: answers.append(daemon.post("/api/v1/projects/rename", told)))
        renaming.start()
        if step == "_git":  # nothing is written yet, so the rename comes first
            renaming.join(60)
            assert answers
        go_on.touch()
        renaming.join(60)
        daemon.wait(lambda: daemon.lines("done"), "the session is closed")

        assert answers and not (daemon.data.wiki / "default" / "shop").exists()
        (page,), (handoff,) = daemon.pages("*/*/sessions/**/*.md"), daemon.pages("*/*/handoffs/**/*.md")
        for path in (page, handoff):
            assert path.relative_to(daemon.data.wiki).parts[1] == "store"
        daemon.search("seeds")
        (session,) = daemon.get("/api/v1/sessions", project="store")["sessions"]
        assert session["page"] == page.relative_to(daemon.data.wiki).as_posix()
        (open_one,) = daemon.get("/api/v1/handoffs", project="store")["handoffs"]
        assert open_one["page"] == handoff.relative_to(daemon.data.wiki).as_posix()
        daemon.stop()
        assert daemon.cli("verify").returncode == 0
    finally:
        go_on.touch()
        daemon.close()
