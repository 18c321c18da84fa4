"""Applies durable changes to the index, and rebuilds it.

Owns the one write connection and its thread. The index is a cache: whatever is wrong with it ends in a rebuild from
journal and wiki, while capture goes on. Lines come from the writer in order; when too many wait they are dropped here
and read back from the journal, so memory stays bounded.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, closing
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from aimemory import points
from aimemory.errors import AimemoryError, Unavailable
from aimemory.index.apply import BATCH_LINES, apply_lines, batches
from aimemory.index.connect import NeedsRebuild, open_writer, set_aside
from aimemory.journal.lines import Line
from aimemory.journal.replay import replay
from aimemory.model.protocols import Pulse

T = TypeVar("T")

_QUEUE_LINES = 20_000
_PAUSE_S = 0.25
_RETRY_S = 1.0
_REACH_LIMIT_S = 30.0

TakePages = Callable[[sqlite3.Connection, Callable[[str, int], None]], None]
"""Fills the page tables of a new index from the wiki; reports progress as (what, count)."""

Progress = Callable[[str, int], None]


class Projector:
    """The write side of the index.

    path: the cache file. journal: folder of the journal. on_applied: told the newest applied `seq`. no_readers: closes
    all read connections for the moment in which a rebuild replaces the file. damage: what was found wrong.
    """

    def __init__(
        self, path: Path, journal: Path, take_pages: TakePages, on_applied: Callable[[int], None],
        no_readers: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:  # fmt: skip
        self._path = path
        self._journal = journal
        self._take_pages = take_pages
        self._on_applied = on_applied
        self._no_readers = no_readers
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="projector")
        self._db: sqlite3.Connection | None = None
        self._queue: list[Line] = []
        self._behind = False
        self._wanted = False
        self._target = 0
        self._wake = asyncio.Event()
        self._moved = asyncio.Event()
        self._hurry = asyncio.Event()
        self._rebuilding = asyncio.Lock()
        self._after_rebuild: Callable[[], Awaitable[None]] = _nothing
        self.applied_seq = 0
        self._opened: dict[Path, tuple[int, int]] = {}
        self.damage: list[str] = []
        self.state = "closed"

    # -- starting and stopping ---------------------------------------------------------------------------------------

    async def open(self) -> bool:
        """Open the cache; False when it must be rebuilt (missing, damaged, of another schema): then `rebuild`."""
        try:
            existed = self._path.exists() and self._path.stat().st_size > 0
            self._db = await self._in_thread(lambda: open_writer(self._path))
            self.applied_seq = await self.execute(_applied)
        except NeedsRebuild as error:
            self.damage.append(str(error))
            await self._in_thread(lambda: set_aside(self._path))
            self._db = await self._in_thread(lambda: open_writer(self._path))
            self.applied_seq, existed = 0, False
        self._remember_files()
        self.state = "level"
        return existed

    async def close(self, last_seq: int) -> None:
        """Apply up to `last_seq` if that is quick, then close. What is missing is replayed at the next start."""
        try:
            async with asyncio.timeout(2):
                while self.applied_seq < last_seq and self._db is not None:
                    if not await self._step():
                        break
        except (TimeoutError, AimemoryError):
            pass
        db, self._db = self._db, None
        self.state = "closed"
        if db is not None:
            await self._in_thread(db.close)
        self._thread.shutdown(wait=True)

    # -- lines -------------------------------------------------------------------------------------------------------

    def tell_of_rebuild(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Have `callback` awaited after each rebuild: it took files in without asking who wrote them."""
        self._after_rebuild = callback

    def feed(self, lines: Sequence[Line]) -> None:
        """Durable lines, in order, on the event loop."""
        self._target = lines[-1].seq
        if self._behind or len(self._queue) + len(lines) > _QUEUE_LINES:
            self._behind = True
            self._queue.clear()
        else:
            self._queue.extend(lines)
        self._wake.set()

    def expect(self, last_seq: int) -> None:
        """The journal holds lines up to `last_seq` that were written before this process started."""
        self._target = max(self._target, last_seq)
        if last_seq > self.applied_seq:
            self._behind = True
            self._wake.set()

    def ask_rebuild(self) -> None:
        """Have `run` build the index anew before anything else."""
        self._wanted = True
        self.state = "rebuilding"
        self._wake.set()

    async def settled(self) -> None:
        """Wait for the end of a rebuild that was asked for."""
        while self._wanted:
            self._moved.clear()
            await self._moved.wait()

    @property
    def known_seq(self) -> int:
        """The newest durable line: what `reached` can wait for. The journal itself may be a batch ahead."""
        return max(self._target, self.applied_seq)

    @property
    def lag(self) -> int:
        """Durable lines that the index doesn't show yet."""
        return max(0, self._target - self.applied_seq)

    async def reached(self, seq: int) -> None:
        """Wait until the index shows line `seq`. Raises Unavailable after 30 s, or when `seq` does not exist yet."""
        if seq > self.known_seq:
            raise Unavailable(f"There is no line {seq} in the journal yet; the newest is {self.known_seq}.")
        try:
            async with asyncio.timeout(_REACH_LIMIT_S):
                while self.applied_seq < seq:
                    self._hurry.set()
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            raise Unavailable(
                f"The index shows {self.applied_seq} of {seq} lines; it is catching up. Try again."
            ) from None

    async def run(self, pulse: Pulse) -> None:
        """Apply what comes until cancelled; a damaged index is rebuilt."""
        self._wake.set()  # what was begun before a failure is not forgotten
        while True:
            pulse.beat(queue=self.lag)
            await self._wake.wait()
            self._wake.clear()
            try:
                if self._wanted:
                    await self.rebuild(lambda what, count: pulse.beat(queue=self.lag, last=f"rebuild: {count} {what}"))
                while self.applied_seq < self._target:
                    if not await self._step():
                        break
                    pulse.beat(queue=self.lag, last=f"seq {self.applied_seq}")
                    if self.lag < BATCH_LINES:
                        await self._pause()
                pulse.over()
            except NeedsRebuild as error:
                self.note_damage(str(error))
                pulse.fail(str(error))
                self.ask_rebuild()
                await asyncio.sleep(_RETRY_S)
            except Unavailable as error:  # a full disk, a lock: what waits is tried again, also without a new line
                pulse.fail(str(error))
                await asyncio.sleep(_RETRY_S)
                self._wake.set()

    async def _pause(self) -> None:
        """Let lines gather, since each small transaction costs as much as many lines and leaves a small FTS segment to
        merge; but not while somebody waits for one."""
        self._hurry.clear()
        try:
            async with asyncio.timeout(_PAUSE_S):
                await self._hurry.wait()
        except TimeoutError:
            pass

    async def execute(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function over the write connection, in its thread, between batches."""
        return await self._in_thread(lambda: function(self._connection()))

    async def _step(self) -> bool:
        """Apply one batch; False if nothing could be had."""
        if self._behind:
            applied = await self._in_thread(self._catch_up)
            if applied >= self._target:
                self._behind = False
        else:
            batch = self._queue[:BATCH_LINES]
            if not batch:
                return False
            applied = await self._in_thread(lambda: apply_lines(self._connection(), batch))
            del self._queue[: len(batch)]
        moved = applied > self.applied_seq
        self.applied_seq = max(applied, self.applied_seq)
        self._moved.set()
        self._on_applied(self.applied_seq)
        if not self._queue and self.applied_seq < self._target and not self._behind:
            self._behind = True
            return True
        if not moved and self._behind:  # the journal can't give what was promised: skipped damage at its end
            self.applied_seq, self._behind = self._target, False
        return moved

    def _catch_up(self) -> int:
        """In the thread: a few batches from the journal itself."""
        db = self._connection()
        applied = _applied(db)
        for count, batch in enumerate(batches(self._durable(applied, self.note_damage))):
            applied = apply_lines(db, batch)
            if count == 3:
                break
        return applied

    def look(self) -> None:
        """Whether the file that is open still has its name, and SQLite's side file too; else have it built anew.

        What is written into a file that somebody removed, or put another in the place of, is gone with this process,
        and a second opening would see another state than the first.
        """
        if self._db is None or self._wanted or self._rebuilding.locked():
            return
        for path, known in self._opened.items():
            try:
                found = path.stat()
            except FileNotFoundError:
                found = None
            if found is None or (found.st_dev, found.st_ino) != known:
                self.note_damage(f"{path.name} was removed or replaced while it was in use; the index is built anew.")
                self.ask_rebuild()
                return

    def _remember_files(self) -> None:
        """Which files belong to the connection that was opened just now."""
        self._opened = {}
        for suffix in ("", "-wal"):
            path = self._path.with_name(self._path.name + suffix)
            if path.exists():
                found = path.stat()
                self._opened[path] = (found.st_dev, found.st_ino)

    # -- rebuilding --------------------------------------------------------------------------------------------------

    async def rebuild(self, progress: Progress) -> None:
        """Build the index anew from journal and wiki beside the old one, then take its place.

        Reads go on from the old file until then; lines that arrive meanwhile are applied to the new one before the
        change-over. A kill in the middle leaves the old file; a half-built one is thrown away.
        """
        async with self._rebuilding:
            self.state = "rebuilding"
            try:
                applied = await self._build_and_change_over(progress)
                self._wanted = False
            except OSError as error:
                raise Unavailable(f"The index can't be built anew: {error.strerror}. It is tried again.") from error
            finally:
                self.state = "rebuilding" if self._wanted else "level"
            self._queue.clear()
            self._remember_files()
            self._behind = True
            self.applied_seq = applied
            self._moved.set()
            self._wake.set()
            progress("done", applied)
            await self._after_rebuild()

    async def _build_and_change_over(self, progress: Progress) -> int:
        fresh = self._path.with_name(self._path.name + ".new")
        builder = ThreadPoolExecutor(1, thread_name_prefix="rebuild")
        stopped = threading.Event()

        def report(what: str, count: int) -> None:
            if stopped.is_set():
                raise Unavailable("The index is not being built any more: the daemon is stopping.")
            progress(what, count)

        try:
            await asyncio.get_running_loop().run_in_executor(builder, lambda: self._build(fresh, report))
            async with self._no_readers():
                return await self._in_thread(lambda: self._change_over(fresh))
        except BaseException:
            if self._db is None:  # the disk failed while the files changed places
                self._wanted = True
                self._wake.set()  # whoever asked for this one is told of the failure; the next is `run`'s
                self._db = await self._in_thread(lambda: open_writer(self._path))
                self.applied_seq = await self.execute(_applied)
            raise
        finally:
            stopped.set()  # the thread looks at it between two batches, and nobody waits for it here
            builder.shutdown(wait=False)

    def _build(self, fresh: Path, progress: Progress) -> None:
        _remove(fresh)
        with closing(open_writer(fresh)) as db:
            db.execute("pragma synchronous=off")  # a half-built file is thrown away anyway
            lines = 0
            for batch in batches(self._durable(0, self.note_damage)):
                apply_lines(db, batch)
                lines += len(batch)
                progress("lines", lines)
                points.reached("rebuild.lines")
            self._take_pages(db, progress)
            points.reached("rebuild.pages")
            db.execute("pragma wal_checkpoint(truncate)")

    def _change_over(self, fresh: Path) -> int:
        """In the projector's thread, so that no batch is in the way."""
        with closing(open_writer(fresh)) as db:
            applied = _applied(db)
            for batch in batches(self._durable(applied)):
                applied = apply_lines(db, batch)
            db.execute("pragma wal_checkpoint(truncate)")
        if self._db is not None:
            self._db.close()
            self._db = None
        points.reached("rebuild.built")
        _remove(self._path)
        points.reached("rebuild.old-removed")
        fresh.replace(self._path)
        points.reached("rebuild.named")
        _remove(fresh)
        self._db = open_writer(self._path)
        return applied

    def _durable(self, after: int, on_damage: Callable[[str], None] | None = None) -> Iterator[Line]:
        """In a thread: the journal's lines up to the newest that is known to be on the disk.

        What stands behind it in the file is being written; if the disk refuses it is cut off and its number used again.
        """
        return takewhile(lambda line: line.seq <= self._target, replay(self._journal, after, on_damage))

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            raise Unavailable("The index is closed: the daemon is stopping.")
        return self._db

    def note_damage(self, what: str) -> None:
        """Remember for `status` what was found wrong."""
        if what not in self.damage and len(self.damage) < 100:
            self.damage.append(what)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)


async def _nothing() -> None:
    return


def _applied(db: sqlite3.Connection) -> int:
    (value,) = db.execute("select value from meta where key = 'applied_seq'").fetchone()
    return int(value)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
