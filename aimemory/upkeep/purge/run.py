"""Carrying a purge out: every place in an order that a kill can't break, then the proof, then the receipt.

1. What is to go stands in `private/purge.json`: from here on the next start finishes what a stop cuts off.
2. Late events of it are refused, and the spool is drained.
3. A `purge` line tells that it begins; what came before lies in segments that nobody appends to any more.
4. Pages, then git's history if that was asked for, then the segments, then all other files.
5. The index is built anew from what is left, so that nothing stays in its free pages. What came in meanwhile goes too.
6. All bytes are searched. 7. A `purge` line tells what went, and the pending file goes.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aimemory import points
from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError, Busy, Unavailable
from aimemory.index.purges import purge_lines
from aimemory.journal.lines import Record
from aimemory.journal.rewrite import Rewritten, rewrite, survey
from aimemory.journal.segments import Journal
from aimemory.model.handoff import HandoffId, HandoffOp, HandoffState, Party
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock
from aimemory.privacy import sanitize_tree
from aimemory.sessions.reader import Sessions
from aimemory.store.claims import Claims
from aimemory.store.committer import Committer
from aimemory.store.forgotten import Forgotten
from aimemory.store.pages import Pages
from aimemory.store.places import Places
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.writer import Append, Writer
from aimemory.upkeep.purge import pending as pending_file
from aimemory.upkeep.purge.change import Change
from aimemory.upkeep.purge.expiry import RETENTION
from aimemory.upkeep.purge.pagefiles import PageFiles, actor_of
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.places import (
    archives,
    change_files,
    connect_copies,
    drop_cache_copies,
    drop_leftovers,
    drop_unsaved,
)
from aimemory.upkeep.purge.plan import Planner
from aimemory.upkeep.purge.search import Searched, search_all
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.prune import prune
from aimemory.wiki.rewrite import Prepared, prepare, refuse_unready, switch

_ROUNDS = 3
_MOVED = 5


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was taken out where, how it was looked for afterwards, and what remains.

    counts: what went or changed, by place. found: places that still hold one of the texts, with how many of them.
    seq: the journal line that tells of it. commits, versions: of git's history, that held it or, where rewriting that
    wasn't asked for, still hold it. rewritten: commits that have or would get new ids.
    """

    what: str
    seq: int
    at_ns: int
    history: bool
    counts: dict[str, int]
    searched: Searched
    commits: int
    rewritten: int
    versions: int
    archives: list[str]
    removed_archives: list[str] = field(default_factory=list)


