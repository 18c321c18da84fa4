"""A secret through every entrance, as it is and behind encodings: then every byte that was written is searched for it.

Each entrance has a secret and a marker of its own, so that a failure names the entrance, and one that took nothing in
is noticed.
"""

import base64
import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from living import Agent, Daemon, all_bytes, git, repository
from transcripts import SESSION, CodexLines

CAPTURES = Path(__file__).parents[1] / "fixtures" / "captures"
KEPT = ("session_id", "cwd", "hook_event_name", "tool_name", "source", "permission_mode", "model", "event")


class Canaries:
    """Secrets by entrance, and what each of them looks like behind an encoding."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def raw(self, entrance: str) -> str:
        if entrance not in self.names:
            self.names.append(entrance)
        return "ghp_" + hashlib.sha256(entrance.encode()).hexdigest()[:36]

    def said(self, entrance: str) -> str:
        """A text with the marker and with the secret in every form."""
        return f"{marker(entrance)} " + " ".join(forms(self.raw(entrance)))

    def found_in(self, content: bytes) -> list[str]:
        low = content.lower()
        return [
            f"{name}: {form}"
            for name in self.names
            for form in (self.raw(name)[4:], *forms(self.raw(name)))
            if form.lower().encode() in low
        ]


def forms(secret: str) -> list[str]:
    return [
        secret,
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"TOKEN={secret}\n".encode()).decode(),
        "".join(f"%{c:02X}" for c in secret.encode()),
        "".join(f"\\u{ord(c):04x}" for c in secret),
        secret.encode().hex(),
    ]


def marker(entrance: str) -> str:
    return "marker" + "".join(chr(ord("a") + int(c, 16)) for c in hashlib.sha256(entrance.encode()).hexdigest()[:10])


def poisoned(value: object, text: str, key: str = "") -> object:
    """A payload with the text in every string but those that say what kind of event it is."""
    if isinstance(value, dict):
        return {k: poisoned(v, text, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, text, key) for v in value]
    return f"{value} {text}" if isinstance(value, str) and key not in KEPT else value


LOOKS = (
    "/api/v1/handoffs?id=@", "/api/v1/sessions?session=@", "/api/v1/trail?project=@", "/api/v1/audit?actor=@",
    "/api/v1/page/history?page=@", "/api/v1/page/links?page=@", "/api/v1/links?project=@", "/api/v1/conflicts?id=@",
    "/api/v1/recent?kind=@", "/api/v1/brief?cwd=/@", "/api/v1/where?cwd=/@", "/api/v1/page?page=x&project=@",
)  # fmt: skip


def requests(said: Callable[[str], str], raw: Callable[[str], str], page: str) -> list[tuple[str, dict[str, object]]]:
    """What is posted, a function where a text with a secret of its own goes."""
    return [
        ("/api/v1/projects/rename", {"project": "told", "name": raw, "apply": True}),
        ("/api/v1/projects/merge", {"project": raw, "into": raw, "apply": True}),
        ("/api/v1/projects/unmerge", {"project": raw, "apply": True}),
        ("/api/v1/projects/move-session", {"moved": raw, "project": raw, "apply": True}),
        ("/api/v1/page/edit", {"page": page, "text": said, "version": raw}),
        ("/api/v1/page/field", {"page": page, "key": "summary", "value": said}),
        ("/api/v1/page/field", {"page": page, "key": raw, "value": "x"}),
        ("/api/v1/page/delete", {"page": raw, "version": raw, "apply": True}),
        ("/api/v1/page/undelete", {"page": raw, "version": raw}),
        ("/api/v1/undo", {"session": raw, "apply": True}),
        ("/api/v1/page", {"title": "t", "body": said, "path": "default/shop/notes/given.md", "project": "shop"}),
        ("/api/v1/page", {"title": said, "body": "x", "kind": raw, "project": raw, "tags": []}),
        ("/api/v1/handoffs/begin", {"summary": said, "next_steps": said, "to": raw, "project": "shop"}),
        ("/api/v1/page", {"title": "u", "body": "x", "harness": raw, "session": raw, "project": "shop"}),
        ("/api/v1/handoffs/begin", {"summary": "x", "harness": raw, "session": raw, "project": "shop"}),
        ("/api/v1/handoffs/cancel", {"handoff": raw, "reason": said}),
        ("/api/v1/handoffs/claim", {"handoff": raw, "cwd": "/"}),
        ("/api/v1/rescan/accept", {"page": raw}),
        ("/api/v1/forget", {"what": "page", "name": raw, "apply": True}),
        ("/api/v1/forget", {"what": raw, "name": "x", "apply": True}),
        ("/api/v1/capture/explain", {"cwd": raw, "command": said}),
        ("/api/v1/export", {"project": raw}),
        ("/api/v1/import", {"project": raw, "bundle": raw, "paths": [], "texts": {}, "apply": True}),
        ("/api/v1/import", {"project": "shop", "bundle": "b", "paths": [f"{raw('import path')}.md", "a.md"], "apply": True,
                            "texts": {f"{raw('import path')}.md": said("import of it"), "a.md": f"---\ntype: note\n"
                                      f"title: {said('import title')}\nx: {raw('import field')}\n---\n{said('import text')}\n"}}),
    ]  # fmt: skip


def recorded(harness: str) -> list[tuple[str, dict]]:
    """One payload of each kind of event that was recorded from the harness."""
    rows = [json.loads(line) for line in (CAPTURES / f"{harness}.jsonl").read_text(encoding="utf-8").splitlines()]
    return list({row["event"]: (row["event"], row["payload"]) for row in rows}.values())


def every_byte(daemon: Daemon, scratch: Path) -> bytes:
    """Of the data directory, git's objects inflated, of its archives, unpacked, and of what the daemon said."""
    parts = [all_bytes(daemon.data.root), (daemon.root / "stderr").read_bytes()]
    for n, archive in enumerate(sorted(daemon.data.root.rglob("*.tar.gz"))):
        with tarfile.open(archive) as tar:
            tar.extractall(scratch / str(n), **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        parts.append(all_bytes(scratch / str(n)))
    return b"\n".join(parts)


@pytest.mark.promise("P4.11")
def test_no_entrance_lets_a_secret_in_whatever_it_is_encoded_as(tmp_path):
    daemon, canaries = Daemon(tmp_path), Canaries()
    said, raw = canaries.said, canaries.raw
    try:
        daemon.start()
        shop = repository(tmp_path / "shop", remote=f"https://bot:{raw('git remote')}@git.example.com/acme/shop.git")
        git(shop, "checkout", "-qb", f"fix/{raw('branch')}")
        (shop / f"{raw('untracked file')}.txt").write_text("x")
        git(shop, "commit", "-q", "--allow-empty", "-m", said("commit message"))
        named = repository(tmp_path / raw("folder name"))
        told = repository(tmp_path / "told")
        (told / ".aimemory.toml").write_text(f'project = "{raw("project of .aimemory.toml")}"\n')

        # hooks, in the shape of each harness that was recorded, and of our own
        for harness in ("claude-code", "codex"):
            for event, payload in recorded(harness):
                entrance = f"{harness} {event}"
                body = {
                    **poisoned(payload, said(entrance)),
                    "session_id": f"{harness}-s",
                    "cwd": str(shop),
                    raw(entrance): said(entrance),
                }
                daemon.event(harness, event, body)
        for event in ("session-start", "prompt", "pre-tool", "post-tool", "turn-end", "compact", "note", "session-end"):
            text = said(f"generic {event}")
            daemon.event(
                "generic",
                event,
                {
                    "session_id": "g",
                    "cwd": str(shop),
                    "prompt": text,
                    "tool": "Bash",
                    "input": {"command": text},
                    "output": text,
                    "text": text,
                    "id": text,
                },
            )
        output = said("a large event") + "\nline of output" * 20_000  # what the sanitising process is there for
        daemon.event("generic", "post-tool", {"session_id": "g", "cwd": str(shop), "tool": "Bash", "output": output})
        for where, name in ((named, "folder name"), (told, "told")):
            base = {"session_id": f"in {name}", "cwd": str(where)}
            daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": "sort the seeds"}, where)
            daemon.hook("claude-code", "SessionEnd", {**base, "reason": "other"}, where)
        daemon.event(
            raw("harness name"), raw("event name"), {}, cwd=f"/tmp/{raw('query cwd')}", session_id=raw("session id")
        )

        # what can't be understood or is refused, and what goes wrong
        daemon.event("claude-code", "Stop", b'{"a": "' + said("broken payload").encode())
        daemon.hook("claude-code", "Stop", b'{"a": "' + said("broken payload of a hook").encode(), shop)
        for path in (
            f"/api/v1/page?page={raw('page that is not there')}",
            f"/{raw('unknown route')}",
            f"/api/v1/why?about={raw('unknown session')}",
        ):
            daemon.request("GET", path)
        daemon.request("POST", "/api/v1/search", {"query": said("search"), raw("unknown field"): 1})
        daemon.post("/api/v1/search", {"query": said("search"), "project": "*"})

        # pages and handoffs: HTTP, command line, MCP
        daemon.post(
            "/api/v1/page",
            {
                "title": f"About {said('HTTP title')}",
                "body": said("HTTP body"),
                "project": "shop",
                "tags": [raw("HTTP tag")],
            },
        )
        done = daemon.cli(
            "write",
            f"On {said('CLI title')}",
            "--project",
            "shop",
            "--tag",
            raw("CLI tag"),
            input=said("CLI body"),
            cwd=shop,
        )
        assert done.returncode == 0, done.stderr
        (page,) = [p for p in daemon.pages("*/shop/notes/*.md") if marker("CLI body") in p.read_text()]
        done = daemon.cli(
            "edit", str(page.relative_to(daemon.data.wiki)), "--set", f"summary={said('CLI field')}", cwd=shop
        )
        assert done.returncode == 0, done.stderr
        with Agent(daemon, shop, "mcp-s") as agent:
            agent.say("UserPromptSubmit", prompt="hello")
            agent.say(
                "PostToolUse",
                tool_name="Bash",
                tool_input={"command": "ls"},
                tool_response={"stdout": "x", "stderr": ""},
                tool_use_id="m1",
            )
            agent.tool(
                "memory_write_page", title=f"At {said('MCP title')}", body=said("MCP body"), tags=[raw("MCP tag")]
            )
            agent.tool("memory_search", query=said("MCP query"))
            agent.tool("memory_handoff_begin", summary=said("MCP handoff"), next_steps=said("MCP next step"))
        daemon.post("/api/v1/handoffs/begin", {"summary": said("HTTP handoff"), "cwd": str(shop)})
        daemon.request("POST", "/api/v1/projects/alias", {"project": "shop", "alias": raw("alias")})
        beside = daemon.get("/api/v1/page", page=str(page.relative_to(daemon.data.wiki)))
        for body in ("the text as it was then\n", f"another, {said('conflict body')}\n"):  # the second finds it changed
            told = {
                "title": "t",
                "path": beside["path"],
                "version": beside["version"],
                "project": "shop",
                "cwd": str(shop),
            }
            daemon.request("POST", "/api/v1/page", {**told, "body": body})
        assert list(daemon.data.conflicts.glob("*.txt"))
        for number, (path, body) in enumerate(requests(said, raw, beside["path"])):
            body = {
                name: value(f"request {number} {name}") if callable(value) else value for name, value in body.items()
            }
            status, _, answer = daemon.request("POST", path, body)
            assert status < 500 and b"Bug" not in answer, (path, answer)
        for number, path in enumerate(LOOKS):
            daemon.request("GET", path.replace("@", raw(f"look {number}")))

        # settings that can't be understood, and a repository's own
        for number, text in enumerate(
            ('project = "@', 'project = "x"\n[capture]\nmode = "@"\nignore = ["@", 5]\n@ = 1\n')
        ):
            odd = repository(tmp_path / f"odd{number}")
            (odd / ".aimemory.toml").write_text(text.replace("@", raw(f"settings {number}")))
            daemon.hook(
                "claude-code", "UserPromptSubmit", {"session_id": f"odd{number}", "cwd": str(odd), "prompt": "x"}
            )
            daemon.cli("project", "explain-capture", str(odd), "--command", said(f"explained {number}"))
        daemon.cli("forget", "text", raw("text to forget"), "--apply")
        daemon.cli("status")

        # a transcript that a session page is made from
        lines = CodexLines(cwd=str(shop))
        lines.head()
        lines.prompt("Fix the login")
        lines.call("c1", "make lint")
        lines.result("c1", said("transcript output"), 2)
        lines.prompt(said("transcript prompt"))
        lines.answer(said("transcript answer"))
        base = {"session_id": SESSION, "cwd": str(shop), "transcript_path": str(lines.save(lines.place(daemon.home)))}
        daemon.event("codex", "UserPromptSubmit", {**base, "prompt": "Fix the login"})
        call = {**base, "tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "make lint"}}
        daemon.event("codex", "PreToolUse", call)
        daemon.event("codex", "SessionEnd", {**base, "reason": "other"})
        daemon.wait(
            lambda: any("Transcript: read" in page.read_text() for page in daemon.pages()), "the page of the transcript"
        )
        for word in ("status", "doctor", "recent"):
            daemon.cli(word, cwd=shop)

        # the spool, and the daemon that takes it in
        daemon.cli("down")
        daemon.process.wait(60)
        daemon.process = None
        daemon.hook(
            "claude-code", "UserPromptSubmit", {"session_id": "sp", "cwd": str(shop), "prompt": said("spool")}, shop
        )
        daemon.hook("codex", "Stop", b'{"x": "' + said("spooled and broken").encode(), named)
        spooled = daemon.wait(
            lambda: [p for p in daemon.data.spool.glob("[!.]*.json") if p.stat().st_size], "the spooled events"
        )
        assert canaries.found_in(b"".join(p.read_bytes() for p in spooled)) == []
        daemon.data.down_marker.unlink()
        daemon.start()
        daemon.wait(lambda: not list(daemon.data.spool.glob("*.json")), "the spool is drained")
        daemon.wait(
            lambda: any(marker("spool") in json.dumps(line) for line in daemon.lines()), "the spooled prompt is stored"
        )
        assert daemon.cli("backup").returncode == 0
        daemon.stop()

        content = every_byte(daemon, tmp_path / "unpacked")
        assert canaries.found_in(content) == []
        stored = [
            "claude-code UserPromptSubmit", "claude-code PostToolUse", "codex UserPromptSubmit", "codex Stop", "generic prompt", "generic post-tool", "a large event", "broken payload", "broken payload of a hook",
            "HTTP title", "HTTP body", "CLI title", "CLI body", "CLI field", "MCP title", "MCP body", "MCP handoff", "HTTP handoff", "transcript output", "conflict body", "import text", "import title", "spool", "spooled and broken",
        ]  # fmt: skip
        assert [name for name in stored if marker(name).encode() not in content] == []
        assert b"[redacted:github-token]" in content
    finally:
        daemon.close()
