"""What links to what: the links of a page from both ends, and those that lead nowhere or could mean several pages."""

from collections.abc import Iterable

from aimemory.api.lookup import Where
from aimemory.api.versions import Find
from aimemory.index.links import LinkRow, ambiguous_links, broken_links, link_counts, links_from, links_to, shared_names
from aimemory.model.answers import Caller, LinkFaults, LinkView, PageLinks
from aimemory.store.reader import Reader

MAX_LISTED = 1000


class Links:
    """Reached as `Memory.links`. Verdicts are Obsidian's; see `model.links`."""

    def __init__(self, *, find: Find, where: Where, reader: Reader) -> None:
        self._find = find
        self._where = where
        self._reader = reader

    async def of_page(self, *, page: str, caller: Caller, project: str | None = None) -> PageLinks:
        """The links of a page and those that lead to it, at most 1,000 each. Raises NotFound."""
        path, _ = await self._find(page, project, caller)
        return PageLinks(
            path, _views(await self._reader.read(links_from(path, MAX_LISTED))),
            _views(await self._reader.read(links_to(path, MAX_LISTED))),
        )  # fmt: skip

    async def faults(self, *, caller: Caller, project: str | None = None, limit: int = 100) -> LinkFaults:
        """Broken and ambiguous links in the pages of a project, or of all; and names that several pages have."""
        where = await self._where(project, caller)
        folder = where.project.path if where.project else ""
        limit = max(1, min(limit, MAX_LISTED))
        counts = await self._reader.read(link_counts(folder))
        return LinkFaults(
            project=where.project.path if where.project else None, project_how=where.how, links=counts.links,
            broken_total=counts.broken, ambiguous_total=counts.ambiguous,
            broken=_views(await self._reader.read(broken_links(limit, folder))),
            ambiguous=_views(await self._reader.read(ambiguous_links(limit, folder))),
            shared_names=dict(await self._reader.read(shared_names(limit))),
        )  # fmt: skip


def _views(rows: Iterable[LinkRow]) -> tuple[LinkView, ...]:
    return tuple(
        LinkView(
            source=row.source, kind=row.link.kind.value, raw=row.link.raw, target=row.link.target, alias=row.link.alias,
            heading=row.link.heading, block=row.link.block, page=row.dest, verdict=_verdict(row),
        )
        for row in rows
    )  # fmt: skip


def _verdict(row: LinkRow) -> str:
    if row.fits > 1:
        return "ambiguous"
    if row.dest is not None:
        return "page"
    return "file" if row.link.is_file else "broken"
