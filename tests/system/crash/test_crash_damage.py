"""Files that somebody removes, replaces or holds while the daemon works with them, or while it is down."""

import shutil
import sqlite3
import threading

import pytest
from ledger import Ledger
from living import Daemon, git

from aimemory.datadir import DataDir
from aimemory.upkeep.verify.run import verify


@pytest.fixture
def ledger(daemon):
    made = Ledger(daemon)
    for number in range(3):
        assert made.event()
        made.write(f"Page {number}", f"body {number}")
    made.settle()
    made.clean()
    return made


def problems(daemon):
    return "\n".join(daemon.status()["problems"])


@pytest.mark.promise("P2.103")
def test_a_segment_that_is_removed_under_the_daemon_is_named_and_takes_no_later_event_along(ledger):
    daemon = ledger.daemon
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    before = set(ledger.events)
    segment.unlink()

    assert ledger.event() and ledger.event()

    assert f"{segment} was removed" in problems(daemon)
    daemon.kill()
    daemon.start()
    kept = {line["data"]["id"] for line in daemon.lines("observation")}
    assert kept == set(ledger.events) - before and len(kept) == 2


@pytest.mark.promise("P1.101")
@pytest.mark.parametrize("what", ["side files", "all of it", "another in its place"])
def test_an_index_whose_files_are_taken_away_under_the_daemon_is_named_and_built_anew(ledger, what):
    daemon = ledger.daemon
    index = daemon.data.index
    if what == "another in its place":
        copy = index.with_name("copy")
        shutil.copy(index, copy)
        copy.replace(index)
    for suffix in ("-wal", "-shm") if what == "side files" else ("", "-wal", "-shm") if what == "all of it" else ():
        index.with_name(index.name + suffix).unlink()

    daemon.wait(lambda: "while it was in use" in problems(daemon), "it is named")
    ledger.write("Behind it", "the word is amaryllis")
    ledger.check()
    assert daemon.search("amaryllis", observations=False)


@pytest.mark.promise("P1.102")
def test_a_page_deleted_by_hand_while_daemon_and_index_were_gone_is_deleted_in_git_too(ledger):
    """Neither the index nor the journal knows of it: HEAD does."""
    daemon = ledger.daemon
    daemon.kill()
    path = sorted(ledger.pages)[0]
    (daemon.data.wiki / path).unlink()
    ledger.pages[path] = {None}
    daemon.data.index.unlink()

    daemon.start()

    ledger.check()
    assert path not in git(daemon.data.wiki, "ls-tree", "-r", "--name-only", "HEAD")


@pytest.mark.promise("P1.103")
def test_while_another_process_holds_the_database_events_are_kept_and_reading_goes_on(ledger):
    daemon = ledger.daemon
    held = sqlite3.connect(daemon.data.index, isolation_level=None)
    held.execute("begin immediate")
    try:
        assert all(ledger.event() for _ in range(20))
        found = daemon.post("/api/v1/search", {"query": "body", "project": "*"})
        assert found["answer"]["hits"]
        daemon.wait(lambda: "busy" in problems(daemon), "it is named")
    finally:
        held.execute("rollback")
        held.close()
    ledger.check()


@pytest.mark.promise("P1.104")
def test_a_second_daemon_on_a_copy_of_the_living_directory_comes_up_right(ledger, tmp_path):
    stop = threading.Event()
    writing = threading.Thread(target=lambda: [ledger.event() for _ in iter(stop.is_set, True)])
    writing.start()
    try:
        stored = len(ledger.events)
        ledger.daemon.wait(lambda: len(ledger.events) > stored + 20, "it is being written to")
        target = tmp_path / "copy" / "data"
        target.mkdir(parents=True)
        shutil.copytree(ledger.daemon.data.cache, target / "cache")  # before the journal, which is ahead of it then
        leave_out = shutil.ignore_patterns("socket", "lock", "cache", ".aimemory-tmp-*")
        shutil.copytree(ledger.daemon.data.root, target, ignore=leave_out, dirs_exist_ok=True)
    finally:
        stop.set()
        writing.join()
    (segment,) = (target / "journal").rglob("*.jsonl")
    with segment.open("ab") as file:  # a line in the middle of being written
        file.write(segment.read_bytes().splitlines()[-1][:40])
    other = Daemon(tmp_path / "copy")
    try:
        other.start()
        copy = Ledger(other)
        assert copy.event(text="only in the copy")
        copy.settle()
        copy.clean()
        assert [f for f in verify(DataDir(target), lambda what, count: None).found if f.level == "damage"] == []
    finally:
        other.close()
    ledger.check()
