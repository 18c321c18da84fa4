"""The baton: written, offered, taken once, given back or done; seen from two agents and from the command line."""

import json
import shutil
import time

import pytest
from acting import Agent, closed, handed_over, handoffs, in_state
from living import Daemon, git, repository

from aimemory.journal.lines import encode, encode_data

pytestmark = pytest.mark.alone


@pytest.fixture
def app(tmp_path):
    return repository(tmp_path / "home" / "app")


def handoff_pages(daemon):
    return daemon.pages("*/*/handoffs/**/*.md")


def test_what_a_killed_session_did_is_offered_to_the_next_agent_and_becomes_its_own_with_its_first_tool_call(
    daemon, app
):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files")
    codex = Agent(daemon, "codex", "x1", app)

    brief = codex.start()

    (offered,) = handoffs(daemon, app)
    assert f"Handoff {offered['id']} is offered to you" in brief and "not closed" in brief
    assert "Fix the parser for empty files" in brief and "parser.py" in brief and "test_parser.py::test_empty" in brief
    assert offered["page"] is None and offered["state"] == "open" and not handoff_pages(daemon)

    codex.prompt("go on")
    codex.runs("ls")

    (claimed,) = in_state(daemon, app, "claimed")
    assert claimed["id"] == offered["id"] and claimed["claimed_by_harness"] == "codex"
    (page,) = daemon.wait(lambda: handoff_pages(daemon), "its page is written when it is taken")
    text = page.read_text()
    assert "status: open" in text and "not closed, last event" in text and "test_parser.py::test_empty" in text


