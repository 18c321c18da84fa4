"""`aimemory verify`: quiet about what is right, and exact about what is not."""

import gzip
import hashlib
import json
import sqlite3

import pytest
from living import Daemon
from test_system_backup import fill, send, settle, write
from test_system_kill import Load

from aimemory.journal.segments import seal


def verify(daemon, *arguments):
    """(exit code, the report)."""
    done = daemon.cli("verify", "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def damage(report):
    return [one for one in report["findings"] if one["level"] == "damage"]


def hashes(daemon):
    """Every file but the cache and what the daemon's own life changes."""
    skip = ("cache", "logs", "lock", "socket", "endpoint")
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(daemon.data.root.rglob("*"))
        if path.is_file() and path.relative_to(daemon.data.root).parts[0] not in skip
    }


@pytest.fixture
def filled(daemon, tmp_path):
    """A memory with something of every kind, stopped."""
    fill(daemon, tmp_path / "project")
    daemon.stop()
    return daemon


@pytest.mark.promise("P12.31")
def test_a_memory_that_is_right_has_no_finding_and_nothing_is_changed(filled):
    lines = len(filled.lines())
    with max(filled.data.journal.rglob("*.jsonl")).open("ab") as newest:
        newest.write(b'{"seq":')  # a write that goes on, or that a kill cut off, and that nobody was told of
    before = hashes(filled)

    code, report = verify(filled)

    assert (code, report["findings"]) == (0, [])
    assert report["counts"]["lines"] == lines + 1 and report["counts"]["pages"] >= 7
    assert hashes(filled) == before
    assert [path.name for path in filled.data.cache.iterdir() if "tmp" in path.name] == []


def test_nothing_that_is_being_written_is_called_damage(daemon):
    with Load(daemon, 3) as load:
        assert load.enough.wait(60)
        for _ in range(3):
            write(daemon, f"Page {len(load.acknowledged)}")
            code, report = verify(daemon)
            assert (code, damage(report)) == (0, []), damage(report)
        daemon.kill()


def segment(daemon):
    (found,) = daemon.data.journal.rglob("*.jsonl")
    return found, found.read_bytes().splitlines(keepends=True)


def flip(daemon):
    path, lines = segment(daemon)
    lines[2] = lines[2].replace(b'"at":1', b'"at":2', 1)
    path.write_bytes(b"".join(lines))
    return ":3", "checksum"


def lose(daemon):
    path, lines = segment(daemon)
    path.write_bytes(b"".join(lines[:4] + lines[6:]))
    return ":5", "Lines 5 to 6 are missing"


def swap(daemon):
    path, lines = segment(daemon)
    path.write_bytes(b"".join([*lines[:4], lines[5], lines[4], *lines[6:]]))
    return ":6", "given before"


def cut_off(daemon):
    path, lines = segment(daemon)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(b"".join(lines))[:-900])
    path.unlink()
    return ".jsonl.gz", "can't be read behind line"


def twin(daemon):
    path, lines = segment(daemon)
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(b"".join(lines[:-1])))
    return ".jsonl", "differs from"


def object_gone(daemon):
    objects = sorted((daemon.data.wiki / ".git/objects").glob("??/*"))
    objects[0].unlink()
    return "wiki/.git", "missing"


def object_rotten(daemon):
    target = sorted((daemon.data.wiki / ".git/objects").glob("??/*"))[0]
    target.chmod(0o600)
    target.write_bytes(target.read_bytes()[:-3] + b"abc")
    return "wiki/.git", ""


def row_lost(daemon):
    with sqlite3.connect(daemon.data.index) as db:
        db.execute("delete from written where path like '%page-1%'")
    db.close()
    return "cache/index.sqlite3", "In table written 1 rows are missing"


def row_changed(daemon):
    with sqlite3.connect(daemon.data.index) as db:
        db.execute("update page set description = 'Another' where path like '%page-2%'")
    db.close()
    return "cache/index.sqlite3", "In table page"


