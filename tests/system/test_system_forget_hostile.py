"""Forgetting where everything is against it: odd words, namesakes, failing disks, kills, backups, listings."""

import json

import pytest
from living import Daemon, all_bytes, git, repository
from pointed import Pointed
from test_system_forget import committed, forget, holds, is_right, work, write

from aimemory.config import load_config
from aimemory.errors import Unavailable
from aimemory.model.protocols import SystemClock
from aimemory.model.scope import Actor
from aimemory.upkeep.backup.make import Wanted, make_backup


@pytest.fixture
def shop(daemon, tmp_path):
    where = repository(tmp_path / "falcon", remote="git@github.com:acme/falcon.git")
    daemon.event("generic", "note", {"session_id": "s0", "text": "this is the shop", "cwd": str(where)})
    return where


@pytest.mark.promise("P10.230", "P10.236")
def test_a_text_that_names_folders_breaks_nothing_that_is_called_so(daemon, shop):
    work(daemon, shop)
    page = daemon.post("/api/v1/page", {"title": "Bulbs", "body": "the bulbs", "project": "falcon"})["path"]
    notes = daemon.data.wiki / "default/falcon/notes"
    (notes / "wide.md").write_text("of Zebra-crossing 9\n", encoding="utf-16")
    (notes / "lower.md").write_text("of zebra_crossing 9\n")
    daemon.event("generic", "note", {"session_id": "n", "text": "a Zebra-crossing 9 here", "cwd": str(shop)})
    daemon.wait(lambda: daemon.search("zebra_crossing", observations=False), "the hand edit")
    committed(daemon)
    before = daemon.cli("history", page).stdout
    assert "by hand" not in before

    for word in ("falcon", "default", "notes", "2026"):
        status, _, answer = daemon.request("POST", "/api/v1/forget", {"what": "text", "name": word, "apply": True})
        assert status in (200, 404), answer
    for signs in ("---\n", ":   ", "----", "]]: -"):
        status, _, answer = daemon.request("POST", "/api/v1/forget", {"what": "text", "name": signs, "apply": True})
        assert status == 400 and b"letters or digits" in answer, signs
    receipt = forget(daemon, "text", "Zebra-crossing 9")

    named = [place for place in receipt["other_forms"] if place.startswith("wiki/default")]
    assert named == ["wiki/default/falcon/notes/lower.md", "wiki/default/falcon/notes/wide.md"]
    assert daemon.cli("history", page).stdout.split()[-1] == before.split()[-1]
    assert not [x for x in daemon.lines("audit") if "wide" not in str(x) and "lower" not in str(x)]
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "it is level")
    assert daemon.event("generic", "note", {"session_id": "n", "text": "goes on", "cwd": str(shop)})[0] == 202
    assert [path.name for path in daemon.data.wiki.glob("default/*/*.md")] == ["falcon.md"]
    assert all(path.read_bytes().startswith(b"---\n") for path in daemon.pages("*/*/[sh]*s/**/*.md"))
    is_right(daemon)


@pytest.mark.promise("P10.232", "P10.239")
def test_listings_and_their_past_versions_lose_what_is_forgotten_and_go_on(tmp_path):
    daemon = Daemon(tmp_path, wiki_listing_seconds=1)
    try:
        daemon.start()
        where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
        session = work(daemon, where, prompt="plant the amaryllis-9Q in the northern bed")
        page = write(daemon, "The begonia plan", "short\n")
        index = daemon.data.wiki / "default/shop/index.md"
        daemon.wait(lambda: index.exists() and {"amaryllis", "begonia"} <= words(index), "the listing")
        committed(daemon)

        assert "begonia" in corrected(daemon)
        assert forget(daemon, "session", session, history=True)["found"] == {} and not holds(daemon)
        assert forget(daemon, "page", page["path"], history=True)["found"] == {} and not holds(daemon, "begonia")
        assert "begonia" not in corrected(daemon)
        write(daemon, "The crocus", "short\n")
        daemon.wait(lambda: "crocus" in words(index), "the listing goes on")
        forget(daemon, "text", "crocus", history=True)
        write(daemon, "The dahlia", "short\n")
        daemon.wait(lambda: "dahlia" in words(index), "the listing goes on after a text, too")
        assert not holds(daemon, "crocus")
        is_right(daemon)
    finally:
        daemon.close()


def corrected(daemon):
    """What a search for a misspelt word says."""
    daemon.level()
    return json.dumps(daemon.post("/api/v1/search", {"query": "begonja", "project": "*"}))


def words(path):
    return {word for word in ("amaryllis", "begonia", "crocus", "dahlia") if word in path.read_text()}


@pytest.fixture
def pointed(tmp_path):
    made = Pointed(tmp_path)
    made.start()
    yield made
    made.close()


