"""Conflict copies are bounded, and what the bound forces out is counted."""

import pytest

from aimemory.model.scope import Actor
from aimemory.privacy import sanitize
from aimemory.store import conflicts as conflicts_module
from aimemory.store.conflicts import Conflicts

ADA = Actor("ada", "box")
AGENT = Actor("ada", "box", harness="codex", session="s1")


class Clock:
    def __init__(self):
        self.now = 0

    def now_ns(self):
        self.now += 1_000_000_000
        return self.now


def keep(copies, text, actor=AGENT, path="default/app/notes/a.md"):
    return copies.keep(path, sanitize(text), expected="v1", stands="v2", actor=actor, summary="Update").id


@pytest.fixture
def copies(tmp_path, monkeypatch):
    monkeypatch.setattr(conflicts_module, "MAX_COPIES", 4)
    monkeypatch.setattr(conflicts_module, "MAX_BYTES", 1000)
    return Conflicts(tmp_path / "conflicts", Clock())


@pytest.mark.promise("P9.112")
def test_what_the_bound_forces_out_is_counted_agents_first_and_settled_before_them(copies, tmp_path):
    person = keep(copies, "by a person", ADA)
    first = keep(copies, "one")
    settled = keep(copies, "two", path="default/app/notes/b.md")
    copies.settle("default/app/notes/b.md", AGENT)
    kept = [keep(copies, text) for text in ("three", "four", "five")]

    left = {copy.id for copy in copies.all}
    assert person in left and not {first, settled} & left and set(kept) <= left
    assert copies.dropped == 1  # the settled one was no loss
    again = Conflicts(tmp_path / "conflicts", Clock())
    again.load()
    assert ({copy.id for copy in again.all}, again.dropped) == (left, 1)


@pytest.mark.promise("P9.112")
def test_their_size_is_bounded_and_the_newest_is_always_kept(copies):
    keep(copies, "x" * 600)
    newest = keep(copies, "y" * 900)
    assert [copy.id for copy in copies.all] == [newest]
    assert copies.text(newest)[1] == "y" * 900


@pytest.mark.promise("P9.112")
def test_an_agents_newest_is_kept_also_beside_older_ones_of_a_person(copies):
    persons = [keep(copies, text, ADA) for text in ("one", "two", "three", "four")]
    newest = keep(copies, "by an agent")
    assert {copy.id for copy in copies.all} == {*persons[1:], newest}


def test_a_foreign_file_is_left_alone(copies, tmp_path):
    keep(copies, "one")
    (tmp_path / "conflicts" / "mine.txt").write_text("not a copy\n")
    again = Conflicts(tmp_path / "conflicts", Clock())
    again.load()
    assert len(again.all) == 1 and (tmp_path / "conflicts" / "mine.txt").exists()
