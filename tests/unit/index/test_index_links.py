"""The links of the index follow pages as they come, change and go."""

import random
import sqlite3
from collections.abc import Callable

import pytest

from aimemory.index.dump import dump
from aimemory.index.links import (
    ambiguous_links,
    broken_links,
    link_counts,
    links_from,
    links_to,
    pages_linking_to,
    shared_names,
)
from aimemory.index.pages import PageRow, delete_pages, upsert_pages
from aimemory.index.read import read
from aimemory.model.links import Link, LinkKind
from aimemory.privacy import Sanitized

PageOf = Callable[..., Sanitized[PageRow]]


def wiki(*targets: str) -> tuple[Link, ...]:
    return tuple(Link(LinkKind.WIKI, f"[[{target}]]", target) for target in targets)


def leads(db: sqlite3.Connection, path: str) -> list[str | None]:
    return [row.dest for row in read(db, links_from(path))]


def test_a_link_finds_its_page_when_that_comes_and_loses_it_when_it_goes(
    db: sqlite3.Connection, page_of: PageOf
) -> None:
    upsert_pages(db, [page_of("w/a/one.md", links=wiki("Two", "three"))])
    assert leads(db, "w/a/one.md") == [None, None]

    upsert_pages(db, [page_of("w/a/two.md"), page_of("w/b/Three.md")])
    assert leads(db, "w/a/one.md") == ["w/a/two.md", "w/b/Three.md"]
    assert read(db, pages_linking_to("w/a/two.md")) == ["w/a/one.md"]

    delete_pages(db, ["w/a/two.md"])
    assert leads(db, "w/a/one.md") == [None, "w/b/Three.md"]
    assert [row.link.target for row in read(db, broken_links())] == ["Two"]


def test_a_second_page_of_a_name_makes_links_ambiguous_and_one_that_is_nearer_takes_them(
    db: sqlite3.Connection, page_of: PageOf
) -> None:
    upsert_pages(db, [page_of("w/a/one.md", links=wiki("x")), page_of("w/b/x.md")])
    assert read(db, ambiguous_links()) == [] and read(db, shared_names()) == []

    upsert_pages(db, [page_of("w/a/x.md")])

    assert leads(db, "w/a/one.md") == ["w/a/x.md"]
    (row,) = read(db, ambiguous_links())
    assert (row.source, row.fits) == ("w/a/one.md", 2)
    assert read(db, shared_names()) == [("x.md", ("w/a/x.md", "w/b/x.md"))]


def test_a_changed_page_has_its_new_links_only_and_a_deleted_one_none(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("a.md", links=wiki("b", "c", "pic.png")), page_of("b.md")])
    upsert_pages(db, [page_of("a.md", links=wiki("b"))])
    assert [row.link.target for row in read(db, links_from("a.md"))] == ["b"]

    upsert_pages(db, [page_of("a.md")])
    assert read(db, links_to("b.md")) == []

    upsert_pages(db, [page_of("a.md", links=wiki("b", "nowhere", "pic.png"))])
    counts = read(db, link_counts())
    assert (counts.links, counts.broken) == (3, 1)  # a picture is not judged
    delete_pages(db, ["a.md"])
    assert read(db, link_counts()).links == 0


def test_links_of_a_generated_listing_are_no_backlinks(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("w/p/index.md", kind="index", links=wiki("b")), page_of("w/p/b.md")])

    assert read(db, pages_linking_to("w/p/b.md")) == [] and read(db, links_to("w/p/b.md")) == []
    assert leads(db, "w/p/index.md") == ["w/p/b.md"]


@pytest.mark.promise("P9.152")
@pytest.mark.parametrize("seed", range(5))
def test_after_any_changes_the_links_are_those_of_an_index_made_anew(
    db: sqlite3.Connection, page_of: PageOf, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Few names in few folders, so that links break, become ambiguous and heal all the time."""
    from aimemory.index.connect import open_writer

    chance = random.Random(seed)
    names = ["a", "B", "b", "c", "Cafe\u0301", "caf\u00e9"]
    targets = [*names, "w/a", "x/b", "../a", "./c", "/w/x/a", "", "pic.png"]
    pages: dict[str, Sanitized[PageRow]] = {}
    for _ in range(40):
        path = f"{chance.choice(['w', 'w/x', 'w/x/y'])}/{chance.choice(names)}.md"
        if chance.random() < 0.3:
            pages.pop(path, None)
            delete_pages(db, [path])
        else:
            pages[path] = page_of(path, links=wiki(*chance.sample(targets, 4)))
            upsert_pages(db, [pages[path]])

    fresh = open_writer(tmp_path_factory.mktemp("fresh") / "index.sqlite3")
    for path in chance.sample(sorted(pages), len(pages)):
        upsert_pages(fresh, [pages[path]])
    try:
        assert dump(fresh) == dump(db)
    finally:
        fresh.close()
