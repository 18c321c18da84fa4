"""Which project an event or a call belongs to, and the projects' own pages.

Joins the one resolver with what the wiki knows. A session keeps the project of its first event that had a directory;
a new project gets its page here.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from aimemory.errors import AimemoryError, Conflict, NotFound, Unanswered, Unavailable, UserError
from aimemory.index.events import session as session_row
from aimemory.model.ids import ProjectId, SessionId, page_version
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor, Project
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.privacy.capture import LISTS
from aimemory.project.bounds import Bounds, bounds_of
from aimemory.project.identity import directory_identity, normalize_remote, portable_name
from aimemory.project.registry import UNFILED, Match, Registry
from aimemory.project.resolve import Resolution, Resolver
from aimemory.store.pagerows import (
    declared_project,
    folder_of,
)
from aimemory.store.pages import Pages
from aimemory.store.places import Places
from aimemory.store.projectpages import read_again, read_registry
from aimemory.store.reader import Reader
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.frontmatter import edit_field, render

_SESSIONS = 5000
_ELSEWHERE = 500
_THREADS = 32
"""Made as they are needed; each directory that hangs keeps one."""
_RESOLVE_S = 3.0
_RULES_FRESH_NS = 2_000_000_000
_NO_BOUNDS = Bounds()
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filing:
    """Where an event goes, and what the session's directory allows to be kept. place: that directory, without links."""

    project: Project
    bounds: Bounds = _NO_BOUNDS
    place: str | None = None


@dataclass(slots=True)
class _Kept:
    filing: Filing
    cwd: str | None
    checked_ns: int


