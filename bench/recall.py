"""Speed of recall, and of filling the index.

    python bench/recall.py [--pages 10000] [--observations 100000]

Query times over a synthetic store of the given size, in a temporary directory. How good the answers are is measured by
`bench/retrieval/run.py`.
"""

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aimemory.index.apply import apply_lines, batches
from aimemory.index.connect import open_reader, open_writer
from aimemory.index.pages import PageRow, upsert_pages
from aimemory.index.read import read
from aimemory.index.search import Scope
from aimemory.model.ids import PageId, ProjectId, Version
from aimemory.privacy import sanitize
from aimemory.recall.answer import Request, search

PROJECT = ProjectId("bench")


@dataclass(frozen=True, slots=True)
class BenchLine:
    seq: int
    type: str
    at_ns: int
    data: dict[str, Any]
    data_json: str | None = None


def fill(db: sqlite3.Connection, pages: Sequence[PageRow]) -> float:
    """Insert pages, 500 a transaction; returns the CPU seconds."""
    gate = sanitize("")  # public text: what is measured is the index
    wrapped = [gate.derive(lambda _, row=row: row) for row in pages]
    start = time.process_time()
    for i in range(0, len(wrapped), 500):
        upsert_pages(db, wrapped[i : i + 500])
    return time.process_time() - start


def percentiles(ms: list[float]) -> dict[str, float]:
    ms = sorted(ms)
    return {
        "p50_ms": round(ms[len(ms) // 2], 1),
        "p95_ms": round(ms[int(0.95 * len(ms))], 1),
        "max_ms": round(ms[-1], 1),
    }


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Made-up words with the frequencies of text: the n-th is used 1/n times as often as the first."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    made = ("".join(chance.choices(syllables, k=chance.choice((2, 3, 3, 4)))) for _ in range(40_000))
    words = list(dict.fromkeys(made))  # in an order that is the same in every run
    total, cumulative = 0.0, []
    for n in range(len(words)):
        total += 1 / (n + 3)
        cumulative.append(total)
    return words, cumulative


def events(chance: random.Random, text: Any, count: int) -> Iterator[BenchLine]:
    for seq in range(1, count + 1):
        data: dict[str, Any] = {
            "id": f"{seq:016x}", "key": f"{seq:032x}", "hash": f"{seq:032x}", "harness": "codex",
            "session": f"s{seq // 200}", "project": f"p{seq // 20_000}", "cwd": "/home/someone/app",
        }  # fmt: skip
        if seq % 20 == 0:
            data |= {"event": "UserPromptSubmit", "kind": "prompt", "prompt": text(60)}
        elif seq % 2:
            path = f"/home/someone/app/src/{'/'.join(text(3).split())}.py"
            data |= {
                "event": "PostToolUse",
                "kind": "post-tool",
                "tool": "Edit",
                "files_written": [path],
                "failed": False,
            }
        else:
            data |= {"event": "PostToolUse", "kind": "post-tool", "tool": "Bash", "command": f"pytest -q {text(8)}"}
            data |= {"output": text(60), "failed": chance.random() < 0.2, "error": text(20)}
        yield BenchLine(seq, "observation", seq * 1_000_000_000, data)


def latency(work: Path, pages: int, observations: int) -> None:
    chance = random.Random(11)
    words, cumulative = vocabulary(chance)

    def text(n: int) -> str:
        return " ".join(chance.choices(words, cum_weights=cumulative, k=n))

    path = work / "synthetic.sqlite3"
    db = open_writer(path)
    seconds = 0.0
    for begin in range(0, pages, 1000):
        part = [
            PageRow(
                path=f"default/p{i % 5}/notes/{i}.md", id=PageId(str(i)), kind="note", title=text(6), body=text(430),
                version=Version(str(i)), mtime_ns=i, size=3000, project=ProjectId(f"p{i % 5}"), workspace="default",
            )
            for i in range(begin, min(begin + 1000, pages))
        ]  # fmt: skip
        seconds += fill(db, part)
    lines = list(events(chance, text, observations))
    start = time.process_time()
    for batch in batches(lines):
        apply_lines(db, batch)
    per_event = (time.process_time() - start) / max(1, observations) * 1e6
    del lines
    report(
        store="synthetic", pages=pages, observations=observations, pages_per_cpu_s=round(pages / seconds),
        cpu_us_per_event=round(per_event, 1), file_mb=round(path.stat().st_size / 1e6),
    )  # fmt: skip
    reader = open_reader(path)
    some_words = {
        "as in the text, 2 to 8 words": [text(chance.randint(2, 8)) for _ in range(300)],
        "evenly over the vocabulary": [" ".join(chance.sample(words, chance.randint(1, 8))) for _ in range(200)],
        "one common word": words[:20],
        "a pasted page": [text(1500) for _ in range(20)],
    }
    for name, queries in some_words.items():
        for scope, where in ((Scope(), "everything"), (Scope(projects=("p3",)), "one project")):
            times, cpu = [], []
            for query in queries:
                start, used = time.perf_counter(), time.thread_time()
                read(reader, search(Request(query, scope)))
                times.append((time.perf_counter() - start) * 1e3)
                cpu.append((time.thread_time() - used) * 1e3)
            cpu_ms = {f"cpu_{key}": value for key, value in percentiles(cpu).items()}
            report(queries=name, searched=where, count=len(queries), **percentiles(times), **cpu_ms)
    reader.close()
    db.close()


def report(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pages", type=int, default=10_000)
    options.add_argument("--observations", type=int, default=100_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        latency(Path(folder), given.pages, given.observations)


if __name__ == "__main__":
    main()
