"""The known projects in memory, and which of them a resolution means.

The store feeds it from the projects' pages; it does no IO of its own but one: asking whether two spellings of a path
are the same folder. A project never moves by itself: what is new about it is returned as a proposal.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aimemory.model.ids import ProjectId, digest
from aimemory.model.scope import DEFAULT_WORKSPACE, UNFILED_FOLDER, Project
from aimemory.project.identity import normalize_remote, portable_name
from aimemory.project.resolve import Resolution

K = TypeVar("K")

UNFILED = Project(ProjectId(UNFILED_FOLDER), DEFAULT_WORKSPACE, UNFILED_FOLDER, "")
"""Where events without a project go."""


def project_id(workspace: str, identity: str) -> ProjectId:
    """The id of a new project; two machines that meet it first arrive at the same one."""
    return ProjectId(digest("project", workspace, identity))


_ROOMS = (2, 4, 8)
"""Bytes of the identity's digest that a folder name gets until it is free."""


@dataclass(frozen=True, slots=True)
class Match:
    """The known project that was meant. how: the reason, in words that follow "found by".

    new_alias, new_path: what the project does not know about itself yet; the caller records it.
    also: another project that answers to the same checkout; only the user can merge the two.
    """

    project: Project
    how: str
    new_alias: str | None = None
    new_path: str | None = None
    also: Project | None = None


class Registry:
    """Known projects by identity, name and path; used by one thread."""

    def __init__(self) -> None:
        self._projects: dict[ProjectId, Project] = {}
        self._paths: dict[ProjectId, tuple[str, ...]] = {}
        self._by_identity: dict[str, ProjectId] = {}
        self._by_name: dict[tuple[str, str], ProjectId] = {}
        self._by_folder: dict[str, ProjectId] = {}
        self._by_path: dict[str, tuple[str, ProjectId]] = {}
        self._was: dict[ProjectId, ProjectId] = {}

    def add(self, project: Project, paths: Iterable[str] = (), was: Iterable[ProjectId] = ()) -> None:
        """Take a project in, or replace the one of the same id. was: ids of projects that were merged into it.

        Where two claim one identity or path, the one whose wiki path sorts first has it, in whatever order they come.
        """
        self.remove(project.id)
        self._projects[project.id] = project
        self._paths[project.id] = tuple(dict.fromkeys(paths))
        self._was |= dict.fromkeys(was, project.id)
        self._enter(project)

    def remove(self, project: ProjectId) -> None:
        """Forget a project; nothing happens if it is unknown."""
        if self._projects.pop(project, None) is None:
            return
        self._paths.pop(project)
        self._was = {old: new for old, new in self._was.items() if new != project}
        for index in (self._by_identity, self._by_name, self._by_folder, self._by_path):
            index.clear()
        for other in self._projects.values():
            self._enter(other)

    def _enter(self, project: Project) -> None:
        for identity in _identities(project):
            _claim(self._by_identity, identity, project, self._projects)
            _claim(self._by_name, (project.workspace, identity.casefold()), project, self._projects)
        _claim(self._by_name, (project.workspace, project.folder.casefold()), project, self._projects)
        _claim(self._by_folder, project.folder.casefold(), project, self._projects)
        for path in self._paths[project.id]:
            holder = self._by_path.get(_path_key(path))
            if holder is None or project.path <= self._projects[holder[1]].path:
                self._by_path[_path_key(path)] = (path, project.id)

    @property
    def projects(self) -> tuple[Project, ...]:
        """All known projects, sorted by their path in the wiki."""
        return tuple(sorted(self._projects.values(), key=lambda project: project.path))

    def by_id(self, project: ProjectId) -> Project | None:
        """The project of that id, or the one it was merged into; `UNFILED` is always known."""
        if project == UNFILED.id:
            return UNFILED
        return self._projects.get(project) or self._projects.get(self._was.get(project, project))

    def paths(self, project: ProjectId) -> tuple[str, ...]:
        """The paths that a project is known by."""
        return self._paths.get(project, ())

    def by_name(self, name: str) -> Project | None:
        """The project somebody means by `workspace/folder`, `folder`, an identity, an alias, a git URL or an id."""
        text = unicodedata.normalize("NFC", name.strip())
        if text.casefold() in (UNFILED_FOLDER, UNFILED.path):
            return UNFILED
        workspace, _, rest = text.partition("/")
        for found in (
            self._by_name.get((workspace.casefold(), rest.casefold())),
            self._by_folder.get(text.casefold()),
            self._by_identity.get(text),
            self._by_identity.get(normalize_remote(text) or ""),
            ProjectId(text),
        ):
            if found in self._projects:
                return self._projects[found]
        return None

    def find(self, resolution: Resolution) -> Match | None:
        """The known project that a resolution means, or None if it would be a new one (see `propose`).

        A resolution without an identity is `UNFILED` unless one of its places is known.
        """
        match resolution.source:
            case "explicit":
                project = self.by_name(resolution.identity)
                return Match(project, "its name") if project else None
            case "file":
                return self._named(resolution)
            case "remote":
                return self._by_remote(resolution) or self._by_own_id(resolution)
            case "directory" | "none":
                return self._by_place(resolution) or self._by_own_id(resolution)

    def _by_own_id(self, resolution: Resolution) -> Match | None:
        """The project whose id was made from this very identity, which its page no longer tells: a second one could not
        be made, and its events would be refused for ever."""
        if not resolution.identity:
            return None
        known = self.by_id(project_id(resolution.workspace, resolution.identity))
        return Match(known, "the id that was made from its identity") if known else None

    def _named(self, resolution: Resolution) -> Match | None:
        """A name in a file counts within that file's workspace: two clients may both have an `app`."""
        found = self._by_name.get((resolution.workspace, resolution.identity.casefold()))
        if found is None and "/" in resolution.identity:
            project = self.by_name(resolution.identity)
        else:
            project = self._projects[found] if found else None
        return Match(project, "the name in its settings file") if project else self._by_own_id(resolution)

    def _by_remote(self, resolution: Resolution) -> Match | None:
        known = self._of_identity(resolution.identity)
        here = next(self._at(resolution.places), None)
        if known and here and known != here and self._still_is(here, resolution):
            return Match(here, "its path and another of its remotes", also=known)
        if known:
            return Match(known, "its remote", new_path=self._unknown_path(known, resolution))
        if here and _may_be_renamed(here, resolution.identity):
            return Match(here, "its path, under a remote that is new", new_alias=resolution.identity)
        for other in resolution.other_remotes:
            if project := self._of_identity(other):
                path = self._unknown_path(project, resolution)
                return Match(project, "another of its remotes", new_alias=resolution.identity, new_path=path)
        return None

    def _still_is(self, project: Project, resolution: Resolution) -> bool:
        return any(self._of_identity(other) == project for other in resolution.other_remotes)

    def _by_place(self, resolution: Resolution) -> Match | None:
        known = self._of_identity(resolution.identity) if resolution.identity else None
        if known:
            return Match(known, "its directory", new_path=self._unknown_path(known, resolution))
        if here := next(self._at(resolution.places), None):
            return Match(here, "the path of a known project")
        return Match(UNFILED, "nothing: it is no project") if resolution.source == "none" else None

    def _of_identity(self, identity: str) -> Project | None:
        found = self._by_identity.get(identity)
        return self._projects[found] if found else None

    def _at(self, places: Iterable[str]) -> Iterator[Project]:
        for place in places:
            path, project = self._by_path.get(_path_key(place), ("", None))
            if project and (path == place or _same_folder(path, place)):
                yield self._projects[project]

    def _unknown_path(self, project: Project, resolution: Resolution) -> str | None:
        known = self._paths[project.id]
        return resolution.root if resolution.root and resolution.root not in known else None

    def propose(self, resolution: Resolution) -> Project:
        """A new project for a resolution that `find` knows nothing about; it is not taken in.

        The folder is the suggested name, on collision `owner-name`, then with hex digits; no two projects of the wiki
        share one.
        """
        if not resolution.identity:
            return UNFILED
        return Project(
            id=project_id(resolution.workspace, resolution.identity),
            workspace=resolution.workspace,
            folder=next(name for name in _folders(resolution) if name.casefold() not in self._by_folder),
            identity=resolution.identity,
        )


