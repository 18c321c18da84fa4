"""Names in the wiki that only a person can put right."""

from types import SimpleNamespace

from aimemory.datadir import DataDir
from aimemory.doctor.names import check_names


def levels(data, status=None):
    situation = SimpleNamespace(config=SimpleNamespace(data=data), status=status)
    return {finding.check: (str(finding.level), finding.evidence) for finding in check_names(situation)}


def test_conflict_files_twins_and_kept_texts_are_named(tmp_path):
    data = DataDir(tmp_path)
    notes = data.wiki / "default" / "app" / "notes"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("a")
    (data.wiki / ".git").mkdir()
    assert levels(data) == {"wiki.names": ("ok", str(data.wiki))}

    (notes / "a.sync-conflict-20261130-173636-D4LGQYW.md").write_text("b")
    (notes / "b (Ada's conflicted copy 2026-11-30).md").write_text("b")
    (notes / "A.md").write_text("twin")
    (notes / "Café.md").write_text("composed")
    (notes / "Cafe\u0301.md").write_text("decomposed")
    data.conflicts.mkdir()
    (data.conflicts / "1f2e.txt").write_text("{}\n")

    found = levels(data)
    assert found["wiki.conflict-files"][0] == "warning" and "sync-conflict" in found["wiki.conflict-files"][1]
    assert "conflicted copy" in found["wiki.conflict-files"][1]
    same = found["wiki.names"][1]
    assert (
        "default/app/notes/A.md and default/app/notes/a.md" in same and "Café.md" in same and same.count(" and ") == 2
    )
    assert found["wiki.conflicts"][0] == "note" and "wiki.conflicts" not in levels(data, status={})
