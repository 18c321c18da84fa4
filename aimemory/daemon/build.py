"""Builds the object graph, bottom to top. The one place that knows all constructors."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from aimemory import __version__
from aimemory.api import Memory
from aimemory.api.audit import Audit
from aimemory.api.bundles import Bundles
from aimemory.api.capture import CaptureFace
from aimemory.api.conflicts import ConflictCopies
from aimemory.api.feedback import Feedback
from aimemory.api.forget import Forget
from aimemory.api.handoffs import MCP, Handoffs
from aimemory.api.history import History
from aimemory.api.links import Links
from aimemory.api.lookup import Lookup, Where
from aimemory.api.reading import Reading
from aimemory.api.refile import Refile
from aimemory.api.related import Related
from aimemory.api.repair import Repair
from aimemory.api.undo import Undoing
from aimemory.api.versions import Find
from aimemory.brief.compose import Composer
from aimemory.config import Config
from aimemory.daemon.gauge import Gauge
from aimemory.daemon.jobs import Jobs, SpoolJob
from aimemory.daemon.mend import mend_wiki
from aimemory.daemon.parts import Parts, State
from aimemory.daemon.reindex import reindex
from aimemory.daemon.status import status_of
from aimemory.doctor.all import examine
from aimemory.doctor.situation import look
from aimemory.handoff import lifecycle
from aimemory.handoff.batons import Batons
from aimemory.handoff.closing import Closer
from aimemory.handoff.generated import Generated
from aimemory.handoff.handover import Handover
from aimemory.handoff.survey import Surveyor
from aimemory.harness.registry import load_registry
from aimemory.index.events import has_event_between, known_events
from aimemory.intake.counters import Counters
from aimemory.intake.decide import Intake, Outcome, begins_session, ends_session
from aimemory.intake.drain import Drain
from aimemory.intake.origin import Origins
from aimemory.intake.rejects import Rejects
from aimemory.journal.segments import Journal
from aimemory.model.ids import SessionId
from aimemory.model.protocols import Clock, SystemClock
from aimemory.privacy import put_in_force
from aimemory.privacy import settings as privacy_settings
from aimemory.privacy.capture import CaptureRules, stricter
from aimemory.privacy.folders import Folders
from aimemory.privacy.worker import Worker
from aimemory.processes import Processes
from aimemory.project.bounds import Bounds
from aimemory.project.resolve import Resolver
from aimemory.server.app import App
from aimemory.server.hook import HookRoute
from aimemory.server.late import LateMcp
from aimemory.server.reply import Replies
from aimemory.server.v1 import Api
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.reader import Sessions, Transcripts
from aimemory.store.actor import load_actor, load_key
from aimemory.store.audit import AuditLog
from aimemory.store.claims import Claims
from aimemory.store.committer import Committer
from aimemory.store.conflicts import Conflicts
from aimemory.store.dedupe import Dedupe, Known
from aimemory.store.forgotten import Forgotten
from aimemory.store.merging import Merging
from aimemory.store.pagerows import take_pages
from aimemory.store.pages import Pages
from aimemory.store.past import PageHistory
from aimemory.store.places import Places
from aimemory.store.projector import Projector
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.store.refile import Refiling
from aimemory.store.relink import Relinking
from aimemory.store.vectors import Vectors
from aimemory.store.watcher import Watcher
from aimemory.store.writer import Writer
from aimemory.upkeep.backup.automatic import Automatic, Plan
from aimemory.upkeep.listings import Listings
from aimemory.upkeep.purge.plan import Planner
from aimemory.upkeep.purge.rescan import Rescan
from aimemory.upkeep.purge.run import Purge
from aimemory.upkeep.retention import Retention
from aimemory.upkeep.scheduler import Scheduler
from aimemory.upkeep.verify.automatic import CheckPlan, SelfCheck
from aimemory.wiki.files import WikiFiles


def build(config: Config, tightened: list[str], clock: Clock | None = None) -> Parts:
    """Build every part, bottom to top. Nothing runs yet; must be called on the event loop. clock: another time."""
    clock, data = clock or SystemClock(), config.data
    put_in_force(privacy_settings.checked(config.privacy.table()))
    actor = load_actor(config)
    files = WikiFiles(data.wiki)
    journal = Journal(data.journal, config.storage.segment_bytes, clock.now_ns)

    async def lookup(key: str, content: str | None) -> list[Known]:
        found = await reader.read(known_events([key], [content] if content else []))
        return [Known(key=k.key or "", hash=k.hash, at_ns=k.at_ns, session=k.session) for k in found]

    async def between(session: str, first: int, last: int) -> bool:
        return await reader.read(has_event_between(session, first, last))

    dedupe = Dedupe(lookup, between)
    forget_key = load_key(data.forget_key)
    forgotten = Forgotten(forget_key)

    def damaged(what: str) -> None:
        projector.note_damage(what)
        projector.ask_rebuild()

    reader = Reader(data.index, damaged)
    projector = Projector(data.index, data.journal, take_pages(files, forget_key), dedupe.applied, reader.held)
    writer = Writer(journal, projector.feed)
    audit = AuditLog(writer, data.deeds, clock, actor)
    committer = Committer(data.wiki, clock, audit.committed)
    pages = Pages(
        files=files,
        writer=writer,
        projector=projector,
        reader=reader,
        committer=committer,
        clock=clock,
        actor=actor,
        forgotten=forgotten,
    )
    conflicts = Conflicts(data.conflicts, clock)
    conflicts.load()
    merging = Merging(pages=pages, committer=committer, conflicts=conflicts)
    watcher = Watcher(pages.hand_edits, data.wiki)
    resolver = Resolver(config.home, temp_dirs=config.temp_dirs)
    projects = Projects(
        resolver=resolver, files=files, pages=pages, reader=reader, clock=clock, actor=actor, home=config.home
    )
    pages.index.tell_of_projects(projects.reload)

    vectors = Vectors(path=data.vectors, key_file=data.embeddings_key, reader=reader, settings=config.recall)
    pages.index.tell_of_changes(vectors.changed)

    async def after_rebuild() -> None:
        await vectors.survive()
        await projects.load()
        await pages.hand_edits.take_stock()

    projector.tell_of_rebuild(after_rebuild)
    processes = Processes()
    folders = Folders(str(data.folders_file))
    registry = load_registry()

    async def bounds_of(session: SessionId, cwd: str | None) -> Bounds:
        filing = await projects.file(session, cwd)
        if folders.is_off(cwd, filing.place):
            return Bounds(CaptureRules(mode="off"))
        return replace(filing.bounds, rules=stricter(config.capture.mode, filing.bounds.rules))

    sessions = Sessions(
        reader,
        Transcripts(
            lambda harness: registry.get(harness).transcript,
            bounds_of,
            folders.is_off,
            config.home,
            config.harness_env,
            forgotten.is_untold,
        ),
    )

    def title_of(harness: str) -> str:
        return "an MCP client" if harness == MCP else registry.get(harness).title or harness

    claims = Claims(
        writer=writer, projector=projector, reader=reader, clock=clock, apply=lifecycle.apply,
        refusal=lifecycle.refusal, changes_nothing=lifecycle.changes_nothing,
    )  # fmt: skip
    generated = Generated(pages=pages, reader=reader, actor=actor)
    handover = Handover(
        claims=claims, generated=generated, pages=pages, reader=reader, projects=projects, sessions=sessions,
        actor=actor, clock=clock, title_of=title_of, home=config.home,
    )  # fmt: skip
    making = Places()
    batons = Batons(
        claims=claims, handover=handover, reader=reader, actor=actor, clock=clock,
        expire_days=config.handoff.expire_days, making=making,
    )  # fmt: skip
    pages.hand_edits.tell_of_edits(batons.on_edit)
    surveyor = Surveyor(
        claims=claims, handover=handover, pages=pages, sessions=sessions, reader=reader, projects=projects, clock=clock,
        quiet_ns=config.handoff.quiet_seconds * 1_000_000_000, is_alive=processes.is_alive,
    )  # fmt: skip
    closer = Closer(
        writer=writer, projector=projector, reader=reader, pages=pages, projects=projects, sessions=sessions,
        generated=generated, handover=handover, claims=claims, processes=processes, actor=actor, clock=clock,
        idle_ns=config.session.idle_minutes * 60_000_000_000, title_of=title_of, home=config.home, making=making,
    )  # fmt: skip
    worker, counters, rejects = Worker(config.privacy.table()), Counters(clock), Rejects(data.rejects, clock)

    def on_stored(outcome: Outcome) -> None:
        if outcome.session is None or outcome.event is None:
            return
        if ends_session(outcome):
            closer.request(outcome.session)
        elif (start := begins_session(outcome)) is not None:
            closer.began(start)
        batons.on_event(outcome.session, outcome.event, outcome.at_ns or 0)

    intake = Intake(
        registry=registry, config=config, writer=writer, dedupe=dedupe, projects=projects, actor=actor, clock=clock,
        worker=worker, rejects=rejects, counters=counters, origins=Origins(processes),
        folders=folders, forgotten=forgotten, on_stored=on_stored,
    )  # fmt: skip
    drain = Drain(data.spool, rejects, intake)
    composer = Composer(
        reader=reader, sessions=sessions, projects=projects, surveyor=surveyor, claims=claims,
        key=load_key(data.private / "fence"), title_of=title_of, clock=clock, home=config.home, actor=actor,
        offer=config.handoff.offer,
    )  # fmt: skip
    state = State(started_ns=clock.now_ns(), tightened=tightened, gauge=Gauge(config, clock))
    stopping = asyncio.Event()

    segments = asyncio.Lock()

    spool = SpoolJob(drain, rejects, state)
    planner = Planner(data=data, files=files, reader=reader, committer=committer, forgotten=forgotten, clock=clock)
    rescan = Rescan(
        data=data, files=files, reader=reader, pages=pages, committer=committer, forgotten=forgotten, planner=planner,
        clock=clock,
    )  # fmt: skip
    purge = Purge(
        data=data, files=files, journal=journal, writer=writer, projector=projector, reader=reader, committer=committer,
        pages=pages, projects=projects, claims=claims, sessions=sessions, forgotten=forgotten, planner=planner,
        clock=clock, segments=segments, drain=spool.whole, change_of=rescan.change_of,
        reload=conflicts.load, making=making,
    )  # fmt: skip

    retention = Retention(
        settings=config.retention, data=data, files=files, reader=reader, pages=pages, projector=projector,
        conflicts=conflicts, claims=claims, planner=planner, purge=purge, clock=clock, actor=actor,
    )  # fmt: skip

    listings = Listings(
        pages=pages, projects=projects, reader=reader, clock=clock, actor=actor, quiet_s=config.wiki.listing_seconds
    )
    automatic = Automatic(_backup_plan(config, actor.machine), clock)
    selfcheck = SelfCheck(
        _check_plan(config), clock, is_ready=lambda: projector.state == "level", on_damaged_index=damaged
    )

    callers = CallerSessions(reader, projects, processes)

    def faces(where: Where) -> tuple[Handoffs, History]:
        lookup = Lookup(
            where=where, claims=claims, surveyor=surveyor, callers=callers, reader=reader, projects=projects,
            actor=actor,
        )  # fmt: skip
        history = History(
            lookup=lookup, claims=claims, surveyor=surveyor, sessions=sessions, reader=reader, projects=projects,
            config=config, actor=actor, clock=clock, title_of=title_of,
        )  # fmt: skip
        handoffs = Handoffs(
            lookup=lookup, history=history, claims=claims, handover=handover, batons=batons, composer=composer,
            sessions=sessions, reader=reader, projects=projects, config=config, clock=clock,
        )  # fmt: skip
        return handoffs, history

    def repair(find: Find, near: Where) -> Repair:
        return Repair(
            find=find, where=near, pages=pages, history=page_history, projects=projects, reader=reader, callers=callers,
            actor=actor, merging=merging,
        )  # fmt: skip

    relinking = Relinking(pages=pages, reader=reader, actor=actor)
    refiling = Refiling(files=files, pages=pages, projects=projects, claims=claims, reader=reader, clock=clock)
    jobs = Jobs(
        config=config, state=state, segments=segments, spool=spool, audit=audit, projector=projector,
        committer=committer, pages=pages, closer=closer, batons=batons, refiling=refiling, purge=purge,
        retention=retention, listings=listings, automatic=automatic, selfcheck=selfcheck,
    )  # fmt: skip
    page_history = PageHistory(
        files=files, pages=pages, committer=committer, reader=reader, projector=projector, writer=writer
    )
    refile = Refile(
        refiling=refiling, relinking=relinking, projects=projects, history=page_history, reader=reader, callers=callers,
        actor=actor,
    )  # fmt: skip

    async def status() -> dict[str, object]:
        await state.gauge.refresh()
        return status_of(parts)

    memory = Memory(
        config=config, clock=clock, actor=actor, pages=pages, projects=projects, projector=projector, reader=reader,
        composer=composer, faces=faces, callers=callers, folders=folders, repair=repair,
        links=lambda find, near: Links(find=find, where=near, reader=reader),
        feedback=lambda find, near: Feedback(
            find=find, near=near, writer=writer, projector=projector, reader=reader, callers=callers, clock=clock,
            actor=actor,
        ),
        related=lambda find, near: Related(find=find, near=near, reader=reader, projects=projects),
        reading=lambda find, near: Reading(
            find=find, near=near, history=page_history, merging=merging, reader=reader, projects=projects
        ),
        undoing=Undoing(pages=pages, history=page_history, reader=reader, callers=callers, actor=actor),
        capture=CaptureFace(projects=projects, folders=folders, config=config), refile=refile,
        audit=Audit(journal=data.journal, projects=projects, claims=claims, reader=reader, log=audit),
        bundles=Bundles(pages=pages, projects=projects, reader=reader, callers=callers, actor=actor),
        merging=merging, vectors=vectors, conflicts=ConflictCopies(conflicts=conflicts, pages=pages),
        forget=lambda find: Forget(
            find=find, planner=planner, purge=purge, rescan=rescan, pages=pages, history=page_history,
            projects=projects, reader=reader, config=config, actor=actor, retention=retention,
        ),
        status=status,
        examine=lambda **seen: [finding.as_data() for finding in examine(look(config, **seen))],
    )  # fmt: skip
    replies = Replies(
        composer=composer, registry=registry, claims=claims, writer=writer, projector=projector, reader=reader,
        config=config, actor=actor, clock=clock, counters=counters,
    )  # fmt: skip
    mcp = LateMcp(memory, __version__)
    app = App(
        hook=HookRoute(intake, replies),
        api=Api(memory, lambda: reindex(parts), lambda: mend_wiki(parts), stopping.set),
        mcp=mcp,
        version=__version__,
    )
    parts = Parts(
        config=config, clock=clock, actor=actor, journal=journal, writer=writer, projector=projector, reader=reader,
        committer=committer, pages=pages, conflicts=conflicts, projects=projects, watcher=watcher, closer=closer,
        batons=batons, worker=worker, counters=counters, rejects=rejects, dedupe=dedupe, intake=intake, drain=drain,
        scheduler=Scheduler(jobs.table()), automatic=automatic, selfcheck=selfcheck, memory=memory, app=app, mcp=mcp,
        vectors=vectors, folders=folders, refiling=refiling, relinking=relinking, forgotten=forgotten, purge=purge,
        retention=retention,
        state=state, stopping=stopping,
    )  # fmt: skip
    return parts


def _check_plan(config: Config) -> CheckPlan:
    """The endpoint's file is taken away by every stop; where it still stands, the daemon before was killed."""
    return CheckPlan(
        every_hours=config.storage.verify_hours, command=[sys.executable, "-I", "-m", "aimemory", "verify", "--json"],
        env=config.child_env, record=config.data.verified, after_crash=config.data.endpoint.exists(),
    )  # fmt: skip


def _backup_plan(config: Config, machine: str) -> Plan:
    """Automatic backups are made by the command itself."""
    given = config.backup.folder
    command = [sys.executable, "-I", "-m", "aimemory", "backup", "make", "--keep", str(config.backup.keep)]
    return Plan(
        every_hours=config.backup.every_hours, folder=Path(given) if given else config.data.backups, machine=machine,
        command=[*command, given] if given else command, env=config.child_env,
    )  # fmt: skip
