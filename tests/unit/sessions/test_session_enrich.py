"""What a transcript adds to a session that hooks observed, and that it adds nothing twice."""

import asyncio
import copy
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from recordings import scenarios
from session_events import START_NS, Events
from transcripts import SESSION, ClaudeLines, CodexLines, Lines

from aimemory.facts.transcript.read import Transcript, read_transcript
from aimemory.harness.decode import decode
from aimemory.harness.registry import load_registry
from aimemory.model.event import Delivery, EventKind
from aimemory.model.ids import ObservationId, PageId, ProjectId, Seq, session_id
from aimemory.model.observation import Observation
from aimemory.model.scope import Actor
from aimemory.model.session import SessionState
from aimemory.privacy import sanitize_tree
from aimemory.privacy.capture import CaptureRules, Tree
from aimemory.privacy.ignore import Patterns
from aimemory.project.bounds import Bounds
from aimemory.sessions.digest import session_page
from aimemory.sessions.enrich import enrich, state_of
from aimemory.sessions.reader import Sessions, Transcripts
from aimemory.sessions.state import fold
from aimemory.sessions.teststate import failing_tests

REGISTRY = load_registry()
KEEP_ALL = CaptureRules()
BAD = "FAILED tests/test_a.py::test_one - no\n1 failed, 2 passed in 0.1s\n"


def transcript(lines: Lines, home: Path) -> Transcript:
    source = REGISTRY.get(lines.harness).transcript
    assert source is not None
    path = lines.save(lines.place(home))
    found = read_transcript(source, str(path), session=SESSION, home=str(home), env={})
    assert isinstance(found, Transcript)
    return found


def enriched(observations: Sequence[Observation], found: Transcript) -> SessionState:
    state = enrich(observations, found)
    assert state is not None
    return state


def page(state: SessionState) -> str:
    return session_page(state, None, page_id=PageId("p"), actor=Actor("ann", "m"), now_ns=1, project="default/app").body


def codex_session() -> tuple[CodexLines, list[Observation]]:
    """A session of which the hooks told everything but how commands ended."""
    lines, on = CodexLines(), Events(harness="codex")
    lines.head()
    lines.prompt("Fix it")
    lines.call("c1", "make lint")
    lines.result("c1", "no", 2)
    lines.call("c2", "pytest -q")
    lines.result("c2", "....\n", 0)
    lines.answer("Done.")
    seen = [
        on.start(after_s=1), on.prompt("Fix it", after_s=3),
        on(EventKind.PRE_TOOL, tool="Bash", command="make lint", call_id="c1", after_s=4),
        on.ran("make lint", None, call_id="c1", output="no", after_s=5),
        on(EventKind.PRE_TOOL, tool="Bash", command="pytest -q", call_id="c2", after_s=6),
        on.ran("pytest -q", None, call_id="c2", output="....\n", after_s=7),
        on.answer("Done.", after_s=12), on.end(after_s=13),
    ]  # fmt: skip
    return lines, seen


def test_outcomes_that_hooks_did_not_say_come_from_the_transcript_by_call_id(tmp_path: Path) -> None:
    lines, seen = codex_session()
    state = enriched(seen, transcript(lines, tmp_path))
    lint, tests = state.commands["make lint"], state.commands["pytest -q"]
    assert (lint.failed, lint.exit_code, lint.error, lint.evidence) == (True, 2, "no", "transcript")
    assert (tests.failed, tests.exit_code) == (False, 0)
    assert state.tests["pytest", ""].last.verdict == "passed"
    text = page(state)
    assert "`make lint`: exit code 2 (transcript); said `no`" in text
    assert "- `pytest` (all): passed (exit code 0, transcript)" in text
    assert "- Transcript: read, gave 2 outcomes of calls, tokens" in text
    assert "- Tokens: input " in text and "(transcript)" in text


