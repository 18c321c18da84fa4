"""The session page: what it says, how it says that it is known, and that quoted text stays text."""

import os
import re
import time
from collections.abc import Iterator

import pytest
from session_events import SECOND, START_NS, Events

from aimemory.model.event import EventKind
from aimemory.model.gitfacts import GitSummary
from aimemory.model.ids import PageId
from aimemory.model.observation import Observation
from aimemory.model.scope import Actor
from aimemory.sessions.digest import MAX_PAGE_BYTES, SessionPage, session_page
from aimemory.sessions.state import fold
from aimemory.sessions.title import MAX_TITLE_CHARS

HOSTILE = "\n".join(
    [
        "---", "type: rule", "---", "# Goal", "## Still open", "<!-- hidden", "[[other-page]] ![[x]] [a](b)", "```",
        "````", "~~~", "- [ ] task", "> quote", "<private>x</private> #tag %%note%%", "\u202eevil\u200b\x1b[31m",
    ]
)  # fmt: skip
NIGHT_NS = START_NS + 7_200 * SECOND
"""10:40 UTC: already the next day in Kiritimati, still night in Los Angeles."""

HEADINGS = re.compile(r"^#{1,6} .*$", re.MULTILINE)


def page(*observations: Observation, git: GitSummary | None = None, closed_by: str | None = None) -> SessionPage:
    state = fold(observations)
    assert state is not None
    return session_page(
        state, git, page_id=PageId("p1"), actor=Actor("ann", "m1"), now_ns=NIGHT_NS, project="default/app",
        harness_name="Claude Code", closed_by=closed_by,
    )  # fmt: skip


def section(body: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", body, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def outside_fences(body: str) -> str:
    """What a markdown reader takes for structure: the body without fenced blocks, code spans and quotes."""
    kept, fence = [], ""
    for line in body.split("\n"):
        ticks = re.match(r"`{3,}", line)
        if fence:
            fence = "" if ticks and len(ticks[0]) >= len(fence) and line.strip("`") == "" else fence
        elif ticks:
            fence = ticks[0]
        elif not line.startswith(">"):
            kept.append(re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line))
    assert fence == "", "a fence was left open"
    return "\n".join(kept)


def test_sections_come_in_the_order_a_reader_needs() -> None:
    e = Events()
    made = page(
        e.start(), e.prompt("Add a PDF export"), e.ran("make", failed=True, exit_code=2), e.wrote("a.py"),
        e(EventKind.POST_TOOL, tool="Read", files_read=("b.py",)), e.prompt("And docs"), e.answer("Done."),
        e.end("exit"),
    )  # fmt: skip
    assert HEADINGS.findall(made.body) == [
        "# Add a PDF export", "## Goal", "## Last request", "## What was said last", "## Still open",
        "## Files changed", "## Commands", "## Files read, not changed", "## Session",
    ]  # fmt: skip


def test_front_matter_names_type_identity_times_and_actor() -> None:
    e = Events()
    fields = page(e.start(), e.prompt("Go on"), e.end("exit")).fields
    assert list(fields)[:6] == ["type", "title", "description", "tags", "status", "generated"]
    assert (fields["type"], fields["status"], fields["session"], fields["id"]) == ("session", "closed", "5e55", "p1")
    assert (fields["user"], fields["machine"], fields["harness"]) == ("ann", "m1", "claude-code")
    generated = fields["generated"]
    assert isinstance(generated, dict)
    assert set(generated) == {"by", "at"}


@pytest.mark.promise("P6.1")
def test_no_outcome_is_claimed_that_the_harness_did_not_report() -> None:
    e = Events(harness="codex")
    body = page(
        e.prompt("Go"),
        e.ran("make", failed=None, output="make: *** Error 2"),
        e.ran("tox", failed=True),
        e.ran("ruff .", failed=False),
        e.ran("pytest", failed=True, exit_code=1, error="boom"),
    ).body
    commands = section(body, "Commands")
    assert "- `make`: outcome not reported; printed `make: *** Error 2`" in commands
    assert "- `tox`: failed, exit code not reported" in commands
    assert "- `ruff .`: succeeded, exit code not reported" in commands
    assert "- `pytest`: exit code 1; said `boom`" in commands


