"""After a project's folder got another name: which links no longer lead where they led, and giving them their new text.

Pages that we generate are changed along with the name; those of people and agents when that is asked for.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from aimemory.errors import AimemoryError, UserError
from aimemory.index.events import written
from aimemory.index.filed import last_project_line
from aimemory.index.links import LinkRow, broken_links_named, links_into, paths_of_names
from aimemory.index.pages import page as page_info
from aimemory.index.refile import moved_path
from aimemory.model.ids import page_version
from aimemory.model.links import base_name, file_name, folded, link_text, matches, wanted_name
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize_tree
from aimemory.store.pages import Pages
from aimemory.store.reader import Reader
from aimemory.wiki.relink import relinked

_GENERATED = ("session", "handoff", "index")


@dataclass(frozen=True, slots=True)
class Relinks:
    """Links to change, as new targets by old ones of each page, by the page's path before the move.

    generated: pages whose text is ours. others: pages of people and agents.
    """

    generated: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Relinking:
    """Finds and changes links after a rename."""

    def __init__(self, *, pages: Pages, reader: Reader, actor: Actor) -> None:
        self._pages = pages
        self._reader = reader
        self._actor = actor

    async def plan(self, old: str, new: str, moves: Mapping[str, str]) -> Relinks:
        """What `workspace/folder` called `new` instead of `old` means for links. moves: new paths by old, none moved
        yet."""
        rows = await self._reader.read(links_into(old))
        names = sorted({wanted_name(row.link.target) for row in rows} | {file_name(path) for path in moves})
        after = _after(await self._reader.read(paths_of_names(names)), moves)
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            if (target := _new_target(row, old, new, moves, after)) is not None:
                found.setdefault(row.source, {})[row.link.target] = target
        ours = await self._ours(found)
        return Relinks(
            {path: targets for path, targets in found.items() if path in ours},
            {path: targets for path, targets in found.items() if path not in ours},
        )

    async def apply(
        self, changes: Mapping[str, Mapping[str, str]], moves: Mapping[str, str], actor: Actor, summary: str, op: str
    ) -> dict[str, str]:
        """Change links in these pages, which were moved meanwhile. Returns why pages were left, by their path."""
        left: dict[str, str] = {}
        for before, targets in changes.items():
            path = moves.get(before, before)
            try:
                await self._change(path, targets, actor, summary, op)
            except AimemoryError as error:
                left[path] = str(error)
        return left

    async def follow(self, paths: Collection[str], old: str, new: str, actor: Actor) -> None:
        """Pages that moved to another project: those that we generate link to its page instead of the old one's."""
        targets = {base_name(old): base_name(new)}
        changes = dict.fromkeys(await self._ours(paths), targets)
        await self.apply(changes, {}, actor, f"Links to {base_name(new)}", "write")

    async def finish(self) -> None:
        """At a start: change what a crash left between the newest rename and its links, in generated pages only."""
        said = await self._reader.read(last_project_line())
        if said is None or said["op"] != "rename":
            return
        old, new = str(said["from"]), str(said["to"])
        rows = await self._reader.read(broken_links_named(file_name(_page_of(old))))
        targets: dict[str, dict[str, str]] = {}
        for row in rows:
            targets.setdefault(row.source, {})[row.link.target] = base_name(_page_of(new))
        ours = await self._ours(targets)
        changes = {path: some for path, some in targets.items() if path in ours}
        await self.apply(changes, {}, self._actor, f"Links to {new}", "write")

    async def _change(self, path: str, targets: Mapping[str, str], actor: Actor, summary: str, op: str) -> None:
        if held := self._pages.gate.held.get(path):
            raise UserError(f"{path} holds what looks like a secret ({held}), which a write would take out.")
        text, version = await self._pages.read(path)
        if page_version(text.encode("utf-8")) != version:
            raise UserError(f"{path} is no UTF-8, so a copy would damage it.")
        clean = sanitize_tree(dict(targets))  # not the page: what a person typed in it stays
        changed = clean.derive(lambda names: relinked(text, names)[0])
        if changed.value != text:
            await self._pages.write(path, changed, expected=version, actor=actor, summary=summary, op=op)

    async def _ours(self, paths: Iterable[str]) -> set[str]:
        """Generated pages that no person has changed."""
        names = list(paths)
        records = await self._reader.read(written(names))
        found = set()
        for path in names:
            info, record = await self._reader.read(page_info(path)), records.get(path)
            if info is not None and info.kind in _GENERATED and record is not None and record.may_replace(info.version):
                found.add(path)
        return found


def _page_of(folder: str) -> str:
    return f"{folder}/{base_name(folder)}.md"


def _after(paths: Mapping[str, Collection[str]], moves: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for some in paths.values():
        for path in some:
            moved = moves.get(path, path)
            found.setdefault(file_name(moved), []).append(moved)
    return found


def _new_target(
    row: LinkRow, old: str, new: str, moves: Mapping[str, str], after: Mapping[str, Collection[str]]
) -> str | None:
    """What the link has to say afterwards; None where it still leads to the same page."""
    target, dest = row.link.target, row.dest
    assert dest is not None
    source, wanted = moves.get(row.source, row.source), moves.get(dest, moved_path(dest, old, new))

    def leads(text: str) -> bool:
        fits = matches(text, source, after.get(wanted_name(text), ()))
        return bool(fits) and fits[0] == wanted

    if leads(target):
        return None
    suffix = target[-3:] if folded(target).endswith(".md") else ""
    spelled = _renamed(target.removesuffix(suffix), old, new) + suffix  # in its own style, so that going back is exact
    return spelled if leads(spelled) else link_text(wanted, after.get(file_name(wanted), ())) + suffix


def _renamed(target: str, old: str, new: str) -> str:
    """The link's path with the folder's new name, and its workspace's, in the place of the old."""
    (old_workspace, _, old_folder), (new_workspace, _, new_folder) = old.partition("/"), new.partition("/")
    parts = target.split("/")
    for at, part in enumerate(parts):
        if folded(part) == folded(old_folder):
            parts[at] = new_folder
            if at and folded(parts[at - 1]) == folded(old_workspace):
                parts[at - 1] = new_workspace
    return "/".join(parts)
