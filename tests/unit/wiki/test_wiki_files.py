"""Page files: version tokens, atomic replacement, and no way out of the tree."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from aimemory.errors import Conflict, NotFound, TooLarge, UserError
from aimemory.model.ids import Version, page_version
from aimemory.privacy import Sanitized, sanitize
from aimemory.wiki import files as files_module
from aimemory.wiki.files import MAX_PAGE_BYTES, WikiFiles
from aimemory.wiki.walk import scan

PAGE = "default/app/notes/a.md"


def clean(text: str) -> Sanitized[str]:
    return sanitize(text)


@pytest.fixture
def files(tmp_path: Path) -> WikiFiles:
    root = tmp_path / "wiki"
    root.mkdir()
    return WikiFiles(root)


def leftovers(files: WikiFiles) -> list[str]:
    return [path.name for path in files.root.rglob(".*")]


def test_a_page_is_created_with_its_folders_and_read_back(files: WikiFiles) -> None:
    version = files.write(PAGE, clean("één\r\n"), None)
    assert files.read(PAGE) == ("één\r\n".encode(), version)
    assert version == files.version(PAGE) == page_version("één\r\n".encode())
    assert stat.S_IMODE((files.root / PAGE).stat().st_mode) == 0o600
    assert not leftovers(files)


@pytest.mark.promise("P9.37")
def test_many_are_read_as_each_would_be_alone(files: WikiFiles, tmp_path: Path) -> None:
    paths = ["a/b.md", "a/b/c.md", "a/b/d.md", "a/e.md", "f.md"]
    for path in paths:
        files.write(path, clean(path), None)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.md").write_text("not ours")
    (files.root / "a" / "link").symlink_to(tmp_path / "outside")
    (files.root / "a" / "linked.md").symlink_to(tmp_path / "outside" / "x.md")
    (files.root / "a" / "b" / "folder.md").mkdir()
    (files.root / "a" / "b" / "vast.md").write_bytes(b"x" * (MAX_PAGE_BYTES + 1))
    refused = ["a/b/folder.md", "a/b/gone.md", "a/b/vast.md", "a/link/x.md", "a/linked.md", "gone/y.md"]

    found = list(files.read_each(sorted([*paths, *refused])))

    assert found == [(path, *files.read(path)) for path in sorted(paths)]


def test_sanitised_bytes_are_written_as_they_are(files: WikiFiles) -> None:
    files.write(PAGE, clean("a").derive(lambda text: text.encode() + b"\xff\r\n"), None)
    assert (files.root / PAGE).read_bytes() == b"a\xff\r\n"


def test_a_replacement_keeps_the_mode(files: WikiFiles) -> None:
    version = files.write(PAGE, clean("one"), None)
    (files.root / PAGE).chmod(0o644)
    files.write(PAGE, clean("two"), version)
    assert (files.root / PAGE).read_text() == "two"
    assert stat.S_IMODE((files.root / PAGE).stat().st_mode) == 0o644


def test_what_is_not_there_is_not_found(files: WikiFiles) -> None:
    assert files.version(PAGE) is None
    with pytest.raises(NotFound):
        files.read(PAGE)
    with pytest.raises(NotFound):
        files.delete(PAGE, Version("0"))
    with pytest.raises(Conflict) as caught:
        files.write(PAGE, clean("x"), Version("0"))
    assert (caught.value.current, caught.value.version) == (None, None)
    assert not list(files.root.iterdir())


@pytest.mark.promise("P9.34")
def test_a_write_against_an_older_version_is_refused_with_the_text_that_stands(files: WikiFiles) -> None:
    version = files.write(PAGE, clean("read by the agent"), None)
    (files.root / PAGE).write_text("saved by hand")
    for expected in (version, None):
        with pytest.raises(Conflict, match="changed on disk") as caught:
            files.write(PAGE, clean("agent"), expected)
        assert (caught.value.current, caught.value.version) == ("saved by hand", files.version(PAGE))
    with pytest.raises(Conflict):
        files.delete(PAGE, version)
    assert (files.root / PAGE).read_text() == "saved by hand"
    assert not leftovers(files)


@pytest.mark.promise("P9.35")
@pytest.mark.parametrize("save", ["in place", "by rename"])
def test_an_edit_between_our_check_and_the_rename_is_kept(
    files: WikiFiles, monkeypatch: pytest.MonkeyPatch, save: str
) -> None:
    version = files.write(PAGE, clean("one"), None)

    def save_by_hand(fd: int) -> None:
        target = files.root / PAGE
        if save == "in place":
            target.write_text("by hand")
        else:
            (files.root / "new").write_text("by hand")
            (files.root / "new").rename(target)

    monkeypatch.setattr(files_module, "sync_fd", save_by_hand)
    with pytest.raises(Conflict) as caught:
        files.write(PAGE, clean("two"), version)
    assert caught.value.current == (files.root / PAGE).read_text() == "by hand"
    assert not leftovers(files)


def test_a_page_created_between_our_check_and_ours_is_kept(files: WikiFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "sync_fd", lambda fd: (files.root / PAGE).write_text("by hand"))
    with pytest.raises(Conflict) as caught:
        files.write(PAGE, clean("ours"), None)
    assert caught.value.current == (files.root / PAGE).read_text() == "by hand"
    assert not leftovers(files)


@pytest.mark.parametrize("hard_links", [True, False], ids=["hard links", "no hard links"])
@pytest.mark.promise("P9.36")
def test_of_two_creators_at_once_one_wins_and_the_other_gets_a_conflict(
    files: WikiFiles, monkeypatch: pytest.MonkeyPatch, hard_links: bool
) -> None:
    (files.root / PAGE).parent.mkdir(parents=True)
    both_written = Barrier(2, timeout=60)
    monkeypatch.setattr(files_module, "sync_fd", lambda fd: both_written.wait())
    if not hard_links:
        monkeypatch.setattr(files_module.os, "link", _no_hard_links)

    def create(text: str) -> str:
        try:
            files.write(PAGE, clean(text), None)
        except Conflict:
            return "conflict"
        return text

    with ThreadPoolExecutor(2) as pool:
        results = set(pool.map(create, ["one", "two"]))
    assert "conflict" in results
    assert results == {"conflict", (files.root / PAGE).read_text()}
    assert not leftovers(files)


def test_a_failed_write_leaves_the_old_page_and_no_temporary_file(
    files: WikiFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = files.write(PAGE, clean("one"), None)

    def disk_full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files_module, "sync_fd", disk_full)
    with pytest.raises(OSError, match="No space"):
        files.write(PAGE, clean("two"), version)
    assert (files.root / PAGE).read_text() == "one"
    assert not leftovers(files)


def test_delete_removes_the_version_that_was_read(files: WikiFiles) -> None:
    files.delete(PAGE, files.write(PAGE, clean("one"), None))
    assert files.version(PAGE) is None


@pytest.mark.parametrize("link", ["file", "dangling", "folder", "parent of a new file", "loop"])
@pytest.mark.promise("P9.37")
def test_no_link_leads_out_of_the_tree(files: WikiFiles, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    path = {
        "file": "a.md",
        "dangling": "new.md",
        "folder": "in/a.md",
        "parent of a new file": "in/x/new.md",
        "loop": "l/a.md",
    }[link]
    if link in ("file", "dangling"):
        (files.root / path).symlink_to(outside / path)
    elif link == "loop":
        (files.root / "l").symlink_to("l")
    else:
        (files.root / "in").symlink_to(outside)

    for act in (
        lambda: files.read(path),
        lambda: files.version(path),
        lambda: files.write(path, clean("x"), None),
        lambda: files.write(path, clean("x"), page_version(b"secret")),
        lambda: files.delete(path, page_version(b"secret")),
    ):
        with pytest.raises(UserError, match="is refused"):
            act()
    assert [file.name for file in outside.rglob("*")] == ["a.md"]
    assert (outside / "a.md").read_text() == "secret"


def test_a_root_that_is_itself_a_link_is_the_owners_choice(files: WikiFiles, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(files.root)
    WikiFiles(tmp_path / "link").write(PAGE, clean("x"), None)
    assert files.read(PAGE)[0] == b"x"


def test_the_stat_of_a_file_is_what_a_walk_remembers(files: WikiFiles) -> None:
    files.write(PAGE, clean("x"), None)
    os.utime(files.root / PAGE, (1, 1))
    (files.root / "link.md").symlink_to(files.root / PAGE)
    assert files.stat(PAGE) == scan(files.root, {}).added[PAGE]
    assert files.stat("none.md") is files.stat("none/a.md") is files.stat("link.md") is None


@pytest.mark.parametrize("path", ["../a.md", "a/../../b.md", "a//b.md", "/a.md", "", "a/", "."])
def test_a_path_that_leaves_the_root_is_refused_here_too(files: WikiFiles, path: str) -> None:
    with pytest.raises(UserError):
        files.write(path, clean("x"), None)


def test_folders_pipes_and_files_in_a_folders_place_are_refused(files: WikiFiles) -> None:
    (files.root / "folder.md").mkdir()
    os.mkfifo(files.root / "pipe.md")
    (files.root / "file.md").write_text("x")
    for path in ("folder.md", "pipe.md", "file.md/a.md"):
        with pytest.raises(UserError):
            files.read(path)


def test_a_page_above_the_limit_is_neither_written_nor_read(files: WikiFiles) -> None:
    with pytest.raises(TooLarge):
        files.write(PAGE, clean("x" * (MAX_PAGE_BYTES + 1)), None)
    (files.root / "big.md").write_bytes(b"x" * (MAX_PAGE_BYTES + 1))
    with pytest.raises(TooLarge):
        files.read("big.md")


def _no_hard_links(*args: object, **kwargs: object) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def _saves(files: WikiFiles, how: str, text: str) -> None:
    target = files.root / PAGE
    if how == "in place":
        target.write_text(text)
    elif how == "removed":
        target.unlink()
    else:
        (files.root / "new").write_text(text)
        (files.root / "new").rename(target)


@pytest.mark.promise("P9.114")
@pytest.mark.parametrize("save", ["in place", "by rename"])
@pytest.mark.parametrize("again", ["", "in place", "by rename"])
def test_a_save_between_our_last_look_and_the_replacement_stands(
    files: WikiFiles, monkeypatch: pytest.MonkeyPatch, save: str, again: str
) -> None:
    """At the last instant, and once more while the first save is being put back: the newest stands."""
    version = files.write(PAGE, clean("one"), None)
    saves = [(save, "by hand"), *([(again, "by hand again")] if again else [])]
    newest = saves[-1][1]
    real = files_module.exchange

    def exchange_after_a_save(one: str, other: str, folder: int) -> bool:
        if saves:
            _saves(files, *saves.pop(0))
        return real(one, other, folder)

    monkeypatch.setattr(files_module, "exchange", exchange_after_a_save)
    with pytest.raises(Conflict) as caught:
        files.write(PAGE, clean("two"), version)

    assert not saves
    assert caught.value.current == (files.root / PAGE).read_text() == newest
    assert not leftovers(files)


@pytest.mark.promise("P9.114")
def test_a_page_that_somebody_has_open_for_writing_is_not_taken_from_under_him(files: WikiFiles) -> None:
    version = files.write(PAGE, clean("one"), None)
    with (files.root / PAGE).open("a") as editor:
        with pytest.raises(Conflict):
            files.write(PAGE, clean("two"), version)
        editor.write(" and his line")

    assert (files.root / PAGE).read_text() == "one and his line"
    assert not leftovers(files)
    files.write(PAGE, clean("three"), files.version(PAGE))
    assert (files.root / PAGE).read_text() == "three"


@pytest.mark.promise("P9.114")
@pytest.mark.parametrize("save", ["in place", "by rename", "removed"])
def test_a_save_right_before_a_deletion_stands(files: WikiFiles, monkeypatch: pytest.MonkeyPatch, save: str) -> None:
    version = files.write(PAGE, clean("one"), None)
    real = os.rename

    def rename_after_a_save(*names: str, **folders: int) -> None:
        monkeypatch.setattr(files_module.os, "rename", real)
        _saves(files, save, "by hand")
        real(*names, **folders)

    monkeypatch.setattr(files_module.os, "rename", rename_after_a_save)
    with pytest.raises(NotFound if save == "removed" else Conflict):
        files.delete(PAGE, version)

    assert (files.root / PAGE).exists() == (save != "removed")
    if save != "removed":
        assert (files.root / PAGE).read_text() == "by hand"
    assert not leftovers(files)


def test_where_names_cannot_be_exchanged_a_page_is_replaced_all_the_same(
    files: WikiFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = files.write(PAGE, clean("one"), None)
    monkeypatch.setattr(files_module, "exchange", lambda one, other, folder: False)
    files.write(PAGE, clean("two"), version)
    assert (files.root / PAGE).read_text() == "two"
    assert not leftovers(files)
