"""What a stop, or a closing that was faster, left of handoffs."""

import asyncio
from dataclasses import replace

from aimemory.errors import Conflict, Unavailable
from aimemory.handoff.batons import Batons
from aimemory.index.events import SessionRow
from aimemory.model.event import Event, EventKind
from aimemory.model.handoff import Handoff, HandoffOp, HandoffState, Offer, Party
from aimemory.model.observation import Observation
from aimemory.model.protocols import TaskPulse
from aimemory.model.scope import Actor
from aimemory.store.places import Places

NOW_NS = 10**15
PULSE = TaskPulse("batons", lambda: NOW_NS, started_ns=0)
OPEN = Handoff(
    id="h1", session="s1", project="p", harness="codex", manual=False, state=HandoffState.OPEN, opened_at_ns=1,
    changed_at_ns=1,
)  # fmt: skip
RECEIVER = SessionRow(
    id="s2", harness="codex", native="n", project="p", cwd=None, first_seq=1, last_seq=5, started_at_ns=1,
    last_at_ns=2, prompts=1, tools=1, ended_at_ns=2, end_reason=None, closed_seq=None, page=None,
)  # fmt: skip
CLOSED = replace(RECEIVER, closed_seq=5)


def taken(name, page=None):
    by = Party("s2", "codex", "ada", "m")
    return replace(OPEN, id=name, state=HandoffState.CLAIMED, claimed_by=by, claimed_at_ns=2, page=page)


class Clock:
    def now_ns(self):
        return NOW_NS


class Known:
    """Claims that are these; what is noted is kept. told: whether an offer reached its session."""

    is_ready = True

    def __init__(self, *handoffs, told=True):
        self.handoffs, self.awaiting, self.noted, self.told = list(handoffs), {}, [], told

    async def load(self):
        pass

    def live(self):
        return self.handoffs

    def offered_to(self, session):
        return [one for one in self.handoffs if self.told_at_ns(one, session) is not None]

    def told_at_ns(self, handoff, session):
        return handoff.offered_at_ns(session) if self.told else None

    def get(self, handoff):
        return next(one for one in self.handoffs if one.id == handoff)

    async def note(self, op, handoff, by, about, **_):
        self.noted.append((op, handoff, by.session))
        return replace(self.get(handoff), page="a.md")


class Index:
    def __init__(self, receiver):
        self.receiver = receiver

    async def read(self, plan):
        plan.close()
        if plan.__name__ == "session":
            return self.receiver
        used = Event(harness="codex", event="PostToolUse", kind=EventKind.POST_TOOL, command="make")
        return [Observation(5, "o", "s2", "p", 9, used)]


class Pages:
    """What is written and settled; one handoff's directory does not answer."""

    def __init__(self):
        self.written, self.settled, self.finished = [], [], []

    async def write_taken(self, handoff):
        if handoff.id == "dead":
            raise Unavailable("Its directory does not answer.")
        self.written.append(handoff.id)

    async def settle(self, session):
        self.settled.append(session)

    async def finish(self, op, handoff, by, why):
        if handoff == "taken":
            raise Conflict("It was taken.")
        self.finished.append((op, handoff))


def batons(claims, receiver=RECEIVER):
    pages = Pages()
    made = Batons(
        claims=claims,
        handover=pages,
        reader=Index(receiver),
        actor=Actor("ada", "m"),
        clock=Clock(),
        expire_days=14,
        making=Places(),
    )
    return made, pages


def run(made, until):
    async def story():
        running = asyncio.create_task(made.run(PULSE))
        async with asyncio.timeout(5):
            while not until() and not running.done():
                await asyncio.sleep(0)
        is_running = not running.done()
        running.cancel()
        return is_running

    return asyncio.run(story())


def test_a_page_that_cant_be_written_at_the_start_keeps_no_other_back():
    made, pages = batons(Known(taken("dead"), taken("h2")))

    assert run(made, lambda: pages.written) and pages.written == ["h2"]


def test_at_the_start_what_a_session_did_takes_the_handoff_it_was_offered_unless_it_is_closed():
    offered = replace(OPEN, page="a.md", offers=(Offer("s2", 5),))
    going_on, over = Known(offered), Known(offered, taken("h2"))

    assert run(batons(going_on)[0], lambda: going_on.noted)
    assert going_on.noted == [(HandoffOp.CLAIM, "h1", "s2")]
    made, pages = batons(over, CLOSED)
    assert run(made, lambda: pages.written) and over.noted == []


def test_an_offer_whose_brief_never_left_the_daemon_takes_nothing_at_the_start():
    offered = replace(OPEN, page="a.md", offers=(Offer("s2", 5),))
    untold = Known(offered, taken("h2"), told=False)
    made, pages = batons(untold)

    assert run(made, lambda: pages.written) and untold.noted == []


def test_what_a_closed_session_holds_is_settled_and_what_a_live_one_holds_is_left():
    made, pages = batons(Known(taken("h1", "a.md"), OPEN), CLOSED)
    asyncio.run(made.settle())
    assert pages.settled == ["s2"]

    made, pages = batons(Known(taken("h1", "a.md")), RECEIVER)
    asyncio.run(made.settle())
    assert pages.settled == []
    made, pages = batons(Known(replace(taken("h1", "a.md"), changed_at_ns=NOW_NS)), CLOSED)
    asyncio.run(made.settle())
    assert pages.settled == []


def test_one_that_is_taken_while_it_expires_keeps_no_other_back():
    made, pages = batons(Known(replace(OPEN, id="taken"), replace(OPEN, id="old")))
    asyncio.run(made.expire())

    assert pages.finished == []  # the clock of these tests stands below 14 days
    made._clock.now_ns = lambda: 15 * 86_400 * 10**9
    asyncio.run(made.expire())
    assert pages.finished == [(HandoffOp.EXPIRE, "old")]
