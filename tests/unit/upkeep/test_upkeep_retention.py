"""Retention by the clock, with a clock of its own: a year passes in seconds."""

import asyncio
import os

import pytest
from inside import SECOND_NS, START, memory

from aimemory.journal.lines import Record
from aimemory.model.protocols import TaskPulse
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.upkeep.disk import measure
from aimemory.upkeep.retention import QUIET_NS
from aimemory.wiki.pack import pack

pytestmark = pytest.mark.anyio

DAY_NS = 86_400 * SECOND_NS


async def session(parts, name, at, *, events=12, closed=True, tags="", rows=20):
    """A session of so many events, closed into a page of so many rows as the closer does; returns its page."""
    base = {"session": name, "project": "p", "user": "ada", "machine": "m", "harness": "claude-code",
            "native_session": f"native-{name}"}  # fmt: skip
    page = f"default/app/sessions/ada/{name}.md"
    lines = []
    for number in range(events):
        data = base | {"id": f"{name}-{number}", "key": f"k-{name}-{number}", "kind": "post-tool", "event": "PostToolUse",
                       "tool": "Bash", "command": "cat notes", "output": os.urandom(2000).hex(), "failed": False}  # fmt: skip
        lines.append(Record("observation", at + number * SECOND_NS, sanitize_tree(data)))
    seq = max(await asyncio.gather(*(parts.writer.submit(line) for line in lines)))
    body = "\n".join(os.urandom(30).hex() for _ in range(rows))
    text = f"---\ntype: session\nid: {name}\ntitle: Session {name}\n{tags}---\n\n{body}\n"
    if closed:
        said = {"id": f"c-{name}", "session": name, "upto": seq, "page": page}
        await parts.writer.record(Record("intent", at + 100 * SECOND_NS, sanitize_tree(said)))
    await parts.pages.write(page, sanitize(text), expected=None, actor=parts.actor, summary="Close")
    if closed:
        await parts.writer.record(Record("done", at + 100 * SECOND_NS, sanitize_tree(said)))
    await parts.committer.flush()
    return parts.config.data.wiki / page


async def quiet(parts, clock):
    """The scheduler's looks before and after a quiet while."""
    await parts.retention.step(TaskPulse("x"))
    clock.ns += QUIET_NS
    await parts.retention.step(TaskPulse("x"))


@pytest.mark.promise("P11.180")
async def test_a_year_settles_in_size(tmp_path):
    async with memory(tmp_path, retention_sessions_days=60, retention_history=True) as (parts, clock):
        sizes = []
        for month in range(12):
            for number in range(3):
                clock.ns = START + (month * 30 + number * 9) * DAY_NS
                await session(parts, f"s{month:02d}{number}", clock.ns, rows=400)
            clock.ns = START + (month + 1) * 30 * DAY_NS
            await quiet(parts, clock)
            pack(parts.config.data.wiki, at_least=1)  # as the scheduler does, of many
            used = measure(parts.config.data.root, 0)
            # of git what its files hold: its 256 folders of loose objects come one after another, and stay
            git = sum(one.stat().st_size for one in (parts.config.data.wiki / ".git").rglob("*") if one.is_file())
            sizes.append({"all": used.total, "journal": used.parts["journal"], "wiki": used.parts["wiki"], "git": git})
            left = sorted((parts.config.data.wiki / "default/app/sessions").rglob("*.md"))
            assert len(left) == min(month + 1, 2) * 3, "sixty days of pages are left"
        # what is left of seven more runs (a few lines, bare commits) is less than one month brings
        for part in sizes[0]:
            grown = [size[part] for size in sizes]
            assert grown[-1] - max(grown[2:5]) < grown[1] - grown[0], (part, grown)
        assert parts.retention.as_data()["last_run"]["counts"]["pages"] == 3


@pytest.mark.promise("P10.184")
async def test_it_runs_once_a_day_in_quiet_times_and_what_is_open_or_pinned_stays(tmp_path):
    async with memory(tmp_path, retention_sessions_days=30) as (parts, clock):
        step, pulse = parts.retention.step, TaskPulse("x")
        gone = await session(parts, "gone", START - 40 * DAY_NS)
        opened = await session(parts, "open", START - 40 * DAY_NS, closed=False)
        pinned = await session(parts, "pinned", START - 40 * DAY_NS, tags="tags: [pinned]\n")

        await step(pulse)
        assert gone.exists(), "something has just come in"
        clock.ns += QUIET_NS
        await step(pulse)
        assert not gone.exists() and opened.exists() and pinned.exists()
        lines = b"".join(path.read_bytes() for path in parts.config.data.journal.rglob("*.jsonl"))
        assert [lines.count(b'"session":"%s","project"' % name) for name in (b"gone", b"open", b"pinned")] == [
            0,
            12,
            12,
        ]
        runs = parts.retention.as_data()["last_run"]

        later = await session(parts, "later", START - 40 * DAY_NS)
        await quiet(parts, clock)
        assert later.exists() and parts.retention.as_data()["last_run"] == runs, "once a day"
        clock.ns += DAY_NS - QUIET_NS
        await parts.writer.record(Record("audit", clock.ns, sanitize_tree({"op": "off"})))
        await step(pulse)
        assert later.exists(), "not quiet"
        for _ in range(2):
            clock.ns += DAY_NS // 2
            await parts.writer.record(Record("audit", clock.ns, sanitize_tree({"op": "off"})))
            await step(pulse)
        assert not later.exists(), "a memory that is never quiet is not let off"


async def test_a_memory_that_was_never_quiet_is_not_let_off_for_ever(tmp_path):
    async with memory(tmp_path, retention_sessions_days=30) as (parts, clock):
        gone = await session(parts, "gone", START - 40 * DAY_NS)
        for _ in range(25):
            await parts.writer.record(Record("audit", clock.ns, sanitize_tree({"op": "off"})))
            await parts.retention.step(TaskPulse("x"))
            assert gone.exists() or clock.ns >= START + DAY_NS
            clock.ns += DAY_NS // 24
        assert not gone.exists()


async def test_what_was_changed_since_it_was_looked_at_stays(tmp_path):
    async with memory(tmp_path, retention_sessions_days=30, retention_observations_days=10) as (parts, _):
        page = await session(parts, "old", START - 40 * DAY_NS)
        due = await parts.retention.look()
        assert due.pages == (page.relative_to(parts.config.data.wiki).as_posix(),)
        page.write_text(page.read_text() + "\nMine.\n")
        late = {"session": "old", "project": "p", "id": "late", "key": "late", "kind": "prompt", "prompt": "go on"}
        seq = await parts.writer.record(Record("observation", START, sanitize_tree(late)))

        receipt = await parts.retention.apply(due)

        assert receipt.counts["observation lines removed"] == 12 and page.read_text().endswith("Mine.\n")
        await parts.projector.reached(seq)
        kept = [line for line in parts.config.data.journal.rglob("*.jsonl") if b'"go on"' in line.read_bytes()]
        assert len(kept) == 1, "what came since is of a session that goes on"
