"""Backups of a living memory: taken while it works, put back, and interrupted."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from living import Daemon, git, repository
from smalldisk import alone_on
from test_system_kill import Load

from aimemory.datadir import DataDir
from aimemory.index.dump import dump

PATCHED = """
import os, signal, sys
from aimemory.upkeep.backup import {module}
real = {module}.{name}
def at(*arguments, **more):
    {before}
    done = real(*arguments, **more)
    {after}
    return done
{module}.{name} = at
from aimemory.__main__ import main
sys.argv[0] = "aimemory"
main()
"""
BEGAN_NS = time.time_ns()
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


def note(n):
    return {"session_id": f"s{n % 7}", "text": f"note number{n}", "cwd": f"/w/garden{n % 3}"}


def send(daemon, numbers):
    """Events of now: sessions of long ago would be closed in the middle of a test, whenever the sweep comes."""
    return [daemon.event("generic", "note", note(n), at=BEGAN_NS + n * 10**7, pid=n)[1] for n in numbers]


def write(daemon, title, body="A body.", **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "project": "_unfiled", **more})


def fill(daemon, where):
    """Something of every kind: events, a closed session with its handoff, pages in git, a folder switched off."""
    repository(where)
    send(daemon, range(50))
    daemon.closed_session({"session_id": "one", "cwd": str(where)}, where)
    for n in range(5):
        write(daemon, f"Page {n}", f"The word is word{n}.")
    assert daemon.cli("off", str(daemon.home / "secret")).returncode == 0
    settle(daemon)


def settle(daemon):
    daemon.wait(lambda: not any(daemon.data.deeds.glob("*")), "what was done without the daemon is told")
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")
    daemon.level()


def backup(daemon, *arguments):
    """Make a backup; its description."""
    done = daemon.cli("backup", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def logical(daemon):
    """What the index says, when the daemon is down."""
    with closing(sqlite3.connect(daemon.data.index)) as db:
        return dump(db)


def started_on(root, **more):
    other = Daemon(root, **more)
    other.start()
    other.wait(lambda: other.status()["index"]["state"] == "level" and not other.status()["index"]["lag"], "index")
    settle(other)
    return other


def interrupted(daemon, module, name, arguments, *, before="pass", after="pass"):
    """Run a command that is killed before or after the given function."""
    code = PATCHED.format(module=module, name=name, before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments], env=daemon.env, cwd=daemon.home, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


# -- what is in it ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("P2.30")
def test_a_restored_backup_answers_as_the_original_did(daemon, tmp_path):
    fill(daemon, tmp_path / "project")
    made = backup(daemon, str(daemon.root))
    daemon.stop()
    restored = Daemon(tmp_path / "other")

    done = restored.cli("backup", "restore", made["file"])

    assert done.returncode == 0, done.stderr
    assert made["verified"] and made["damage"] == [] and made["counts"]["pages"] >= 7
    restored = started_on(tmp_path / "other")
    try:
        assert restored.status()["problems"] == []
        assert git(restored.data.wiki, "log", "--format=%H") == git(daemon.data.wiki, "log", "--format=%H")
        restored.stop()
        was, now = logical(daemon), logical(restored)
        audit = restored.lines("audit")[-1]
        assert audit["seq"] == made["seq"] + 1 and audit["data"]["op"] == "restore"
        assert now.replace(f'"applied_seq", {audit["seq"]}]', f'"applied_seq", {made["seq"]}]') == was.replace(
            'line_type ["audit", 1]', 'line_type ["audit", 2]'
        ), "nothing but the restoring itself is new"
        for name in ("actor.json", "folders.json"):
            assert (restored.data.root / name).read_bytes() == (daemon.data.root / name).read_bytes()
    finally:
        restored.close()


@pytest.mark.promise("P2.31")
def test_secrets_are_in_a_backup_only_when_that_is_asked_for(daemon):
    token = daemon.data.token_file.read_bytes()
    daemon.data.connect_record.write_text("{}")

    without, with_them = backup(daemon), backup(daemon, "--with-secrets")

    for made, has in ((without, False), (with_them, True)):
        into = daemon.root / f"into{has}"
        assert daemon.cli("backup", "restore", made["file"], "--into", str(into)).returncode == 0
        assert (into / "private/token").exists() == (into / "connect.json").exists() == has
        assert not (into / "cache").exists() and not (into / "bin").exists() and not (into / "logs").exists()
    assert (daemon.root / "intoTrue/private/token").read_bytes() == token


def test_an_archive_is_for_its_owner_alone_and_lies_outside_of_the_wiki(daemon):
    made = backup(daemon)

    assert os.stat(made["file"]).st_mode & 0o777 == 0o600
    assert made["file"].startswith(f"{daemon.data.backups}/")
    for inside in (daemon.data.wiki, daemon.data.journal, daemon.data.root / "new.tar.gz"):
        refused = daemon.cli("backup", str(inside))
        assert refused.returncode == 2 and "inside the data directory" in refused.stderr


def test_settings_that_lie_elsewhere_are_in_the_backup(daemon):
    elsewhere = daemon.root / "settings.toml"
    elsewhere.write_text("[brief]\nchars = 5000\n")
    daemon.settings["config"] = elsewhere

    made = backup(daemon)

    into = daemon.root / "into"
    told = daemon.cli("backup", "restore", made["file"], "--into", str(into))
    assert made["config_from"] == str(elsewhere) and str(elsewhere) in told.stdout
    assert (into / "config.toml").read_text() == elsewhere.read_text()


def test_events_that_wait_in_the_spool_are_in_the_backup_and_stored_after_a_restore(daemon):
    daemon.stop()
    daemon.data.down_marker.touch()
    daemon.hook("claude-code", "UserPromptSubmit", {"session_id": "s", "prompt": "water the pelargonium"})
    daemon.wait(lambda: list(daemon.data.spool.glob("[!.]*.json")), "the event is spooled")
    made = backup(daemon)
    other = Daemon(daemon.root / "other")

    assert other.cli("backup", "restore", made["file"]).returncode == 0

    try:
        other.start()
        other.wait(lambda: other.search("pelargonium"), "the event is stored")
    finally:
        other.close()


def test_keep_removes_older_automatic_backups_only(daemon, tmp_path):
    place = tmp_path / "stick"
    place.mkdir()
    by_hand = backup(daemon, str(place))["file"]
    foreign = place / "aimemory-auto-ffffffff-20200101T000000Z-1.tar.gz"
    foreign.write_bytes(b"of another machine")
    machine = json.loads(daemon.data.actor_file.read_text())["machine"]
    old = [place / f"aimemory-auto-{machine}-2020010{n}T000000Z-1.tar.gz" for n in range(1, 5)]
    for path in old:
        path.write_bytes(b"")

    made = backup(daemon, str(place), "--keep", "3")

    assert made["removed"] == [path.name for path in old[:2]]
    assert {str(p) for p in place.iterdir()} == {by_hand, str(foreign), made["file"], *(str(p) for p in old[2:])}


def test_a_file_that_exists_is_never_replaced(daemon):
    taken = daemon.root / "mine.tar.gz"
    taken.write_bytes(b"mine")

    refused = daemon.cli("backup", str(taken))

    assert refused.returncode == 3 and taken.read_bytes() == b"mine"


def test_a_folder_that_is_missing_becomes_no_file(daemon):
    stick = daemon.root / "stick"

    refused = daemon.cli("backup", str(stick), "--no-verify")

    assert refused.returncode == 2 and f"There is no folder {stick}" in refused.stderr and not stick.exists()
    named = daemon.root / "mine.tgz"
    assert daemon.cli("backup", str(named), "--no-verify").returncode == 0 and named.is_file()


def test_a_backup_works_without_a_daemon_and_with_broken_settings(daemon):
    send(daemon, range(5))
    daemon.stop()
    daemon.data.config.write_text("[nonsense\n")

    made = backup(daemon)

    assert made["counts"]["lines"] == len(daemon.lines())


# -- while the memory works ------------------------------------------------------------------------------------------


@pytest.mark.promise("P2.32")
def test_nothing_acknowledged_before_a_backup_under_load_is_missing_in_it(daemon, tmp_path):
    pages, stop = [], threading.Event()

    def write_pages():
        while not stop.is_set():
            n = len(pages)
            made = write(daemon, f"Under load {n}", f"First {n}.")
            again = write(daemon, f"Under load {n}", f"Second {n}.", path=made["path"], version=made["version"])
            pages.append((made["path"], again["version"]))

    writer = threading.Thread(target=write_pages)
    with Load(daemon, 7) as load:
        writer.start()
        assert load.enough.wait(60)
        daemon.wait(lambda: len(pages) > 3, "pages are being written")
        before = {identifier for identifier, _ in load.acknowledged}, list(pages)
        made = backup(daemon, str(tmp_path))
        stop.set()
        writer.join()
        daemon.kill()

    other = Daemon(tmp_path / "other")
    assert other.cli("backup", "restore", made["file"]).returncode == 0
    ids = [line["data"]["id"] for line in other.lines("observation")]
    assert before[0] <= set(ids) and len(ids) == len(set(ids))
    lines = other.lines()
    assert [line["seq"] for line in lines] == list(range(1, made["seq"] + 1))
    for path, _ in before[1]:
        assert "Second" in (other.data.wiki / path).read_text()
    recorded = {line["data"]["path"] for line in lines if line["type"] == "page"}
    written = {str(p.relative_to(other.data.wiki)) for p in other.pages("default/_unfiled/notes/*.md")}
    assert written <= recorded, "a page that is newer than the journal's copy would pass for a hand edit"
    other = started_on(tmp_path / "other")
    try:
        assert "Edit by hand" not in git(other.data.wiki, "log", "--format=%s")
        assert git(other.data.wiki, "fsck", "--no-progress", "--no-dangling") == ""
    finally:
        other.close()


def test_a_page_edited_by_hand_during_a_backup_is_whole_in_it(daemon, tmp_path):
    """Written in place, as some editors do: the copy holds one of the texts, never a mixture."""
    page = daemon.data.wiki / write(daemon, "Edited")["path"]
    stop = threading.Event()
    texts = {f"# Edited\n\n{letter * 50_000}\n" for letter in "abc"}

    def edit():
        while not stop.is_set():
            for text in sorted(texts):
                page.write_text(text)

    page.write_text(min(texts))
    editor = threading.Thread(target=edit)
    editor.start()
    try:
        made = backup(daemon, str(tmp_path))
    finally:
        stop.set()
        editor.join()

    into = tmp_path / "into"
    assert daemon.cli("backup", "restore", made["file"], "--into", str(into)).returncode == 0
    assert made["verified"]
    assert (into / "wiki" / page.relative_to(daemon.data.wiki)).exists()


def test_a_repository_that_is_repacked_meanwhile_is_whole_in_the_backup(daemon, tmp_path):
    for n in range(30):
        write(daemon, f"Page {n}")
    settle(daemon)
    stop = threading.Event()

    def repack():
        while not stop.is_set():
            git(daemon.data.wiki, "repack", "-adq")
            git(daemon.data.wiki, "pack-refs", "--all", "--prune")

    packer = threading.Thread(target=repack)
    packer.start()
    try:
        done = daemon.cli("backup", str(tmp_path), "--json")
    finally:
        stop.set()
        packer.join()

    assert done.returncode in (0, 75), done.stderr  # given up, or good; never a bad one
    if done.returncode == 0:
        assert json.loads(done.stdout)["damage"] == []
    assert bool(list(tmp_path.glob("aimemory-*.tar.gz"))) == (done.returncode == 0)


def test_damage_of_the_original_is_copied_and_said(daemon, tmp_path):
    send(daemon, range(10))
    daemon.kill()
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"number4", b"number!", 1))

    done = daemon.cli("backup", str(tmp_path), "--json")

    assert done.returncode == 1
    made = json.loads(done.stdout)
    assert any("line" in one and "checksum" in one for one in made["damage"])
    assert daemon.cli("backup", "restore", made["file"], "--into", str(tmp_path / "into")).returncode == 1
    (copy,) = (tmp_path / "into").rglob("*.jsonl")
    assert copy.read_bytes() == segment.read_bytes()


# -- interrupted -----------------------------------------------------------------------------------------------------


@pytest.mark.promise("P2.35")
@pytest.mark.parametrize("module, name", [("make", "Copying"), ("make", "check_archive"), ("make", "_publish")])
def test_a_killed_backup_leaves_no_archive_and_the_next_one_cleans_up(daemon, tmp_path, module, name):
    send(daemon, range(10))
    place = tmp_path / "stick"
    place.mkdir()

    interrupted(daemon, module, name, ["backup", str(place)], before=KILL)

    assert not list(place.glob("aimemory-*"))
    assert list(place.glob(".aimemory-tmp-*"))
    made = backup(daemon, str(place))
    assert [str(path) for path in place.iterdir()] == [made["file"]]


RESTORE_STEPS = [
    ("restore", "extract", "before"), ("restore", "check_restored", "after"), ("restore", "_put_in_place", "before"),
    ("restore", "exchange", "before"), ("restore", "exchange", "after"), ("restore", "_put_in_place", "after"),
]  # fmt: skip


@pytest.mark.promise("P2.36")
@pytest.mark.parametrize("module, name, when", RESTORE_STEPS)
def test_a_killed_restore_leaves_the_old_or_the_new_one_in_place_and_both_on_the_disk(daemon, module, name, when):
    send(daemon, range(10))
    archive = backup(daemon, str(daemon.root))["file"]
    send(daemon, range(100, 120))
    daemon.stop()
    old, new = len(daemon.lines()), 10

    interrupted(daemon, module, name, ["backup", "restore", archive, "--apply"], **{when: KILL})

    now = len([line for line in daemon.lines() if line["type"] == "observation"])
    assert now in (30, 10)
    beside = [p for p in daemon.data.root.parent.iterdir() if p.name.startswith(daemon.data.root.name + ".")]
    if now == new:
        (aside,) = beside
        kept = DataDir(aside)
        assert sum(path.read_bytes().count(b"\n") for path in kept.journal.rglob("*.jsonl")) == old
    again = daemon.cli("backup", "restore", archive, "--apply")
    assert again.returncode == 0, again.stderr
    assert len(daemon.lines("observation")) == new
    assert not list(daemon.data.root.parent.glob(".aimemory-tmp-*"))
    assert all(path.exists() for path in beside), "nothing is ever deleted"
    daemon.start()
    assert send(daemon, [500])[0]["outcome"] == "stored"


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 300 KB in a namespace of its own: the words to put before a command, and where it is."""
    place = tmp_path / "small"
    place.mkdir()
    return alone_on(place, "size=300k", f"ls -A '{place}'"), place


