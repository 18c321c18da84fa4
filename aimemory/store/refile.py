"""Projects renamed and merged, sessions moved: the journal line first, then the files, by rename: ids and bytes stay.

A crash between the two is finished at the next start (`finish`): whatever the newest line says has to be true.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from aimemory import points
from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import AimemoryError, Conflict, Unavailable, UserError
from aimemory.index.filed import MergeLine, last_project_line, members_of_merge
from aimemory.index.refile import moved_path
from aimemory.journal.lines import Record
from aimemory.model.handoff import Handoff
from aimemory.model.ids import ProjectId, SessionId, digest
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor, Project
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.store.claims import Claims
from aimemory.store.pagerows import is_listing, merged_page
from aimemory.store.pages import Pages
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.writer import Append
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.names import PAGE_SUFFIX, is_ours_ignored, unusable
from aimemory.wiki.spelling import twin

_ATTEMPTS = 3
_NAMED = 5
_ROOMS = (2, 4, 8)
"""Bytes of a digest that a name gets until it is free."""


class Refiling:
    """The only writer of `project` lines."""

    def __init__(
        self, *, files: WikiFiles, pages: Pages, projects: Projects, claims: Claims, reader: Reader, clock: Clock
    ) -> None:
        self._files = files
        self._pages = pages
        self._projects = projects
        self._claims = claims
        self._reader = reader
        self._clock = clock
        self._unfinished = False

    async def rename(self, project: Project, workspace: str, folder: str, actor: Actor) -> None:
        """Give a project's folder and page another name. Raises Conflict when something is there already."""
        old, new = project.path, f"{workspace}/{folder}"
        record = self._line({"op": "rename", "project": project.id, "from": old, "to": new}, actor)
        back = self._line({"op": "rename", "project": project.id, "from": new, "to": old}, actor)

        def operation(append: Append) -> Mapping[str, str]:
            self.check_free(project, new)
            pages = self._pages_in(old)
            append(record)
            try:
                points.reached("refile.rename-announced")
                self._rename_files(old, new)
            except (OSError, AimemoryError) as error:
                self._unfinished = True
                if self._is_taken_back(old, new):
                    append(back)
                    self._unfinished = False
                    raise Unavailable(f"{old} can't be renamed: {error}. It is as it was.") from error
            return {path: moved_path(path, old, new) for path in pages}

        await self._claims.ready()
        async with self._projects.places.changed():
            now = self._projects.by_id(project.id)
            if now is None or now.path != old:
                raise Conflict(f"{old} was renamed or removed in this very moment. `aimemory project list` shows all.")
            holder = self._projects.named(folder)
            if holder is not None and holder.id != project.id:
                raise Conflict(f"{folder!r} means {holder.path} since this very moment. Choose another name.")
            moves = await self._pages.relocate(operation, actor=actor, summary=f"Rename {old} to {new}")
            self._claims.refile(lambda handoff: _page_moved(handoff, moves))
        if self._unfinished:
            raise Unavailable(f"{old} is {new} now, but the disk failed before all of it was done. The rest follows.")

    def check_free(self, project: Project, new: str) -> None:
        """Blocks. Raises Conflict when the folder `new`, or the page's new name in it, is taken by whatever it is;
        Unavailable where not all that would move can be seen."""
        if self._files.exists(new):
            raise Conflict(f"There is something at {new} in the wiki already. Choose another name.")
        if other := twin(self._files.root, new):
            raise Conflict(f"{other} is there already; the two names are one on other systems. Choose another name.")
        folder = new.rpartition("/")[2]
        page = f"{project.path}/{folder}{PAGE_SUFFIX}"
        if folder != project.folder and self._files.exists(page):
            raise Conflict(f"There is something at {page}, where the project's page would come. Move it away first.")
        self._files_in(project.path)

    async def move_session(
        self, session: SessionId, source: ProjectId, target: Project, pages: Mapping[str, str], actor: Actor
    ) -> None:
        """File a session, its events, handoffs and pages (new paths by old ones) under another project."""
        said = {"op": "move-session", "session": session, "from": source, "project": target.id}
        record = self._line(said | {"pages": dict(pages)}, actor)

        def operation(append: Append) -> Mapping[str, str]:
            for old, new in pages.items():
                if not self._files.exists(old):
                    raise Conflict(f"{old} is not there any more: it was moved in this very moment. Try again.")
                if self._files.exists(new):
                    raise Conflict(f"There is a page at {new} already. Rename one of the two first.")
            append(record)
            try:
                points.reached("refile.move-announced")
                self._move_files(pages)
            except OSError as error:
                self._unfinished = True
                raise Unavailable(f"Not all pages could be moved: {error.strerror}. The rest follows.") from error
            return pages

        await self._claims.ready()
        async with self._projects.places.changed():
            await self._pages.relocate(operation, actor=actor, summary=f"Move session {session} to {target.path}")
            self._projects.forget(session)
            self._claims.refile(
                lambda handoff: _page_moved(
                    replace(handoff, project=target.id) if handoff.session == session else handoff, pages
                )
            )

    async def merge(self, source: Project, target: Project, actor: Actor) -> Mapping[str, str]:
        """File all of a project under another one; returns new paths of its pages by old ones.

        Its own page moves to where its identity, aliases and directories mean the other project (`merged_page`).
        """

        def operation(append: Append) -> Mapping[str, str]:
            moves = self.merge_moves(source, target)
            pages = {old: new for old, new in moves.items() if old.endswith(PAGE_SUFFIX)}
            files = {old: new for old, new in moves.items() if old not in pages}
            said = {"op": "merge", "from": source.id, "project": target.id, "folder": source.path, "to": target.path}
            append(self._line(said | {"pages": pages, "files": files}, actor))
            points.reached("refile.merge-announced")
            self._settle(moves, source.path)
            return pages

        await self._claims.ready()
        async with self._projects.places.changed():
            for project in (source, target):
                now = self._projects.by_id(project.id)
                if now is None or now.path != project.path:
                    raise Conflict(f"{project.path} was renamed or merged in this very moment. Try again.")
            moves = await self._pages.relocate(
                operation, actor=actor, summary=f"Merge {source.path} into {target.path}"
            )
            self._claims.refile(
                lambda handoff: _page_moved(
                    replace(handoff, project=target.id) if handoff.project == source.id else handoff, moves
                )
            )
        await self._projects.forget_sessions()
        return moves

    async def unmerge(self, merge: MergeLine, pages: Mapping[str, str], files: Mapping[str, str], actor: Actor) -> None:
        """Take a merge back: pages and files to their old places (by their present ones), sessions to their project."""
        said = {"op": "unmerge", "of": merge.seq, "from": merge.target, "project": merge.source, "to": merge.folder}
        record = self._line(said | {"pages": dict(pages), "files": dict(files)}, actor)

        def operation(append: Append) -> Mapping[str, str]:
            for now, old in (*pages.items(), *files.items()):
                if not self._files.exists(now):
                    raise Conflict(f"{now} is not there any more: it was moved in this very moment. Try again.")
                if self._files.exists(old):
                    raise Conflict(f"There is something at {old} in the wiki already. Move it away first.")
            append(record)
            points.reached("refile.unmerge-announced")
            self._settle({**pages, **files}, None)
            return pages

        await self._claims.ready()
        mine = set((await self._reader.read(members_of_merge(merge.seq))).get("handoff", ()))
        source = ProjectId(merge.source)
        async with self._projects.places.changed():
            await self._pages.relocate(operation, actor=actor, summary=f"Take {merge.folder} out again")
            self._claims.refile(
                lambda handoff: _page_moved(
                    replace(handoff, project=source)
                    if handoff.id in mine and handoff.project == merge.target
                    else handoff,
                    pages,
                )
            )
        await self._projects.forget_sessions()

    async def existing(self, paths: Sequence[str]) -> set[str]:
        """Those of these files that lie on the disk now."""
        return await self._pages.existing(paths)

    def merge_moves(self, source: Project, target: Project) -> dict[str, str]:
        """What `merge` would move: new paths by old ones. Blocks.

        Raises UserError for names that no journal line can hold as they are, Unavailable for folders closed to us.
        """
        own = f"{source.path}/{source.folder}{PAGE_SUFFIX}"
        taken = {path.casefold() for path in self._files_in(target.path)}
        moves: dict[str, str] = {}
        files = self._files_in(source.path)
        _require_tellable(files)
        for path in files:
            wanted = f"{target.path}/{path.removeprefix(f'{source.path}/')}"
            place = PurePosixPath(wanted)
            if path == own:
                place = PurePosixPath(merged_page(source.path, target.path))
            elif is_listing(path):  # of one folder; the other has its own
                place = PurePosixPath(merged_page(f"{source.path}-index", target.path))
            new = str(place)
            for size in _ROOMS:
                if new.casefold() not in taken:
                    break
                new = str(place.with_name(f"{place.stem}-{digest(path, size=size)}{place.suffix}"))
            taken.add(new.casefold())
            moves[path] = new
        return moves

    def _files_in(self, folder: str) -> list[str]:
        """Everything that is a file below a folder, but for our own temporary ones."""
        root = self._files.root
        found: list[str] = []
        for place, _, names in os.walk(root / folder, onerror=_closed):
            found += [(Path(place) / name).relative_to(root).as_posix() for name in names if TEMP_PREFIX not in name]
        return sorted(found)

    def _settle(self, moves: Mapping[str, str], emptied: str | None) -> None:
        """Blocks. Move what was announced; folders that hold nothing for that reason go (all in `emptied`).

        Raises Unavailable if not all of it could be moved: that is tried again, also at the next start.
        """
        try:
            self._move_files(moves)
        except (OSError, AimemoryError) as error:
            self._unfinished = True
            raise Unavailable(f"Not all files could be moved: {error}. The rest is tried again.") from error
        folders = {(self._files.root / old).parent for old in moves}
        if emptied is not None:
            folders = {Path(place) for place, _, _ in os.walk(self._files.root / emptied)}
        for folder in sorted(folders, reverse=True):  # the deepest first
            try:
                folder.rmdir()
            except OSError:  # something is in it, or it is gone
                continue

    async def finish(self) -> None:
        """Move the files that the newest line speaks of, if a crash or a failing disk left them. The walk does the
        rest. For the start, and for `finish_what_failed`."""
        said = await self._reader.read(last_project_line())
        if said is None:
            return
        if said["op"] == "rename":
            old, new = said["from"], said["to"]
            if self._files.exists(old) != self._files.exists(new):
                await asyncio.to_thread(self._rename_files, old, new)
                await self._projects.load()
        elif said["op"] == "move-session":
            await asyncio.to_thread(self._move_files, said.get("pages") or {})
        elif said["op"] in ("merge", "unmerge"):
            moves = {**said["pages"], **said["files"]}
            if any(self._files.exists(old) for old in moves):
                await asyncio.to_thread(self._settle, moves, said["folder"] if said["op"] == "merge" else None)
                await self._projects.load()

    async def finish_what_failed(self) -> None:
        """From time to time: what a failing disk kept from being moved. Raises OSError while it still does."""
        if self._unfinished:
            async with self._projects.places.changed():
                await self.finish()
                self._unfinished = False
            await self._projects.load()
            await self._pages.hand_edits.reconcile()

    def _rename_files(self, old: str, new: str) -> None:
        """Blocks. The folder, then the project's own page in it; what is done already is left."""
        if self._files.exists(old):
            self._files.rename(old, new)
            points.reached("refile.folder-renamed")
        page = f"{new}/{old.partition('/')[2]}.md"
        renamed = moved_path(f"{old}/{old.partition('/')[2]}.md", old, new)
        if page != renamed and self._files.exists(page):
            self._files.rename(page, renamed)

    def _is_taken_back(self, old: str, new: str) -> bool:
        """After a failure: whether everything has its old name, if need be again. A disk that refuses to confirm a
        rename has done it all the same, so each attempt may come one step further."""
        for _ in range(_ATTEMPTS):
            try:
                self._rename_files(new, old)
                break
            except (OSError, AimemoryError):
                continue
        page = f"{old}/{new.rpartition('/')[2]}.md"
        is_half = old.rpartition("/")[2] != new.rpartition("/")[2] and self._files.exists(page)
        return self._files.exists(old) and not self._files.exists(new) and not is_half

    def _pages_in(self, folder: str) -> list[str]:
        """Pages as the walk sees them, also those that it will see for the first time."""
        return [
            path
            for path in self._files_in(folder)
            if path.endswith(PAGE_SUFFIX)
            and not any(is_ours_ignored(part) or unusable(part) for part in path.split("/"))
            and not sanitize(path).counts
        ]

    def _move_files(self, pages: Mapping[str, str]) -> None:
        for old, new in pages.items():
            if self._files.exists(old) and not self._files.exists(new):
                self._files.rename(old, new)
                points.reached("refile.page-moved")

    def _line(self, said: dict[str, Any], actor: Actor) -> Record:
        who = {"user": actor.user, "machine": actor.machine, "harness": actor.harness, "by": actor.session}
        return Record(
            "project", self._clock.now_ns(), sanitize_tree(said | {k: v for k, v in who.items() if v is not None})
        )


def _closed(error: OSError) -> None:
    """Of a folder that nobody may look into nothing can be said of what would move."""
    raise Unavailable(f"{error.filename} can't be read: {error.strerror}. Give the folder back to yourself first.")


def _require_tellable(paths: Sequence[str]) -> None:
    """Raises UserError: what moves has to be said in the journal, so that it can be finished and taken back."""
    together = "\n".join(paths)
    if sanitize(together).value == together:
        return
    if odd := [path for path in paths if sanitize(path).value != path]:
        names = ", ".join(ascii(sanitize(path).value) for path in odd[:_NAMED])
        more = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
        raise UserError(
            f"Names that are no UTF-8 or look like a secret can't be moved: {names}{more}. Rename them first."
        )


def _page_moved(handoff: Handoff, moves: Mapping[str, str]) -> Handoff:
    return replace(handoff, page=moves.get(handoff.page, handoff.page)) if handoff.page else handoff
