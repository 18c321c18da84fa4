"""Projects as bundles of the Open Knowledge Format: out, and foreign ones in. Files are the command line's part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aimemory.errors import AimemoryError, Conflict, NotFound, UserError
from aimemory.index.events import WrittenRow, written
from aimemory.index.filed import pages_below
from aimemory.index.pages import pages_with_id
from aimemory.model.answers import Caller, Exported, Imported, ImportedPage
from aimemory.model.ids import Version, digest, imported_id, page_version
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
from aimemory.wiki.nodes import Value
from aimemory.wiki.okf import INDEX, LOG, conformance, fit_for_bundle, led_out, moved_links, with_markdown_links
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
        await self._pages.hand_edits.reconcile()
        left_out: dict[str, str] = {}
        texts: dict[str, str] = {}
        redacted: dict[str, Mapping[str, int]] = {}
        for path in await self._reader.read(pages_below(found.path)):
            inside = path.removeprefix(f"{found.path}/")
            try:
                if inside.partition("/")[0] in _PERSONAL and not everything:
                    raise UserError("it belongs to a person's sessions; --all takes them along")
                text, counts = await self._gated(path)
                if inside.rpartition("/")[2] == INDEX:
                    if LISTING_MARK in text:
                        continue
                    raise UserError("an index is made anew for the bundle")
            except AimemoryError as error:
                left_out[inside] = str(error)
                continue
            texts[path] = text
            redacted |= {inside: counts} if counts else {}
        places, given_way = await self._places(found, texts)
        left_out |= given_way
        parsed: dict[str, ParsedPage] = {}
        files: dict[str, str] = {}
        for path, place in places.items():
            try:
                files[place] = _going_out(path, texts[path], places)
            except UserError as error:
                left_out[path.removeprefix(f"{found.path}/")] = str(error)
                continue
            parsed[place] = parse_page(f"{found.path}/{place}", files[place].encode("utf-8"))
        for place, problem in conformance(files).items():
            left_out[place] = problem
            del files[place]
        files[INDEX] = _index({place: page for place, page in parsed.items() if place in files})
        return Exported(found.path, found.folder, dict(sorted(files.items())), dict(sorted(left_out.items())), redacted)

    async def _gated(self, path: str) -> tuple[str, Mapping[str, int]]:
        raw, _ = await self._pages.read_bytes(path)
        try:
            clean = sanitize(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise UserError("it is no UTF-8") from None
        return clean.value, dict(clean.counts)

    async def _places(self, project: Project, texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Where each page goes in the bundle: an imported one to the place that it had in its own, where that is free.

        The project's own page gives way to the one of the bundle that the project was made from, as long as nobody has
        written in it. Returns the places, and what gave way with the reason.
        """
        inside = {path: path.removeprefix(f"{project.path}/") for path in texts}
        wanted = {path: imported[1] for path, text in texts.items() if (imported := _imported(text)) is not None}
        given_way = {}
        own = project.page or ""
        declares = any("/" not in place and _declares(texts[path]) for path, place in wanted.items())
        if own in texts and own not in wanted and declares:
            record = (await self._reader.read(written([own]))).get(own)
            if record is not None and record.may_replace(page_version(texts[own].encode("utf-8"))):
                given_way[inside.pop(own)] = "nobody wrote in it, and an imported page is the project's in the bundle"
        places = {path: place for path, place in inside.items() if path not in wanted}
        taken = set(inside.values())
        for path, place in sorted(wanted.items()):
            places[path] = inside[path] if place in taken else place
            taken.add(place)
        return places, given_way

    # -- in ----------------------------------------------------------------------------------------------------------

    async def take_in(
        self, *, project: str, bundle: str, paths: list[str], texts: Mapping[str, str], caller: Caller,
        apply: bool = False,
    ) -> Imported:  # fmt: skip
        """What importing these files of a foreign bundle would do; with `apply`, do it. Safe to repeat.

        bundle: its name, part of its pages' identity. paths: of all its pages, so that links among them find their
        places. texts: of those that are meant now. A project that isn't there is made with its first page.
        Raises UserError for a name that can be none.
        """
        found, is_new = await self._projects.named_or_proposed(project)
        if found is self._projects.unfiled:
            raise UserError("What belongs to no project can't be imported into. Name a project, or a new one.")
        name = " ".join(bundle.split())[:_NAME_CHARS]
        if not name or len(paths) > _MAX_PAGES:
            raise UserError(f"Name the bundle, and give at most {_MAX_PAGES:,} pages.")
        if sanitize(name).counts:
            raise UserError("The bundle's name looks as if it held a secret, and would stand in each page. Rename it.")
        await self._pages.hand_edits.reconcile()
        places = {path: _place(found, name, path) for path in paths if path.rpartition("/")[2] not in (INDEX, LOG)}
        done = []
        for path, text in sorted(texts.items()):
            try:
                done.append(await self._one(found, name, path, text, places, caller, apply))
            except (UserError, Conflict, NotFound) as error:
                done.append(ImportedPage(path, None, "left out", str(error)))
        return Imported(found.path, name, apply, tuple(done), is_new)

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
        if sanitize(path).counts:
            raise UserError("its name looks as if it held a secret")
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
            await self._projects.ensure(project)
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
        fields["sources"] = _sources(bundle, path)
    if "imported" in front:
        text = edit_field(text, "imported", None)
    fields["imported"] = {"bundle": bundle, "path": path, "digest": digest("okf-text", text, size=16)}
    return add_fields(moved_links(path, text, places), fields)


def _going_out(path: str, text: str, places: Mapping[str, str]) -> str:
    """The page as it goes into a bundle. One that was imported and not changed since goes out as it came in.

    places: in the bundle, by paths in the wiki.
    """
    imported = _imported(text)
    if imported is not None and places[path] == imported[1]:
        came = _without_machine(_as_it_came(moved_links(path, text, places), imported))
        if digest("okf-text", came, size=16) == _digest_of(text):
            return came
    page = parse_page(path, text.encode("utf-8"))
    if path.rpartition("/")[2] != LOG:
        text = _without_machine(fit_for_bundle(text, page.kind, page.title))
    return with_markdown_links(path, led_out(path, text, places), places)


def _without_machine(text: str) -> str:
    """Without what is true on this machine alone."""
    front = split(text).front or {}
    for key in _OF_THIS_MACHINE:
        if key in front:
            text = edit_field(text, key, None)
    if front.get("type") == "project" and str(front.get("identity", "")).startswith("dir:"):
        text = edit_field(text, "identity", None)
    return text


def _as_it_came(text: str, imported: tuple[str, str]) -> str:
    """Without the fields that importing added."""
    bundle, path = imported
    text = edit_field(text, "imported", None)
    if (split(text).front or {}).get("sources") == _sources(bundle, path):
        text = edit_field(text, "sources", None)
    return text


def _declares(text: str) -> bool:
    return (split(text).front or {}).get("type") == "project"


def _sources(bundle: str, path: str) -> list[Value]:
    return [{"id": "okf-bundle", "resource": f"{bundle}/{path}"}]


def _imported(text: str) -> tuple[str, str] | None:
    """Bundle and path that a page came from; None for one of our own."""
    found = (split(text).front or {}).get("imported")
    if not isinstance(found, dict) or not (found.get("bundle") and found.get("path")):
        return None
    return str(found["bundle"]), str(found["path"])


def _digest_of(text: str) -> str | None:
    """Of the text in the bundle that a page was made from."""
    imported = (split(text).front or {}).get("imported")
    return str(imported.get("digest")) if isinstance(imported, dict) else None
