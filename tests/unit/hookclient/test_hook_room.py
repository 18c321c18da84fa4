"""The bounds of the spool: what goes first, what is counted, and that nobody has to list a large folder for it."""

import json
from pathlib import Path

import pytest

from aimemory.hookclient.room import Limits, add_counts, make_room, write_durable
from aimemory.model.spool import file_name

DAY_NS = 86_400 * 10**9
NOW_NS = 1_800_000_000 * 10**9
LIMITS = Limits(limit_bytes=1000, age_days=30, counts=".dropped")


def spool(folder: Path, kind: str, *, size: int, at_ns: int = NOW_NS, rand: str = "0") -> str:
    """Write one file the way the client does: room first, then the file."""
    assert make_room(str(folder), size, "PostToolUse", NOW_NS, LIMITS)
    name = file_name(at_ns, 7, kind, rand)
    write_durable(f"{folder}/{name}", b"x" * size)
    return name


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("[0-9]*.json")}


def dropped(folder: Path) -> dict[str, int]:
    return dict(json.loads((folder / ".dropped").read_text()))


@pytest.mark.promise("P3.4")
def test_oldest_tool_events_are_forced_out_first_and_prompts_stay(tmp_path: Path) -> None:
    prompt = spool(tmp_path, "prompt", size=200, at_ns=NOW_NS - 5)
    spool(tmp_path, "tool", size=300, at_ns=NOW_NS - 4)
    end = spool(tmp_path, "end", size=200, at_ns=NOW_NS - 3)
    newer = spool(tmp_path, "tool", size=200, at_ns=NOW_NS - 2)
    last = spool(tmp_path, "prompt", size=200, at_ns=NOW_NS - 1)
    assert names(tmp_path) == {prompt, end, newer, last}
    assert dropped(tmp_path) == {"tool": 1}


@pytest.mark.promise("P3.4")
def test_prompts_go_when_nothing_else_is_left_and_are_counted(tmp_path: Path) -> None:
    spool(tmp_path, "prompt", size=500, at_ns=NOW_NS - 2)
    second = spool(tmp_path, "prompt", size=400, at_ns=NOW_NS - 1)
    third = spool(tmp_path, "prompt", size=500)
    assert names(tmp_path) == {second, third}
    assert dropped(tmp_path) == {"prompt": 1}


def test_spool_never_exceeds_its_bound(tmp_path: Path) -> None:
    for number in range(200):
        spool(tmp_path, ("tool", "prompt", "end", "other")[number % 4], size=10 + number, rand=f"{number:x}")
        assert sum(path.stat().st_size for path in tmp_path.glob("[0-9]*.json")) <= LIMITS.limit_bytes


def test_what_fits_forces_nothing_out(tmp_path: Path) -> None:
    spool(tmp_path, "tool", size=500, rand="0")
    spool(tmp_path, "tool", size=500, rand="1")
    assert len(names(tmp_path)) == 2 and not (tmp_path / ".dropped").exists()


def test_event_above_the_whole_bound_is_counted_and_forces_nothing_out(tmp_path: Path) -> None:
    kept = spool(tmp_path, "tool", size=900)
    assert not make_room(str(tmp_path), 1001, "UserPromptSubmit", NOW_NS, LIMITS)
    assert names(tmp_path) == {kept} and dropped(tmp_path) == {"prompt": 1}


def test_what_is_older_than_the_bound_goes_with_the_daily_look(tmp_path: Path) -> None:
    spool(tmp_path, "prompt", size=10, at_ns=NOW_NS - 31 * DAY_NS)
    young = spool(tmp_path, "tool", size=10, at_ns=NOW_NS - 20 * DAY_NS)
    assert len(names(tmp_path)) == 2
    assert make_room(str(tmp_path), 10, "Stop", NOW_NS + DAY_NS, LIMITS)
    assert names(tmp_path) == {young} and dropped(tmp_path) == {"prompt": 1}


def test_drained_files_make_room_again(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / spool(tmp_path, "prompt", size=400, rand=f"{number}")).unlink()
    assert not (tmp_path / ".dropped").exists()


@pytest.mark.parametrize("content", [b"", b"not json", b"[1]", b'{"a":1}'])
def test_damaged_tally_is_counted_anew(tmp_path: Path, content: bytes) -> None:
    spool(tmp_path, "tool", size=600)
    (tmp_path / ".tally").write_bytes(content)
    spool(tmp_path, "prompt", size=600)
    assert dropped(tmp_path) == {"tool": 1}


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"x" * 5000)
    (tmp_path / ".start-attempt").write_bytes(b"1")
    spool(tmp_path, "tool", size=900)
    assert {"notes.txt", ".start-attempt"} < {path.name for path in tmp_path.iterdir()}


def test_counts_add_up_and_survive_damage(tmp_path: Path) -> None:
    add_counts(str(tmp_path), ".rejected", {"400": 1})
    add_counts(str(tmp_path), ".rejected", {"400": 2, "413": 1})
    assert json.loads((tmp_path / ".rejected").read_text()) == {"400": 3, "413": 1}
    (tmp_path / ".rejected").write_text("[")
    add_counts(str(tmp_path), ".rejected", {"400": 1})
    assert json.loads((tmp_path / ".rejected").read_text()) == {"400": 1}


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(OSError):
        write_durable(f"{tmp_path}/target", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.parametrize("damage", ['{"tool": 1e999}', "[1e999, 0]", '{"tool": null}', "[[], 1]", "{", "\\x00"])
def test_damaged_counts_and_a_damaged_tally_begin_anew(tmp_path: Path, damage: str) -> None:
    for name in (".dropped", ".tally"):
        (tmp_path / name).write_text(damage)
    spool(tmp_path, "tool", size=600, rand="0")
    last = spool(tmp_path, "tool", size=600, rand="1")

    assert names(tmp_path) == {last}
    assert dropped(tmp_path) == {"tool": 1}
