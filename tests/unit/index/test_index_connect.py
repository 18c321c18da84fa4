"""The cache is safe to lose: what isn't ours or isn't whole is rebuilt, and readers never block the writer."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from aimemory.errors import AimemoryError, Unavailable
from aimemory.index.apply import apply_lines
from aimemory.index.connect import NeedsRebuild, check, open_async_reader, open_reader, open_writer, set_aside
from aimemory.index.dump import dump
from aimemory.index.events import counts, recent_observations
from aimemory.index.pages import PageRow, upsert_pages
from aimemory.index.read import Statement, aread, read
from aimemory.index.schema import SCHEMA
from aimemory.journal.lines import Line
from aimemory.privacy import Sanitized

Observed = Callable[..., Line]


def test_an_index_is_opened_again_with_what_it_had(path: Path, observed: Observed) -> None:
    first = open_writer(path)
    apply_lines(first, [observed(1)])
    before = dump(first)
    first.close()

    again = open_writer(path)
    assert dump(again) == before
    assert again.execute("pragma journal_mode").fetchone() == ("wal",)
    again.close()


@pytest.mark.parametrize("how", ["garbage", "other schema", "someone else's", "cut"])
def test_a_file_that_is_not_our_whole_index_asks_for_a_rebuild_and_can_be_set_aside(
    path: Path, observed: Observed, how: str
) -> None:
    if how == "garbage":
        path.write_bytes(b"not a database at all" * 400)
    elif how == "someone else's":
        other = sqlite3.connect(path)
        other.execute("create table theirs(x)")
        other.close()
    else:
        ours = open_writer(path)
        apply_lines(ours, [observed(n) for n in range(1, 50)])
        if how == "other schema":
            ours.execute(f"pragma user_version={SCHEMA + 1}")
        ours.close()
        if how == "cut":
            path.write_bytes(path.read_bytes()[:5000])

    with pytest.raises(NeedsRebuild, match="reindex"):
        open_writer(path)
    with pytest.raises(NeedsRebuild, match="reindex"):
        open_reader(path)
    with pytest.raises(NeedsRebuild):
        asyncio.run(_open_and_close(path))

    aside = set_aside(path)
    assert aside.exists() and not path.exists()
    open_writer(path).close()


async def _open_and_close(path: Path) -> None:
    await (await open_async_reader(path)).close()


@pytest.mark.promise("P1.51")
def test_damage_to_the_content_table_is_seen_and_applying_the_source_again_gives_the_same_answers(
    path: Path, tmp_path: Path, observed: Observed, page_of: Callable[..., Sanitized[PageRow]]
) -> None:
    lines = [observed(n, prompt=f"walrus {n}") for n in range(1, 30)]
    pages = [page_of(f"{n}.md", body=f"penguin {n}") for n in range(30)]

    def build(where: Path) -> sqlite3.Connection:
        made = open_writer(where)
        apply_lines(made, lines)
        upsert_pages(made, pages)
        return made

    db = build(path)
    before = dump(db)
    assert check(db) == []
    db.executescript("drop trigger page_text_change; update page_text set body = 'something else' where n = 3;")
    assert dump(db) != before
    assert check(db) == ["page_fts doesn't match its rows (SQLITE_CORRUPT_VTAB)"]
    db.executescript("drop trigger observation_out; delete from observation where seq = 4;")
    assert len(check(db)) == 2
    db.close()

    set_aside(path)
    rebuilt = build(path)
    assert dump(rebuilt) == before and check(rebuilt) == []
    rebuilt.close()


def test_readers_cannot_write(path: Path, db: sqlite3.Connection) -> None:
    reader = open_reader(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("delete from page")
    reader.close()


async def _counted(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    reader = open_reader(path)
    plain = read(reader, counts())
    reader.close()
    db = await open_async_reader(path)
    try:
        return plain, await aread(db, counts())
    finally:
        await db.close()


def test_a_plan_gives_the_same_over_both_kinds_of_connection(
    path: Path, db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(1)])
    plain, awaited = asyncio.run(_counted(path))
    assert plain == awaited and plain["observations"] == 1


def test_an_error_of_the_index_is_never_an_empty_answer_and_never_shows_sql(db: sqlite3.Connection) -> None:
    def plan():  # type: ignore[no-untyped-def]
        yield Statement("select secret_column from page")

    with pytest.raises(Unavailable, match="not the same as finding nothing") as caught:
        read(db, plan())
    assert "secret_column" not in str(caught.value)


def test_eight_readers_and_a_writer_at_once_never_meet_a_locked_database(
    path: Path, db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(n, prompt=f"walrus {n}") for n in range(1, 100)])
    everyone = threading.Barrier(9)
    stop = threading.Event()
    errors: list[Exception] = []
    reads = [0] * 8

    def look(number: int) -> None:
        reader = open_reader(path)
        try:
            everyone.wait(60)
            while not stop.is_set() or not reads[number]:
                assert read(reader, recent_observations(limit=20))
                assert read(reader, counts())["observations"] >= 99
                reads[number] += 1
        except (sqlite3.Error, AimemoryError, AssertionError) as error:
            errors.append(error)
        finally:
            reader.close()

    threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    everyone.wait(60)
    for batch in range(1, 15):
        apply_lines(db, [observed(batch * 100 + n, prompt=f"walrus {n}") for n in range(100)])
    stop.set()
    for thread in threads:
        thread.join(60)

    assert errors == [] and min(reads) > 0
    assert read(db, counts())["observations"] == 99 + 14 * 100


def test_a_sound_file_with_a_project_that_has_an_alias_is_not_called_damaged(tmp_path):
    """SQLite's quick_check called the rows of `project_alias` NULL."""
    with closing(open_writer(tmp_path / "index.sqlite3")) as db:
        db.execute("insert into project_alias(page, kind, value) values ('default/app/app.md', 'path', '/w/app')")

        assert check(db) == []
