"""The file of vectors, without any model."""

import sqlite3
from contextlib import closing

import pytest

from aimemory.index import vectors as file
from aimemory.index.vectors import PageSource, Survivors, VectorRow, open_vectors

MODEL = ("static", "m", 2)


def row(path, text="text", tokens=b"\x01\x00\xff\xff", generation=1, model=MODEL):
    source = PageSource(1, path, "v1", "title", text)
    return VectorRow(path, "v1", source.hash, *model, generation, 1, tokens, b"\x00\x3c\x00\x00")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.sqlite3"


def names(path):
    with closing(open_vectors(path)) as db:
        return file.paths_after(db, "", 100)


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"", None], ids=["foreign", "empty", "another schema"])
def test_a_file_that_cant_be_used_is_made_anew(path, damage):
    with closing(open_vectors(path)) as db:
        file.put(db, [row("a.md")])
        if damage is None:
            db.execute("pragma user_version = 99")
    if damage is not None:
        for side in ("-wal", "-shm"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        path.write_bytes(damage)

    assert names(path) == []


@pytest.mark.promise("P5.352")
def test_vectors_of_another_model_dimension_or_weighting_are_not_given(path):
    with closing(open_vectors(path)) as db:
        file.put(db, [row("a.md"), row("b.md", model=("static", "other", 2)), row("c.md", generation=2)])
        asked = ["a.md", "b.md", "c.md", "d.md"]

        assert set(file.vectors_of(db, asked, MODEL, 1)) == {"a.md"}
        assert file.vectors_of(db, asked, ("static", "m", 3), 1) == {}
        assert file.vectors_of(db, asked, ("endpoint", "m", 2), 1) == {}


@pytest.mark.promise("P10.350")
def test_survivors_are_those_whose_text_still_stands_and_nothing_else_is_in_the_file(path):
    gone, kept = b"\x11\x22\x33\x44\x55\x66\xff\xff", b"\x01\x02\xff\xff"
    with closing(open_vectors(path)) as db:
        file.put(db, [row("kept.md", tokens=kept), row("gone.md", tokens=gone), row("changed.md", tokens=gone)])
        file.put(db, [row("deleted.md", tokens=gone)])
        file.drop(db, ["deleted.md"])
        file.put_counted(db, 1, 4, gone * 10)
    survivors = Survivors(path)
    survivors.keep([PageSource(1, "kept.md", "v1", "title", "text")])
    survivors.keep([PageSource(2, "changed.md", "v1", "title", "another text"), PageSource(3, "new.md", "v1", "t", "")])
    survivors.take_place()
    survivors.close()

    assert names(path) == ["kept.md"]
    folder = b"".join(found.read_bytes() for found in sorted(path.parent.iterdir()))
    assert kept in folder and gone[:-2] not in folder


def test_a_half_made_file_of_survivors_leaves_the_old_one(path):
    with closing(open_vectors(path)) as db:
        file.put(db, [row("a.md")])
    Survivors(path).close()
    survivors = Survivors(path)  # the one before left its file
    survivors.keep([])
    survivors.close()

    assert names(path) == ["a.md"]


def test_thirty_pages_are_read_and_not_the_whole_file(path):
    with closing(open_vectors(path)) as db:
        file.put(db, [row(f"p{number}.md") for number in range(3000)])
        steps = []
        db.set_progress_handler(lambda: steps.append(1), 100)
        found = file.vectors_of(db, [f"p{number}.md" for number in range(30)], MODEL, 1)
        db.set_progress_handler(None, 0)

    assert len(found) == 30 and len(steps) < 100


def test_a_reader_cant_write(path):
    open_vectors(path).close()
    with closing(file.open_vectors_reader(path)) as db, pytest.raises(sqlite3.OperationalError):
        db.execute("delete from vector")
