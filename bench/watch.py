"""A large wiki: from a save by hand to the index, writes of pages, the full compare of tree and index, memory.

Prints one JSON line per figure; floors of the same run stand beside them: what the file watch alone needs (with our pauses
for gathering, in a folder of one file), a bare walk that looks at every file, and a daemon without pages.
Run: python bench/watch.py [--pages 10000] [--rounds 40]; most of the time goes into indexing the pages at the start.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from watchfiles import awatch

from aimemory.datadir import DataDir
from aimemory.model.ids import page_version
from aimemory.wiki.walk import Stat, scan

LIMIT_S = 1800.0
TEXT = (
    "The pump of hall {0} was replaced by part {1}, since its seal leaks above {2} bar; see the manual of the vendor.\n"
)


def fill(wiki: Path, pages: int) -> None:
    """Pages of 3 KB in folders of 500, committed and packed by git itself."""
    for number in range(pages):
        file = wiki / page_path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "\n".join(TEXT.format(number % 97, number * 7 + line, line) for line in range(24))
        file.write_text(f"---\ntype: note\ntitle: Page {number}\n---\n\n{body}")
    if pages:
        env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Begin"], ["repack", "-adq"]):
            who = ["-c", "user.name=ann", "-c", "user.email=ann@box.invalid", "-c", "gc.auto=0"]
            subprocess.run(["git", *who, *command], cwd=wiki, env=env, check=True)


def page_path(number: int) -> str:
    return f"default/plant-{number % 10}/notes/{number // 500:03d}/page-{number}.md"


class Running:
    """A daemon on a data directory; its index read beside it."""

    def __init__(self, root: Path, pages: int) -> None:
        self.data = DataDir(root)
        self.data.wiki.mkdir(parents=True)
        fill(self.data.wiki, pages)
        env = {"PATH": os.environ["PATH"], "HOME": str(root), "USER": "ann", "AIMEMORY_DATA_DIR": str(root)}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-m", "aimemory", "serve"], env={**env, "AIMEMORY_SERVER_TCP": "false"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait(
            lambda: (
                self.count() >= pages and self.task("catch-up") in (None, "done") and self.task("watcher") == "running"
            )
        )

    def status(self) -> dict[str, object] | None:
        command = [sys.executable, "-I", "-m", "aimemory", "status", "--json"]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.data.root), "AIMEMORY_DATA_DIR": str(self.data.root)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def task(self, name: str) -> str | None:
        found = self.status()
        if found is None:
            return "?"
        return next((task["state"] for task in found["tasks"] if task["name"] == name), None)  # type: ignore[attr-defined]

    def count(self) -> int:
        found = self.status()
        return -1 if found is None else int(found["counts"].get("pages", -1))  # type: ignore[attr-defined]

    def memory_mb(self) -> dict[str, float]:
        """Now, and the most it ever was."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        named = {"mb": "VmRSS:", "peak_mb": "VmHWM:"}
        return {name: round(int(text.split(line)[1].split()[0]) / 1024, 1) for name, line in named.items()}

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def wait(condition: Callable[[], bool], pause_s: float = 0.5) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the daemon did not get there")
        time.sleep(pause_s)