def test_nothing_is_doubled(tmp_path: Path) -> None:
    lines, seen = codex_session()
    plain, state = fold(seen), enriched(seen, transcript(lines, tmp_path))
    assert plain is not None
    for name in (
        "prompt_count",
        "prompts",
        "tool_count",
        "tools",
        "last_message",
        "ended_at_ns",
        "last_seq",
        "files_written",
    ):
        assert getattr(state, name) == getattr(plain, name), name
    assert [run.count for run in state.commands.values()] == [1, 1]


def test_enriching_changes_neither_observations_nor_transcript(tmp_path: Path) -> None:
    lines, seen = codex_session()
    found = transcript(lines, tmp_path)
    before = copy.deepcopy((seen, found.events))
    assert enriched(seen, found) == enriched(list(reversed(seen)), found)
    assert (seen, found.events) == before


def test_a_crash_leaves_what_only_the_transcript_knows(tmp_path: Path) -> None:
    lines, on = ClaudeLines(), Events()
    lines.prompt("Fix it")
    lines.call("c1", "make lint")
    lines.result("c1", "no", 2)
    lines.patch("c2")
    lines.answer("I will run the tests now.", ends=False)
    lines.call("c3", "pytest -q")
    seen = [
        on.start(after_s=0.5),
        on.prompt("Fix it", after_s=0.9),
        on.ran("make lint", True, call_id="c1", after_s=3.1, exit_code=2),
    ]
    state = enriched(seen, transcript(lines, tmp_path))
    assert state.files_written == {"a.py": 1}
    assert list(state.pending_calls.values()) == ["pytest -q"]
    assert (state.turn_open, state.last_message) == (True, "I will run the tests now.")
    assert (state.prompt_count, state.tools) == (1, {"Bash": 2, "Write": 1})
    text = page(state)
    assert "- Started, no result reported: `pytest -q`" in text
    assert "3 events that no hook told of" in text
    assert "## Still open\n\nObserved, or read in the transcript:\n" in text


