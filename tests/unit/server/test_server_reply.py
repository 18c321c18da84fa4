"""When a stored event is answered with a brief, and what becomes of one that fails or comes late."""

import asyncio
from types import SimpleNamespace

from aimemory.brief.compose import BriefText
from aimemory.handoff.offers import Candidate
from aimemory.harness.registry import load_registry
from aimemory.intake.counters import Counters
from aimemory.intake.decide import Outcome
from aimemory.model.event import Delivery, Event, EventKind
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.scope import Actor, Project
from aimemory.privacy import sanitize
from aimemory.server import reply
from aimemory.server.reply import Replies
from aimemory.sessions.liveness import Liveness

PROJECT = Project(id="p", workspace="default", folder="app", identity="")
DELIVERY = Delivery(
    harness="claude-code", event="SessionStart", at_ns=None, pid=1, cwd="/w", session_id=None, reply=True
)
OFFERED = Handoff(
    id="h1", session="s1", project="p", harness="codex", manual=False, state=HandoffState.OPEN, opened_at_ns=1,
    changed_at_ns=1,
)  # fmt: skip


class Clock:
    def now_ns(self):
        return 10**15


class Composer:
    """Gives what `brief` makes, and remembers for which occasions."""

    def __init__(self, brief):
        self.brief, self.occasions = brief, []

    async def compose(self, project, occasion):
        self.occasions.append(occasion)
        return await self.brief()


class Nothing:
    """An index without rows, and a journal that keeps all it is given; `held` stops it."""

    def __init__(self):
        self.lines, self.held, self.offers, self.told = [], None, [], []

    async def read(self, plan):
        plan.close()
        return [] if plan.__name__ == "briefs_of" else SimpleNamespace(prompts=9)

    async def reached(self, seq):
        pass

    async def record(self, record):
        self.lines.append(record)

    def given(self, handoff, session, at_ns):
        self.told.append((handoff, session))

    def offered_to(self, session):
        return []

    async def note(self, op, handoff, by, about, **_):
        self.offers.append(handoff)
        if self.held:
            await self.held.wait()
        return OFFERED


def replies(brief):
    parts, composer = Nothing(), Composer(brief)
    made = Replies(
        composer=composer, registry=load_registry(), claims=parts, writer=parts, projector=parts, reader=parts,
        config=SimpleNamespace(brief=SimpleNamespace(chars=6000, git_ms=350)), actor=Actor("ada", "m"), clock=Clock(),
        counters=Counters(Clock()),
    )  # fmt: skip
    return made, parts, composer


async def told(text="All is well.", content="c", **more):
    return BriefText(sanitize(text), content, **more)


async def ask(made, name="SessionStart", reason="startup"):
    kind = EventKind.PROMPT if name == "UserPromptSubmit" else EventKind.SESSION_START
    event = Event(
        harness="claude-code", event=name, kind=kind, cwd="/w", reason=None if kind is EventKind.PROMPT else reason
    )
    outcome = Outcome("stored", id="o", seq=1, session="s2", project=PROJECT, event=event, at_ns=1)

    async def is_there():
        return True

    return await made(outcome, DELIVERY, is_there)


def test_a_fault_of_ours_costs_the_brief_and_nothing_else():
    async def broken():
        raise KeyError("a bug")

    made, _, composer = replies(broken)

    async def story():
        first = await ask(made)
        composer.brief = told
        return first, await ask(made, "UserPromptSubmit")

    first, second = asyncio.run(story())
    assert first == b"" and b"All is well." in second


def test_what_was_offered_is_printed_though_the_journal_is_slow(monkeypatch):
    """Else the session would take with its first tool call what it was never told of."""
    monkeypatch.setattr(reply, "_LATE_NS", 1_000_000_000)

    async def offer():
        return await told(offer=Candidate(OFFERED, Liveness.QUIET))

    async def story():
        made, parts, _ = replies(offer)
        parts.held = asyncio.Event()
        return await ask(made), parts

    text, parts = asyncio.run(story())
    assert b"All is well." in text and parts.offers == ["h1"] and parts.told == [("h1", "s2")]


def test_that_a_session_was_told_is_noted_when_it_was_and_not_before():
    async def story():
        made, parts, _ = replies(told)
        await ask(made)
        before = list(parts.lines)
        await made.sent(Outcome("stored", session="s2", project=PROJECT, event=Event(
            harness="claude-code", event="SessionStart", kind=EventKind.SESSION_START, cwd="/w"
        )))  # fmt: skip
        return before, [(line.type, line.data.value["session"]) for line in parts.lines]

    assert asyncio.run(story()) == ([], [("brief", "s2")])


def test_a_brief_is_given_again_where_the_conversation_is_gone_and_not_where_it_is_kept():
    async def story():
        made, _, _ = replies(told)
        return [bool(await ask(made, reason=reason)) for reason in ("startup", "startup", "resume", "clear", "compact")]

    assert asyncio.run(story()) == [True, False, False, True, True]


def test_what_failed_after_a_compaction_comes_with_the_next_prompt_though_nothing_changed():
    async def story():
        made, _, composer = replies(told)
        await ask(made)
        composer.brief = None
        failed = await ask(made, reason="compact")
        composer.brief = told
        return failed, await ask(made, "UserPromptSubmit"), await ask(made, "UserPromptSubmit")

    failed, next_one, after = asyncio.run(story())
    assert failed == b"" and b"All is well." in next_one and after == b""


def test_a_resume_with_nothing_new_keeps_who_was_named_as_at_work():
    async def with_live():
        return await told(live=("s9",))

    async def nothing():
        return BriefText(sanitize(""))

    async def story():
        made, _, composer = replies(with_live)
        await ask(made)
        composer.brief = nothing
        await ask(made, reason="resume")
        seen = []

        async def follow_up(project, occasion, live):
            seen.append(tuple(live))
            return BriefText(sanitize(""))

        composer.follow_up = follow_up
        await ask(made, "UserPromptSubmit")
        return seen

    assert asyncio.run(story()) == [("s9",)]
