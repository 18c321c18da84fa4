"""Repair of pages that were filed or written wrongly: edit, delete, bring back, and what a page was before."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from aimemory.api.lookup import Located, Where
from aimemory.api.versions import Find, chosen, decoded, find_ever
from aimemory.errors import Conflict, NotFound, Unavailable, UserError
from aimemory.index.links import pages_linking_to
from aimemory.index.pages import page as page_info
from aimemory.model.answers import Caller, Deletion, PageChange, PageChanges, Written
from aimemory.model.ids import Version
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized, sanitize, sanitize_tree
from aimemory.sessions.caller import CallerSessions
from aimemory.store.gate import CONFLICT_MARKERS
from aimemory.store.merging import Merging
from aimemory.store.pagerows import is_project_page
from aimemory.store.pages import Pages
from aimemory.store.past import PageHistory, PastVersion
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.wiki.frontmatter import edit_field

_MAX_LISTED = 1000
_GENERATED = ("session", "handoff")
REMAINS = (
    "Its earlier versions stay in the wiki's git history; `aimemory undelete` brings it back.",
    "The journal keeps who wrote and deleted it and when, and recorded events that led to it.",
)


class Repair:
    """Reached as `Memory.repair`. Each change can be taken back: its versions stay in git, `undelete` names them."""

    def __init__(
        self, *, find: Find, where: Where, pages: Pages, history: PageHistory, projects: Projects, reader: Reader,
        callers: CallerSessions, actor: Actor, merging: Merging,
    ) -> None:  # fmt: skip
        self._merging = merging
        self._find = find
        self._where = where
        self._pages = pages
        self._history = history
        self._projects = projects
        self._reader = reader
        self._callers = callers
        self._actor = actor

    # -- changing ----------------------------------------------------------------------------------------------------

    async def edit_page(
        self, *, page: str, text: str, version: str, caller: Caller, project: str | None = None
    ) -> Written:
        """Replace a page's whole text, front matter included, as a person would in the file.

        What somebody changed since `version` is merged where the two don't touch. Raises Conflict, with the current
        text, where they do; UserError where the page holds what looks like a secret, which a write through us would
        take out.
        """
        path, where = await self._find(page, project, caller)
        if not text.strip():
            raise UserError("The text is empty: nothing was written. `aimemory delete` takes a page away.")
        if self._pages.gate.held.get(path, CONFLICT_MARKERS) != CONFLICT_MARKERS:
            raise UserError(
                f"{path} holds what looks like a secret ({self._pages.gate.held[path]}), and writing it here would "
                "take that out. Edit the file itself."
            )
        await self._merging.editable(path)
        base = await self._merging.base(path, Version(version))
        return await self._write(path, sanitize(text), Version(version), caller, where, "Edit", "edit", base)

    async def set_field(
        self, *, page: str, key: str, value: str | Sequence[str] | None, caller: Caller, project: str | None = None
    ) -> Written:
        """Set one field of a page's front matter (None: remove it); every other byte stays.

        Raises UserError where that can't be done for certain, Conflict when somebody changes the page meanwhile.
        """
        if key in ("id", "type"):
            raise UserError(f"{key!r} says what the page is and stays as it is.")
        if key == "title" and (not isinstance(value, str) or not value.strip()):
            raise UserError("The title is empty, or no text: nothing was written. A page keeps a title; give another.")
        if sanitize(key).counts:
            raise UserError("The field's name looks as if it held a secret. Choose another.")
        path, where = await self._find(page, project, caller)
        text, version = await self._merging.editable(path)
        # with its name, which may say that it is a secret
        given = sanitize_tree({key: value if value is None or isinstance(value, str) else list(value)})
        content = given.derive(lambda g: edit_field(text, key, g[key]))
        if content.value == text:
            info = await self._reader.read(page_info(path))
            name = where.project.path if where.project else None
            return Written(path, info.id if info else "", version, name, where.how, False, unchanged=True)
        return await self._write(path, content, version, caller, where, f"Set {key}", "edit", text)

    async def delete_page(
        self, *, page: str, caller: Caller, project: str | None = None, version: str | None = None,
        apply: bool = False, lose: bool = False,
    ) -> Deletion:  # fmt: skip
        """What deleting a page would do; with `apply` and its version, do it.

        lose: also where its text is in no commit, so that nothing can bring it back. Raises Conflict when the page is
        not at `version`, UserError for a project's own page, Unavailable when git can't take its text now.
        """
        path, _ = await self._level(self._find, page, project, caller)
        plan = await self._deletion(path)
        if not apply:
            return plan
        if version is None:
            raise UserError("Give the version that was read: a page that changed since is not deleted.")
        if plan.commit is None and not lose and version == plan.version:
            raise self._would_lose(path)
        await self._pages.delete(path, expected=Version(version), actor=await self._actor_of(caller))
        return replace(plan, applied=True)

    async def undelete_page(
        self, *, page: str, caller: Caller, project: str | None = None, version: str | None = None
    ) -> Written:
        """Bring back a deleted page, whoever deleted it; or put an earlier version in the place of the present one.

        version: a token, a commit or their beginning, or the number in the page's history; None: the last text.
        Raises NotFound when there is no such version or no commit holds it, Conflict when the page exists and no
        version is named.
        """
        path, where = await self._level(self._find_ever, page, project, caller)
        found = await self._history.versions(path)
        exists = bool(found) and found[0].version is not None
        if version is None and exists:
            raise Conflict(
                f"{path} is there. Name an earlier version to restore; `aimemory history {path}` lists them."
            )
        wanted = chosen(path, found, version)
        text = decoded(path, wanted, await self._history.content(path, wanted))
        expected = found[0].version if exists else None
        if expected is not None and wanted.version == expected:
            info = await self._reader.read(page_info(path))
            name = where.project.path if where.project else None
            return Written(path, info.id if info else "", expected, name, where.how, False, unchanged=True)
        return await self._write(path, sanitize(text), expected, caller, where, "Restore", "restore", None)

    # -- looking -----------------------------------------------------------------------------------------------------

    async def history(
        self, *, page: str, caller: Caller, project: str | None = None, limit: int = 20, diff: int | None = None
    ) -> PageChanges:
        """A page's versions, newest first, from git and the journal, also of a page that is gone.

        diff: number of a version, whose difference from the one before is given along. Raises NotFound.
        """
        path, _ = await self._level(self._find_ever, page, project, caller)
        found = await self._history.versions(path)
        if not found:
            raise NotFound(f"There was never a page {path}, as far as git and journal tell.")
        changes = tuple(self._change(number, one, found[0]) for number, one in enumerate(found, 1))
        return PageChanges(
            path, found[0].version is not None, changes[: max(1, min(limit, _MAX_LISTED))], len(found),
            self._pages.gate.held.get(path), await self._diff(path, found, diff) if diff is not None else None,
        )  # fmt: skip

    async def _diff(self, path: str, found: Sequence[PastVersion], number: int) -> str:
        if not 1 <= number <= len(found):
            raise NotFound(f"{path} has versions 1 to {len(found)}, 1 is the newest; there is no {number}.")
        new = found[number - 1]
        old = found[number] if number < len(found) else None
        before, after = [
            (await self._history.content(path, one)).decode("utf-8", "replace").splitlines(keepends=True) if one else []
            for one in (old, new)
        ]
        lines = difflib.unified_diff(before, after, f"{path} (before)", f"{path} ({new.what})")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def _change(self, number: int, one: PastVersion, newest: PastVersion) -> PageChange:
        harness = f", {one.harness}" if one.harness else ""
        by = f"{one.user or self._actor.user}{' by hand' if one.by_hand else harness}"
        return PageChange(
            number=number, version=one.version, what=one.what, when=rfc3339_local(one.at_ns), by=by, user=one.user,
            harness=one.harness, session=one.session, by_hand=one.by_hand, commit=one.commit,
            restorable=one.version is not None and (one.blob is not None or one.version == newest.version),
        )  # fmt: skip

    # -- helpers -----------------------------------------------------------------------------------------------------

    async def _deletion(self, path: str) -> Deletion:
        if is_project_page(path):
            raise UserError(
                f"{path} declares its project and stays. `aimemory project rename` gives a project another name."
            )
        info = await self._reader.read(page_info(path))
        _, version = await self._pages.read(path)
        commit = next((v.commit for v in await self._history.versions(path) if v.version == version and v.blob), None)
        remains = REMAINS if info is None or info.kind not in _GENERATED else (*REMAINS, _NOT_AGAIN)
        return Deletion(
            path=path, id=info.id if info else "", title=info.title if info else path, version=version, applied=False,
            commit=commit, held=self._pages.gate.held.get(path), remains=remains if commit else remains[1:],
            linked_from=tuple(await self._reader.read(pages_linking_to(path))),
        )  # fmt: skip

    def _would_lose(self, path: str) -> UserError | Unavailable:
        if held := self._pages.gate.held.get(path):
            return UserError(
                f"{path} as it stands is in no commit, because of {held}: once deleted it can't be restored. "
                "Take the finding out of the file first, delete the file by hand, or use `aimemory delete --lose`."
            )
        return Unavailable(f"{path} as it stands could not be committed, so deleting it would lose it. Try again.")

    async def _level(self, find: Find, page: str, project: str | None, caller: Caller) -> tuple[str, Located]:
        """The page, with what happened to it outside taken in; what isn't there is looked for in the whole tree."""
        try:
            path, where = await find(page, project, caller)
            await self._history.level(path)
            if await self._pages.version(path) is not None:
                return path, where
        except NotFound:
            pass
        await self._history.level()
        return await find(page, project, caller)

    async def _find_ever(self, page: str, project: str | None, caller: Caller) -> tuple[str, Located]:
        return await find_ever(self._find, self._where, self._reader, page, project, caller)

    async def _write(
        self, path: str, content: Sanitized[str], expected: Version | None, caller: Caller, where: Located,
        summary: str, op: str, base: str | None,
    ) -> Written:  # fmt: skip
        written = await self._merging.write(
            path, content, base=base, expected=expected, actor=await self._actor_of(caller), summary=summary, op=op
        )
        info = await self._reader.read(page_info(path))
        project = self._projects.name_of(info.project) if info else where.project.path if where.project else None
        return Written(
            path=path, id=info.id if info else "", version=written.version, project=project, project_how=where.how,
            created=expected is None, redacted=dict(content.counts), merged=written.merged,
        )  # fmt: skip

    async def _actor_of(self, caller: Caller) -> Actor:
        of = await self._callers.find(caller)
        return replace(self._actor, harness=caller.harness or (of.row.harness if of.row else None), session=of.session)


_NOT_AGAIN = "It was generated; it is not made again."
