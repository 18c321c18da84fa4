"""SIGKILL at every named point of every write path: what was acknowledged is there once, and nothing half."""

import json
import sqlite3
import time

import pytest
from acting import Agent
from ledger import Ledger, spooled
from living import repository
from pointed import Pointed, points_in_source

from aimemory.index.schema import SCHEMA

SEGMENT = 65536


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One data directory for all of these: each scenario finds what the crashes before it have left."""
    daemon = Pointed(tmp_path_factory.mktemp("crash"), storage_segment_bytes=SEGMENT)
    daemon.start()
    yield Ledger(daemon)
    daemon.disarm()
    daemon.close()


def event(ledger, point):
    assert ledger.event()
    ledger.daemon.arm(point)
    ledger.event()


def new_segment(ledger, point):
    ledger.daemon.arm(point)
    while ledger.event(text="x " * 4000):
        pass


def start_with_segments(ledger, point):
    """The start seals what the scenario before has left behind."""
    for _ in range(12):
        assert ledger.event(text="y " * 4000)
    ledger.daemon.stop()
    ledger.daemon.arm(point)
    ledger.daemon.spawn()


def start_behind_a_torn_write(ledger, point):
    ledger.daemon.kill()
    newest = max(ledger.daemon.data.journal.rglob("*.jsonl"))
    with newest.open("ab") as file:
        file.write(b'{"seq":1,"v":1,"type":"obs')
    ledger.daemon.arm(point)
    ledger.daemon.spawn()


def new_page(ledger, point):
    """In a folder of its own, so that this too has to be made."""
    ledger.daemon.arm(point)
    told = {"title": "A", "body": f"body of {point}", "project": "_unfiled", "kind": "note"}
    path = f"default/_unfiled/notes/{point.replace('.', '-')}/a.md"
    ledger.pages[path] = {told["body"], None}
    ledger.request("/api/v1/page", told | {"path": path})


def new_version(ledger, point):
    path = ledger.write("To be changed", f"first of {point}")
    ledger.clean()
    ledger.daemon.arm(point)
    ledger.rewrite(path, f"second of {point}")


def deletion(ledger, point):
    path = ledger.write("To be deleted", f"gone with {point}")
    ledger.clean()
    ledger.daemon.arm(point)
    ledger.delete(path)


def commit(ledger, point):
    ledger.clean()
    ledger.daemon.arm(point)
    ledger.write("To be committed", f"commit of {point}")


def closing(ledger, point):
    session = ledger.work()
    ledger.daemon.arm(point)
    ledger.end(session)


def rename(ledger, point):
    ledger.daemon.wait(lambda: the_project(ledger) == ledger.project, "what the crash before cut off is finished")
    new = f"shop-{point.replace('.', '-')}"
    ledger.daemon.arm(point)
    ledger.request("/api/v1/projects/rename", {"project": ledger.project, "name": new, "apply": True})
    ledger.project = f"default/{new}"  # each of these points lies behind the line that says so


def move_session(ledger, point):
    session = ledger.work()
    ledger.end(session)
    ledger.settle()
    ledger.daemon.wait(lambda: ledger.is_closed(session), "it is closed")
    ledger.daemon.arm(point)
    ledger.request("/api/v1/projects/move-session", {"moved": session, "project": "_unfiled", "apply": True})


def merge(ledger, point):
    side = repository(ledger.daemon.root / "side", remote="git@github.com:acme/side.git")
    ledger.daemon.event("generic", "note", {"session_id": "side", "text": "beside", "cwd": str(side)})
    ledger.daemon.post("/api/v1/page", {"title": "Beside", "body": "Text.", "project": "side"})
    ledger.settle()
    ledger.daemon.arm(point)
    ledger.request("/api/v1/projects/merge", {"project": "side", "into": ledger.project, "apply": True})


def unmerge(ledger, point):
    side = str(ledger.daemon.root / "side")
    where = lambda: ledger.daemon.get("/api/v1/where", cwd=side)["project"]  # noqa: E731
    ledger.daemon.wait(lambda: where() == ledger.project, "what the crash before cut off is finished")
    ledger.daemon.arm(point)
    ledger.request("/api/v1/projects/unmerge", {"project": "side", "apply": True})


def reindex(ledger, point):
    ledger.daemon.arm(point)
    try:
        ledger.daemon.request("POST", "/api/v1/reindex", {})
    except OSError:
        pass


def start_with_a_newer_index(ledger, point):
    ledger.daemon.stop()
    with sqlite3.connect(ledger.daemon.data.index) as db:
        db.execute(f"pragma user_version={SCHEMA + 1}")
    db.close()
    ledger.daemon.arm(point)
    ledger.daemon.spawn()


def start(ledger, point):
    ledger.daemon.stop()
    ledger.daemon.arm(point)
    ledger.daemon.spawn()


def brief(ledger, point):
    """A session starts and is offered what another left."""
    Agent(ledger.daemon, "claude-code", f"giver-{point}", ledger.shop, ago_s=60).works()
    ledger.daemon.arm(point)
    start_reading(ledger, f"reader-{point}", ledger.daemon.happened)


def claim(ledger, point):
    Agent(ledger.daemon, "claude-code", f"giver-{point}", ledger.shop, ago_s=60).works()
    before = len(ledger.lines())
    is_told = lambda: any(line.type == "brief" for line in ledger.lines()[before:])  # noqa: E731
    session = start_reading(ledger, f"taker-{point}", is_told)
    ledger.daemon.arm(point)
    ledger.work(session)


def handoff_done(ledger, point):
    made = ledger.request("/api/v1/handoffs/begin", {"summary": "water the seeds", "project": the_project(ledger)})
    ledger.daemon.arm(point)
    ledger.request("/api/v1/handoffs/cancel", {"handoff": made["id"], "reason": "a test"})


def spool(ledger, point):
    ledger.daemon.arm(point)
    spooled(ledger.daemon, f"spooled at {point}", time.time_ns() % 10**9)


def backup(ledger, point):
    ledger.daemon.arm(point)
    ledger.daemon.command_dies("backup", "make", "--no-verify")
    ledger.daemon.kill()


def restore(ledger, point):
    ledger.settle()
    done = ledger.daemon.cli("backup", "make", "--no-verify", "--json")
    assert done.returncode == 0, done.stderr
    ledger.daemon.stop()
    ledger.daemon.arm(point)
    ledger.daemon.command_dies("backup", "restore", json.loads(done.stdout)["file"], "--apply")


def the_project(ledger):
    return ledger.daemon.get("/api/v1/where", cwd=str(ledger.shop))["project"]


def start_reading(ledger, name, until):
    """A session starts and prompts until the condition holds; its name. A busy machine may keep a brief from a session
    for its first prompts, and one that is well under way gets none: then another starts."""
    for number in range(10):
        session = f"{name}-{number}"
        ledger.hook("SessionStart", {"session_id": session, "source": "startup"})
        for prompt in range(3):
            if until():
                return session
            ledger.hook("UserPromptSubmit", {"session_id": session, "prompt": "go on", "prompt_id": str(prompt)})
    return session


SCENARIOS = {
    event: ["journal.written", "journal.synced", "index.before-commit", "index.committed"],
    new_segment: ["journal.segment-begun"],
    start_with_segments: ["seal.packed", "seal.named", "seal.plain-removed"],
    start_behind_a_torn_write: ["journal.torn-cut"],
    new_page: ["page.announced", "page.folder-made", "page.temp-synced", "page.linked"],
    new_version: ["page.named"],
    deletion: ["page.deletion-announced", "page.removed"],
    commit: [
        "git.blobs-written", "git.commit-written", "git.objects-synced", "git.branch-moved", "git.index-locked",
        "git.index-written", "git.index-named",
    ],
    closing: ["close.looked", "close.intended", "close.page-written", "handoff.page-written", "close.handed-over"],
    brief: ["brief.offered", "brief.sent", "brief.noted"],
    claim: ["handoff.claimed"],
    handoff_done: ["handoff.finished"],
    rename: ["refile.rename-announced", "page.moved", "refile.folder-renamed"],
    move_session: ["refile.move-announced", "refile.page-moved"],
    merge: ["refile.merge-announced"],
    unmerge: ["refile.unmerge-announced"],
    reindex: ["rebuild.lines", "rebuild.pages", "rebuild.built", "rebuild.old-removed", "rebuild.named"],
    start_with_a_newer_index: ["index.side-files-removed", "index.set-aside"],
    start: ["file.temp-synced", "file.named"],
    spool: ["spool.stored"],
    backup: ["backup.written", "backup.named"],
    restore: ["restore.written", "restore.beside", "restore.exchanged", "restore.in-place"],
}  # fmt: skip
"""What leads to which points. The order of the scenarios is that of their running."""


def test_every_point_of_the_source_is_tried_and_no_other():
    elsewhere = ("purge.", "pack.", "mend.")  # tried by test_system_forget.py, test_wiki_pack.py and test_wiki_mend.py
    here = [point for point in points_in_source() if not point.startswith(elsewhere)]
    assert sorted(here) == sorted(point for points in SCENARIOS.values() for point in points)


@pytest.mark.promise("P2.100")
@pytest.mark.parametrize("act", SCENARIOS, ids=lambda act: act.__name__)
def test_killed_there_everything_acknowledged_is_kept_once_and_nothing_half_is_seen(ledger, act):
    daemon = ledger.daemon
    if daemon.process is None or daemon.process.poll() is not None:
        daemon.disarm()
        daemon.start()
    for point in SCENARIOS[act]:
        act(ledger, point)
        if daemon.process is not None:
            daemon.dies()
        assert point in daemon.seen()
        daemon.start()
        ledger.again()
        ledger.check_quickly()
    ledger.check()
