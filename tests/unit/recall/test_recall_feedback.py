"""What readers say of pages moves them a little, marks what is wrong or stale, and never hides one."""

from typing import Any

import pytest

from aimemory.index.apply import apply_lines
from aimemory.index.feedback import feedback_of, feedback_to_withdraw
from aimemory.index.read import read
from aimemory.journal.lines import Line
from aimemory.model.ids import Version
from aimemory.recall.answer import Request, search
from aimemory.recall.authority import authority


class Said:
    def __init__(self, store: Any) -> None:
        self.store = store
        self.seq = 1000

    def __call__(self, page: str, op: str, session: str | None = None, **more: Any) -> int:
        self.seq += 1
        data = {"op": op, "page": page, "path": page, "version": "v1", "user": "ada", **more}
        if session:
            data |= {"session": session, "harness": "codex"}
        apply_lines(self.store.db, [Line(self.seq, "feedback", self.seq, data)])
        return self.seq

    def counted(self, page: str) -> list[str]:
        return [row.verdict for row in read(self.store.db, feedback_of([page]))]


@pytest.fixture
def said(store: Any) -> Said:
    for name in "abc":
        store.page(f"{name}.md", "the walrus swims in the cold sea", title="Walrus", updated="2026-11-01")
    return Said(store)


def _order(store: Any) -> list[str]:
    return [hit.path or "" for hit in read(store.db, search(Request("walrus"))).hits]


@pytest.mark.promise("P12.260")
def test_of_equal_pages_the_helpful_comes_first_the_wrong_last_and_none_is_gone(store: Any, said: Said) -> None:
    before = _order(store)
    said(before[2], "helpful", "s1")
    said(before[0], "wrong", "s1")

    answer = read(store.db, search(Request("walrus")))

    assert [hit.path for hit in answer.hits] == [before[2], before[1], before[0]]
    assert [hit.labels for hit in answer.hits] == [(), (), ("called wrong by 1",)]
    for hit in answer.hits:
        assert sum(share for _, share in hit.shares) == pytest.approx(hit.score, abs=0.002)
    assert "moved up a little" in answer.hits[0].explanation and "moved down" in answer.hits[2].explanation
    assert dict(answer.hits[2].shares)["feedback"] < 0


@pytest.mark.promise("P12.260")
def test_a_better_answer_stays_first_whatever_readers_say_of_it(store: Any, said: Said) -> None:
    store.page("best.md", "sabre-toothed walrus fossil of Greenland", title="Walrus fossil")
    for n in range(9):
        said("best.md", "wrong", f"s{n}")
        said("a.md", "helpful", f"s{n}")

    hits = read(store.db, search(Request("walrus fossil Greenland"))).hits

    assert hits[0].path == "best.md" and hits[0].labels == ("called wrong by 9",)


@pytest.mark.promise("P12.360")
def test_one_voice_moves_a_page_among_equals_alone_and_three_move_it_behind_what_is_near(
    store: Any, said: Said
) -> None:
    store.page("most.md", "the walrus swims in the cold sea, near Greenland", title="Walrus")

    def first() -> str | None:
        return read(store.db, search(Request("cold walrus Greenland"))).hits[0].path

    for verdict in ("wrong", "stale"):
        said("most.md", verdict, "s1")
        assert authority([(verdict, True)]) == -0.02 and first() == "most.md"
    assert authority([("wrong", True)] * 3) <= 10 * authority([("wrong", True)])
    assert authority([("stale", True)] * 2) <= 4 * authority([("stale", True)])


@pytest.mark.promise("P12.261")
def test_one_voice_counts_once_the_last_word_counts_and_what_is_taken_back_does_not(store: Any, said: Said) -> None:
    for _ in range(20):
        said("a.md", "helpful", "s1")
    assert said.counted("a.md") == ["helpful"]
    said("a.md", "stale", "s1")
    said("a.md", "helpful")
    assert sorted(said.counted("a.md")) == ["helpful", "stale"]

    mine = read(store.db, feedback_to_withdraw("a.md", "ada", "codex", "s1", None))
    assert len(mine) == 21
    said("a.md", "withdraw", "s1", of=mine)
    assert said.counted("a.md") == ["helpful"]
    said("a.md", "of another time")
    assert said.counted("a.md") == ["helpful"]


@pytest.mark.promise("P12.261")
def test_wrong_and_stale_are_said_of_a_text_and_end_with_it(store: Any, said: Said) -> None:
    said("a.md", "wrong", "s1")
    said("a.md", "helpful", "s2")
    store.page("a.md", "the walrus swims in the warm sea", title="Walrus", version=Version("v2"), updated="2026-11-01")

    (hit,) = [hit for hit in read(store.db, search(Request("walrus"))).hits if hit.path == "a.md"]

    assert hit.labels == () and dict(hit.shares)["feedback"] > 0
    assert sorted(said.counted("a.md")) == ["helpful", "wrong"]


def test_the_weight_is_bounded() -> None:
    assert authority([]) == 0
    assert authority([("helpful", False)] * 100) == pytest.approx(0.06)
    assert authority([("wrong", True), ("stale", True), ("not helpful", True)] * 100) == -0.2
    assert authority([("wrong", False), ("unheard of", True)]) == 0
