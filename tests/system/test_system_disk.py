"""The disk budget and the packing, by the daemon's scheduler."""

import json

import pytest
from living import Daemon, git


@pytest.mark.promise("P11.130", "P11.132")
def test_the_scheduler_packs_measures_and_warns_and_deletes_nothing(tmp_path):
    daemon = Daemon(tmp_path, storage_git_loose=50, storage_budget=1000)
    try:
        daemon.start()
        for number in range(60):  # enough objects, however few commits they come in
            daemon.post("/api/v1/page", {"title": f"Page {number}", "body": "x", "project": "_unfiled"})
        daemon.wait(
            lambda: daemon.status()["git"]["waiting"] == 0 and daemon.status()["git"]["head"], "all is committed"
        )
        wiki = daemon.data.wiki
        pages = {path: path.read_bytes() for path in daemon.pages("*/*/notes/*.md")}
        daemon.stop()
        daemon.start()
        daemon.wait(lambda: list((wiki / ".git/objects/pack").glob("*.pack")), "objects are packed")
        daemon.wait(lambda: daemon.status()["disk"], "the disk is measured")
        assert git(wiki, "fsck", "--full") == "" and git(wiki, "status", "--porcelain") == ""
        assert {path: path.read_bytes() for path in daemon.pages("*/*/notes/*.md")} == pages

        disk = daemon.status()["disk"]
        assert disk["budget"] == 1000 and disk["total"] == sum(disk["parts"].values()) > 0
        assert disk["parts"]["git"] > 0 and disk["parts"]["journal"] > 0 and disk["parts"]["wiki"] > 0
        assert any("of its budget" in problem for problem in daemon.status()["problems"])
        shown = daemon.cli("status").stdout
        assert "disk     " in shown and "journal " in shown
        found = json.loads(daemon.cli("doctor", "--json").stdout)["findings"]
        (budget,) = [one for one in found if one["check"] == "files.budget"]
        assert budget["level"] == "warning" and "git" in budget["evidence"]
    finally:
        daemon.close()
