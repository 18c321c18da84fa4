"""What a query's vector is compared with, and how weights follow the pages; the real model, no daemon."""

from contextlib import closing

import pytest
from embeddings import clean

from aimemory.index import vectors as file
from aimemory.index.vectors import PageSource
from aimemory.privacy import sanitize
from aimemory.providers.static import StaticModel, wheel_folder
from aimemory.providers.vectors import packed
from aimemory.store.vectormaking import StaticMaker, take
from aimemory.store.vectors import QueryMeaning


@pytest.fixture(scope="module")
def model():
    return StaticModel(wheel_folder())


@pytest.fixture
def db(tmp_path):
    with closing(file.open_vectors(tmp_path / "vectors.sqlite3")) as db:
        yield db


def page(number, text, version="v1"):
    return PageSource(number, f"p{number}.md", version, f"page {number}", text)


def bring_up(maker, db):
    while maker.go_on(db):
        pass


@pytest.mark.promise("P5.352")
def test_a_vector_counts_for_the_version_that_it_was_made_of(model):
    tokens = model.tokens(clean("a boiler", "a boat"))
    boiler, boat = model.vectors(tokens, model.count(tokens).weights())
    stored = {"a.md": ("v1", packed(boiler[None])), "b.md": ("v0", packed(boiler[None])), "c.md": ("v1", b"odd")}
    found = QueryMeaning(boiler, 0.7, lambda paths: stored).of_pages(
        [(1, "a.md", "v1"), (2, "b.md", "v1"), (3, "c.md", "v1"), (4, "d.md", "v1")]
    )

    assert found == {1: pytest.approx(1, abs=0.01)}
    assert QueryMeaning(boat, 0.7, lambda paths: stored).of_pages([(1, "a.md", "v1")])[1] < 0.9


def test_weights_are_counted_anew_when_a_quarter_has_come(model, db):
    maker = StaticMaker(model, db)
    assert maker.query(sanitize("boiler"), 0) is None
    take(maker, db, [page(number, f"boiler number {number}") for number in range(8)])
    bring_up(maker, db)
    assert maker.generation == 1 and file.counts(db, 1) == (8, 8, 8)

    take(maker, db, [page(8, "a boat")])
    bring_up(maker, db)
    assert maker.generation == 1 and file.counts(db, 1) == (9, 9, 9)
    before = maker.query(sanitize("boat boiler"), 0)

    take(maker, db, [page(9, "another boat")])
    bring_up(maker, db)
    assert maker.generation == 2 and file.counts(db, 2) == (10, 10, 10)
    assert before.tolist() != maker.query(sanitize("boat boiler"), 0).tolist()

    again = StaticMaker(model, db)  # as after a restart
    assert again.generation == 2
    assert again.query(sanitize("boat boiler"), 0).tolist() == maker.query(sanitize("boat boiler"), 0).tolist()


def test_the_same_text_in_a_new_version_keeps_its_vectors(model, db):
    maker = StaticMaker(model, db)
    take(maker, db, [page(1, "a boiler")])
    bring_up(maker, db)
    known = ("static", model.model.model, 256)
    (_, vectors), number = (
        file.vectors_of(db, ["p1.md"], known, 1)["p1.md"],
        db.execute("select n from vector").fetchone(),
    )
    take(maker, db, [page(1, "a boiler", "v2")])

    assert file.vectors_of(db, ["p1.md"], known, 1)["p1.md"] == ("v2", vectors)
    assert db.execute("select n from vector").fetchone() == number
    take(maker, db, [page(1, "a boat", "v3")])
    assert file.vectors_of(db, ["p1.md"], known, 1)["p1.md"][1] != vectors


def test_a_query_in_signs_that_the_model_knows_less_counts_for_less(model, db):
    maker = StaticMaker(model, db)

    assert maker.weight("how is the boiler repaired") == 0.7
    assert maker.weight("锅炉怎么修") < 0.7
    assert maker.weight("boiler 锅 valve") == 0.7
