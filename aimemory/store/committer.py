"""Groups page changes into git commits, about one a second, and keeps the repository's own index in step.

Owns the wiki's repository: one worker thread does all git work. A change waits here only for git; the page itself is
durable already, so a lost queue costs nothing: the next walk finds what HEAD lacks.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from aimemory.errors import AimemoryError, Unavailable
from aimemory.model.ids import Version, page_version
from aimemory.model.protocols import Clock, Pulse, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.wiki.gitpast import PageThen
from aimemory.wiki.repo import PageCommit, WikiRepo

T = TypeVar("T")

EDITED_BY_HAND, DELETED_BY_HAND = "Edit by hand", "Delete by hand"
"""Summaries of what somebody did outside of us."""

_GROUP_S = 1.0
_RETRY_S = 5.0
_PAUSES, _PAUSE_S = 8, 0.25
_COMPARED = 500
_BEHIND_NS = 3_000_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """One path's new content (None: deleted), whose it is, and what it was for the commit message.

    found: it lay there, somebody else than us wrote or deleted it. queued_ns: set when it is queued. waited: it was
    held back since a git was at work on the files.
    """

    path: str
    content: bytes | None
    user: str
    email: str
    summary: str
    found: bool = False
    queued_ns: int = 0
    waited: bool = False


@dataclass(frozen=True, slots=True)
class Past:
    """One commit of a page. version: its version token then, None where the commit deleted it. path: its name there."""

    commit: PageCommit
    version: Version | None
    path: str = ""


def author_of(actor: Actor) -> tuple[str, str]:
    """Name and e-mail of a commit's author; the address leads nowhere (RFC 2606)."""
    return actor.user, f"{actor.user}@{actor.machine}.invalid"


