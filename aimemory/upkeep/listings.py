"""Keeps a listing, `index.md`, in the folder of every project: written anew when its pages changed and all is quiet.

One that a person changed is left, one that he deleted is not made again.
"""

from collections.abc import Mapping, Sequence

from aimemory.errors import Conflict, NotFound
from aimemory.index.events import written
from aimemory.index.pages import PageInfo, newest_pages
from aimemory.model.protocols import Clock, Pulse
from aimemory.model.scope import Actor, Project
from aimemory.privacy import sanitize
from aimemory.sessions.quoting import visible
from aimemory.store.pagerows import LISTING_MARK, LISTING_NAME
from aimemory.store.pages import Pages
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.wiki.listing import Entry, Section, listing

MAX_LINES = 200
_HEADINGS = {
    "project": "Project", "rule": "Rules", "decision": "Decisions", "gotcha": "Gotchas", "procedure": "Procedures",
    "concept": "Concepts", "note": "Notes", "slot": "Slots", "": "Others", "handoff": "Handoffs", "session": "Sessions",
}  # fmt: skip
_LEAST = 12
"""Each section may have so many pages; what other sections don't need goes to those that have more."""
_PAGES = 100_000


class Listings:
    """A job of the scheduler."""

    def __init__(
        self, *, pages: Pages, projects: Projects, reader: Reader, clock: Clock, actor: Actor, quiet_s: int
    ) -> None:
        self._pages = pages
        self._projects = projects
        self._reader = reader
        self._clock = clock
        self._actor = actor
        self._quiet_ns = quiet_s * 1_000_000_000
        self._begun = False

    async def refresh(self, pulse: Pulse) -> None:
        """Write the listings of the projects whose last change is long enough ago; at first, of all."""
        now = self._clock.now_ns()
        if not self._quiet_ns:
            return
        if not self._begun:
            self._begun = True
            for project in self._projects.all():
                self._pages.index.touched.setdefault(project.path, now)
        for folder, at_ns in list(self._pages.index.touched.items()):
            if now - at_ns >= self._quiet_ns:
                del self._pages.index.touched[folder]
                found = self._projects.named(folder)
                if found is not None and found.page is not None:
                    await self._write(found)

    async def _write(self, project: Project) -> None:
        path = f"{project.path}/{LISTING_NAME}"
        if path == project.page:  # a folder that a person called `index`
            return
        current = await self._pages.version(path)
        record = (await self._reader.read(written([path]))).get(path)
        if (current is None) != (record is None) or (record is not None and not record.may_replace(current)):
            return  # a person's, or deleted by one
        rows = await self._reader.read(newest_pages([project.id], limit=_PAGES))
        text = project_listing([row for row in rows if row.path.startswith(f"{project.path}/")], project.path)
        content = sanitize(text)
        if current is not None and (await self._pages.read(path))[0] == content.value:
            return
        try:
            await self._pages.write(path, content, expected=current, actor=self._actor, summary="List pages")
        except (Conflict, NotFound):  # somebody was at it in this moment: his stands
            pass


def project_listing(rows: Sequence[PageInfo], folder: str) -> str:
    """The listing of a project's pages, newest first in each section; at most MAX_LINES lines."""
    by_kind: dict[str, list[PageInfo]] = {kind: [] for kind in _HEADINGS}
    for row in rows:
        by_kind[row.kind if row.kind in _HEADINGS else ""].append(row)
    room = _allotted({kind: len(some) for kind, some in by_kind.items()})
    sections = [
        Section(
            _HEADINGS[kind],
            [
                Entry(row.path.removeprefix(f"{folder}/"), visible(row.title), visible(row.description))
                for row in some[: room[kind]]
            ],
            len(some) - room[kind],
        )
        for kind, some in by_kind.items()
    ]
    return listing(sections, LISTING_MARK)


def _allotted(wanted: Mapping[str, int]) -> dict[str, int]:
    """How many pages each section may name, so that all lines fit."""
    room = {kind: min(count, _LEAST) for kind, count in wanted.items()}
    used = 3 + 2 + sum(4 for count in wanted.values() if count)  # front matter, mark, and what each section adds
    left = MAX_LINES - used - sum(room.values())
    for kind, count in wanted.items():
        more = min(count - room[kind], max(left, 0))
        room[kind] += more
        left -= more
    return room