def _folders(resolution: Resolution) -> Iterator[str]:
    name = resolution.name or portable_name(resolution.identity)
    yield name
    longer = portable_name(f"{resolution.owner}-{name}") if resolution.owner else name
    yield longer
    for size in _ROOMS:
        yield f"{longer[:60]}-{digest(resolution.identity, resolution.workspace, size=size)}"


def _claim(index: dict[K, ProjectId], key: K, project: Project, projects: dict[ProjectId, Project]) -> None:
    holder = index.get(key)
    if holder is None or project.path <= projects[holder].path:
        index[key] = project.id


def _identities(project: Project) -> tuple[str, ...]:
    return tuple(identity for identity in (project.identity, *project.aliases) if identity)


def _may_be_renamed(project: Project, remote: str) -> bool:
    """Whether a repository at a known path may be that project under a new remote.

    A project without a remote has got one now. One with remotes was renamed or moved to another owner or host: then
    name or owner stay. With neither in common it is another repository that was put into the same place.
    """
    known = [identity for identity in _identities(project) if "/" in identity and not identity.startswith("dir:")]
    owner, _, name = remote.casefold().rpartition("/")
    return not known or any(
        identity.casefold().rpartition("/")[2] == name or identity.casefold().rpartition("/")[0] == owner
        for identity in known
    )


def _path_key(path: str) -> str:
    """Equal for spellings that some file systems take for one: case and Unicode form."""
    return unicodedata.normalize("NFC", path).casefold()


def _same_folder(path: str, place: str) -> bool:
    try:
        return Path(path).samefile(place)
    except OSError:
        return False
