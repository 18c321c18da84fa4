"""What was tried against a running daemon, each once found wanting."""

import json
import os
import socket
import struct
import subprocess
import sys
import time

import pytest
from living import LIMIT_S, Daemon, exchange, git, repository
from smalldisk import fill

SECRET = "ghp_" + "Zq8R" * 9


def note(n, **more):
    return {"session_id": "s", "text": f"note number{n}", "cwd": "/w/garden", **more}


def send(daemon, numbers):
    return [daemon.event("generic", "note", note(n), at=10**18 + n * 10**10, pid=n)[1] for n in numbers]


def shown(daemon):
    """How many observations the index holds when it has caught up."""
    daemon.wait(
        lambda: (
            daemon.status()["index"] | {"damage": []}
            == {"state": "level", "lag": 0, "damage": [], "applied_seq": daemon.status()["index"]["applied_seq"]}
        ),
        "the index is level",
    )
    return daemon.status()["counts"]["observations"]


# -- who may talk ----------------------------------------------------------------------------------------------------


@pytest.mark.promise("P4.14")
def test_a_connection_reset_before_its_request_is_read_needs_the_token_too(daemon):
    """Its peer has no address any more, which once passed for the Unix socket."""
    host, _, port = daemon.status()["endpoint"]["tcp"].removeprefix("http://").rpartition(":")
    body = json.dumps(note(1)).encode()
    request = f"POST /hook?harness=generic&event=note HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(50):
        sock = socket.create_connection((host, int(port)))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(request.encode() + body)
        sock.close()
    send(daemon, [2])

    assert [line["data"]["text"] for line in daemon.lines("observation")] == ["note number2"]


def test_a_head_without_an_end_is_cut_off(daemon):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(str(daemon.data.socket))
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        with pytest.raises(OSError):
            for _ in range(2000):
                sock.sendall(b"a" * 4096)
            raise AssertionError("8 MB of head were read")


def test_more_connections_over_tcp_than_the_bound_leave_the_socket_free(daemon):
    host, _, port = daemon.status()["endpoint"]["tcp"].removeprefix("http://").rpartition(":")
    crowd = [socket.create_connection((host, int(port))) for _ in range(300)]
    try:
        assert send(daemon, [1])[0]["outcome"] == "stored"
        token = f"Bearer {daemon.data.token_file.read_text().strip()}"
        for sock in crowd:
            sock.close()
        daemon.wait(lambda: answers(host, port, token), "TCP answers again")
    finally:
        for sock in crowd:
            sock.close()


def answers(host, port, token):
    try:
        with socket.create_connection((host, int(port)), timeout=5) as sock:
            return (
                exchange(sock, "GET", "/healthz", b"", {"Host": f"127.0.0.1:{port}", "Authorization": token})[0] == 200
            )
    except (OSError, IndexError):
        return False


def test_a_body_that_is_too_large_for_the_api_is_refused(daemon):
    assert daemon.request("POST", "/api/v1/search", b"[" * (11 << 20))[0] == 413
    assert daemon.request("POST", "/api/v1/search", b"[" * 200_000)[0] == 400


# -- secrets that a person typed -------------------------------------------------------------------------------------


def test_a_secret_typed_into_a_session_page_is_not_committed_when_the_session_goes_on(daemon, tmp_path):
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    page = daemon.closed_session(base, where)
    page.write_text(page.read_text() + f"\nThe key: {SECRET}\n")

    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "now the beans"}, where)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)

    daemon.wait(lambda: "now the beans" in page.read_text(), "the addition")
    daemon.wait(lambda: daemon.status()["wiki"]["held"], "the page is held")
    daemon.stop()
    assert SECRET not in git(daemon.data.wiki, "log", "-p", "--all")


def test_a_secret_in_a_name_is_refused_or_held(daemon):
    path = f"default/_unfiled/notes/{SECRET}.md"
    assert (
        daemon.request("POST", "/api/v1/page", {"title": "t", "body": "b", "path": path, "project": "_unfiled"})[0]
        == 400
    )
    file = daemon.data.wiki / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("harmless\n")
    daemon.post("/api/v1/page", {"title": "Else", "body": "b", "project": "_unfiled"})

    daemon.stop()
    assert SECRET not in git(daemon.data.wiki, "log", "--name-only", "--all")


# -- journal and index -----------------------------------------------------------------------------------------------