@pytest.mark.promise("P10.233", "P10.234")
def test_what_a_kill_leaves_goes_too_and_is_nobodys_hand_edit(pointed, tmp_path):
    daemon, where = pointed, repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    work(daemon, where)
    word = "begonia-Zq7"
    page = write(daemon, f"Bulbs {word}", f"the {word} is here\n")["path"]
    committed(daemon)
    daemon.arm("backup.written")
    daemon.command_dies("backup", "make")
    assert list(daemon.data.backups.iterdir())
    daemon.arm("file.temp-synced")  # what was decided is not decided yet, so nothing is to be finished
    with pytest.raises((OSError, IndexError, ValueError)):
        forget(daemon, "text", word, history=True)
    daemon.dies()
    assert list(daemon.data.private.glob(".aimemory-tmp-*")) and not daemon.data.purge_pending.exists()
    daemon.start()
    assert not list(daemon.data.private.glob(".aimemory-tmp-*"))
    daemon.arm("file.temp-synced", nth=2)  # what was decided is written once more, with the begun line's number
    with pytest.raises((OSError, IndexError, ValueError)):
        forget(daemon, "text", word, history=True)
    daemon.dies()
    assert word.encode() in b"".join(path.read_bytes() for path in daemon.data.private.glob(".aimemory-tmp-*"))
    daemon.start()
    daemon.wait(lambda: not daemon.data.purge_pending.exists(), "the purge is finished")

    assert not holds(daemon, word) and not list(daemon.data.backups.iterdir())

    daemon.arm("page.moved")
    with pytest.raises((OSError, IndexError, ValueError)):
        forget(daemon, "text", "Bulbs")
    daemon.dies()
    assert not (daemon.data.wiki / page).exists()
    daemon.start()
    daemon.wait(lambda: not daemon.data.purge_pending.exists(), "the purge is finished")
    session = daemon.pages()[0].relative_to(daemon.data.wiki).as_posix()
    daemon.arm("page.removed")
    with pytest.raises((OSError, IndexError, ValueError)):
        forget(daemon, "page", session)
    daemon.dies()
    daemon.start()
    daemon.wait(lambda: not daemon.data.purge_pending.exists(), "the purge is finished")
    committed(daemon)
    assert daemon.lines("audit") == []
    assert "by hand" not in git(daemon.data.wiki, "log", "--format=%s%b")
    is_right(daemon)


@pytest.mark.promise("P10.235")
def test_a_disk_that_fails_in_the_middle_is_said_and_the_rest_follows_without_a_restart(pointed, tmp_path):
    daemon, where = pointed, repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    work(daemon, where)
    write(daemon, "Bulbs", "the amaryllis-9Q is here\n")
    committed(daemon)
    for point in ("purge.decided", "rebuild.built"):
        daemon.arm(point, "ENOSPC", times=1)
        done = daemon.cli("forget", "text", "amaryllis-9Q", "--apply")
        daemon.disarm()
        assert done.returncode == 75 and "No space left" in done.stderr
        if point == "purge.decided":
            assert "Nothing was taken out" in done.stderr and not daemon.data.purge_pending.exists()
            assert holds(daemon) and daemon.status()["problems"] == []
    assert "only partly taken out" in daemon.status()["problems"][0]
    assert daemon.cli("forget", "text", "amaryllis-9Q", "--apply").returncode == 75
    daemon.wait(lambda: not daemon.data.purge_pending.exists(), "it is finished without help", 120)
    daemon.wait(lambda: daemon.status()["problems"] == [], "and no longer complained of")
    assert b"amaryllis-9Q" not in b"".join(path.read_bytes() for path in daemon.data.journal.rglob("*.jsonl"))


@pytest.mark.promise("P10.237", "P10.238")
def test_a_backup_does_not_bring_back_what_was_forgotten_without_saying_so(pointed, tmp_path):
    daemon, where = pointed, repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    session = work(daemon, where, prompt="plant the amaryllis-9Q in the northern bed")
    page = write(daemon, "Bulbs", "The word of the bulbs is begonia-9Q for sure.\n")["path"]
    committed(daemon)
    made = daemon.cli("backup", "--json")
    archive = json.loads(made.stdout)["file"]
    shown = daemon.cli("forget", "session", session, "--history")
    assert "commits of git's history" in shown.stdout and "get new ids" in shown.stdout
    head = daemon.status()["git"]["head"]
    receipt = forget(daemon, "session", session, history=True)
    assert daemon.status()["git"]["head"] == git(daemon.data.wiki, "rev-parse", "HEAD").strip() != head
    forget(daemon, "page", page)
    assert any(archive.rpartition("/")[2] in one for one in receipt["remains"])

    daemon.cli("down")
    daemon.process.wait(20)
    daemon.process = None
    done = daemon.cli("backup", "restore", archive, "--apply")

    assert f"aimemory forget session {session} --apply" in done.stdout
    assert "aimemory forget page" in done.stdout and page in done.stdout
    daemon.data.down_marker.unlink()
    daemon.start()
    daemon.wait(lambda: daemon.search("amaryllis-9Q"), "it is back")
    daemon.wait(lambda: [x for x in daemon.lines("audit") if x["data"].get("brought_back")], "the audit says so")
    receipt = forget(daemon, "session", session, history=True, backups=True)
    assert any("before-restore" in one for one in receipt["remains"])
    assert b"amaryllis-9Q" not in all_bytes(daemon.data.root)

    # one that is being made while something is forgotten
    write(daemon, "Bulbs", "The word of the bulbs is crocus-9Q for sure.\n")
    asked: list[str] = []

    def progress(step: str, count: int) -> None:
        if step == "git" and not asked:  # it is copied, and being checked
            asked.append(step)
            forget(daemon, "text", "crocus-9Q", history=True, backups=True)

    with pytest.raises(Unavailable, match="Something was forgotten while"):
        make_backup(load_config(daemon.env), Actor("ada", "m"), SystemClock(), Wanted(), progress)
    assert asked and not list(daemon.data.backups.glob("*aimemory*"))
