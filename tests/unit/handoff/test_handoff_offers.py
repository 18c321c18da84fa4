"""Which handoff is offered to whom: rank, address, and why not."""

import pytest

from aimemory.handoff.offers import Asking, Candidate, by_rank, withheld
from aimemory.handoff.survey import Survey, choose
from aimemory.handoff.used import takes, used_since
from aimemory.model.event import Event, EventKind
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.observation import Observation
from aimemory.sessions.liveness import Liveness

READER = Asking(session="r", harness="codex", user="ada", machine="m1", cwd="/app", checkout="/app", branch="main")


def candidate(name, standing=Liveness.ENDED, **more):
    given = {
        "manual": False,
        "state": HandoffState.OPEN,
        "checkout": "/app",
        "branch": "main",
        "changed_at_ns": 1,
    } | more
    return Candidate(
        Handoff(id=name, session=f"of-{name}", project="p", harness="claude-code", opened_at_ns=1, **given), standing
    )


def test_by_hand_then_named_then_same_tree_then_same_branch_then_newest():
    found = [
        candidate("elsewhere", checkout="/other", changed_at_ns=9),
        candidate("other-branch", branch="topic", changed_at_ns=9),
        candidate("older", changed_at_ns=1),
        candidate("newest", changed_at_ns=2),
        candidate("named", to="codex", checkout="/other"),
        candidate("by-hand", manual=True, checkout="/other"),
    ]

    assert [one.handoff.id for one in by_rank(found, READER)] == [
        "by-hand", "named", "newest", "older", "other-branch", "elsewhere",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (candidate("a"), None),
        (candidate("a", Liveness.QUIET), None),
        (candidate("a", Liveness.GONE), None),
        (candidate("a", Liveness.LIVE), "its session is still at work"),
        (candidate("a", Liveness.LIVE, manual=True), None),
        (candidate("a", state=HandoffState.CLAIMED), "it is claimed"),
        (candidate("a", to="claude-code"), "it is for claude-code"),
        (candidate("a", to="Codex"), None),
        (candidate("a", to="harness:codex"), None),
        (candidate("a", to="user:codex"), "it is for user:codex"),
        (candidate("a", to="user:ada"), None),
        (candidate("a", to="m1"), None),
    ],
)
def test_why_a_handoff_is_not_offered(found, says):
    assert withheld(found, READER) == says


def test_nobody_is_offered_his_own_work():
    own = Asking(session="of-a", harness="claude-code", user="ada", machine="m1")

    assert withheld(candidate("a"), own) == "it is this session's own"


def test_a_person_who_asks_sees_what_is_for_others_too():
    assert withheld(candidate("a", to="claude-code"), Asking()) is None


def test_who_has_a_baton_is_offered_no_second_one_but_sees_it():
    held = candidate("held", state=HandoffState.CLAIMED)
    choice = choose(Survey((held, candidate("other")), held=held.handoff), READER)

    assert choice.offer is None and [one.handoff.id for one in choice.others] == ["other"]


def event(kind, **more):
    return Event(harness="codex", event="E", kind=kind, **more)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (event(EventKind.PRE_TOOL), True),
        (event(EventKind.POST_TOOL), True),
        (event(EventKind.POST_TOOL, agent_id="a"), False),
        (event(EventKind.TURN_END), True),
        (event(EventKind.TURN_END, failed=True), False),
        (event(EventKind.TURN_END, reason="interrupt"), False),
        (event(EventKind.SESSION_START), False),
        (event(EventKind.PROMPT, prompt="go on"), False),
        (event(EventKind.COMPACT), False),
        (event(EventKind.SESSION_END), False),
    ],
)
def test_what_takes_a_handoff(found, expected):
    assert takes(found) is expected


@pytest.mark.parametrize(
    ("found", "at_ns", "expected"),
    [
        (event(EventKind.POST_TOOL, command="make"), 10, True),
        (event(EventKind.POST_TOOL, files_written=("a",)), 10, True),
        (event(EventKind.POST_TOOL, files_read=("a",)), 10, False),
        (event(EventKind.POST_TOOL, command="make"), 9, False),
        (event(EventKind.PROMPT, prompt="and now?"), 11, True),
        (event(EventKind.PROMPT, prompt="go on"), 10, False),
        (event(EventKind.PROMPT, prompt="  "), 11, False),
        (event(EventKind.PROMPT, prompt="a task", agent_id="a"), 11, False),
        (event(EventKind.TURN_END, message="done"), 11, False),
    ],
)
def test_what_counts_as_using_it(found, at_ns, expected):
    assert used_since([Observation(1, "o", "s", "p", at_ns, found)], 10) is expected
