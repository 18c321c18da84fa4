"""The same sets through a real daemon: pages lie as files in its wiki, events arrive at its hook route, queries go to
its HTTP API. Nothing of the daemon is bypassed: gate, parsing, journal, projector, index and search are what runs.
"""

import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rankers import HITS, Ranker
from sets import Document, Group

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))

from living import Daemon

_START_S = 600.0


def page_text(number: int, document: Document) -> str:
    """One file as a person would write it: front matter, then the text."""
    front = {
        "type": "note", "id": f"page-{number}", "title": document.title, "created": document.at.isoformat(),
        "files": list(document.paths), "identifiers": list(document.idents),
    }  # fmt: skip
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items() if value]
    return "---\n" + "\n".join(lines) + f"\n---\n\n{document.body}\n"


def write_pages(wiki: Path, group: Group) -> None:
    folder = wiki / "default" / "bench" / "notes"
    folder.mkdir(parents=True)
    for number, document in enumerate(group.documents):
        (folder / f"page-{number}.md").write_text(page_text(number, document), encoding="utf-8")


def send_events(daemon: Daemon, group: Group) -> dict[int, int]:
    """Every turn as a note of its session; the speaker is who acted, the event's `tool`. Returns seq to position."""
    position: dict[int, int] = {}
    for number, document in enumerate(group.documents):
        body = {
            "event": "note", "id": f"turn-{number}", "session_id": f"{group.name}-{document.session}",
            "cwd": str(daemon.home), "tool": document.speaker, "text": document.body,
        }  # fmt: skip
        at = int(document.at.timestamp() + number) * 10**9
        status, answer = daemon.event("generic", "note", body, at=at, pid=1)
        assert status == 202 and answer["seq"], answer
        position[answer["seq"]] = number
    return position


@contextmanager
def through_daemon(group: Group, with_vectors: bool = False) -> Iterator[Ranker]:
    """A daemon of its own on a temporary directory; ends with the block."""
    root = Path(tempfile.mkdtemp(prefix="aimemory-retrieval-"))
    daemon = Daemon(root, recall_vectors="static" if with_vectors else "off")
    try:
        if not group.is_turns:
            write_pages(daemon.data.root / "wiki", group)
        daemon.spawn()
        daemon.wait(daemon.is_up, "the daemon answers", _START_S)
        position: dict[int, int] = {}
        if group.is_turns:
            position = send_events(daemon, group)
            daemon.search("x")  # waits until the index shows the last line
        else:
            daemon.wait(lambda: _pages(daemon) >= len(group.documents), "the index holds every page", _START_S)
        if with_vectors and not group.is_turns:
            daemon.wait(lambda: _vectors(daemon) >= len(group.documents), "every page has vectors", _START_S)
        kind = "observation" if group.is_turns else "note"

        def ask(text: str) -> list[int]:
            answer = daemon.post("/api/v1/search", {"query": text, "project": "*", "kind": kind, "limit": HITS})
            hits = answer["answer"]["hits"]
            return [
                position[hit["seq"]] if group.is_turns else int(Path(hit["path"]).stem.removeprefix("page-"))
                for hit in hits
            ]

        yield ask
    finally:
        daemon.close()
        shutil.rmtree(root, ignore_errors=True)


def _vectors(daemon: Daemon) -> int:
    """How many pages have vectors, once all was looked at."""
    found = daemon.status()["vectors"]
    return int(found["made"]) if found["state"] == "level" else 0


def _pages(daemon: Daemon) -> int:
    """How many pages the index holds. Asked of its file, since a search counts to 1,000 and a read takes the disk's."""
    try:
        with closing(sqlite3.connect(f"file:{daemon.data.root / 'cache' / 'index.sqlite3'}?mode=ro", uri=True)) as db:
            return int(db.execute("select count(*) from page where kind = 'note'").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
