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
        try:
            built = (building / _MARK).read_text(encoding="ascii")
        except OSError:  # it was still being built
            built = None
        left = building / ".git"
        is_sound = left.is_dir() and (built is None or built == str(left.stat().st_ino))
        done = f"the repository of {root} is a sound one, and the broken one lies whole in {aside}."
        if is_sound and built is not None and aside.exists() and not git_dir.exists():
            left.rename(git_dir)
            said.append(f"A mending of the wiki's repository that was cut off is finished: {done}")
        elif is_sound and not git_dir.exists():
            continue  # the wiki itself is away: nothing is thrown away then
        elif is_sound:
            said.append(f"A mending of {root} was cut off before anything had changed; what it had begun is removed.")
        else:
            if left.exists():
                left.rename(aside)
            said.append(f"A mending of the wiki's repository that was cut off is finished: {done}")
        _finish(building, git_dir)
    return said


def _finish(building: Path, git_dir: Path) -> None:
    for folder in (git_dir.parent, building.parent):
        if folder.is_dir():
            sync_dir(folder)
    shutil.rmtree(building)
