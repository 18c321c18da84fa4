"""Where else something that is to be forgotten may lie."""

from aimemory.datadir import DataDir
from aimemory.upkeep.purge.places import archives
from aimemory.wiki.mendplace import SET_ASIDE


def test_archives_and_repositories_that_were_set_aside_are_named(tmp_path):
    data = DataDir(tmp_path)
    assert archives(data) == []
    (data.backups / f"{SET_ASIDE}20260101T000000Z" / "objects").mkdir(parents=True)
    (data.backups / "aimemory-x.tar.gz").touch()

    assert [path.name for path in archives(data)] == ["aimemory-x.tar.gz", f"{SET_ASIDE}20260101T000000Z"]
