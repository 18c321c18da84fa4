"""`aimemory off` and `on`: which entry of the table holds for a folder, and what a table that can't be read means."""

import pytest

from aimemory.errors import Unavailable
from aimemory.privacy.folders import OFF, ON, Folders, off_by, parse, read, render, switched


def table(**modes):
    return {
        path.replace("_", "/"): {"mode": mode, "since": "2026-11-30T14:12:00+01:00"} for path, mode in modes.items()
    }


def turned(start, *switches):
    for path, mode in switches:
        start = switched(start, path, mode, "2026-11-30T15:00:00+01:00")
    return {path: entry["mode"] for path, entry in start.items()}


@pytest.mark.parametrize(
    "path, by",
    [
        ("/w/app", "/w/app"),
        ("/w/app/src/deep", "/w/app"),
        ("/w/app/", "/w/app"),
        ("/w/app/src/..", "/w/app"),
        ("/w/app/blog", None),
        ("/w/app/blog/posts", None),
        ("/w/app/blog/drafts/1", "/w/app/blog/drafts"),
        ("/w/application", None),
        ("/w", None),
        ("/", None),
        ("relative", None),
        (None, None),
    ],
)
def test_the_nearest_entry_holds_for_a_folder_and_all_below(path, by):
    assert off_by(table(_w_app=OFF, _w_app_blog=ON, _w_app_blog_drafts=OFF), path) == by


def test_the_root_can_be_off_and_a_folder_in_it_on():
    everything = {"/": table(_w=OFF)["/w"], "/w": table(_w=ON)["/w"]}

    assert (off_by(everything, "/home/x"), off_by(everything, "/w/app")) == ("/", None)


def test_on_leaves_no_entry_where_nothing_above_is_off():
    assert turned({}, ("/w", OFF), ("/w", ON)) == {}
    assert turned({}, ("/w", ON)) == {}
    assert turned({}, ("/w", OFF), ("/w/app", ON)) == {"/w": OFF, "/w/app": ON}


def test_off_is_kept_when_a_folder_above_it_is_switched_on_again():
    assert turned({}, ("/w", OFF), ("/w/app", OFF), ("/w", ON)) == {"/w/app": OFF}


def test_switching_twice_keeps_the_first_instant():
    first = table(_w=OFF)

    assert switched(first, "/w", OFF, "later") == first


def test_a_table_comes_back_from_its_file(tmp_path):
    path = tmp_path / "folders.json"
    given = table(_w=OFF) | {"/caf\udce9 – 飞书": {"mode": ON, "since": "x"}}
    path.write_bytes(render(given))

    assert read(str(path)) == given
    assert read(str(tmp_path / "none")) == {}


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"{}", b'{"folders": []}', b'{"folders": {"/w": "off"}}', b"\xff",
            b'{"folders": {"/w": {"mode": "of", "since": "x"}}}', b'{"folders": {"w": {"mode": "off", "since": "x"}}}'],
)  # fmt: skip
def test_a_file_that_nobody_of_ours_wrote_lets_nothing_be_stored(tmp_path, raw):
    path = tmp_path / "folders.json"
    path.write_bytes(raw)
    folders = Folders(str(path))
    with pytest.raises(ValueError):
        parse(raw)
    with pytest.raises(Unavailable, match="mended or removed"):
        folders.is_off("/w")

    path.write_bytes(render(table(_w=OFF)))
    assert folders.is_off("/w/app") is True


def test_a_change_of_the_file_holds_at_the_next_question(tmp_path):
    path = tmp_path / "folders.json"
    folders = Folders(str(path))
    seen = [folders.is_off("/w/app")]
    for given in (table(_w=OFF), table(_x=OFF), table(_w=OFF)):
        other = tmp_path / "new"
        other.write_bytes(render(given))
        other.rename(path)
        seen.append(folders.is_off("/w/app"))
    path.unlink()
    seen.append(folders.is_off("/w/app"))

    assert seen == [False, True, False, True, False]


def test_one_of_several_places_is_enough(tmp_path):
    path = tmp_path / "folders.json"
    path.write_bytes(render(table(_w=OFF)))

    assert Folders(str(path)).is_off(None, "/x", "/w") and not Folders(str(path)).is_off(None, "/x")