def text_changed(daemon):
    with sqlite3.connect(daemon.data.index) as db:
        db.execute("update page_text set body = 'Another'")
    db.close()
    return "cache/index.sqlite3", "page_"


def garbage_index(daemon):
    raw = bytearray(daemon.data.index.read_bytes())
    raw[4096:12288] = b"\x5a" * 8192
    daemon.data.index.write_bytes(raw)
    return "cache/index.sqlite3", ""


def spool_garbage(daemon):
    (daemon.data.spool / "01796000000000000000-1-p0.json").write_text("{half")
    return "spool/01796000000000000000-1-p0.json", "not JSON"


def actor_garbage(daemon):
    daemon.data.actor_file.write_text("[]")
    return "actor.json", "not what we write"


def settings_garbage(daemon):
    daemon.data.config.write_text("[brief]\nchars = 'many'\n")
    return "config.toml", "brief"


@pytest.mark.promise("P12.32")
@pytest.mark.parametrize(
    "harm",
    [flip, lose, swap, cut_off, twin, object_gone, object_rotten, row_lost, row_changed, text_changed,
     garbage_index, spool_garbage, actor_garbage, settings_garbage],
)  # fmt: skip
def test_damage_is_named_with_file_line_and_what_to_do(filled, harm):
    where, what = harm(filled)

    code, report = verify(filled)

    assert code == 1 and not report["good"]
    found = [one for one in damage(report) if one["where"].endswith(where) and what in one["what"]]
    assert found, report["findings"]
    assert all(one["do"] for one in report["findings"])
    told = filled.cli("verify")
    assert told.returncode == 1 and where in told.stdout and "DAMAGED" in told.stdout


def test_a_damaged_journal_is_never_answered_with_the_advice_to_reindex(filled):
    flip(filled)

    _, report = verify(filled)

    assert not [one for one in damage(report) if "aimemory reindex" in one["do"]]
    assert any("Don't reindex" in one["do"] for one in report["findings"])


def test_what_a_person_or_the_next_start_settles_is_a_note(filled):
    page = filled.pages("default/_unfiled/notes/*.md")[0]
    page.write_text("---\ntitle: [open\n---\nA hand edit.\n")
    path, lines = segment(filled)
    path.write_bytes(b"".join(lines) + b'{"seq":')

    code, report = verify(filled)

    assert code == 0 and report["good"]
    name = str(page.relative_to(filled.data.root))
    notes = [one["what"] for one in report["findings"] if one["where"] == name]
    assert any("another text than HEAD" in what for what in notes)
    assert any("front matter" in what and "line" in what for what in notes)
    assert any("changed since" in one["what"] for one in report["findings"])


def test_a_page_that_somebody_let_grow_too_large_is_a_note_with_what_to_do(filled):
    page = filled.pages("default/_unfiled/notes/*.md")[0]
    page.write_bytes(b"x" * (9 << 20))

    code, report = verify(filled)

    assert code == 0 and report["good"]
    (note,) = [one for one in report["findings"] if one["where"] == str(page.relative_to(filled.data.root))]
    assert note["level"] == "note" and f"has {9 << 20} bytes" in note["what"] and "Split it" in note["what"]
    assert note["do"] == "Until then it is neither found nor committed."


def test_quick_leaves_the_rebuild_out(filled):
    row_lost(filled)

    assert verify(filled)[0] == 1
    assert verify(filled, "--quick")[0] == 0


def test_sealed_segments_are_read_too(tmp_path):
    daemon = Daemon(tmp_path, storage_segment_bytes=65536)
    try:
        daemon.start()
        send(daemon, range(600))
        settle(daemon)
        daemon.kill()
        assert seal(daemon.data.journal)

        code, report = verify(daemon)

        assert (code, report["findings"]) == (0, [])
        assert report["counts"]["lines"] == 600
    finally:
        daemon.close()


def test_without_data_it_says_so(tmp_path):
    done = Daemon(tmp_path).cli("verify")

    assert done.returncode == 2 and "no data" in done.stderr
