"""Vectors in a real daemon: made in the background, kept in step, forgotten, and never in the way."""

import sqlite3
import threading
from contextlib import closing

import pytest
from embeddings import StandIn, clean
from living import Daemon

from aimemory.providers.static import StaticModel, joined, wheel_folder

TOKEN = "ghp_" + "Zk4mQ9vT2xW8bN6cR1yH5jL3pD7sF0aG2eUi"
SECRET_PLAN = "the walnut cabinet opens with a silver thimble under moonlit lavender"


@pytest.fixture
def stand_in():
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def make(tmp_path):
    made = []

    def make(**settings):
        made.append(Daemon(tmp_path / f"d{len(made)}", **settings))
        return made[-1]

    yield make
    for daemon in made:
        daemon.close()


def lay(daemon, name, text):
    """A page as somebody saves it, without us."""
    daemon.data.create()
    folder = daemon.data.wiki / "default" / "shop" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\ntype: note\ntitle: {name}\nid: {name}\n---\n\n{text}\n")
    return f"default/shop/notes/{name}.md"


def rows(daemon):
    """Path to row number and provider of what is in the file."""
    if not daemon.data.vectors.exists():
        return {}
    with closing(sqlite3.connect(f"file:{daemon.data.vectors}?mode=ro", uri=True)) as db:
        try:
            return {path: (n, provider) for path, n, provider in db.execute("select path, n, provider from vector")}
        except sqlite3.OperationalError:  # just being made
            return {}


def level(daemon, pages):
    """Wait until so many pages have vectors, and nothing else is in the file."""

    def is_level():
        found = daemon.status()["vectors"]
        return found["state"] == "level" and found["made"] == found["pages"] == pages

    daemon.wait(is_level, f"{pages} pages have vectors: {daemon.status()['vectors']}")


def hits(daemon, query, **more):
    return daemon.post("/api/v1/search", {"query": query, "project": "*", **more})["answer"]["hits"]


def by_meaning(daemon, query):
    return any("meaning" in dict(hit["shares"]) for hit in hits(daemon, query))


def problems(daemon):
    """What status says of vectors."""
    return [problem for problem in daemon.status()["problems"] if "ectors" in problem]


def cache_bytes(daemon):
    return b"".join(path.read_bytes() for path in sorted(daemon.data.cache.iterdir()) if "vectors" in path.name)


@pytest.mark.promise("P10.350")
@pytest.mark.promise("P5.350")
def test_static_vectors_follow_the_pages_and_are_forgotten_with_them(make):
    daemon = make(recall_vectors="auto")
    for number in range(12):
        lay(daemon, f"boiler-{number}", f"The boiler of house {number} is red, its key is number {number}.")
    plan = lay(daemon, "plan", SECRET_PLAN)
    other = lay(daemon, "other", "The boiler key hangs in the hall.")
    daemon.start()
    level(daemon, 14)
    assert by_meaning(daemon, "boiler key")
    told = daemon.status()["vectors"]
    assert told["provider"] == "static" and told["dimension"] == 256 and not problems(daemon)

    # a page that is new, changed, or gone
    new = lay(daemon, "new", "The boiler was replaced in spring.")
    level(daemon, 15)
    (daemon.data.wiki / new).unlink()
    level(daemon, 14)
    assert new not in rows(daemon)

    # what is forgotten is in no byte of the file, neither as numbers of tokens nor in what SQLite left over
    model = StaticModel(wheel_folder())
    numbers = joined(model.tokens(clean(SECRET_PLAN)))[2:-2]  # without the first: it depends on what stands before
    assert numbers in cache_bytes(daemon)
    daemon.post("/api/v1/forget", {"what": "page", "name": plan, "apply": True})
    assert numbers not in cache_bytes(daemon)
    level(daemon, 13)
    assert numbers not in cache_bytes(daemon) and plan not in rows(daemon)
    assert other in rows(daemon) and by_meaning(daemon, "boiler key")

    # somebody takes the file away, or damages it
    daemon.data.vectors.unlink()
    lay(daemon, "after", "The boiler hums.")
    level(daemon, 14)
    assert len(rows(daemon)) == 14
    daemon.stop()
    daemon.data.vectors.write_bytes(b"nothing of the kind" * 1000)
    for side in ("-wal", "-shm"):
        daemon.data.vectors.with_name(daemon.data.vectors.name + side).unlink(missing_ok=True)
    daemon.start()
    assert hits(daemon, "boiler key")
    level(daemon, 14)

    # off
    daemon.stop()
    daemon.settings["recall_vectors"] = "off"
    daemon.start()
    daemon.wait(lambda: not daemon.data.vectors.exists(), "nothing is left of it")
    assert hits(daemon, "boiler key") and not by_meaning(daemon, "boiler key")
    assert daemon.status()["vectors"]["state"] == "off" and not problems(daemon)


