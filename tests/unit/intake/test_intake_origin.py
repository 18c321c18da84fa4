"""When an event tells the process its session runs in: at starts, and when it is news; and how seldom it is looked up."""

import pytest

from aimemory.harness.registry import load_registry
from aimemory.intake.origin import Origins
from aimemory.model.event import Event, EventKind
from aimemory.model.ids import SessionId
from aimemory.model.process import Process

START, PROMPT, TOOL = EventKind.SESSION_START, EventKind.PROMPT, EventKind.POST_TOOL
A, B = Process(60, 100, "b/1"), Process(61, 500, "b/1")
CLAUDE = load_registry().get("claude-code")
CODEX = load_registry().get("codex")


class Table:
    """Stands for the processes of the machine; `now` is what is above the next hook."""

    def __init__(self):
        self.now = A
        self.is_hook_gone = False
        self.looks = 0

    def harness_of(self, hook):
        self.looks += 1
        return None if self.is_hook_gone else self.now

    def exists(self, pid):
        return not self.is_hook_gone


@pytest.fixture
def table():
    return Table()


@pytest.fixture
def tell(table):
    origins = Origins(table)

    def of(kind, session="s", spec=CLAUDE, peer=7, pid=7):
        found = origins.news(Event(spec.id, kind.value, kind, pid=pid), session and SessionId(session), peer, spec)
        return None if found is None else (found.pid, found.confirmed)

    of.forget = origins.forget
    return of


def test_the_second_event_confirms_the_process_and_then_nothing_is_noted(tell):
    assert [tell(kind) for kind in (START, PROMPT, TOOL, TOOL, PROMPT)] == [(60, False), (60, True), None, None, None]


def test_tool_calls_of_a_session_whose_process_is_confirmed_look_nothing_up(tell, table):
    for kind in (START, PROMPT, *[TOOL] * 50):
        tell(kind)

    assert table.looks == 2


def test_a_session_seen_first_in_its_middle_is_looked_up_until_it_is_known(tell, table):
    assert [tell(TOOL) for _ in range(4)] == [(60, False), (60, True), None, None]
    assert table.looks == 2


def test_every_start_tells_its_process(tell):
    assert [tell(START), tell(PROMPT), tell(START)] == [(60, False), (60, True), (60, True)]


def test_a_session_that_is_resumed_elsewhere_has_a_new_process_which_is_confirmed_anew(tell, table):
    tell(START), tell(PROMPT)
    table.now = B

    assert [tell(START), tell(PROMPT), tell(PROMPT)] == [(61, False), (61, True), None]


def test_helpers_that_live_for_one_event_are_never_confirmed(tell, table):
    seen = []
    for pid in range(100, 105):
        table.now = Process(pid, pid, "b/1")
        seen.append(tell(PROMPT))

    assert seen == [(pid, False) for pid in range(100, 105)]


def test_a_hook_that_was_too_fast_changes_nothing(tell, table):
    tell(START), tell(PROMPT)
    table.now = None
    assert tell(PROMPT) is None
    table.now = A

    assert tell(PROMPT) is None, "it is still known and confirmed"


def test_a_hook_that_was_too_fast_leaves_the_process_to_the_next_event(tell, table):
    table.is_hook_gone = True
    assert [tell(START), tell(TOOL)] == [None, None]
    table.is_hook_gone = False

    assert [tell(TOOL), tell(TOOL), tell(TOOL)] == [(60, False), (60, True), None]


def test_an_unknown_process_is_not_looked_for_at_every_tool_call(tell, table):
    table.now = None
    for kind in (START, *[TOOL] * 20):
        assert tell(kind) is None
    assert table.looks == 1


@pytest.mark.parametrize(
    "event", [{"peer": None}, {"peer": 8}, {"spec": CODEX}, {"session": None}],
    ids=["from the spool", "sent by another program", "hooks of a background server", "no session"],
)  # fmt: skip
def test_an_event_that_can_not_say_it_has_no_process(tell, table, event):
    assert tell(START, **event) is None
    assert table.looks == 0


def test_what_did_not_become_durable_is_noted_again(tell):
    tell(START), tell(PROMPT)
    tell.forget(SessionId("s"))

    assert [tell(TOOL), tell(TOOL)] == [(60, False), (60, True)]
