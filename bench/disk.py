"""Bytes on the disk: per 1,000 sessions, and after a synthetic year of one busy developer, packed. Also what packing costs.

    python bench/disk.py [--sessions N] [--year]

A real writer, wiki, git and index, driven without HTTP: N sessions of 60 events each (a prompt, 55 tool calls with outputs
of source files of this Python, answers), each closed into a session page and a handoff. `--year`: 7,300 sessions (20 a day)
of 20 events. Sizes are those of the disk's blocks.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from inside import SECOND_NS, START, memory

from aimemory.journal.lines import Record
from aimemory.journal.segments import seal
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.upkeep.disk import measure, size_text
from aimemory.wiki.pack import pack


def texts():
    """Source files of the standard library, for outputs that compress as real ones do."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = [path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.py"))[:150]]
    return [text for text in found if len(text) > 6000]


def session(number, events, sources, chance, actor):
    """One session's journal lines, with times a minute apart."""
    at = START + number * 4320 * SECOND_NS  # 20 a day
    sid = f"{number:032x}"
    base = {"session": sid, "project": "p", "user": actor.user, "machine": actor.machine, "harness": "claude-code",
            "native_session": f"native-{number}", "cwd": "/srv/app"}  # fmt: skip
    for turn in range(events):
        source = chance.choice(sources)
        cut = chance.randrange(len(source) - 4200)
        data = base | {"id": f"{sid}{turn:04x}", "key": f"k{sid}{turn:04x}"}
        if turn % 20 == 0:
            data |= {"kind": "prompt", "event": "UserPromptSubmit", "prompt": " ".join(source[cut : cut + 300].split())}
        elif turn % 20 == 19:
            data |= {"kind": "turn-end", "event": "Stop", "message": source[cut : cut + 900]}
        else:
            data |= {"kind": "post-tool", "event": "PostToolUse", "tool": "Bash", "command": f"sed -n '{cut}p' src/a{turn}.py",
                     "output": source[cut : cut + chance.choice((60, 200, 700, 4000))], "failed": False}  # fmt: skip
        yield Record("observation", at + turn * 60 * SECOND_NS, sanitize_tree(data))


async def fill(root, sessions, events):
    """A memory with so many closed sessions below `root`; gives its config."""
    async with memory(root) as (parts, _):
        actor, chance, sources = parts.actor, random.Random(1), texts()
        for number in range(sessions):
            await asyncio.gather(
                *(parts.writer.submit(line) for line in session(number, events, sources, chance, actor))
            )
            body = "\n".join(" ".join(chance.choice(sources)[i * 90 : i * 90 + 80].split()) for i in range(45))
            for kind in ("sessions", "handoffs"):
                path = f"default/app/{kind}/bench/2026/{number * 12 // sessions + 1:02d}/s{number:05d}-{kind[:-1]}.md"
                page = f"---\ntype: {kind[:-1]}\nid: {kind[0]}{number:06d}\ntitle: Session {number}\n---\n\n# Session {number}\n\n{body}\n"
                await parts.pages.write(path, sanitize(page), expected=None, actor=actor, summary="Close")
            if number % 250 == 249:
                await parts.projector.reached(parts.writer.last_seq)
                await parts.committer.flush()
                print(f"  {number + 1:,} sessions", flush=True)
            elif number % 3 == 2:
                await parts.committer.flush()  # about one commit a session page or two, as the committer groups them
        await parts.projector.reached(parts.writer.last_seq)
        await parts.committer.flush()
    return parts.config


def show(title, root):
    usage = measure(root, 0)
    parts = ", ".join(f"{name} {size_text(size)}" for name, size in usage.parts.items() if size > 100_000)
    print(f"{title}: {size_text(usage.total)} ({parts})", flush=True)


def free_pages(path):
    db = sqlite3.connect(path)
    try:
        return db.execute("pragma freelist_count").fetchone()[0] / db.execute("pragma page_count").fetchone()[0]
    finally:
        db.close()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=1000)
    options.add_argument("--year", action="store_true")
    given = options.parse_args()
    sessions, events = (7300, 20) if given.year else (given.sessions, 60)
    with tempfile.TemporaryDirectory(prefix="aimemory-bench-") as folder:
        began = time.monotonic()
        config = asyncio.run(fill(Path(folder), sessions, events))
        root = config.data.root
        print(f"{sessions:,} sessions of {events} events in {time.monotonic() - began:.0f} s")
        show("as written", root)
        seal(config.data.journal)
        slowest, rounds, began = 0.0, 0, time.monotonic()
        while True:
            before = time.monotonic()
            done = pack(config.data.wiki, at_least=config.storage.git_loose)
            if not done.loose and not done.merged:
                break
            rounds, slowest = rounds + 1, max(slowest, time.monotonic() - before)
        took = time.monotonic() - began
        show("packed and sealed", root)
        packs = len(list((config.data.wiki / ".git/objects/pack").glob("*.pack")))
        print(
            json.dumps(
                {"packing_s": round(took, 1), "rounds": rounds, "slowest_round_s": round(slowest, 1), "packs": packs}
            )
        )
        print(f"index: {free_pages(config.data.index) * 100:.1f} % of its pages free")
        before = time.monotonic()
        measure(root, 0)
        print(f"measuring took {time.monotonic() - before:.2f} s")


if __name__ == "__main__":
    main()
