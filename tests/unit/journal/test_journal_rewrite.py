"""Taking lines out of segments: the sequence stays whole, damage stays as it is, doing it again changes nothing."""

import gzip

import pytest

from aimemory.journal.lines import decode, encode_data
from aimemory.journal.replay import replay
from aimemory.journal.rewrite import rewrite, survey
from aimemory.journal.segments import Journal, seal

AT = 1_796_000_000_000_000_000


def journal(folder, *counts):
    """Segments with so many lines each, numbered texts."""
    made = Journal(folder, 1 << 20, lambda: AT)
    for count in counts:
        made.open() if made.next_seq == 1 else made.leave_segment()
        for _ in range(count):
            made.append([("note", AT, encode_data({"text": f"line {made.next_seq}"}))])
    return made


def without(*numbers):
    return lambda line: None if line.seq in numbers else line.data


def everything(raw):
    return True


def told(folder):
    damage = []
    lines = [(line.seq, line.type, line.data) for line in replay(folder, 0, damage.append)]
    return lines, damage


@pytest.mark.parametrize("sealed", [False, True])
def test_runs_that_go_leave_one_line_each_and_no_reader_misses_a_number(tmp_path, sealed):
    made = journal(tmp_path, 6, 2)
    if sealed:
        seal(tmp_path)

    done = rewrite(tmp_path, 7, 7, AT + 1, without(1, 2, 4), everything)

    assert (done.lines, done.changed, done.segments) == ({"note": 3}, {}, 1)
    lines, damage = told(tmp_path)
    assert damage == []
    assert [(seq, kind) for seq, kind, _ in lines] == [
        (1, "gone"), (3, "note"), (4, "gone"), (5, "note"), (6, "note"), (7, "note"), (8, "note"),
    ]  # fmt: skip
    assert lines[0][2] == {"to": 2, "purge": 7} and lines[2][2] == {"to": 4, "purge": 7}
    assert [line.seq for line in replay(tmp_path, 4)] == [5, 6, 7, 8]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl*")}
    assert rewrite(tmp_path, 7, 7, AT + 2, without(1, 2, 4), everything).segments == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl*")} == before
    made.close()


def test_a_segment_of_which_nothing_is_left_still_accounts_for_its_numbers(tmp_path):
    journal(tmp_path, 3).close()

    rewrite(tmp_path, 4, 4, AT, without(1, 2, 3), everything)

    again = Journal(tmp_path, 1 << 20, lambda: AT)
    again.open()
    assert again.next_seq == 4
    again.close()


def test_changed_lines_have_a_checksum_of_their_own_and_what_is_not_asked_about_is_not_read(tmp_path):
    journal(tmp_path, 3).close()
    change = lambda line: {"text": "[redacted]"} if line.seq == 2 else line.data  # noqa: E731

    assert survey(tmp_path, change, lambda raw: b"line 3" in raw).changed == {}
    assert rewrite(tmp_path, 4, 4, AT, change, lambda raw: b"line 2" in raw).changed == {"note": 1}

    (file,) = tmp_path.rglob("*.jsonl")
    assert [decode(raw).data["text"] for raw in file.read_bytes().splitlines()] == ["line 1", "[redacted]", "line 3"]


def test_damaged_lines_stay_and_torn_ones_and_plain_twins_go(tmp_path):
    journal(tmp_path, 4, 1).close()
    first = min(tmp_path.rglob("*.jsonl"))
    rows = first.read_bytes().splitlines(keepends=True)
    rows[1] = rows[1].replace(b"line 2", b"line X")
    first.write_bytes(b"".join(rows) + b'{"seq":9,"torn')
    twin = first.with_suffix(".jsonl.gz")
    twin.write_bytes(gzip.compress(first.read_bytes()))

    rewrite(tmp_path, 5, 5, AT, without(1), everything)

    assert not first.exists()
    assert gzip.decompress(twin.read_bytes()).splitlines(keepends=True)[1:] == rows[1:]


def test_segments_that_begin_later_are_left_alone(tmp_path):
    journal(tmp_path, 2, 2).close()

    assert rewrite(tmp_path, 3, 3, AT, without(2, 3, 4), everything).lines == {"note": 1}
    assert [line.seq for line in replay(tmp_path) if line.type == "note"] == [1, 3, 4]
