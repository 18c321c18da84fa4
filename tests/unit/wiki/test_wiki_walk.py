"""The walk: what is new, changed, gone; what is no page; and what looks like an accident."""

import errno
import os
import time
from pathlib import Path

import pytest
from unprivileged import bound_by_modes

from aimemory.datadir import TEMP_PREFIX
from aimemory.errors import Unavailable
from aimemory.wiki.walk import Stat, look, scan


def put(root: Path, path: str, text: str = "x", age_s: int = 60) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    stamp = time.time() - age_s
    os.utime(file, (stamp, stamp))
    return file


def known(root: Path) -> dict[str, Stat]:
    return scan(root, {}).added


def test_new_changed_and_removed_pages_are_told_apart(tmp_path: Path) -> None:
    for name in ("same.md", "default/app/notes/changed.md", "gone.md"):
        put(tmp_path, name)
    before = known(tmp_path)

    put(tmp_path, "default/app/notes/changed.md", "longer", age_s=30)
    put(tmp_path, "日本語/新しい.md")
    (tmp_path / "gone.md").unlink()
    found = scan(tmp_path, before)

    assert set(found.added) == {"日本語/新しい.md"}
    assert set(found.changed) == {"default/app/notes/changed.md"}
    assert (found.removed, found.suspicious, found.problem) == (("gone.md",), False, None)


def test_a_replacement_with_equal_time_and_size_is_seen(tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "old")
    before = known(tmp_path)
    stamp = file.stat()
    put(tmp_path, "b.md", "new").rename(file)
    os.utime(file, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
    assert set(scan(tmp_path, before).changed) == {"a.md"}
    without_inode = {path: Stat(stat.mtime_ns, stat.size) for path, stat in before.items()}
    assert not scan(tmp_path, without_inode).changed


def test_a_file_written_just_now_is_reported_again_until_its_time_can_be_trusted(tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", age_s=0)
    first = known(tmp_path)
    again = scan(tmp_path, first)
    assert set(again.changed) == {"a.md"}

    os.utime(file, (time.time() - 60, time.time() - 60))
    settled = scan(tmp_path, again.changed)
    assert set(settled.changed) == {"a.md"}
    assert not scan(tmp_path, settled.changed).changed


def test_hidden_temporary_foreign_and_linked_files_are_no_pages(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/secret.md")
    root = tmp_path / "wiki"
    for name in (".git/a.md", ".obsidian/b.md", ".trash/c.md", ".d.md", "e.txt", "f.md~", "g.sync-conflict-1.md"):
        put(root, name)
    put(root, "page.md")
    (root / "link.md").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"bad\xff.md")).write_bytes(b"x")

    found = scan(root, {})
    assert set(found.added) == {"page.md"}
    assert found.ignored_count == 7
    assert found.others == ("folder", "link.md", "loop", "pipe.md")
    assert found.nameless == ("bad\\xff.md",) and found.problem is None


def test_names_that_no_request_could_give_are_listed_so_that_they_can_be_printed_and_kept(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    for name in ("a\nb.md", "new\nfolder/c.md", "back\\slash.md", f"bell\a {token}.md", "fine.md"):
        put(tmp_path, name)

    found = scan(tmp_path, {})

    assert set(found.added) == {"fine.md"}
    assert found.nameless == ("a\\nb.md", "back\\slash.md", "bell\\x07 [redacted:github-token].md", "new\\nfolder/")
    assert look(tmp_path, ["new\nfolder/c.md", "a\nb.md", "fine.md"], {}).added.keys() == {"fine.md"}


def test_a_folder_on_a_failing_disk_counts_as_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "broken/a.md")
    put(tmp_path, "fine.md")
    before = known(tmp_path)
    scandir = os.scandir

    def failing(folder: str) -> object:
        if folder.endswith("broken"):
            raise OSError(errno.EIO, "Input/output error")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", failing)
    (tmp_path / "fine.md").unlink()
    found = scan(tmp_path, before)

    assert found.removed == ("fine.md",) and "broken" in str(found.problem)


def test_temporary_files_of_a_crash_are_removed_after_an_hour(tmp_path: Path) -> None:
    old, fresh = (put(tmp_path, f"notes/{TEMP_PREFIX}{n}", age_s=age) for n, age in (("a", 4000), ("b", 3000)))
    assert not scan(tmp_path, {}).added
    assert not old.exists() and fresh.exists()


@pytest.mark.promise("P9.33")
@pytest.mark.parametrize("root_stays", [True, False])
def test_a_tree_that_is_suddenly_empty_is_an_accident_not_a_deletion(tmp_path: Path, root_stays: bool) -> None:
    root = tmp_path / "wiki"
    for number in range(21):
        put(root, f"{number}.md")
    before = known(root)
    for file in root.iterdir():
        file.unlink()
    if not root_stays:
        root.rmdir()
    found = scan(root, before)
    assert found.suspicious and not found.removed
    assert found.problem is not None and "21 pages" in found.problem


def test_a_few_pages_may_all_be_deleted_but_not_with_their_root(tmp_path: Path) -> None:
    root = tmp_path / "wiki"
    file = put(root, "a.md")
    before = known(root)
    file.unlink()
    assert scan(root, before).removed == ("a.md",)
    root.rmdir()
    assert scan(root, before).suspicious


def test_pages_in_an_unreadable_folder_count_as_unchanged(tmp_path: Path) -> None:
    file = put(tmp_path, "closed/a.md")
    put(tmp_path, "gone.md")
    before = known(tmp_path)
    (tmp_path / "gone.md").unlink()
    file.parent.chmod(0)
    try:
        with bound_by_modes():
            found = scan(tmp_path, before)
    finally:
        file.parent.chmod(0o700)
    assert found.removed == ("gone.md",)
    assert found.problem is not None and "closed" in found.problem


@pytest.mark.promise("P11.341")
@pytest.mark.parametrize("look_at", [scan, lambda root, before, given_up: look(root, list(before), before, given_up)])
def test_a_walk_that_nobody_waits_for_ends_before_its_end(tmp_path, look_at):
    for number in range(20):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}" / "page.md").write_text("text")
    before = scan(tmp_path, {}).added
    asked = []

    def given_up():
        asked.append(True)
        return len(asked) > 3

    with pytest.raises(Unavailable):
        look_at(tmp_path, before, given_up)
    assert len(asked) == 4
