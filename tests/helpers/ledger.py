"""What a daemon has acknowledged, and the proof that all of it is there, once, and nothing half."""

import itertools
import json
import time
from collections import Counter
from pathlib import Path

from living import Daemon, git, repository

from aimemory.journal.lines import Line
from aimemory.journal.replay import replay
from aimemory.upkeep.verify.run import verify

SESSIONS = itertools.count(1)


class Ledger:
    """Does things to a daemon that may die at any of them, and remembers what was answered with success.

    An answer that doesn't come leaves both outcomes open; what is written next settles them.
    """

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.events: dict[str, str] = {}
        self.open: list[tuple[int, dict]] = []
        self.pages: dict[str, set[str | None]] = {}
        self.sessions: list[str] = []
        self.said = ""
        """The last answer of the daemon's API."""
        self._numbers = itertools.count(1)
        self.shop = repository(daemon.root / "shop")
        self.project = "default/shop"

    # -- doing things ------------------------------------------------------------------------------------------------

    def request(self, path: str, body: object) -> dict | None:
        """POST; None when it was refused with 5xx, or no answer came."""
        try:
            status, _, raw = self.daemon.request("POST", path, body)
        except (OSError, IndexError, ValueError):
            return None
        assert status < 300 or status >= 500, (status, raw)
        self.said = raw.decode()
        return json.loads(raw) if status < 300 else None

    def event(self, **more: object) -> bool:
        """A note; whether it was acknowledged."""
        number = next(self._numbers)
        body = {"session_id": "notes", "text": f"note word{number}", "cwd": "/w/garden", **more}
        is_stored = self._deliver(number, body)
        if not is_stored:
            self.open.append((number, body))
        return is_stored

    def _deliver(self, number: int, body: dict) -> bool:
        try:
            status, answer = self.daemon.event("generic", "note", body, at=10**18 + number * 10**10, pid=number)
        except (OSError, IndexError, ValueError):
            return False
        if status in (200, 202):
            self.events[answer["id"]] = body["text"]
        return status in (200, 202)

    def again(self) -> None:
        """Every client tries again what it may not have got through."""
        for number, body in self.open:
            assert self._deliver(number, body), body
        self.open.clear()

    def hook(self, event: str, payload: dict) -> None:
        """An event as an agent sends it: the agent must never notice anything."""
        self.daemon.data.spool.mkdir(exist_ok=True)
        self.daemon.data.start_attempt.write_text("the test starts it\n")  # else the hook starts one without points
        done = self.daemon.hook("claude-code", event, {"cwd": str(self.shop), **payload}, self.shop)
        assert (done.returncode, done.stderr) == (0, b""), done

    def work(self, session: str | None = None) -> str:
        """A session with a request and a command, through the real hook, not yet ended."""
        session = session or f"session-{next(SESSIONS)}"
        self.hook("UserPromptSubmit", {"session_id": session, "prompt": f"sort the seeds of {session}"})
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"t-{session}"}
        self.hook("PostToolUse", {"session_id": session, **call, "tool_response": {"stdout": "", "stderr": ""}})
        return session

    def end(self, session: str) -> None:
        self.sessions.append(session)
        self.hook("SessionEnd", {"session_id": session, "reason": "other"})

    def write(self, title: str, body: str, project: str = "_unfiled") -> str | None:
        """A new page; its path, or None when no success was heard of."""
        made = self.request("/api/v1/page", {"title": title, "body": body, "project": project})
        if made is None:
            return None
        self.pages[made["path"]] = {body}
        return made["path"]

    def rewrite(self, path: str, body: str) -> None:
        found = self.request_get(path)
        self.pages[path].add(body)
        told = {"title": "t", "body": body, "path": path, "version": found["version"], "project": "_unfiled"}
        if self.request("/api/v1/page", told) is not None:
            self.pages[path] = {body}

    def delete(self, path: str) -> None:
        found = self.request_get(path)
        self.pages[path].add(None)
        if self.request("/api/v1/page/delete", {"page": path, "version": found["version"], "apply": True}) is not None:
            self.pages[path] = {None}

    def request_get(self, path: str) -> dict:
        return self.daemon.get("/api/v1/page", page=path)

    def renamed(self, old: str, new: str) -> None:
        """A project has another folder, and its pages with it."""
        self.pages = {f"{new}/{p.removeprefix(f'{old}/')}" if p.startswith(f"{old}/") else p: body
                      for p, body in self.pages.items()}  # fmt: skip

    # -- looking -----------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until the daemon has nothing left to do."""
        self.daemon.wait(lambda: self.is_settled(), "everything is level")

    def is_settled(self) -> bool:
        status = self.daemon.status()
        index, tasks = status["index"], {task["name"]: task for task in status["tasks"]}
        is_level = index["state"] == "level" and not index["lag"] and not status["git"]["waiting"]
        return (
            is_level and not status["git"]["problem"] and not status["spool"].get("events")
            and not any(tasks[name]["queue"] for name in ("closer", "writer", "batons"))
        )  # fmt: skip

    def clean(self) -> None:
        """Wait until git has nothing to say."""

        def is_clean() -> bool:
            time.sleep(0.1)  # a process for each look
            return not self.daemon.status()["git"]["waiting"] and git(wiki, "status", "--porcelain") == ""

        wiki = self.daemon.data.wiki
        try:
            self.daemon.wait(is_clean, "everything is committed")
        except AssertionError as error:
            raise AssertionError(f"{error}: {git(wiki, 'status', '--porcelain')} {self.daemon.status()}") from None

    def check_quickly(self) -> None:
        """Journal and pages: what can be seen without stopping anything."""
        lines = self.lines()
        assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
        events = [line.data for line in lines if line.type == "observation"]
        ids, texts = Counter(event["id"] for event in events), {event.get("text") for event in events}
        assert set(self.events) <= set(ids), "acknowledged and lost"
        assert set(self.events.values()) <= texts
        assert not ids or max(ids.values()) == 1, "stored twice"
        for path, bodies in self.pages.items():
            file = self.daemon.data.wiki / path
            if file.exists():
                text = file.read_text()
                assert any(body is not None and body in text for body in bodies), (path, bodies, text)
            else:
                assert None in bodies, (path, bodies)

    def check(self) -> None:
        """All of it: settled, verified against an index made anew, and git has nothing to say."""
        self.settle()
        self.check_quickly()
        for session in self.sessions:
            self.daemon.wait(lambda s=session: self.is_closed(s), f"{session} is closed")
        self.settle()
        found = verify(self.daemon.data, lambda what, count: None)
        damage = [f for f in found.found if f.level == "damage"]
        assert not damage, damage
        wiki = self.daemon.data.wiki
        self.clean()
        assert git(wiki, "fsck", "--no-progress", "--no-dangling") == ""
        assert ".aimemory-tmp" not in git(wiki, "ls-files")
        for session in self.sessions:
            pages = [page for page in self.daemon.pages() if f"sort the seeds of {session}\n" in page.read_text()]
            assert len(pages) == 1, (session, pages)

    def is_closed(self, session: str) -> bool:
        lines = self.lines()
        closed = {line.data["session"] for line in lines if line.type == "done"}
        ids = {line.data["session"] for line in lines if line.data.get("native_session") == session}
        return bool(ids) and ids <= closed

    def lines(self) -> list[Line]:
        """The journal, sealed segments too; damage in it is a failure."""
        damage: list[str] = []
        found = list(replay(self.daemon.data.journal, 0, damage.append))
        assert not damage
        return found


def spooled(daemon: Daemon, text: str, number: int) -> Path:
    """An event that waits in the spool."""
    at = 2 * 10**18 + number
    entry = {"v": 1, "harness": "generic", "event": "note", "at": at, "pid": 1, "cwd": "/w", "session_id": None,
             "kind": "other", "body": {"session_id": "spooled", "text": text}}  # fmt: skip
    path = daemon.data.spool / f"{at:020d}-1-o0001.json"
    path.write_text(json.dumps(entry))
    return path