class Purge:
    """One at a time. `run` begins one, `finish` ends what a stop or a refusal left undone."""

    def __init__(
        self, *, data: DataDir, files: WikiFiles, journal: Journal, writer: Writer, projector: Projector,
        reader: Reader, committer: Committer, pages: Pages, projects: Projects, claims: Claims, sessions: Sessions,
        forgotten: Forgotten, planner: Planner, clock: Clock, segments: asyncio.Lock,
        drain: Callable[[], Awaitable[object]], change_of: Callable[[Pending], Awaitable[Change]],
        reload: Callable[[], None], making: Places,
    ) -> None:  # fmt: skip
        self._data = data
        self._journal = journal
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._committer = committer
        self._pages = pages
        self._projects = projects
        self._claims = claims
        self._sessions = sessions
        self._forgotten = forgotten
        self._planner = planner
        self._clock = clock
        self._page_files = PageFiles(
            files=files, pages=pages, reader=reader, committer=committer, planner=planner, clock=clock
        )
        self._segments = segments
        self._drain = drain
        self._change_of = change_of
        self._reload = reload
        self._making = making
        self._lock = asyncio.Lock()
        self._began_ns = clock.now_ns()
        self._tried = False
        self.problem: str | None = None

    def prime(self) -> None:
        """At a start, before the first event: what a purge that was cut off forgets is refused already, and what it did
        to pages is no hand edit."""
        drop_unsaved(self._data.private)
        try:
            left = pending_file.load(self._data.purge_pending)
        except AimemoryError as error:
            self.problem = str(error)
            return
        if left is not None:
            self._forgotten.take(_guard(left))
            self._pages.hand_edits.expect(left.concerns, actor_of(left))

    def is_pending(self) -> bool:
        return self._data.purge_pending.exists()

    async def run(self, pending: Pending) -> Receipt:
        """Carry it out. Raises Busy while another one is under way; Unavailable where git's history can't be rewritten
        now, before anything is done; what fails later is tried again by `finish`."""
        if self._lock.locked() or self.is_pending():
            raise Busy("Something else is being taken out just now. Try again when that is done.")
        async with self._lock:
            if pending.history:
                await self._committer.exclusively(lambda: refuse_unready(self._data.wiki))
            self._tried = True
            await asyncio.to_thread(self._decide, pending)
            return await self._carry_out(pending)

    def _decide(self, pending: Pending) -> None:
        try:
            pending_file.save(self._data.purge_pending, pending)
            points.reached("purge.decided")
        except OSError as error:
            try:
                pending_file.clear(self._data.purge_pending)
            except OSError:
                self.problem = f"{_PARTLY} {_said(error)}. It is tried again."
                raise Unavailable(self.problem) from error
            raise Unavailable(f"Nothing was taken out: {_said(error)}.") from error

    async def finish(self) -> Receipt | None:
        """Do what is left of a purge that was begun. `problem` says why that can't be done yet."""
        if self._lock.locked():
            return None
        async with self._lock:
            self._tried = True
            left = await asyncio.to_thread(pending_file.load, self._data.purge_pending)
            if left is None:
                self.problem = None
                return None
            await self._projector.settled()
            if any(line.data.get("id") == left.id and line.data.get("op") == "done" for line in await self._lines()):
                await asyncio.to_thread(pending_file.clear, self._data.purge_pending)
                self.problem = None
                return None
            return await self._carry_out(left)

    async def finish_what_failed(self) -> None:
        """From time to time: what a fault has left undone. The first try is the start's, once it knows what lies on the
        disk."""
        if self._tried and self.is_pending():
            await self.finish()

    async def _lines(self) -> list[Any]:
        await self._projector.reached(self._projector.applied_seq + self._projector.lag)
        return await self._reader.read(purge_lines())

    async def _carry_out(self, pending: Pending) -> Receipt:
        self._pages.hand_edits.expect(pending.concerns, actor_of(pending))
        try:
            async with self._making.changed():  # nobody makes a page meanwhile of what goes
                receipt = await self._all_steps(pending)
        except AimemoryError as error:
            self.problem = f"{_PARTLY} {str(error).removesuffix(_AGAIN)}{_AGAIN}"
            raise
        except OSError as error:
            self.problem = f"{_PARTLY} {_said(error)}. It is tried again."
            raise Unavailable(self.problem) from error
        except Exception:  # a fault of our own must not be the one thing that nobody is told of
            self.problem = f"{_PARTLY} the daemon met a fault of its own, which its log has. It is tried again."
            raise
        self.problem = None
        self._pages.hand_edits.expect(None, actor_of(pending))
        return receipt

    async def _all_steps(self, pending: Pending) -> Receipt:
        self._forgotten.take(_guard(pending))
        try:
            await self._drain()
        except (AimemoryError, OSError):  # what can't be filed now stays spooled, and is changed there
            pass
        for name in pending.muted:
            await self._withdraw(HandoffId(name), pending)
        past, removed = Prepared(), list[str]()
        for number in range(_ROUNDS):
            pending = await self._planner.renewed(pending) if number else pending
            change = await self._change_of(pending)
            before = await self._begin(pending)
            points.reached("purge.begun")
            await self._page_files.change(pending, change)
            await self._save(pending)
            points.reached("purge.pages")
            here = await self._history(pending, change)
            past = here if not number else past
            points.reached("purge.history")
            await self._change_lines(pending, change, before)
            points.reached("purge.journal")
            for place, count in (await asyncio.to_thread(change_files, self._data, change)).items():
                pending.add(f"{place} files", count)
            pending.add("old copies of the index", await asyncio.to_thread(drop_cache_copies, self._data))
            pending.add("unfinished files", await asyncio.to_thread(drop_leftovers, self._data, self._began_ns))
            removed += await asyncio.to_thread(self._remove_archives, pending)
            points.reached("purge.files")
            await self._projector.rebuild(lambda step, count: None)
            await self._projector.reached(self._writer.last_seq)
            await self._take_notice(pending)
            points.reached("purge.index")
            left = await asyncio.to_thread(survey, self._data.journal, change.line, change.may_concern)
            change = await self._change_of(await self._planner.renewed(pending))
            late = await asyncio.to_thread(self._planner.affected, change)
            if not left.lines and not left.changed and not late:
                break
        searched = await asyncio.to_thread(
            search_all, self._data.root, pending.needles, but=[self._data.purge_pending], disguised=pending.text
        )
        points.reached("purge.searched")
        receipt = await self._tell(pending, past, searched, removed)
        points.reached("purge.told")
        await asyncio.to_thread(pending_file.clear, self._data.purge_pending)
        return receipt

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _withdraw(self, handoff: HandoffId, pending: Pending) -> None:
        """A handoff whose page is forgotten is offered no more; who has taken it goes on."""
        known = await self._claims.find(handoff)
        if known is not None and known.state is HandoffState.OPEN:
            about = sanitize_tree({"why": "its page was forgotten"})
            by = Party(None, None, pending.user, pending.machine)
            await self._claims.note(HandoffOp.CANCEL, handoff, by, about, must=False)

    async def _begin(self, pending: Pending) -> int:
        """Leave the segment that is being written; returns the number before which lines may be rewritten."""
        said = sanitize_tree({
            "op": "begin", "id": pending.id, "what": pending.what, "history": pending.history, "user": pending.user,
            "machine": pending.machine, **({"harness": pending.harness} if pending.harness else {}),
            **_guard(pending),
        })  # fmt: skip
        record = Record("purge", self._clock.now_ns(), said)

        def leave(append: Append) -> int:
            self._journal.leave_segment()
            if pending.begun:
                return self._journal.next_seq
            return append(record)

        before = await self._writer.call(leave)
        if not pending.begun:
            pending.begun = before
            await self._save(pending)
        return before

    async def _history(self, pending: Pending, change: Change) -> Prepared:
        """Rewrite git's history, or only count what of it still holds the thing."""
        wiki = self._data.wiki

        def count() -> Prepared:
            return prepare(wiki, change, dry=True)

        def replace() -> Prepared:
            for attempt in range(_MOVED):
                refuse_unready(wiki)
                found = prepare(wiki, change)
                pending.versions.update(found.versions)  # type: ignore[arg-type]
                pending_file.save(self._data.purge_pending, pending)  # no longer to be had once the old history is gone
                points.reached("purge.prepared")
                try:
                    switch(wiki, found, change)
                    break
                except Unavailable:
                    if attempt == _MOVED - 1:
                        raise
            points.reached("purge.switched")
            prune(wiki)
            return found

        if not pending.history:
            return await self._committer.alone(count, Prepared())
        found = await self._committer.exclusively(replace)
        change.versions.update(pending.versions)  # type: ignore[arg-type]
        pending.add("commits", found.changed_commits)
        pending.add("past versions", len(found.held))
        await self._committer.refresh()
        return found

    async def _change_lines(self, pending: Pending, change: Change, before: int) -> None:
        async with self._segments:  # else they may be sealed meanwhile
            done: Rewritten = await asyncio.to_thread(
                rewrite, self._data.journal, before, pending.begun, self._clock.now_ns(), change.line,
                change.may_concern,
            )  # fmt: skip
        for kind, count in done.lines.items():
            pending.add(f"{kind} lines removed", count)
        for kind, count in done.changed.items():
            pending.add(f"{kind} lines redacted", count)
        await self._save(pending)

    def _remove_archives(self, pending: Pending) -> list[str]:
        """Backups of the data directory's own folder, and agents' settings that hold it, where that was asked for."""
        if not pending.backups:
            return []
        gone = archives(self._data)
        held = search_all(self._data.connect_backups, pending.needles).found if connect_copies(self._data) else {}
        gone += [self._data.connect_backups / name for name in held]
        for path in gone:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        pending.add("backups", len(gone))
        return [path.relative_to(self._data.root).as_posix() for path in gone]

    async def _take_notice(self, pending: Pending) -> None:
        """What is kept in memory goes as well."""
        await asyncio.to_thread(self._reload)
        self._sessions.drop_all()
        self._projects.forget_all()
        for session in pending.sessions:
            self._projects.forget(SessionId(session))
        await self._claims.reload()

    async def _tell(self, pending: Pending, past: Prepared, searched: Searched, removed: list[str]) -> Receipt:
        """The last line: numbers only, since a page's name may be what was to be forgotten."""
        left = [path.relative_to(self._data.root).as_posix() for path in archives(self._data)]
        about = {
            "texts": searched.texts,
            "files": searched.files,
            "bytes": searched.bytes,
            "found": len(searched.found),
        }
        said: Mapping[str, Any] = {
            "op": "done", "id": pending.id, "begun": pending.begun, "what": pending.what, "history": pending.history,
            "user": pending.user, "machine": pending.machine, "counts": pending.counts, "searched": about,
            "remains": {"commits": 0 if pending.history else past.concerned, "backups": len(left)},
        }  # fmt: skip
        at_ns = self._clock.now_ns()
        seq = await self._writer.record(Record("purge", at_ns, sanitize_tree(dict(said))))
        await self._projector.reached(seq)
        return Receipt(
            pending.what, seq, at_ns, pending.history, dict(pending.counts), searched, past.concerned,
            past.changed_commits, len(past.held), left, removed,
        )  # fmt: skip

    async def _save(self, pending: Pending) -> None:
        await asyncio.to_thread(pending_file.save, self._data.purge_pending, pending)


_AGAIN = " It is tried again."
_PARTLY = "Something is only partly taken out:"


def _said(error: OSError) -> str:
    return f"{error.filename or 'the disk'}: {error.strerror}"


def _guard(pending: Pending) -> dict[str, Any]:
    """What has to be recognised later, as `purge` lines hold it. What is only old may come again."""
    if pending.what == RETENTION:
        return {"redacted": True} if pending.before_ns else {}
    found: dict[str, Any] = {
        name: value
        for name, value in (
            ("sessions", pending.sessions), ("events", pending.events), ("files", pending.files),
            ("untold", pending.untold),
        )
        if value
    }  # fmt: skip
    return found | ({"redacted": True} if pending.text is not None or pending.what == "rescan" else {})
