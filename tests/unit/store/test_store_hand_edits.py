"""What changed outside of us: before a write only its own page is looked at, and nobody waits for a walk."""

import asyncio
import errno
import shutil
import threading
import time
from dataclasses import replace

import pytest
from inside import memory

from aimemory import points
from aimemory.daemon.reindex import reindex
from aimemory.errors import Conflict, NotFound, Unavailable
from aimemory.index.read import Statement
from aimemory.model.answers import Caller
from aimemory.privacy import sanitize
from aimemory.store import handedits as handedits_module
from aimemory.store.cutoff import take_back_cut_off
from aimemory.wiki.files import WikiFiles

pytestmark = pytest.mark.anyio

LIMIT_S = 20


class Walk:
    """The walk over the tree, held once it has looked: `begun` tells that, `go` lets it return what it saw."""

    def __init__(self, monkeypatch):
        self.begun, self.go = threading.Event(), threading.Event()
        real = handedits_module.scan

        def scan(root, known, given_up):
            found = real(root, known, given_up)
            self.begun.set()
            assert self.go.wait(LIMIT_S)
            return found

        monkeypatch.setattr(handedits_module, "scan", scan)


async def page(parts, title, **more):
    given = {"title": title, "body": f"About {title}.", "caller": Caller(cwd="/home/ada/zoo"), **more}
    written = await asyncio.wait_for(parts.memory.write_page(**given), LIMIT_S)
    await parts.committer.flush()
    return written


async def told(parts, path):
    """Who did what to a page, oldest first, by git."""
    past = await parts.committer.past(path, 20)
    lines = [next(line for line in one.commit.message.splitlines() if path in line) for one in reversed(past)]
    return [line.removeprefix("- ").partition(":")[0] for line in lines]


@pytest.mark.promise("P9.240")
async def test_a_write_takes_in_what_was_done_to_its_page_and_waits_for_no_walk(tmp_path, monkeypatch):
    async with memory(tmp_path) as (parts, _):
        wiki = parts.config.data.wiki
        one, gone = [(await page(parts, title)).path for title in ("Alpha", "Gone")]
        walk = Walk(monkeypatch)
        (wiki / one).with_name("other.md").write_text("# Other\n\nMade before the walk.\n")
        walking = asyncio.create_task(parts.pages.hand_edits.reconcile())
        await asyncio.to_thread(walk.begun.wait, LIMIT_S)

        # while the tree is walked: an edit by hand is built upon, a page is made, one is deleted
        (wiki / one).write_text((wiki / one).read_text() + "\nTyped by hand.\n")
        _, version = await parts.pages.read(one)
        await page(parts, "Alpha", body="Written since.", path=one, version=version)
        new = await page(parts, "New")
        deletion = await parts.memory.repair.delete_page(
            page=gone, caller=Caller(), version=(await parts.pages.read(gone))[1], apply=True
        )
        assert deletion.applied and not walking.done()
        walk.go.set()
        found = await walking

        assert await told(parts, one) == ["Add", "Edit by hand", "Update"]
        assert await told(parts, gone) == ["Add", "Delete"]
        assert await told(parts, new.path) == ["Add"]
        assert (found.changed, found.removed, found.by_hand) == (1, 0, 1), "what we did meanwhile is nobody's doing"


@pytest.mark.promise("P9.240")
async def test_a_name_that_somebody_took_by_hand_is_seen_without_a_walk(tmp_path, monkeypatch):
    async with memory(tmp_path) as (parts, _):
        wiki = parts.config.data.wiki
        folder = (await page(parts, "Alpha")).path.rpartition("/")[0]
        monkeypatch.setattr(handedits_module, "scan", None)
        (wiki / folder / "Caf\u00e9.md").write_text("Typed.\n")

        for name in ("Caf\u00e9.md", "CAF\u00c9.md", "Cafe\u0301.md"):
            with pytest.raises(Conflict) as refused:
                await page(parts, "Coffee", path=f"{folder}/{name}")
            assert refused.value.current == "Typed.\n", name
        assert await told(parts, f"{folder}/Caf\u00e9.md") == ["Edit by hand"]


@pytest.mark.promise("P9.244")
async def test_what_is_refused_at_the_last_instant_is_in_no_history(tmp_path, monkeypatch):
    """Somebody saves between our line in the journal and our file; then the disk refuses."""
    async with memory(tmp_path) as (parts, _):
        made = await page(parts, "Alpha")
        file = parts.config.data.wiki / made.path
        pages, repair = parts.pages, parts.memory.repair

        async def versions():
            shown = await repair.history(page=made.path, caller=Caller())
            return [(one.what, one.by_hand, one.version == made.version) for one in shown.changes]

        def save(name):
            if name in ("page.announced", "page.deletion-announced"):
                file.write_text(f"Typed at {name}.\n")

        def refuse(name):
            if name in ("page.announced", "page.deletion-announced"):
                raise OSError(errno.ENOSPC, "No space left on device")

        before = await versions()
        assert before == [("created", False, True)]
        for happens, error in ((refuse, Unavailable), (save, Conflict)):
            for op in ("write", "delete"):
                _, version = await pages.read(made.path)
                with monkeypatch.context() as during:
                    during.setattr(points, "reached", happens)
                    with pytest.raises(error):
                        if op == "write":
                            await pages.write(
                                made.path, sanitize("Ours."), expected=version, actor=parts.actor, summary="Update"
                            )
                        else:
                            await pages.delete(made.path, expected=version, actor=parts.actor)
                if happens is refuse:
                    assert await versions() == before
        assert await versions() == [("changed", True, False), *before]

        rows = {}
        for table in ("written", "page_line"):
            rows[table] = await parts.reader.read(_rows(table))
        async for _ in reindex(parts):
            pass
        for table, found in rows.items():
            assert await parts.reader.read(_rows(table)) == found
        assert await versions() == [("changed", True, False), *before]