class Projects:
    """Answers "which project"; used on the event loop, resolves in threads."""

    def __init__(
        self, *, resolver: Resolver, files: WikiFiles, pages: Pages, reader: Reader, clock: Clock, actor: Actor,
        home: str,
    ) -> None:  # fmt: skip
        self._resolver = resolver
        self._files = files
        self._pages = pages
        self._reader = reader
        self._clock = clock
        self._actor = actor
        self._home = home
        self._registry = Registry()
        self._elsewhere: OrderedDict[str, tuple[Bounds, int]] = OrderedDict()
        self._sessions: OrderedDict[SessionId, _Kept] = OrderedDict()
        self._lock = asyncio.Lock()
        self._hanging: set[str] = set()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
        self.problems: dict[str, tuple[str, ...]] = {}
        self.places = Places()

    unfiled = UNFILED

    async def load(self) -> None:
        """Read all projects' pages; for the start."""
        self._registry = await asyncio.to_thread(read_registry, self._files)

    async def reload(self, paths: Sequence[str]) -> None:
        """Read these projects' pages again, which changed or went.

        At no instant does an identity mean nobody that still means somebody: the next event would make a project of it.
        """
        found = await asyncio.to_thread(read_again, self._files, {folder_of(path) for path in paths})
        for project in self._registry.projects:
            if project.path in found:
                self._registry.remove(project.id)
        for read in found.values():
            if read is not None:
                self._registry.add(read.project, read.paths, read.was)

    def all(self) -> tuple[Project, ...]:
        return self._registry.projects

    def paths(self, project: Project) -> tuple[str, ...]:
        """Directories in which it was seen."""
        return self._registry.paths(project.id)

    async def ensure(self, project: Project) -> None:
        """Make the page of a project that a directory proposed but that nothing was filed under yet."""
        if project is not UNFILED and self._registry.by_id(project.id) is None:
            async with self._lock:
                if self._registry.by_id(project.id) is None:
                    await self._make(project, name=project.folder, root=None)

    def named(self, name: str) -> Project | None:
        """By `workspace/folder`, folder, identity, alias or id."""
        return self._registry.by_name(name)

    async def named_or_proposed(self, name: str) -> tuple[Project, bool]:
        """As `named`, or what a name or directory that no project has would be; and whether it is new. Creates nothing
        (`ensure` does). Raises UserError for what can't be a project.
        """
        if (known := self._registry.by_name(name)) is not None:
            return known, False
        found = await self.aside(lambda: _without_secrets(self._resolver.resolve(None, name)))
        match = self._registry.find(found)
        project = match.project if match else self._registry.propose(found)
        if project is UNFILED or not any(map(str.isalnum, name)):
            raise UserError(f"{name[:80]!r} can be no project. `aimemory project list` shows those that are there.")
        return project, match is None

    def by_id(self, project: ProjectId) -> Project | None:
        return self._registry.by_id(project)

    def name_of(self, project: str | None) -> str | None:
        """`workspace/folder` of an id, for people; the id itself when its page is gone."""
        if project is None:
            return None
        found = self._registry.by_id(ProjectId(project))
        return found.path if found else project

    # -- filing events -----------------------------------------------------------------------------------------------

    async def file(self, session: SessionId | None, cwd: str | None) -> Filing:
        """The project of an event, and the rules of its directory.

        A session's first event with a directory decides; later ones keep that project wherever they ran.
        """
        kept = self._sessions.get(session) if session else None
        if kept is not None and self._is_fresh(kept, cwd):
            return kept.filing
        where = (kept.cwd if kept else None) or cwd
        resolution = await self._resolve(where) if where is not None else None
        async with self._lock:  # one new project is made once, however many events arrive for it
            kept = self._sessions.get(session) if session else None
            if kept is not None and self._is_fresh(kept, cwd):
                return kept.filing
            filing = await self._decide(session, kept, resolution, where)
            if session is not None:
                self._sessions[session] = _Kept(filing, (kept.cwd if kept else None) or cwd, time.monotonic_ns())
                self._sessions.move_to_end(session)
                if len(self._sessions) > _SESSIONS:
                    self._sessions.popitem(last=False)
            return filing

    def _is_fresh(self, kept: _Kept, cwd: str | None) -> bool:
        if kept.filing.project is UNFILED and cwd is not None and kept.cwd is None:
            return False
        return time.monotonic_ns() - kept.checked_ns < _RULES_FRESH_NS

    async def _resolve(self, where: str) -> Resolution:
        return await self.aside(lambda: _without_secrets(self._resolver.resolve(where)), where)

    async def aside(self, look: Callable[[], T], where: str | None = None) -> T:
        """Look at an event's directory in threads of our own, and not for long: it may lie on a share that hangs.

        where: the directory; while a look at it hangs, no other is begun.
        Raises Unanswered when it can't be had: without its rules the event must not be stored.
        """
        said = f"The directory of this event did not answer within {_RESOLVE_S:.0f} s."
        if where in self._hanging:
            raise Unanswered(said)
        looking = self._threads.submit(look)
        try:
            async with asyncio.timeout(_RESOLVE_S):
                return await asyncio.wrap_future(looking)
        except TimeoutError:
            if where is not None and not looking.cancelled():
                self._hanging.add(where)
                looking.add_done_callback(lambda _: self._hanging.discard(where))
            raise Unanswered(said) from None

    async def _decide(
        self, session: SessionId | None, kept: _Kept | None, resolution: Resolution | None, where: str | None
    ) -> Filing:
        project = kept.filing.project if kept is not None and kept.filing.project is not UNFILED else None
        if project is None and session is not None:
            row = await self._reader.read(session_row(session))
            if row is not None and row.project != UNFILED.id:
                project = self._registry.by_id(row.project)
        if resolution is None or where is None:
            return Filing(project or UNFILED)
        if project is None:
            project = await self._project_for(resolution)
        else:
            project = self._registry.by_id(project.id) or project
        bounds = bounds_of(resolution, self._home, self._registry.paths(project.id))
        self._note_problems(where, bounds.problems)
        return Filing(project, bounds, resolution.place)

    async def bounds_at(self, cwd: str, *, fresh: bool = False) -> Bounds:
        """What a directory allows, for events outside of their session's; looked up anew after 2 s or if `fresh`."""
        kept = None if fresh else self._elsewhere.get(cwd)
        if kept is not None and time.monotonic_ns() - kept[1] < _RULES_FRESH_NS:
            return kept[0]
        resolution = await self._resolve(cwd)
        match = self._registry.find(resolution)
        places = self._registry.paths(match.project.id) if match else ()
        bounds = bounds_of(resolution, self._home, places)
        self._note_problems(cwd, bounds.problems)
        self._elsewhere[cwd] = bounds, time.monotonic_ns()
        if len(self._elsewhere) > _ELSEWHERE:
            self._elsewhere.popitem(last=False)
        return bounds

    async def _project_for(self, resolution: Resolution) -> Project:
        match = self._registry.find(resolution)
        if match is None:
            return await self._create(resolution)
        await self._learn(match)
        return self._registry.by_id(match.project.id) or match.project

    async def checkout(self, cwd: str) -> str | None:
        """Top of the work tree that a directory lies in, by the same rules that decide its project; None for none."""
        return (await self._resolve(cwd)).checkout

    async def place(self, cwd: str) -> str | None:
        """The directory itself, without links."""
        return (await self._resolve(cwd)).place

    # -- asking ------------------------------------------------------------------------------------------------------

    async def for_directory(self, cwd: str) -> tuple[Project, str]:
        """The project a directory means, creating nothing; and how that was found."""
        resolution = await self._resolve(cwd)
        match = self._registry.find(resolution)
        if match is not None and match.project is UNFILED:
            return UNFILED, "this directory belongs to no project"
        if match is not None:
            return match.project, f"found by {match.how}"
        return self._registry.propose(resolution), "a new project, by its " + resolution.source

    async def explain(self, cwd: str | None, explicit: str | None = None) -> dict[str, Any]:
        """How a directory resolves, step by step, for `aimemory where`. Creates nothing."""
        resolution = await asyncio.to_thread(self._resolver.resolve, cwd, explicit)
        match = self._registry.find(resolution)
        project = match.project if match else self._registry.propose(resolution)
        bounds = bounds_of(resolution, self._home)
        steps = list(resolution.steps)
        if project is UNFILED:
            steps.append(f"So it belongs to no project; what happens here is kept under {UNFILED.path}.")
        answer = {
            "project": project.path,
            "id": project.id,
            "is_known": match is not None,
            "found_by": match.how if match and project is not UNFILED else None,
            "identity": project.identity,
            "aliases": list(project.aliases),
            "source": resolution.source,
            "workspace": project.workspace,
            "root": resolution.root,
            "place": resolution.place,
            "checkout": resolution.checkout,
            "worktree": resolution.worktree,
            "remote": resolution.remote,
            "capture": {
                "mode": bounds.rules.mode,
                **{name: list(getattr(bounds.rules, name).texts) for name in LISTS},
                "file": bounds.file,
            },
            "problems": list(bounds.problems),
            "steps": steps,
        }
        clean: dict[str, Any] = sanitize_tree(answer).value
        return clean

    # -- pages of projects -------------------------------------------------------------------------------------------

    async def add_alias(self, name: str, alias: str, actor: Actor) -> Project:
        """Let another remote or directory mean this project too.

        Raises NotFound for an unknown project, Conflict when the alias means another one already.
        """
        project = self._registry.by_name(name)
        if project is None or project is UNFILED:
            raise NotFound(f"There is no project {name!r}. `aimemory project list` shows all.")
        identity = directory_identity(alias) if alias.startswith("/") else normalize_remote(alias) or alias.strip()
        holder = self._registry.by_name(identity)
        if holder is not None and holder.id != project.id:
            raise Conflict(f"{identity} means {holder.path} already; remove it there first.")
        await self._note(project, "aliases", identity, actor)
        return self._registry.by_id(project.id) or project

    async def _create(self, resolution: Resolution) -> Project:
        project = self._registry.propose(resolution)
        if project is UNFILED:
            return project
        try:
            await self._make(project, name=resolution.name, root=resolution.root)
        except Conflict:  # a folder of that name was put there by hand; its page now counts
            await self.load()
            match = self._registry.find(resolution)
            if match is None:
                raise
            return match.project
        return project

    async def _make(self, project: Project, *, name: str, root: str | None) -> None:
        now = rfc3339_local(self._clock.now_ns())
        texts = sanitize_tree({"identity": project.identity, "root": root, "name": name})
        content = texts.derive(lambda t: _project_page(project, t, now))
        try:
            await self._pages.write(
                f"{project.path}/{project.folder}.md", content, expected=None, actor=self._actor, summary="New project"
            )
        except UserError as error:  # a link or a file in the place of the folder: not the fault of who sent the event
            self._note_problems(project.path, (str(error),))
            raise Unavailable(f"The page of the project {project.path} can't be made: {error}") from error
        self._registry.add(project, [root] if root else [])

    async def _learn(self, match: Match) -> None:
        """Note a new remote or path on the project's page; a page that can't be edited costs nothing but that."""
        project = match.project
        try:
            if match.new_alias:
                await self._note(project, "aliases", match.new_alias, self._actor)
            if match.new_path:
                await self._note(project, "paths", match.new_path, self._actor)
        except AimemoryError as error:
            self._note_problems(project.path, (str(error),))

    async def _note(self, project: Project, field: Literal["aliases", "paths"], value: str, actor: Actor) -> None:
        """One value more on a project's page, beside those that stand there; merged projects' stand on their own."""
        async with self.places.kept():
            now = self._registry.by_id(project.id) or project
            path = f"{now.path}/{now.folder}.md"
            text, version = await self._pages.read(path)
            if page_version(text.encode("utf-8")) != version:
                raise UserError(f"{path} is no UTF-8, so a copy would damage it.")
            declared = declared_project(path, text.encode())
            values = (*(declared.aliases if field == "aliases" else declared.paths), value)
            # the values pass the gate, not the page: what a person typed in it stays
            content = sanitize_tree(list(values)).derive(
                lambda clean: edit_field(text, field, list(dict.fromkeys(one for one in clean if one)))
            )
            await self._pages.write(path, content, expected=version, actor=actor, summary=f"Set {field}")

    async def forget_sessions(self) -> None:
        """Ask the index again which project each session has, at its next event; not inside `places`."""
        async with self._lock:  # who is deciding now finishes first
            self._sessions.clear()

    def forget(self, session: SessionId) -> None:
        """Ask the index again which project a session has, at its next event."""
        self._sessions.pop(session, None)

    def forget_all(self) -> None:
        """As `forget`, of every session."""
        self._sessions.clear()

    def _note_problems(self, where: str, problems: tuple[str, ...]) -> None:
        self.problems.pop(where, None)
        if problems and len(self.problems) < 100:
            self.problems[where] = tuple(sanitize(p).value for p in problems)


def _without_secrets(found: Resolution) -> Resolution:
    """The same with what looks like a secret taken out of what becomes paths and pages: a name from `.aimemory.toml`,
    or a part of a remote's path. Always the same way, so that the project is found again."""
    if not any(sanitize(text).counts for text in (found.identity, found.name, found.owner or "")):
        return found
    problem = "The project's name or remote looks as if it held a secret, which was left out of the project's name."
    return replace(
        found,
        identity=sanitize(found.identity).value,
        name=portable_name(sanitize(found.name).value) if found.name else "",
        owner=portable_name(sanitize(found.owner).value) if found.owner else None,
        problems=(*found.problems, problem),
    )


def _project_page(project: Project, texts: Mapping[str, Any], now: str) -> str:
    fields: dict[str, Any] = {
        "type": "project",
        "id": project.id,
        "title": texts["name"] or project.folder,
        "identity": texts["identity"],
    }
    if texts["root"]:
        fields["paths"] = [texts["root"]]
    fields |= {"generated": {"by": "aimemory", "at": now}, "created": now}
    return render(fields, f"# {texts['name'] or project.folder}\n\nWhat this project is about: write it here.\n")
