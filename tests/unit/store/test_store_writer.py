"""Group commit: in order, durable before it is said, bounded."""

import asyncio
import threading

import pytest

from aimemory.errors import Busy, Unavailable
from aimemory.journal.lines import Record
from aimemory.journal.replay import replay
from aimemory.journal.segments import Journal
from aimemory.privacy import sanitize_tree
from aimemory.store import writer as writer_module
from aimemory.store.writer import Writer


def record(text):
    return Record("observation", 1, sanitize_tree({"text": text}))


def opened(folder):
    journal = Journal(folder, 1 << 20, lambda: 1_796_000_000_000_000_000)
    journal.open()
    return journal


def texts(folder):
    return [line.data["text"] for line in replay(folder)]


def test_changes_are_durable_in_the_order_of_asking_and_told_once(tmp_path):
    async def story():
        told = []
        writer = Writer(opened(tmp_path), lambda lines: told.extend(line.seq for line in lines))
        seqs = await asyncio.gather(*(writer.record(record(str(n))) for n in range(50)))
        await writer.close()
        return seqs, told

    seqs, told = asyncio.run(story())

    assert seqs == told == list(range(1, 51))
    assert texts(tmp_path) == [str(n) for n in range(50)]


@pytest.mark.promise("P2.1")
def test_success_is_said_after_the_sync_and_not_before(tmp_path, monkeypatch):
    syncing, go_on, told = threading.Event(), threading.Event(), []

    def sync(fd):
        syncing.set()
        assert go_on.wait(60)

    async def story():
        writer = Writer(opened(tmp_path), told.append)
        await writer.record(record("the segment is begun"))
        told.clear()
        monkeypatch.setattr("aimemory.datadir.sync_fd", sync)
        kept = writer.submit(record("kept"))
        assert await asyncio.to_thread(syncing.wait, 60)  # a success said before the sync would have come before this
        before = kept.done(), list(told)
        go_on.set()
        after = await kept
        await writer.close()
        return before, after

    assert asyncio.run(story()) == ((False, []), 2)
    assert [line.data["text"] for (line,) in told] == ["kept"]


def test_a_page_operation_keeps_its_place_among_the_lines(tmp_path):
    async def story():
        writer = Writer(opened(tmp_path), lambda lines: None)
        first = writer.submit(record("before"))
        middle = asyncio.ensure_future(writer.call(lambda append: append(record("within"))))
        await asyncio.sleep(0)
        last = writer.submit(record("after"))
        found = [await first, await middle, await last]
        await writer.close()
        return found

    assert asyncio.run(story()) == [1, 2, 3]
    assert texts(tmp_path) == ["before", "within", "after"]


def test_the_error_of_one_operation_is_its_own(tmp_path):
    async def story():
        writer = Writer(opened(tmp_path), lambda lines: None)

        def broken(append):
            raise KeyError("mine")

        failing = asyncio.ensure_future(writer.call(broken))
        kept = await writer.record(record("kept"))
        with pytest.raises(KeyError):
            await failing
        await writer.close()
        return kept

    assert asyncio.run(story()) == 1


def test_a_full_queue_refuses_and_says_when_to_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "_QUEUE_ITEMS", 3)

    async def story():
        writer = Writer(opened(tmp_path), lambda lines: None)
        go_on = threading.Event()
        held = asyncio.ensure_future(writer.call(lambda append: go_on.wait(60)))
        await asyncio.sleep(0)
        waiting = [writer.submit(record(str(n))) for n in range(3)]
        with pytest.raises(Busy) as refused:
            writer.submit(record("too much"))
        go_on.set()
        await held
        await asyncio.gather(*waiting)
        await writer.close()
        return refused.value

    refused = asyncio.run(story())

    assert refused.http_status == 429 and refused.retry_after_s == 1
    assert texts(tmp_path) == ["0", "1", "2"]


def test_closing_finishes_what_was_accepted_and_refuses_more(tmp_path):
    async def story():
        writer = Writer(opened(tmp_path), lambda lines: None)
        accepted = [writer.submit(record(str(n))) for n in range(20)]
        await writer.close()
        await writer.close()
        with pytest.raises(Unavailable):
            writer.submit(record("late"))
        return [f.result() for f in accepted]

    assert asyncio.run(story()) == list(range(1, 21))


def test_a_client_that_went_away_loses_nothing(tmp_path):
    async def story():
        writer = Writer(opened(tmp_path), lambda lines: None)
        go_on = threading.Event()
        held = asyncio.ensure_future(writer.call(lambda append: go_on.wait(60)))
        await asyncio.sleep(0)
        gone = writer.submit(record("still stored"))
        gone.cancel()
        go_on.set()
        await held
        await writer.close()

    asyncio.run(story())

    assert texts(tmp_path) == ["still stored"]