@pytest.mark.promise("P9.321")
@pytest.mark.parametrize("op", ["write", "create", "delete"])
async def test_what_a_crash_cut_off_behind_its_line_is_in_no_history(tmp_path, op):
    """A kill between the line of a page and its file leaves the line as the journal's last, and the disk as it was."""

    async def history(parts):
        shown = await parts.memory.repair.history(page=path, caller=Caller())
        return [(one.what, one.by_hand, one.version) for one in shown.changes]

    async with memory(tmp_path) as (parts, clock):
        clock.ns = time.time_ns()
        made = await page(parts, "Alpha")
        path = made.path if op != "create" else made.path.replace("alpha", "beta")
        before = None if op == "create" else await history(parts)
        line = parts.pages._line(op.replace("create", "write"), path, None if op == "delete" else "c" * 16, parts.actor)
        clock.ns = time.time_ns() + 10**9
        await parts.writer.record(replace(line, at_ns=clock.ns))

    async def start():
        async with memory(tmp_path) as (parts, _):
            await parts.projector.reached(parts.journal.last_seq)
            took_back = await take_back_cut_off(
                parts.journal.ended_with, files=WikiFiles(parts.config.data.wiki), reader=parts.reader,
                writer=parts.writer, projector=parts.projector, clock=parts.clock, actor=parts.actor,
            )  # fmt: skip
            await parts.pages.hand_edits.take_stock()
            if op == "create":
                with pytest.raises(NotFound):
                    await history(parts)
            else:
                assert await history(parts) == before
            return took_back

    assert await start()
    assert not await start(), "once is enough"


@pytest.mark.promise("P9.321")
async def test_a_write_that_came_to_the_disk_stays_in_history_whatever_became_of_it_while_nothing_ran(tmp_path):
    """Permitted twin: the last line's version lies there, or somebody has changed or removed it since."""
    async with memory(tmp_path) as (parts, clock):
        clock.ns = time.time_ns() - 10**9
        first = await page(parts, "Alpha")
        _, version = await parts.pages.read(first.path)
        await page(parts, "Alpha", body="Second.", path=first.path, version=version)
        file = parts.config.data.wiki / first.path
    for change in (lambda: None, lambda: file.write_text("Typed.\n"), file.unlink):
        change()
        async with memory(tmp_path) as (parts, _):
            await parts.projector.reached(parts.journal.last_seq)
            assert not await take_back_cut_off(
                parts.journal.ended_with, files=WikiFiles(parts.config.data.wiki), reader=parts.reader,
                writer=parts.writer, projector=parts.projector, clock=parts.clock, actor=parts.actor,
            )  # fmt: skip


def _rows(table):
    return (yield Statement(f"select * from {table} order by 1"))


async def test_a_page_that_is_gone_with_its_folder_is_left_to_the_walk_which_knows_an_emptied_tree(tmp_path):
    async with memory(tmp_path) as (parts, _):
        wiki = parts.config.data.wiki
        paths = [(await page(parts, f"Page {number}")).path for number in range(25)]
        aside = shutil.move(wiki / "default", tmp_path / "aside")

        await parts.pages.hand_edits.look_at(paths[:1])
        assert "Is it unmounted or moved?" in (parts.pages.hand_edits.last.problem or "")
        shutil.move(aside, wiki / "default")
        await parts.pages.hand_edits.look_at(paths[:1])

        (wiki / paths[0]).unlink()  # alone, and its folder is there
        await parts.pages.hand_edits.look_at(paths[:1])
        assert await told(parts, paths[0]) == ["Add", "Delete by hand"]
        assert await told(parts, paths[1]) == ["Add"]


@pytest.mark.promise("P11.341")
async def test_a_cancelled_walk_tells_its_thread(tmp_path, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def scan(root, known, given_up):
        begun.set()
        while not given_up():
            ended.wait(0.01)
        ended.set()

    async with memory(tmp_path) as (parts, _):
        monkeypatch.setattr(handedits_module, "scan", scan)
        walking = asyncio.create_task(parts.pages.hand_edits.reconcile())
        assert await asyncio.to_thread(begun.wait, LIMIT_S)

        walking.cancel()

        assert await asyncio.to_thread(ended.wait, LIMIT_S)