@pytest.mark.promise("P2.7")
def test_what_the_index_saw_and_the_journal_lost_is_said_and_new_events_are_found(daemon):
    send(daemon, range(20))
    assert shown(daemon) == 20
    daemon.kill()
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:-3]))
    daemon.start()

    again, fresh = send(daemon, [19, 777])

    assert again["outcome"] == "stored"
    assert fresh["seq"] > 20
    assert daemon.search("number777") and daemon.search("number19")
    assert any("journal are gone" in problem for problem in daemon.status()["problems"])


@pytest.mark.promise("P2.8")
def test_retries_right_after_a_start_without_an_index_double_nothing(daemon):
    send(daemon, range(400))
    daemon.kill()
    daemon.data.index.unlink()
    daemon.start()

    answers_again = send(daemon, range(300, 400))

    assert {answer["outcome"] for answer in answers_again} == {"duplicate"}
    assert len(daemon.lines("observation")) == 400


def test_a_segment_in_which_every_line_is_damaged_is_kept_as_evidence_and_named(tmp_path):
    daemon = Daemon(tmp_path, storage_segment_bytes=65536)
    try:
        daemon.start()
        send(daemon, range(900))
        daemon.kill()
        segments = sorted(daemon.data.journal.rglob("*.jsonl"))
        assert len(segments) > 2
        middle = segments[1]
        rotten = middle.read_bytes().replace(b'"crc":"', b'"crc":"z')
        middle.write_bytes(rotten)
        daemon.start()
        send(daemon, [999])
        assert daemon.cli("reindex").returncode == 0

        kept = middle.read_bytes() if middle.exists() else b""
        assert kept == rotten
        problems = "\n".join(daemon.status()["problems"])
        assert ("checksum" in problems and "are missing before" in problems) or "no checksum" in problems
        assert daemon.search("number999")
    finally:
        daemon.close()


def test_a_rebuild_while_segments_are_sealed_skips_none(tmp_path):
    daemon = Daemon(tmp_path, storage_segment_bytes=65536)
    try:
        daemon.start()
        send(daemon, range(1500))
        daemon.kill()
        for _ in range(3):
            daemon.data.index.unlink()
            daemon.start()
            assert shown(daemon) == 1500
            daemon.kill()
    finally:
        daemon.close()


@pytest.mark.parametrize("content", [b"", os.urandom(65536)], ids=["empty", "garbage"])
@pytest.mark.promise("P1.4")
def test_an_index_ruined_under_the_running_daemon_is_built_anew_and_nothing_is_lost(daemon, content):
    send(daemon, range(30))
    shown(daemon)
    with daemon.data.index.open("r+b") as file:
        file.truncate(0)
        file.write(content)
    for side in ("-wal", "-shm"):
        daemon.data.index.with_name(daemon.data.index.name + side).unlink(missing_ok=True)

    def stored():
        status, _ = daemon.event("generic", "note", note(31, session_id="other"), at=10**18 + 31 * 10**10, pid=31)
        return status in (200, 202)

    daemon.wait(stored, "events are taken again")
    daemon.wait(lambda: daemon.status()["index"]["damage"], "it is named")
    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is level")
    assert daemon.search("number31") and daemon.search("number7")


# -- spool and rejects -----------------------------------------------------------------------------------------------


def test_one_bad_file_in_the_spool_stops_nothing(daemon):
    good = {"v": 1, "harness": "generic", "event": "note", "pid": 1, "cwd": "/w", "session_id": None, "kind": "other"}
    now = time.time_ns()
    (daemon.data.spool / f"{now:020d}-1-o0001.json").write_text('{"v":1,"a":' + "[" * 200_000 + "]" * 200_000 + "}")
    for n in (1, 2):
        entry = good | {"at": now + n, "body": note(n)}
        (daemon.data.spool / f"{now + n:020d}-1-o000{n}.json").write_text(json.dumps(entry))

    daemon.wait(lambda: len(daemon.lines("observation")) == 2, "the good ones are stored")
    daemon.wait(lambda: daemon.status()["spool"].get("rejects") == 1, "the bad one is counted")


