"""Page writes, and what people did to the tree outside of us.

A write is a journal line (who, which version), then the file, then the index, then, grouped, a commit. An outside
change is found by a stat walk; the hash of the last recorded write tells a person's edit from ours.
"""

import asyncio
import sqlite3
import stat
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from aimemory import points
from aimemory.errors import AimemoryError, Conflict, Damaged, NotFound, TooLarge, Unavailable, UserError
from aimemory.index.events import WrittenRow, deleted, written
from aimemory.index.pages import PageRow, assign_project, delete_pages, stats_of, touch_pages, upsert_pages, walk_rows
from aimemory.index.purges import accepted
from aimemory.journal.lines import Record
from aimemory.model.ids import ProjectId, Seq, Version, page_version
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized, sanitize, sanitize_tree
from aimemory.store.committer import DELETED_BY_HAND, EDITED_BY_HAND, Change, Committer, author_of
from aimemory.store.forgotten import Forgotten
from aimemory.store.pagerows import (
    Folders,
    declared_project,
    folder_of,
    is_listing,
    is_merged_page,
    is_project_page,
    known_folders,
    page_row,
)
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Append, Writer
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.merge import has_conflict_markers
from aimemory.wiki.names import check_new_page_path, check_page_path
from aimemory.wiki.spelling import spelling, twin
from aimemory.wiki.walk import Changes, Stat, look, scan, stat_of

PURGED = "Forget"
"""Summary of what a purge did to pages."""

FORGOTTEN = "it was forgotten"
"""Why a page is held whose very bytes were forgotten at this place, and lie there again."""

CONFLICT_MARKERS = "conflict markers of git"
"""In place of the kinds of findings."""
_BATCH = 100
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


