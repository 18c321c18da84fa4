"""Which projects the wiki's files declare: each folder's own page, and the pages of those that were merged into it."""

from dataclasses import dataclass

from aimemory.errors import AimemoryError
from aimemory.model.ids import ProjectId
from aimemory.model.scope import Project
from aimemory.project.registry import Registry
from aimemory.store.pagerows import (
    MERGED_FOLDER,
    declared_project,
    folder_of,
    is_project_page,
    merged_page,
    merged_project,
)
from aimemory.wiki.files import WikiFiles


@dataclass(frozen=True, slots=True)
class Declared:
    """What the pages of a folder say of its project. was: ids of projects that were merged into it."""

    project: Project
    paths: tuple[str, ...]
    was: tuple[ProjectId, ...]


def read_registry(files: WikiFiles) -> Registry:
    """All projects of the wiki. Blocks."""
    registry = Registry()
    for path in sorted(files.root.glob("*/*/*.md")):
        name = path.relative_to(files.root).as_posix()
        if is_project_page(name) and (read := read_folder(files, folder_of(name))) is not None:
            registry.add(read.project, read.paths, read.was)
    return registry


def read_again(files: WikiFiles, folders: set[str]) -> dict[str, Declared | None]:
    """Blocks. What these folders say, and those into which the ones without a page were merged."""
    found = {folder: read_folder(files, folder) for folder in sorted(folders)}
    for folder in [folder for folder, read in found.items() if read is None]:
        for page in files.root.glob(f"*/*/{merged_page(folder, '').lstrip('/')}"):
            holder = page.parent.parent.relative_to(files.root).as_posix()
            found[holder] = read_folder(files, holder)
    return found


def read_folder(files: WikiFiles, place: str) -> Declared | None:
    """Of `workspace/folder`; None where no page declares a project. Blocks."""
    workspace, _, folder = place.partition("/")
    path = f"{place}/{folder}.md"
    try:
        raw, _ = files.read(path)
    except (AimemoryError, OSError):  # gone since it was listed, or a link
        return None
    declared = declared_project(path, raw)
    aliases, paths, was = [*declared.aliases], [*declared.paths], []
    for merged in sorted((files.root / place / MERGED_FOLDER).glob("*.md")):
        name = f"{place}/{MERGED_FOLDER}/{merged.name}"
        try:
            other = merged_project(name, files.read(name)[0])
        except (AimemoryError, OSError):
            continue
        if other is not None:
            aliases += [other.identity, *other.aliases]
            paths += other.paths
            was.append(other.id)
    known = tuple(dict.fromkeys(aliases))
    return Declared(Project(declared.id, workspace, folder, declared.identity, known), tuple(paths), tuple(was))
