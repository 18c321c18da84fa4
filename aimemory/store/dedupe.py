"""Has this event been stored already?

Two rules (see `intake`): an event with identity fields is known by its `key` for ever; one without is known by the
hash of its payload when it was captured within two seconds of an equal one and nothing else of its session lies
between. Memory answers nearly always: a Bloom filter over all stored keys says "certainly new", and only a possible
match is looked up in the index. Lines that the index doesn't hold yet are remembered here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from aimemory.journal.lines import Line
from aimemory.journal.replay import replay
from aimemory.model.ids import Seq

WINDOW_NS = 2_000_000_000

_FILTER_BITS = 1 << 25
_PROBES = 4
_RECENT = 20_000
_SESSION_TIMES = 16


@dataclass(frozen=True, slots=True)
class Known:
    """A stored event as the index or memory knows it."""

    key: str
    hash: str | None
    at_ns: int
    session: str | None


@dataclass(slots=True)
class _Recent:
    known: Known
    stored: "asyncio.Future[Seq]"


Lookup = Callable[[str, str | None], Awaitable[list[Known]]]
"""Stored events with this key or this hash, from the index."""

Between = Callable[[str, int, int], Awaitable[bool]]
"""Does the index hold an event of this session captured strictly between two instants?"""


class KeyFilter:
    """A Bloom filter over hex digests: never a false "new"; one "perhaps" in some hundred at two million keys."""

    def __init__(self) -> None:
        self._bits = bytearray(_FILTER_BITS >> 3)

    def add(self, digest: str) -> None:
        value = int(digest, 16)
        for _ in range(_PROBES):
            bit = value & (_FILTER_BITS - 1)
            self._bits[bit >> 3] |= 1 << (bit & 7)
            value >>= 25

    def may_hold(self, digest: str) -> bool:
        value = int(digest, 16)
        for _ in range(_PROBES):
            bit = value & (_FILTER_BITS - 1)
            if not self._bits[bit >> 3] & (1 << (bit & 7)):
                return False
            value >>= 25
        return True


def _tail_of(journal: Path, after: int, on_line: Callable[[Line], None]) -> dict[str, list[Known]]:
    """Events behind line `after`, by key and by hash; `on_line` is told of every line. Blocks."""
    found: dict[str, list[Known]] = {}
    for line in replay(journal, after):
        on_line(line)
        if line.type == "observation" and "key" in line.data:
            known = Known(line.data["key"], line.data.get("hash"), line.at_ns, line.data.get("session"))
            for digest in (known.key, known.hash):
                if digest:
                    found.setdefault(digest, []).append(known)
    return found


class Dedupe:
    """Knows what was stored. `load` fills the filter; until then every event is looked up in the index."""

    def __init__(self, lookup: Lookup, between: Between) -> None:
        self._lookup = lookup
        self._between = between
        self._filter = KeyFilter()
        self._loaded = False
        self._primed = asyncio.Event()
        self._tail: dict[str, list[Known]] = {}
        self._tail_is_all = False
        self._keys: OrderedDict[str, _Recent] = OrderedDict()
        self._hashes: dict[str, list[_Recent]] = {}
        self._session_times: OrderedDict[str, list[tuple[int, str]]] = OrderedDict()

    def load(self, digests: Iterable[str]) -> None:
        """Take in the keys and hashes of everything stored before. Runs in a worker thread."""
        for digest in digests:
            self._filter.add(digest)
        self._loaded = True
        self._tail = {}  # the index shows them now

    async def primed(self) -> None:
        """Wait for the end of `prime`."""
        await self._primed.wait()

    async def prime(self, journal: Path, after: int, on_line: Callable[[Line], None]) -> None:
        """Take in what the journal holds and the index doesn't show yet: every event behind line `after`.

        Until this is done `find` waits, since nobody else could tell. With `after` 0 the index is not asked until
        `load`: it is missing, or holds what the journal has lost. on_line: told of every line there, in a thread.
        """
        try:
            self._tail = await asyncio.to_thread(_tail_of, journal, after, on_line)
            self._tail_is_all = after == 0
        finally:
            self._primed.set()

    async def find(self, event: Known) -> "tuple[Known, asyncio.Future[Seq] | None] | None":
        """The stored event that this one repeats, and its future while that is still being written; else None."""
        await self._primed.wait()
        recent = self._find_recent(event)
        if recent is not None:
            return recent.known, recent.stored
        if self._loaded and not any(self._filter.may_hold(digest) for digest in (event.key, event.hash) if digest):
            return None
        tail = [*self._tail.get(event.key, ()), *self._tail.get(event.hash or "", ())]
        indexed = [] if self._tail_is_all and not self._loaded else await self._lookup(event.key, event.hash)
        for known in [*tail, *indexed]:
            if known.key == event.key:
                return known, None
            near = event.hash is not None and known.hash == event.hash and abs(known.at_ns - event.at_ns) <= WINDOW_NS
            if near and not await self._is_split(event, known):
                return known, None
        return self._claimed_meanwhile(event)

    def add(self, event: Known, stored: "asyncio.Future[Seq]") -> None:
        """Remember an event that is on its way to the journal. Must follow `find` without an await between."""
        entry = _Recent(event, stored)
        self._keys[event.key] = entry  # in the filter when it leaves here
        if event.hash is not None:
            self._hashes.setdefault(event.hash, []).append(entry)
        if event.session is not None:
            times = self._session_times.setdefault(event.session, [])
            times.append((event.at_ns, event.key))
            del times[:-_SESSION_TIMES]
            self._session_times.move_to_end(event.session)
            if len(self._session_times) > _RECENT:
                self._session_times.popitem(last=False)

    def forget_failed(self, event: Known) -> None:
        """The write failed: the event is new again."""
        entry = self._keys.pop(event.key, None)
        if entry is not None:
            self._drop_hash(entry)

    def applied(self, seq: int) -> None:
        """The index holds everything up to `seq`: beyond the newest entries it is the index's to remember those."""
        while len(self._keys) > _RECENT:
            entry = next(iter(self._keys.values()))
            if not entry.stored.done() or entry.stored.result() > seq:
                break
            self._keys.popitem(last=False)
            self._filter.add(entry.known.key)
            if entry.known.hash is not None:
                self._filter.add(entry.known.hash)
            self._drop_hash(entry)

    def _find_recent(self, event: Known) -> _Recent | None:
        entry = self._keys.get(event.key)
        if entry is not None:
            return entry
        for entry in self._hashes.get(event.hash or "", ()):
            if abs(entry.known.at_ns - event.at_ns) <= WINDOW_NS and not self._split(event, entry.known):
                return entry
        return None

    def _claimed_meanwhile(self, event: Known) -> "tuple[Known, asyncio.Future[Seq] | None] | None":
        recent = self._find_recent(event)  # while the index was asked, its twin may have come
        return (recent.known, recent.stored) if recent is not None else None

    async def _is_split(self, event: Known, known: Known) -> bool:
        """Does another event of the session lie between? The newest are in memory only, old ones in the index only."""
        if event.session is None:
            return False
        first, last = sorted((known.at_ns, event.at_ns))
        return self._split(event, known) or await self._between(event.session, first, last)

    def _split(self, event: Known, known: Known) -> bool:
        first, last = sorted((known.at_ns, event.at_ns))
        times = self._session_times.get(event.session or "", ())
        return any(first < at < last and key not in (event.key, known.key) for at, key in times)

    def _drop_hash(self, entry: _Recent) -> None:
        twins = self._hashes.get(entry.known.hash or "")
        if twins and entry in twins:
            twins.remove(entry)
            if not twins:
                del self._hashes[entry.known.hash or ""]