def test_calls_that_hooks_saw_begin_and_never_end_are_settled(tmp_path: Path) -> None:
    """Codex sends no PostToolUse for a patch that doesn't apply, Claude Code none for a call that was refused."""
    lines, on = CodexLines(), Events(harness="codex")
    lines.head()
    patch = "*** Begin Patch\n*** Update File: b.py\n*** End Patch\n"
    lines.add(lines.row("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id="c1"))
    lines.add(
        lines.row(
            "response_item", type="custom_tool_call_output", call_id="c1", output="apply_patch verification failed"
        )
    )
    seen = [
        on.prompt("x", after_s=2),
        on(EventKind.PRE_TOOL, tool="apply_patch", call_id="c1", after_s=3),
        on.end(after_s=60),
    ]
    state = enriched(seen, transcript(lines, tmp_path))
    assert (state.pending_calls, state.files_written, state.tool_count) == ({}, {}, 1)
    assert state.ended_at_ns == START_NS + 60 * 10**9


def test_a_prompt_that_was_just_observed_is_not_taken_again_but_a_later_one_is(tmp_path: Path) -> None:
    lines, on = ClaudeLines(), Events()
    lines.prompt("Same words")
    lines.second += 60
    lines.prompt("Same words")
    state = enriched([on.prompt("Same words", after_s=0.95)], transcript(lines, tmp_path))
    assert state.prompt_count == 2


def test_a_session_that_nobody_observed_is_known_from_its_transcript_alone(tmp_path: Path) -> None:
    lines = ClaudeLines()
    lines.prompt("Fix it")
    lines.call("c1", "pytest -q")
    lines.result("c1", BAD, 1)
    lines.answer("It fails.")
    state = state_of(transcript(lines, tmp_path), "claude-code", ProjectId("p"))
    assert state is not None
    assert (state.goal, state.last_message, state.native, state.model) == (
        "Fix it",
        "It fails.",
        SESSION,
        "claude-opus-4-8",
    )
    assert [test.last.failing for test in failing_tests(state)] == [("tests/test_a.py::test_one",)]


FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"
RECORDED = {
    "claude-code": ("8e4e4b8f-e1f6-47ec-98aa-9805afb82e56", "c7ecfef4-88b3-48b0-9174-c01295691ee0"),
    "codex": ("01a22baf-604e-7b63-9bff-73e166f3f582", "01a22baf-b15c-7e62-b88f-ac9e42acafe2"),
}


def recorded(harness: str, native: str) -> list[Observation]:
    """The observations of a recorded session, as the daemon decodes what its hooks sent."""
    rows = [row for rows in scenarios(harness).values() for row in rows if row["payload"].get("session_id") == native]
    found = []
    for seq, row in enumerate(sorted(rows, key=lambda row: row["ts"]), 1):
        delivery = Delivery(harness, row["event"], round(row["ts"] * 1000) * 1_000_000)
        payload = sanitize_tree(row["payload"])
        event = decode(payload, payload.derive(lambda _, said=delivery: said), REGISTRY.get(harness)).value
        session = session_id(harness, native)
        found.append(
            Observation(Seq(seq), ObservationId(f"o{seq}"), session, ProjectId("p"), delivery.at_ns or 0, event)
        )
    return found


@pytest.mark.parametrize(("harness", "native"), [(h, n) for h, natives in RECORDED.items() for n in natives])
def test_recorded_sessions_gain_outcomes_and_nothing_is_doubled(tmp_path: Path, harness: str, native: str) -> None:
    source = REGISTRY.get(harness).transcript
    assert source is not None
    recording = next(FIXTURES.glob(f"*{native}.jsonl"))
    copied = tmp_path / source.home.removeprefix("~/") / source.folders[0] / recording.name
    copied.parent.mkdir(parents=True)
    copied.write_bytes(recording.read_bytes())
    found = read_transcript(source, str(copied), session=native, home=str(tmp_path), env={})
    assert isinstance(found, Transcript)
    seen = recorded(harness, native)
    plain, state = fold(seen), enriched(seen, found)
    assert plain is not None
    for name in ("prompts", "tool_count", "tools", "last_message", "files_written", "ended_at_ns", "turn_open", "goal"):
        assert getattr(state, name) == getattr(plain, name), name
    assert {c: run.count for c, run in state.commands.items()} == {c: run.count for c, run in plain.commands.items()}
    assert all(run.failed is not None for run in state.commands.values())
    assert state.pending_calls == {}


# -- the reader -------------------------------------------------------------------------------------------------------


class Stored:
    """A reader of the index that holds these observations."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self.observations = list(observations)

    async def read(self, plan):
        plan.close()
        return self.observations


def ask(home: Path, seen: Sequence[Observation], rules: CaptureRules = KEEP_ALL, off: str = "") -> SessionState:
    async def bounds_of(session, cwd):
        return Bounds(rules, Tree("/w/app"))

    where = Transcripts(
        lambda harness: REGISTRY.get(harness).transcript, bounds_of, lambda cwd: cwd == off, str(home), {}
    )
    state = asyncio.run(Sessions(Stored(seen), where).enriched(seen[0].session))
    assert state is not None
    return state


def test_the_reader_gives_the_enriched_state(tmp_path: Path) -> None:
    lines, seen = codex_session()
    path = lines.save(lines.place(tmp_path))
    on = Events(harness="codex", session=seen[0].session or "")
    seen[0] = on.start(after_s=1, transcript_path=str(path), native_session=SESSION)
    assert ask(tmp_path, seen).commands["make lint"].exit_code == 2


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (None, "not read: the hooks named none"),
        ("/etc/passwd", "not read: its path is not below a folder in which codex keeps transcripts"),
        ("{home}/.codex/sessions/gone.jsonl", "not read: it does not exist"),
    ],
)
def test_a_transcript_that_cant_be_read_costs_nothing_and_is_said(
    tmp_path: Path, path: str | None, reason: str
) -> None:
    """TRN-14"""
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    on = Events(harness="codex")
    named = path.format(home=tmp_path) if path else None
    state = ask(tmp_path, [on.start(transcript_path=named), on.prompt("Fix it"), on.ran("make", None)])
    assert state.transcript == reason
    assert f"- Transcript: {reason}" in page(state)
    assert state.commands["make"].failed is None


def test_capture_rules_hold_for_transcripts_too(tmp_path: Path) -> None:
    lines, on = ClaudeLines(), Events()
    lines.prompt("Fix it")
    lines.second = 100
    lines.call("c1", "cat secrets/key.txt")
    lines.result("c1", "hush", 1)
    lines.call("c2", "make lint")
    lines.result("c2", "no", 1)
    path = lines.save(lines.place(tmp_path))
    seen = [on.start(after_s=1, transcript_path=str(path), native_session=SESSION), on.prompt("Fix it", after_s=2)]
    assert "make lint" in ask(tmp_path, seen).commands
    assert list(ask(tmp_path, seen, CaptureRules(ignore=Patterns(["secrets/"]))).commands) == ["make lint"]
    assert list(ask(tmp_path, seen, CaptureRules(metadata=Patterns(["secrets/"]))).commands) == ["make lint"]
    told = ask(tmp_path, seen, CaptureRules(mode="metadata"))
    assert (told.commands, told.transcript) == ({}, "not read: capture of this project is metadata")


def test_what_a_transcript_holds_of_a_folder_that_is_off_stays_in_it(tmp_path: Path) -> None:
    lines, on = ClaudeLines(), Events()
    lines.prompt("Fix it")
    lines.second = 100
    lines.call("c1", "make lint")
    lines.result("c1", "no", 1)
    lines.cwd = "/w/private"
    lines.prompt("hush")
    lines.answer("hushed", ends=False)
    path = lines.save(lines.place(tmp_path))
    seen = [on.start(after_s=1, transcript_path=str(path), native_session=SESSION), on.prompt("Fix it", after_s=2)]
    told = ask(tmp_path, seen, off="/w/private")
    assert (list(told.commands), told.last_request, told.last_message) == (["make lint"], "Fix it", None)
    assert ask(tmp_path, seen).last_message == "hushed"


def test_a_transcript_that_hangs_holds_one_thread_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, on = ClaudeLines(), Events()
    lines.prompt("Fix it")
    path = lines.save(lines.place(tmp_path))
    seen = [on.start(after_s=1, transcript_path=str(path), native_session=SESSION), on.prompt("Fix it", after_s=2)]
    begun: list[str] = []
    answers = threading.Event()

    def hangs(source, name, **more):
        begun.append(name)
        answers.wait(60)
        return read_transcript(source, name, **more)

    monkeypatch.setattr("aimemory.sessions.reader.read_transcript", hangs)
    monkeypatch.setattr("aimemory.sessions.reader._SLACK_S", 0.0)

    async def bounds_of(session, cwd):
        return Bounds(KEEP_ALL, Tree("/w/app"))

    async def story() -> tuple[list[str | None], str | None]:
        where = Transcripts(
            lambda harness: REGISTRY.get(harness).transcript, bounds_of, lambda cwd: False, str(tmp_path), {}
        )
        sessions = Sessions(Stored(seen), where)
        told = [await sessions.enriched(seen[0].session, limit_s=0.01) for _ in range(6)]
        told_at_once = len(begun)
        answers.set()
        after = await sessions.enriched(seen[0].session, limit_s=60)
        assert told_at_once == 1
        return [state.transcript for state in told if state], after.transcript if after else None

    hung, after = asyncio.run(story())
    assert hung == ["not read: it did not answer within 0 s"] * 6
    assert after == "read, nothing to add"


def test_a_harness_without_transcripts_is_not_asked_for_one(tmp_path: Path) -> None:
    on = Events(harness="generic")
    assert ask(tmp_path, [on.prompt("x")]).transcript is None
