"""What is around a page: related pages, each with why, and the events behind it."""

from dataclasses import dataclass, field

from aimemory.api.lookup import Where
from aimemory.api.versions import Find
from aimemory.errors import NotFound, UserError
from aimemory.index.events import session as session_row
from aimemory.index.pages import page as page_info
from aimemory.index.related import Around, Edge, around, edges, event_with_neighbours, events_of, sources
from aimemory.index.search import ObservationText
from aimemory.model.answers import Caller, EventAround, EventsBehind, EventView, RelatedPage, RelatedView
from aimemory.model.ids import SessionId
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import GLOBAL_FOLDER
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader

MAX_DEPTH = 3
MAX_PAGES = 100
MAX_EVENTS = 50
_FRONTIER = 60
"""Pages of a distance whose own relations are looked at."""
_SOURCES = 3
_WHYS = 4
_NEIGHBOURS = 3
_STRENGTH = {"out": 3.0, "in": 3.0, "session": 2.0, "tag": 1.0}
"""What joins more closely comes first among those of a distance."""


@dataclass(slots=True)
class _Found:
    distance: int
    strength: float = 0.0
    why: list[str] = field(default_factory=list)


class Related:
    """Reached as `Memory.related`. Reads only."""

    def __init__(self, *, find: Find, near: Where, reader: Reader, projects: Projects) -> None:
        self._find = find
        self._near = near
        self._reader = reader
        self._projects = projects

    async def of_page(
        self, *, page: str, caller: Caller, project: str | None = None, depth: int = 1, limit: int = 20,
        events: int = 10, before: int | None = None,
    ) -> RelatedView:  # fmt: skip
        """Pages that are related, by distance and then by how closely, each with why; and the last events behind it.

        Related are pages that link to it or it links to, that the same session wrote or left (its page, its handoffs),
        and that share a tag with it. depth: steps, 1 to 3. limit: pages, 0 to 100. events: of each session behind the
        page, 0 to 50; before: only those with a lower number in the journal. Raises NotFound, UserError.
        """
        if not 1 <= depth <= MAX_DEPTH:
            raise UserError(f"depth is {depth}; give 1 to {MAX_DEPTH}.")
        path, where = await self._find(page, project, caller)
        info = await self._reader.read(page_info(path))
        found, pages = await self._walk(path, depth, (info.project, GLOBAL_FOLDER) if info and info.project else ())
        order = sorted(pages, key=lambda p: (found[p].distance, -found[p].strength, -pages[p].date_ns, p))
        shown = order[: max(0, min(limit, MAX_PAGES))]
        return RelatedView(
            path=path, title=info.title if info else path, kind=info.kind if info else "",
            project=self._projects.name_of(info.project) if info else None, project_how=where.how, depth=depth,
            pages=tuple(self._page(found[one], pages[one]) for one in shown), total=len(order),
            behind=await self._behind(path, max(0, min(events, MAX_EVENTS)), before),
        )  # fmt: skip

    async def event(self, seq: int) -> EventAround:
        """A recorded event by its number in the journal, with those of its session around it. Raises NotFound."""
        found = await self._reader.read(event_with_neighbours(seq, _NEIGHBOURS))
        this = next((one for one in found if one.row == seq), None)
        if this is None:
            raise NotFound(f"Line {seq} of the journal is no event that is recorded.")
        return EventAround(seq, this.session, self._projects.name_of(this.project), tuple(map(_event, found)))

    async def _walk(
        self, path: str, depth: int, projects: tuple[str, ...]
    ) -> tuple[dict[str, _Found], dict[str, Around]]:
        found: dict[str, _Found] = {path: _Found(0)}
        pages: dict[str, Around] = {}
        frontier = [path]
        for distance in range(1, depth + 1):
            here: dict[str, _Found] = {}
            for edge in await self._reader.read(edges(frontier, projects)):
                if edge.other in found:
                    continue
                one = here.setdefault(edge.other, _Found(distance))
                one.strength += _STRENGTH[edge.kind]
                if len(one.why) < _WHYS and (why := _why(edge, path)) not in one.why:
                    one.why.append(why)
            there = await self._reader.read(around(here))
            pages |= there
            found |= {name: one for name, one in here.items() if name in there}
            next_ones = sorted(there, key=lambda name: (-here[name].strength, -there[name].date_ns, name))
            frontier = [name for name in next_ones if there[name].expands][:_FRONTIER]
        return found, pages

    async def _behind(self, path: str, limit: int, before: int | None) -> tuple[EventsBehind, ...]:
        if not limit:
            return ()
        found = []
        for source in await self._reader.read(sources(path, _SOURCES)):
            bounds = [bound for bound in (source.before_seq, before) if bound is not None]
            rows, total = await self._reader.read(events_of(source.session, min(bounds, default=None), limit))
            row = await self._reader.read(session_row(SessionId(source.session)))
            if rows:
                lowest = min(one.row for one in rows)
                found.append(
                    EventsBehind(
                        session=source.session, harness=row.harness if row else None, role=source.role, total=total,
                        events=tuple(map(_event, rows)), next_before=lowest if total > len(rows) else None,
                    )
                )  # fmt: skip
        return tuple(found)

    def _page(self, found: _Found, page: Around) -> RelatedPage:
        return RelatedPage(
            path=page.path, title=page.title, kind=page.kind, date=rfc3339_local(page.date_ns),
            project=self._projects.name_of(page.project), status=page.status, distance=found.distance,
            why=tuple(found.why),
        )  # fmt: skip


def _why(edge: Edge, start: str) -> str:
    other = "this page" if edge.page == start else edge.page
    match edge.kind:
        case "out":
            return f"{other} links to it"
        case "in":
            return f"links to {other}"
        case "session":
            return f"same session {edge.via} as {other}"
        case _:
            return f"tagged {edge.via} like {other}"


def _event(row: ObservationText) -> EventView:
    return EventView(
        seq=row.row, id=row.id, at=rfc3339_local(row.at_ns), kind=row.kind, harness=row.harness, tool=row.tool,
        session=row.session, text=row.text,
    )  # fmt: skip
