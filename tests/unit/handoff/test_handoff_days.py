"""The day in a page's name, in the page, and in a question is the same local day (MD-22)."""

import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from aimemory.api.times import instant_ns
from aimemory.handoff.build import handoff_place
from aimemory.handoff.closing import _place
from aimemory.index.events import SessionRow
from aimemory.model.handoff import Handoff, HandoffId, HandoffState
from aimemory.model.ids import ProjectId, SessionId
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import Actor, Project

MOMENTS = [  # zone, local time
    ("Pacific/Kiritimati", "2026-12-01T00:10:00"), ("Pacific/Kiritimati", "2026-11-30T23:50:00"),
    ("Asia/Kolkata", "2026-12-01T00:10:00"), ("America/Los_Angeles", "2026-11-30T23:50:00"),
    ("America/Los_Angeles", "2026-03-08T03:10:00"), ("America/Los_Angeles", "2026-11-01T00:30:00"),
    ("Europe/Berlin", "2026-10-25T03:30:00"), ("UTC", "2026-12-31T23:59:59"),
]  # fmt: skip
PROJECT = Project(ProjectId("p"), "default", "app", "dir:/srv/app")


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


@pytest.mark.promise("P6.150")
@pytest.mark.parametrize(("name", "local"), MOMENTS)
def test_names_pages_and_questions_speak_of_the_same_day(zone: pytest.MonkeyPatch, name: str, local: str) -> None:
    zone.setenv("TZ", name)
    time.tzset()
    moment = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(name))
    at_ns = int(moment.timestamp()) * 1_000_000_000
    row = SessionRow(
        id=SessionId("s"), harness="codex", native=None, project=PROJECT.id, cwd=None, first_seq=1, last_seq=1,
        started_at_ns=at_ns, last_at_ns=at_ns, prompts=1, tools=1, ended_at_ns=None, end_reason=None, process=None,
        closed_seq=None, page=None,
    )  # fmt: skip
    handoff = Handoff(
        id=HandoffId("3f9a1c"), session=SessionId("s"), project=PROJECT.id, harness="codex", manual=False,
        state=HandoffState.OPEN, opened_at_ns=at_ns, changed_at_ns=at_ns,
    )  # fmt: skip
    actor = Actor("ada", "m")

    assert rfc3339_local(at_ns)[:19] == local
    stamp = f"/{local[:4]}/{local[5:7]}/{local[5:7]}{local[8:10]}-{local[11:13]}{local[14:16]}-"
    assert stamp in _place(row, "Title", PROJECT, actor, 2)
    assert stamp in handoff_place(handoff, "Title", at_ns, PROJECT, actor)
    day = instant_ns(local[:10], "since")
    assert day is not None and day <= at_ns < day + 90_000 * 1_000_000_000
