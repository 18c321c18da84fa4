"""The step in which a sound repository takes the place of a broken one, and what a kill around it leaves.

Beside the broken one's later place, `<aside>.new` holds the sound one while it is built. A file in it, durable before
anything moves, says which of the two lies there: by the folder's number on the disk, which a rename doesn't change.
"""

import shutil
from pathlib import Path

from aimemory import points
from aimemory.datadir import sync_dir
from aimemory.wiki.exchange import exchange

SET_ASIDE = "damaged-git-"
"""How the names of repositories begin that were set aside."""

_BUILDING = ".new"
_MARK = "built"


def building_place(aside: Path) -> Path:
    return aside.with_name(f"{aside.name}{_BUILDING}")


def mark_built(building: Path) -> None:
    """Note that the sound repository in `building` is whole; the caller syncs it."""
    (building / _MARK).write_text(str((building / ".git").stat().st_ino), encoding="ascii")


def put_in_place(git_dir: Path, building: Path, aside: Path) -> None:
    """The sound repository gets the broken one's name, and the broken one lies at `aside`. Raises OSError."""
    if exchange(building / ".git", git_dir):
        points.reached("mend.exchanged")
        (building / ".git").rename(aside)
    else:
        git_dir.rename(aside)
        points.reached("mend.moved-away")
        (building / ".git").rename(git_dir)
    points.reached("mend.set-aside")
    _finish(building, git_dir)


def left_by_a_kill(backups: Path) -> list[Path]:
    """What mendings were building that didn't come to their end."""
    return sorted(backups.glob(f"{SET_ASIDE}*{_BUILDING}"))


def finish_cut_off(root: Path, backups: Path) -> list[str]:
    """Finish or take back what a killed mend left; returns what was done, a sentence each. Blocks.

    Only while no other process mends, and before the repository is opened. Raises OSError.
    """
    said = []
    for building in left_by_a_kill(backups):
        aside, git_dir = building.with_name(building.name.removesuffix(_BUILDING)), root / ".git"
        left = building / ".git"
        done = f"the repository of {root} is a sound one, and the broken one lies whole in {aside}."
        finished = f"A mending of the wiki's repository that was cut off is finished: {done}"
        if not _holds_the_sound_one(building):
            if left.exists():
                left.rename(aside)
            said.append(finished)
        elif git_dir.exists():
            said.append(f"A mending of {root} was cut off before anything had changed; what it had begun is removed.")
        elif aside.exists() and (building / _MARK).exists():
            left.rename(git_dir)
            said.append(finished)
        else:
            continue  # the wiki itself is away: nothing is thrown away then
        _finish(building, git_dir)
    return said


def _holds_the_sound_one(building: Path) -> bool:
    """Whether the two have not changed places yet; a sound one that isn't marked is still half built."""
    try:
        built = (building / _MARK).read_text(encoding="ascii")
    except OSError:
        return True
    left = building / ".git"
    return left.is_dir() and built == str(left.stat().st_ino)


def _finish(building: Path, git_dir: Path) -> None:
    for folder in (git_dir.parent, building.parent):
        if folder.is_dir():
            sync_dir(folder)
    shutil.rmtree(building)
