"""`why` says of a handoff what would really happen to it: by the rules of briefs, and by the settings."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aimemory.api.history import History
from aimemory.errors import NotFound
from aimemory.model.answers import Caller
from aimemory.model.handoff import Handoff, HandoffState
from aimemory.model.scope import Actor
from aimemory.sessions.liveness import Liveness

OPEN = Handoff(
    id="h1", session="s1", project="p", harness="codex", manual=False, state=HandoffState.OPEN, opened_at_ns=1,
    changed_at_ns=1, page="a/handoffs/b.md",
)  # fmt: skip


class Parts:
    """One handoff in an index without events."""

    def __init__(self, handoff, is_deleted):
        self.found, self.deleted, self.folds = handoff, is_deleted, 0

    async def ready(self):
        pass

    async def level(self):
        pass

    async def session_row(self, name):
        raise NotFound("no such session")

    async def handoff(self, name, caller):
        return self.found

    async def standing(self, handoff):
        return Liveness.ENDED

    async def has_page(self, handoff):
        return not self.deleted

    async def read(self, plan):
        plan.close()
        return []

    def now_ns(self):
        return 1


def why(handoff=OPEN, offer="content", is_deleted=False):
    parts = Parts(handoff, is_deleted)
    history = History(
        lookup=parts, claims=parts, surveyor=parts, sessions=None, reader=parts, projects=None, clock=parts,
        config=SimpleNamespace(handoff=SimpleNamespace(offer=offer)), actor=Actor("ada", "m1"), title_of=str,
    )  # fmt: skip
    return asyncio.run(history.why(caller=Caller(cwd="/w"), about="h1"))[-1].said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "the next session here can be offered it"),
        ({"handoff": replace(OPEN, to="machine:m1")}, "the next session here can be offered it"),
        ({"handoff": replace(OPEN, to="machine:m2")}, "not offered, for it is for machine:m2"),
        ({"offer": "off"}, "not offered, for `handoff.offer` is off"),
        ({"is_deleted": True}, "not offered, for its page is not where it was written"),
    ],
)
def test_why_says_what_the_next_session_is_told(more, said):
    assert why(**more) == f"Handoff h1: {said}"