@pytest.mark.promise("P4.350")
@pytest.mark.promise("P5.350")
@pytest.mark.promise("P12.351")
def test_an_endpoint_gets_no_secret_and_its_silence_harms_nothing(make, stand_in):
    settings = {"recall_vectors": "endpoint", "recall_endpoint": stand_in.url, "recall_model": "small"}
    daemon = make(**settings)
    for number in range(45):
        lay(daemon, f"boiler-{number:02}", f"The boiler of house {number} is red.")
    secret = lay(daemon, "secret", f"The boiler's page is written with token = {TOKEN}, keep it.")
    lay(daemon, "zz-last", "The boiler that nobody reaches.")
    lay(daemon, "refused", "A boiler that the endpoint refuses.")
    stand_in.refused = "that the endpoint refuses"

    # killed in the midst of building: what was made is not made again
    held = threading.Event()
    vectors = stand_in.vectors

    def until_the_last(body):
        if any("nobody reaches" in text for text in body["input"]):
            held.wait(60)
        return vectors(body)

    stand_in.vectors = until_the_last
    daemon.start()
    daemon.wait(lambda: len(rows(daemon)) >= 20 and any("nobody" in t for t in stand_in.sent), "most of it is made")
    assert hits(daemon, "boiler")
    daemon.kill()
    before = rows(daemon)
    held.set()
    daemon.start()
    level_of_all_but_one = lambda: daemon.status()["vectors"]["made"] == 47  # noqa: E731
    daemon.wait(level_of_all_but_one, "all have vectors but the one that is refused")
    after = rows(daemon)
    assert before and {path: after[path] for path in before} == before
    daemon.wait(lambda: daemon.status()["vectors"]["state"] == "level", "that is all")
    assert [problem for problem in problems(daemon) if "refused.md" in problem and "400" in problem]

    # no secret leaves, neither of a page nor of a query
    assert by_meaning(daemon, f"boiler {TOKEN}")
    assert any("redacted" in text and "boiler's page" in text for text in stand_in.sent)
    assert any(text.startswith("boiler") and "redacted" in text for text in stand_in.sent)
    assert not any(TOKEN in text or TOKEN[4:20] in text for text in stand_in.sent)
    assert secret in after

    # it answers with an error: searches don't, and status says so until it is back
    stand_in.status = 500
    daemon.wait(lambda: not by_meaning(daemon, "boiler red"), "it is not asked any more")
    assert hits(daemon, "boiler red")
    assert any("500" in problem for problem in problems(daemon))
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: daemon.status()["vectors"]["state"] == "failing", "it is asked in vain")
    assert hits(daemon, "boiler red") and any("500" in problem for problem in problems(daemon))

    # another model: of the vectors before none is used
    daemon.stop()
    stand_in.status, stand_in.dimension, stand_in.refused = 200, 8, ""
    count = len(stand_in.sent)
    daemon.start()
    level(daemon, 48)
    assert len(stand_in.sent) - count >= 48
    assert by_meaning(daemon, "boiler red") and not problems(daemon)
