"""What a directory's `[capture]` table allows, and where in the world its patterns count."""

# ruff: noqa: PTH110
# os.path, because this runs for every folder of every event, and pathlib costs five times as much.

import os.path
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aimemory.privacy.capture import CaptureRules, Tree, rules_from_table
from aimemory.project.resolve import Resolution
from aimemory.project.settings import SETTINGS_FILE

KEEP_ALL = CaptureRules()


@dataclass(frozen=True, slots=True)
class Bounds:
    """rules: what is kept. tree: what their paths count from. file: where they stand, None for no file that says
    anything of capture. lines: of each value in it. problems: sentences that name file and line.
    """

    rules: CaptureRules = KEEP_ALL
    tree: Tree = field(default_factory=Tree)
    file: str | None = None
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def bounds_of(found: Resolution, home: str, places: Iterable[str] = ()) -> Bounds:
    """places: other folders that are the same project, such as its other clones."""
    root = found.capture_root or found.root or ""
    if not found.capture or not found.capture_root:
        return Bounds(tree=Tree(root, home=home))
    file = f"{found.capture_root.rstrip('/')}/{SETTINGS_FILE}"
    rules, problems = rules_from_table(found.capture, found.capture_lines)
    tops = list(dict.fromkeys(filter(None, (found.checkout, *found.trees, *places))))
    top = next((path for path in tops if _is_in(found.capture_root, path)), found.root or root)
    tree = Tree(
        root, top, tuple(path for path in tops if path != top and not _is_in(top, path)), home,
        fold=os.path.exists(f"{found.capture_root}/{SETTINGS_FILE.upper()}"),  # the same file on such a disk
    )  # fmt: skip
    return Bounds(rules, tree, file, found.capture_lines, tuple(f"{file}: {problem}" for problem in problems))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
