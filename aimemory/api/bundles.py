"""Projects as bundles of the Open Knowledge Format: out, and foreign ones in. Files are the command line's part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aimemory.errors import AimemoryError, Conflict, NotFound, UserError
from aimemory.index.events import WrittenRow, written
from aimemory.index.filed import pages_below
from aimemory.index.pages import pages_with_id
from aimemory.model.answers import Caller, Exported, Imported, ImportedPage
from aimemory.model.ids import Version, digest, imported_id
from aimemory.model.scope import Actor, Project
from aimemory.privacy import sanitize
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.quoting import visible
from aimemory.store.pagerows import LISTING_MARK
from aimemory.store.pages import Pages
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.wiki.frontmatter import add_fields, edit_field, render, split
from aimemory.wiki.listing import Entry, Section, listing
from aimemory.wiki.names import slug
from aimemory.wiki.okf import INDEX, LOG, conformance, fit_for_bundle, moved_links, with_markdown_links
from aimemory.wiki.parse import ParsedPage, parse_page

_PERSONAL = ("sessions", "handoffs")
_OF_THIS_MACHINE = ("paths", "checkout", "machine")
_MAX_PAGES = 10_000
_NAME_CHARS = 80


class Bundles:
    """Reached as `Memory.bundles`."""

    def __init__(
        self, *, pages: Pages, projects: Projects, reader: Reader, callers: CallerSessions, actor: Actor
    ) -> None:
        self._pages = pages
        self._projects = projects
        self._reader = reader
        self._callers = callers
        self._actor = actor

    # -- out ---------------------------------------------------------------------------------------------------------

    async def export(self, *, project: str, everything: bool = False) -> Exported:
        """A project's pages as a bundle that conforms to OKF 0.2; equal pages give equal files.

        Every page passes the privacy gate. everything: with sessions and handoffs, which are personal. Raises NotFound.
        """
        found = self._known(project)
        await self._pages.reconcile()
        left_out: dict[str, str] = {}
        parsed: dict[str, tuple[ParsedPage, str]] = {}
        redacted: dict[str, Mapping[str, int]] = {}
        for path in await self._reader.read(pages_below(found.path)):
            inside = path.removeprefix(f"{found.path}/")
            try:
                if inside.partition("/")[0] in _PERSONAL and not everything:
                    raise UserError("it belongs to a person's sessions; --all takes them along")
                if inside.rpartition("/")[2] == INDEX:
                    if LISTING_MARK in (await self._pages.read(path))[0]:
                        continue
                    raise UserError("an index is made anew for the bundle")
                text, counts = await self._fit(path)
            except AimemoryError as error:
                left_out[inside] = str(error)
                continue
            parsed[path] = (parse_page(path, text.encode("utf-8")), text)
            redacted |= {inside: counts} if counts else {}
        places = {path: path.removeprefix(f"{found.path}/") for path in parsed}
        files = {places[path]: with_markdown_links(path, text, places) for path, (_, text) in parsed.items()}
        for inside, problem in conformance(files).items():
            left_out[inside] = problem
            del files[inside]
        files[INDEX] = _index({places[path]: page for path, (page, _) in parsed.items() if places[path] in files})
        return Exported(found.path, found.folder, dict(sorted(files.items())), dict(sorted(left_out.items())), redacted)

    async def _fit(self, path: str) -> tuple[str, Mapping[str, int]]:
        raw, _ = await self._pages.read(path)
        if "\ufffd" in raw:
            raise UserError("it is no UTF-8")
        clean = sanitize(raw)
        page = parse_page(path, clean.value.encode("utf-8"))
        if path.rpartition("/")[2] == LOG:
            return clean.value, dict(clean.counts)
        text = fit_for_bundle(clean.value, page.kind, page.title)
        front = split(text).front or {}
        for key in _OF_THIS_MACHINE:
            if key in front:
                text = edit_field(text, key, None)
        if page.kind == "project" and str(front.get("identity", "")).startswith("dir:"):
            text = edit_field(text, "identity", None)
        return text, dict(clean.counts)

    # -- in ----------------------------------------------------------------------------------------------------------

    async def take_in(
        self, *, project: str, bundle: str, paths: list[str], texts: Mapping[str, str], caller: Caller,
        apply: bool = False,
    ) -> Imported:  # fmt: skip
        """What importing these files of a foreign bundle would do; with `apply`, do it. Safe to repeat.

        bundle: its name, part of its pages' identity. paths: of all its pages, so that links among them find their
        places. texts: of those that are meant now. Raises NotFound for an unknown project.
        """
        found = self._known(project)
        name = " ".join(bundle.split())[:_NAME_CHARS]
        if not name or len(paths) > _MAX_PAGES:
            raise UserError(f"Name the bundle, and give at most {_MAX_PAGES:,} pages.")
        await self._pages.reconcile()
        places = {path: _place(found, name, path) for path in paths if path.rpartition("/")[2] not in (INDEX, LOG)}
        done = []
        for path, text in sorted(texts.items()):
            try:
                done.append(await self._one(found, name, path, text, places, caller, apply))
            except (UserError, Conflict, NotFound) as error:
                done.append(ImportedPage(path, None, "left out", str(error)))
        return Imported(found.path, name, apply, tuple(done))

    async def _one(
        self,
        project: Project,
        bundle: str,
        path: str,
        text: str,
        places: Mapping[str, str],
        caller: Caller,
        apply: bool,
    ) -> ImportedPage:
        if path.rpartition("/")[2] in (INDEX, LOG):
            return ImportedPage(path, None, "left out", "an index or log speaks of the bundle, not of its subject")
        place = places.get(path)
        if place is None or len(set(places.values())) < len(places):
            raise UserError("its path is not among those of the bundle, or two of them fall together")
        where, current, record = await self._standing(place, imported_id(bundle, path))
        content = sanitize(text).derive(lambda clean: _taken_in(bundle, path, clean, places))
        counts = dict(content.counts)
        if current is None and record is not None:
            return ImportedPage(path, where, "left", "it was imported before and deleted since", counts)
        if current is not None:
            if _digest_of(await self._text(where)) == _digest_of(content.value):
                return ImportedPage(path, where, "unchanged", "", counts)
            if record is None or not record.may_replace(current):
                return ImportedPage(path, where, "left", "it was changed here, and in the bundle too", counts)
        if apply:
            actor = await self._actor_of(caller)
            summary = f"Import from {visible(bundle)}"
            await self._pages.write(where, content, expected=current, actor=actor, summary=summary)
        return ImportedPage(path, where, "new" if current is None else "updated", "", counts)

    async def _standing(self, place: str, own_id: str) -> tuple[str, Version | None, WrittenRow | None]:
        """Where the page is now, wherever a person has moved it, its version, and who wrote it last."""
        known = [info.path for info in await self._reader.read(pages_with_id(own_id))]
        where = place if place in known or not known else known[0]
        version = await self._pages.version(where)
        return where, version, (await self._reader.read(written([where]))).get(where)

    async def _text(self, path: str) -> str:
        return (await self._pages.read(path))[0]

    def _known(self, name: str) -> Project:
        found = self._projects.named(name)
        if found is None or found.page is None:
            raise NotFound(f"There is no project {name[:80]!r}. `aimemory project list` shows all.")
        return found

    async def _actor_of(self, caller: Caller) -> Actor:
        of = await self._callers.find(caller)
        return replace(self._actor, harness=caller.harness or (of.row.harness if of.row else None), session=of.session)


def _index(pages: Mapping[str, ParsedPage]) -> str:
    """All pages by kind and path."""
    kinds = sorted({page.kind for page in pages.values()}, key=lambda kind: (kind != "project", kind))
    return listing(
        Section(
            visible(kind).capitalize(),
            [
                Entry(path, visible(page.title), visible(page.description))
                for path, page in sorted(pages.items())
                if page.kind == kind and path.rpartition("/")[2] != LOG
            ],
        )
        for kind in kinds
    )


def _place(project: Project, bundle: str, path: str) -> str:
    """`<project>/<folders as in the bundle>/orders-3f9a1c.md`: unique in the wiki, and the same each time."""
    *folders, name = path.split("/")
    parts = [slug(folder, fallback="folder") for folder in folders]
    own = slug(name[: -len(".md")], fallback="page", max_bytes=70)
    return "/".join((project.path, *parts, f"{own}-{digest('okf', bundle, path, size=3)}.md"))


def _taken_in(bundle: str, path: str, text: str, places: Mapping[str, str]) -> str:
    """The page as it is kept here: its own fields, links that lead on, and where it came from."""
    if split(text).front is None:
        parts = split(text)
        if parts.problem:
            raise UserError(f"its front matter can't be read: {parts.problem}")
        text = render({"type": "note"}, text.removeprefix("\ufeff").lstrip("\n"))
    front = split(text).front or {}
    fields: dict[str, Any] = {"type": "note"} if not front.get("type") and "type" not in front else {}
    if "sources" not in front:
        fields["sources"] = [{"id": "okf-bundle", "resource": f"{bundle}/{path}"}]
    if "imported" in front:
        text = edit_field(text, "imported", None)
    fields["imported"] = {"bundle": bundle, "path": path, "digest": digest("okf-text", text, size=16)}
    return add_fields(moved_links(path, text, places), fields)


def _digest_of(text: str) -> str | None:
    """Of the text in the bundle that a page was made from."""
    imported = (split(text).front or {}).get("imported")
    return str(imported.get("digest")) if isinstance(imported, dict) else None