def test_who_used_the_baton_hands_on_and_the_chain_says_so(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files")
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("go on")
    codex.runs("make")
    in_state(daemon, app, "claimed")
    codex.stops("The parser is fixed.")
    codex.ends()

    (done,) = in_state(daemon, app, "done")
    (following,) = in_state(daemon, app, "open")
    assert following["continues"] == done["id"] and following["title"] == "Fix the parser for empty files"
    page = next(page for page in handoff_pages(daemon) if done["id"][:6] in page.name)
    daemon.wait(lambda: "status: done" in page.read_text(), "the page's status follows")

    third = Agent(daemon, "claude-code", "c2", app).start()
    assert f"Handoff {following['id']} is offered to you" in third
    assert f"It continues handoff {done['id']}" in third


@pytest.mark.promise("P7.4")
def test_who_did_not_use_it_gives_it_back_and_leaves_none_of_its_own(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("what is this about?")
    codex.stops("It is about the parser.")
    (claimed,) = in_state(daemon, app, "claimed")
    codex.ends()
    closed(daemon)

    (again,) = handoffs(daemon, app)
    assert again["id"] == claimed["id"] and again["state"] == "open" and again["claimed_by"] is None
    why = daemon.get("/api/v1/why", cwd=str(app), about=claimed["claimed_by"])["steps"]
    assert any("gave it back" in step["said"] for step in why)
    assert f"Handoff {claimed['id']} is offered to you" in Agent(daemon, "codex", "x2", app).start()


@pytest.mark.promise("P7.3")
def test_starting_asking_and_a_sub_agent_take_nothing(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    reader = Agent(daemon, "claude-code", "c2", app)
    reader.start()
    reader.prompt("hello")
    reader.send("PostToolUse", {
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t-sub", "tool_response": {"stdout": ""},
        "agent_id": "a1", "agent_type": "Explore",
    })  # fmt: skip
    reader.send("StopFailure", {"error": "rate_limit"})

    assert [h["state"] for h in handoffs(daemon, app)] == ["open"]
    assert not [line for line in daemon.lines("handoff") if line["data"]["op"] == "claim"]


@pytest.mark.promise("P7.5")
def test_of_two_that_hold_an_offer_the_first_to_work_has_it_and_the_other_reads_so_once(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    first, second = Agent(daemon, "codex", "x1", app), Agent(daemon, "claude-code", "c2", app)
    briefs = [first.start(), second.start()]
    assert all("is offered to you" in brief for brief in briefs)
    first.prompt("go on")
    first.runs("make")
    (claimed,) = in_state(daemon, app, "claimed")

    told = second.prompt("go on")
    again = second.prompt("and now?")

    assert f"Handoff {claimed['id']}, which you were offered, was taken by codex" in told
    assert again == ""
    second.runs("ls")
    second.stops()
    assert [line["data"]["op"] for line in daemon.lines("handoff")].count("claim") == 1


@pytest.mark.promise("P7.1")
def test_many_claims_in_one_instant_end_with_one_owner(daemon, app):
    from concurrent.futures import ThreadPoolExecutor

    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    agents = [Agent(daemon, "codex", f"x{n}", app) for n in range(8)]
    for agent in agents:
        assert "is offered to you" in agent.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda agent: agent.runs("make"), agents))

    (claimed,) = in_state(daemon, app, "claimed")
    assert len([line for line in daemon.lines("handoff") if line["data"]["op"] == "claim"]) == 1
    assert claimed["claimed_by"]


@pytest.mark.parametrize("quiet", [1])
def test_a_live_session_is_named_and_its_work_is_offered_at_the_first_prompt_after_it_fell_quiet(tmp_path, quiet):
    daemon = Daemon(tmp_path, handoff_quiet_seconds=quiet).start()
    try:
        app = repository(tmp_path / "home" / "app")
        codex = Agent(daemon, "codex", "x1", app)
        codex.start()
        codex.prompt("Add a PDF export")
        codex.runs("make test")
        last = time.time()
        claude = Agent(daemon, "claude-code", "c1", app)

        brief = claude.start()
        early = claude.prompt("what is going on?") if time.time() - last < quiet / 2 else ""

        assert "At work here too" in brief and "Add a PDF export" in brief and "is offered to you" not in brief
        assert early == ""
        daemon.wait(lambda: time.time() - last > quiet, "the session fell quiet")
        later = claude.prompt("go on")
        assert "is offered to you" in later and "its session is not closed" in later and "Add a PDF export" in later
        assert claude.prompt("go on") == ""
        claude.edits("pdf.py")
        (claimed,) = in_state(daemon, app, "claimed")
        assert claimed["claimed_by_harness"] == "claude-code"
    finally:
        daemon.close()


def test_a_session_that_goes_on_after_its_work_was_taken_leaves_the_next_handoff(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.runs("make")
    (claimed,) = in_state(daemon, app, "claimed")

    back = Agent(daemon, "claude-code", "c1", app)
    back.prompt("now the docs")
    back.edits("docs.md")
    back.ends()
    closed(daemon)

    found = {h["id"]: h for h in handoffs(daemon, app)}
    assert found.pop(claimed["id"])["state"] == "claimed"
    (following,) = found.values()
    assert following["state"] == "open" and following["continues"] == claimed["id"]


def test_three_sessions_that_end_at_once_leave_three_handoffs_and_the_reader_sees_all(daemon, app):
    for name in ("one", "two", "three"):
        Agent(daemon, "claude-code", name, app).works(f"Work on part {name} of the parser")
    for name in ("one", "two", "three"):
        Agent(daemon, "claude-code", name, app).ends()
    closed(daemon, 3)

    assert len(handoffs(daemon, app, state="open")) == 3 == len(handoff_pages(daemon))
    brief = Agent(daemon, "codex", "x1", app).start()
    assert all(f"Work on part {name}" in brief for name in ("one", "two", "three"))
    assert brief.count("is offered to you") == 1 and "Other open handoffs" in brief


@pytest.mark.promise("P7.6")
def test_a_session_that_did_nothing_leaves_none_and_why_says_so(daemon, app):
    idle = Agent(daemon, "claude-code", "c1", app)
    idle.start()
    idle.prompt("hello")
    idle.ends()
    closed(daemon)

    assert handoffs(daemon, app) == [] and handoff_pages(daemon) == []
    (step,) = daemon.get("/api/v1/why", cwd=str(app))["steps"]
    assert "it did nothing" in step["said"]


def test_a_question_creates_nothing(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    before = len(daemon.lines())

    for arguments in (["handoffs"], ["why"], ["trail"], ["sessions"], ["brief"]):
        done = daemon.cli(*arguments, cwd=app)
        assert done.returncode == 0, done.stderr

    assert len(daemon.lines()) == before and handoff_pages(daemon) == []


def test_a_handoff_by_hand_comes_first_and_only_to_whom_it_is_for(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("The automatic one")
    made = daemon.cli(
        "handoff", "begin", "--summary", "The release is half done.", "--next", "Run make release.", "--to", "codex",
        "--title", "Release 2.0", "--json", cwd=app,
    )  # fmt: skip
    by_hand = json.loads(made.stdout)

    other = Agent(daemon, "claude-code", "c2", app).start()
    meant = Agent(daemon, "codex", "x1", app).start()

    assert f"Handoff {by_hand['id']} is offered" not in other and "The automatic one" in other
    assert f"Handoff {by_hand['id']} is offered to you" in meant
    assert "The release is half done." in meant and "Run make release." in meant and "written by hand" in meant


def test_what_is_handed_over_by_hand_continues_what_its_session_had_taken(daemon, app):
    """Like every handoff of a session that holds one: whoever takes it at once must see where it comes from."""
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files")
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("go on")
    codex.runs("make")
    (taken,) = in_state(daemon, app, "claimed")

    begun = daemon.post(
        "/api/v1/handoffs/begin", {"summary": "Half done.", "cwd": str(app), "harness": "codex", "session": "x1"}
    )

    assert begun["continues"] == taken["id"]


def test_what_is_handed_over_by_hand_takes_the_place_of_what_was_written_by_itself(daemon, app):
    agent = Agent(daemon, "codex", "x1", app)
    agent.works("Fix the parser for empty files")
    agent.send("PreCompact", {"trigger": "auto"})
    automatic = handed_over(daemon, app)

    begun = daemon.post(
        "/api/v1/handoffs/begin", {"summary": "Half done.", "cwd": str(app), "harness": "codex", "session": "x1"}
    )

    assert [one["id"] for one in handoffs(daemon, app, state="open")] == [begun["id"]] != [automatic["id"]]
    (cancelled,) = in_state(daemon, app, "cancelled")
    assert cancelled["id"] == automatic["id"]
    assert "status: cancelled" in (daemon.data.wiki / cancelled["page"]).read_text()


def test_beginning_twice_rewrites_and_a_session_without_work_has_nothing_to_hand_over(daemon, app):
    worker = Agent(daemon, "claude-code", "c1", app).works()
    caller = {"cwd": str(app), "harness": "claude-code", "session": worker.session}
    first = daemon.post("/api/v1/handoffs/begin", {"summary": "Half done.", **caller})
    second = daemon.post("/api/v1/handoffs/begin", {"summary": "Nearly done.", **caller})
    idle = Agent(daemon, "codex", "x9", app)
    idle.start()
    status, _, body = daemon.request(
        "POST", "/api/v1/handoffs/begin", {"summary": "x", "cwd": str(app), "harness": "codex", "session": "x9"}
    )

    assert first["id"] == second["id"] and first["page"] == second["page"]
    text = (daemon.data.wiki / second["page"]).read_text()
    assert "Nearly done." in text and "Half done." not in text
    assert status == 400 and b"Nothing was done" in body
    assert len(handoffs(daemon, app)) == 1


def test_cancelled_is_offered_to_nobody_and_its_page_says_so(daemon, app):
    Agent(daemon, "claude-code", "c1", app).works().ends()
    made = handed_over(daemon, app)
    done = daemon.cli("handoff", "cancel", made["id"][:6], "--reason", "not needed", cwd=app)

    assert done.returncode == 0, done.stderr
    assert "status: cancelled" in (daemon.data.wiki / made["page"]).read_text()
    assert "is offered to you" not in Agent(daemon, "codex", "x1", app).start()
    again = daemon.cli("handoff", "cancel", made["id"], cwd=app)
    assert again.returncode == 3 and "is cancelled since" in again.stderr


def test_a_person_takes_and_gives_back(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    (open_one,) = handoffs(daemon, app)
    taken = daemon.cli("handoff", "claim", open_one["id"], cwd=app)

    assert taken.returncode == 0 and "Fix the parser" in taken.stdout
    assert "is offered to you" not in Agent(daemon, "codex", "x1", app).start()
    assert daemon.cli("handoff", "release", open_one["id"], cwd=app).returncode == 0
    assert "is offered to you" in Agent(daemon, "codex", "x2", app).start()


def test_before_a_compaction_the_page_is_written_but_not_offered_and_the_session_reads_its_own_state_after(daemon, app):
    worker = Agent(daemon, "claude-code", "c1", app).works("Fix the parser for empty files")
    worker.send("PreCompact", {"trigger": "auto"})
    (page,) = daemon.wait(lambda: handoff_pages(daemon), "the page is written before the compaction")

    assert "about to be compacted" in page.read_text()
    assert "is offered to you" not in Agent(daemon, "codex", "x1", app).start()
    after = worker.start("compact")
    assert "This session before its context was compacted" in after and "Fix the parser for empty files" in after
    assert not daemon.pages()  # no session page: it goes on
    worker.ends()
    closed(daemon)
    assert len(handoff_pages(daemon)) == 1 and "ended" in page.read_text()


def test_at_a_limit_the_page_is_written_at_once(daemon, app):
    worker = Agent(daemon, "claude-code", "c1", app).works()
    worker.send("StopFailure", {"error": "rate_limit", "error_details": "limit reached"})

    (page,) = daemon.wait(lambda: handoff_pages(daemon), "the page is written at the limit")
    assert "ended with an error" in page.read_text()


def test_a_page_that_a_person_edited_is_only_added_to_and_one_he_deleted_is_not_made_again(daemon, app):
    worker = Agent(daemon, "claude-code", "c1", app).works()
    worker.ends()
    made = handed_over(daemon, app)
    page = daemon.data.wiki / made["page"]
    mine = page.read_text() + "\nMy own remark.\n"
    page.write_text(mine)
    worker.prompt("now the docs")
    worker.edits("docs.md")
    worker.ends()
    closed(daemon, 2)

    assert (
        page.read_text().startswith(mine.rstrip()) and "## Later" in page.read_text() and "docs.md" in page.read_text()
    )
    page.unlink()
    worker.prompt("and the changelog")
    worker.edits("CHANGELOG.md")
    worker.ends()
    closed(daemon, 3)
    assert not page.exists()
    assert "is offered to you" not in Agent(daemon, "codex", "x1", app).start()


def test_a_status_that_a_person_wrote_is_a_command(daemon, app):
    Agent(daemon, "claude-code", "c1", app).works().ends()
    made = handed_over(daemon, app)
    page = daemon.data.wiki / made["page"]
    page.write_text(page.read_text().replace("status: open", "status: done"))
    daemon.post("/api/v1/page", {"title": "Any", "body": "A write takes in what changed outside.", "cwd": str(app)})

    (done,) = in_state(daemon, app, "done")
    assert done["id"] == made["id"]


@pytest.mark.promise("P7.7")
def test_a_rebuilt_index_knows_the_same_handoffs(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.runs("make")
    in_state(daemon, app, "claimed")
    codex.ends()
    closed(daemon)
    Agent(daemon, "claude-code", "c2", app, ago_s=60).works("Another thing")
    Agent(daemon, "codex", "x2", app).start()
    before = handoffs(daemon, app)

    daemon.stop()
    daemon.data.index.unlink()
    daemon.start()
    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is rebuilt")

    assert handoffs(daemon, app) == before and {h["state"] for h in before} == {"open", "done"}
    assert "Another thing" in Agent(daemon, "codex", "x3", app).start()


@pytest.mark.promise("P7.2")
def test_a_claim_that_a_kill_interrupted_is_finished_at_the_next_start(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    codex = Agent(daemon, "codex", "x1", app)
    assert "is offered to you" in codex.start()
    daemon.wait(lambda: daemon.lines("brief"), "that it was told is on disk")
    daemon.kill()
    # The event reached the spool only: the agent goes on while nobody listens.
    daemon.data.down_marker.touch()
    daemon.hook("codex", "PreToolUse", {
        "session_id": "x1", "cwd": str(app), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "make"}, "tool_use_id": "t-late",
    }, app)  # fmt: skip
    daemon.wait(lambda: any(daemon.data.spool.glob("[!.]*.json")), "the event is spooled")
    daemon.data.down_marker.unlink()
    daemon.start()

    (claimed,) = in_state(daemon, app, "claimed")
    assert claimed["claimed_by_harness"] == "codex"
    daemon.wait(lambda: handoff_pages(daemon), "its page is written")


@pytest.mark.promise("P7.2")
def test_a_claim_that_a_kill_cut_off_behind_its_event_is_made_at_the_next_start(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    assert "is offered to you" in Agent(daemon, "codex", "x1", app).start()
    daemon.wait(lambda: daemon.lines("brief"), "that it was told is on disk")
    daemon.kill()
    start = next(x["data"] for x in daemon.lines("observation") if x["data"]["native_session"] == "x1")
    call = {
        "id": "t-late",
        "key": "a" * 32,
        "event": "PreToolUse",
        "kind": "pre-tool",
        "tool": "Bash",
        "command": "make",
    }
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    with segment.open("ab") as file:  # stored, and nothing came of it yet
        seq = daemon.lines()[-1]["seq"] + 1
        file.write(encode(seq, "observation", time.time_ns(), encode_data({**start, **call})))
    daemon.start()

    claimed = daemon.wait(lambda: in_state(daemon, app, "claimed"), "it is taken")
    assert [one["claimed_by_harness"] for one in claimed] == ["codex"]


def test_the_brief_is_the_same_bytes_while_nothing_changed_and_comes_once(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    codex = Agent(daemon, "codex", "x1", app)
    first = codex.start()

    assert first and codex.start("startup") == ""
    assert [codex.prompt(f"request {n}") for n in range(20)] == [""] * 20
    seq = daemon.status()["journal"]["last_seq"]
    asked = [daemon.get("/api/v1/brief", cwd=str(app), after=seq)["text"] for _ in range(2)]
    assert asked[0] == asked[1] != ""


def test_two_worktrees_are_told_apart(daemon, app, tmp_path):
    other = tmp_path / "home" / "app-wt"
    git(app, "worktree", "add", "-q", "-b", "topic", str(other))
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Work in the main checkout")
    brief = Agent(daemon, "codex", "x1", other).start()

    assert f"in `{app}`" in brief


def test_a_work_tree_that_was_deleted_by_hand_keeps_its_work_and_fills_no_log(daemon, app, tmp_path):
    """GIT-05: git still has it registered, sessions go on in its name, and its handoff is offered elsewhere."""
    other = tmp_path / "home" / "app-wt"
    git(app, "worktree", "add", "-q", "-b", "topic", str(other))
    Agent(daemon, "claude-code", "c1", other, ago_s=60).works("Fix the parser for empty files")
    shutil.rmtree(other)
    logged = daemon.data.log_file.stat().st_size

    for number in range(5):
        late = Agent(daemon, "codex", f"gone{number}", other)
        late.start()
        late.ends()
    brief = Agent(daemon, "codex", "x1", app).start()

    assert "Fix the parser for empty files" in brief and "is offered to you" in brief
    assert {handoff["project"] for handoff in handoffs(daemon, app)} == {"default/app"}
    assert git(app, "worktree", "list", "--porcelain").count("worktree ") == 2  # nothing of the user's was mended
    assert daemon.data.log_file.stat().st_size - logged < 2_000


@pytest.mark.promise("P7.8")
def test_an_end_that_comes_after_the_work_was_taken_hands_nothing_over_again(daemon, app):
    Agent(daemon, "codex", "x1", app, ago_s=60).works("Fix the parser for empty files")
    taker = Agent(daemon, "claude-code", "c1", app)
    taker.start()
    taker.runs("make")
    (claimed,) = in_state(daemon, app, "claimed")

    Agent(daemon, "codex", "x1", app, ago_s=0.001).ends()  # Codex's window reports its end a minute late
    closed(daemon)

    assert [(h["id"], h["state"]) for h in handoffs(daemon, app)] == [(claimed["id"], "claimed")]
    assert "is offered to you" not in Agent(daemon, "codex", "x2", app).start()


@pytest.mark.promise("P7.8")
@pytest.mark.parametrize("by_hand", [False, True])
def test_what_was_cancelled_does_not_come_back_when_its_session_is_only_opened_and_ended(daemon, app, by_hand):
    giver = Agent(daemon, "claude-code", "c1", app, ago_s=60).works()
    if by_hand:
        begun = {"cwd": str(app), "summary": "The parser is open.", "harness": "claude-code", "session": "c1"}
        daemon.post("/api/v1/handoffs/begin", begun)
    (cancelled,) = handoffs(daemon, app)
    daemon.post("/api/v1/handoffs/cancel", {"handoff": cancelled["id"], "cwd": str(app)})

    for count in (1, 2):
        giver = Agent(daemon, "claude-code", "c1", app)
        giver.start("resume")
        giver.ends()
        closed(daemon, count)

    assert [(h["id"], h["state"]) for h in handoffs(daemon, app)] == [(cancelled["id"], "cancelled")]


def test_who_gave_it_back_and_is_resumed_is_offered_it_again_and_takes_it_by_working(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files").ends()
    closed(daemon)
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("what is this about?")
    codex.stops("It is about the parser.")
    in_state(daemon, app, "claimed")
    codex.ends()
    closed(daemon, 2)
    (given_back,) = in_state(daemon, app, "open")

    again = codex.start("resume")
    codex.runs("make")

    assert f"Handoff {given_back['id']} is offered to you" in again
    (claimed,) = in_state(daemon, app, "claimed")
    assert claimed["id"] == given_back["id"]


@pytest.mark.parametrize("moved", ["default/app/handoffs/my own name.md", "default/app/later/one.md"])
def test_a_page_that_a_person_moved_keeps_its_handoff(daemon, app, moved):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works().ends()
    made = handed_over(daemon, app)
    target = daemon.data.wiki / moved
    target.parent.mkdir(exist_ok=True)
    (daemon.data.wiki / made["page"]).rename(target)
    now = daemon.get("/api/v1/why", cwd=str(app), about=made["id"])["steps"][-1]["said"]
    daemon.post("/api/v1/page", {"title": "Any", "body": "A write takes in what changed outside.", "cwd": str(app)})
    daemon.wait(lambda: handoffs(daemon, app)[0]["page"] == moved, "the move is seen")

    codex = Agent(daemon, "codex", "x1", app)
    brief = codex.start()
    codex.runs("make")
    codex.ends()

    assert "not offered, for its page is not where it was written" in now
    assert f"Handoff {made['id']} is offered to you" in brief and moved in brief
    in_state(daemon, app, "done")
    daemon.wait(lambda: "status: done" in target.read_text(), "the page's status follows")


def test_all_open_handoffs_are_listed(daemon, app):
    for number in range(25):
        daemon.post("/api/v1/handoffs/begin", {"cwd": str(app), "summary": f"Part {number} is open."})

    listed = handoffs(daemon, app, limit=200)

    assert len({one["id"] for one in listed}) == len(listed) == 25


def test_a_chain_of_sessions_that_nobody_closed_keeps_the_work_it_is_about(daemon, app):
    first = Agent(daemon, "claude-code", "c1", app, ago_s=90).works("Add a CSV export with a header row")
    first.prompt("keep the header row in German, and leave the customer table alone")
    second = Agent(daemon, "codex", "x1", app)
    assert "leave the customer table alone" in second.start()
    second.prompt("go on")
    second.runs("make csv")
    (taken,) = in_state(daemon, app, "claimed")
    daemon.settings["handoff_quiet_seconds"] = 1
    daemon.stop()
    daemon.start()
    last = time.time()
    daemon.wait(lambda: time.time() - last > 1, "the second one is quiet")

    third = Agent(daemon, "claude-code", "c2", app)
    brief = third.start()
    third.runs("ls")

    assert f"It continues handoff {taken['id']}: “Add a CSV export with a header row”" in brief

    def both_taken():
        return [h for h in handoffs(daemon, app) if h["state"] == "claimed" and h["page"] and h["continues"]]

    (following,) = daemon.wait(both_taken, "the second one's handoff is taken, with its page")
    assert following["continues"] == taken["id"] and following["title"] == "Add a CSV export with a header row"


def test_what_a_person_hands_over_is_told_as_his(daemon, app):
    daemon.cli("handoff", "begin", "--summary", "Half of the release is done.", "--title", "Release", cwd=app)

    brief = Agent(daemon, "codex", "x1", app).start()
    (page,) = handoff_pages(daemon)

    assert (
        "## Handoff: ada, by hand" in brief and "Its summary, written by hand: “Half of the release is done.”" in brief
    )
    assert "Written by hand (declared; not checked)" in page.read_text() and "harness:" not in page.read_text()
    why = daemon.cli("why", cwd=app).stdout
    assert "was offered to codex" in why and "was offered to codex" in daemon.cli("trail", cwd=app).stdout


def test_the_agents_own_list_and_the_wishes_in_between_are_told(daemon, app):
    worker = Agent(daemon, "claude-code", "c1", app, ago_s=60)
    worker.prompt("Add a discount")
    worker.prompt("never go below zero, and do not change the public API")
    worker._tool("TodoWrite", {"todos": [
        {"content": "Semicolon as separator", "status": "in_progress"}, {"content": "Write the docs", "status": "pending"},
        {"content": "Read the code", "status": "completed"},
    ]}, {})  # fmt: skip
    worker.prompt("ok")

    brief = Agent(daemon, "codex", "x1", app).start()

    assert "Asked in between: “never go below zero, and do not change the public API”" in brief
    assert "Open on its list: “Semicolon as separator” (in progress), “Write the docs”" in brief


def test_a_handoff_is_read_by_the_id_that_is_shown(daemon, app):
    Agent(daemon, "claude-code", "c1", app).works().ends()
    made = handed_over(daemon, app)

    assert daemon.cli("read", made["id"], cwd=app).returncode == 0
    assert "at least 4 characters" in daemon.cli("handoff", "claim", made["id"][:2], cwd=app).stderr
    assert "no session or handoff" in daemon.cli("why", "nope", cwd=app).stderr


@pytest.mark.promise("P7.10")
def test_what_only_its_sub_agents_did_is_use_of_the_handoff_and_is_handed_on(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files")
    reader = Agent(daemon, "claude-code", "c2", app)
    reader.start()
    reader.prompt("go on")
    written = {"tool_name": "Write", "tool_input": {"file_path": str(app / "lexer.py")}, "tool_response": {}}
    reader.send("PostToolUse", {**written, "tool_use_id": "t-sub", "agent_id": "a1", "agent_type": "general-purpose"})
    reader.send("PostToolUse", {
        "tool_name": "Task", "tool_input": {"prompt": "write the lexer"}, "tool_use_id": "t-task", "tool_response": {},
    })  # fmt: skip
    in_state(daemon, app, "claimed")
    reader.stops("The lexer is written.")
    reader.ends()

    (done,) = in_state(daemon, app, "done")
    (following,) = in_state(daemon, app, "open")
    assert following["continues"] == done["id"]
    assert "lexer.py" in (daemon.data.wiki / following["page"]).read_text()


def test_a_page_that_can_not_be_written_is_said_holds_up_no_other_claim_and_comes_later(daemon, app, tmp_path):
    other = repository(tmp_path / "home" / "other")
    for where in (app, other):
        Agent(daemon, "claude-code", f"c-{where.name}", where, ago_s=60).works(f"Fix the parser of {where.name}")
    codex, second = Agent(daemon, "codex", "x1", app), Agent(daemon, "codex", "x2", other)
    codex.start()
    second.start()
    in_the_way = daemon.data.wiki / "default/app/handoffs"
    in_the_way.write_text("no folder")

    codex.runs("make")
    in_state(daemon, app, "claimed")

    def batons():
        return next(task for task in daemon.status()["tasks"] if task["name"] == "batons")

    daemon.wait(lambda: batons()["error"] and "handoffs" in batons()["error"], "status says what failed")
    daemon.stop()
    daemon.start()
    second.runs("make")
    in_state(daemon, other, "claimed")
    daemon.stop()
    in_the_way.unlink()
    daemon.start()
    daemon.wait(lambda: daemon.pages("default/app/handoffs/**/*.md"), "the page is written")


@pytest.mark.promise("P7.4")
def test_a_kill_between_giving_back_and_closing_leaves_no_handoff_of_the_receiver(daemon, app):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files").ends()
    given = handed_over(daemon, app)
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("what is this about?")
    codex.stops("It is about the parser.")
    in_state(daemon, app, "claimed")
    closed(daemon)
    codex.ends()
    closed(daemon, 2)
    daemon.stop()
    segment = max(daemon.data.journal.rglob("*.jsonl"))
    raw = segment.read_bytes().splitlines(keepends=True)
    assert json.loads(raw[-1])["type"] == "done"
    segment.write_bytes(b"".join(raw[:-1]))  # as a kill right before the last line
    for path in daemon.data.index.parent.glob("index*"):
        path.unlink()
    daemon.start()
    closed(daemon, 2)

    assert [(h["id"], h["state"]) for h in handoffs(daemon, app)] == [(given["id"], "open")]


def test_many_handoffs_of_another_work_tree_or_for_others_hide_none(daemon, app, tmp_path):
    from living import git

    tree = tmp_path / "home" / "tree"
    git(app, "worktree", "add", "-q", "-b", "topic", str(tree))
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser for empty files").ends()
    own = handed_over(daemon, app)
    for number in range(25):
        daemon.post("/api/v1/handoffs/begin", {"cwd": str(app), "summary": f"For Bob {number}.", "to": "user:bob"})
        Agent(daemon, "claude-code", f"t{number}", tree, ago_s=50).works(f"Fix topic {number}").ends()
    closed(daemon, 26)

    assert f"Handoff {own['id']} is offered to you" in Agent(daemon, "codex", "x1", app).start()


def test_a_secret_as_the_name_of_a_harness_reaches_no_byte(daemon, app):
    from living import all_bytes

    secret = "ghp_" + "Zq8R" * 9
    daemon.post("/api/v1/handoffs/begin", {"cwd": str(app), "summary": "Half done.", "harness": secret})

    daemon.stop()
    assert secret.encode() not in all_bytes(daemon.data.root)


def test_a_handoff_by_hand_under_no_project_is_offered_in_its_directory_alone(daemon, tmp_path):
    here, there = tmp_path / "gone", tmp_path / "gone too"  # no directory, no project
    begun = daemon.post("/api/v1/handoffs/begin", {"cwd": str(here), "summary": "Half done."})

    assert "_unfiled" in begun["page"]
    assert f"Handoff {begun['id']} is offered to you" in Agent(daemon, "codex", "x1", here).start()
    assert begun["id"] not in Agent(daemon, "codex", "x2", there).start()


@pytest.mark.parametrize("command", ["handoffs", "sessions"])
def test_an_empty_name_means_all(daemon, app, command):
    Agent(daemon, "claude-code", "c1", app, ago_s=60).works()

    assert daemon.cli(command, "", cwd=app).stdout == daemon.cli(command, cwd=app).stdout != ""


def test_work_that_is_heard_of_after_it_was_taken_is_handed_over_too(daemon, app):
    """The giver's last events lay in the spool while another one took its work."""
    giver = Agent(daemon, "claude-code", "c1", app, ago_s=60).works("Fix the parser")
    codex = Agent(daemon, "codex", "x1", app)
    codex.start()
    codex.prompt("go on")
    codex.runs("make")
    (taken,) = daemon.wait(
        lambda: [h for h in handoffs(daemon, app) if h["state"] == "claimed" and h["page"]],
        "it is taken, with its page",
    )
    giver.edits("late.py")  # captured a minute ago, delivered now
    giver.ends()

    made = handed_over(daemon, app)
    assert made["id"] != taken["id"] and "late.py" in (daemon.data.wiki / made["page"]).read_text()
    assert made["session"] == taken["session"]