def test_an_event_that_a_fault_of_ours_keeps_out_comes_back_when_it_is_mended(daemon, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (daemon.data.wiki / "default").symlink_to(tmp_path / "elsewhere")

    where = repository(tmp_path / "garden")

    status, _ = daemon.event("generic", "note", note(1, session_id="a", cwd=str(where)))
    daemon.hook("generic", "note", note(2, session_id="b", cwd=str(where)), where)

    assert status == 503
    daemon.wait(lambda: list(daemon.data.spool.glob("[!.]*.json")), "the event is in the spool")
    (daemon.data.wiki / "default").unlink()
    daemon.wait(lambda: daemon.lines("observation"), "the event is stored")


# -- disks and clocks ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 12 MB, where this machine allows to make one."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place)]).returncode:
        pytest.skip("no small file system can be made here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.promise("P2.9")
def test_a_full_disk_loses_nothing_acknowledged_and_is_recovered_from_without_help(small_disk):
    daemon = Daemon(small_disk)
    try:
        daemon.start()
        send(daemon, range(10))
        filler = small_disk / "filler"
        fill(filler)
        refused = acknowledged = 0
        for n in range(100, 160):
            status, _ = daemon.event(
                "generic", "note", note(n, text=f"note number{n} " + "x" * 2000), at=10**18 + n * 10**10, pid=n
            )
            acknowledged += status == 202
            refused += status == 503
        assert refused and acknowledged + refused == 60
        page = daemon.request("POST", "/api/v1/page", {"title": "t", "body": "b" * 5000, "project": "_unfiled"})[0]
        assert page == 503
        tries = projector(daemon)["failures"]
        daemon.wait(lambda: projector(daemon)["failures"] > tries + 2, "the index is tried without a new line too")

        filler.unlink()

        daemon.wait(lambda: daemon.status()["index"]["lag"] == 0, "the index catches up by itself")
        assert send(daemon, [500])[0]["outcome"] == "stored"
        assert len(daemon.lines("observation")) == 10 + acknowledged + 1
        daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "git catches up by itself")
    finally:
        daemon.close()


@pytest.mark.promise("P2.341")
def test_a_start_on_a_full_disk_leaves_a_good_index_where_it_is(small_disk):
    daemon = Daemon(small_disk)
    try:
        daemon.start()
        send(daemon, range(10))
        daemon.stop()
        before = daemon.data.index.read_bytes()
        fill(small_disk / "filler")
        daemon.spawn()
        assert daemon.process.wait(LIMIT_S) != 0

        assert "Free some room" in (small_disk / "stderr").read_text() + daemon.cli("status").stderr
        assert daemon.data.index.read_bytes() == before
        assert not list(daemon.data.index.parent.glob("*.set-aside"))

        (small_disk / "filler").unlink()
        daemon.start()
        assert daemon.status()["index"]["damage"] == [] and len(daemon.search("note")) == 10
    finally:
        daemon.close()


def projector(daemon):
    return next(task for task in daemon.status()["tasks"] if task["name"] == "projector")


def test_a_wiki_that_is_moved_away_is_an_accident_however_few_pages_it_had(daemon):
    page = daemon.post("/api/v1/page", {"title": "Kept", "body": "The word is zinnia.", "project": "_unfiled"})
    daemon.wait(lambda: page["path"] in git(daemon.data.wiki, "ls-files"), "the commit")
    daemon.stop()
    away = daemon.data.root / "away"
    daemon.data.wiki.rename(away)
    daemon.start()

    daemon.wait(lambda: any("unmounted or moved" in p for p in daemon.status()["problems"]), "the accident is named")
    assert daemon.search("zinnia")


def test_many_new_projects_are_made_at_a_steady_price(daemon, tmp_path):
    def took(first):
        places = [tmp_path / f"project{n}" for n in range(first, first + 20)]
        for place in places:
            for folder in ("objects", "refs"):
                (place / ".git" / folder).mkdir(parents=True)
            (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        before = processor_ticks(daemon)
        for place in places:
            assert daemon.event("generic", "note", note(0, session_id=place.name, cwd=str(place)))[0] == 202
        return processor_ticks(daemon) - before  # others on the machine don't count

    early = min(took(0), took(20))
    for first in range(40, 240, 20):
        took(first)

    assert min(took(240), took(260)) < early * 3
    assert len(daemon.get("/api/v1/projects")["projects"]) == 281


def processor_ticks(daemon):
    """Hundredths of a second that the daemon has computed."""
    with open(f"/proc/{daemon.process.pid}/stat", encoding="utf-8") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))


# -- found by reading ------------------------------------------------------------------------------------------------


