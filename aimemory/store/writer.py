"""Makes each change durable, in order, with group commit.

The writer owns the journal and the page files. Its one worker thread runs batches: the first change waits for nobody;
what arrives while a batch is being synced shares the next sync. Success is said only after the sync.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from aimemory.errors import AimemoryError, Busy, Unavailable
from aimemory.journal.lines import Line, Record, encode_data
from aimemory.journal.segments import Journal
from aimemory.model.ids import Seq
from aimemory.model.protocols import Pulse

T = TypeVar("T")

Append = Callable[[Record], Seq]
"""Given to a page operation: writes one journal line, durably, from the writer's thread."""

_QUEUE_ITEMS = 20_000
_QUEUE_BYTES = 64 << 20
_BATCH_ITEMS = 512
_BATCH_BYTES = 4 << 20


@dataclass(slots=True)
class _Append:
    record: Record
    data_json: str
    future: asyncio.Future[Any]

    @property
    def cost(self) -> int:
        return len(self.data_json) + 200


@dataclass(slots=True)
class _Call:
    function: Callable[[Append], Any]
    future: asyncio.Future[Any]
    cost: int = 1000


_Item = _Append | _Call
_Outcome = tuple[_Item, Any, BaseException | None]


class Writer:
    """The one way to change journal and page files.

    on_durable receives every journal line once, in order, on the event loop, after its sync.
    """

    def __init__(self, journal: Journal, on_durable: Callable[[Sequence[Line]], None]) -> None:
        self._journal = journal
        self._on_durable = on_durable
        self._batches: queue.SimpleQueue[list[_Item] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work_until_none, name="writer", daemon=True)
        self._thread.start()
        self._pending: list[_Item] = []
        self._pending_bytes = 0
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._told_seq = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pulse: Pulse | None = None

    @property
    def last_seq(self) -> Seq:
        """The newest durable line that `on_durable` was told of; the journal itself may be a batch ahead."""
        return Seq(self._told_seq)

    async def record(self, record: Record) -> Seq:
        """Write one line; returns its number when it is durable.

        Raises Busy when the queue is full, Unavailable when the disk refuses or the daemon is stopping.
        """
        return await self.submit(record)

    def submit(self, record: Record) -> "asyncio.Future[Seq]":
        """As `record`, without waiting: the future carries the number or the error."""
        loop = self._check_open()
        future: asyncio.Future[Seq] = loop.create_future()
        self._add(_Append(record, encode_data(record.data.value), future))
        return future

    async def call(self, function: Callable[[Append], T]) -> T:
        """Run a page operation in the writer's thread, in order with all other changes."""
        loop = self._check_open()
        future: asyncio.Future[T] = loop.create_future()
        self._add(_Call(function, future))
        return await future

    async def run(self, pulse: Pulse) -> None:
        """Report until cancelled; the work itself is driven by arrivals."""
        self._pulse = pulse
        pulse.beat(queue=0)
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Refuse new changes, finish what was accepted, release the thread. Twice is fine."""
        self._closed = True
        await self._idle.wait()
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)
        self._journal.close()

    def _check_open(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise Unavailable("The daemon is stopping; nothing was stored. Try again when it is up.")
        if len(self._pending) >= _QUEUE_ITEMS or self._pending_bytes >= _QUEUE_BYTES:
            raise Busy(f"{len(self._pending)} changes wait to be written. Try again in a second.")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def _add(self, item: _Item) -> None:
        self._pending.append(item)
        self._pending_bytes += item.cost
        if not self._busy:
            self._busy = True
            self._idle.clear()
            self._kick()

    def _kick(self) -> None:
        count = size = 0
        for item in self._pending[:_BATCH_ITEMS]:
            count += 1
            size += item.cost
            if size >= _BATCH_BYTES:
                break
        batch = self._pending[:count]
        del self._pending[:count]
        self._pending_bytes -= size
        self._batches.put(batch)

    def _work_until_none(self) -> None:
        """The thread's body. `_work` hands every error to who waits for it."""
        while (batch := self._batches.get()) is not None:
            self._work(batch)

    def _work(self, batch: list[_Item]) -> None:
        """In the worker thread: neighbouring lines share one append and one sync."""
        outcomes: list[_Outcome] = []
        durable: list[Line] = []
        run: list[_Append] = []

        def flush() -> None:
            if run:
                outcomes.extend(self._append_run(run, durable))
                run.clear()

        def append(record: Record) -> Seq:
            data_json = encode_data(record.data.value)
            seq = self._journal.append([(record.type, record.at_ns, data_json)])[0]
            durable.append(Line(seq, record.type, record.at_ns, record.data.value, data_json))
            return Seq(seq)

        for item in batch:
            if isinstance(item, _Append):
                run.append(item)
                continue
            flush()
            try:
                outcomes.append((item, item.function(append), None))
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                outcomes.append((item, None, error))
        flush()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._done, outcomes, durable)

    def _append_run(self, run: list[_Append], durable: list[Line]) -> list[_Outcome]:
        try:
            seqs = self._journal.append([(i.record.type, i.record.at_ns, i.data_json) for i in run])
        except BaseException as error:  # noqa: BLE001 - every waiting caller gets it
            return [(item, None, error) for item in run]
        durable += [
            Line(seq, i.record.type, i.record.at_ns, i.record.data.value, i.data_json)
            for seq, i in zip(seqs, run, strict=True)
        ]
        return [(item, Seq(seq), None) for seq, item in zip(seqs, run, strict=True)]

    def _done(self, outcomes: list[_Outcome], durable: list[Line]) -> None:
        if durable:
            self._told_seq = durable[-1].seq
            self._on_durable(durable)
        failed = None
        for item, value, error in outcomes:
            if error is not None:
                failed = error
            if item.future.done():  # the client went away; what it sent is stored all the same
                continue
            if error is None:
                item.future.set_result(value)
            else:
                item.future.set_exception(error)
        self._report(failed, len(outcomes))
        if self._pending:
            self._kick()
        else:
            self._busy = False
            self._idle.set()

    def _report(self, failed: BaseException | None, count: int) -> None:
        if self._pulse is None:
            return
        if isinstance(failed, AimemoryError) and failed.http_status >= 500:
            self._pulse.fail(str(failed))
        elif failed is not None and not isinstance(failed, AimemoryError):
            self._pulse.fail(type(failed).__name__)
        else:
            self._pulse.beat(queue=len(self._pending), last=f"{count} changes, seq {self._journal.last_seq}")
            self._pulse.over()
