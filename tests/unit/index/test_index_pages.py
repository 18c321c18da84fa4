"""Pages in the index follow the files, full text included."""

import sqlite3
from collections.abc import Callable

from aimemory.index.connect import check
from aimemory.index.dump import dump
from aimemory.index.pages import (
    DeclaredProject,
    PageRow,
    PageStat,
    assign_project,
    date_ns,
    delete_pages,
    known_stats,
    newest_pages,
    page,
    pages_with_id,
    problems,
    projects,
    touch_pages,
    upsert_pages,
)
from aimemory.index.ranked import Ask, signals
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.model.ids import PageId, ProjectId, Version
from aimemory.privacy import Sanitized

PageOf = Callable[..., Sanitized[PageRow]]


def _matching(db: sqlite3.Connection, word: str) -> list[str]:
    rows = read(db, signals("page", [Ask("words", "page_fts", f'"{word}"')], Scope()))["words"]
    return sorted(db.execute("select path from page where n = ?", (row,)).fetchone()[0] for row in rows)


def test_a_changed_page_is_found_by_its_new_words_only(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("a.md", title="Old", body="walrus"), page_of("b.md", title="Other", body="walrus")])

    upsert_pages(db, [page_of("a.md", title="New", body="penguin", version=Version("v2"))])

    assert _matching(db, "walrus") == ["b.md"] and _matching(db, "penguin") == ["a.md"]
    assert _matching(db, "old") == [] and _matching(db, "new") == ["a.md"]
    found = read(db, page("a.md"))
    assert found is not None and (found.title, found.version) == ("New", "v2")
    assert check(db) == []


def test_a_deleted_page_is_found_by_nothing(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("a.md", body="walrus"), page_of("b.md", body="walrus")])

    delete_pages(db, ["a.md", "never-was.md"])

    assert _matching(db, "walrus") == ["b.md"] and read(db, page("a.md")) is None
    assert check(db) == []


def test_the_full_text_index_is_whole_after_many_changes(db: sqlite3.Connection, page_of: PageOf) -> None:
    for turn in range(6):
        upsert_pages(db, [page_of(f"{n}.md", body=f"walrus {n} {turn} 飞书插件") for n in range(turn, turn + 20)])
        delete_pages(db, [f"{n}.md" for n in range(turn, turn + 5)])

    assert check(db) == []
    assert _matching(db, "walrus") == sorted(path for path in read(db, known_stats()))


def test_of_two_rows_with_one_path_in_a_batch_the_later_counts(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("a.md", body="walrus"), page_of("b.md", body="other"), page_of("a.md", body="penguin")])

    assert (_matching(db, "walrus"), _matching(db, "penguin")) == ([], ["a.md"])
    assert check(db) == []


def test_the_same_pages_in_another_order_with_detours_give_the_same_dump(
    db: sqlite3.Connection, page_of: PageOf
) -> None:
    a, b = page_of("a.md", body="one"), page_of("b.md", body="two")
    upsert_pages(db, [a, b])
    straight = dump(db)

    delete_pages(db, ["a.md", "b.md"])
    upsert_pages(db, [b, page_of("a.md", body="draft"), page_of("c.md")])
    upsert_pages(db, [a])
    delete_pages(db, ["c.md"])

    assert dump(db) == straight


def test_the_stat_walk_gets_what_files_looked_like_and_can_note_a_touch(
    db: sqlite3.Connection, page_of: PageOf
) -> None:
    upsert_pages(db, [page_of("a.md", mtime_ns=5, size=7)])

    touch_pages(db, [("a.md", 6, 7), ("gone.md", 1, 1)])

    assert read(db, known_stats()) == {"a.md": PageStat(Version("v1"), 6, 7)}


def test_a_copied_file_leaves_two_pages_with_one_id(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(db, [page_of("a.md", id=PageId("x")), page_of("a copy.md", id=PageId("x"))])

    assert [found.path for found in read(db, pages_with_id("x"))] == ["a copy.md", "a.md"]


def test_pages_are_listed_newest_first_by_project_and_kind(db: sqlite3.Connection, page_of: PageOf) -> None:
    upsert_pages(
        db,
        [
            page_of("a.md", updated="2026-11-30T10:00:00+02:00", project=ProjectId("p"), tags=("x", "y")),
            page_of("b.md", created="2026-11-30T09:00:00Z", project=ProjectId("p"), kind="decision"),
            page_of("c.md", updated="not a date", mtime_ns=5),
        ],
    )

    assert [p.path for p in read(db, newest_pages())] == ["b.md", "a.md", "c.md"], "09:00 UTC is later than 10:00+02:00"
    assert [p.path for p in read(db, newest_pages(["p"], ["note"]))] == ["a.md"]
    assert [p.path for p in read(db, newest_pages(limit=1, offset=1))] == ["a.md"]
    assert read(db, newest_pages(["p"], ["note"]))[0].tags == ("x", "y")


def test_a_page_with_broken_front_matter_stays_searchable_and_is_reported(
    db: sqlite3.Connection, page_of: PageOf
) -> None:
    upsert_pages(db, [page_of("a.md", body="walrus", problem="line 3: mapping values are not allowed here")])

    assert _matching(db, "walrus") == ["a.md"]
    assert read(db, problems()) == [("a.md", "line 3: mapping values are not allowed here")]


def test_a_project_page_declares_its_project_until_it_is_gone(db: sqlite3.Connection, page_of: PageOf) -> None:
    declared = DeclaredProject(ProjectId("p1"), "github.com/acme/app", ("github.com/acme/old",), ("/home/ana/app",))
    row = page_of("default/app/app.md", kind="project", workspace="default", declares=declared)
    upsert_pages(db, [row, page_of("default/app/notes/n.md", workspace="default")])
    assign_project(db, "default/app", ProjectId("p1"))

    (project,) = read(db, projects())
    assert (project.id, project.path, project.aliases) == ("p1", "default/app", ("github.com/acme/old",))
    assert len(read(db, newest_pages(["p1"]))) == 2

    upsert_pages(db, [page_of("default/app/app.md", workspace="default")])
    assert read(db, projects()) == []
    assert db.execute("select count(*) from project_alias").fetchone() == (0,)


def test_a_date_is_the_updated_one_else_the_created_one_else_the_files() -> None:
    assert date_ns("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z", 9) == 1_000_000_000
    assert date_ns("soon", "1970-01-02", 9) == 86_400_000_000_000
    assert date_ns(None, None, 9) == 9
