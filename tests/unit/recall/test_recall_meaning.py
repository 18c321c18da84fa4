"""The second stage of ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.recall.answer import Request, search


@dataclass(frozen=True)
class Given:
    """Cosines by path."""

    cosines: Mapping[str, float]
    weight: float = 0.7

    def of_pages(self, pages: Sequence[tuple[int, str, str]]) -> Mapping[int, float]:
        return {row: self.cosines[path] for row, path, _ in pages if path in self.cosines}


@pytest.fixture
def ask(store):
    def ask(text, cosines=None, **more):
        given = None if cosines is None else Given(cosines)
        return read(store.db, search(Request(text, Scope(), meaning=given, **more))).hits

    return ask


def shares(hit):
    return dict(hit.shares)


@pytest.fixture
def three(store):
    store.page("a.md", "the boiler room has the boiler and its boiler key")
    store.page("b.md", "a boiler and what else there is to say of it in more words")
    store.page("c.md", "a boiler that is named once among quite a few more words than in the others")


@pytest.mark.promise("P12.350")
def test_nearness_is_added_to_the_words_and_says_so(three, ask):
    before = ask("boiler")
    after = ask("boiler", {"a.md": 0.1, "b.md": 0.2, "c.md": 0.8})

    assert [hit.path for hit in before] == ["a.md", "b.md", "c.md"]
    assert after[0].path == "c.md" and "meaning" in shares(after[0])
    assert "means" in after[0].explanation
    for hit in after:
        assert sum(shares(hit).values()) == pytest.approx(hit.score, abs=0.001)
    assert not any("meaning" in shares(hit) for hit in before)


def test_without_any_vector_all_is_as_without(three, ask):
    assert ask("boiler", {}) == ask("boiler") == ask("boiler", {"a.md": -0.2, "b.md": 0.0})


def test_a_page_without_a_vector_is_neither_lifted_nor_sunk(three, ask):
    alike = ask("boiler", {"b.md": 0.5, "c.md": 0.5})

    assert [hit.path for hit in alike] == ["a.md", "b.md", "c.md"]
    raw = [shares(hit)["meaning"] for hit in alike]
    assert max(raw) == pytest.approx(min(raw), abs=0.001)


def test_what_is_superseded_stays_behind_others(store, ask):
    store.page("old.md", "the boiler is red", status="superseded")
    store.page("new.md", "the boiler is green")
    after = ask("boiler", {"old.md": 0.6, "new.md": 0.5})

    assert [hit.path for hit in after] == ["new.md", "old.md"]
    assert sum(shares(after[1]).values()) == pytest.approx(after[1].score, abs=0.001)


def test_only_the_first_thirty_are_looked_at(store, ask):
    for number in range(40):
        store.page(f"p{number:02}.md", "boiler " + "filler " * (number + 1))
    by_words = [hit.path for hit in ask("boiler", limit=40)]
    last = by_words[-1]
    after = ask("boiler", {path: 0.9 if path == last else 0.1 for path in by_words}, limit=40)

    assert sum("meaning" in shares(hit) for hit in after) == 30
    assert after[-1].path == last
