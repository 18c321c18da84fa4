"""`rescan`: what today's rules find in what is stored, and taking it out with the machine of forgetting."""

import asyncio
import secrets
from collections import Counter
from dataclasses import dataclass

from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError
from aimemory.index.events import written
from aimemory.index.pages import known_stats
from aimemory.journal.rewrite import survey
from aimemory.model.ids import Version
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.store.committer import Committer
from aimemory.store.forgotten import Forgotten
from aimemory.store.pages import Pages
from aimemory.store.reader import Reader
from aimemory.upkeep.purge.change import Change
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.places import change_files
from aimemory.upkeep.purge.plan import Planner
from aimemory.upkeep.purge.scrub import Scrub
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.rewrite import Prepared, prepare

RESCAN = "rescan"


@dataclass(frozen=True, slots=True)
class Rescanned:
    """What the rules find: by place, how many of which kind. persons: the same in files that a person wrote.

    pages: those that would be changed. commits: of git's history, that hold a finding.
    """

    found: dict[str, Counter[str]]
    persons: dict[str, Counter[str]]
    pages: list[str]
    commits: int


class Rescan:
    """Looks; changing is `run.Purge`'s, which asks `change_of` how."""

    def __init__(
        self, *, data: DataDir, files: WikiFiles, reader: Reader, pages: Pages, committer: Committer,
        forgotten: Forgotten, planner: Planner, clock: Clock,
    ) -> None:  # fmt: skip
        self._data = data
        self._files = files
        self._reader = reader
        self._pages = pages
        self._committer = committer
        self._forgotten = forgotten
        self._planner = planner
        self._clock = clock

    def pending(self, actor: Actor, *, history: bool) -> Pending:
        """A purge that applies the rules."""
        return Pending(
            RESCAN, secrets.token_hex(6), self._clock.now_ns(), actor.user, actor.machine, actor.harness, history
        )

    async def change_of(self, pending: Pending) -> Change:
        """How any purge changes things."""
        if pending.what != RESCAN:
            return self._planner.change_of(pending)
        change = await self._scrub()
        change.versions.update(pending.versions)  # type: ignore[arg-type]
        return change

    async def look(self) -> Rescanned:
        """Apply the rules to everything, git's history included; changes nothing."""
        await self._pages.hand_edits.reconcile()
        change = await self._scrub()
        await asyncio.to_thread(survey, self._data.journal, change.line, change.may_concern)
        pages = await asyncio.to_thread(self._planner.affected, change)
        past = await self._committer.alone(lambda: prepare(self._data.wiki, change, dry=True), Prepared())
        await asyncio.to_thread(change_files, self._data, change, dry=True)
        return Rescanned(change.found, change.persons, pages, past.concerned)

    async def _scrub(self) -> Scrub:
        paths = list(await self._reader.read(known_stats()))
        writes = await self._reader.read(written(paths))

        def by_hand() -> dict[str, Version]:
            found: dict[str, Version] = {}
            for path in {*paths, *self._pages.gate.held, *self._pages.hand_edits.unread}:
                try:
                    version = self._files.version(path)
                except (AimemoryError, OSError):
                    continue
                row = writes.get(path)
                if version is not None and (row is None or not row.may_replace(version)):
                    found[path] = version
            return found

        def is_ours(path: str, version: Version) -> bool:
            row = writes.get(path)
            return row is not None and row.may_replace(version)

        return Scrub(
            self._forgotten.veiled_key, await asyncio.to_thread(by_hand), is_ours, self._pages.gate.is_accepted
        )