def test_a_session_page_that_a_crash_kept_from_the_disk_is_written_at_the_next_start(daemon, tmp_path):
    """The line that announces the page is there, the page is not: nobody deleted it."""
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    page = daemon.closed_session(base, where)
    daemon.kill()
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    last = max(n for n, raw in enumerate(lines) if json.loads(raw)["type"] == "page")
    segment.write_bytes(b"".join(lines[: last + 1]))
    page.unlink()
    daemon.data.index.unlink()
    daemon.start()

    daemon.wait(page.exists, "the page is written")
    assert len(daemon.pages()) == 1


def test_an_event_that_can_not_be_filed_holds_no_other_up(daemon, tmp_path):
    stuck, fine = repository(tmp_path / "stuck"), repository(tmp_path / "fine")
    (tmp_path / "elsewhere").mkdir()
    (daemon.data.wiki / "default").mkdir(exist_ok=True)
    (daemon.data.wiki / "default" / "stuck").symlink_to(tmp_path / "elsewhere")
    now = time.time_ns()
    for n, where in enumerate((stuck, fine, fine)):
        entry = {"v": 1, "harness": "generic", "event": "note", "at": now + n, "pid": 1, "cwd": str(where),
                 "session_id": None, "kind": "other", "body": {"session_id": where.name, "text": f"from {where.name} {n}"}}  # fmt: skip
        (daemon.data.spool / f"{now + n:020d}-1-o000{n}.json").write_text(json.dumps(entry))

    daemon.wait(lambda: len(daemon.lines("observation")) == 2, "the others are stored")
    daemon.wait(lambda: daemon.status()["spool"]["events"] == 1, "status shows the one that is left")
    (daemon.data.wiki / "default" / "stuck").unlink()
    daemon.wait(lambda: len(daemon.lines("observation")) == 3, "it comes in when it can")


def test_an_alias_added_by_hand_counts_after_a_reindex(daemon, tmp_path):
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", note(1, cwd=str(where)))
    page = daemon.data.wiki / "default" / "shop" / "shop.md"
    page.write_text(page.read_text().replace("type: project\n", "type: project\naliases: [github.com/ada/fork]\n"))

    assert daemon.cli("reindex").returncode == 0

    fork = repository(tmp_path / "fork", remote="git@github.com:ada/fork.git")
    assert daemon.get("/api/v1/where", cwd=str(fork))["project"] == "default/shop"
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "the edit is committed")


def test_an_event_that_is_too_large_is_counted(daemon):
    daemon.event("generic", "prompt", json.dumps({"prompt": "x" * (10 << 20)}).encode())

    counts = daemon.status()["capture"]["generic"]
    assert counts["rejected"] == 1 and counts["reasons"] == {"larger than 10 MiB": 1}


@pytest.mark.alone
def test_a_stop_in_the_middle_of_a_rebuild_does_not_wait_for_its_end(daemon):
    for n in range(400):
        (daemon.data.wiki / "default" / "_unfiled" / "notes").mkdir(parents=True, exist_ok=True)
        (daemon.data.wiki / "default" / "_unfiled" / "notes" / f"page{n}.md").write_text(
            f"# Page {n}\n" + "words and words\n" * 4000
        )
    daemon.kill()
    daemon.data.index.unlink()
    daemon.start()
    assert daemon.status()["index"]["state"] == "rebuilding"

    assert daemon.stop() < 5


def test_a_session_that_goes_on_is_not_called_silent(daemon, tmp_path):
    where = repository(tmp_path / "project")
    base = {"session_id": "s", "cwd": str(where)}
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the seeds"}, where)
    daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)
    daemon.hook("claude-code", "SessionStart", {**base, "source": "resume"}, where)
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "and the bulbs"}, where)
    daemon.search("bulbs")

    assert not any("silent for" in page.read_text() for page in daemon.pages())


def test_a_daemon_that_lost_a_part_it_cannot_do_without_ends_with_a_failure_and_says_where_to_look(tmp_path):
    made = Daemon(tmp_path)
    broken = (
        "import sys\n"
        "from aimemory.store.writer import Writer\n"
        "async def run(self, pulse): raise RuntimeError('made to fail')\n"
        "Writer.run = run\n"
        "from aimemory.__main__ import main\n"
        "sys.argv = ['aimemory', 'serve']\n"
        "main()\n"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", broken], env=made.env, capture_output=True, text=True, timeout=30
    )

    assert done.returncode == 1
    assert "writer failed" in done.stderr and str(made.data.log_file) in done.stderr
    assert "made to fail" in made.data.log_file.read_text()
