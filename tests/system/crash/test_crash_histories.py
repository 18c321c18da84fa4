"""Any history of events, writes, hand edits, renames, deletions, kills and rebuilds ends in what a fresh rebuild says."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from ledger import Ledger
from living import Daemon

from aimemory.upkeep.verify.run import verify

NUMBERS = st.integers(0, 5)


class History(RuleBasedStateMachine):
    """One daemon with whatever happens to it. Files are chosen by number among those that are there."""

    @initialize()
    def begin(self):
        self.root = Path(tempfile.mkdtemp(prefix="aimemory-history-"))
        self.daemon = Daemon(self.root, storage_segment_bytes=65536)
        self.daemon.start()
        self.ledger = Ledger(self.daemon)
        self.count = 0

    def teardown(self):
        if not hasattr(self, "daemon"):
            return
        try:
            self.compare()
        finally:
            self.daemon.close()
            shutil.rmtree(self.root)

    def compare(self):
        """Settle by asking for a page that isn't there, which walks the tree; stop; and build the index anew."""
        assert self.ledger.event()
        self.daemon.wait(lambda: self.ledger.request("/api/v1/page", self.page("The last page")), "the last page")
        self.daemon.wait(lambda: self.daemon.request("GET", "/api/v1/page/history?page=none")[0] == 404, "a walk")
        self.ledger.settle()
        self.ledger.clean()
        self.ledger.check_quickly()
        self.daemon.stop()
        assert verify(self.daemon.data, lambda what, count: None).found == []

    def page(self, title):
        self.count += 1
        return {"title": f"{title} {self.count}", "body": f"body {self.count}", "project": "_unfiled"}

    def notes(self):
        return self.daemon.pages("default/_unfiled/notes/*.md")

    def chosen(self, number):
        found = self.notes()
        return found[number % len(found)] if found else None

    # -- what an agent does ------------------------------------------------------------------------------------------

    @rule()
    def event(self):
        self.ledger.event()

    @rule(session=NUMBERS, what=st.sampled_from(["prompt", "tool", "end"]))
    def session_event(self, session, what):
        self.count += 1
        base = {"session_id": f"s{session % 3}", "cwd": str(self.ledger.shop)}
        name, more = {
            "prompt": ("UserPromptSubmit", {"prompt": f"request {self.count}", "prompt_id": str(self.count)}),
            "tool": ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {},
                                     "tool_use_id": str(self.count)}),
            "end": ("SessionEnd", {"reason": "other"}),
        }[what]  # fmt: skip
        assert self.daemon.event("claude-code", name, {**base, **more})[0] in (200, 202)

    @rule()
    def write(self):
        self.ledger.request("/api/v1/page", self.page("Written"))

    @rule(number=NUMBERS)
    def delete(self, number):
        if (path := self.chosen(number)) is None:
            return
        name = path.relative_to(self.daemon.data.wiki).as_posix()
        status, _, raw = self.daemon.request("GET", f"/api/v1/page?page={name}")
        if status == 200:
            version = json.loads(raw)["version"]
            self.daemon.request(
                "POST", "/api/v1/page/delete", {"page": name, "version": version, "apply": True, "lose": True}
            )

    @rule()
    def rename_project(self):
        self.count += 1
        project = self.daemon.get("/api/v1/where", cwd=str(self.ledger.shop))["project"]
        told = {"project": project, "name": f"shop-{self.count}", "apply": True}
        assert self.daemon.request("POST", "/api/v1/projects/rename", told)[0] in (200, 404)

    # -- what a person does ------------------------------------------------------------------------------------------

    @rule(number=NUMBERS)
    def edit_by_hand(self, number):
        if (path := self.chosen(number)) is not None:
            self.count += 1
            path.write_text(f"{path.read_text()}\nby hand {self.count}\n")

    @rule()
    def make_by_hand(self):
        self.count += 1
        folder = self.daemon.data.wiki / "default/_unfiled/notes"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"made-{self.count}.md").write_text(
            f"# Made {self.count}\n\nBy hand, see [[made-{self.count - 1}]].\n"
        )

    @rule(number=NUMBERS)
    def rename_by_hand(self, number):
        if (path := self.chosen(number)) is not None:
            self.count += 1
            path.rename(path.with_name(f"renamed-{self.count}.md"))

    @rule(number=NUMBERS)
    def delete_by_hand(self, number):
        if (path := self.chosen(number)) is not None:
            path.unlink()

    # -- what happens to the daemon ----------------------------------------------------------------------------------

    @rule()
    def kill(self):
        self.daemon.kill()
        self.daemon.start()

    @rule()
    def restart(self):
        self.daemon.stop()
        self.daemon.start()

    @rule()
    def rebuild(self):
        assert self.daemon.request("POST", "/api/v1/reindex", {})[0] == 200

    @precondition(lambda self: self.count % 2)
    @rule()
    def lose_the_index(self):
        self.daemon.kill()
        self.daemon.data.index.unlink()
        self.daemon.start()


def histories(examples, steps):
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


@pytest.mark.promise("P1.100")
def test_any_history_ends_in_what_a_fresh_rebuild_says():
    histories(examples=6, steps=14)


@pytest.mark.soak
def test_many_long_histories_end_in_what_a_fresh_rebuild_says():
    histories(examples=150, steps=40)
