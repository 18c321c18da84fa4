"""The watcher when the system gives no file events: it walks, says so, and tries again later."""

import asyncio
from pathlib import Path

import pytest

from aimemory.errors import Unavailable
from aimemory.model.protocols import TaskPulse
from aimemory.store import watcher as watcher_module
from aimemory.store.watcher import Watcher


class HandEdits:
    """Counts what it is asked for."""

    def __init__(self):
        self.walks, self.looked = 0, []
        self.enough = asyncio.Event()

    async def reconcile(self):
        self.walks += 1
        if self.walks >= 4:
            self.enough.set()

    async def look_at(self, paths):
        self.looked.append(paths)
        self.enough.set()


def watched(monkeypatch, changes):
    async def story():
        monkeypatch.setattr(watcher_module, "changes", changes)
        monkeypatch.setattr(watcher_module, "_POLL_S", 0.01)
        edits = HandEdits()
        watcher = Watcher(edits, Path("/nowhere"))
        pulse = TaskPulse("watcher")
        running = asyncio.create_task(watcher.run(pulse))
        async with asyncio.timeout(60):
            await edits.enough.wait()
        running.cancel()
        return edits, watcher, pulse

    return asyncio.run(story())


def test_without_file_events_the_tree_is_walked_again_and_again_and_status_says_why(monkeypatch):
    async def none(root):
        raise Unavailable("The system gives no file events: no space left on device")
        yield

    edits, watcher, pulse = watched(monkeypatch, none)

    assert edits.walks >= 4 and edits.looked == []
    assert "no space left on device" in watcher.problem and "walking the tree" in watcher.problem
    assert pulse.failures == 1  # said once, not at every walk


def test_hints_are_looked_at_and_a_doubt_means_the_whole_tree(monkeypatch):
    async def some(root):
        yield frozenset()
        yield None
        yield frozenset({"a/b/c.md"})

    edits, watcher, _ = watched(monkeypatch, some)

    assert edits.walks >= 2 and edits.looked[0] == {"a/b/c.md"} and watcher.problem is None


@pytest.mark.promise("P9.221")
def test_a_folder_that_was_away_is_watched_again_as_soon_as_it_is_back(monkeypatch, tmp_path):
    """Not after the five minutes for which the system's refusal counts."""
    root, asked = tmp_path / "wiki", []

    async def changes(folder):
        asked.append(folder.is_dir())
        if not folder.is_dir():
            raise Unavailable("No path was found")
        yield frozenset({"a.md"})
        await asyncio.Event().wait()

    class Away(HandEdits):
        async def reconcile(self):
            self.walks += 1
            if self.walks == 2:
                root.mkdir()
            if asked[-1]:  # the walk with which watching begins
                self.enough.set()

    async def story():
        monkeypatch.setattr(watcher_module, "changes", changes)
        monkeypatch.setattr(watcher_module, "_POLL_S", 0.01)
        edits = Away()
        running = asyncio.create_task(Watcher(edits, root).run(TaskPulse("watcher")))
        async with asyncio.timeout(60):
            await edits.enough.wait()
        running.cancel()

    asyncio.run(story())
    assert asked == [False, True]
