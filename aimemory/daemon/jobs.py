"""The table of recurring jobs, and those of them that no part does by itself."""

import asyncio
from dataclasses import dataclass

from aimemory.config import Config
from aimemory.daemon.parts import State
from aimemory.errors import Unavailable
from aimemory.handoff.batons import Batons
from aimemory.handoff.closing import Closer
from aimemory.intake.drain import Drain
from aimemory.intake.rejects import Rejects
from aimemory.journal.segments import seal
from aimemory.model.protocols import Pulse
from aimemory.store.audit import AuditLog
from aimemory.store.committer import Committer
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.refile import Refiling
from aimemory.upkeep.backup.automatic import Automatic
from aimemory.upkeep.listings import Listings
from aimemory.upkeep.purge.run import Purge
from aimemory.upkeep.retention import Retention
from aimemory.upkeep.scheduler import Job
from aimemory.upkeep.verify.automatic import SelfCheck
from aimemory.wiki.mend import fault
from aimemory.wiki.pack import Packed, loose_count, pack


@dataclass(frozen=True, slots=True)
class SpoolJob:
    """Drains the spool and notes for `status` what is left in it and among the rejects."""

    drain: Drain
    rejects: Rejects
    state: State

    async def once(self, pulse: Pulse) -> None:
        try:
            await self.drain.drain(pulse)
        finally:
            await self._look()

    async def whole(self) -> None:
        """Until nothing that can be taken in is left."""
        self.drain.try_all_again()
        while await self.drain.drain():
            pass
        await self._look()

    async def _look(self) -> None:
        rejects = await asyncio.to_thread(self.rejects.count)
        forced_out = await asyncio.to_thread(self.rejects.forced_out)
        self.state.spool = await asyncio.to_thread(self.drain.state) | {
            "rejects": rejects, "rejects_forced_out": forced_out
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Jobs:
    """What the recurring jobs work on. segments: held by whoever seals or rewrites the journal's files."""

    config: Config
    state: State
    segments: asyncio.Lock
    spool: SpoolJob
    audit: AuditLog
    projector: Projector
    committer: Committer
    pages: Pages
    closer: Closer
    batons: Batons
    refiling: Refiling
    purge: Purge
    retention: Retention
    listings: Listings
    automatic: Automatic
    selfcheck: SelfCheck

    def table(self) -> list[Job]:
        """Names and intervals in seconds; they run one at a time, in this order where several are due."""
        return [
            Job("spool", 2, self.spool.once),
            Job("deeds", 2, self.audit.drain),
            Job("sessions", 5, self._sweep),
            Job("refiling", 5, self._finish_refiling),
            Job("index", 5, self._look_at_index),
            Job("walk", 60, self._reconcile),
            Job("seal", 300, self._seal),
            Job("batons", 300, self.batons.look_after),
            Job("backup", 5, self.automatic.step),
            Job("self-check", 2, self.selfcheck.step),
            Job("purge", 15, self._finish_purge),
            Job("listings", 1, self.listings.refresh),
            Job("pack", 600, self._pack),
            Job("git", 600, self._look_at_git),
            Job("retention", 60, self.retention.step),
            Job("disk", 600, self._measure_disk),
        ]

    async def _sweep(self, pulse: Pulse) -> None:
        await self.closer.sweep()

    async def _finish_refiling(self, pulse: Pulse) -> None:
        await self.refiling.finish_what_failed()

    async def _look_at_index(self, pulse: Pulse) -> None:
        self.projector.look()

    async def _reconcile(self, pulse: Pulse) -> None:
        await self.pages.hand_edits.reconcile()

    async def _seal(self, pulse: Pulse) -> None:
        async with self.segments:
            await asyncio.to_thread(seal, self.config.data.journal)

    async def _finish_purge(self, pulse: Pulse) -> None:
        await self.purge.finish_what_failed()

    async def _pack(self, pulse: Pulse) -> None:
        wiki, at_least = self.config.data.wiki, self.config.storage.git_loose
        problems: list[Unavailable] = []

        def work() -> Packed:
            try:
                return pack(wiki, at_least=at_least)
            except Unavailable as error:
                problems.append(error)
                raise

        if await asyncio.to_thread(loose_count, wiki) >= at_least or self.state.packed is None:
            self.state.packed = await self.committer.alone(work, Packed())
            if problems:
                raise problems[0]

    async def _look_at_git(self, pulse: Pulse) -> None:
        self.state.git_fault = await asyncio.to_thread(fault, self.config.data.wiki)

    async def _measure_disk(self, pulse: Pulse) -> None:
        await asyncio.to_thread(self.state.gauge.take)
