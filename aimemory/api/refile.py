"""Repair of what was filed under the wrong name or project: rename a project, move a session to another one."""

import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from aimemory.errors import Conflict, NotFound, UserError
from aimemory.index.filed import filed_of_session, filed_under, pages_below, pages_of_session
from aimemory.index.pages import pages_titled
from aimemory.index.refile import moved_path
from aimemory.model.answers import Caller, Refiled
from aimemory.model.scope import GLOBAL_FOLDER, UNFILED_FOLDER, Actor, Project
from aimemory.project.identity import portable_name
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.named import session_named
from aimemory.store.past import PageHistory
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.refile import Refiling
from aimemory.store.relink import Relinking

_OURS = (UNFILED_FOLDER, GLOBAL_FOLDER)


class Refile:
    """Reached as `Memory.refile`. Without `apply` both only tell what they would do."""

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
        return replace(plan, applied=apply)

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
                raise UserError(f"{part[:80]!r} can't be a folder. {portable_name(part or name)!r} can.")
        if (workspace, folder) == (project.workspace, project.folder):
            raise UserError(f"It is called {project.path} already.")
        holder = self._projects.named(folder)
        if holder is not None and holder.id != project.id:
            raise Conflict(f"{folder!r} means {holder.path} already. Choose another name.")
        return workspace, folder

    async def _actor_of(self, caller: Caller) -> Actor:
        of = await self._callers.find(caller)
        return replace(self._actor, harness=caller.harness or (of.row.harness if of.row else None), session=of.session)
