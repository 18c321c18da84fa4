"""Finds the data files of all harnesses and answers by name. What a file says is `spec`'s part."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aimemory.errors import UserError
from aimemory.harness.spec import HarnessSpec, load_spec

FALLBACK = "generic"
"""The harness whose fields are looked for in events of a harness that has no data file."""


@dataclass(frozen=True, slots=True)
class Registry:
    """All known harnesses. specs: by id. by_name: by id and alias."""

    specs: Mapping[str, HarnessSpec]
    by_name: Mapping[str, HarnessSpec]

    def get(self, harness: str) -> HarnessSpec:
        """The harness of that id or alias; an unknown name gets a description that keeps every event as `other`."""
        found = self.by_name.get(harness)
        return found if found is not None else self.specs[FALLBACK].unknown(harness)

    def names(self) -> list[str]:
        """Ids of all harnesses, sorted."""
        return sorted(self.specs)

    def reply_events(self) -> dict[str, list[str]]:
        """Vendor events whose answer may carry a brief, by harness id; a harness without such events is left out."""
        found = {name: [row.name for row in self.specs[name].events.values() if row.reply] for name in self.names()}
        return {name: events for name, events in found.items() if events}


def shipped_dir() -> Path:
    """The data files that came with this program: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_hooks"
    return installed if installed.is_dir() else package.parent / "hooks"


def load_registry(extra_dirs: Iterable[Path] = ()) -> Registry:
    """Read every `<dir>/<id>/harness.toml`, the shipped ones first; a later file replaces an earlier one of its id.

    Raises UserError that lists all problems of all files at once.
    """
    specs: dict[str, HarnessSpec] = {}
    problems: list[str] = []
    for folder in (shipped_dir(), *extra_dirs):
        files = sorted(folder.glob("*/harness.toml"))
        if not files:
            problems.append(f"{folder} holds no <harness>/harness.toml. Correct the path or reinstall aimemory.")
        for file in files:
            try:
                spec = load_spec(file)
            except UserError as error:
                problems.append(str(error))
                continue
            if spec.id != file.parent.name:
                problems.append(f"{file} says id = {spec.id!r}, but its folder is named {file.parent.name!r}.")
            specs[spec.id] = spec
    if FALLBACK not in specs:
        problems.append(f"No folder holds {FALLBACK}/harness.toml. Reinstall aimemory.")
    by_name = dict(specs)
    for spec in specs.values():
        for alias in spec.aliases:
            if by_name.setdefault(alias, spec) is not spec:
                problems.append(f"{spec.id} has the alias {alias!r}, which also names {by_name[alias].id}.")
    if problems:
        raise UserError("\n".join(problems))
    return Registry(specs, by_name)