@pytest.mark.promise("P2.37")
def test_a_full_disk_refuses_a_backup_or_a_restore_and_leaves_nothing(daemon, full_disk):
    alone, place = full_disk
    for n in range(20):
        write(daemon, f"Long {n}", os.urandom(20_000).hex())
    archive = backup(daemon, str(daemon.root))["file"]

    for command in (["backup", str(place)], ["backup", "restore", archive, "--into", str(place / "into")]):
        done = subprocess.run(
            [*alone, sys.executable, "-I", "-m", "aimemory", *command], env=daemon.env, cwd=daemon.home,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip

        assert done.returncode == 75 and ("No space left" in done.stderr or "there is room for" in done.stderr)
        assert done.stdout == "", "nothing is left on the full disk"


# -- restoring -------------------------------------------------------------------------------------------------------


def test_a_directory_that_holds_something_is_only_replaced_on_request_and_kept_aside(daemon):
    send(daemon, range(5))
    archive = backup(daemon)["file"]
    send(daemon, range(10, 15))
    running = daemon.cli("backup", "restore", archive, "--apply")
    daemon.stop()

    refused = daemon.cli("backup", "restore", archive)
    assert len(daemon.lines("observation")) == 10
    done = daemon.cli("backup", "restore", archive, "--apply", "--json")

    assert running.returncode == 75 and "aimemory down" in running.stderr
    assert refused.returncode == 3 and "--apply" in refused.stderr and "moved aside" in refused.stderr
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(daemon.lines("observation")) == 5
    aside = DataDir(Path(told["aside"]))
    assert sum(path.read_bytes().count(b"\n") for path in aside.journal.rglob("*.jsonl")) == 10
    assert daemon.data.hook_launcher.exists() and daemon.data.token_file.exists()
    assert len(list(daemon.data.backups.glob("*.tar.gz"))) == 1, "the archives are taken along"


def test_a_directory_of_something_else_is_never_replaced(daemon):
    archive = backup(daemon)["file"]
    foreign = daemon.root / "photos"
    foreign.mkdir()
    (foreign / "a.jpg").write_bytes(b"x")

    refused = daemon.cli("backup", "restore", archive, "--into", str(foreign), "--apply")

    assert refused.returncode == 2 and (foreign / "a.jpg").exists()


def test_a_damaged_archive_changes_nothing(daemon):
    send(daemon, range(5))
    archive = backup(daemon)["file"]
    daemon.stop()
    raw = bytearray(Path(archive).read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    bad = daemon.root / "bad.tar.gz"
    bad.write_bytes(raw)

    for command in (["verify", str(bad)], ["restore", str(bad), "--apply"]):
        refused = daemon.cli("backup", *command)
        assert refused.returncode == 1 and str(bad) in refused.stderr
    assert len(daemon.lines("observation")) == 5
    assert daemon.cli("backup", "verify", archive).returncode == 0
    assert shutil.disk_usage(daemon.root) and not list(daemon.root.glob(".aimemory-tmp-*"))


# -- by the clock ----------------------------------------------------------------------------------------------------


@pytest.mark.promise("P12.33")
def test_the_daemon_makes_backups_by_itself_and_status_names_the_last(tmp_path):
    place = tmp_path / "stick"
    place.mkdir()
    daemon = Daemon(tmp_path, backup_every_hours=24, backup_folder=place, backup_keep=2)
    try:
        daemon.start()

        daemon.wait(lambda: daemon.status()["backup"]["last_success_at"], "the first backup")

        (made,) = place.glob("aimemory-auto-*.tar.gz")
        assert daemon.cli("backup", "verify", str(made)).returncode == 0
        assert daemon.status()["problems"] == []
    finally:
        daemon.close()


@pytest.mark.promise("P12.33")
def test_a_disk_that_is_not_there_is_a_problem_in_status(tmp_path):
    daemon = Daemon(tmp_path, backup_every_hours=24, backup_folder=tmp_path / "absent")
    try:
        daemon.start()

        daemon.wait(lambda: any("There is no folder" in one for one in daemon.status()["problems"]), "the problem")
        told = [one for one in daemon.status()["problems"] if one.startswith("The automatic backup of ")]
        assert len(told) == 1 and "There is no folder" in told[0]
        assert daemon.status()["backup"]["last_failure_at"] in told[0]
    finally:
        daemon.close()
