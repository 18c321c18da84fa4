"""From a page's bytes to its row in the index, through the privacy gate: for live changes and for a rebuild."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from aimemory.errors import AimemoryError
from aimemory.index.pages import DeclaredProject, PageRow, upsert_pages
from aimemory.index.purges import stored_purges
from aimemory.model.ids import PageId, ProjectId, Version, page_version
from aimemory.model.scope import GLOBAL_FOLDER, UNFILED_FOLDER
from aimemory.privacy import Sanitized, sanitize_tree
from aimemory.project.registry import project_id
from aimemory.store.forgotten import Forgotten
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.links import links_of
from aimemory.wiki.parse import parse_page
from aimemory.wiki.walk import Stat, scan

_BATCH = 500
_ALIASES = 50

LISTING_NAME = "index.md"
LISTING_MARK = "<!-- Made by aimemory. Change it, and it stays as you left it. -->"
"""The last line of a listing that we made."""

MERGED_FOLDER = "merged"
"""In a project's folder: the pages of projects that were merged into it, whose names and directories now mean it."""

Folders = Mapping[str, ProjectId]
"""Which project a folder of the wiki (`workspace/folder`) belongs to."""


def folder_of(path: str) -> str:
    """`workspace/folder` of a page's path, or "" for one that lies above any project folder."""
    parts = path.split("/")
    return f"{parts[0]}/{parts[1]}" if len(parts) >= 3 else ""


def is_project_page(path: str) -> bool:
    """Is this the page that declares the project of its folder?"""
    parts = path.split("/")
    return len(parts) == 3 and parts[2] == f"{parts[1]}.md"


def is_listing(path: str) -> bool:
    """Is this the place of the listing that we make for a project?"""
    parts = path.split("/")
    return len(parts) == 3 and parts[2] == LISTING_NAME


def is_merged_page(path: str) -> bool:
    """May this be the page of a project that was merged into the one of its folder?"""
    parts = path.split("/")
    return len(parts) == 4 and parts[2] == MERGED_FOLDER and parts[3].endswith(".md")


def merged_page(folder: str, into: str) -> str:
    """Where the page of the project at `workspace/folder` lies once it is merged into another one."""
    return f"{into}/{MERGED_FOLDER}/{folder.rpartition('/')[2]}.md"


def page_row(path: str, raw: bytes, stat: Stat, folders: Folders) -> Sanitized[PageRow]:
    """The row of one page. A person's own text stays as typed in the file; what the index holds has passed the gate."""
    parsed = parse_page(path, raw)
    texts = sanitize_tree(
        {
            "path": parsed.path, "id": parsed.id, "kind": parsed.kind, "title": parsed.title, "body": parsed.body,
            "description": parsed.description, "tags": list(parsed.tags), "status": parsed.status,
            "created": parsed.created, "updated": parsed.updated, "problem": parsed.problem, "front": parsed.front,
        }
    )  # fmt: skip
    return texts.derive(lambda t: _row(t, page_version(raw), stat, folders))


def merged_project(path: str, raw: bytes) -> DeclaredProject | None:
    """What a merged project's page says it was; None if it says nothing of that kind. The page's name is an alias."""
    front = parse_page(path, raw).front
    if front.get("type") != "project" or not _one(front.get("identity")):
        return None
    workspace, _, _, name = path.split("/")
    stem = name.removesuffix(".md")
    found = _declared(front, f"{workspace}/{stem}/{name}")
    return replace(found, aliases=(*found.aliases, stem))


def declared_project(path: str, raw: bytes) -> DeclaredProject:
    """What a project's page says of it; an id or identity that a person removed is derived from the folder."""
    return _declared(parse_page(path, raw).front, path)


def known_folders(files: WikiFiles) -> dict[str, ProjectId]:
    """The projects declared in the tree, by folder. Blocks; reads project pages only."""
    found: dict[str, ProjectId] = {}
    for path in sorted(files.root.glob("*/*/*.md")):
        name = path.relative_to(files.root).as_posix()
        if is_project_page(name):
            try:
                found[folder_of(name)] = declared_project(name, files.read(name)[0]).id
            except (AimemoryError, OSError):  # gone since it was listed, a link, too large
                continue
    return found


def take_pages(files: WikiFiles, key: bytes) -> Callable[[sqlite3.Connection, Callable[[str, int], None]], None]:
    """For a rebuild: fills the page tables of a new index from every file of the wiki. Blocks.

    key: what forgotten files are recognised by (see `store.forgotten`). Those that lie there again are left out.
    """

    def fill(db: sqlite3.Connection, progress: Callable[[str, int], None]) -> None:
        def given_up() -> bool:
            progress("pages", 0)  # raises when the rebuild is given up
            return False

        folders = known_folders(files)
        found = scan(files.root, {}, given_up).added
        forgotten = Forgotten(key)
        for data in stored_purges(db):
            forgotten.take(data)
        wanted = dict(db.execute("select path, version from accepted"))
        batch: list[Sanitized[PageRow]] = []
        # left out: what is gone since the walk, a link, too large
        for count, (path, raw, version) in enumerate(files.read_each(sorted(found)), 1):
            if forgotten.is_file(path, version) and wanted.get(path) != forgotten.veil("file", path, version):
                continue
            row = page_row(path, raw, found[path], folders)
            if row.value.path != path:  # a name that looks like a secret: the walk says so
                continue
            batch.append(row)
            if len(batch) == _BATCH:
                upsert_pages(db, batch)
                batch = []
                progress("pages", count)
        if batch:
            upsert_pages(db, batch)
        progress("pages", len(found))

    return fill


def _row(t: dict[str, Any], version: Version, stat: Stat, folders: Folders) -> PageRow:
    path = t["path"]
    folder = folder_of(path)
    front = t["front"]
    name = folder.rpartition("/")[2]
    # A listing repeats other pages' titles and would hide them, also one that a merge of projects has put elsewhere.
    is_ours = t["body"].rstrip().endswith(LISTING_MARK)
    project = ProjectId(name) if name in (UNFILED_FOLDER, GLOBAL_FOLDER) else folders.get(folder)
    return PageRow(
        path=path, id=PageId(t["id"]), kind=t["kind"], title="index" if is_ours else t["title"],
        body="" if is_ours else t["body"], version=version,
        mtime_ns=stat.mtime_ns, size=stat.size, description=t["description"], tags=tuple(t["tags"]), status=t["status"],
        created=t["created"], updated=t["updated"], project=project, workspace=folder.partition("/")[0],
        problem=t["problem"], paths="\n".join(_texts(front.get("files"))),
        idents=" ".join(_texts(front.get("identifiers"))),
        declares=_declared(front, path) if t["kind"] == "project" and is_project_page(path) else None,
        links=links_of(t["body"], front),
        aliases=() if t["kind"] == "project" else tuple(_texts(front.get("aliases") or front.get("alias"))[:_ALIASES]),
    )  # fmt: skip


def _declared(front: Mapping[str, Any], path: str) -> DeclaredProject:
    workspace, folder, _ = path.split("/")
    identity = _one(front.get("identity")) or f"folder:{folder}"
    return DeclaredProject(
        id=ProjectId(_one(front.get("id")) or project_id(workspace, identity)),
        identity=identity,
        aliases=tuple(_texts(front.get("aliases"))),
        paths=tuple(_texts(front.get("paths"))),
    )


def _one(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [v.strip() for v in values if isinstance(v, str) and v.strip()]
