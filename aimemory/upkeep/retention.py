"""Retention: what is older than the settings of `[retention]` keep it goes, by the machine of forgetting.

Off where no setting is above 0. Once a day, when nothing has come in for a while; what was taken out is told by a
`purge` line. A page goes only as it was made: one that a person wrote or edited, or that is pinned, keeps its session
and handoff too, since it would lead nowhere without them.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aimemory.config import Retention as Settings
from aimemory.datadir import DataDir
from aimemory.errors import AimemoryError
from aimemory.index.events import written
from aimemory.index.pagelines import page_lines
from aimemory.index.purges import lines_of_pages, purge_lines
from aimemory.index.retention import SettledHandoff, busy_sessions, old_sessions, pinned, settled_handoffs
from aimemory.journal.lines import Line
from aimemory.journal.rewrite import survey
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock, Pulse, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.store.claims import Claims
from aimemory.store.conflicts import Conflicts
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.upkeep.purge.expiry import RETENTION, size_of
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.plan import Planner
from aimemory.upkeep.purge.run import Purge, Receipt
from aimemory.wiki.files import WikiFiles

_DAY_NS = 86_400_000_000_000
QUIET_NS = 600_000_000_000
"""So long nothing may have been written to the journal before it begins; a day too late it begins all the same."""


@dataclass(frozen=True, slots=True)
class Due:
    """What would go now. counts, bytes: by kind, and the lines of the journal that change; bytes before compression.

    spared: how many sessions and handoffs are old enough and stay, since a page of theirs is a person's or pinned, or
    since an open handoff continues them.
    """

    pending: Pending
    counts: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    pages: tuple[str, ...] = ()
    spared: int = 0

    @property
    def is_nothing(self) -> bool:
        return not any(self.counts.values())


class Retention:
    """`look` tells what would go, `apply` lets it go, `step` is the scheduler's."""

    def __init__(
        self, *, settings: Settings, data: DataDir, files: WikiFiles, reader: Reader, pages: Pages,
        projector: Projector, conflicts: Conflicts, claims: Claims, planner: Planner, purge: Purge, clock: Clock,
        actor: Actor,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._data = data
        self._files = files
        self._reader = reader
        self._pages = pages
        self._projector = projector
        self._conflicts = conflicts
        self._claims = claims
        self._planner = planner
        self._purge = purge
        self._clock = clock
        self._actor = actor
        self._looked_ns = self._began_ns = 0
        self._last: dict[str, Any] | None = None
        self._known = False
        self._seq, self._seq_ns = -1, 0

    @property
    def days(self) -> dict[str, int]:
        """By kind, after how many days it goes; empty where retention is off."""
        return self._settings.days

    async def look(self, actor: Actor | None = None) -> Due:
        """What would go now; changes nothing. Raises Unavailable where the index can't answer."""
        await self._pages.hand_edits.reconcile()
        await self._projector.settled()
        await self._projector.reached(self._projector.applied_seq + self._projector.lag)
        upto = self._projector.applied_seq
        now, who = self._clock.now_ns(), actor or self._actor
        pending = Pending(
            RETENTION, secrets.token_hex(6), now, who.user, who.machine, who.harness, self._settings.history, upto=upto
        )
        limits = {kind: now - days * _DAY_NS for kind, days in self.days.items()}
        spared = await self._sessions_and_handoffs(pending, limits)
        if (before := limits.get("observations")) is not None:
            live = self._claims.live()
            working = {one for handoff in live for one in (handoff.session, handoff.holder) if one}
            pending.before_ns = before
            pending.spared = sorted({*await self._reader.read(busy_sessions()), *working})
        sizes = await asyncio.to_thread(self._page_sizes, pending)
        counts = {"sessions": len(pending.sessions), "handoffs": len(pending.handoffs), "pages": len(sizes)}
        taken = {"pages": sum(sizes.values())}
        if (before := limits.get("conflicts")) is not None:
            # what a person typed waits for him
            old = [x for x in self._conflicts.all if x.harness is not None and _ns(x.at) < before]
            pending.copies = [f"conflicts/{copy.id}.txt" for copy in old]
            counts["conflict copies"], taken["conflict copies"] = len(old), sum(copy.size for copy in old)
        if pending.sessions or pending.handoffs or pending.before_ns:
            lines, taken["journal"] = await asyncio.to_thread(self._lines, pending)
            counts |= lines
        return Due(
            pending, {kind: count for kind, count in counts.items() if count},
            {kind: size for kind, size in taken.items() if size}, tuple(sorted(sizes)), spared,
        )  # fmt: skip

    async def apply(self, due: Due) -> Receipt | None:
        """Let it go; None where there is nothing. Raises Busy while something else is being taken out, and what
        `Purge.run` does."""
        receipt = None if due.is_nothing else await self._purge.run(due.pending)
        self._looked_ns = self._clock.now_ns()
        await self._remember()
        return receipt

    async def step(self, pulse: Pulse) -> None:
        """Once a day, when all is quiet."""
        now, seq = self._clock.now_ns(), self._projector.known_seq
        self._began_ns = self._began_ns or now
        if seq != self._seq:
            self._seq, self._seq_ns = seq, now
        if not self.days or self._purge.is_pending():
            return
        if not self._known:
            await self._remember()
        due = self._due_ns()
        is_quiet, is_late = now - self._seq_ns >= QUIET_NS, now - max(due, self._began_ns) >= _DAY_NS
        if now < due or not (is_quiet or is_late):
            return
        if await self.apply(await self.look()) is not None:
            pulse.beat(last="retention")

    def as_data(self) -> dict[str, Any]:
        """For `status`: what is kept how long, the last run that took something out, and when the next one is due."""
        due = self._due_ns()
        return {
            "days": self.days,
            "history": self._settings.history,
            "last_looked_at": rfc3339_local(self._looked_ns) if self._looked_ns else None,
            "last_run": self._last,
            "next_at": (rfc3339_local(due) if due else "when nothing has come in for ten minutes")
            if self.days
            else None,
        }

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _due_ns(self) -> int:
        """When the next look is due; 0 for as soon as it is quiet."""
        last = max(self._looked_ns, self._last["at_ns"] if self._last else 0)
        return last + _DAY_NS if last else 0

    async def _remember(self) -> None:
        """The last run, as the journal tells it."""
        runs = [
            line
            for line in await self._reader.read(purge_lines())
            if line.data.get("what") == RETENTION and line.data.get("op") == "done"
        ]
        if runs:
            last = runs[-1]
            self._last = {
                "at": rfc3339_local(last.at_ns), "at_ns": last.at_ns, "seq": last.seq,
                "counts": last.data.get("counts", {}), "history": last.data.get("history"),
            }  # fmt: skip
        self._known = True

    async def _sessions_and_handoffs(self, pending: Pending, limits: Mapping[str, int]) -> int:
        """Fill in which go, and their pages; returns how many stay though they are old enough."""
        live = self._claims.live()
        holders = {handoff.holder for handoff in live}
        continued = {handoff.continues for handoff in live}
        found = await self._reader.read(old_sessions(limits["sessions"])) if "sessions" in limits else []
        settled = await self._reader.read(settled_handoffs()) if {"sessions", "handoffs"} & {*limits} else []
        paths = [page for page in (*(one.page for one in found), *(one.page for one in settled)) if page]
        own = await self._persons(paths)

        def stays(handoff: SettledHandoff) -> bool:
            return handoff.by_person or handoff.id in continued or handoff.page in own

        kept_with = {one.session for one in settled if stays(one)}
        going = [x for x in found if x.page not in own and x.id not in kept_with and SessionId(x.id) not in holders]
        ids, limit = {one.id for one in going}, limits.get("handoffs")
        old = [one for one in settled if one.session in ids or (limit is not None and one.changed_at_ns < limit)]
        gone = [one for one in old if not stays(one)]
        pending.sessions, pending.handoffs = sorted(ids), [one.id for one in gone]
        await self._pages_of(pending, [page for page in (*(x.page for x in going), *(x.page for x in gone)) if page])
        return len(found) - len(going) + len(old) - len(gone)

    async def _persons(self, paths: list[str]) -> set[str]:
        """Those of these pages that a person wrote, edited or pinned, or that are held for him to look at."""
        writes = await self._reader.read(written(paths))

        def by_hand() -> set[str]:
            found = set[str]()
            for path in paths:
                version = self._version(path)
                row = writes.get(path)
                if version is not None and (row is None or not row.may_replace(version)):
                    found.add(path)
            return found

        return await asyncio.to_thread(by_hand) | await self._reader.read(pinned(paths)) | {*self._pages.gate.held}

    async def _pages_of(self, pending: Pending, paths: list[str]) -> None:
        """The pages as they stand, the lines about them, and under which names git has them."""
        pending.versions_of = {
            path: version for path in paths if (version := await asyncio.to_thread(self._version, path)) is not None
        }
        names = dict.fromkeys(paths)
        for path in paths:
            sources = [line.source for line in await self._reader.read(page_lines(path)) if line.source]
            there = await self._pages.existing(sources) if sources else ()
            names.update(dict.fromkeys(one for one in sources if one not in there))
        pending.paths = list(names)
        pending.seqs = await self._reader.read(lines_of_pages(pending.paths))

    def _version(self, path: str) -> str | None:
        try:
            return self._files.version(path)
        except (AimemoryError, OSError):
            return None

    def _page_sizes(self, pending: Pending) -> dict[str, int]:
        found = {}
        for path in pending.versions_of:
            try:
                found[path] = (self._data.wiki / path).stat().st_size
            except OSError:
                continue
        return found

    def _lines(self, pending: Pending) -> tuple[dict[str, int], int]:
        """How many lines of the journal would go or lose their text, by type, and the bytes of them."""
        change = self._planner.change_of(pending)
        saved = 0

        def decide(line: Line) -> dict[str, Any] | None:
            nonlocal saved
            new = change.line(line)
            if new is not line.data:
                saved += size_of(line.data) - size_of(new)
            return new

        found = survey(self._data.journal, decide, change.may_concern)
        counts = {f"{kind} lines removed": count for kind, count in found.lines.items()}
        return counts | {f"{kind} lines without text": count for kind, count in found.changed.items()}, saved


def _ns(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp()) * 1_000_000_000
