"""The step of a purge that changes the wiki's files: pages by the writer, with a line of who did it."""

import asyncio
from pathlib import Path
from typing import Any

from aimemory.errors import AimemoryError
from aimemory.index.events import WrittenRow, written
from aimemory.journal.lines import Record
from aimemory.model.ids import page_version
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.store.committer import Change as Commit
from aimemory.store.committer import Committer, author_of
from aimemory.store.handedits import PURGED
from aimemory.store.pages import Pages
from aimemory.store.reader import Reader
from aimemory.store.writer import Append
from aimemory.upkeep.purge.change import Change, in_wiki
from aimemory.upkeep.purge.expiry import RETENTION
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.plan import Planner
from aimemory.wiki.files import WikiFiles

_PAGES_AT_ONCE = 50


def actor_of(pending: Pending) -> Actor:
    """Who asked for the purge."""
    return Actor(pending.user, pending.machine, pending.harness)


class PageFiles:
    """Asked once a round; doing it again finishes what a failure left."""

    def __init__(
        self, *, files: WikiFiles, pages: Pages, reader: Reader, committer: Committer, planner: Planner, clock: Clock
    ) -> None:
        self._files = files
        self._pages = pages
        self._reader = reader
        self._committer = committer
        self._planner = planner
        self._clock = clock

    async def change(self, pending: Pending, change: Change) -> None:
        """Redact, rename or remove every file of the wiki that the change concerns; index and commits follow."""
        paths = await asyncio.to_thread(self._planner.affected, change)
        actor = actor_of(pending)
        for start in range(0, len(paths), _PAGES_AT_ONCE):
            some = paths[start : start + _PAGES_AT_ONCE]
            done: dict[str, str] = {}
            writes = await self._reader.read(written(some))

            def operation(
                append: Append, some: list[str] = some, done: dict[str, str] = done,
                writes: dict[str, WrittenRow] = writes,
            ) -> Any:  # fmt: skip
                changed: dict[str, tuple[str, bytes] | None] = {}
                for path in some:
                    try:
                        self._change_page(path, change, append, pending, changed, writes.get(path))
                    except (AimemoryError, OSError) as error:  # a link, a file that can't be written: named, not hidden
                        done[path] = type(error).__name__
                return {path: now for path, now in changed.items() if path.endswith(".md")}

            summary = {"rescan": "Redact", RETENTION: "Expire"}.get(pending.what, PURGED)
            await self._pages.rewrite(operation, actor=actor, summary=summary)
            pending.add("pages", len(some) - len(done))
        await asyncio.to_thread(self._remove_empty, pending.folders)
        gone = [path for path in (*pending.paths, *pending.renames) if path.endswith(".md")]
        there = await self._pages.existing(gone)
        for path in await self._committer.differing([path for path in gone if path not in there]):
            self._committer.add(Commit(path, None, *author_of(actor), PURGED))  # a kill cut it off behind the file

    def _remove_empty(self, folders: list[str]) -> None:
        """Folders of a project that is gone; their names say what it was called."""
        for folder in folders:
            top = self._files.root / folder
            for path in sorted((one for one in top.rglob("*") if one.is_dir()), reverse=True):
                _rmdir(path)
            _rmdir(top)

    def _change_page(
        self, path: str, change: Change, append: Append, pending: Pending,
        changed: dict[str, tuple[str, bytes] | None], last: WrittenRow | None,
    ) -> None:  # fmt: skip
        """In the writer's thread. last: who wrote it last; a page that was ours to make anew still is."""
        raw, version = self._files.read(path)
        new, place = in_wiki(change, path, raw), change.name(path)
        if new is None:
            self._files.delete(path, version)
            changed[path] = None
            return
        if path.endswith(".md"):
            op = "redact" if last is not None and last.may_replace(version) else "purge"
            said = {"op": op, "path": place, "version": page_version(new), "user": pending.user}
            append(Record("page", self._clock.now_ns(), sanitize_tree(said | {"machine": pending.machine})))
            if pending.history or path in self._pages.gate.held:  # else git still has it, under the version that it had
                change.versions[version] = page_version(new)
        # the person's own text, which only got shorter by what was asked for
        content = sanitize("").derive(lambda _: new)
        if place != path:
            self._files.rename(path, place)
        if new != raw:
            self._files.write(place, content, version)
        changed[path] = (place, new)


def _rmdir(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:  # something is left in it, which is named where it is found
        pass
