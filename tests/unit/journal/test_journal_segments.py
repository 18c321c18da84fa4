"""Appending: one sequence over all segments, nothing acknowledged is lost, nothing torn is kept."""

import errno
import os

import pytest

from aimemory import datadir
from aimemory.errors import Unavailable
from aimemory.journal.lines import GONE, decode, encode, encode_data
from aimemory.journal.replay import replay
from aimemory.journal.segments import Journal, find_segments, seal

NOVEMBER = 1_796_000_000_000_000_000
MONTH_NS = 31 * 86_400_000_000_000


def line(text="x"):
    return ("observation", 5, encode_data({"text": text}))


def opened(root, *, segment_bytes=1 << 20, now=NOVEMBER):
    journal = Journal(root, segment_bytes, lambda: now)
    journal.open()
    return journal


def seqs(root, after=0):
    return [found.seq for found in replay(root, after)]


def test_numbers_go_on_over_restarts_and_segments(tmp_path):
    first = opened(tmp_path, segment_bytes=100)
    assert first.append([line(), line()]) == [1, 2]
    assert first.append([line()]) == [3]
    first.close()

    second = opened(tmp_path, segment_bytes=100)
    assert second.append([line()]) == [4]
    second.close()

    assert seqs(tmp_path) == [1, 2, 3, 4]
    assert len(find_segments(tmp_path)) > 1


def test_a_segment_lies_in_the_folder_of_its_month(tmp_path):
    journal = opened(tmp_path)
    journal.append([line()])
    journal.close()

    assert (tmp_path / "2026" / "11" / "0001.jsonl").is_file()


def test_a_clock_that_goes_back_keeps_the_order(tmp_path):
    later = opened(tmp_path, now=NOVEMBER + MONTH_NS)
    later.append([line("first")])
    later.close()
    earlier = opened(tmp_path, now=NOVEMBER, segment_bytes=10)
    earlier.append([line("second")])
    earlier.close()

    assert [found.data["text"] for found in replay(tmp_path)] == ["first", "second"]


@pytest.mark.promise("P2.2")
def test_a_torn_write_is_cut_off_and_the_rest_kept(tmp_path):
    journal = opened(tmp_path)
    journal.append([line("kept")])
    journal.close()
    path = find_segments(tmp_path)[0].path
    with path.open("ab") as file:
        file.write(b'{"seq":2,"v":1,"type":"observation","at":5,"da')

    again = opened(tmp_path)

    assert again.torn_bytes == 46
    assert again.append([line("next")]) == [2]
    again.close()
    assert [found.data["text"] for found in replay(tmp_path)] == ["kept", "next"]


def test_damage_in_the_middle_is_named_and_the_lines_around_it_are_used(tmp_path):
    journal = opened(tmp_path)
    journal.append([line("one"), line("two"), line("three")])
    journal.close()
    path = find_segments(tmp_path)[0].path
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"tvo"'))
    named = []

    found = [x.data["text"] for x in replay(tmp_path, on_damage=named.append)]

    assert found == ["one", "three"]
    assert named == ["2026/11/0001.jsonl line 2: checksum does not match"]
    again = opened(tmp_path)
    assert again.append([line("four")]) == [4]
    again.close()


def test_a_full_disk_stores_nothing_and_says_so(tmp_path, monkeypatch):
    journal = opened(tmp_path)
    journal.append([line("before")])

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(datadir, "sync_fd", full)
        with pytest.raises(Unavailable, match="No space left"):
            journal.append([line("lost")])

    assert journal.append([line("after")]) == [2]
    journal.close()
    assert [found.data["text"] for found in replay(tmp_path)] == ["before", "after"]


def test_when_not_even_the_cut_works_a_new_segment_is_begun(tmp_path, monkeypatch):
    journal = opened(tmp_path)
    journal.append([line("before")])

    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(datadir, "sync_fd", broken)
        patched.setattr(os, "ftruncate", broken)
        with pytest.raises(Unavailable):
            journal.append([line("unsure")])

    (seq,) = journal.append([line("after")])
    journal.close()
    assert seq == 3
    assert len(find_segments(tmp_path)) == 2
    assert [found.data["text"] for found in replay(tmp_path)][-1] == "after"


