"""What is being taken out right now, on disk until it is done: whatever stops the daemon, the next start finishes it.

Lies in `private/`, since it holds what is to be forgotten, and is removed at the end.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aimemory.datadir import sync_dir, write_atomic
from aimemory.errors import Damaged


@dataclass(slots=True)
class Pending:
    """A purge that was decided. The places are those of `change.Removal`; with `text` it is a `change.Redaction`, with
    `what` "rescan" neither, and with "retention" an `expiry.Expiry` (upto, before_ns, spared, versions_of, copies).

    begun: number of its first journal line, 0 before. needles: texts to look for when it is done. counts: what went so
    far, by place. versions: what past versions have become, since they can't be asked for once they are gone.
    """

    what: str
    id: str
    asked_at_ns: int
    user: str
    machine: str
    harness: str | None = None
    history: bool = False
    backups: bool = False
    text: str | None = None
    renames: dict[str, str] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    natives: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)
    handoffs: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    muted: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    page_ids: list[str] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    needles: list[str] = field(default_factory=list)
    begun: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str | None] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    upto: int = 0
    before_ns: int = 0
    spared: list[str] = field(default_factory=list)
    versions_of: dict[str, str] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)

    def concerns(self, path: str) -> bool:
        """Whether it takes this page of the wiki away, or gives it another name."""
        return (
            path in self.paths or path in self.renames or path in self.renames.values()
            or any(path.startswith(f"{folder}/") for folder in self.folders)
        )  # fmt: skip

    def add(self, place: str, count: int) -> None:
        """Count what went from a place."""
        if count:
            self.counts[place] = self.counts.get(place, 0) + count


def load(path: Path) -> Pending | None:
    """None when nothing is pending. Raises Damaged for a file that can't be understood."""
    try:
        known: dict[str, Any] = json.loads(path.read_bytes())
        return Pending(**known)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise Damaged(f"{path} can't be read. Delete it, and give the command again.") from error


def save(path: Path, pending: Pending) -> None:
    """Durable on return."""
    write_atomic(path, json.dumps(asdict(pending), ensure_ascii=False).encode())


def clear(path: Path) -> None:
    path.unlink(missing_ok=True)
    sync_dir(path.parent)
