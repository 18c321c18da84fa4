"""Reading a page: all of it or a section, in parts, as it is, as it was, or what changed in between."""

import asyncio
from dataclasses import dataclass
from typing import Any

from aimemory.api.feedback import said_of
from aimemory.api.lookup import Located, Where
from aimemory.api.versions import Find, find_ever, version_at
from aimemory.errors import NotFound, UserError
from aimemory.index.pages import PageInfo
from aimemory.index.pages import page as page_info
from aimemory.model.answers import Caller, PageThen, PageView, SectionView
from aimemory.model.ids import Version
from aimemory.model.protocols import rfc3339_local
from aimemory.privacy import sanitize
from aimemory.store.merging import Merging
from aimemory.store.past import PageHistory, PastVersion
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.wiki.gitpast import unified
from aimemory.wiki.parse import parse_page, readable
from aimemory.wiki.sections import Section, section_named, sections_of

MAX_SECTIONS = 200
EVERYTHING = 1 << 30


@dataclass(frozen=True, slots=True)
class _Read:
    """A page as one version of it says."""

    path: str
    text: str
    version: Version | None
    then: PageThen | None = None


class Reading:
    """Reached as `Memory.reading`. Reads only."""

    def __init__(
        self, *, find: Find, near: Where, history: PageHistory, merging: Merging, reader: Reader, projects: Projects
    ) -> None:
        self._find = find
        self._near = near
        self._history = history
        self._merging = merging
        self._reader = reader
        self._projects = projects

    async def page(
        self, *, page: str, caller: Caller, project: str | None = None, section: str | None = None,
        outline: bool = False, as_of: str | None = None, diff: str | None = None, offset: int = 0,
        max_chars: int = EVERYTHING, gated: bool = False,
    ) -> PageView:  # fmt: skip
        """A page by path, id, title or alias, with the version token that a write must give back.

        section: only this one, by its headings (`Setup > Linux`) or number. outline: its sections in place of its text.
        as_of: as it was at a day, a time or a commit, or in a version (number, token), under whatever name and also if
        it is gone. diff: what changed since such a point, until `as_of` or now, as unified diff in place of the text.
        offset, max_chars: of the text, which may be long. gated: the text goes to an agent, so what looks like a secret
        in a person's own page is taken out.
        Raises NotFound, UserError for a name that fits several, a path that leaves the wiki, or a point that is none.
        """
        name, heading = _parts(page)
        if diff is not None and (section is not None or outline):
            raise UserError("A difference is of the whole page: leave section and outline out.")
        path, where = await self._place(name, project, caller, ever=as_of is not None or diff is not None)
        read = await self._read(path, as_of, must=diff is None)
        before = await self._read(path, diff, must=True) if diff is not None else None
        info = await self._reader.read(page_info(path))
        text, redacted = read.text, {}
        if before is not None:
            text = await asyncio.to_thread(_difference, before, read)
        if gated:
            clean = await asyncio.to_thread(sanitize, text)
            text, redacted = clean.value, dict(clean.counts)
        sections = sections_of(text) if before is None else ()
        wanted = section or (heading if as_of is None and before is None else None)
        chosen = section_named(sections, wanted) if wanted else None
        part = text[chosen.start : chosen.end] if chosen else "" if outline else text
        start = max(0, min(offset, len(part)))
        end = min(len(part), start + max(1, max_chars))
        goes_on = end < len(part)
        listed = sections if outline or (goes_on and start == 0 and chosen is None) else ()
        return PageView(
            path=path, text=part[start:end], version=read.version or "", project_how=where.how, total_chars=len(part),
            next_offset=end if goes_on else None, section=chosen.name if chosen else None,
            sections=tuple(map(_section_view, listed[:MAX_SECTIONS])), sections_total=len(listed), as_of=read.then,
            diff_from=before.then if before else None, redacted=redacted,
            feedback=await said_of(self._reader, info.id) if info else (), **self._about(path, read, info, where),
        )  # fmt: skip

    async def _place(self, name: str, project: str | None, caller: Caller, *, ever: bool) -> tuple[str, Located]:
        if not ever:
            return await self._find(name, project, caller)
        await self._history.level()
        return await find_ever(self._find, self._near, self._reader, name, project, caller)

    async def _read(self, path: str, point: str | None, *, must: bool) -> _Read:
        """must: False where a page that is gone reads as empty, which a difference can be made with."""
        if point is None:
            try:
                return _Read(path, *await self._merging.read(path))
            except NotFound:
                if must:
                    raise
                return _Read(path, "", None)
        found = await self._history.versions(path)
        one = await version_at(self._history, path, found, point)
        content = await self._history.content(path, one)
        number = next((n for n, other in enumerate(found, 1) if other is one), None)
        return _Read(path, readable(content), one.version, _then(path, one, number))

    def _about(self, path: str, read: _Read, info: PageInfo | None, where: Located) -> dict[str, Any]:
        """The fields that say which page it is; of one that is gone what its own text says."""
        if info is not None:
            return {
                "id": info.id, "title": info.title, "kind": info.kind, "project": self._projects.name_of(info.project)
            }  # fmt: skip
        parsed = parse_page(path, read.text.encode("utf-8", "replace"))
        home = self._projects.named("/".join(path.split("/")[:2])) or where.project
        return {
            "id": parsed.id if read.text else "", "title": parsed.title, "kind": parsed.kind,
            "project": home.path if home else None,
        }  # fmt: skip


def _parts(page: str) -> tuple[str, str | None]:
    """The name and the heading of what may be a link, `[[Name#Heading|shown]]`."""
    wanted = page.strip()
    if not (wanted.startswith("[[") and wanted.endswith("]]")):
        return wanted, None
    name, _, heading = wanted[2:-2].partition("|")[0].partition("#")
    return name.strip(), " > ".join(part.strip() for part in heading.split("#") if part.strip()) or None


def _difference(before: _Read, after: _Read) -> str:
    old, new = (
        f"{one.path} ({one.then.said if one.then else 'now' if one.version else 'deleted'})" for one in (before, after)
    )
    return unified(before.text.encode("utf-8", "replace"), after.text.encode("utf-8", "replace"), old, new)


def _then(path: str, one: PastVersion, number: int | None) -> PageThen:
    when = rfc3339_local(one.at_ns)
    by = f" by {one.user}" if one.user else ""
    how = " by hand" if one.by_hand else f" ({one.harness})" if one.harness else ""
    named = f"version {number}" if number else f"commit {(one.commit or '')[:12]}"
    return PageThen(one.version, number, when, one.path or path, one.commit, f"{named}, {one.what}{by}{how} {when}")


def _section_view(one: Section) -> SectionView:
    return SectionView(one.number, one.name, one.level, one.start, one.end - one.start)
