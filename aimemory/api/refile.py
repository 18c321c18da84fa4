"""Repair of what was filed under the wrong name or project: rename or merge a project, move a session to another."""

import asyncio
import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from aimemory.errors import Conflict, NotFound, UserError
from aimemory.index.filed import (
    filed_of_session,
    filed_under,
    members_of_merge,
    observations_of,
    open_merges,
    pages_below,
    pages_of_session,
)
from aimemory.index.pages import pages_titled
from aimemory.index.refile import moved_path, moved_since
from aimemory.model.answers import Caller, Refiled
from aimemory.model.ids import ProjectId
from aimemory.model.scope import GLOBAL_FOLDER, UNFILED_FOLDER, Actor, Project
from aimemory.privacy import sanitize
from aimemory.project.identity import portable_name
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.named import session_named
from aimemory.store.past import PageHistory
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.refile import Refiling
from aimemory.store.relink import Relinking

_OURS = (UNFILED_FOLDER, GLOBAL_FOLDER)
_SHOWN = 80


class Refile:
    """Reached as `Memory.refile`. Without `apply` all only tell what they would do."""

    def __init__(
        self, *, refiling: Refiling, relinking: Relinking, projects: Projects, history: PageHistory, reader: Reader,
        callers: CallerSessions, actor: Actor,
    ) -> None:  # fmt: skip
        self._refiling = refiling
        self._relinking = relinking
        self._projects = projects
        self._history = history
        self._reader = reader
        self._callers = callers
        self._actor = actor

    async def rename_project(
        self, *, project: str, name: str, caller: Caller, apply: bool = False, links: bool = False
    ) -> Refiled:
        """Give a project's folder another name: `folder` or `workspace/folder`.

        Its identity, aliases and ids stay, so later events land in it. Links that would lead nowhere are changed in the
        pages that we generate; links: also in those of people and agents. Raises NotFound, UserError for a name that
        can't be used, Conflict for one that means something already.
        """
        await self._history.level()
        found = self._known(project)
        workspace, folder = self._free_name(found, name)
        new = f"{workspace}/{folder}"
        page = f"{found.path}/{found.folder}.md"
        await asyncio.to_thread(self._refiling.check_free, found, new)
        for one in await self._reader.read(pages_titled(folder)):
            if one.path != page and PurePosixPath(one.path).stem == folder:
                raise Conflict(f"A page is called {folder} already: {one.path}. Links by name would mean both.")
        counts = await self._reader.read(filed_under(found.id))
        moves = {path: moved_path(path, found.path, new) for path in await self._reader.read(pages_below(found.path))}
        changes = await self._relinking.plan(found.path, new, moves)
        own = {**changes.generated, **(changes.others if links else {})}
        left = {} if links else changes.others
        back = f"aimemory project rename {shlex.quote(new)} {shlex.quote(found.path)} --apply"
        plan = Refiled(
            op="rename", project=found.path, to=new, session=None, pages=moves, sessions=counts.sessions,
            observations=counts.observations, handoffs=counts.handoffs, linked_from=tuple(sorted(left)),
            back=f"{back} --links" if links else back, applied=False, relinked=tuple(sorted(own)),
        )  # fmt: skip
        if not apply:
            return plan
        actor = await self._actor_of(caller)
        await self._refiling.rename(found, workspace, folder, actor)
        summary = f"Links to {new}"
        refused = await self._relinking.apply(changes.generated, moves, actor, summary, "write")
        if links:
            refused |= await self._relinking.apply(changes.others, moves, actor, summary, "edit")
        changed = {moves.get(path, path) for path in own} - set(refused)
        still = {moves.get(path, path) for path in left} | set(refused)
        return replace(plan, applied=True, linked_from=tuple(sorted(still)), relinked=tuple(sorted(changed)))

    async def move_session(self, *, session: str, project: str, caller: Caller, apply: bool = False) -> Refiled:
        """File a session under another project, with its events, its handoffs, its page and the pages it created.

        Later events of it follow. Raises NotFound; UserError when it is there already or several sessions fit.
        """
        await self._history.level()
        row = await session_named(self._reader, session)
        target = self._known(project, unfiled=True)
        source = self._projects.by_id(row.project) or self._projects.unfiled
        if source.id == target.id:
            raise UserError(f"Session {row.id} belongs to {target.path} already.")
        paths = await self._reader.read(pages_of_session(row.id, source.path))
        counts = await self._reader.read(filed_of_session(row.id))
        plan = Refiled(
            op="move-session", project=source.path, to=target.path, session=row.id,
            pages={path: f"{target.path}{path.removeprefix(source.path)}" for path in paths}, sessions=counts.sessions,
            observations=counts.observations, handoffs=counts.handoffs, linked_from=(),
            back=f"aimemory project move-session {row.id} {shlex.quote(source.path)} --apply", applied=False,
        )  # fmt: skip
        if apply:
            actor = await self._actor_of(caller)
            await self._refiling.move_session(row.id, row.project, target, plan.pages, actor)
            if source.page is not None and target.page is not None:
                await self._relinking.follow(list(plan.pages.values()), source.page, target.page, actor)
        return replace(plan, applied=apply)

    async def merge_project(self, *, project: str, into: str, caller: Caller, apply: bool = False) -> Refiled:
        """File all of one project under another: pages, sessions, handoffs; its names and directories mean the other.

        Raises NotFound, UserError for one that is no project of its own.
        """
        await self._history.level()
        source, target = self._known(project), self._known(into)
        if source.id == target.id:
            raise UserError(f"{project[:80]!r} and {into[:80]!r} are one project already: {target.path}.")
        moves = await asyncio.to_thread(self._refiling.merge_moves, source, target)
        pages = {old: new for old, new in moves.items() if old.endswith(".md")}
        counts = await self._reader.read(filed_under(source.id))
        renamed = tuple(old for old, new in pages.items() if PurePosixPath(old).name != PurePosixPath(new).name)
        links = await self._relinking.plan(source.path, target.path, pages)
        linking = {pages.get(path, path) if apply else path for path in (*links.generated, *links.others)}
        if apply:
            pages = dict(await self._refiling.merge(source, target, await self._actor_of(caller)))
        return Refiled(
            op="merge", project=source.path, to=target.path, session=None, pages=pages, sessions=counts.sessions,
            observations=counts.observations, handoffs=counts.handoffs, linked_from=tuple(sorted(linking)),
            back=f"aimemory project unmerge {shlex.quote(source.path)} --apply", applied=apply,
            aliases=tuple(filter(None, (source.folder, source.identity, *source.aliases))), renamed=renamed,
        )  # fmt: skip

    async def unmerge_project(self, *, project: str, caller: Caller, apply: bool = False) -> Refiled:
        """Take a merge back: what came from that project and is still in the other one goes back, to the same bytes.

        project: the folder that was merged. Raises NotFound; Conflict where something else has its place by now.
        """
        await self._history.level()
        merges = await self._reader.read(open_merges())
        merge = next((one for one in merges if project.strip() in (one.folder, one.folder.partition("/")[2])), None)
        if merge is None:
            raise NotFound(f"No project {project[:80]!r} is merged into another one.")
        if onward := next((one for one in merges if one.source == merge.target), None):
            raise Conflict(f"{merge.to} was merged too: aimemory project unmerge {onward.folder} comes first.")
        holder = self._projects.by_id(ProjectId(merge.target))
        now, files = moved_since(merge.pages, merge.later), moved_since(merge.files, merge.later)
        there = await self._refiling.existing([*now.values(), *files.values()])
        pages = {path: old for old, path in now.items() if path in there}
        members = await self._reader.read(members_of_merge(merge.seq))
        sessions = members.get("session", [])
        into = holder.path if holder else merge.to
        if apply:
            others = {path: old for old, path in files.items() if path in there}
            await self._refiling.unmerge(merge, pages, others, await self._actor_of(caller))
        return Refiled(
            op="unmerge", project=into, to=merge.folder, session=None, pages=pages, sessions=len(sessions),
            observations=await self._reader.read(observations_of(sessions)), handoffs=len(members.get("handoff", ())),
            linked_from=(), applied=apply, left=tuple(path for path in now.values() if path not in pages),
            back=f"aimemory project merge {shlex.quote(merge.folder)} {shlex.quote(into)} --apply",
        )  # fmt: skip

    def _known(self, name: str, *, unfiled: bool = False) -> Project:
        found = self._projects.named(name)
        if found is None or (found is self._projects.unfiled and not unfiled):
            raise NotFound(f"There is no project {name[:80]!r}. `aimemory project list` shows all.")
        return found

    def _free_name(self, project: Project, name: str) -> tuple[str, str]:
        workspace, _, folder = name.strip().rpartition("/")
        workspace = workspace or project.workspace
        for part in (workspace, folder):
            if not part or part in _OURS or portable_name(part) != part:
                shown = part if len(part) <= _SHOWN else f"{part[:_SHOWN]}…"
                raise UserError(f"{shown!r} can't be a folder. {portable_name(part or name)!r} can.")
            if sanitize(part).counts:
                raise UserError("That name looks as if it held a secret. Choose another.")
        if (workspace, folder) == (project.workspace, project.folder):
            raise UserError(f"It is called {project.path} already.")
        holder = self._projects.named(folder)
        if holder is not None and holder.id != project.id:
            raise Conflict(f"{folder!r} means {holder.path} already. Choose another name.")
        return workspace, folder

    async def _actor_of(self, caller: Caller) -> Actor:
        of = await self._callers.find(caller)
        return replace(self._actor, harness=caller.harness or (of.row.harness if of.row else None), session=of.session)
