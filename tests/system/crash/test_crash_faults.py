"""A disk that is full, broken, read-only or closed to us, at each write: nothing acknowledged is lost, and it is said."""

import time

import pytest
from ledger import Ledger
from living import git
from pointed import Pointed

ERRORS = ["ENOSPC", "EIO", "EROFS", "EACCES"]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One daemon for all of these: it has to survive each."""
    daemon = Pointed(tmp_path_factory.mktemp("faults"), storage_segment_bytes=65536)
    daemon.start()
    yield Ledger(daemon)
    daemon.disarm()
    daemon.close()


def event(ledger):
    ledger.event()


def page(ledger):
    ledger.write("Written on a bad disk", f"body {time.time_ns()}")


def new_version(ledger):
    ledger.rewrite(sorted(ledger.pages)[0], f"body {time.time_ns()}")


def deletion(ledger):
    ledger.delete(next(path for path, bodies in sorted(ledger.pages.items()) if None not in bodies))


def closing(ledger):
    ledger.end(ledger.work())


def rename(ledger):
    ledger.project = ledger.daemon.get("/api/v1/where", cwd=str(ledger.shop))["project"]
    name = f"shop-{time.time_ns()}"
    told = {"project": ledger.project, "name": name, "apply": True}
    if ledger.request("/api/v1/projects/rename", told) is not None:
        ledger.project = f"default/{name}"


def handoff(ledger):
    ledger.request("/api/v1/handoffs/begin", {"summary": "water the seeds", "project": ledger.project})


def reindex(ledger):
    ledger.daemon.request("POST", "/api/v1/reindex", {})


WRITES = {
    "journal.written": event, "journal.segment-begun": event, "index.before-commit": event, "page.announced": new_version,
    "page.folder-made": closing, "page.temp-synced": page, "page.linked": page, "page.named": new_version,
    "page.deletion-announced": deletion, "page.removed": deletion, "git.commit-written": page,
    "git.index-written": page, "refile.rename-announced": rename, "page.moved": rename, "rebuild.lines": reindex,
    "rebuild.built": reindex,
}  # fmt: skip
"""Points right before or behind a system call that a disk may refuse, and what leads there."""

SAID = {
    "page.announced": "It is as it was", "page.named": "was written, but the disk failed",
    "page.deletion-announced": "It is as it was", "page.removed": "was deleted, but the disk failed",
}  # fmt: skip
"""What the answer says of the page: whether it was changed."""


@pytest.mark.promise("P2.101")
@pytest.mark.parametrize("point", WRITES)
def test_a_write_that_the_disk_refuses_loses_nothing_is_said_and_is_made_good_when_it_can_be(ledger, point):
    daemon = ledger.daemon
    if not ledger.pages:
        for number in range(8):
            ledger.write(f"Page {number}", f"first {number}")
        ledger.work()
        ledger.settle()
    first = list(WRITES).index(point)
    errors = (ERRORS[first % 4], ERRORS[(first + 1) % 4])  # each comes up at half of the points
    for error in errors[:1] if point.startswith("git") else errors:  # commits are tried again after seconds
        daemon.arm(point, error)
        if point == "journal.segment-begun":
            for _ in range(10):
                ledger.event(text="x" * 8000)
        WRITES[point](ledger)
        assert SAID.get(point, "") in ledger.said
        daemon.wait(daemon.happened, f"{error} at {point}")
        ledger.hook("PostToolUse", {"session_id": "bystander", "tool_name": "Bash", "tool_use_id": str(time.time_ns()),
                                    "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""}})  # fmt: skip
        daemon.disarm()
        assert daemon.process.poll() is None
        ledger.check_quickly()
    ledger.again()
    ledger.check()
    assert not list(daemon.data.wiki.rglob(".aimemory-tmp-*")), "what was begun is left behind"
    changes = daemon.get("/api/v1/page/history", page=sorted(ledger.pages)[0])["changes"]
    assert not changes[0]["by_hand"], "what we wrote is said to be a person's"
    assert "by hand" not in git(daemon.data.wiki, "log", "--format=%s"), "what we wrote is said to be a person's"


def test_while_the_journal_cannot_be_written_status_says_so_and_nothing_grows(ledger):
    """Memory and log stay bounded however many events are refused, and one success ends the complaint."""
    daemon = ledger.daemon
    assert ledger.event()
    before, logged = resident_kib(daemon), daemon.data.log_file.stat().st_size
    daemon.arm("journal.written", "EIO")
    refused = {daemon.event("generic", "note", {"session_id": "x", "text": f"t{n} " + "y" * 2000}, pid=n + 1)[0]
               for n in range(3000)}  # fmt: skip

    assert refused == {503}
    assert any("journal" in problem.lower() for problem in daemon.status()["problems"])
    assert resident_kib(daemon) - before < 30_000
    assert daemon.data.log_file.stat().st_size - logged < 1_000_000
    daemon.disarm()
    assert ledger.event()
    ledger.check()


def resident_kib(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
