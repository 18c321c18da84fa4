"""Commits of wiki pages: one page and 64, at 1,000, 10,000 and 50,000 files, and the sync of the repository's own index.

Prints one JSON line per figure: name, files, rounds, p50_ms, p95_ms, and cpu_ms, the median of this process's own work,
which says whether the cost is flat also on a busy machine. The floors of the same run stand beside them: the
git command line doing the same commit, and how long this disk takes to sync one small new file (a commit waits for
one such sync for its objects and six, by libgit2, for the branch and its log).
Run: python bench/commit.py [--rounds 20] [--files 1000 10000 50000]; TMPDIR chooses the disk, /dev/shm shows the CPU alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aimemory.wiki.repo import WikiRepo


def page_path(number: int) -> str:
    return f"default/app-{number % 10}/sessions/ann/2026/{number // 500:02d}/page-{number}.md"


def fill(root: Path, files: int) -> WikiRepo:
    repo = WikiRepo(root)
    pages: dict[str, bytes | None] = {}
    for number in range(files):
        content = f"---\ntype: session\ntitle: Page {number}\n---\n\n{'text of the page ' * 20}\n".encode()
        file = root / page_path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        pages[page_path(number)] = content
    commit(repo, pages)
    repo.sync_index(None)
    # packed, as the scheduler keeps it
    subprocess.run(["git", "repack", "-adq"], cwd=root, env=isolated(), check=True)
    return repo


def commit(repo: WikiRepo, pages: dict[str, bytes | None]) -> None:
    repo.commit(pages, author_name="ann", author_email="ann@box.invalid", message="Update", when_ns=time.time_ns())


def isolated() -> dict[str, str]:
    return {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def change(root: Path, numbers: range, round_number: int) -> dict[str, bytes | None]:
    pages: dict[str, bytes | None] = {}
    for number in numbers:
        content = f"---\ntype: session\ntitle: Page {number}\n---\n\nround {round_number}\n".encode()
        (root / page_path(number)).write_bytes(content)
        pages[page_path(number)] = content
    return pages


def measure(name: str, files: int, rounds: int, prepare: Callable[[int], object], act: Callable[[], object]) -> None:
    taken, worked = [], []
    for round_number in range(rounds):
        prepare(round_number)
        start, cpu = time.perf_counter(), time.process_time()
        act()
        taken.append((time.perf_counter() - start) * 1000)
        worked.append((time.process_time() - cpu) * 1000)
    taken.sort()
    p50, p95 = taken[len(taken) // 2], taken[min(len(taken) - 1, int(len(taken) * 0.95))]
    line = {
        "bench": "commit",
        "name": name,
        "files": files,
        "rounds": rounds,
        "p50_ms": round(p50, 2),
        "p95_ms": round(p95, 2),
        "cpu_ms": round(sorted(worked)[len(worked) // 2], 2),
    }
    print(json.dumps(line), flush=True)


def sync_one_file(folder: Path) -> None:
    fd, name = tempfile.mkstemp(dir=folder)
    os.write(fd, b"x" * 200)
    os.fsync(fd)
    os.close(fd)
    os.unlink(name)


def git_commit(root: Path, path: str) -> None:
    git = ["git", "-c", "user.name=ann", "-c", "user.email=ann@box.invalid", "-c", "core.fsync=all", "-c", "gc.auto=0"]
    subprocess.run([*git, "add", path], cwd=root, env=isolated(), check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Update"], cwd=root, env=isolated(), check=True)


def run(files: int, rounds: int, folder: Path) -> None:
    root = folder / f"wiki-{files}"
    root.mkdir()
    repo = fill(root, files)
    pages: dict[str, bytes | None] = {}

    def prepare(count: int, offset: int) -> Callable[[int], None]:
        def change_pages(round_number: int) -> None:
            pages.clear()
            pages.update(change(root, range(0, files, files // count)[:count], offset + round_number))

        return change_pages

    measure("floor: one small file synced", files, rounds, lambda n: None, lambda: sync_one_file(folder))
    measure("commit of one file", files, rounds, prepare(1, 0), lambda: commit(repo, pages))
    measure("commit of 64 files", files, max(3, rounds // 4), prepare(64, 10_000), lambda: commit(repo, pages))
    repo.sync_index(None)
    committed = prepare(1, 20_000)

    def commit_one(round_number: int) -> None:
        committed(round_number)
        commit(repo, pages)

    measure("index sync after one file", files, rounds, commit_one, lambda: repo.sync_index([]))
    measure(
        "index sync, every path compared", files, max(3, rounds // 4), lambda n: None, lambda: repo.sync_index(None)
    )
    one = prepare(1, 30_000)
    measure("floor: git add and git commit", files, max(3, rounds // 4), one, lambda: git_commit(root, page_path(0)))
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, env=isolated(), capture_output=True, check=True)
    repo.close()
    if status.stdout:
        sys.exit(f"git status is not clean after the run: {status.stdout[:200]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 10_000, 50_000])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for files in given.files:
            run(files, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
