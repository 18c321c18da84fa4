"""What takes the room, and when that is said."""

import asyncio
import os
import threading

import pytest
from inside import SECOND_NS, memory

from aimemory.daemon import gauge
from aimemory.upkeep.disk import measure


def test_each_part_counts_by_itself_and_a_file_with_two_names_once(tmp_path):
    for name in (
        "journal/2026",
        "wiki/default/app",
        "wiki/.git/objects",
        "cache",
        "spool",
        "logs",
        "backups",
        "private",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name, pages in {
        "journal/2026/a": 3, "wiki/default/app/p.md": 1, "wiki/.git/objects/o": 7, "cache/index.sqlite3": 5,
        "cache/index.sqlite3.set-aside": 2, "backups/b.tar.gz": 4, "spool/x.json": 1, "private/k": 1, "connect.json": 1,
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(os.urandom(4096 * pages))
    os.link(tmp_path / "journal/2026/a", tmp_path / "journal/2026/b")
    (tmp_path / "logs/out").symlink_to(tmp_path / "wiki/.git/objects/o")
    folders = sum(p.lstat().st_blocks * 512 for p in tmp_path.rglob("*") if p.is_dir() and p.name != "wiki")
    links = (tmp_path / "logs/out").lstat().st_blocks * 512

    found = measure(tmp_path, 0)

    assert found.total == 25 * 4096 + folders + links
    assert found.parts["git"] >= 7 * 4096 and found.parts["index"] >= 7 * 4096 and found.set_aside == 2 * 4096
    assert found.parts["journal"] < 2 * 3 * 4096 + 8192 and found.warning() is None and found.free > 0


@pytest.mark.promise("P11.132")
def test_a_warning_comes_at_eighty_percent_and_names_what_takes_most(tmp_path):
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "a").write_bytes(os.urandom(1 << 20))
    total = measure(tmp_path, 0).total

    assert measure(tmp_path, total * 10 // 7).warning() is None
    said = measure(tmp_path, total * 10 // 8).warning()
    assert said and "80 %" in said and "journal 1.0 MiB" in said and "Nothing is deleted" in said


def test_backups_in_another_folder_count_too(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.tar.gz").write_bytes(os.urandom(8192))

    assert measure(tmp_path / "data", 0, tmp_path / "far").parts["backups"] == 8192


def test_status_measures_again_after_a_minute_and_waits_for_no_disk_that_hangs(tmp_path, monkeypatch):
    async def scene():
        async with memory(tmp_path) as (parts, clock):

            async def total():
                return (await parts.memory.status())["disk"]["parts"]["logs"]

            before = await total()
            (parts.config.data.logs / "much").write_bytes(os.urandom(1 << 20))
            clock.ns += 59 * SECOND_NS
            assert await total() == before
            clock.ns += 2 * SECOND_NS
            now = await total()
            assert now >= before + (1 << 20)

            hangs, started = threading.Event(), []

            def hanging(*given):
                started.append(given)
                hangs.wait(60)
                return measure(*given)

            monkeypatch.setattr(gauge, "measure", hanging)
            (parts.config.data.logs / "much").unlink()
            clock.ns += 61 * SECOND_NS
            assert [await total(), await total()] == [now, now]
            assert len(started) == 1
            hangs.set()
            async with asyncio.timeout(60):
                while await total() == now:
                    continue

    asyncio.run(scene())
