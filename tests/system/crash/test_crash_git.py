"""The wiki's git repository broken, locked or in a merge under the running daemon: it serves on, and says what is wrong."""

import json
import os
import random
import time

import pytest
from ledger import Ledger
from living import Daemon, git

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """One daemon for all of these: it has to survive each."""
    daemon = Daemon(tmp_path_factory.mktemp("git"))
    daemon.start()
    yield Ledger(daemon)
    daemon.close()


@pytest.fixture
def path(ledger):
    """A page of two committed versions."""
    path = ledger.write(f"Kept {time.time_ns()}", "first text")
    ledger.settle()
    ledger.rewrite(path, "second text")
    ledger.settle()
    ledger.clean()
    return path


def problems(daemon):
    return "\n".join(daemon.status()["problems"])


def doctor(daemon, *arguments):
    done = daemon.cli("doctor", "--json", "--no-test", *arguments)
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    return found, done.stderr


def lose_branch(wiki):
    (wiki / ".git/refs/heads/main").unlink()


def lose_commit(wiki):
    oid = git(wiki, "rev-parse", "HEAD").strip()
    (wiki / ".git/objects" / oid[:2] / oid[2:]).unlink()


def empty_objects(wiki):
    """As a power cut leaves files whose content was never written."""
    for path in (wiki / ".git/objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"")


@pytest.mark.promise("P9.105")
@pytest.mark.parametrize("harm", [lose_branch, lose_commit, empty_objects], ids=lambda harm: harm.__name__)
def test_a_repository_that_is_broken_stops_nothing_and_is_mended_on_request(ledger, path, harm):
    daemon, wiki = ledger.daemon, ledger.daemon.data.wiki
    harm(wiki)

    assert ledger.event()
    written = ledger.write(f"While {harm.__name__}", "the word is amaryllis")
    held = (wiki / path).with_name("held.md")
    held.write_text(f"# Held\n\n{TOKEN}\n")
    if harm is lose_branch:  # of objects that are gone, git still has some in memory
        daemon.wait(lambda: "doctor --fix" in problems(daemon), "the daemon names it and what helps")
    daemon.wait(lambda: daemon.status()["wiki"]["held"], "the page with a secret is held")
    assert daemon.search("amaryllis", observations=False) and "second text" in ledger.request_get(path)["text"]
    found, _ = doctor(daemon)
    assert found["stores.wiki"]["level"] == "warning" and found["stores.wiki"]["can_fix"]
    before = set(daemon.data.backups.glob("damaged-git-*"))  # looking changes nothing

    found, said = doctor(daemon, "--fix")

    assert found["stores.wiki"]["level"] == "ok", found["stores.wiki"]
    (aside,) = set(daemon.data.backups.glob("damaged-git-*")) - before
    assert str(aside) in said
    daemon.wait(lambda: not daemon.status()["git"]["waiting"] and "commit:" not in problems(daemon), "all is committed")
    assert git(wiki, "fsck", "--full", "--no-dangling") == ""
    assert git(wiki, "status", "--porcelain").split() == ["??", held.relative_to(wiki).as_posix()]
    assert "amaryllis" in git(wiki, "show", f"HEAD:{written}") and "second text" in git(wiki, "show", f"HEAD:{path}")
    shown = daemon.get("/api/v1/page/history", page=path)["changes"]
    texts = [git(wiki, "show", f"{one['commit']}:{path}") for one in shown if one["commit"]]
    assert any("first text" in text for text in texts) == (harm is not empty_objects)
    assert shown[-1]["restorable"] == (harm is not empty_objects)
    assert aside.name in [line["data"].get("aside") for line in daemon.lines("audit")]
    held.unlink()
    ledger.check()


def flip_in_a_file(wiki, oid):
    path = wiki / ".git/objects" / oid[:2] / oid[2:]
    flip(path, path.stat().st_size // 2)


def flip_in_a_pack(wiki, oid):
    git(wiki, "repack", "-adq")
    (idx,) = (wiki / ".git/objects/pack").glob("*.idx")
    line = next(line for line in git(wiki, "verify-pack", "-v", str(idx)).splitlines() if line.startswith(oid))
    flip(idx.with_suffix(".pack"), int(line.split()[4]) + int(line.split()[3]) // 2)


def flip(path, offset):
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.promise("P12.321")
@pytest.mark.parametrize("harm", [flip_in_a_file, flip_in_a_pack], ids=lambda harm: harm.__name__)
def test_a_flipped_byte_in_an_old_version_is_found_by_a_deep_look_and_mended_on_request(ledger, path, harm):
    daemon, wiki = ledger.daemon, ledger.daemon.data.wiki
    assert doctor(daemon, "--deep")[0]["stores.wiki"]["level"] == "ok"
    commits = git(wiki, "log", "--format=%H", "--", path).split()
    harm(wiki, git(wiki, "rev-parse", f"{commits[-1]}:{path}").strip())

    assert doctor(daemon)[0]["stores.wiki"]["level"] == "ok", "the next commit can be made"
    found, _ = doctor(daemon, "--deep")
    assert found["stores.wiki"]["level"] == "warning" and "Older versions" in found["stores.wiki"]["said"]
    told = [
        one for one in json.loads(daemon.cli("verify", "--quick", "--json").stdout)["findings"] if one["part"] == "git"
    ]
    assert any(one["level"] == "damage" and "doctor --deep --fix" in one["do"] for one in told)

    found, said = doctor(daemon, "--deep", "--fix")
    assert found["stores.wiki"]["level"] == "ok" and "set aside whole" in said
    assert "second text" in git(wiki, "show", f"HEAD:{path}")
    ledger.check()


@pytest.mark.promise("P9.105")
def test_a_daemon_that_starts_on_a_broken_repository_names_it_although_nothing_waits(ledger, path):
    daemon, wiki = ledger.daemon, ledger.daemon.data.wiki
    daemon.stop()
    oid = git(wiki, "rev-parse", "HEAD~1").strip()
    (wiki / ".git/objects" / oid[:2] / oid[2:]).unlink()

    daemon.start()

    daemon.wait(lambda: "git repository is broken" in problems(daemon), "it is named")
    assert doctor(daemon, "--fix")[0]["stores.wiki"]["level"] == "ok" and "broken" not in problems(daemon)
    ledger.check()


@pytest.mark.promise("P9.107")
def test_a_lock_on_the_index_is_respected_while_it_is_fresh_and_named_and_a_left_over_one_goes(ledger, path):
    daemon, wiki = ledger.daemon, ledger.daemon.data.wiki
    lock = wiki / ".git/index.lock"
    lock.touch()

    written = ledger.write("Behind a lock", "committed all the same")

    daemon.wait(lambda: str(lock) in problems(daemon), "it is named")
    assert "committed all the same" in git(wiki, "show", f"HEAD:{written}") and lock.exists()
    old = time.time() - 4000
    os.utime(lock, (old, old))
    daemon.wait(lambda: not lock.exists() and str(lock) not in problems(daemon), "it is cleared")
    ledger.check()


@pytest.mark.promise("P1.106")
def test_flipped_bytes_in_the_database_never_win_over_the_files(ledger, path):
    """In the live file, all over it: what SQLite notices at once, what it notices when it reads that page, and text."""
    daemon = ledger.daemon
    ledger.settle()
    index, rng = daemon.data.index, random.Random(7)
    for _ in range(3):
        with index.open("r+b") as file:
            for offset in (rng.randrange(100, index.stat().st_size) for _ in range(200)):
                file.seek(offset)
                byte = file.read(1)
                file.seek(offset)
                file.write(bytes([byte[0] ^ 0xFF]))
        assert ledger.event()
        assert daemon.cli("verify").returncode in (0, 1)
    ledger.write("After the flips", "the word is gentian")
    assert daemon.cli("reindex").returncode == 0
    assert daemon.search("gentian", observations=False)
    ledger.check()
