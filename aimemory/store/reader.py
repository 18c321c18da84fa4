"""Read connections to the index.

A few aiosqlite connections, handed out in turn. While a rebuild replaces the file they are closed and reads wait.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import aiosqlite

from aimemory.errors import Unavailable
from aimemory.index.connect import NeedsRebuild, open_async_reader
from aimemory.index.read import Plan, aread

T = TypeVar("T")

_CONNECTIONS = 2


class Reader:
    """`read(plan)` from any task. on_damage: told what is wrong with the file when a read finds it damaged."""

    def __init__(self, path: Path, on_damage: Callable[[str], None]) -> None:
        self._path = path
        self._on_damage = on_damage
        self._connections: list[aiosqlite.Connection] = []
        self._next = 0
        self._opening = asyncio.Lock()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._reading = 0
        self._all_read = asyncio.Event()
        self._closed = False

    async def read(self, plan: Plan[T]) -> T:
        """Run a plan of `index`. Raises Unavailable when it can't answer now; a damaged file is then being rebuilt."""
        await self._may_read.wait()
        self._reading += 1
        try:
            if not self._connections:
                await self._open()
            self._next = (self._next + 1) % len(self._connections)
            return await aread(self._connections[self._next], plan)
        except NeedsRebuild as error:
            self._on_damage(str(error))
            raise Unavailable("The index was damaged and is being built anew from the files. Try again.") from error
        finally:
            self._reading -= 1
            if not self._reading:
                self._all_read.set()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """No connection is open for the length of the block; reads that come meanwhile wait for its end."""
        self._may_read.clear()
        try:
            while self._reading:
                self._all_read.clear()
                await self._all_read.wait()
            await self._close_all()
            yield
        finally:
            self._may_read.set()

    async def close(self) -> None:
        """Close for good; twice is fine."""
        self._closed = True
        await self._close_all()

    async def _open(self) -> None:
        async with self._opening:
            if self._closed:
                raise Unavailable("The index is closed: the daemon is stopping.")
            if not self._connections:
                self._connections = [await open_async_reader(self._path) for _ in range(_CONNECTIONS)]

    async def _close_all(self) -> None:
        connections, self._connections = self._connections, []
        for connection in connections:
            await connection.close()