def latencies(running: Running, pages: int, rounds: int) -> list[float]:
    """Milliseconds from a save in place to the row of the new version."""
    taken = []
    with closing(sqlite3.connect(f"file:{running.data.index}?mode=ro", uri=True)) as db:
        for number in range(0, pages, max(1, pages // rounds))[:rounds] if pages else ():
            path = page_path(number)
            with (running.data.wiki / path).open("a") as file:
                file.write("more\n")
            start = time.perf_counter()
            row = (path, page_version((running.data.wiki / path).read_bytes()))
            query = "select 1 from page where path = ? and version = ?"
            wait(lambda row=row, query=query: db.execute(query, row).fetchone() is not None, 0.002)
            taken.append((time.perf_counter() - start) * 1000)
    return taken


class Connection(http.client.HTTPConnection):
    """HTTP over the daemon's Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def write_latencies(running: Running, pages: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds until a page write is answered: of new pages, and of pages of the full folders."""
    taken: dict[str, list[float]] = {"new": [], "replaced": []}
    connection = Connection(running.data.socket)

    def post(name: str, body: dict[str, str]) -> None:
        start = time.perf_counter()
        connection.request("POST", "/api/v1/page", json.dumps({"cwd": "/srv/plant", **body}))
        answer = connection.getresponse()
        text = answer.read()
        taken[name].append((time.perf_counter() - start) * 1000)
        if answer.status >= 300:
            raise SystemExit(text.decode())

    for number in range(rounds):
        post("new", {"title": f"Written {number}", "body": TEXT.format(number, number, number) * 24})
        if pages:
            path = page_path(number * (pages // rounds or 1) % pages)
            version = page_version((running.data.wiki / path).read_bytes())
            body = TEXT.format(number, number, number) * 24
            post("replaced", {"title": f"Page {number}", "body": body, "path": path, "version": version})
    connection.close()
    return taken


def bare_write(folder: Path, rounds: int) -> list[float]:
    """Milliseconds for what is synced at least: a line of a journal, a file, and its folder."""
    taken = []
    with (folder / "lines").open("ab") as lines:
        for number in range(rounds):
            start = time.perf_counter()
            lines.write(b"x" * 300)
            lines.flush()
            os.fdatasync(lines.fileno())
            with (folder / "temp").open("wb") as file:
                file.write(b"x" * 3000)
                file.flush()
                os.fdatasync(file.fileno())
            (folder / "temp").rename(folder / f"{number}.md")
            fd = os.open(folder, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
            taken.append((time.perf_counter() - start) * 1000)
    return taken


async def watch_alone(folder: Path, rounds: int) -> list[float]:
    """Milliseconds until the library tells of a save, with the daemon's own pauses."""
    file = folder / "one.md"
    file.write_text("one\n")
    taken: list[float] = []
    told = asyncio.Event()
    stop = asyncio.Event()

    async def listen() -> None:
        async for _ in awatch(folder, step=50, debounce=300, stop_event=stop):
            told.set()

    listening = asyncio.create_task(listen())
    await asyncio.sleep(1)
    for _ in range(rounds):
        told.clear()
        start = time.perf_counter()
        with file.open("a") as opened:
            opened.write("more\n")
        await told.wait()
        taken.append((time.perf_counter() - start) * 1000)
    stop.set()
    await listening
    return taken


def bare_walk(wiki: Path) -> int:
    count, folders = 0, [str(wiki)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def compare(running: Running) -> tuple[float, float]:
    """Milliseconds to read what is known and to compare the tree with it."""
    start = time.perf_counter()
    with closing(sqlite3.connect(f"file:{running.data.index}?mode=ro", uri=True)) as db:
        known = {path: Stat(mtime, size) for path, mtime, size in db.execute("select path, mtime_ns, size from page")}
    read = time.perf_counter()
    scan(running.data.wiki, known)
    return (read - start) * 1000, (time.perf_counter() - read) * 1000


def show(name: str, pages: int, **figures: float) -> None:
    print(json.dumps({"bench": "watch", "name": name, "pages": pages, **figures}), flush=True)


def spread(taken: list[float]) -> dict[str, float]:
    taken = sorted(taken)
    return {"p50_ms": round(taken[len(taken) // 2], 1), "p95_ms": round(taken[int(len(taken) * 0.95)], 1)}


def run(pages: int, rounds: int, folder: Path) -> None:
    empty = Running(folder / "empty", 0)
    show("memory", 0, **empty.memory_mb())
    empty.stop()
    alone = folder / "alone"
    alone.mkdir()
    show("floor: the file watch alone", 1, **spread(asyncio.run(watch_alone(alone, rounds))))
    running = Running(folder / "full", pages)
    try:
        show("memory after the start", pages, **running.memory_mb())
        walks = []
        for _ in range(5):
            start = time.perf_counter()
            bare_walk(running.data.wiki / "default")
            walks.append((time.perf_counter() - start) * 1000)
        show("floor: a walk that looks at every file", pages, **spread(walks))
        compares = [compare(running) for _ in range(5)]
        show("full compare: what is known", pages, **spread([one for one, _ in compares]))
        show("full compare: the tree", pages, **spread([one for _, one in compares]))
        show("from a save to the index", pages, **spread(latencies(running, pages, rounds)))
        synced = folder / "synced"
        synced.mkdir()
        show("floor: a line, a file and its folder synced", 1, **spread(bare_write(synced, rounds)))
        for name, taken in write_latencies(running, pages, rounds).items():
            if taken:
                show(f"a page written until it is answered: {name}", pages, **spread(taken))
        show("memory after the edits", pages, **running.memory_mb())
    finally:
        running.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(given.pages, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
