"""What is to happen to one file: planned as bytes before and after, so that it can be shown, written and written again.

Reading and planning only; `apply` writes.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from aimemory.install.agent import Agent, CannotEdit, Keys, Launchers, Part
from aimemory.install.entries import (
    add_hooks,
    add_server,
    empty_containers,
    moved_by_removal,
    remove_hooks,
    remove_server,
)
from aimemory.install.filetext import FileText, decode, read_file
from aimemory.install.jsontext import JsonText

Action = Literal["create", "change", "remove", "none", "refuse"]
_FEATURES = {
    "comments": "comments or trailing commas",
    "bom": "a byte order mark",
    "utf-16": "UTF-16",
}


@dataclass(frozen=True, slots=True)
class Written:
    """What an earlier connect left: the file's hash then, and what it was before.

    original: the backup with the bytes before the first connect; None where there was no file. is_restorable: these
    bytes held nothing of ours, so they are what a disconnect gives back. parts: what was written into it. made: there
    was no file before us. folders: directories that were made for it.
    empties: containers that were there and empty.
    """

    after: str
    original: str | None
    original_hash: str | None
    is_restorable: bool
    parts: tuple[Part, ...] = ()
    made: bool = False
    folders: tuple[str, ...] = ()
    empties: tuple[Keys, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One file's change. before, after: its bytes, None where there is no file. problem: why it is left as it is, with
    the line where there is one. restored: `after` is what was there before the first connect. notes: what the user
    should know."""

    agent: str
    title: str
    path: Path
    parts: tuple[Part, ...]
    before: bytes | None = None
    after: bytes | None = None
    problem: str | None = None
    line: int | None = None
    restored: bool = False
    empties: tuple[Keys, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def action(self) -> Action:
        if self.problem is not None:
            return "refuse"
        if self.before == self.after:
            return "none"
        return "create" if self.before is None else "remove" if self.after is None else "change"

    @property
    def target(self) -> Path:
        """The file itself, behind any links."""
        return Path(os.path.realpath(self.path))


@dataclass(frozen=True, slots=True)
class Job:
    """A file with the parts of ours in it; planned as often as it takes. edit: the new text. strip: the text
    without anything of ours."""

    agent: Agent
    path: Path
    parts: tuple[Part, ...]
    edit: Callable[[str], str]
    strip: Callable[[str], str]
    containers: tuple[Keys, ...]
    is_toml: bool
    reads: frozenset[str]
    removing: bool = False
    written: Written | None = None

    def plan(self) -> Change:
        """Read the file and say what would happen to it; never raises for what the file is like."""
        change = Change(self.agent.id, self.agent.title, self.path, self.parts)
        try:
            before = read_file(self.path)
            change = replace(change, before=before, after=before)
            if before is None and self.removing:
                return change
            planned = self._planned(change, before)
            if before is not None and planned.action != "none" and not os.access(self.path, os.W_OK):
                raise CannotEdit("It is write-protected. Make it writable, then run this again.")
            return planned
        except CannotEdit as error:
            return replace(change, after=change.before, problem=str(error), line=error.line)
        except RecursionError:
            return replace(change, after=change.before, problem="It is nested too deeply to be edited.")

    def holds_ours(self, before: bytes | None) -> bool:
        """Do these bytes hold entries of ours already?"""
        return before is not None and self.strip(decode(before).text) != decode(before).text

    def _planned(self, change: Change, before: bytes | None) -> Change:
        file = FileText("") if before is None else decode(before)
        text = self.edit(file.text)
        if self.removing:
            notes = self._notes_of_removal(file.text, text)
            if (original := self._original(before)) is not None:
                return replace(change, after=original.content, restored=True, notes=notes)
            if self._is_ours_and_empty(text):
                return replace(change, after=None, restored=True, notes=notes)
            return replace(change, after=before if text == file.text else file.encode(text), notes=notes)
        empties = tuple(empty_containers(file.text, self.containers, self.is_toml)) if before is not None else ()
        after = before if text == file.text else file.encode(text)
        return replace(change, after=after, empties=empties, notes=self._notes_of_reading(file))

    def _is_ours_and_empty(self, text: str) -> bool:
        """Is this a file that connect made, with nothing in it but the form?"""
        return self.written is not None and self.written.made and text.strip() in ("", "{}")

    def _original(self, before: bytes | None) -> "_Original | None":
        """What to give back, if nobody has written since we did."""
        written = self.written
        if written is None or before is None or not written.is_restorable or not set(written.parts) <= set(self.parts):
            return None
        if digest(before) != written.after:
            return None
        if written.original is None:
            return _Original(None)
        try:
            content = Path(written.original).read_bytes()
        except OSError:
            return None
        return _Original(content) if digest(content) == written.original_hash else None

    def _notes_of_removal(self, before: str, after: str) -> tuple[str, ...]:
        hooks = self.agent.hooks
        if "hooks" not in self.parts or hooks is None or not self.agent.trust or before == after:
            return ()
        if not moved_by_removal(before, hooks, self.agent):
            return ()
        return (f"Other hooks move up in their lists: {self.agent.title} will ask you to review them again.",)

    def _notes_of_reading(self, file: FileText) -> tuple[str, ...]:
        found = set(file.features)
        if not self.is_toml and not JsonText(file.text).is_strict:
            found.add("comments")
        shared = self.path.exists() and self.path.stat().st_nlink > 1
        links = ("It has another hard link, which keeps the old content.",) if shared else ()
        return links + tuple(
            f"It has {_FEATURES[feature]}, which {self.agent.title} can't read: it takes nothing from this file."
            for feature in sorted(found - self.reads)
        )


@dataclass(frozen=True, slots=True)
class _Original:
    content: bytes | None


def jobs(
    agent: Agent, launchers: Launchers, only: Part | None, *, removing: bool, written: Mapping[str, Written]
) -> list[Job]:
    """The files of one agent, each once, hooks first."""
    found: dict[Path, Job] = {}
    for part, file in (("hooks", agent.hooks), ("mcp", agent.server)):
        if file is None or only not in (None, part):
            continue
        job = _job(agent, file.path, launchers, "hooks" if part == "hooks" else "mcp", removing, written)
        earlier = found.get(file.path)
        found[file.path] = job if earlier is None else _both(earlier, job)
    return list(found.values())


def _both(first: Job, second: Job) -> Job:
    return replace(
        first,
        parts=first.parts + second.parts,
        edit=lambda text: second.edit(first.edit(text)),
        strip=lambda text: second.strip(first.strip(text)),
        containers=first.containers + second.containers,
    )


def _job(
    agent: Agent, path: Path, launchers: Launchers, part: Part, removing: bool, records: Mapping[str, Written]
) -> Job:
    written = records.get(str(path))
    kept = written.empties if written else ()
    hooks, server = agent.hooks, agent.server
    if part == "hooks" and hooks is not None:
        add, strip = (
            partial(add_hooks, file=hooks, agent=agent, launchers=launchers),
            partial(remove_hooks, file=hooks, agent=agent, kept=kept),
        )
        containers = (hooks.key, *((*hooks.key, hook.event) for hook in hooks.hooks))
        return Job(
            agent, path, (part,), strip if removing else add, strip, containers, False, hooks.reads, removing, written
        )
    assert server is not None
    put, take = partial(add_server, file=server, launchers=launchers), partial(remove_server, file=server, kept=kept)
    is_toml = server.is_toml
    return Job(
        agent,
        path,
        (part,),
        take if removing else put,
        take,
        (server.key[:-1],),
        is_toml,
        server.reads,
        removing,
        written,
    )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
