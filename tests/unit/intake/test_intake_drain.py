"""What lies in the spool and can't be read, or is no event: it keeps nothing back, costs little, and is named."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from inside import memory

from aimemory.daemon.status import status_of
from aimemory.doctor.files import check_files
from aimemory.doctor.situation import look
from aimemory.errors import Unavailable
from aimemory.intake import drain as drain_module
from aimemory.intake import rejects as rejects_module
from aimemory.journal.replay import replay
from aimemory.model.spool import MAX_FILE_BYTES, SpoolFile, file_name, serialise
from aimemory.store import projects as projects_module

pytestmark = pytest.mark.anyio


def put(folder, number, content=None, cwd=None):
    """A file of the spool, an event unless other content is given."""
    path = folder / file_name(10**18 + number, number, "other", "0a0b0c0d")
    body = {"session_id": "s", "text": f"event {number}"}
    entry = SpoolFile(harness="generic", event="note", at_ns=10**18 + number, pid=number, cwd=cwd, body=body)
    path.write_bytes(serialise(entry) if content is None else content)
    return path


def spooled(parts):
    return {path.name for path in parts.config.data.spool.glob("*.json")}


class Closed:
    """Reads the spool as for a user who may not read some of its files."""

    def __init__(self, monkeypatch, paths):
        self.names, self.tried, self._read = {path.name for path in paths}, 0, drain_module.read
        monkeypatch.setattr(drain_module, "read", self)

    def __call__(self, path):
        if path.rpartition("/")[2] in self.names:
            self.tried += 1
            raise PermissionError(13, "Permission denied", path)
        return self._read(path)


@pytest.mark.promise("P11.240")
async def test_more_files_that_can_not_be_read_than_are_looked_at_in_one_go_stay_and_keep_no_newer_event_back(
    tmp_path, monkeypatch
):
    async with memory(tmp_path) as (parts, _):
        spool = parts.config.data.spool
        monkeypatch.setattr(drain_module, "_AT_ONCE", 50)
        monkeypatch.setattr(drain_module, "_UNREAD_AT_ONCE", 20)
        closed = Closed(monkeypatch, [put(spool, number) for number in range(60)])
        put(spool, 5000)

        await parts.drain.drain()
        assert await parts.drain.drain() == 1, "the newer one comes through"
        assert closed.tried == len(closed.names) and await parts.drain.drain() == 0
        assert closed.tried == len(closed.names), "none is tried again at once"
        assert spooled(parts) == closed.names
        parts.state.spool = parts.drain.state()
        (said,) = [one for one in status_of(parts)["problems"] if "spool" in one]
        assert "60 files" in said and min(closed.names) in said and "Permission denied" in said

        monkeypatch.setattr(drain_module, "_UNREAD_S", 0)
        parts.drain.try_all_again()
        await parts.drain.drain()
        closed.names = set()  # made readable
        assert await parts.drain.drain() > 0, "some of them, with what is new"
        for _ in range(3):
            await parts.drain.drain()
        assert spooled(parts) == set()
        assert parts.drain.state()["unread"]["files"] == 0
        assert sum(line.type == "observation" for line in _lines(parts)) == 61


@pytest.mark.promise("P11.240")
async def test_what_is_no_event_is_neither_read_nor_waited_for_and_goes_to_the_rejects_within_their_bound(
    tmp_path, monkeypatch
):
    async with memory(tmp_path) as (parts, _):
        spool, rejects = parts.config.data.spool, parts.config.data.rejects
        odd = [put(spool, number, b"") for number in range(4)]
        os.truncate(odd[0], MAX_FILE_BYTES + 1)
        for path in odd[1:]:
            path.unlink()
        os.mkfifo(odd[1])
        odd[2].mkdir()
        odd[3].symlink_to("/dev/zero")
        put(spool, 10)
        found = {one.check: one for one in check_files(look(parts.config, status=None))}
        assert "4 files" in found["files.spool.unread"].said and str(odd[0]) in found["files.spool.unread"].evidence

        assert await parts.drain.drain() == 1 and spooled(parts) == set()
        assert {path.name for path in rejects.glob("*.json")} == {path.name for path in odd[1:]}
        assert parts.rejects.forced_out() == 1, "the one that is larger than all rejects may be, once others came"
        assert parts.rejects.count() == 3
        assert "files.spool.unread" not in {one.check for one in check_files(look(parts.config, status=None))}

        monkeypatch.setattr(rejects_module, "_TAKEN_FILES", 20)
        for number in range(100, 150):
            put(spool, number, b"{")
        await parts.drain.drain()
        left = sorted(path.name for path in rejects.glob("*.json") if path.is_file())
        assert len(left) <= 20 and left[-1] == file_name(10**18 + 149, 149, "other", "0a0b0c0d")
        assert parts.rejects.count() + parts.rejects.forced_out() == 54


@pytest.mark.promise("P4.11")
async def test_a_secret_that_lies_in_the_spool_is_stored_no_more_than_one_that_comes_now(tmp_path):
    """As written by a hook of an older version, whose rules did not know it: the daemon looks once more."""
    secret = "ghp_" + "Zq8R" * 9
    async with memory(tmp_path) as (parts, _):
        for number, content in enumerate(
            ({"body": {"session_id": "s", "text": f"x {secret}"}}, {"text": f"y {secret}"})
        ):
            entry = SpoolFile(
                harness="generic", event="note", at_ns=10**18 + number, pid=1, cwd=f"/srv/{secret}", **content
            )
            put(parts.config.data.spool, number, serialise(entry))

        assert await parts.drain.drain() == 2

        texts = [str(line.data) for line in _lines(parts) if line.type == "observation"]
        assert len(texts) == 2 and "x [redacted:" in texts[0] and "y [redacted:" in texts[1]
        assert secret not in "".join(path.read_text() for path in parts.config.data.journal.rglob("*.jsonl"))


async def test_what_can_not_even_be_moved_stays_and_is_named(tmp_path, monkeypatch):
    async with memory(tmp_path) as (parts, _):
        spool = parts.config.data.spool
        broken = put(spool, 1, b"{")
        put(spool, 2)

        def refuse(path):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(parts.rejects, "take", refuse)
        assert await parts.drain.drain() == 1
        assert spooled(parts) == {broken.name} and parts.drain.state()["unread"]["first"] == str(broken)


async def test_a_file_that_can_not_be_removed_is_taken_in_once_and_keeps_no_other_back(tmp_path, monkeypatch):
    async with memory(tmp_path) as (parts, _):
        spool = parts.config.data.spool
        first = put(spool, 1)
        put(spool, 2)
        unlink = Path.unlink

        def refuse(path, missing_ok=False):
            if path == first:
                raise PermissionError(13, "Permission denied")
            unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as during:
            during.setattr(Path, "unlink", refuse)
            assert await parts.drain.drain() == 2
        assert spooled(parts) == {first.name} and "can't be removed" in parts.drain.state()["unread"]["why"]
        parts.drain.try_all_again()
        await parts.drain.drain()
        assert spooled(parts) == set() and sum(line.type == "observation" for line in _lines(parts)) == 2


async def test_events_that_are_refused_again_and_again_keep_no_other_back(tmp_path, monkeypatch):
    """As those of a directory on a share that is dead."""
    async with memory(tmp_path) as (parts, _):
        spool = parts.config.data.spool
        for number in range(drain_module._REFUSALS):
            put(spool, number)
        put(spool, 50)
        take = parts.drain._take

        async def refused(entry):
            if entry.pid < drain_module._REFUSALS:
                raise Unavailable("The directory of this event did not answer.")
            await take(entry)

        monkeypatch.setattr(parts.drain, "_take", refused)
        with pytest.raises(Unavailable):
            await parts.drain.drain()

        assert await parts.drain.drain() == 1
        assert len(spooled(parts)) == drain_module._REFUSALS and parts.drain.state()["unread"]["files"] == 0


@pytest.mark.promise("P2.320")
async def test_directories_that_hang_cost_one_look_each_and_keep_no_event_of_another_back(tmp_path, monkeypatch):
    """More of them than once made up the whole pool of threads, with more events than once made the drain give up."""
    async with memory(tmp_path) as (parts, _):
        monkeypatch.setattr(projects_module, "_RESOLVE_S", 0.2)
        resolver, answers, looked = parts.projects._resolver, threading.Event(), []
        resolve = resolver.resolve

        def hang(cwd, explicit=None):
            if cwd and cwd.startswith("/share/"):
                looked.append(cwd)
                answers.wait(60)
            return resolve(cwd, explicit)

        monkeypatch.setattr(resolver, "resolve", hang)
        spool = parts.config.data.spool
        for number in range(40):
            put(spool, number, cwd=f"/share/{number % 8}")
        put(spool, 5000, cwd="/srv/app")
        try:
            assert await parts.drain.drain() == 1, "the one of another directory, and nothing is raised"
            parts.drain.try_all_again()
            assert await parts.drain.drain() == 0 and len(looked) == 8, "a look that hangs is not begun twice"
        finally:
            answers.set()
        monkeypatch.setattr(projects_module, "_RESOLVE_S", 60.0)
        async with asyncio.timeout(60):
            while spooled(parts):
                parts.drain.try_all_again()
                await parts.drain.drain()


def _lines(parts):
    return list(replay(parts.config.data.journal))
