"""A copy taken beside a writer is what a power cut at its point would have left. Each race is made to happen."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from living import git

from aimemory.datadir import DataDir
from aimemory.journal.lines import encode_data
from aimemory.journal.replay import replay
from aimemory.journal.segments import Journal, find_segments, seal
from aimemory.upkeep.backup.archive import Manifest, Moved, Writer, extract
from aimemory.upkeep.backup.check import fsck
from aimemory.upkeep.backup.copying import Copying

NOW = 1_796_000_000_000_000_000


class World:
    """A data directory with a writer in it; `during` runs once, when `when` has just been copied."""

    def __init__(self, root: Path, segment_bytes: int = 1 << 20) -> None:
        self.data = DataDir(root / "data")
        self.data.create()
        self.into = root / "into"
        self.into.mkdir()
        self.archive = root / "a.tar.gz"
        self.journal = Journal(self.data.journal, segment_bytes, lambda: NOW)
        self.journal.open()

    def happen(self, n: int) -> None:
        self.journal.append([("observation", NOW, encode_data({"id": str(n), "text": f"event {n}" * 20}))])

    def write(self, path: str, text: str) -> None:
        """As the writer does: the line, then the file in one step."""
        self.journal.append([("page", NOW, encode_data({"op": "write", "path": path, "version": text}))])
        page = self.data.wiki / path
        page.parent.mkdir(parents=True, exist_ok=True)
        temp = page.with_name(".aimemory-tmp-x")
        temp.write_text(text)
        temp.replace(page)

    def copy(self, when: str, during) -> "World":
        fired = []

        def progress(step, count):
            if not fired and (step == when or when in writer.files):
                fired.append(True)
                during()

        with self.archive.open("wb") as file, closing(Writer(file)) as writer:
            copying = Copying(self.data, writer, progress, with_secrets=False)
            copying.run()
            writer.finish(
                Manifest(
                    made_at="", version="", user="", machine="", seq=copying.seq, branch=None, with_secrets=False,
                    config_from=None, counts=copying.counts(), skipped=copying.skipped, files=writer.files,
                )
            )  # fmt: skip
        assert fired
        self.manifest = extract(self.archive, self.into, lambda step, count: None)
        self.lines = list(replay(self.into / "journal", 0, pytest.fail))
        return self

    def text(self, path: str) -> str | None:
        page = self.into / "wiki" / path
        return page.read_text() if page.exists() else None


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.journal.close()


A, B, NEW = "default/app/notes/a.md", "default/app/notes/b.md", "default/new/notes/c.md"


@pytest.mark.promise("P2.32")
def test_a_page_that_is_written_after_it_was_copied_is_copied_again(world):
    world.write(A, "first")

    def twice():
        world.write(A, "second")
        world.write(A, "third")
        world.write(NEW, "new")

    world.copy(f"wiki/{A}", twice)

    assert (world.text(A), world.text(NEW)) == ("third", "new")
    assert world.manifest.seq == world.lines[-1].seq == 4


@pytest.mark.promise("P2.32")
def test_what_is_written_after_the_point_is_in_neither_journal_nor_wiki(world):
    """A page without its line would pass for a person's own after a restore."""
    world.write(A, "first")

    def later():
        world.write(NEW, "late")
        world.happen(1)

    world.copy("lines", later)

    assert world.text(NEW) is None
    assert [line.seq for line in world.lines] == [1]


@pytest.mark.promise("P2.32")
def test_a_segment_that_is_begun_behind_the_point_is_left_out(tmp_path, monkeypatch):
    world = World(tmp_path, segment_bytes=10)
    world.happen(1)

    def segments(root):
        world.happen(2)
        return find_segments(root)

    monkeypatch.setattr("aimemory.upkeep.backup.copying.find_segments", segments)
    world.copy("lines", lambda: None)
    world.journal.close()

    assert [line.seq for line in world.lines] == [1]


def test_events_go_on_and_those_before_the_point_are_all_in_it(world):
    world.happen(1)
    world.write(A, "first")

    world.copy(f"wiki/{A}", lambda: [world.happen(n) for n in range(2, 9)])

    assert [line.seq for line in world.lines] == list(range(1, 10))


