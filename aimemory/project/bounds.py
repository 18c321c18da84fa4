"""What a directory's `[capture]` table allows, and where in the world its patterns count."""

# ruff: noqa: PTH110
# os.path, because this runs for every folder of every event, and pathlib costs five times as much.

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aimemory.model.answers import CaptureRule
from aimemory.privacy.capture import CaptureRules, Tree, rules_from_table
from aimemory.project.resolve import Resolution
from aimemory.project.settings import SETTINGS_FILE

KEEP_ALL = CaptureRules()
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Bounds:
    """rules: what is kept. tree: what their paths count from. file: where they stand, None for no file that says
    anything of capture. said: each rule in it, usable or not. problems: sentences that name file and line.
    """

    rules: CaptureRules = KEEP_ALL
    tree: Tree = field(default_factory=Tree)
    file: str | None = None
    said: tuple[CaptureRule, ...] = ()
    problems: tuple[str, ...] = ()


def bounds_of(found: Resolution, home: str, places: Iterable[str] = ()) -> Bounds:
    """places: other folders that are the same project, such as its other clones."""
    root = found.capture_root or found.root or ""
    if not found.capture or not found.capture_root:
        return Bounds(tree=Tree(root, home=home), problems=found.problems)
    file = f"{found.capture_root.rstrip('/')}/{SETTINGS_FILE}"
    rules, problems = rules_from_table(found.capture, found.capture_lines)
    tops = list(dict.fromkeys(filter(None, (found.checkout, *found.trees, *places))))
    top = next((path for path in tops if _is_in(found.capture_root, path)), found.root or root)
    tree = Tree(
        root, top, tuple(path for path in tops if path != top and not _is_in(top, path)), home,
        fold=os.path.exists(f"{found.capture_root}/{SETTINGS_FILE.upper()}"),  # the same file on such a disk
    )  # fmt: skip
    return Bounds(
        rules,
        tree,
        file,
        tuple(_said(found.capture, found.capture_lines, found.capture_problem)),
        (*found.problems, *(f"{file}: {one}" for one in problems)),
    )


def _said(
    table: Mapping[str, object], lines: Mapping[str, Sequence[int]], unusable: str | None
) -> Iterator[CaptureRule]:
    for key, value in table.items():
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            at = lines.get(key, ())
            one = {key: [item] if isinstance(value, list) else item}
            _, problems = rules_from_table(one)
            problem = unusable or (problems[0] if problems else None)
            yield CaptureRule(key, str(item)[:_SHOWN], at[number] if number < len(at) else None, problem)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
