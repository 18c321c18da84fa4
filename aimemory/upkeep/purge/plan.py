"""What forgetting something would take along: from a name to everything that goes, before anything is done."""

import asyncio
import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError, UserError
from aimemory.index.filed import once_of, pages_below
from aimemory.index.pagelines import page_lines
from aimemory.index.purges import (
    handoffs_to_forget,
    lines_of_pages,
    paths_ever,
    sessions_to_forget,
    written_by,
)
from aimemory.journal.lines import Line
from aimemory.journal.rewrite import survey
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor, Project
from aimemory.store.committer import Committer
from aimemory.store.forgotten import Forgotten
from aimemory.store.pagerows import is_project_page
from aimemory.store.reader import Reader
from aimemory.upkeep.purge.change import MARKS, Change, in_wiki, telling
from aimemory.upkeep.purge.expiry import RETENTION, Expiry
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.redaction import LEAST_CHARS, Names, Redaction
from aimemory.upkeep.purge.removal import Removal
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.parse import parse_page
from aimemory.wiki.rewrite import Prepared, prepare

_MOST_CHARS = 4000
_LEAST_LETTERS = 3
_TELLING_NAME = 12
"""Characters by which a page's name is told from words."""
_NEEDLES = 64
_NAMES = 16
_TOLD = ("prompt", "text", "message", "command", "input", "output", "error", "summary", "next_steps")
"""Fields of lines that hold what people, agents and tools said."""

_GENERATED = ("session", "handoff", "project")
"""Kinds of pages whose words are mostly ours."""

_GUARDED = 5000
"""Past versions of pages that are recognised should they come back; more would make the journal's line too long."""


