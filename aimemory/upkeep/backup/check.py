"""Whether an archive is good: it is restored into a scratch directory and compared with what it says of itself."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from aimemory.datadir import DataDir
from aimemory.errors import Damaged, NotFound
from aimemory.facts.gitrun import GitRunner
from aimemory.facts.known import Unknown
from aimemory.journal.replay import replay
from aimemory.upkeep.backup.archive import Manifest, Progress, extract
from aimemory.upkeep.backup.scratch import scratch_folder
from aimemory.wiki.walk import scan

_GIT_S = 600.0


@dataclass(frozen=True, slots=True)
class Checked:
    """A good archive. damage: what was damaged already where it came from, and is so in the archive."""

    manifest: Manifest
    damage: tuple[str, ...]


def check_archive(archive: Path, progress: Progress, scratch: Path | None = None) -> Checked:
    """Restore into a new folder in `scratch` (by default beside the archive), compare, and remove it. Blocks.

    Raises NotFound, Damaged when the archive isn't what was written, UserError for a newer format or a scratch that
    can't be written.
    """
    require(archive)
    with scratch_folder(scratch or archive.parent, "check") as folder:
        manifest = extract(archive, folder, progress)
        return Checked(manifest, check_restored(archive, folder, manifest, progress))


def require(archive: Path) -> None:
    """Raises NotFound unless there is a file."""
    if not archive.is_file():
        raise NotFound(f"There is no file {archive}.")


def check_restored(archive: Path, root: Path, manifest: Manifest, progress: Progress) -> tuple[str, ...]:
    """Compare a restored data directory with the manifest; returns damage that was in the original too.

    Raises Damaged when a count differs.
    """
    data = DataDir(root)
    damage: list[str] = []
    last = whole = 0
    for line in replay(data.journal, 0, lambda what: damage.append(f"journal: {what}")):
        last, whole = line.seq, whole + 1
        if whole % 1000 == 0:
            progress("lines", whole)
    pages = len(scan(data.wiki, {}).added) if data.wiki.is_dir() else 0
    wrong = [] if pages == manifest.counts["pages"] else [f"{pages} pages, not {manifest.counts['pages']}"]
    if not damage and (last, whole) != (manifest.seq, manifest.counts["lines"]):
        wrong.append(f"{whole} lines up to {last}, not {manifest.counts['lines']} up to {manifest.seq}")
    wrong += _small_files(data)
    if wrong:
        raise Damaged(f"{archive} restores to {'; '.join(wrong)}. Use another backup.")
    if manifest.branch is not None:
        progress("git", 0)
        damage += fsck(data.wiki)
    return tuple(damage)


def _small_files(data: DataDir) -> list[str]:
    """Files of ours that don't parse: nothing could be started from them."""
    wrong = []
    for path in (data.actor_file, data.folders_file):
        try:
            json.loads(path.read_bytes())
        except FileNotFoundError:
            continue
        except ValueError:
            wrong.append(f"a {path.name} that is no JSON")
    return wrong


def fsck(wiki: Path) -> list[str]:
    """What git finds missing or damaged in a repository of ours; nothing that it configures gets to run.

    Empty when all is well. Blocks: runs its own event loop, so call it from a thread without one.
    """

    async def run() -> list[str]:
        deadline = asyncio.get_running_loop().time() + _GIT_S
        runner = GitRunner(str(wiki), deadline, _GIT_S)
        done = await runner.run("fsck", "--full", "--no-dangling", "--no-progress")
        if isinstance(done, Unknown):
            return [f"git: the history was not looked at: {done.reason}"]
        if done.code == 0:
            return []
        said = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
        return [f"git: {line}" for line in said[:20]] or [f"git: fsck ended with {done.code}"]

    return asyncio.run(run())
