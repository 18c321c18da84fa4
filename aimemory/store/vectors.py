"""Keeps vectors of all pages in step with the index, in the background, and says what a query means.

Owns the file of vectors and one thread that writes it. Everything here is an addition: where the extra is missing, a
model can't be used or an endpoint is silent, searches answer as they do without, and `status` says why.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aimemory.config import Recall
from aimemory.errors import AimemoryError, Unavailable
from aimemory.index import vectors as file
from aimemory.index.vectors import PageSource
from aimemory.model.protocols import Pulse
from aimemory.privacy import Sanitized
from aimemory.providers.choose import choose, closed, load
from aimemory.providers.chunks import CHUNK_CHARS, MOST_CHUNKS
from aimemory.store.reader import Reader

if TYPE_CHECKING:
    from aimemory.providers.vectors import Matrix
    from aimemory.store.vectormaking import Maker

T = TypeVar("T")

BODY_CHARS = 2 * CHUNK_CHARS * MOST_CHUNKS
"""What of a page can become vectors; its hash is of this part."""
_AT_ONCE = 20
_GATHER_S = 0.2
_LOOK_S = 60.0
_AGAIN_S = (10.0, 600.0)
_QUIET_S = 30.0
"""After an endpoint failed a query so long no query waits for it."""
_MOST_CHANGED = 5_000
_COUNT_S = 1.0


class Vectors:
    """`run` is a task of the daemon; `meaning` is asked by each search; `survive` follows each new index."""

    def __init__(self, *, path: Path, key_file: Path, reader: Reader, settings: Recall) -> None:
        self._path = path
        self._key_file = key_file
        self._reader = reader
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="vectors")
        self._lock = asyncio.Lock()
        self._begun = asyncio.Event()
        self._wake = asyncio.Event()
        self._changed: set[str] = set()
        self._sweep = True
        self._maker: Maker | None = None
        self._model: object = None
        self._db: sqlite3.Connection | None = None
        self._read: sqlite3.Connection | None = None
        self._silent_until = 0.0
        self._silent: str | None = None
        self._file: tuple[int, int] | None = None
        self._is_damaged = False
        self._without: dict[str, str] = {}
        self._counts = (0, 0, 0)
        self._count_again = 0.0
        self._state = "waiting"
        self._why: str | None = None

    # -- the task ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The daemon has given its first answer; until then nothing of the extra is loaded."""
        self._begun.set()

    def changed(self, paths: Sequence[str]) -> None:
        """These pages changed in the index, or went."""
        if len(self._changed) < _MOST_CHANGED:
            self._changed.update(paths)
        else:
            self._sweep = True
        self._wake.set()

    async def run(self, pulse: Pulse) -> None:
        """Load the model, then make what is missing, until cancelled. A provider that fails is tried again."""
        await self._begun.wait()
        pause = _AGAIN_S[0]
        while True:
            try:
                if self._maker is None and not await self._open():
                    pulse.beat(last=self._why)
                    await asyncio.Event().wait()  # off: until the daemon is cancelled
                self._wake.clear()
                await self._bring_up(pulse)
                self._state, pause = "level", _AGAIN_S[0]
                self._why = _left_out(self._without)
                pulse.beat(queue=len(self._without), last=f"{self._counts[1]:,} pages")
                await self._look_again()
            except (AimemoryError, sqlite3.DatabaseError, OSError) as error:
                self._why, self._is_damaged = _said(error), self._is_damaged or _is_damage(error)
                self._state, self._sweep = "failing", True
                pulse.fail(self._why)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _AGAIN_S[1])

    async def _open(self) -> bool:
        """Load the model and open the file; False, and no file is left, where vectors are off."""
        chosen = choose(self._settings)
        if chosen.provider is None:
            self._state, self._why = "off", chosen.why
            await self._in_thread(lambda: file.remove_vectors(self._path))
            return False
        self._state = "loading"
        provider = chosen.provider
        if self._model is None:
            self._model = await self._in_thread(lambda: load(provider, self._settings, self._key_file))
        async with self._lock:
            await self._open_file()
        return True

    async def _open_file(self) -> None:
        self._maker = await self._in_thread(self._make_ready)
        self._read = file.open_vectors_reader(self._path)
        self._file = _identity(self._path)

    def _make_ready(self) -> "Maker":
        from aimemory.providers.static import StaticModel
        from aimemory.store.vectormaking import DenseMaker, StaticMaker

        self._db = file.open_vectors(self._path)
        model: Any = self._model
        return StaticMaker(model, self._db) if isinstance(model, StaticModel) else DenseMaker(model)

    async def _look_again(self) -> None:
        """Wait for a change, letting some gather; now and then compare numbers, which finds what nobody told of."""
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._wake.wait()
            await asyncio.sleep(_GATHER_S)
        except TimeoutError:
            self._sweep = self._sweep or await self._reader.read(file.page_count()) != self._counts[0]

    async def _bring_up(self, pulse: Pulse) -> None:
        if self._is_damaged or _identity(self._path) != self._file:
            await self._begin_anew()
        if self._sweep:
            self._sweep = False
            self._without.clear()
            await self._sweep_all(pulse)
        while self._changed:
            some = [self._changed.pop() for _ in range(min(_AT_ONCE, len(self._changed)))]
            await self._step(some, None, pulse)
        while await self._locked(self._go_on):
            self._tell(pulse)
        self._tell(pulse)

    async def _sweep_all(self, pulse: Pulse) -> None:
        last: int | None = 0
        while last is not None:
            last = await self._step(None, last, pulse)
        name: str | None = ""
        while name is not None:
            name = await self._drop_gone(name)

    async def _step(self, paths: Sequence[str] | None, after: int | None, pulse: Pulse) -> int | None:
        """Pages by path, or the next by row; returns the last row, None behind the end.

        Reading and storing under one lock: no text that was read before something was forgotten is stored after it.
        """
        async with self._lock:
            if paths is not None:
                sources = await self._reader.read(file.sources_at(paths, BODY_CHARS))
            else:
                sources = await self._reader.read(file.page_sources(after or 0, _AT_ONCE, BODY_CHARS))
            gone = set(paths or ()) - {source.path for source in sources}
            await self._in_thread(lambda: self._take(sources, sorted(gone)))
        self._tell(pulse)
        return sources[-1].row if sources else None

    def _take(self, sources: Sequence[PageSource], gone: Sequence[str]) -> None:
        from aimemory.store.vectormaking import take

        maker, db = self._ready()
        if gone:
            file.drop(db, gone)
        failed = take(maker, db, sources)
        for path in (*gone, *(source.path for source in sources)):
            self._without.pop(path, None)
        self._without |= failed
        if time.monotonic() >= self._count_again:
            self._count(maker, db)

    def _count(self, maker: "Maker", db: sqlite3.Connection) -> None:
        self._counts = file.counts(db, maker.generation)
        self._count_again = time.monotonic() + _COUNT_S

    async def _drop_gone(self, after: str) -> str | None:
        async with self._lock:
            paths = await self._in_thread(lambda: file.paths_after(self._ready()[1], after, 500))
            there = await self._reader.read(file.paths_there(paths))
            gone = sorted(set(paths) - there)
            if gone:
                await self._in_thread(lambda: file.drop(self._ready()[1], gone))
        return paths[-1] if paths else None

    def _go_on(self) -> bool:
        maker, db = self._ready()
        more = maker.go_on(db)
        if not more or time.monotonic() >= self._count_again:
            self._count(maker, db)
        return more

    def _tell(self, pulse: Pulse) -> None:
        there, made, _ = self._counts
        self._state = "building"
        pulse.beat(queue=max(0, there - made), last=f"{made:,} of {there:,} pages")

    # -- searching ---------------------------------------------------------------------------------------------------

    async def meaning(self, text: Sanitized[str]) -> "QueryMeaning | None":
        """What a query means, for `recall`; None where it can't be said now. Never raises."""
        maker = self._maker
        if maker is None or self._read is None or not text.value.strip() or time.monotonic() < self._silent_until:
            return None
        try:
            if maker.is_quick:
                vector = maker.query(text, 0)
            else:
                vector = await asyncio.to_thread(maker.query, text, self._settings.query_ms / 1000)
        except Unavailable as error:
            self._silent = str(error)
            self._silent_until = time.monotonic() + _QUIET_S
            return None
        self._silent = None
        return None if vector is None else QueryMeaning(vector, maker.weight(text.value), self._stored)

    def _stored(self, paths: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """As `vectors_of`, on the event loop: some 0.3 ms for 30 pages."""
        maker, db = self._maker, self._read
        if maker is None or db is None:
            return {}
        model = maker.model
        try:
            return file.vectors_of(db, paths, (model.provider, model.model, model.dimension), maker.generation)
        except sqlite3.DatabaseError as error:
            self._is_damaged = _is_damage(error)
            self._wake.set()
            return {}

    # -- forgetting --------------------------------------------------------------------------------------------------

    async def survive(self) -> None:
        """After each new index: a new file of what still belongs to a page, so that what was forgotten is in none.

        Works without the extra. Where it can't be done, the file goes as a whole.
        """
        async with self._lock:
            if not self._path.exists():
                return
            await self._close()
            try:
                await self._keep_survivors()
            except (OSError, sqlite3.DatabaseError, AimemoryError):
                await self._in_thread(lambda: file.remove_vectors(self._path))
            if self._maker is not None:
                try:
                    await self._open_file()
                    await self._in_thread(lambda: self._count(*self._ready()))
                except (OSError, sqlite3.DatabaseError):
                    self._maker = None  # the task opens it again
                self._state = "building"
        self._sweep = True
        self._wake.set()

    async def _keep_survivors(self) -> None:
        survivors = await self._in_thread(lambda: file.Survivors(self._path))
        try:
            after = 0
            while sources := await self._reader.read(file.page_sources(after, 200, BODY_CHARS)):
                await self._in_thread(partial(survivors.keep, sources))
                after = sources[-1].row
            await self._in_thread(survivors.take_place)
        finally:
            await self._in_thread(survivors.close)

    async def _begin_anew(self) -> None:
        """The file is damaged, or somebody took it away."""
        async with self._lock:
            await self._close()
            await self._in_thread(lambda: file.remove_vectors(self._path))
            await self._open_file()
        self._is_damaged, self._sweep = False, True

    # -- the rest ----------------------------------------------------------------------------------------------------

    def as_data(self) -> dict[str, Any]:
        """For `status`."""
        there, made, chunks = self._counts
        state, why = self._state, self._why
        if self._silent is not None:
            state, why = "failing", self._silent
        data: dict[str, Any] = {"state": state, "why": why, "pages": there, "made": made, "chunks": chunks}
        if self._maker is not None:
            model = self._maker.model
            data |= {"provider": model.provider, "model": model.model, "dimension": model.dimension}
        return data

    def problem(self) -> str | None:
        """One sentence where vectors were asked for and can't be had."""
        found = self.as_data()
        asked = self._settings.vectors not in ("auto", "off")
        if found["state"] == "failing" or (found["state"] == "off" and asked):
            return f"Vectors for search can't be made or asked for, so it ranks by words alone: {found['why']}"
        return f"Vectors for search: {found['why']}" if self._without else None

    async def close(self) -> None:
        """Ends what is under way; the file stays."""
        closed(self._model)
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._read is not None:
            self._read.close()
        self._read = None

    async def _close(self) -> None:
        read, self._read = self._read, None
        if read is not None:
            read.close()
        db, self._db = self._db, None
        if db is not None:
            await self._in_thread(db.close)

    def _ready(self) -> "tuple[Maker, sqlite3.Connection]":
        if self._maker is None or self._db is None:
            raise Unavailable("The vectors are being made anew.")
        return self._maker, self._db

    async def _locked(self, function: Callable[[], T]) -> T:
        async with self._lock:
            return await self._in_thread(function)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)