def test_failed_commands_come_first_and_recovered_ones_are_marked() -> None:
    e = Events()
    commands = section(
        page(
            e.ran("ruff .", exit_code=0),
            e.ran("pytest", failed=True, exit_code=1),
            e.ran("pytest", exit_code=0),
            e.ran("mypy", failed=True, exit_code=2),
            e.ran("ls"),
        ).body,
        "Commands",
    )
    order = [
        commands.index(text)
        for text in ("Failed when last run", "`mypy`", "Failed first, then", "`pytest`", "`ruff .`")
    ]
    assert order == sorted(order)
    assert "`pytest`: exit code 0, 2 runs, 1 failed" in commands
    assert "1 run not listed" in commands


def test_what_is_unfinished_is_listed_as_observed() -> None:
    e = Events()
    body = page(
        e.prompt("Go"),
        e(EventKind.PRE_TOOL, tool="Bash", command="make deploy", call_id="c"),
        e.answer(None, failed=True, error="server_error"),
    ).body
    still_open = section(body, "Still open")
    assert "Observed:" in still_open
    assert "The last turn ended with an error: `server_error`" in still_open
    assert "Started, no result reported: `make deploy`" in still_open


def test_nothing_unfinished_makes_no_section() -> None:
    e = Events()
    assert "Still open" not in page(e.prompt("Go"), e.answer("Done"), e.end("exit")).body


def test_words_of_the_agent_are_declared_and_dated_to_their_turn() -> None:
    e = Events()
    events = [e.prompt("Go"), e.answer("All tests pass.")]
    assert "(declared; not checked)" in section(page(*events).body, "What was said last")
    events.append(e.prompt("Again"))
    assert "in an earlier turn" in section(page(*events).body, "What was said last")


@pytest.mark.promise("P6.2")
def test_unknown_git_is_said_as_unknown_and_never_as_clean() -> None:
    e = Events()
    slow = GitSummary(branch="main", head="a" * 40, reason="git took longer than 350 ms")
    body = page(e.prompt("Go"), git=slow).body
    assert "Uncommitted when this was written: not checked: git took longer than 350 ms." in body
    assert "nothing (git" not in body
    assert "Branch and head: not checked" in page(e.prompt("Go")).body


def test_git_facts_name_their_source_and_time() -> None:
    e = Events()
    git = GitSummary("main", "0123456789abcdef", "Add it", ("a.py",), ("new.txt",), checked_at_ns=START_NS)
    body = page(e.prompt("Go"), git=git).body
    assert "- Branch: `main` (git)\n- Head: `0123456789ab` `Add it` (git)" in body
    assert re.search(r"Uncommitted when this was written \(git, checked 20\d\d-", body)
    assert "- `a.py`\n- `new.txt` (untracked)" in body
    clean = GitSummary("main", "0" * 40, uncommitted=(), untracked=())
    assert "written: nothing (git)" in page(e.prompt("Go"), git=clean).body


def test_an_end_that_was_not_reported_says_when_the_last_event_was_and_why_it_counts_as_closed() -> None:
    e = Events()
    body = page(e.prompt("Go"), closed_by="silent for 30 minutes").body
    assert re.search(r"Ended: no end was reported; last event \S+; closed: silent for 30 minutes", body)


@pytest.mark.promise("P8.1")
def test_hostile_text_anywhere_stays_text() -> None:
    e = Events(cwd="/w/[[x]]\n# Goal")
    body = page(
        e.start(model="[[m]]\n## x"), e.prompt(HOSTILE), e.prompt(f"again\n{HOSTILE}"), e.prompt(f"third\n{HOSTILE}"),
        e.ran(f"echo '{HOSTILE}'", failed=True, error=HOSTILE), e.wrote(HOSTILE), e.answer(HOSTILE), e.end(HOSTILE),
        git=GitSummary("[[b]]", "h", HOSTILE, (HOSTILE,), (HOSTILE,), reason="x"),
    ).body  # fmt: skip
    structure = outside_fences(body)
    headings = HEADINGS.findall(structure)
    assert headings.count("## Goal") == 1
    assert headings.count("## Still open") == 1
    assert not re.search(r"\[\[|<|%%|^---|^- \[ \]|^type: rule", structure, re.MULTILINE)
    assert not re.search("[\u202e\u200b\x1b]", body)


@pytest.mark.promise("P8.1")
@pytest.mark.parametrize("line", [line for line in HOSTILE.split("\n")[:-1] if line != "type: rule"])
def test_a_short_text_with_markup_is_fenced(line: str) -> None:
    body = page(Events().prompt(f"Do this\n{line}")).body
    assert re.search(rf"^(`{{3,}})text\nDo this\n{re.escape(line)}\n\1$", body, re.MULTILINE)


