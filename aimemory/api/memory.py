"""The operations of the product as one typed face: HTTP, MCP and the command line call this and nothing deeper."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aimemory.api.audit import Audit
from aimemory.api.bundles import Bundles
from aimemory.api.capture import CaptureFace
from aimemory.api.conflicts import ConflictCopies
from aimemory.api.feedback import Feedback
from aimemory.api.filters import limit_of, scope_of
from aimemory.api.forget import Forget
from aimemory.api.handoffs import Handoffs
from aimemory.api.history import History
from aimemory.api.links import Links
from aimemory.api.lookup import Where, none_here, refuse_where_off
from aimemory.api.reading import Reading
from aimemory.api.refile import Refile
from aimemory.api.related import Related
from aimemory.api.repair import Repair
from aimemory.api.undo import Undoing
from aimemory.api.versions import Find
from aimemory.brief.compose import Composer, Moment, Occasion
from aimemory.config import Config
from aimemory.errors import Damaged, NotFound, Unavailable, UserError
from aimemory.index.events import SessionRow, counts, recent_observations, sessions, unclosed_sessions
from aimemory.index.links import paths_of_names
from aimemory.index.pages import PageInfo, newest_pages, page, pages_called, pages_titled, pages_with_id
from aimemory.index.search import files_of
from aimemory.model.answers import Caller, Found, Recent, RecentItem, Written
from aimemory.model.ids import PageId, SessionId, Version, digest
from aimemory.model.links import file_name
from aimemory.model.observation import Observation
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import GLOBAL_FOLDER, Actor, Project
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.privacy.folders import Folders
from aimemory.recall.answer import Request, search
from aimemory.sessions.caller import CallerSessions
from aimemory.store.merging import Merging
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.vectors import Vectors
from aimemory.wiki.frontmatter import edit_field, render, split
from aimemory.wiki.merge import keep_form
from aimemory.wiki.names import slug

WRITABLE_KINDS = ("decision", "gotcha", "concept", "procedure", "note", "rule")
GENERATED_KINDS = ("session", "handoff")
EVERYWHERE = "*"
"""As a project: all of them."""

_FOLDERS = {kind: f"{kind}s" for kind in WRITABLE_KINDS}
_MAX_BODY_CHARS = 512 * 1024
_MAX_QUERY_BYTES = 40_000
_FILES = 8
_MAX_RECENT = 100
_NAMED = 20
_TITLE_CHARS = 120
_SUFFIX_BYTES = (2, 4, 6)


@dataclass(frozen=True, slots=True)
class _Where:
    """The project an operation works in (None: all, or none yet), and how it was found. off_by: the folder that
    `aimemory off` names, if the caller is in it. is_named: the caller named it, so that nothing else is meant."""

    project: Project | None
    how: str
    off_by: str | None = None
    is_named: bool = False

    @property
    def name(self) -> str | None:
        return self.project.path if self.project else None

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.project.id,) if self.project else ()

    @property
    def with_global(self) -> tuple[str, ...]:
        """With what holds for every project; empty for all."""
        return (self.project.id, GLOBAL_FOLDER) if self.project else ()


class Memory:
    """What an agent or a person can do. Every method may be called concurrently."""

    def __init__(
        self, *, config: Config, clock: Clock, actor: Actor, pages: Pages, projects: Projects, projector: Projector,
        reader: Reader, composer: Composer, faces: Callable[[Where], tuple[Handoffs, History]], callers: CallerSessions,
        folders: Folders, repair: Callable[[Find, Where], Repair], links: Callable[[Find, Where], Links],
        reading: Callable[[Find, Where], Reading], feedback: Callable[[Find, Where], Feedback],
        related: Callable[[Find, Where], Related],
        undoing: Undoing, refile: Refile, bundles: Bundles, capture: CaptureFace, merging: Merging,
        conflicts: ConflictCopies, forget: Callable[[Find], Forget], audit: Audit, vectors: Vectors,
        status: Callable[[], Awaitable[dict[str, Any]]], examine: Callable[..., list[dict[str, object]]],
    ) -> None:  # fmt: skip
        self._config = config
        self._clock = clock
        self._actor = actor
        self._pages = pages
        self._projects = projects
        self._projector = projector
        self._reader = reader
        self._composer = composer
        self._vectors = vectors
        self._callers = callers
        self._folders = folders
        self._status = status
        self._examine = examine
        self.handoffs, self.history = faces(self._where)
        self.repair = repair(self._page_at, self._near)
        self.links = links(self._page_at, self._near)
        self.reading = reading(self._page_at, self._near)
        self.feedback = feedback(self._page_at, self._near)
        self.related = related(self._page_at, self._near)
        self.undoing = undoing
        self.refile = refile
        self.bundles = bundles
        self.capture = capture
        self.conflicts = conflicts
        self._merging = merging
        self.forget = forget(self._page_at)
        self.audit = audit

    # -- finding -----------------------------------------------------------------------------------------------------

    async def search(
        self, *, query: str, caller: Caller, project: str | None = None, kind: str | None = None, limit: int = 10,
        cursor: str | None = None, harness: str | None = None, session: str | None = None, since: str | None = None,
        until: str | None = None, file: str | None = None, workspace: str | None = None, tag: str | None = None,
        include_observations: bool = True, fold: bool = True, after: int = 0,
    ) -> Found:  # fmt: skip
        """Pages and recorded events that match; any text is a valid query. Project "*" searches all of them.

        kind: of pages, or `observation` for recorded events alone. tag: of pages. file: a path or a part of one that
        they are about. since, until: dates or times, inclusive. limit: 1 to 50.
        workspace: all projects of it, in place of one. fold: hits that say nearly the same are one. cursor: of the
        answer before, refused with UserError where what was shown has changed since.
        after: wait until the index shows this journal line. Raises UserError for a filter that can't be understood,
        Unavailable when the index can't answer: that is never shown as "nothing found".
        """
        await self._projector.reached(after)
        if workspace and project not in (None, EVERYWHERE):
            raise UserError("Give a project or a workspace, not both: a workspace is all of its projects.")
        where = self._whole(workspace) if workspace else await self._where(project, caller)
        scope = scope_of(
            projects=self._in_workspace(workspace) if workspace else where.with_global, kind=kind, tag=tag,
            harness=harness, session=session, since=since, until=until, file=file,
            include_observations=include_observations,
        )  # fmt: skip
        text = sanitize(query, cap_bytes=_MAX_QUERY_BYTES)
        meaning = await self._vectors.meaning(text)
        files = await self._files_at_work(caller)
        asked = Request(text.value, scope, limit_of(limit), cursor, self._clock.now_ns(), fold, meaning, files)
        answer = await self._reader.read(search(asked))
        hits = tuple(replace(hit, project=self._projects.name_of(hit.project)) for hit in answer.hits)
        return Found(replace(answer, hits=hits), where.name, where.how, answer.cursor)

    async def _files_at_work(self, caller: Caller) -> tuple[str, ...]:
        """The files that the caller's session read or wrote last; none for a caller that is no agent's."""
        if caller.harness is None:
            return ()
        row = (await self._callers.find(caller)).row
        return tuple(await self._reader.read(files_of(row.id, _FILES))) if row else ()

    def _in_workspace(self, workspace: str) -> tuple[str, ...]:
        """The projects of a workspace with what holds for all of them. Raises UserError when there is none of it."""
        ids = tuple(project.id for project in self._projects.all() if project.workspace == workspace)
        if not ids:
            raise UserError(
                f"There is no workspace {workspace[:80]!r} with projects. `aimemory project list` names them."
            )
        return (*ids, GLOBAL_FOLDER)

    def _whole(self, workspace: str) -> _Where:
        return _Where(None, f"workspace {workspace}")

    async def recent(
        self, *, caller: Caller, project: str | None = None, limit: int = 20, kind: str | None = None, after: int = 0
    ) -> Recent:
        """What was written or recorded last, newest first: pages, sessions and, for kind `observation`, events."""
        await self._projector.reached(after)
        where = await self._where(project, caller)
        limit = max(1, min(limit, _MAX_RECENT))
        found: list[tuple[int, RecentItem]] = []
        if kind != "observation":
            rows = await self._reader.read(newest_pages(where.ids, (kind,) if kind else (), limit))
            found += [(row.date_ns, self._recent_page(row)) for row in rows if kind or row.kind != "project"]
        if kind == "observation":
            events = await self._reader.read(recent_observations(where.ids, limit=limit))
            found += [(event.at_ns, self._recent_event(event)) for event in events]
        if kind in (None, "session"):
            live = [row for row in await self._reader.read(sessions(where.ids, limit=limit)) if not row.is_closed]
            found += [(row.last_at_ns, self._live_session(row)) for row in live]
        found.sort(key=lambda pair: -pair[0])
        return Recent(tuple(item for _, item in found[:limit]), where.name, where.how)

    # -- pages -------------------------------------------------------------------------------------------------------

    async def write_page(
        self, *, title: str, body: str, caller: Caller, kind: str = "note", project: str | None = None,
        path: str | None = None, version: str | None = None, tags: tuple[str, ...] = (),
    ) -> Written:  # fmt: skip
        """Create a page, or replace the body of the one at `path` whose version is `version`.

        A new page gets its place from project, kind and title unless `path` names one. Replacing keeps the front matter
        byte for byte but for title, tags and `updated`; a text that begins with front matter is the whole page. Where
        the page is not at `version` any more, both changes are merged if they don't touch; else Conflict is raised with
        the current text, and what was given is kept. Raises UserError for arguments that can't be used.
        """
        _check_writing(title, body, kind)
        if project == EVERYWHERE:
            raise UserError(f"A page belongs to one project, not to {EVERYWHERE!r}. Name it, or leave it out.")
        where = await self._where(project, caller)
        refuse_where_off(where.off_by, caller, project)
        of = await self._callers.find(caller)
        harness = caller.harness or (of.row.harness if of.row else None)
        who = replace(self._actor, harness=harness, session=of.session)
        given = sanitize_tree({"title": " ".join(title.split()), "body": body, "tags": list(tags)})
        base = None
        if version is not None:
            if path is None:
                raise UserError("A version belongs to a page: give its path too.")
            place, expected = await self._pages.spelled(path) or path, Version(version)
            base = await self._merging.base(place, expected)
            if base is None:
                content = given.derive(lambda g: str(g["body"]))  # refused below, with the text that stands
            else:
                before = base
                content = given.derive(lambda g: self._changed(before, g))
        else:
            home = where.project or self._projects.unfiled
            await self._projects.ensure(home)
            expected = None
            if path is not None:
                self._check_place(path)
            place, content = path or "", given.derive(lambda g: "")
        async with self._projects.places.kept():
            if expected is None:
                home = self._projects.by_id(home.id) or home
                place = path or f"{home.path}/{_FOLDERS[kind]}/{await self._free_name(given.value['title'])}"
                content = given.derive(lambda g: self._new(g, kind, place, who))
            known = await self._info(place)
            generated = known is not None and known.kind in GENERATED_KINDS  # then it is not made anew any more
            written = await self._merging.write(
                place, content, base=base, expected=expected, actor=who, summary="Update" if expected else "Add",
                op="edit" if generated else "write",
            )  # fmt: skip
        info = await self._info(place)
        return Written(
            path=place, id=info.id if info else "", version=written.version, project=where.name,
            project_how=where.how, created=expected is None, redacted=dict(given.counts), merged=written.merged,
        )  # fmt: skip

    # -- briefs, projects, status ------------------------------------------------------------------------------------

    async def brief(self, *, cwd: str | None, project: str | None = None, after: int = 0) -> dict[str, Any]:
        """What the next agent would be told here; nothing is marked as given."""
        await self._projector.reached(max(after, self._projector.applied_seq + self._projector.lag))
        if project == EVERYWHERE:
            raise UserError(f"A brief is about one project, not about {EVERYWHERE!r}. Name it, or leave it out.")
        where = await self._where(project, Caller(cwd=cwd))
        answer: dict[str, Any] = {"text": "", "sessions": [], "project": where.name, "project_how": where.how}
        answer["off_by"] = self._folders.off_by(cwd)
        if answer["off_by"]:
            return answer
        brief = await self._composer.compose(
            where.project,
            Occasion(
                cwd=cwd, session=None, moment=Moment.ASKED, budget_chars=self._config.brief.chars,
                git_s=self._config.brief.git_ms / 1000,
            ),
        )  # fmt: skip
        return answer | {"text": brief.text.value, "sessions": list(brief.told)}

    async def where(self, cwd: str | None, project: str | None = None) -> dict[str, Any]:
        """How a directory resolves to a project, step by step; creates nothing."""
        found = await self._projects.explain(cwd, project)
        found["capture"]["off_by"] = self._folders.off_by(cwd, found["place"])
        return found

    async def project_list(self) -> list[dict[str, Any]]:
        """All projects with their other names and what they hold."""
        return [
            {
                "project": found.path, "id": found.id, "identity": found.identity, "aliases": list(found.aliases),
                "paths": list(self._projects.paths(found)),
                "pages": len(await self._reader.read(newest_pages([found.id], limit=1_000_000))),
                "sessions": len(await self._reader.read(sessions([found.id], limit=1_000_000))),
            }
            for found in (*self._projects.all(), self._projects.unfiled)
        ]  # fmt: skip

    async def project_alias(self, name: str, alias: str) -> dict[str, Any]:
        """Let another remote or directory mean this project too. Raises NotFound, Conflict when it means another."""
        found = await self._projects.add_alias(name, alias, self._actor)
        await self.audit.log.record("alias", {"project": found.id, "alias": alias}, self._actor)
        return {"project": found.path, "identity": found.identity, "aliases": list(found.aliases)}

    async def status(self) -> dict[str, Any]:
        """The state of every part; counts are left out while the index can't answer."""
        found = await self._status()
        try:
            return found | {"counts": await self._reader.read(counts())}
        except (Unavailable, Damaged) as error:
            found["problems"].append(str(error))
            return found | {"counts": {}}

    async def doctor(self, *, caller: Caller) -> list[dict[str, object]]:
        """What the checks of `aimemory doctor` find, seen from inside: no hook is run, nothing is repaired."""
        status = await self.status()
        place = await self.where(caller.cwd) if caller.cwd else None
        return await asyncio.to_thread(self._examine, status=status, cwd=caller.cwd, place=place)

    # -- helpers -----------------------------------------------------------------------------------------------------

    async def _where(self, project: str | None, caller: Caller, *, must: bool = True) -> _Where:
        """must: False where a project only helps, so that none is an answer too."""
        return replace(await self._located(project, caller, must), off_by=self._folders.off_by(caller.cwd))

    async def _located(self, project: str | None, caller: Caller, must: bool) -> _Where:
        if project == EVERYWHERE:
            return _Where(None, "all projects were asked for")
        if project:
            found = self._projects.named(project)
            if found is None:
                raise NotFound(f"There is no project {project[:80]!r}. Known are: {self._names() or 'none yet'}.")
            return _Where(found, "named by the caller", is_named=True)
        if caller.harness:  # else it may be a person, who means the directory he is in
            row = (await self._callers.find(caller)).row
            if row is not None and (kept := self._projects.by_id(row.project)) is not None:
                return _Where(kept, "the calling session's project")
        if caller.cwd:
            found, how = await self._projects.for_directory(caller.cwd)
            return _Where(found, how)
        return await self._only_live(must)

    async def _only_live(self, must: bool) -> _Where:
        since = self._clock.now_ns() - self._config.session.idle_minutes * 60_000_000_000
        rows = await self._reader.read(unclosed_sessions())
        live = {row.project for row in rows if row.last_at_ns >= since and not row.has_ended}
        if len(live) == 1 and (only := self._projects.by_id(live.pop())):
            return _Where(only, "the only project with a live session")
        if not self._projects.all() or not must:
            return _Where(None, "no project was named")
        raise UserError(
            f"Which project? No directory was given. Name one of {self._names()}, or {EVERYWHERE!r} for all."
        )

    def _check_place(self, path: str) -> None:
        """Raises UserError for a new page that would lie below no known project."""
        folder = "/".join(path.split("/")[:2])
        known = [found.path for found in (*self._projects.all(), self._projects.unfiled)]
        if folder not in known and not folder.endswith(f"/{GLOBAL_FOLDER}"):
            raise UserError(f"{path[:80]!r} lies below no known project. Known are: {', '.join(known[:_NAMED])}.")

    def _names(self) -> str:
        return ", ".join(found.path for found in self._projects.all()[:_NAMED])

    async def _near(self, project: str | None, caller: Caller) -> _Where:
        return await self._where(project, caller, must=False)

    async def _page_at(self, page: str, project: str | None, caller: Caller) -> tuple[str, _Where]:
        where = await self._near(project, caller)
        return await self._find(page, where), where

    async def _find(self, wanted: str, where: _Where) -> str:
        wanted = wanted.strip().removeprefix("[[").removesuffix("]]").strip()
        if not wanted:
            raise UserError("Name a page by its path, id or title.")
        if "/" in wanted or wanted.endswith(".md"):
            path = wanted if wanted.endswith(".md") else f"{wanted}.md"
            if (spelled := await self._pages.spelled(path)) is not None:
                return spelled
        found: list[PageInfo] = []
        for name in (wanted, f"handoff-{wanted}", f"session-{wanted}"):  # ids as `handoffs` and `sessions` show them
            found = found or await self._reader.read(pages_with_id(name))
        for plan in (pages_titled(wanted), pages_titled(wanted.removesuffix(".md")), pages_called(wanted)):
            found = found or await self._reader.read(plan)
        here = [row for row in found if row.project in where.with_global]
        if not here and not where.is_named:
            here = found
        if len(here) == 1:
            return here[0].path
        paths = ", ".join(row.path for row in (here or found)[:_NAMED])
        if here:
            raise UserError(f"{wanted[:80]!r} fits several pages: {paths}. Give one of these paths.")
        if found:
            raise none_here(wanted, where, paths)
        raise NotFound(f"There is no page {wanted[:80]!r}. A search finds pages by their words.")

    async def _info(self, path: str) -> PageInfo | None:
        return await self._reader.read(page(path))

    async def _free_name(self, title: str) -> str:
        """A file name that no page of the whole wiki has, so that a link by it means one page."""
        now = str(self._clock.now_ns())
        names = [
            f"{slug(title, fallback='page', max_bytes=70)}-{digest('page', title, now, size=size)}.md"
            for size in _SUFFIX_BYTES
        ]
        taken = await self._reader.read(paths_of_names([file_name(name) for name in names]))
        return next((name for name in names if file_name(name) not in taken), names[-1])

    def _new(self, given: Mapping[str, Any], kind: str, place: str, who: Actor) -> str:
        now = rfc3339_local(self._clock.now_ns())
        page_id = PageId(digest("page", place, str(self._clock.now_ns()), size=6))
        body = given["body"].strip() + "\n"
        if _front_of(body) is not None:
            own = {"type": kind, "id": page_id, "title": given["title"], "tags": given["tags"] or None}
            return self._with_fields(body, own, "created")
        fields: dict[str, Any] = {
            "type": kind,
            "id": page_id,
            "title": given["title"],
        }
        if given["tags"]:
            fields["tags"] = given["tags"]
        fields |= {"created": now, "generated": {"by": who.harness or f"human:{who.user}", "at": now}}
        return render(fields, body)

    def _changed(self, text: str, given: Mapping[str, Any]) -> str:
        """The page with a new body; of the front matter only title, tags and `updated` change."""
        parts = split(text)
        body: str = given["body"].strip() + "\n"
        if _front_of(body) is not None:
            text = keep_form(text, body)  # the whole page, as it was read
        else:
            gap = parts.body[: len(parts.body) - len(parts.body.lstrip("\r\n"))]
            text = text[: len(text) - len(parts.body)] + gap + keep_form(parts.body.lstrip("\r\n"), body)
        return self._with_fields(text, {"title": given["title"], "tags": given["tags"] or None}, "updated")

    def _with_fields(self, text: str, fields: Mapping[str, Any], dated: str) -> str:
        """A page with these fields set in its front matter, where it has one and they differ; None leaves a field."""
        front = split(text).front
        if front is None:
            return text
        for key, value in fields.items():
            if value is not None and front.get(key) != value:
                text = edit_field(text, key, value)
        return edit_field(text, dated, rfc3339_local(self._clock.now_ns()))

    def _recent_page(self, row: PageInfo) -> RecentItem:
        return RecentItem(
            row.kind, row.title, row.path, rfc3339_local(row.date_ns), self._projects.name_of(row.project), None
        )

    def _live_session(self, row: SessionRow) -> RecentItem:
        what = f"{row.harness}: {_many(row.prompts, 'prompt')}, {_many(row.tools, 'tool call')}"
        project = self._projects.name_of(row.project)
        return RecentItem("live session", what, None, rfc3339_local(row.last_at_ns), project, row.id)

    def _recent_event(self, event: Observation) -> RecentItem:
        e = event.event
        what = e.prompt or e.command or e.message or e.text or e.tool or e.event
        session: SessionId | None = event.session
        return RecentItem(
            f"{e.kind.value} of {e.harness}", " ".join(what.split())[:_TITLE_CHARS], None, rfc3339_local(event.at_ns),
            self._projects.name_of(event.project), session,
        )  # fmt: skip


def _front_of(body: str) -> Mapping[str, Any] | None:
    """The front matter that a given text begins with, None without one. Raises UserError for one that can't be read."""
    parts = split(body)
    if parts.problem is not None:
        raise UserError(f"The page was not written: the front matter of the text has a problem: {parts.problem}")
    return parts.front


def _check_writing(title: str, body: str, kind: str) -> None:
    problems = []
    if kind not in WRITABLE_KINDS:
        problems.append(f"kind is {kind[:40]!r}; it must be one of {', '.join(WRITABLE_KINDS)}")
    if not title.strip():
        problems.append("the title is empty")
    if not body.strip():
        problems.append("the body is empty")
    if len(body) > _MAX_BODY_CHARS:
        problems.append(f"the body has {len(body):,} characters, the limit is {_MAX_BODY_CHARS:,}: split the page")
    if problems:
        raise UserError("The page was not written: " + "; ".join(problems) + ".")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
