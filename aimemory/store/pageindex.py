"""Pages in the index: rows made from files, taken out, and what else has to know of them."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from aimemory.index.pages import PageRow, assign_project, delete_pages, touch_pages, upsert_pages
from aimemory.model.ids import ProjectId
from aimemory.model.protocols import Clock
from aimemory.privacy import Sanitized
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
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.walk import Stat, stat_of

_BATCH = 100


class PageIndex:
    """Keeps the index in step with pages whose files are in place already."""

    def __init__(self, files: WikiFiles, projector: Projector, clock: Clock) -> None:
        self._files = files
        self._projector = projector
        self._clock = clock
        self._folders: dict[str, ProjectId] | None = None
        self._on_project_pages: Callable[[Sequence[str]], Awaitable[None]] | None = None
        self._on_change: Callable[[Sequence[str]], None] = _ignore
        self.touched: dict[str, int] = {}
        """Folders of projects (`workspace/folder`) whose pages changed, and when last; for who makes listings."""

    def tell_of_projects(self, callback: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        """Have `callback` awaited with the paths of pages that declare a project and that changed or went."""
        self._on_project_pages = callback

    def tell_of_changes(self, callback: Callable[[Sequence[str]], None]) -> None:
        """Have `callback` called with the paths of pages whose rows changed or went."""
        self._on_change = callback

    def forget_folders(self) -> None:
        """Projects may have other folders now: they are looked up again."""
        self._folders = None

    async def same(self, stats: Sequence[tuple[str, int, int]]) -> None:
        """Files that were touched and hold what they held: (path, mtime in ns, size in bytes) of each."""
        if stats:
            await self._projector.execute(lambda db: touch_pages(db, stats))

    async def put(self, pages: Sequence[tuple[str, bytes]], stats: Mapping[str, Stat] | None = None) -> None:
        """Make or replace the rows of these pages, given with their bytes. Raises Unavailable, Damaged."""
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
            self._on_change([path for path, _ in part])
        await self._projects_changed([path for path, _ in pages], folders)

    async def remove(self, removed: Sequence[str]) -> None:
        """Take pages out. Raises Unavailable, Damaged."""
        self._touch(removed)
        await self._projector.execute(lambda db: delete_pages(db, removed))
        self._on_change(removed)
        folders = await self._known_folders()
        for path in removed:
            if is_project_page(path):
                folders.pop(folder_of(path), None)
        await self._projects_changed(removed, folders)

    def _touch(self, paths: Iterable[str]) -> None:
        now = self._clock.now_ns()
        self.touched |= {folder_of(path): now for path in paths if not is_listing(path)}

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


def _ignore(paths: Sequence[str]) -> None:
    return


def _upsert(rows: list[Sanitized[PageRow]], db: sqlite3.Connection) -> None:
    upsert_pages(db, rows)


def _assign(folder: str, project: ProjectId | None, db: sqlite3.Connection) -> None:
    assign_project(db, folder, project)
