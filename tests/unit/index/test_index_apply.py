"""Journal lines become rows: once, in order, and the same whatever the batches."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from aimemory.index.apply import BATCH_LINES, apply_lines, batches, observation_text
from aimemory.index.connect import NeedsRebuild, check, open_writer
from aimemory.index.dump import dump
from aimemory.index.events import (
    briefs_of,
    closing_of,
    counts,
    has_event_between,
    keys_after,
    known_events,
    observation,
    observations_of,
    open_closings,
    recent_observations,
    session,
    sessions,
    sessions_named,
    stored_hashes,
    unclosed_sessions,
    written,
)
from aimemory.index.ranked import Ask, signals
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.journal.lines import Line
from aimemory.model.process import Process

Observed = Callable[..., Line]


def test_observations_come_back_whole_and_by_capture_time(db: sqlite3.Connection, observed: Observed) -> None:
    late = observed(1, at_ns=300, command="make", files_written=["a.py"], failed=True, exit_code=2)
    early = observed(2, at_ns=100, prompt="add pdf export", kind="prompt")

    apply_lines(db, [late, early])

    found = read(db, observations_of("s1"))
    assert [o.seq for o in found] == [2, 1]
    assert found[0].event.prompt == "add pdf export"
    assert (found[1].event.command, found[1].event.failed, found[1].event.exit_code) == ("make", True, 2)
    assert found[1].event.files_written == ("a.py",)
    assert read(db, observation("id1")) == found[1]
    assert read(db, observation("unknown")) is None


@pytest.mark.promise("P2.51")
def test_a_key_that_is_known_is_stored_once_in_the_full_text_index_as_well(
    db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(1, key="same", prompt="zebra"), observed(2, key="same", id="id2", prompt="zebra")])
    apply_lines(db, [observed(3, key="same", id="id3", prompt="zebra")])

    found = read(db, signals("observation", [Ask("words", "observation_fts", '"zebra"')], Scope()))
    assert list(found["words"]) == [1]
    assert read(db, counts())["observations"] == 1
    row = read(db, session("s1"))
    assert row is not None and row.tools == 1
    assert check(db) == []


def test_a_batch_given_again_changes_nothing_and_the_position_never_goes_back(
    db: sqlite3.Connection, observed: Observed
) -> None:
    lines = [observed(n, session=f"s{n % 2}") for n in range(1, 9)]
    apply_lines(db, lines)
    before = dump(db)

    assert apply_lines(db, lines[:3]) == 8
    assert apply_lines(db, lines) == 8
    assert apply_lines(db, []) == 8

    assert dump(db) == before


@pytest.mark.promise("P1.52")
def test_any_cut_into_batches_gives_the_same_tables(db: sqlite3.Connection, observed: Observed) -> None:
    lines = [
        observed(1, at_ns=50, cwd=None, process={"pid": 7, "started": 8, "boot": "b/1"}),
        observed(2, at_ns=10, cwd="/b", kind="prompt", native_session="n1"),
        Line(3, "intent", 60, {"id": "s1", "session": "s1", "page": "x.md"}),
        Line(4, "done", 61, {"id": "s1", "session": "s1", "page": "x.md", "upto": 2, "handoff": "because"}),
        observed(5, at_ns=70, kind="session-end", reason="exit"), observed(6, at_ns=65, session="s2", project="p2"),
        Line(7, "intent", 80, {"id": "s1", "session": "s1", "page": "x.md"}),
        Line(8, "page", 81, {"path": "x.md", "version": "v"}), Line(10, "future", 83, {"x": 1}),
        Line(11, "brief", 82, {"session": "s2", "project": "p2", "digest": "d", "chars": 9}),
        Line(12, "project", 84, {"op": "move-session", "session": "s2", "from": "p2", "project": "p9", "pages": {}}),
        observed(13, at_ns=90, session="s2", project="p2"),
        Line(14, "page", 91, {"path": "default/old/y.md", "version": "v"}),
        Line(15, "project", 92, {"op": "rename", "project": "p1", "from": "default/old", "to": "default/new"}),
    ]  # fmt: skip
    apply_lines(db, lines)
    whole = dump(db)

    for cut in range(1, len(lines)):
        other = open_writer(":memory:")  # type: ignore[arg-type]  # SQLite's name for no file
        apply_lines(other, lines[:cut])
        apply_lines(other, lines[cut:])
        assert dump(other) == whole, cut
        other.close()


def test_a_failed_batch_leaves_nothing_behind(db: sqlite3.Connection, observed: Observed) -> None:
    apply_lines(db, [observed(1)])
    before = dump(db)

    with pytest.raises(KeyError):
        apply_lines(db, [observed(2), Line(3, "page", 3, {"op": "write"})])

    assert dump(db) == before
    assert apply_lines(db, [observed(2)]) == 2


def test_a_session_sums_its_observations_and_is_where_the_last_one_was_filed(
    db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(1, at_ns=30, project="p1", native_session="n1", cwd="/app", kind="prompt")])
    apply_lines(
        db,
        [
            observed(2, at_ns=10, project="p1", cwd="/other"),
            observed(3, at_ns=40, project="p2", kind="prompt", agent_id="sub"),
        ],
    )

    row = read(db, session("s1"))

    assert row is not None
    assert (row.project, row.native, row.cwd, row.harness) == ("p2", "n1", "/app", "codex")
    assert (row.started_at_ns, row.last_at_ns, row.first_seq, row.last_seq) == (10, 40, 1, 3)
    assert (row.prompts, row.tools) == (1, 1), "a sub-agent's prompt is nobody's request"


def test_an_end_counts_only_while_nothing_was_captured_after_it(db: sqlite3.Connection, observed: Observed) -> None:
    apply_lines(db, [observed(1, at_ns=10), observed(2, at_ns=20, kind="session-end", reason="exit")])
    ended = read(db, session("s1"))
    apply_lines(db, [observed(3, at_ns=15)])  # late, from the spool
    still = read(db, session("s1"))
    apply_lines(db, [observed(4, at_ns=30)])
    reopened = read(db, session("s1"))

    assert ended is not None and ended.has_ended and ended.end_reason == "exit"
    assert still is not None and still.has_ended
    assert reopened is not None and not reopened.has_ended


def test_a_session_runs_in_the_process_that_was_told_last(db: sqlite3.Connection, observed: Observed) -> None:
    first = {"pid": 7, "started": 8, "boot": "b/1"}
    apply_lines(db, [observed(1, process=first), observed(2, session="s2"), observed(3)])
    before = read(db, session("s1"))
    apply_lines(db, [observed(4, process=first | {"confirmed": True}), observed(5)])
    apply_lines(db, [observed(6)])

    after, other = read(db, session("s1")), read(db, session("s2"))
    assert before is not None and before.process == Process(7, 8, "b/1") and not before.process.confirmed
    assert after is not None and after.process is not None and after.process.confirmed
    assert other is not None and other.process is None
    assert read(db, observations_of("s1"))[0].event.process == Process(7, 8, "b/1")


def test_a_closed_session_is_reopened_by_a_later_event_also_by_one_during_the_closing(
    db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(1), Line(2, "intent", 0, {"id": "s1", "session": "s1", "page": "s.md", "upto": 1})])
    begun = read(db, closing_of("s1"))
    assert begun is not None and begun.done_seq is None and begun.data["page"] == "s.md"
    assert [c.session for c in read(db, open_closings())] == ["s1"]

    apply_lines(db, [Line(3, "done", 0, {"id": "s1", "session": "s1", "page": "s.md", "upto": 1})])
    closed = read(db, session("s1"))
    assert closed is not None and closed.is_closed and closed.page == "s.md"
    assert read(db, open_closings()) == [] and read(db, unclosed_sessions()) == []

    apply_lines(
        db,
        [
            Line(4, "intent", 0, {"id": "s1", "session": "s1", "page": "s.md", "upto": 1}),
            observed(5),
            Line(6, "done", 0, {"id": "s1", "session": "s1", "page": "s.md", "upto": 1}),
        ],
    )
    assert [row.id for row in read(db, unclosed_sessions("p1"))] == ["s1"]


def test_a_done_line_without_an_intent_closes_no_session(db: sqlite3.Connection, observed: Observed) -> None:
    apply_lines(db, [observed(1), Line(2, "done", 0, {"id": "a-handoff", "session": "s1"})])

    row = read(db, session("s1"))
    assert row is not None and not row.is_closed


def test_a_second_delivery_is_found_by_key_by_hash_and_by_what_lies_between(
    db: sqlite3.Connection, observed: Observed
) -> None:
    apply_lines(db, [observed(1, at_ns=100, hash="h"), observed(2, at_ns=200), observed(3, at_ns=300, hash="h")])

    assert [(k.seq, k.at_ns, k.pid) for k in read(db, known_events(["key2"], ["h"]))] == [
        (1, 100, 7),
        (2, 200, 7),
        (3, 300, 7),
    ]
    assert read(db, known_events(["key9"])) == []
    assert read(db, has_event_between("s1", 100, 300)) and not read(db, has_event_between("s1", 100, 200))
    assert read(db, keys_after("", 2)) == ["key1", "key2"] and read(db, keys_after("key2")) == ["key3"]
    assert sorted(read(db, stored_hashes())) == ["h", "hash2"]


def test_lists_are_newest_first_and_take_projects_and_kinds(db: sqlite3.Connection, observed: Observed) -> None:
    apply_lines(
        db,
        [observed(1), observed(2, session="s2", project="p2", kind="prompt"), observed(3, session="s3"), observed(4)],
    )

    assert [o.seq for o in read(db, recent_observations(["p1"], limit=2))] == [4, 3]
    assert [o.seq for o in read(db, recent_observations(["p1"], before_seq=3))] == [1]
    assert [o.seq for o in read(db, recent_observations(kinds=["prompt"]))] == [2]
    assert [s.id for s in read(db, sessions())] == ["s1", "s3", "s2"]
    assert [s.id for s in read(db, sessions(["p2"]))] == ["s2"]
    assert [s.id for s in read(db, sessions_named("s"))] == ["s1", "s3", "s2"]
    assert [s.id for s in read(db, sessions_named("s3"))] == ["s3"] and read(db, sessions_named("_3")) == []


def test_the_last_recorded_write_of_a_path_is_kept_with_its_author(db: sqlite3.Connection) -> None:
    apply_lines(
        db,
        [
            Line(1, "page", 10, {"path": "a.md", "version": "v1", "op": "write", "user": "ana", "harness": "codex"}),
            Line(2, "page", 20, {"path": "a.md", "version": "v2", "op": "write", "user": "bo"}),
            Line(3, "page", 30, {"path": "b.md", "op": "delete", "user": "bo"}),
        ],
    )

    found = read(db, written())
    assert (found["a.md"].version, found["a.md"].user, found["a.md"].harness) == ("v2", "bo", None)
    assert (found["b.md"].op, found["b.md"].version) == ("delete", None)
    assert set(read(db, written(["b.md", "c.md"]))) == {"b.md"}


def test_briefs_are_kept_and_unknown_types_are_counted(db: sqlite3.Connection) -> None:
    apply_lines(
        db,
        [
            Line(1, "brief", 5, {"session": "s1", "project": "p", "digest": "d", "chars": 12}),
            Line(2, "claim", 6, {}),
            Line(3, "claim", 7, {}),
        ],
    )

    assert [(b.seq, b.digest, b.chars) for b in read(db, briefs_of("s1"))] == [(1, "d", 12)]
    assert read(db, counts())["lines:claim"] == 2
    assert db.execute("select value from meta where key = 'applied_seq'").fetchone() == (3,)


def test_batches_are_bounded(db: sqlite3.Connection, observed: Observed) -> None:
    many = [observed(n) for n in range(1, BATCH_LINES + 2)]
    wide = [observed(n, output="x" * 3_000_000) for n in range(1, 5)]

    assert [len(batch) for batch in batches(many)] == [BATCH_LINES, 1]
    assert [len(batch) for batch in batches(wide)] == [3, 1]
    with pytest.raises(ValueError, match="at most"):
        apply_lines(db, many)


def test_what_is_searchable_of_an_observation_is_short_and_without_bulk_output() -> None:
    text = observation_text(
        {
            "tool": "Bash", "command": "pytest -q", "cwd": "/home/ana/app", "failed": True, "error": "E" * 900,
            "files_written": ["/home/ana/app/src/a.py", "/etc/hosts"], "output": "thousands of lines",
        }
    )  # fmt: skip

    assert text.splitlines()[:4] == ["pytest -q", "src/a.py", "/etc/hosts", "failed"]
    assert "thousands" not in text and len(text) < 300
    assert len(observation_text({"prompt": "p" * 5000, "message": "m"})) == 1000
    assert observation_text({"tool": "Read", "files_read": ["b.py"]}) == "Read\nb.py"
    assert observation_text({}) == ""


def test_a_damaged_file_asks_for_a_rebuild_when_a_batch_meets_the_damage(path: Path, observed: Observed) -> None:
    whole = open_writer(path)
    apply_lines(whole, [observed(n, prompt=f"word{n}", output="o" * 3000) for n in range(1, 200)])
    whole.close()
    with path.open("r+b") as file:
        half = path.stat().st_size // 2
        file.seek(half)
        file.write(b"\xa5" * half)

    db = open_writer(path)
    with pytest.raises(NeedsRebuild, match="reindex"):
        apply_lines(db, [observed(n, prompt=f"word{n}") for n in range(200, 400)])
    db.close()