class Committer:
    """Takes changes and commits them; `flush` does it now."""

    def __init__(
        self, root: Path, clock: Clock, on_commit: Callable[[Sequence[Change]], Awaitable[None]] | None = None
    ) -> None:
        """on_commit: awaited with the changes of each commit that was made; what HEAD held already makes none."""
        self._root = root
        self._on_commit = on_commit
        self._repo: WikiRepo | None = None
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="committer")
        self._queue: list[Change] = []
        self._unsynced: set[str] = set()
        self._in_step = False  # a crash may have come between a commit and the repository's own index
        self._behind_ns = 0
        self._waits_ns = 0
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self.problem: str | None = None
        self.head: str | None = None
        self._began = False

    @property
    def waiting(self) -> int:
        """Changes not yet in a commit."""
        return len(self._queue)

    @property
    def index_problem(self) -> str | None:
        """A sentence while git's index has waited for somebody's lock, or for the end of a merge, for some seconds."""
        if not self._behind_ns or self._clock.now_ns() - self._behind_ns < _BEHIND_NS:
            return None
        lock = self._root / ".git" / "index.lock"
        return (
            f"Pages are committed, but git's index has waited since {rfc3339_local(self._behind_ns)}, so `git status` "
            f"there tells of changes that are none: {lock} is held, or a merge is in progress. If no git runs there: "
            f"rm {lock}. One that is left over goes by itself after ten minutes to an hour."
        )

    def add(self, change: Change) -> None:
        self._queue.append(replace(change, queued_ns=self._clock.now_ns()))
        self._wake.set()

    async def run(self, pulse: Pulse) -> None:
        """Commit in groups until cancelled."""
        self._wake.set()
        while True:
            pulse.beat(queue=len(self._queue))
            await self._wake.wait()
            await asyncio.sleep(_GROUP_S)  # one commit for what belongs together
            self._wake.clear()
            try:
                done = await self.flush(patient=True)
                pulse.beat(queue=len(self._queue), last=f"{done} pages committed" if done else None)
                pulse.over()
            except AimemoryError as error:
                pulse.fail(str(error))
                await asyncio.sleep(_RETRY_S)
            if self._queue or self._unsynced or not self._in_step:
                self._wake.set()

    async def flush(self, *, patient: bool = False) -> int:
        """Commit everything that waits; returns the number of pages.

        Raises Unavailable when the repository can't take it now (a merge in progress, a foreign lock); nothing is
        lost, the changes stay queued. While somebody's git is at work on the files, what was found on the disk waits:
        committed, the half of a checkout would be taken for a person's deletions and edits.
        patient: don't wait for it, and say so only when it lasts.
        """
        if not patient:
            await self._let_git_finish()
        async with self._lock:
            batch, self._queue = self._queue, []
            left = batch
            waits: list[Change] = []
            try:
                waits, batch = await self._in_thread(lambda: self._apart(batch)) if batch else (waits, batch)
                left = batch
                left = batch = await self._in_thread(lambda: self._not_overtaken(batch)) if batch else batch
                for group in _by_author(batch):
                    made = await self._in_thread(partial(self._commit, group))
                    left = left[len(group) :]
                    if made and self._on_commit is not None:
                        await self._on_commit(group)
                    self._unsynced |= {c.path for c in group}
                if self._unsynced or not self._in_step:
                    paths = sorted(self._unsynced)
                    if await self._in_thread(lambda: self._open_repo().sync_index(paths)):
                        self._unsynced.clear()
                        self._in_step = True
                        self._behind_ns = 0
                    else:
                        self._behind_ns = self._behind_ns or self._clock.now_ns()
                self._say_what_waits(bool(waits), patient)
                self.problem = None
            except AimemoryError as error:
                self.problem = str(error)
                raise
            except Exception as error:
                self.problem = f"git can't be written: {error}"
                raise Unavailable(self.problem) from error
            finally:
                self._queue = waits + left + self._queue
            return len(batch)

    async def _let_git_finish(self) -> None:
        """Most of what git does is done in an instant."""
        for _ in range(_PAUSES):
            try:
                if not any(change.found for change in self._queue) or not await self._in_thread(
                    lambda: self._open_repo().is_changing()
                ):
                    return
            except AimemoryError:  # told by the flush
                return
            await asyncio.sleep(_PAUSE_S)

    def _apart(self, batch: list[Change]) -> tuple[list[Change], list[Change]]:
        """In the thread: what has to wait for somebody's git, and the rest. Of one page's changes the order is kept."""
        if not any(change.found for change in batch) or not self._open_repo().is_changing():
            return [], batch
        held: set[str] = set()
        waits, rest = [], []
        for change in batch:
            if change.found or change.path in held:
                held.add(change.path)
                waits.append(replace(change, waited=True))
            else:
                rest.append(change)
        return waits, rest

    def _say_what_waits(self, something: bool, patient: bool) -> None:
        """Raises Unavailable where something waits and that is to be said."""
        now = self._clock.now_ns()
        self._waits_ns = (self._waits_ns or now) if something else 0
        if something and not (patient and now - self._waits_ns < _BEHIND_NS):
            lock = self._root / ".git" / "index.lock"
            raise Unavailable(
                f"A git is at work in {self._root}, so what it and people change there waits until it is done. If none "
                f"runs: rm {lock}. One that is left over goes by itself after ten minutes to an hour."
            )

    async def differing(self, paths: Sequence[str]) -> list[str]:
        """Which of these pages HEAD lacks or has with other content. Some at a time, so that neither a commit nor a
        stop waits until all of them have been read."""
        found: list[str] = []
        for start in range(0, len(paths), _COMPARED):
            part = paths[start : start + _COMPARED]
            found += await self._in_thread(partial(self._differing, part))
        return found

    def _differing(self, paths: Sequence[str]) -> tuple[str, ...]:
        return self._open_repo().differing(paths)

    async def tracked(self) -> list[str]:
        """All pages that HEAD holds."""
        return list(await self._in_thread(lambda: self._open_repo().tracked()))

    async def has_lost(self, paths: Collection[str]) -> bool:
        """Whether the repository is gone, or was when this process came and what it began holds none of these pages."""
        if not (self._root / ".git").exists():
            return True
        return self._began and not set(paths).intersection(await self.tracked())

    async def past(self, path: str, limit: int) -> list["Past"]:
        """The committed versions of a page, newest first, what waits included if the repository takes it now."""
        try:
            await self.flush()
        except AimemoryError:
            pass  # reported in `problem`
        return await self._in_thread(lambda: self._past(path, limit))

    async def renamed_from(self, path: str, commit: str) -> str | None:
        """Where the page was before a commit that `past` names brought it to `path`; None where it began there."""
        return await self._in_thread(lambda: self._open_repo().renamed_from(path, commit))

    async def at(self, commit: str, paths: Sequence[str]) -> PageThen | None:
        """What a commit holds of the first of these pages that it has; None where there is no such commit."""
        return await self._in_thread(lambda: self._open_repo().at(commit, paths))

    async def content(self, blob: str) -> bytes:
        """The bytes of a version that `past` names."""
        return await self._in_thread(lambda: self._open_repo().content(blob))

    async def exclusively(self, function: Callable[[], T]) -> T:
        """Commit what waits, then run `function` in git's thread while nobody of us has the repository open.

        Raises as `flush` does, and what the function raises.
        """
        await self.flush()
        async with self._lock:
            return await self._in_thread(lambda: self._closed(function))

    async def replaced(self, function: Callable[[], T]) -> T:
        """As `exclusively`, for a repository that takes no commit: what waits goes on waiting, for the one that
        `function` puts in its place."""
        async with self._lock:
            try:
                return await self._in_thread(lambda: self._closed(function))
            finally:
                self._in_step = False
                self._wake.set()

    def _closed(self, function: Callable[[], T]) -> T:
        """In the thread: run it while nobody of us has the repository open."""
        if self._repo is not None:
            self._repo.close()
            self._repo = None
        return function()

    async def alone(self, look: Callable[[], T], otherwise: T) -> T:
        """As `exclusively`, for looking only: also while git takes no commit; `otherwise` where it can't be read."""
        try:
            await self.flush()
        except AimemoryError:
            pass  # reported in `problem`
        try:
            async with self._lock:
                return await self._in_thread(look)
        except AimemoryError:
            return otherwise

    async def refresh(self) -> None:
        """After the history became another one: bring the repository's own index in step with it."""
        async with self._lock:
            await self._in_thread(lambda: self._open_repo().sync_index(None))
            if self.head is not None:
                self.head = await self._in_thread(lambda: self._open_repo().head())

    def _past(self, path: str, limit: int) -> list["Past"]:
        repo = self._open_repo()
        return [
            Past(commit, page_version(repo.content(commit.blob)) if commit.blob else None, path)
            for commit in repo.history(path, limit)
        ]

    def _open_repo(self) -> WikiRepo:
        """In the thread: the repository, opened at the first need, so that a broken one never keeps capture down."""
        if self._repo is None:
            self._began = not (self._root / ".git").exists()
            self._repo = WikiRepo(self._root)
        return self._repo

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def close(self) -> None:
        """Commit what waits, if the repository allows, and release the thread."""
        try:
            await self.flush(patient=True)
        except AimemoryError:
            pass  # reported in `problem`; the next start finds what HEAD lacks
        repo = self._repo
        if repo is not None:
            await self._in_thread(repo.close)
        self._thread.shutdown(wait=True)

    def _not_overtaken(self, batch: list[Change]) -> list[Change]:
        """In the thread: without what a person settled in a commit of his own while it waited for a merge to end, and
        without deletions by hand of files that are there again, since a branch was switched and back meanwhile: what
        came back has a change of its own, if HEAD lacks it. Also without what a git put there and took away again."""
        repo = self._open_repo()
        old = repo.overtaken([(change.path, change.content, change.queued_ns) for change in batch])
        return [
            change
            for number, change in enumerate(batch)
            if number not in old
            and not (change.content is None and change.found and os.path.lexists(self._root / change.path))
            and not (change.content is not None and change.waited and repo.is_past(change.path, change.content))
        ]

    def _commit(self, group: list[Change]) -> bool:
        latest = {change.path: change.content for change in group}
        head = self._open_repo().commit(
            latest, author_name=group[0].user, author_email=group[0].email, message=_message(group),
            when_ns=self._clock.now_ns(),
        )  # fmt: skip
        self.head = head or self.head
        return head is not None


def _by_author(batch: list[Change]) -> list[list[Change]]:
    """Neighbouring changes of one author, each path once: every version of a page has a commit to come back from."""
    groups: list[list[Change]] = []
    paths: set[str] = set()
    for change in batch:
        if groups and groups[-1][0].user == change.user and change.path not in paths:
            groups[-1].append(change)
        else:
            groups.append([change])
            paths = set()
        paths.add(change.path)
    return groups


def _message(group: list[Change]) -> str:
    paths = list(dict.fromkeys(change.path for change in group))
    if len(paths) == 1:
        return f"{group[-1].summary}: {paths[0]}\n"
    listed = "\n".join(f"- {change.summary}: {change.path}" for change in group[:50])
    more = f"\n- and {len(group) - 50} more" if len(group) > 50 else ""
    return f"{len(paths)} pages\n\n{listed}{more}\n"