def test_an_event_that_is_drained_from_the_spool_meanwhile_is_in_the_copy(world):
    one, other = "01796000000000000000-1-p0.json", "01796000000000000001-1-p0.json"
    for name in (one, other):
        (world.data.spool / name).write_text("{}")

    def drain():
        world.happen(77)
        (world.data.spool / other).unlink()

    world.copy(f"spool/{one}", drain)

    assert [line.data["id"] for line in world.lines] == ["77"]


def test_segments_that_are_begun_and_sealed_meanwhile_are_whole_in_it(tmp_path):
    world = World(tmp_path, segment_bytes=1 << 10)
    for n in range(20):
        world.happen(n)
    world.write(A, "first")

    def roll():
        for n in range(20, 60):
            world.happen(n)
        assert seal(world.data.journal)

    world.copy(f"wiki/{A}", roll)

    assert [line.seq for line in world.lines] == list(range(1, 62))
    assert world.manifest.counts["segments"] > 10
    world.journal.close()


def test_the_segment_of_the_point_is_cut_there_though_it_is_sealed_before_it_is_copied(tmp_path):
    world = World(tmp_path, segment_bytes=1 << 10)
    for n in range(20):
        world.happen(n)

    def roll():
        for n in range(20, 60):
            world.happen(n)
        seal(world.data.journal)

    world.copy("lines", roll)

    assert [line.seq for line in world.lines] == list(range(1, 21))
    world.journal.close()


def test_a_torn_write_at_the_end_is_left_out(world):
    world.happen(1)
    with world.journal.current.open("ab") as file:
        file.write(b'{"seq":2,"v":1')

    world.copy("lines", lambda: None)

    assert [line.seq for line in world.lines] == [1]
    assert (world.into / "journal").rglob("*.jsonl").__next__().read_bytes().endswith(b"\n")


# -- git -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def committed(world):
    git(world.data.wiki, "init", "-q")
    world.write(A, "first")
    world.write(B, "second")
    git(world.data.wiki, "add", "-A")
    git(world.data.wiki, "commit", "-qm", "start")
    return world


def test_a_branch_that_is_packed_meanwhile_is_not_lost(committed):
    head = git(committed.data.wiki, "rev-parse", "HEAD")

    committed.copy("wiki/.git/logs/HEAD", lambda: git(committed.data.wiki, "pack-refs", "--all", "--prune"))

    assert git(committed.into / "wiki", "rev-parse", "HEAD") == head


def test_a_commit_that_is_made_meanwhile_leaves_a_whole_repository(committed):
    wiki = committed.data.wiki

    def commit():
        (wiki / A).write_text("changed by hand")
        git(wiki, "commit", "-qam", "more")

    committed.copy("wiki/.git/HEAD", commit)

    assert fsck(committed.into / "wiki") == []


def test_a_repository_that_is_repacked_under_us_asks_for_another_attempt(committed):
    first = sorted((committed.data.wiki / ".git/objects").glob("??/*"))[0]
    name = first.relative_to(committed.data.root).as_posix()

    with pytest.raises(Moved):
        committed.copy(name, lambda: git(committed.data.wiki, "repack", "-adq"))


def test_a_repository_that_lies_elsewhere_is_named(world):
    (world.data.wiki / ".git").write_text("gitdir: /elsewhere\n")
    world.happen(1)

    world.copy("lines", lambda: None)

    assert any("lies elsewhere" in one for one in world.manifest.skipped)


# -- hand edits ------------------------------------------------------------------------------------------------------


class Touched:
    """A file that somebody writes to in place while it is read."""

    def __init__(self, file):
        self._file = file

    def fileno(self):
        return self._file.fileno()

    def read(self, size=-1):
        raw = self._file.read(size)
        os.utime(self._file.fileno(), ns=(NOW, NOW))
        return raw


def test_a_file_that_is_written_in_place_while_it_is_read_is_read_again(world, tmp_path):
    page = tmp_path / "page"
    page.write_text("half")
    with (tmp_path / "x").open("wb") as out, closing(Writer(out)) as writer, page.open("rb") as file:
        copying = Copying(world.data, writer, lambda step, count: None, with_secrets=False)

        assert not copying._steady("wiki/a.md", Touched(file), is_last=False)
        assert writer.files == {}
        file.seek(0)
        assert copying._steady("wiki/a.md", file, is_last=False)

    assert json.dumps(list(writer.files)) == '["wiki/a.md"]'
