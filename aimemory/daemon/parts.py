"""The object graph as one value."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aimemory.api import Memory
from aimemory.config import Config
from aimemory.daemon.gauge import Gauge
from aimemory.handoff.batons import Batons
from aimemory.handoff.closing import Closer
from aimemory.intake.counters import Counters
from aimemory.intake.decide import Intake
from aimemory.intake.drain import Drain
from aimemory.intake.rejects import Rejects
from aimemory.journal.segments import Journal
from aimemory.model.protocols import Clock, TaskPulse
from aimemory.model.scope import Actor
from aimemory.privacy.folders import Folders
from aimemory.privacy.worker import Worker
from aimemory.server.app import App
from aimemory.server.late import LateMcp
from aimemory.store.committer import Committer
from aimemory.store.conflicts import Conflicts
from aimemory.store.dedupe import Dedupe
from aimemory.store.forgotten import Forgotten
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.refile import Refiling
from aimemory.store.relink import Relinking
from aimemory.store.vectors import Vectors
from aimemory.store.watcher import Watcher
from aimemory.store.writer import Writer
from aimemory.upkeep.backup.automatic import Automatic
from aimemory.upkeep.purge.run import Purge
from aimemory.upkeep.retention import Retention
from aimemory.upkeep.scheduler import Scheduler
from aimemory.upkeep.verify.automatic import SelfCheck
from aimemory.wiki.pack import Packed


@dataclass
class State:
    """What changes while the daemon runs, for `status`. tightened: paths whose mode was too open at start."""

    started_ns: int
    tightened: list[str]
    gauge: Gauge
    pulses: dict[str, TaskPulse] = field(default_factory=dict)
    endpoint: dict[str, Any] = field(default_factory=dict)
    spool: dict[str, Any] = field(default_factory=dict)
    packed: Packed | None = None
    git_fault: str | None = None
    background: list[asyncio.Task[None]] = field(default_factory=list)


@dataclass(frozen=True)
class Parts:
    """Everything that `build` made, bottom to top."""

    config: Config
    clock: Clock
    actor: Actor
    journal: Journal
    writer: Writer
    projector: Projector
    reader: Reader
    committer: Committer
    pages: Pages
    conflicts: Conflicts
    projects: Projects
    watcher: Watcher
    vectors: Vectors
    closer: Closer
    batons: Batons
    worker: Worker
    counters: Counters
    rejects: Rejects
    dedupe: Dedupe
    intake: Intake
    drain: Drain
    scheduler: Scheduler
    automatic: Automatic
    selfcheck: SelfCheck
    memory: Memory
    app: App
    mcp: LateMcp
    folders: Folders
    refiling: Refiling
    relinking: Relinking
    forgotten: Forgotten
    purge: Purge
    retention: Retention
    state: State
    stopping: asyncio.Event
