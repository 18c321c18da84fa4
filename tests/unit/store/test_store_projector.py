"""The index takes in what is durable, and nothing that only stands in the file."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from aimemory.journal.segments import Journal
from aimemory.store.projector import Projector


@asynccontextmanager
async def no_readers():
    yield


def projector(tmp_path, known):
    """Over a journal of three lines of which the writer has reported the first `known`."""
    journal = Journal(tmp_path / "journal", 1 << 20, lambda: 10**18)
    (tmp_path / "journal").mkdir()
    for n in (1, 2, 3):
        journal.append([("note", n, f'{{"n":{n}}}')])
    journal.close()
    made = Projector(tmp_path / "index", tmp_path / "journal", lambda db, progress: None, lambda seq: None, no_readers)
    return made, known


@pytest.mark.promise("P2.102")
def test_a_line_that_is_in_the_file_but_not_yet_durable_is_not_applied(tmp_path):
    """The disk may refuse to sync it; then it is cut off, and its number is given to another."""

    async def story():
        made, known = projector(tmp_path, 2)
        await made.open()
        made.expect(known)
        await made.rebuild(lambda what, count: None)
        rebuilt = made.applied_seq
        made.expect(known)
        await made._step()
        caught_up = made.applied_seq
        await made.close(known)
        return rebuilt, caught_up

    assert asyncio.run(story()) == (2, 2)


def test_a_change_over_that_the_disk_refuses_leaves_an_index_that_works(tmp_path, monkeypatch):
    async def story():
        made, _ = projector(tmp_path, 3)
        await made.open()
        made.expect(3)
        await made.rebuild(lambda what, count: None)

        def refuse(name):
            if name == "rebuild.built":
                raise OSError(28, "No space left on device")

        monkeypatch.setattr("aimemory.points.reached", refuse)
        with pytest.raises(Exception, match="No space left"):
            await made.rebuild(lambda what, count: None)
        monkeypatch.undo()
        (lines,) = await made.execute(lambda db: db.execute("select sum(lines) from line_type").fetchone())
        await made.close(3)
        return lines

    assert asyncio.run(story()) == 3