class QueryMeaning:
    """A query's vector, what nearness to it weighs, and where those of pages are."""

    def __init__(
        self, vector: "Matrix", weight: float, stored: Callable[[Sequence[str]], Mapping[str, tuple[str, bytes]]]
    ) -> None:
        self._vector = vector
        self.weight = weight
        self._stored = stored

    def of_pages(self, pages: Sequence[tuple[int, str, str]]) -> dict[int, float]:
        """pages: row, path, version. Cosines by row, of pages whose vectors were made of that version."""
        from aimemory.providers.vectors import best_cosine

        stored = self._stored([path for _, path, _ in pages])
        found: dict[int, float] = {}
        for row, path, version in pages:
            made_of, vectors = stored.get(path, ("", b""))
            if made_of == version and (cosine := best_cosine(self._vector, vectors)) is not None:
                found[row] = cosine
        return found


def _said(error: Exception) -> str:
    if isinstance(error, AimemoryError):
        return str(error)
    name = getattr(error, "sqlite_errorname", None) or getattr(error, "strerror", None) or type(error).__name__
    return f"The file of vectors can't be used ({name}). It is tried again."


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _left_out(without: Mapping[str, str]) -> str | None:
    if not without:
        return None
    path, why = next(iter(without.items()))
    return f"{len(without):,} pages have no vectors, {path} for one: {why} It is tried again."


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
