"""Lines of type `project`: what was filed before them moves, what was on its way follows, in whatever batches."""

import pytest

from aimemory.index.apply import apply_lines
from aimemory.index.connect import open_writer
from aimemory.index.dump import dump
from aimemory.journal.lines import Line


def event(seq, session="s", project="old"):
    data = {"id": f"o{seq}", "key": f"k{seq}", "session": session, "project": project, "kind": "prompt", "prompt": "x"}
    return Line(seq, "observation", seq, data)


LINES = [
    Line(1, "page", 1, {"op": "write", "path": "default/shop/shop.md", "version": "v1"}),
    event(2),
    Line(3, "intent", 3, {"id": "s", "session": "s", "page": "default/shop/sessions/a.md"}),
    Line(4, "done", 4, {"id": "s", "session": "s", "page": "default/shop/sessions/a.md"}),
    Line(5, "handoff", 5, {"op": "open", "handoff": "h", "session": "s", "project": "old", "page": "default/shop/h.md"}),
    Line(6, "project", 6, {"op": "rename", "project": "old", "from": "default/shop", "to": "default/store"}),
    Line(7, "project", 7, {
        "op": "move-session", "session": "s", "from": "old", "project": "new",
        "pages": {"default/store/h.md": "default/new/h.md"},
    }),
    event(8),
    event(9, session="another"),
]  # fmt: skip


@pytest.fixture
def index(tmp_path):
    made = []

    def of(*batches):
        db = open_writer(tmp_path / f"{len(made)}.sqlite3")
        made.append(db)
        for batch in batches:
            apply_lines(db, batch)
        return db

    yield of
    for db in made:
        db.close()


def test_pages_go_by_their_new_names_wherever_a_line_named_them(index):
    db = index(LINES)

    assert db.execute("select path, source from page_line").fetchall() == [
        ("default/store/store.md", "default/shop/shop.md")
    ]
    assert db.execute("select path from written").fetchall() == [("default/store/store.md",)]
    assert db.execute("select page from session where id = 's'").fetchone() == ("default/store/sessions/a.md",)
    assert db.execute("select data->>'page' from closing").fetchone() == ("default/store/sessions/a.md",)
    assert db.execute("select page, project from handoff").fetchone() == ("default/new/h.md", "new")
    assert db.execute("select data->>'page', data->>'project' from handoff_event").fetchone() == (
        "default/new/h.md", "new",
    )  # fmt: skip


@pytest.mark.promise("P9.57")
def test_a_late_event_of_a_moved_session_follows_and_others_stay(index):
    db = index(LINES)

    found = db.execute("select session, project, data->>'project' from observation order by seq").fetchall()
    assert found == [("s", "new", "new"), ("s", "new", "new"), ("another", "old", "old")]
    assert db.execute("select project from session where id = 's'").fetchone() == ("new",)


@pytest.mark.promise("P9.160")
def test_a_late_event_of_a_merged_project_follows(index):
    merge = Line(2, "project", 2, {"op": "merge", "from": "old", "project": "new", "pages": {}})
    db = index([event(1), merge, event(3, session="late")])

    assert db.execute("select distinct project, data->>'project' from observation").fetchall() == [("new", "new")]
    assert db.execute("select distinct project from session").fetchall() == [("new",)]


def test_any_cut_into_batches_gives_the_same_tables(index):
    whole = dump(index(LINES))

    for cut in range(1, len(LINES)):
        assert dump(index(LINES[:cut], LINES[cut:])) == whole
    assert dump(index(*[[line] for line in LINES])) == whole