class Planner:
    """Finds out what goes; reads only."""

    def __init__(
        self, *, data: DataDir, files: WikiFiles, reader: Reader, committer: Committer, forgotten: Forgotten,
        clock: Clock,
    ) -> None:  # fmt: skip
        self._data = data
        self._files = files
        self._reader = reader
        self._committer = committer
        self._forgotten = forgotten
        self._clock = clock

    async def page(self, path: str, actor: Actor) -> Pending:
        """A page and, where it is one of a handoff, what that said. What a session recorded stays; so does that it was
        closed and handed over, under a name that says nothing, since the page would be made again else."""
        if is_project_page(path):
            raise UserError(f"{path} declares its project. `aimemory forget project` forgets that as a whole.")
        handoffs = await self._reader.read(handoffs_to_forget(pages=[path]))
        pending = self._new("page", actor, paths=[path], muted=list(handoffs))
        folder = "/".join(path.split("/")[:2])
        pending.aliases = {path: f"{folder}/forgotten-{self._forgotten.veil('path', path)[:12]}.md"}
        return await self._completed(pending)

    async def session(self, session: str, actor: Actor, *, pages: bool) -> Pending:
        """A session's events, its page, its handoffs with theirs; with `pages` also those that it wrote itself."""
        found = await self._reader.read(sessions_to_forget([session]))
        handoffs = await self._reader.read(handoffs_to_forget(sessions=[session]))
        paths = [one.page for one in found if one.page] + [page for page in handoffs.values() if page]
        if pages:
            paths += [path for path in await self._reader.read(written_by([session])) if not is_project_page(path)]
        natives = [one.native for one in found if one.native]
        return await self._completed(
            self._new("session", actor, sessions=[session], natives=natives, handoffs=list(handoffs), paths=paths)
        )

    async def project(self, project: Project, actor: Actor, *, others: Collection[str] = ()) -> Pending:
        """Everything that is filed under a project: its sessions, handoffs, pages, and that it is known at all, under
        its former names too, and what projects brought along that were merged into it.

        others: the folders of all other projects, one of which may have a name now that this one had.
        """
        ids, former = await self._reader.read(once_of(project.id))
        found = await self._reader.read(sessions_to_forget(projects=ids))
        handoffs = await self._reader.read(handoffs_to_forget(sessions=[one.id for one in found], projects=ids))
        paths = [page for page in (*(one.page for one in found), *handoffs.values()) if page]
        paths += await self._reader.read(pages_below(project.path))
        return await self._completed(
            self._new(
                "project", actor, sessions=[one.id for one in found],
                natives=[one.native for one in found if one.native], projects=ids, handoffs=list(handoffs),
                folders=[project.path, *(one for one in former if one not in others)], paths=paths,
            )
        )  # fmt: skip

    async def text(self, text: str, actor: Actor) -> Pending:
        """One text, wherever it stands. Raises UserError for one that is too short or too long to be replaced."""
        if not LEAST_CHARS <= len(text) <= _MOST_CHARS or not text.strip():
            raise UserError(
                f"Give a text of {LEAST_CHARS} to {_MOST_CHARS:,} characters: a shorter one stands in too much else."
            )
        if sum(char.isalnum() for char in text) < _LEAST_LETTERS:
            raise UserError(
                f"Give a text with at least {_LEAST_LETTERS} letters or digits: signs alone are what pages are made of."
            )
        if any(text in mark for mark in MARKS):
            raise UserError("That is part of the mark that stands where something was taken out.")
        pending = self._new("text", actor)
        pending.text = text
        pending.needles = [text]
        pending.renames = _renames(text, await self._reader.read(paths_ever()))
        return pending

    def change_of(self, pending: Pending) -> Change:
        """How a purge changes things."""
        if pending.text is not None:
            renames = {**pending.renames, **_stems(pending.renames)}
            change: Change = Redaction(
                pending.text,
                self._forgotten.veiled_key,
                renames,
                lambda path: (self._data.wiki / path).is_dir(),
            )
        elif pending.what == RETENTION:
            change = Expiry(
                self._forgotten.veiled_key, pending.upto, sessions=frozenset(pending.sessions),
                handoffs=frozenset(pending.handoffs), seqs=frozenset(pending.seqs), before_ns=pending.before_ns,
                spared=frozenset(pending.spared), versions_of=pending.versions_of, paths=frozenset(pending.paths),
                files=frozenset(pending.copies),
            )  # fmt: skip
        else:
            change = Removal(
                sessions=frozenset(pending.sessions), natives=frozenset(pending.natives),
                projects=frozenset(pending.projects), handoffs=frozenset(pending.handoffs),
                folders=tuple(pending.folders), paths=frozenset(pending.paths),
                page_ids=frozenset(pending.page_ids), seqs=frozenset(pending.seqs), muted=frozenset(pending.muted),
                aliases=pending.aliases,
            )  # fmt: skip
        change.versions.update(pending.versions)  # type: ignore[arg-type]
        return change

    async def look(self, pending: Pending) -> tuple[dict[str, int], Prepared]:
        """How many lines of the journal go or change, by type, and what of git's history would; notes in `pending` what
        must be recognised later."""
        change = self.change_of(pending)
        needles: dict[str, None] = dict.fromkeys(pending.needles)
        untold: set[str] = set()
        events: list[str] = []

        def decide(line: Line) -> dict[str, Any] | None:
            new = change.line(line)
            if new is not line.data:
                session = line.data.get("session")
                if new is not None and isinstance(session, str):
                    untold.add(session)
                if new is None:
                    if line.type == "observation" and session is None:
                        events.append(self._forgotten.veiled_key(str(line.data["key"])))
                    if len(needles) < _NEEDLES:
                        needles.update(dict.fromkeys(telling([line.data.get(name) for name in _TOLD])[:8]))
            return new

        lines = await asyncio.to_thread(survey, self._data.journal, decide, change.may_concern)
        past = await self._committer.alone(lambda: prepare(self._data.wiki, change, dry=True), Prepared())
        held = {(path, version) for path, version in past.held if path.endswith(".md")}
        for path in await asyncio.to_thread(self.affected, change):
            held.add((path, self._files.version(path) or ""))  # type: ignore[arg-type]
        pending.files = [self._forgotten.veil("file", *one) for one in sorted(held)][:_GUARDED]
        pending.needles = [*needles][:_NEEDLES]
        pending.events = events
        pending.untold = sorted(untold)
        counts = dict(lines.lines)
        for kind, count in lines.changed.items():
            counts[kind] = counts.get(kind, 0) + count
        return counts, past

    def affected(self, change: Change) -> list[str]:
        """Files of the wiki that go, change, or get another name. Blocks; reads every page."""
        found = []
        for path in sorted(_tree(self._data.wiki)):
            try:
                raw = (self._data.wiki / path).read_bytes()
            except OSError:
                continue
            if in_wiki(change, path, raw) != raw or change.name(path) != path:
                found.append(path)
        return found

    async def renewed(self, pending: Pending) -> Pending:
        """The same purge with what came since: a page that was being written while its session was forgotten."""
        if pending.text is not None or pending.what in ("rescan", RETENTION):
            return pending
        found = await self._reader.read(sessions_to_forget(pending.sessions))
        handoffs = await self._reader.read(handoffs_to_forget(pending.sessions, pending.projects))
        paths = [page for page in (*(one.page for one in found), *handoffs.values()) if page]
        return await self._completed(
            replace(
                pending, handoffs=sorted({*pending.handoffs, *handoffs}), paths=sorted({*pending.paths, *paths})
            )
        )  # fmt: skip

    def _new(self, what: str, actor: Actor, **places: Sequence[str]) -> Pending:
        listed: dict[str, Any] = {name: list(dict.fromkeys(values)) for name, values in places.items()}
        return Pending(
            what=what, id=secrets.token_hex(6), asked_at_ns=self._clock.now_ns(), user=actor.user,
            machine=actor.machine, harness=actor.harness, **listed,
        )  # fmt: skip

    async def _completed(self, pending: Pending) -> Pending:
        """With the pages' ids, former names, lines and telling texts."""
        needles, ids, paths = list(pending.needles), set(pending.page_ids), dict.fromkeys(pending.paths)
        for path in list(paths):
            for line in await self._reader.read(page_lines(path)):
                if line.source and not self._files.exists(line.source):  # else another page has that name now
                    paths.setdefault(line.source)
            try:
                raw, _ = await asyncio.to_thread(self._files.read, path)
            except AimemoryError:
                continue
            parsed = parse_page(path, raw)
            if parsed.front.get("id"):
                ids.add(str(parsed.id))
            if len(needles) < _NEEDLES // 2 and (parsed.kind not in _GENERATED or pending.what == "page"):
                needles += telling([parsed.body])[:8]
        seqs = await self._reader.read(lines_of_pages(list(paths), pending.folders))
        names = [name for path in paths if len(name := PurePosixPath(path).stem) >= _TELLING_NAME and "-" in name]
        needles += names[:_NAMES]
        return replace(
            pending, needles=needles, page_ids=sorted(ids), paths=list(paths), seqs=sorted({*pending.seqs, *seqs})
        )


def _tree(root: Path) -> list[str]:
    """Every file of the wiki but git's own, relative."""
    found = []
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(".git/") and name != ".git" and path.is_file() and not path.is_symlink():
            found.append(name)
    return found


def _renames(text: str, paths: Sequence[str]) -> dict[str, str]:
    """New paths for pages whose file's name holds the text, or the form of it that names of ours have."""
    names = Names(text)
    found: dict[str, str] = {}
    taken = set(paths)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if is_project_page(path) or name == "index.md":
            continue
        new = names.without(name)
        if new == name:
            continue
        place, number = f"{folder}/{new}", 1
        while place in taken:
            number += 1
            place = f"{folder}/{new.removesuffix('.md')}-{number}.md"
        taken.add(place)
        found[path] = place
    return found


def _stems(renames: dict[str, str]) -> dict[str, str]:
    """Links name a page by its file's name alone; one of a single word means too much else."""
    pairs = {
        old.rpartition("/")[2].removesuffix(".md"): new.rpartition("/")[2].removesuffix(".md")
        for old, new in renames.items()
    }
    return {old: new for old, new in pairs.items() if "-" in old}
