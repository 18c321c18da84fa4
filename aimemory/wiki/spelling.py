"""One name in several spellings: composed and decomposed letters, which look alike, and upper and lower case.

Linux keeps each as a file of its own, macOS and Windows don't; macOS hands out decomposed names. Reads names; blocks.
"""

import os
import unicodedata
from pathlib import Path

from aimemory.errors import Unavailable
from aimemory.wiki.files import away


def spelling(root: Path, path: str) -> str | None:
    """The path as the disk spells it, with letters composed or decomposed as they are there; None when nothing is.

    What is there exactly as given comes first. Raises Unavailable where the system lets nobody look, or no wiki is.
    """
    found: list[str] = []
    for part in path.split("/"):
        forms = dict.fromkeys((part, unicodedata.normalize("NFC", part), unicodedata.normalize("NFD", part)))
        there = next((form for form in forms if _is_there(root.joinpath(*found, form))), None)
        if there is None:
            if not found and not root.is_dir():
                raise away(root)
            return None
        found.append(there)
    return "/".join(found)


def twin(root: Path, path: str) -> str | None:
    """What is there in place of a path that is about to be made, but for case and composition: a file or a folder."""
    *folders, _ = parts = path.split("/")
    for level, part in enumerate(parts):
        folder = root.joinpath(*folders[:level])
        if os.path.lexists(folder / part):
            continue
        try:
            names = sorted(entry.name for entry in folder.iterdir())
        except OSError:
            return None
        other = next((name for name in names if _plain(name) == _plain(part)), None)
        return "/".join([*folders[:level], other]) if other is not None else None
    return None


def _is_there(place: Path) -> bool:
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise Unavailable(f"{place} can't be looked at: {error.strerror}.") from error
    return True


def twins(names: list[str]) -> list[list[str]]:
    """Groups of names that are one name elsewhere."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_plain(name), []).append(name)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
