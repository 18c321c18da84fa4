"""What pages say of each other: the successor comes before the page whose place it took, cause and cure come along."""

from typing import Any

import pytest

from aimemory.index.pages import newest_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.model.ids import ProjectId
from aimemory.model.links import LinkKind
from aimemory.model.page import Hit
from aimemory.recall.answer import Request, search
from aimemory.wiki.links import links_of

MORE = {f"x{n}": f"Heron {n} nests by the lake and topic{n} is told" for n in range(12)}


def _page(store: Any, name: str, body: str, project: str = "p", kind: str = "note", **front: Any) -> None:
    store.page(
        f"w/{project}/{name}.md", body, title=name.replace("-", " "), project=ProjectId(project), kind=kind,
        links=links_of(body, front),
    )  # fmt: skip


def _hits(store: Any, text: str, **scope: Any) -> list[Hit]:
    return list(read(store.db, search(Request(text, Scope(**scope)))).hits)


def _names(hits: list[Hit]) -> list[str]:
    return [(hit.path or "").rpartition("/")[2].removesuffix(".md") for hit in hits]


@pytest.mark.promise("P6.361")
@pytest.mark.parametrize(
    "said", ["use-spaces", "[[use-spaces]]", "[[w/p/use-spaces|Spaces]]", "[Spaces](use-spaces.md)"]
)
def test_a_successor_comes_before_the_page_that_names_it_also_without_any_of_the_words(store: Any, said: str) -> None:
    _page(store, "use-tabs", "Tabs in the parser, tabs in the lexer.", superseded_by=said)
    _page(store, "use-spaces", "Indent with four blanks.")
    for name, text in MORE.items():
        _page(store, name, text)

    hits = _hits(store, "tabs parser lexer")

    assert _names(hits) == ["use-spaces", "use-tabs"]
    assert hits[0].why == "supersedes 'use tabs'" and hits[1].labels == ("superseded by 'use spaces'",)
    assert hits[0].explanation.endswith("for its place count most what a better hit says of it")
    for hit in hits:
        assert sum(share for _, share in hit.shares) == pytest.approx(hit.score, abs=0.002)


@pytest.mark.promise("P6.361")
def test_over_several_steps_the_last_successor_comes_first(store: Any) -> None:
    _page(store, "a", "The walrus cache holds ten entries.")
    _page(store, "b", "Entries: twenty.", supersedes="[[a]]")
    _page(store, "c", "No limit.", Replaces=["b", "no page at all"])
    for name, text in MORE.items():
        _page(store, name, text)

    hits = _hits(store, "walrus cache entries")

    assert _names(hits)[0] == "c"
    assert {name: hit.labels for name, hit in zip(_names(hits), hits, strict=True)} == {
        "c": (), "a": ("superseded by 'b'",), "b": ("superseded by 'c'",)
    }  # fmt: skip
    current = read(store.db, newest_pages(["p"], ["note"], 50, current=True))
    assert {row.title for row in current} == {"c", *(name for name in MORE)}
    assert _names(_hits(store, "walrus cache entries", since_ns=1, kinds=("decision",))) == []


@pytest.mark.promise("P6.362")
def test_pages_that_contradict_each_other_are_both_labelled(store: Any) -> None:
    _page(store, "monday", "The walrus deploy is on Monday.")
    _page(store, "friday", "The walrus deploy is on Friday.", contradicts="monday")

    hits = _hits(store, "walrus deploy")

    assert {hit.title: hit.labels for hit in hits} == {
        "monday": ("contradicts 'friday'",), "friday": ("contradicts 'monday'",)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "why"), [("fixes", "fixes 'walrus outage'"), ("caused-by", "caused by 'walrus outage'")]
)
def test_cause_and_cure_come_along_behind_what_matches(store: Any, field: str, why: str) -> None:
    _page(store, "walrus-outage", "The walrus service was down for an hour.")
    _page(store, "walrus-song", "A song of the walrus.")
    _page(store, "pool-size", "Forty connections.", **{field: ["walrus-outage"]})
    for name, text in MORE.items():
        _page(store, name, text)

    hits = _hits(store, "walrus service down")

    assert _names(hits)[0] == "walrus-outage" and "pool-size" in _names(hits)
    assert next(hit.why for hit in hits if hit.title == "pool size") == why
    assert _names(_hits(store, '"walrus service"')) == ["walrus-outage"], "what is required is required"


@pytest.mark.promise("P6.363")
def test_only_the_own_project_has_a_say_no_note_ends_a_rule_and_imported_pages_say_nothing(store: Any) -> None:
    _page(store, "walrus-rule", "Never feed the walrus.", kind="rule")
    _page(store, "walrus-note", "A walrus note.")
    _page(store, "feed-it", "Go on.", supersedes=["walrus-rule"])
    _page(store, "foreign", "Other things.", project="q", supersedes="walrus-note")
    _page(store, "brought", "Other things.", supersedes="walrus-note", imported={"bundle": "b"})

    assert {hit.title: hit.labels for hit in _hits(store, "walrus")} == {"walrus note": (), "walrus rule": ()}
    _page(store, "everywhere", "Other things.", project="_global", supersedes="walrus-note")
    assert {hit.title: hit.labels for hit in _hits(store, "walrus", projects=("p",))} == {
        "walrus rule": (), "walrus note": ("superseded by 'everywhere'",)
    }, "what is outside the scope is not brought"  # fmt: skip


def test_bare_names_are_links_of_these_fields_alone_and_long_or_broken_ones_are_none() -> None:
    front = {"supersedes": ["a", "", "x" * 300, "[[b#c|d]]"], "Fixed By": "e", "related": "f", "causes": {"one": "g"}}
    found = links_of("[[h]]", front)

    assert [(link.target, link.role.value, link.kind) for link in found] == [
        ("a", "supersedes", LinkKind.NAMED), ("b", "supersedes", LinkKind.PROPERTY), ("e", "fixed by", LinkKind.NAMED),
        ("g", "causes", LinkKind.NAMED), ("h", "", LinkKind.WIKI),
    ]  # fmt: skip