class Pages:
    """Reads and writes pages; the only caller of `WikiFiles.write`."""

    def __init__(
        self, *, files: WikiFiles, writer: Writer, projector: Projector, reader: Reader, committer: Committer,
        clock: Clock, actor: Actor, forgotten: Forgotten,
    ) -> None:  # fmt: skip
        self._files = files
        self._forgotten = forgotten
        self._accepted: dict[str, str] = {}
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._committer = committer
        self._clock = clock
        self._actor = actor
        self._asked = self._served = 0
        self._walk = asyncio.Lock()
        self._taking = asyncio.Lock()
        self._held: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        self._folders: dict[str, ProjectId] | None = None
        self._on_project_pages: Callable[[Sequence[str]], Awaitable[None]] | None = None
        self._on_edit: Callable[[str, bytes], None] = _ignore
        self._expected: tuple[Callable[[str], bool], Actor] | None = None
        self.touched: dict[str, int] = {}
        """Folders of projects (`workspace/folder`) whose pages changed, and when last; for who makes listings."""
        self.last = Reconciled()

    def tell_of_projects(self, callback: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        """Have `callback` awaited with the paths of pages that declare a project and that changed or went."""
        self._on_project_pages = callback

    def tell_of_edits(self, callback: Callable[[str, bytes], None]) -> None:
        """Have `callback` called with path and bytes of every page that somebody else than us wrote."""
        self._on_edit = callback

    def expect(self, is_purged: Callable[[str], bool] | None, actor: Actor) -> None:
        """Of these pages what was changed or is gone is a purge's doing, which this actor asked for, and no hand edit,
        however a crash cut it off; None when it is done."""
        self._expected = (is_purged, actor) if is_purged is not None else None

    def _whose(self, path: str, summary: str) -> tuple[Actor, str]:
        """Who did what looks like somebody's doing outside of us, and what it was."""
        if self._expected is not None and self._expected[0](path):
            return self._expected[1], PURGED
        return self._actor, summary

    @property
    def held(self) -> dict[str, str]:
        """Pages edited by hand that are not committed, with the kinds of findings that keep them back, or `FORGOTTEN`:
        those are in no answer either."""
        return dict(sorted(self._held.items()))

    @property
    def unread(self) -> dict[str, str]:
        """Files that are no pages as they stand (too large, closed to us, a name like a secret), each with a sentence
        that can be shown; the paths can't."""
        return dict(sorted(self._unread.items()))

    async def read(self, path: str) -> tuple[str, Version]:
        """The page's text and version token. Raises NotFound; UserError for a path that leaves the wiki."""
        raw, version = await asyncio.to_thread(self._files.read, check_page_path(path))
        return raw.decode("utf-8", "replace"), version

    async def read_bytes(self, path: str) -> tuple[bytes, Version]:
        """As `read`, byte for byte."""
        return await asyncio.to_thread(self._files.read, check_page_path(path))

    async def spelled(self, path: str) -> str | None:
        """The path as the disk spells it; None when there is nothing. Raises UserError for one that leaves the wiki."""
        return await asyncio.to_thread(spelling, self._files.root, check_page_path(path))

    async def existing(self, paths: Sequence[str]) -> set[str]:
        """Those of these pages that lie on the disk now, or may: what can't be looked at counts as there."""
        return await asyncio.to_thread(lambda: {path for path in paths if _may_be_there(self._files.root / path)})

    async def version(self, path: str) -> Version | None:
        """The version that stands now; None when there is no such page."""
        return await asyncio.to_thread(self._files.version, check_page_path(path))

    async def write(
        self, path: str, content: Sanitized[str] | Sanitized[bytes], *, expected: Version | None, actor: Actor,
        summary: str, look_first: bool = False, op: str = "write",
    ) -> Version:  # fmt: skip
        """Create (`expected` None) or replace a page; returns the new version when it is durable and indexed.

        op: what the journal calls it; `edit` and `restore` are a person's own text, as if typed into the file, `add` is
        what we added to one.
        look_first: take in what happened to this page outside before, so that a person's version has its own commit:
        for writes that somebody asked for. The page itself is compared with the disk in any case, up to its rename.
        Raises Conflict, with the current text, when the page is not at `expected`; NotFound when it is gone.
        """
        path = check_page_path(path) if expected else check_new_page_path(path)
        if sanitize(path).counts:
            raise UserError("The page's path looks as if it held a secret. Choose another name.")
        if look_first:
            await self.look_at([path])
        raw = content.derive(_as_bytes)
        record = self._line(op, path, page_version(raw.value), actor)
        wanted_again = self._is_forgotten(path, page_version(raw.value))

        def operation(append: Append) -> Version:
            self._check(path, expected)
            if expected is None:
                self._refuse_twin(path)
            announced = append(record)  # who wrote this version is known before it can be seen
            if wanted_again:
                append(self._acknowledged(path, page_version(raw.value), actor, FORGOTTEN))
            try:
                points.reached("page.announced")
                return self._files.write(path, raw, expected)
            except (OSError, Unavailable) as error:
                if self._stands(path, expected) == page_version(raw.value):
                    unconfirmed.append(error)  # it was replaced, and then the disk refused to say that this lasts
                    return page_version(raw.value)
                append(self._taken_back(path, announced, expected, actor))
                raise Unavailable(f"{path} can't be written: {_reason(error)}. It is as it was.") from error
            except AimemoryError:  # somebody was faster, at the last instant
                append(self._withdrawal(path, announced, actor))
                raise

        unconfirmed: list[OSError | Unavailable] = []
        version = await self._writer.call(operation)
        if wanted_again:
            self._accepted[path] = self._forgotten.veil("file", path, version)
        self._commit(path, raw.value, actor, summary)  # gated too: what a person typed may be part of the page
        if op in ("edit", "restore"):
            self._on_edit(path, raw.value)
        try:
            await self._index([(path, raw.value)])
        except (Unavailable, Damaged):  # it is written; the next walk or the rebuild shows it
            pass
        for error in unconfirmed:
            raise Unavailable(f"{path} was written, but the disk failed behind it: {_reason(error)}. Read it again.")
        return version

    async def delete(self, path: str, *, expected: Version, actor: Actor, summary: str = "Delete") -> None:
        """Take a page away: file, index and, grouped, a commit in the actor's name. Durable and unfindable on return.

        Raises Conflict, with the current text, when the page is not at `expected`; NotFound when it is gone.
        """
        path = check_page_path(path)
        record = self._line("delete", path, None, actor)
        unconfirmed: list[OSError | Unavailable] = []

        def operation(append: Append) -> None:
            self._check(path, expected)
            announced = append(record)
            try:
                points.reached("page.deletion-announced")
                self._files.delete(path, expected)
            except (OSError, Unavailable) as error:
                if self._stands(path, expected) is None:
                    unconfirmed.append(error)
                    return
                append(self._taken_back(path, announced, expected, actor))
                raise Unavailable(f"{path} can't be deleted: {_reason(error)}. It is as it was.") from error
            except AimemoryError:
                append(self._withdrawal(path, announced, actor))
                raise

        async with self._taking:  # else a look may see the file gone first, and call that a deletion by hand
            await self._writer.call(operation)
            self._held.pop(path, None)
            self._committer.add(Change(path, None, *author_of(actor), summary))
            try:
                await self._unindex([path])
            except (Unavailable, Damaged):  # it is gone; the next walk or the rebuild shows it
                pass
        for error in unconfirmed:
            raise Unavailable(f"{path} was deleted, but the disk failed behind it: {_reason(error)}.")

    async def relocate(
        self, operation: Callable[[Append], Mapping[str, str]], *, actor: Actor, summary: str
    ) -> Mapping[str, str]:
        """Let `operation`, in the writer's thread, write its line and move files; follow with index and commit.

        It returns new paths by old ones, and may raise; so does this.
        """
        async with self._taking:  # else a look may take the files for deleted and others for made by hand
            moves = await self._writer.call(operation)
            try:
                await self._projector.reached(self._writer.last_seq)
                self._folders = None
                await self._unindex(list(moves))
                pages = await asyncio.to_thread(self._moved, moves)
                for old, new, raw in pages:
                    self._held.pop(old, None)
                    self._committer.add(Change(old, None, *author_of(actor), summary))
                    self._commit(new, raw, actor, summary)
                await self._index([(new, raw) for _, new, raw in pages])
            except (Unavailable, Damaged):  # the files are in their places; the next walk or the rebuild shows it
                pass
        return moves

    def _moved(self, moves: Mapping[str, str]) -> list[tuple[str, str, bytes]]:
        found = []
        for old, new in moves.items():
            try:
                found.append((old, new, self._files.read(new)[0]))
            except (NotFound, UserError, Unavailable):  # gone again, a link, closed: the walk says what became of it
                continue
        return found

    async def rewrite(
        self, operation: Callable[[Append], Mapping[str, tuple[str, bytes] | None]], *, actor: Actor, summary: str
    ) -> None:
        """Let `operation`, in the writer's thread, write its lines and change files; follow with index and commit.

        It returns, by the path that a page had, the one it has and its bytes, or None for a page that went.
        """
        async with self._taking:  # else a look may take what it finds for a person's doing
            done = await self._writer.call(operation)
            gone = [old for old, now in done.items() if now is None or now[0] != old]
            for path in gone:
                self._held.pop(path, None)
                self._committer.add(Change(path, None, *author_of(actor), summary))
            left = [now for now in done.values() if now is not None]
            for path, raw in left:
                self._commit(path, raw, actor, summary)
            try:
                await self._projector.reached(self._writer.last_seq)
                if gone:
                    await self._unindex(gone)
                await self._index(left)
            except (Unavailable, Damaged):  # the files are as they shall be; the walk or the rebuild shows it
                pass

    async def accept(self, path: str, actor: Actor) -> str:
        """Acknowledge what is held in a page, as it stands now: it is committed and indexed, until it changes.

        Returns what was found. Raises NotFound; UserError when nothing keeps the page back.
        """
        path = check_page_path(path)
        if (clean := sanitize(path)).counts:
            raise UserError(f"The name of {clean.value} looks as if it held a secret. Rename the page instead.")
        await self.look_at([path])
        raw, version = await asyncio.to_thread(self._files.read, path)
        found = FORGOTTEN if self._is_forgotten(path, version) else _findings(path, raw)
        if not found:
            raise UserError(f"Nothing in {path} looks like a secret as it stands; it needs no acknowledgement.")
        await self._writer.record(self._acknowledged(path, version, actor, found))
        await self._projector.reached(self._writer.last_seq)
        self._accepted[path] = self._forgotten.veil("file", path, version)
        async with self._taking:
            self._commit(path, raw, actor, "Accept")
            await self._index([(path, raw)])
        return found

    def is_accepted(self, path: str, version: Version) -> bool:
        """Whether a person has acknowledged what is in this very version of the page."""
        return path in self._accepted and self._accepted[path] == self._forgotten.veil("file", path, version)

    def _is_forgotten(self, path: str, version: Version) -> bool:
        return self._forgotten.is_file(path, version) and not self.is_accepted(path, version)

    def _acknowledged(self, path: str, version: Version, actor: Actor, found: str) -> Record:
        """The version is veiled: from a plain hash of a page that is known but for one word, the word could be told."""
        veiled = self._forgotten.veil("file", path, version)
        said = {"path": path, "version": veiled, "found": found, "user": actor.user, "machine": actor.machine}
        return Record("accept", self._clock.now_ns(), sanitize_tree(said))

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
            found = await asyncio.to_thread(lambda: scan(self._files.root, {row[0]: Stat(*row[1:]) for row in known}))
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
            async with self._taking:
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
        async with self._taking:
            found, versions = await self._look(paths)
            if len(found.removed) <= _FEW and not found.suspicious:
                await self._take(found, versions)
                return
        await self.reconcile()

    async def _look(self, paths: Collection[str]) -> tuple[Changes, dict[str, Version]]:
        """What happened to these files, and the versions that are known of them."""
        known = await self._reader.read(stats_of(list(paths)))
        stats = {path: Stat(s.mtime_ns, s.size) for path, s in known.items()}
        found = await asyncio.to_thread(look, self._files.root, paths, stats)
        return found, {path: row.version for path, row in known.items()}

    async def _take(self, found: Changes, versions: Mapping[str, Version]) -> int:
        """Index and commit what a look found; returns how many of the changes are a person's."""
        seen = {path: versions[path] for path in found.changed} | dict.fromkeys(found.added)
        by_hand = await self._take_in(seen, {**found.added, **found.changed})
        return by_hand + await self._take_out(found.removed)

    async def take_stock(self) -> None:
        """After a rebuild of the index, which takes files in without asking who wrote them, and at a start."""
        self._folders = None
        self._accepted = await self._reader.read(accepted())
        for path in list(self._held):  # by a walk that came before it was known what is acknowledged
            if (version := self._stands(path, None)) is not None and self.is_accepted(path, version):
                self._held.pop(path, None)
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
                self._commit(path, raw, who, "Add", outside=True)
        return len(missing) + await self._commit_deletions()

    async def _commit_deletions(self) -> int:
        """Queue the deletions that HEAD doesn't know of, since a crash or a stop cut their commits off.

        Those of ours stand in the journal; those by hand are known from HEAD alone once their row is gone. A tree that
        looks emptied by accident is left.
        """
        gone = await self._reader.read(deleted())
        tracked = await self._committer.tracked()
        left = await self.existing(tracked)
        by_hand = [path for path in tracked if path not in left and path not in gone]
        if self.last.problem is None and (left or len(by_hand) <= _FEW):
            for path in by_hand:
                self._commit_deletion(path)
        there = await self.existing(list(gone))
        paths = await self._committer.differing([path for path in gone if path not in there])
        for path in paths:
            actor = Actor(gone[path] or self._actor.user, self._actor.machine)
            self._committer.add(Change(path, None, *author_of(actor), "Delete"))
        return len(paths)

    def _refuse_twin(self, path: str) -> None:
        """Names that differ by case or composition alone are one name on other systems."""
        other = twin(self._files.root, path)
        if other is None:
            return
        message = (
            f"{other} is there already; the two names are one on other systems. Write that page, or choose another."
        )
        try:
            raw, version = self._files.read(other)
        except (NotFound, UserError):  # a folder
            raise Conflict(message) from None
        raise Conflict(message, current=raw.decode("utf-8", "replace"), version=version)

    def _stands(self, path: str, otherwise: Version | None) -> Version | None:
        """The version on the disk after a failure there; `otherwise` when not even that can be told."""
        try:
            return self._files.version(path)
        except (OSError, UserError, Unavailable):
            return otherwise

    def _check(self, path: str, expected: Version | None) -> None:
        current = self._files.version(path)
        if current == expected:
            return
        if current is None:
            raise NotFound(f"{path} does not exist any more. Write it without a version to create it again.")
        raw, version = self._files.read(path)
        if expected is None:
            message = f"{path} exists already. Read it, and give its version to replace it."
        else:
            message = f"{path} changed on disk since it was read. Read it again and repeat the write."
        raise Conflict(message, current=raw.decode("utf-8", "replace"), version=version)

    def _line(self, op: str, path: str, version: Version | None, actor: Actor) -> Record:
        texts = sanitize(path)
        return Record(
            "page",
            self._clock.now_ns(),
            texts.derive(
                lambda p: (
                    {"op": op, "path": p, "version": version, "user": actor.user, "machine": actor.machine}
                    | ({"harness": actor.harness} if actor.harness else {})
                    | ({"session": actor.session} if actor.session else {})
                )
            ),
        )

    def _taken_back(self, path: str, announced: Seq, stood: Version | None, actor: Actor) -> Record:
        """After a failure of the disk: takes a line back; where it can't be told what lies there, lets both count."""
        try:
            self._files.version(path)
        except (OSError, UserError, Unavailable):
            return self._line("add", path, stood, actor)
        return self._withdrawal(path, announced, actor)

    def _withdrawal(self, path: str, announced: Seq, actor: Actor) -> Record:
        """Takes a line back whose write or deletion was refused: it is in no history, and what stood before counts."""
        said = {"op": "withdraw", "path": path, "of": announced, "user": actor.user, "machine": actor.machine}
        return Record("page", self._clock.now_ns(), sanitize_tree(said))

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
                    await self._unindex([path])
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
            elif self._is_forgotten(path, version):
                self._held[path] = FORGOTTEN
                await self._unindex([path])
            else:
                found[path] = raw, version
        by_hand, writes = await self._by_hand({path: version for path, (_, version) in found.items()})
        for path in by_hand:
            self._commit_edit(path, found[path][0])
        for path, row in writes.items():
            # put back as we wrote it, after a deletion or an edit by hand that git may have by now
            if self._stands(path, None) == found[path][1]:  # else a newer write of ours is queued already
                who = Actor(row.user or self._actor.user, self._actor.machine)
                self._commit(path, found[path][0], who, "Add", outside=True)
        changed = [(path, raw) for path, (raw, _) in found.items() if path in by_hand or path in writes]
        if same:
            await self._projector.execute(lambda db: touch_pages(db, same))
        await self._index(changed, stats)
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

    def _commit(self, path: str, raw: bytes, actor: Actor, summary: str, *, outside: bool = False) -> None:
        """Queue a commit, unless something in the page or its name looks like a secret, or a conflict of git's is left
        in it; then it is held and named."""
        if has_conflict_markers(raw.decode("utf-8", "replace")):
            self._held[path] = CONFLICT_MARKERS
            return
        found = _findings(path, raw)
        if found and not self.is_accepted(path, page_version(raw)):
            self._held[path] = found
            return
        self._held.pop(path, None)
        self._committer.add(Change(path, raw, *author_of(actor), summary, outside))

    def _commit_edit(self, path: str, raw: bytes) -> None:
        actor, summary = self._whose(path, EDITED_BY_HAND)
        self._commit(path, raw, actor, summary, outside=True)
        if summary == EDITED_BY_HAND:
            self._on_edit(path, raw)

    def _commit_deletion(self, path: str) -> None:
        actor, summary = self._whose(path, DELETED_BY_HAND)
        self._committer.add(Change(path, None, *author_of(actor), summary, found=True))

    async def _take_out(self, removed: Sequence[str]) -> int:
        if not removed:
            return 0
        await self._unindex(removed)
        for path in removed:
            self._held.pop(path, None)
            self._unread.pop(path, None)
            self._commit_deletion(path)
        return len(removed)

    def _touch(self, paths: Iterable[str]) -> None:
        now = self._clock.now_ns()
        self.touched |= {folder_of(path): now for path in paths if not is_listing(path)}

    async def _unindex(self, removed: Sequence[str]) -> None:
        self._touch(removed)
        await self._projector.execute(lambda db: delete_pages(db, removed))
        folders = await self._known_folders()
        for path in removed:
            if is_project_page(path):
                folders.pop(folder_of(path), None)
        await self._projects_changed(removed, folders)

    async def _index(self, pages: Sequence[tuple[str, bytes]], stats: dict[str, Stat] | None = None) -> None:
        if not pages:
            return
        self._touch(path for path, _ in pages)
        folders = await self._known_folders()
        for path, raw in pages:
            if is_project_page(path):
                folders[folder_of(path)] = declared_project(path, raw).id
        for start in range(0, len(pages), _BATCH):
            part = pages[start : start + _BATCH]
            rows = await asyncio.to_thread(self._rows, part, stats or {}, folders)
            await self._projector.execute(partial(_upsert, rows))
        await self._projects_changed([path for path, _ in pages], folders)

    async def _known_folders(self) -> dict[str, ProjectId]:
        """Shared, and kept in step with the index; who has begun with it goes on with it after `take_stock`."""
        if self._folders is None:
            found = await asyncio.to_thread(known_folders, self._files)
            if self._folders is None:
                self._folders = found
        return self._folders

    def _rows(
        self, pages: Sequence[tuple[str, bytes]], stats: Mapping[str, Stat], folders: Folders
    ) -> list[Sanitized[PageRow]]:
        """Off the event loop: every page passes the privacy gate here."""
        found = [(path, raw, stats.get(path) or self._stat(path)) for path, raw in pages]
        return [page_row(path, raw, stat, folders) for path, raw, stat in found if stat is not None]

    def _stat(self, path: str) -> Stat | None:
        try:
            found = (self._files.root / path).stat(follow_symlinks=False)
        except OSError:  # gone since it was written: the next walk takes it out
            return None
        return stat_of(found, self._clock.now_ns())

    async def _projects_changed(self, paths: Sequence[str], folders: Folders) -> None:
        touched = [path for path in paths if is_project_page(path) or is_merged_page(path)]
        if not touched:
            return
        for path in touched:
            folder = folder_of(path)
            await self._projector.execute(partial(_assign, folder, folders.get(folder)))
        if self._on_project_pages is not None:
            await self._on_project_pages(touched)


def _may_be_there(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _reason(error: OSError | Unavailable) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8")


def _findings(path: str, raw: bytes) -> str:
    """What looks like a secret in a page or its name: kinds and numbers; empty for nothing."""
    found = sanitize(f"{path}\n{raw.decode('utf-8', 'replace')}").counts
    return ", ".join(f"{count} × {kind}" for kind, count in sorted(found.items()))


def _ignore(path: str, raw: bytes) -> None:
    return


def _upsert(rows: list[Sanitized[PageRow]], db: sqlite3.Connection) -> None:
    upsert_pages(db, rows)


def _assign(folder: str, project: ProjectId | None, db: sqlite3.Connection) -> None:
    assign_project(db, folder, project)
