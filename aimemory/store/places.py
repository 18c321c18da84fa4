"""Where projects' folders are, held still: who puts a page into one excludes that it is renamed meanwhile.

The same kind of lock keeps what pages are made of from being forgotten while one is made.

A page's path is made from its project's folder, and some lines and files follow until it is finished. A rename in
between would leave the page in a folder of the old name.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Places:
    """Many may keep the places at once, also one within the other; who changes them waits until nobody does."""

    def __init__(self) -> None:
        self._keeping = 0
        self._none_keeps = asyncio.Event()
        self._none_keeps.set()
        self._changing = asyncio.Lock()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """No project's folder changes its name and no session its project for the length of the block."""
        if not self._keeping:  # within another block nobody can have begun to change them
            async with self._changing:
                self._keep()
        else:
            self._keep()
        try:
            yield
        finally:
            self._keeping -= 1
            if not self._keeping:
                self._none_keeps.set()

    @asynccontextmanager
    async def changed(self) -> AsyncIterator[None]:
        """For who changes them."""
        while True:
            await self._none_keeps.wait()
            async with self._changing:
                if not self._keeping:
                    yield
                    return

    def _keep(self) -> None:
        self._keeping += 1
        self._none_keeps.clear()
