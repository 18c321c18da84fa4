"""kill -9 under load: nothing acknowledged is lost, nothing is there twice."""

import json
import random
import sqlite3
import threading
from collections import Counter

import pytest
from living import LIMIT_S, Daemon, git

ROUNDS, SOAK_ROUNDS = 20, 200
CLIENTS = 8


class Load:
    """Clients that send events until the daemon is gone; remembers what was acknowledged."""

    def __init__(self, daemon, seed):
        self.daemon = daemon
        self.seed = seed
        self.acknowledged = []
        self.sent = []
        self.enough = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(n,)) for n in range(CLIENTS)]

    def _run(self, client):
        number = 0
        while True:
            number += 1
            at, pid = 10**18 + (self.seed * CLIENTS + client) * 10**13 + number * 10**10, client + 1
            text = f"event {self.seed} {client} {number}"
            body = {"session_id": f"s{client % 3}", "text": text, "cwd": f"/w/project{client % 4}"}
            self.sent.append((at, pid, body))
            try:
                status, answer = self.daemon.event("generic", "note", body, at=at, pid=pid)
            except (OSError, AssertionError, ValueError, IndexError):
                return
            if status == 202:
                self.acknowledged.append((answer["id"], text))
                if len(self.acknowledged) > 40:
                    self.enough.set()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None and self.daemon.process is not None:  # a test that failed: nothing else would end them
            self.daemon.kill()
        for thread in self.threads:
            thread.join()


def kill_under_load(daemon, rounds, seed):
    """Rounds of load, kill at a random instant, restart; returns everything acknowledged and sent."""
    chance = random.Random(seed)
    acknowledged, sent = [], []
    for number in range(rounds):
        with Load(daemon, number) as load:
            assert load.enough.wait(LIMIT_S)
            wanted = len(load.acknowledged) + chance.randrange(100)
            daemon.wait(lambda load=load, wanted=wanted: len(load.acknowledged) >= wanted, "a random instant")
            daemon.kill()
        acknowledged += load.acknowledged
        sent += load.sent
        daemon.start()
    return acknowledged, sent


def check(daemon, acknowledged):
    seq = daemon.status()["journal"]["last_seq"]
    daemon.post("/api/v1/search", {"query": "event", "project": "*", "after": seq})
    daemon.stop()
    every = daemon.lines()
    lines = [line for line in every if line["type"] == "observation"]
    ids = Counter(line["data"]["id"] for line in lines)
    texts = {line["data"]["text"] for line in lines}
    assert {identifier for identifier, _ in acknowledged} <= set(ids), "acknowledged and lost"
    assert {text for _, text in acknowledged} <= texts
    assert max(ids.values()) == 1, "stored twice"
    assert [line["seq"] for line in every] == list(range(1, len(every) + 1))
    with sqlite3.connect(daemon.data.index) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        assert db.execute("select count(*) from observation").fetchone() == (len(lines),)
        db.execute("insert into observation_fts(observation_fts, rank) values ('integrity-check', 1)")
    db.close()
    assert git(daemon.data.wiki, "fsck", "--no-progress", "--no-dangling") == ""
    assert git(daemon.data.wiki, "status", "--porcelain") == ""


@pytest.mark.promise("P2.5")
def test_twenty_kills_under_load_lose_and_double_nothing(daemon):
    acknowledged, sent = kill_under_load(daemon, ROUNDS, seed=1)

    for at, pid, body in sent:  # every client tries again what it may not have got through
        assert daemon.event("generic", "note", body, at=at, pid=pid)[0] in (200, 202)
    assert len(daemon.lines("observation")) == len(sent)
    check(daemon, acknowledged)


@pytest.mark.soak
def test_two_hundred_kills_under_load_lose_and_double_nothing(daemon):
    acknowledged, _ = kill_under_load(daemon, SOAK_ROUNDS, seed=2)

    check(daemon, acknowledged)


def test_a_closing_that_a_kill_cut_off_is_finished_at_the_next_start(tmp_path):
    """The intent is on disk, page and done line are not."""
    daemon = Daemon(tmp_path).start()
    try:
        daemon.event(
            "claude-code", "UserPromptSubmit", {"session_id": "s", "prompt": "prune the roses", "cwd": "/w/garden"}
        )
        daemon.event("claude-code", "SessionEnd", {"session_id": "s", "cwd": "/w/garden"})
        daemon.wait(lambda: daemon.lines("done"), "the session is closed")
        daemon.stop()
        (segment,) = daemon.data.journal.rglob("*.jsonl")
        lines = segment.read_bytes().splitlines(keepends=True)
        intent = next(n for n, raw in enumerate(lines) if json.loads(raw)["type"] == "intent")
        segment.write_bytes(b"".join(lines[: intent + 1]))
        (page,) = daemon.pages()
        name = page.relative_to(daemon.data.wiki)
        page.unlink()
        git(daemon.data.wiki, "rm", "-q", "--cached", str(name))
        git(daemon.data.wiki, "commit", "-qm", "as if the kill had come before")
        daemon.data.index.unlink()

        daemon.start()

        daemon.wait(lambda: daemon.lines("done"), "the closing is finished")
        assert [p.relative_to(daemon.data.wiki) for p in daemon.pages()] == [name]
    finally:
        daemon.close()
