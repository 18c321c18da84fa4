"""What people did to the tree outside of us: found by a stat walk or a watcher's hint, indexed, committed as theirs.

The hash of the last recorded write tells a person's edit from ours.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aimemory.errors import NotFound, TooLarge, Unavailable, UserError
from aimemory.index.events import WrittenRow, deleted, written
from aimemory.index.pages import stats_of, walk_rows
from aimemory.index.purges import accepted
from aimemory.model.ids import Version
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize
from aimemory.store.committer import DELETED_BY_HAND, EDITED_BY_HAND, Change, Committer, author_of
from aimemory.store.gate import PageGate
from aimemory.store.pageindex import PageIndex
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.walk import Changes, Stat, look, scan

PURGED = "Forget"
"""Summary of what a purge did to pages."""

_FEW = 20


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a walk found. by_hand: changes that no write of ours explains. problem: why the tree, or a part of it, was
    not taken in. emptied: nothing is left of it, which looks like an accident. nameless, others: as `walk.Changes`."""

    changed: int = 0
    removed: int = 0
    by_hand: int = 0
    problem: str | None = None
    emptied: bool = False
    nameless: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class HandEdits:
    """Takes in what changed outside of us. `taking`: held by whoever changes files and index together."""

    def __init__(
        self, *, files: WikiFiles, writer: Writer, projector: Projector, reader: Reader, committer: Committer,
        actor: Actor, gate: PageGate, index: PageIndex,
    ) -> None:  # fmt: skip
        self._files = files
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._committer = committer
        self._actor = actor
        self._gate = gate
        self._index = index
        self._asked = self._served = 0
        self._walk = asyncio.Lock()
        self._unread: dict[str, str] = {}
        self._on_edit: Callable[[str, bytes], None] = _ignore
        self._expected: tuple[Callable[[str], bool], Actor] | None = None
        self.taking = asyncio.Lock()
        self.last = Reconciled()

    def tell_of_edits(self, callback: Callable[[str, bytes], None]) -> None:
        """Have `callback` called with path and bytes of every page that somebody else than us wrote."""
        self._on_edit = callback

    def edited(self, path: str, raw: bytes) -> None:
        """A person's own text has come by a write of ours: who waits for edits hears of it too."""
        self._on_edit(path, raw)

    def expect(self, is_purged: Callable[[str], bool] | None, actor: Actor) -> None:
        """Of these pages what was changed or is gone is a purge's doing, which this actor asked for, and no hand edit,
        however a crash cut it off; None when it is done."""
        self._expected = (is_purged, actor) if is_purged is not None else None

    @property
    def unread(self) -> dict[str, str]:
        """Files that are no pages as they stand (too large, closed to us, a name like a secret), each with a sentence
        that can be shown; the paths can't."""
        return dict(sorted(self._unread.items()))

    async def reconcile(self) -> Reconciled:
        """Take in what changed outside of us; of several callers that wait for a walk, one walk serves all.

        Nobody else waits for the walk itself: what it found is looked at once more when it is taken in.
        """
        self._asked += 1
        mine = self._asked
        async with self._walk:
            if self._served >= mine:
                return self.last
            asked = self._asked  # what is about to begin sees whatever any of these callers saw
            known = await self._reader.read(walk_rows())
            found = await _until_cancelled(
                lambda given_up: scan(self._files.root, {row[0]: Stat(*row[1:]) for row in known}, given_up)
            )
            self.last = Reconciled(
                problem=found.problem, emptied=found.suspicious, nameless=found.nameless, others=found.others
            )
            if found.suspicious:
                return self.last
            if len(found.removed) == len(known) > 0 and await self._committer.has_lost([row[0] for row in known]):
                text = f"{self._files.root} is empty and its repository is gone; {len(known)} pages stay in the index."
                self.last = Reconciled(problem=f"{text} Is it unmounted or moved?", emptied=True)
                return self.last
            for path in self._unread.keys() - found.added.keys() - found.changed.keys():
                del self._unread[path]
            async with self.taking:
                now, versions = await self._look([*found.added, *found.changed, *found.removed])
                gone = set(found.removed).intersection(now.removed)  # what went since then may be an accident
                by_hand = await self._take(replace(now, removed=tuple(sorted(gone))), versions)
            self._served = asked
            changed = len(now.added) + len(now.changed)
            self.last = replace(self.last, changed=changed, removed=len(gone), by_hand=by_hand)
            return self.last

    async def look_at(self, paths: Collection[str]) -> None:
        """Take in what happened to these files, as far as it isn't known: for a watcher's hints, and before a write.

        Many deletions at once, and pages that went with their folder, are left to the walk, which knows an emptied tree
        from a cleaned-up one. Else the cost doesn't grow with the number of pages.
        """
        async with self.taking:
            found, versions = await self._look(paths)
            if len(found.removed) <= _FEW and not found.suspicious:
                await self._take(found, versions)
                return
        await self.reconcile()

    async def take_stock(self) -> None:
        """After a rebuild of the index, which takes files in without asking who wrote them, and at a start."""
        self._index.forget_folders()
        self._gate.take_accepted(await self._reader.read(accepted()))
        for path in self._gate.held:  # by a walk that came before it was known what is acknowledged
            if (version := self._files.standing(path)) is not None and self._gate.is_accepted(path, version):
                self._gate.release(path)
        await self.reconcile()
        await self.commit_missing()

    async def commit_missing(self) -> int:
        """Queue for a commit what HEAD lacks: writes and deletions that a crash cut off, and hand edits, gated."""
        paths = [row[0] for row in await self._reader.read(walk_rows())]
        missing = await self._committer.differing(paths)
        found: dict[str, tuple[bytes, Version]] = {}
        for path in missing:
            try:
                found[path] = await asyncio.to_thread(self._files.read, path)
            except (NotFound, UserError, Unavailable):
                continue
        by_hand, writes = await self._by_hand({path: version for path, (_, version) in found.items()})
        for path, (raw, _) in found.items():
            if path in by_hand:
                self._commit_edit(path, raw)
            elif path in writes:
                who = Actor(writes[path].user or self._actor.user, self._actor.machine)
                self._gate.commit(path, raw, who, "Add", outside=True)
        return len(missing) + await self._commit_deletions()

    async def _look(self, paths: Collection[str]) -> tuple[Changes, dict[str, Version]]:
        """What happened to these files, and the versions that are known of them."""
        known = await self._reader.read(stats_of(list(paths)))
        stats = {path: Stat(s.mtime_ns, s.size) for path, s in known.items()}
        found = await _until_cancelled(lambda given_up: look(self._files.root, paths, stats, given_up))
        return found, {path: row.version for path, row in known.items()}

    async def _take(self, found: Changes, versions: Mapping[str, Version]) -> int:
        """Index and commit what a look found; returns how many of the changes are a person's."""
        seen = {path: versions[path] for path in found.changed} | dict.fromkeys(found.added)
        by_hand = await self._take_in(seen, {**found.added, **found.changed})
        return by_hand + await self._take_out(found.removed)

    async def _commit_deletions(self) -> int:
        """Queue the deletions that HEAD doesn't know of, since a crash or a stop cut their commits off.

        Those of ours stand in the journal; those by hand are known from HEAD alone once their row is gone. A tree that
        looks emptied by accident is left.
        """
        gone = await self._reader.read(deleted())
        tracked = await self._committer.tracked()
        left = await asyncio.to_thread(self._files.existing, tracked)
        by_hand = [path for path in tracked if path not in left and path not in gone]
        if self.last.problem is None and (left or len(by_hand) <= _FEW):
            for path in by_hand:
                self._commit_deletion(path)
        there = await asyncio.to_thread(self._files.existing, list(gone))
        paths = await self._committer.differing([path for path in gone if path not in there])
        for path in paths:
            actor = Actor(gone[path] or self._actor.user, self._actor.machine)
            self._committer.add(Change(path, None, *author_of(actor), "Delete"))
        return len(paths)

    async def _take_in(self, seen: dict[str, Version | None], stats: dict[str, Stat]) -> int:
        """New and changed files: index them, and commit those that a person changed. Returns how many those are.

        One that can't be read keeps no other from being taken in; it is named in `unread`.
        """
        found: dict[str, tuple[bytes, Version]] = {}
        same: list[tuple[str, int, int]] = []
        for path, before in seen.items():
            try:
                raw, version = await asyncio.to_thread(self._read_new, path, before is None)
                self._unread.pop(path, None)
            except TooLarge as error:  # the text in the index is not the page's any more
                if before is not None:
                    await self._index.remove([path])
                self._unread[path] = f"{error} Until then it is neither found nor committed."
                continue
            except Unavailable as error:
                self._unread[path] = str(error)
                continue
            except (NotFound, UserError):  # gone again, or a link: the next walk sees what became of it
                self._unread.pop(path, None)
                continue
            if version == before:
                same.append((path, stats[path].mtime_ns, stats[path].size))
            elif self._gate.is_forgotten(path, version):
                self._gate.hold_forgotten(path)
                await self._index.remove([path])
            else:
                found[path] = raw, version
        by_hand, writes = await self._by_hand({path: version for path, (_, version) in found.items()})
        for path in by_hand:
            self._commit_edit(path, found[path][0])
        for path, row in writes.items():
            # put back as we wrote it, after a deletion or an edit by hand that git may have by now
            if self._files.standing(path) == found[path][1]:  # else a newer write of ours is queued already
                who = Actor(row.user or self._actor.user, self._actor.machine)
                self._gate.commit(path, found[path][0], who, "Add", outside=True)
        changed = [(path, raw) for path, (raw, _) in found.items() if path in by_hand or path in writes]
        await self._index.same(same)
        await self._index.put(changed, stats)
        return len(by_hand)

    def _read_new(self, path: str, is_new: bool) -> tuple[bytes, Version]:
        """Blocks. As `WikiFiles.read`; Unavailable too for a new page whose name looks like a secret: it could be in
        the index under another name only."""
        if is_new and (clean := sanitize(path)).counts:
            raise Unavailable(
                f"{clean.value} is no page, since its name looks as if it held a secret. Rename it: until then it is "
                "neither found nor committed."
            )
        return self._files.read(path)

    async def _by_hand(self, versions: Mapping[str, Version]) -> tuple[list[str], dict[str, WrittenRow]]:
        """Which of these versions, found on the disk, a person wrote; and the records of those that are ours.

        A page's line comes before its file, but the index shows it a moment after both. So what looks like a person's
        is asked for again behind all that is under way. While the index can't tell, it is in neither answer: the next
        walk finds it again.
        """

        async def ours(paths: Iterable[str]) -> dict[str, WrittenRow]:
            rows = await self._reader.read(written(list(paths)))
            return {path: row for path, row in rows.items() if row.is_ours(versions[path])}

        if not versions:
            return [], {}
        known = await ours(versions)
        left = [path for path in versions if path not in known]
        if left:
            try:
                await self._writer.call(lambda _: None)
                await self._projector.reached(self._writer.last_seq)
            except Unavailable:
                return [], known
            known |= await ours(left)
        return [path for path in left if path not in known], known

    def _commit_edit(self, path: str, raw: bytes) -> None:
        actor, summary = self._whose(path, EDITED_BY_HAND)
        self._gate.commit(path, raw, actor, summary, outside=True)
        if summary == EDITED_BY_HAND:
            self._on_edit(path, raw)

    def _commit_deletion(self, path: str) -> None:
        actor, summary = self._whose(path, DELETED_BY_HAND)
        self._committer.add(Change(path, None, *author_of(actor), summary, found=True))

    async def _take_out(self, removed: Sequence[str]) -> int:
        if not removed:
            return 0
        await self._index.remove(removed)
        for path in removed:
            self._gate.release(path)
            self._unread.pop(path, None)
            self._commit_deletion(path)
        return len(removed)

    def _whose(self, path: str, summary: str) -> tuple[Actor, str]:
        """Who did what looks like somebody's doing outside of us, and what it was."""
        if self._expected is not None and self._expected[0](path):
            return self._expected[1], PURGED
        return self._actor, summary


async def _until_cancelled(walk: Callable[[Callable[[], bool]], Changes]) -> Changes:
    """Have a thread walk, which is told when nobody waits any more: a stop must not take as long as a walk does."""
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(walk, given_up.is_set)
    finally:
        given_up.set()


def _ignore(path: str, raw: bytes) -> None:
    return