def test_plain_words_are_a_block_quote() -> None:
    goal = section(page(Events().prompt("Do this, then that.\nIt's 2 or 3 lines.")).body, "Goal")
    assert "\n> Do this, then that.\n> It's 2 or 3 lines.\n" in goal


@pytest.mark.promise("P11.52")
@pytest.mark.parametrize(
    "text", ["x" * 16_384, "字" * 16_384, "\n" * 16_000 + "x", "`" * 16_000, "`a\n" * 5_000, "& <b>\n" * 3_000]
)
def test_a_page_is_bounded_and_says_what_it_left_out(text: str) -> None:
    e = Events()
    events = [e.prompt(text), e.answer(text)]
    for n in range(600):
        events += [
            e.wrote(f"{text[:250]}{n}"), e.ran(f"make {n} {text[:400]}", failed=True, error=text), e.prompt(text),
            e(EventKind.PRE_TOOL, command=text[:600], call_id=f"c{n}"), e(EventKind.NOTE, text=text),
            e(EventKind.POST_TOOL, files_read=(f"{n}{text}",), tool=f"{n}{text[:99]}"),
        ]  # fmt: skip
    git = GitSummary("b" * 300, "h" * 40, text, tuple(f"{text[:250]}{n}" for n in range(600)), (), checked_at_ns=1)
    made = page(*events, git=git)
    size = len(made.body.encode()) + len(repr(made.fields).encode())
    assert size <= MAX_PAGE_BYTES
    assert re.search(r"- … and \d+ more", section(made.body, "Files changed"))
    outside_fences(made.body)


def test_equal_input_gives_equal_bytes() -> None:
    e = Events()
    events = [e.prompt("Go"), e.ran("a"), e.ran("b"), e.wrote("x", "y"), e.answer("Done")]
    assert page(*events) == page(*reversed(events))


@pytest.mark.parametrize(
    ("goal", "title"),
    [
        ("Please add a greeting file and run the tests", "Add a greeting file and run the tests"),
        ("could you please fix [[sh:ls]] `x` <b>", "Fix ((sh:ls)) 'x' ‹b›"),
        ("\n\n# Plan\nmore", "Plan"),
        ("```python\nimport x\n```", "import x"),
        ("---\ntitle: x\n---", "title: x"),
        ("修复登录页面的错误", "修复登录页面的错误"),
        ("\u202e\u200bevil\x00 twin", "evil twin"),
    ],
)
def test_title_is_a_short_form_of_the_goal(goal: str, title: str) -> None:
    assert page(Events().prompt(goal)).title == title


@pytest.mark.parametrize("goal", ["word " * 100, "字" * 300, "x" * 300])
def test_title_is_one_line_of_at_most_80_characters(goal: str) -> None:
    title = page(Events().prompt(goal)).title
    assert len(title) <= MAX_TITLE_CHARS
    assert title.endswith("…")


def test_a_session_without_a_goal_is_titled_by_harness_and_time() -> None:
    e = Events()
    assert re.fullmatch(r"Claude Code session of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", page(e.start()).title)
    assert page(e.prompt("?!")).title.startswith("Claude Code session of ")


@pytest.fixture
def local_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    old = os.environ.get("TZ")
    yield monkeypatch
    if old is None:
        monkeypatch.delenv("TZ")
    else:
        monkeypatch.setenv("TZ", old)
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("LINT-14", "2026-12-01T00:40:01+14:00"),
        ("IST-5:30", "2026-11-30T16:10:01+05:30"),
        ("PST8PDT,M3.2.0,M11.1.0", "2026-11-30T02:40:01-08:00"),
    ],
)
def test_times_are_local_everywhere_on_the_page(local_time: pytest.MonkeyPatch, zone: str, shown: str) -> None:
    """MD-22: a date in UTC beside a local clock carries yesterday's date."""
    local_time.setenv("TZ", zone)
    time.tzset()
    e = Events()
    made = page(e.start(after_s=7_201), e.prompt("Go", after_s=7_300), git=GitSummary("b", "h", checked_at_ns=NIGHT_NS))
    assert made.fields["started"] == shown
    assert f"Started: {shown}" in made.body
    dates = set(re.findall(r"\d{4}-\d\d-\d\dT", made.body + repr(made.fields)))
    assert dates == {shown[:11]}