def test_sealed_segments_read_as_before(tmp_path):
    journal = opened(tmp_path, segment_bytes=100)
    for text in ("a", "b", "c"):
        journal.append([line(text * 50)])
    before = list(replay(tmp_path))

    made = seal(tmp_path)

    assert len(made) == 2
    assert list(replay(tmp_path)) == before
    assert journal.append([line("d")]) == [4]
    journal.close()
    assert seqs(tmp_path) == [1, 2, 3, 4]


def test_a_crash_between_compressing_and_removing_doubles_nothing(tmp_path):
    journal = opened(tmp_path, segment_bytes=10)
    journal.append([line("a")])
    journal.append([line("b")])
    plain = find_segments(tmp_path)[0].path
    kept = plain.read_bytes()
    seal(tmp_path)
    plain.write_bytes(kept)

    assert seqs(tmp_path) == [1, 2]
    seal(tmp_path)
    assert not plain.exists()
    journal.close()


def test_replay_starts_behind_the_given_line(tmp_path):
    journal = opened(tmp_path, segment_bytes=200)
    for _ in range(10):
        journal.append([line()])
    journal.close()

    assert seqs(tmp_path, after=7) == [8, 9, 10]
    assert seqs(tmp_path, after=10) == []


def _long(root, lines=3000, chars=400):
    journal = opened(root, segment_bytes=1 << 30)
    journal.append([line(f"{number:0{chars}}") for number in range(1, lines + 1)])
    journal.close()
    return find_segments(root)[0].path


def _counted(monkeypatch):
    decoded = []
    for module in ("replay", "segments"):
        monkeypatch.setattr(f"aimemory.journal.{module}.decode", lambda raw: decoded.append(raw) or decode(raw))
    return decoded


@pytest.mark.promise("P2.70")
def test_the_newest_lines_are_found_without_reading_those_before(tmp_path, monkeypatch):
    path = _long(tmp_path)
    decoded = _counted(monkeypatch)

    journal = opened(tmp_path)
    journal.close()

    assert journal.next_seq == 3001
    assert seqs(tmp_path, after=2990) == list(range(2991, 3001))
    assert seqs(tmp_path, after=3000) == []

    assert sum(map(len, decoded)) < path.stat().st_size / 2


def test_replay_gives_the_same_wherever_it_begins(tmp_path):
    """Damaged lines, lines longer than a step, and one that stands for others lie around the beginnings."""
    path = _long(tmp_path, lines=1500)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[700:900] = [encode(701, GONE, 5, encode_data({"to": 900}))]
    lines[300] = lines[300].replace(b"0", b"1", 1)
    for at in (299, 1200):
        lines[at] = encode(decode(lines[at]).seq, "observation", 5, encode_data({"text": "x" * 200_000}))
    for at in range(400, 640):
        lines[at] = b"x" + lines[at]
    path.write_bytes(b"".join(lines))
    whole = list(replay(tmp_path))

    for after in [*range(1, 1500, 83), 299, 300, 301, 302, 639, 640, 641, 700, 701, 702, 899, 900, 901, 1400, 1500]:
        damage = []
        assert list(replay(tmp_path, after, damage.append)) == [x for x in whole if x.seq > after]
        assert not [what for what in damage if "missing" in what]


def test_damage_behind_the_beginning_is_named_by_its_line(tmp_path):
    path = _long(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2899] = b"x" + lines[2899]
    del lines[2949]
    path.write_bytes(b"".join(lines))
    named = []

    list(replay(tmp_path, 2800, named.append))

    assert named == [
        "2026/11/0001.jsonl line 2900: checksum does not match",
        "lines 2950 to 2950 are missing before 2026/11/0001.jsonl line 2950",
    ]


@pytest.mark.promise("P2.6")
def test_the_newest_segment_is_never_sealed_whoever_is_writing_in_it(tmp_path):
    """Seen: a seal that was called before the first line took the segment that this line had just begun."""
    journal = opened(tmp_path)
    journal.append([line(), line()])

    assert seal(tmp_path) == []

    assert journal.append([line()]) == [3]
    journal.close()
    assert seqs(tmp_path) == [1, 2, 3]


def test_a_newest_segment_that_is_compressed_still_gives_the_next_number(tmp_path):
    journal = opened(tmp_path, segment_bytes=10)
    journal.append([line(), line()])
    journal.append([line()])
    journal.close()
    seal(tmp_path)
    find_segments(tmp_path)[-1].path.unlink()

    again = opened(tmp_path)

    assert again.append([line()]) == [3]
    again.close()
