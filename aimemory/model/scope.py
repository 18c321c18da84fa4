"""Workspace, project, actor: where something belongs and who did it."""

from dataclasses import dataclass

from aimemory.model.ids import ProjectId, SessionId

DEFAULT_WORKSPACE = "default"
UNFILED_FOLDER = "_unfiled"
GLOBAL_FOLDER = "_global"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as the wiki knows it.

    identity: the normalised remote (`github.com/acme/app`), `dir:<absolute path>`, or the name given in
    `.aimemory.toml`; chosen once. aliases: other identities that mean this project.
    """

    id: ProjectId
    workspace: str
    folder: str
    identity: str
    aliases: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Path of the project's folder below `wiki/`."""
        return f"{self.workspace}/{self.folder}"

    @property
    def page(self) -> str | None:
        """Path of the project's own page; None for the folders that are no project."""
        return None if self.folder in (UNFILED_FOLDER, GLOBAL_FOLDER) else f"{self.path}/{self.folder}.md"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it; recorded on everything. session: our id of the harness's session."""

    user: str
    machine: str
    harness: str | None = None
    session: SessionId | None = None
