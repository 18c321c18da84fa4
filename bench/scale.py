"""A large memory: an index made anew, a start, and the daemon's memory, at some numbers of pages and events.

Prints JSON lines. Floors of the same run: reading the same files without doing anything, and a start on an empty data
directory. The memory is written straight to its files and committed, as a daemon would have left it.
Run: python bench/scale.py [--pages 10000 100000] [--events 100000]; TMPDIR chooses the disk.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

import brief
from commit import commit, isolated
from living import Daemon

from aimemory.index.apply import apply_lines, batches
from aimemory.index.connect import check, open_writer
from aimemory.journal.replay import replay
from aimemory.store.pagerows import take_pages
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.repo import WikiRepo

PROJECTS = 20
PER_FOLDER = 500
READY_S = 900.0


def say(what: str, **figures: object) -> None:
    print(json.dumps({"bench": "scale", "what": what, **figures}), flush=True)


def page(number: int) -> tuple[str, bytes]:
    """Path and bytes: some 1.5 KB with a heading, links and a list, in dated folders, of many projects."""
    words = " ".join(brief.WORDS[(number * 7 + n * n) % len(brief.WORDS)] for n in range(180))
    kind = ("decision", "gotcha", "note")[number % 3]
    front = f"type: {kind}\nid: scale{number:08}\ntitle: {brief.WORDS[number % len(brief.WORDS)]} number {number}\n"
    links = f"See [[page-{(number * 31) % (number + 1):06}]] and [[app-{number % PROJECTS}|its project]]."
    text = (
        f"---\n{front}tags: [one, two]\ncreated: 2026-03-01T09:00:00Z\n---\n\n# Page {number}\n\n{words}\n\n{links}\n"
    )
    folder = f"default/app-{number % PROJECTS}/{kind}s/{number // (PER_FOLDER * PROJECTS):03}"
    return f"{folder}/page-{number:06}.md", text.encode()


def fill(wiki: Path, pages: int) -> None:
    """All pages and those of the projects, in one commit, packed."""
    repo, batch = WikiRepo(wiki), {}
    for number in range(PROJECTS):
        text = (
            f"---\ntype: project\nid: project{number:04}\ntitle: app-{number}\nidentity: dir:/srv/app-{number}\n---\n\n"
        )
        batch[f"default/app-{number}/app-{number}.md"] = text.encode()
    batch.update(page(number) for number in range(pages))
    for path, raw in batch.items():
        file = wiki / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    commit(repo, batch)
    repo.sync_index(None)
    repo.close()
    subprocess.run(["git", "repack", "-adq"], cwd=wiki, env=isolated(), check=True)


def build(daemon: Daemon, pages: int, events: int) -> None:
    """The index, as a rebuild makes it. Said: pages a second, beside the floor of reading their bytes."""
    files = WikiFiles(daemon.data.wiki)
    before = time.perf_counter()
    read = sum(len(path.read_bytes()) for path in daemon.data.wiki.rglob("*.md"))
    floor = time.perf_counter() - before
    with closing(open_writer(daemon.data.index)) as db:
        db.execute("pragma synchronous=off")
        before = time.perf_counter()
        for batch in batches(replay(daemon.data.journal)):
            apply_lines(db, batch)
        lines = time.perf_counter() - before
        before, cpu = time.perf_counter(), time.process_time()
        take_pages(files, b"k" * 32)(db, lambda what, count: None)
        took, worked = time.perf_counter() - before, time.process_time() - cpu
        db.execute("pragma synchronous=normal")
        before = time.perf_counter()
        assert check(db) == []
        checked = time.perf_counter() - before
    say(
        "index made anew", pages=pages, events=events, mb=round(read / 1e6), pages_s=round(took, 1),
        pages_per_s=round(pages / took), pages_per_cpu_s=round(pages / worked), read_floor_s=round(floor, 1), times_floor=round(took / floor, 1),
        lines_s=round(lines, 1), check_s=round(checked, 1), index_mb=round(daemon.data.index.stat().st_size / 1e6),
    )  # fmt: skip


def memory_mb(pid: int) -> dict[str, int]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {
        "rss_mb": int(found["VmRSS"].split()[0]) // 1024, "peak_mb": int(found["VmHWM"].split()[0]) // 1024,
    }  # fmt: skip


def start(daemon: Daemon) -> tuple[float, float]:
    """Seconds from the start of the process to its first answer: by the clock, and of its own work."""
    before = time.perf_counter()
    daemon.process = subprocess.Popen(
        [*daemon.program, "serve"], env=daemon.env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    daemon.wait(daemon.is_up, "the daemon answers", READY_S)
    took = time.perf_counter() - before
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return round(took, 2), round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 2)


def settled(daemon: Daemon) -> bool:
    """Is the walk after the start done, and nothing waits for a commit?"""
    status = daemon.status()
    return bool(status["index"]["lag"] == 0 and status["git"]["waiting"] == 0 and _walked(status))


def _walked(status: dict[str, object]) -> bool:
    tasks = {task["name"]: task for task in status["tasks"]}  # type: ignore[attr-defined]
    return tasks["watcher"]["last"] is not None


def run(folder: Path, pages: int, events: int) -> None:
    daemon = Daemon(folder / f"at-{pages}")
    daemon.data.create()
    if events:
        brief.EVENTS = events
        brief.events(daemon.data.root, "project0000", Path("/srv/app-0"))
    fill(daemon.data.wiki, pages)
    build(daemon, pages, events)
    empty = Daemon(folder / f"empty-{pages}")
    floor = start(empty)
    empty.close()
    try:
        first = start(daemon)
        at_start = memory_mb(daemon.process.pid)
        before = time.perf_counter()
        daemon.wait(lambda: settled(daemon), "it has looked at everything", READY_S)
        looked = time.perf_counter() - before
        say(
            "start", pages=pages, events=events, first_answer_s=first[0], cpu_s=first[1], empty_s=floor[0],
            empty_cpu_s=floor[1], looked_at_all_s=round(looked, 1), at_first_answer=at_start, after=memory_mb(daemon.process.pid),
        )  # fmt: skip
        for query in ("parser token number", "nothing of the kind"):
            daemon.post("/api/v1/search", {"query": query, "project": "*"})
        say("after some searches", pages=pages, **memory_mb(daemon.process.pid), stop_s=round(daemon.stop(), 2))
    finally:
        daemon.close()
    with closing(sqlite3.connect(daemon.data.index)) as db:
        (known,) = db.execute("select count(*) from page").fetchone()
    if known < pages + PROJECTS:
        sys.exit(f"the index knows {known} pages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--events", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as folder:
        for pages in given.pages:
            run(Path(folder), pages, given.events if pages <= 10_000 else 0)


if __name__ == "__main__":
    main()
