"""The listing of a project's pages is bounded, and every kind of page is in it."""

import pytest

from aimemory.index.pages import PageInfo
from aimemory.model.ids import PageId, ProjectId, Version
from aimemory.upkeep.listings import project_listing
from aimemory.wiki.okf import conformance


def row(kind: str, number: int) -> PageInfo:
    path = f"w/p/{kind}/{number}.md"
    return PageInfo(
        path,
        PageId(path),
        kind,
        f"Title {number}",
        "",
        (),
        None,
        None,
        None,
        number,
        ProjectId("p"),
        "w",
        Version("v"),
        None,
    )


@pytest.mark.promise("P11.150")
def test_a_large_project_has_a_listing_of_200_lines_with_all_kinds() -> None:
    kinds = [
        "session",
        "decision",
        "rule",
        "gotcha",
        "procedure",
        "concept",
        "note",
        "slot",
        "handoff",
        "BigQuery Table",
    ]
    rows = [row(kind, number) for number in range(1000) for kind in kinds]

    text = project_listing(rows, "w/p")

    assert 190 < len(text.splitlines()) <= 200 and conformance({"index.md": text}) == {}
    assert all(f"]({kind.replace(' ', '%20')}/0.md)" in text for kind in kinds)


def test_room_that_one_kind_does_not_need_goes_to_others() -> None:
    text = project_listing([row("note", number) for number in range(170)] + [row("session", 1)], "w/p")

    assert text.count("](note/") == 170 and "more, see the folder" not in text
