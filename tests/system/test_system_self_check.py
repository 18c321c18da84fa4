"""The self-check on a real daemon: after a kill it runs by itself, says what it found, and mends a cache."""

import json
import sqlite3
from contextlib import closing

import pytest
from ledger import Ledger
from living import Daemon


@pytest.mark.promise("P12.104", "P12.105")
def test_after_a_kill_all_is_verified_and_an_index_with_wrong_rows_is_built_anew(tmp_path):
    daemon = Daemon(tmp_path, storage_verify_hours=24)
    try:
        daemon.start()
        ledger = Ledger(daemon)
        assert ledger.event()
        path = ledger.write("A page", "the word is amaryllis")
        ledger.settle()
        assert daemon.status()["self_check"]["last_at"] is None
        daemon.kill()
        with closing(sqlite3.connect(daemon.data.index)) as db:  # damage that SQLite can't see
            db.execute("update page set title = 'Another title' where path = ?", (path,))
            db.commit()
        daemon.start()

        check = daemon.wait(lambda: is_checked(daemon), "it is verified, mended, and verified again", 60)

        assert check["problems"] == 0
        assert any("self-check" in what for what in daemon.status()["index"]["damage"])
        with closing(sqlite3.connect(f"file:{daemon.data.index}?mode=ro", uri=True)) as db:
            assert db.execute("select title from page where path = ?", (path,)).fetchone() == ("A page",)
        shown = daemon.cli("status")
        assert f"last verified {check['last_at']}, 0 problems" in shown.stdout
        found = json.loads(daemon.cli("doctor", "--json", "--no-test").stdout)["findings"]
        assert [one["level"] for one in found if one["check"] == "daemon.self_check"] == ["ok"]
        ledger.check()
    finally:
        daemon.close()


def is_checked(daemon):
    check = daemon.status()["self_check"]
    return check if check["problems"] == 0 and not check["running"] else None
