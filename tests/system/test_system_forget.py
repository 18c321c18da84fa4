"""Forgetting: gone from every byte, said honestly what is left, and not back by itself."""

import json
import shutil
import sqlite3
import unicodedata

import pytest
from living import LIMIT_S, all_bytes, git, repository
from pointed import Pointed, points_in_source
from test_system_kill import Load, check

from aimemory.index.dump import dump
from aimemory.journal.segments import seal

WORD = "amaryllis-9Q"
PROMPT = f"plant the {WORD} in the northern bed"


@pytest.fixture
def shop(daemon, tmp_path):
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    daemon.event("generic", "note", {"session_id": "s0", "text": "this is the shop", "cwd": str(where)})
    return where


def work(daemon, where, session="s1", prompt=PROMPT):
    """A session with prompt, tool call and end; returns our id of it."""
    base = {"session_id": session, "cwd": str(where)}
    daemon.event("claude-code", "SessionStart", {**base, "source": "startup"})
    daemon.event("claude-code", "UserPromptSubmit", {**base, "prompt": prompt})
    daemon.event("claude-code", "PostToolUse", {
        **base, "tool_name": "Bash", "tool_input": {"command": f"echo '{prompt}'"}, "tool_use_id": f"t-{session}",
        "tool_response": {"stdout": f"{prompt} is done\n", "stderr": ""},
    })  # fmt: skip
    daemon.event("claude-code", "SessionEnd", {**base, "reason": "other"})
    ours = next(x["data"]["session"] for x in daemon.lines("observation") if x["data"].get("native_session") == session)
    daemon.wait(lambda: ours in [x["data"]["session"] for x in daemon.lines("done")], "the session is closed")
    return ours


def write(daemon, title, body, **more):
    return daemon.post("/api/v1/page", {"title": title, "body": body, "project": "shop", **more})


def forget(daemon, what, name, **more):
    return daemon.post("/api/v1/forget", {"what": what, "name": name, "apply": True, **more})


def committed(daemon):
    daemon.wait(lambda: git(daemon.data.wiki, "status", "--porcelain") == "", "everything is committed")


def is_right(daemon):
    """verify and doctor have nothing to say, git neither, and an index made anew equals the live one."""
    committed(daemon)
    code = daemon.cli("verify", "--json")
    assert code.returncode == 0, code.stdout
    assert git(daemon.data.wiki, "fsck", "--full") == ""
    assert daemon.status()["problems"] == []


def holds(daemon, word=WORD):
    return word.encode() in all_bytes(daemon.data.root)


def dumped(daemon):
    with sqlite3.connect(f"file:{daemon.data.index}?mode=ro", uri=True) as db:
        text = dump(db)
    db.close()
    return text


@pytest.mark.promise("P10.140", "P10.141", "P10.142", "P10.143")
def test_a_forgotten_session_is_in_no_byte_and_the_rest_is_as_it_was(daemon, shop):
    session = work(daemon, shop)
    other = work(daemon, shop, "s2", "water the roses by the wall")
    daemon.event("generic", "note", {"session_id": "s3", "text": "a third one goes on", "cwd": str(shop)})
    committed(daemon)
    (daemon.data.rejects / "rejects.jsonl").write_text(
        json.dumps({"body": f'{{"session_id": "s1", "x": "{WORD}"}}'}) + "\n"
    )
    before = [x for x in daemon.lines() if x["type"] == "observation" and x["data"]["session"] != session]

    shown = daemon.cli("forget", "session", session)
    assert shown.returncode == 0 and "4  observation" in shown.stdout and holds(daemon)
    receipt = forget(daemon, "session", session, history=True)

    assert not holds(daemon)
    assert receipt["found"] == {} and receipt["texts"] > 2 and receipt["counts"]["observation lines removed"] == 4
    assert [x for x in daemon.lines() if x["type"] == "observation"] == before
    begun, done = (x["data"] for x in daemon.lines("purge"))
    assert (begun["op"], done["op"]) == ("begin", "done") and done["counts"] == receipt["counts"]
    assert (done["searched"]["texts"], done["searched"]["found"]) == (receipt["texts"], 0)
    assert done["remains"] == {"commits": 0, "backups": 0}
    assert any("restored, brings it back" in one for one in receipt["remains"])
    assert daemon.search(WORD) == [] and daemon.search("roses")
    with pytest.raises(AssertionError, match="no session"):
        daemon.get("/api/v1/sessions", session=session)
    is_right(daemon)

    # late events of it start nothing, and are counted
    base = {"session_id": "s1", "cwd": str(shop)}
    assert daemon.event("claude-code", "UserPromptSubmit", {**base, "prompt": PROMPT})[1]["reason"]
    assert daemon.status()["capture"]["claude-code"]["reasons"] == {"its session was forgotten": 1}
    daemon.cli("down")
    daemon.hook("claude-code", "UserPromptSubmit", {**base, "prompt": PROMPT}, shop)
    daemon.wait(lambda: list(daemon.data.spool.glob("[!.]*.json")), "the spooled event")
    daemon.process.wait(LIMIT_S)
    shutil.rmtree(daemon.data.cache)
    daemon.data.down_marker.unlink()
    daemon.start()
    daemon.wait(lambda: not list(daemon.data.spool.glob("*.json")), "the spool is drained")
    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is built")
    assert not holds(daemon) and len(daemon.pages()) == 1
    assert daemon.get("/api/v1/sessions", session=other)["id"] == other


@pytest.mark.promise("P10.144", "P10.145")
def test_a_forgotten_text_goes_from_names_pages_events_logs_and_history(daemon, shop):
    work(daemon, shop)
    page = write(daemon, f"About {WORD}", f'It is {WORD}, as "{WORD}" shows.\n')
    mine = daemon.data.wiki / "default/shop/notes/my own.md"
    mine.write_text(f"---\ntitle: My {WORD}\ntags: [a, {WORD}]\n---\nmine: {WORD}\n")
    daemon.wait(lambda: daemon.search("mine", observations=False), "the hand edit")
    daemon.event("generic", "note", {"text": f"a note on {WORD}", "cwd": str(shop)}, at=10**18, pid=7)
    daemon.event("claude-code", "Stop", b'{"broken": "' + WORD.encode())
    with daemon.data.log_file.open("a") as log:
        log.write(f"something of {WORD}\n")
    committed(daemon)
    keys = {x["data"]["key"] for x in daemon.lines() if x["type"] == "observation" and "hash" in x["data"]}

    plain = forget(daemon, "text", WORD)

    assert plain["commits"] > 0 and list(plain["found"]) == ["wiki/.git (history)"]
    assert any("--history" in one for one in plain["remains"])
    receipt = forget(daemon, "text", WORD, history=True)

    assert receipt["found"] == {} and not holds(daemon)
    assert (
        "title: My [redacted:forgotten]" in mine.read_text() or 'title: "My [redacted:forgotten]"' in mine.read_text()
    )
    assert mine.read_text().endswith("mine: [redacted:forgotten]\n")
    assert not [path for path in daemon.pages("**/*.md") if "amaryllis" in path.name]
    assert daemon.get("/api/v1/page", page="About [redacted:forgotten]")["id"] == page["id"]
    assert "PLANT" not in dumped(daemon) and daemon.search("northern bed")
    # no digest of the text is left with the rest of it: those of the events were made anew with a key
    assert not keys & {x["data"].get("key") for x in daemon.lines() if "[redacted:forgotten]" in json.dumps(x)}
    is_right(daemon)
    # the same event once more is known, though its own key is no longer there
    daemon.stop()
    daemon.start()
    assert (
        daemon.event("generic", "note", {"text": f"a note on {WORD}", "cwd": str(shop)}, at=10**18, pid=7)[1]["outcome"]
        == "duplicate"
    )
    assert not holds(daemon)


@pytest.mark.promise("P10.170", "P10.171")
def test_a_text_goes_in_every_spelling_and_no_word_breaks_what_holds_it(daemon, shop):
    text = 'Zoë said "hi"\nto Rm-5'
    for said in (text, json.dumps({"a": text}), json.dumps({"a": json.dumps(text)}), text.replace("\n", "\r\n> ")):
        daemon.event("generic", "note", {"session_id": "n", "text": f"<{said}>", "cwd": str(shop)})
    notes = daemon.data.wiki / "default/shop/notes"
    notes.mkdir(exist_ok=True)
    quoted = json.dumps(text, ensure_ascii=False)
    (notes / "own.md").write_text(f"---\ntitle: {quoted}\nx: 'it''s {WORD}'\n---\nbody of it\n")
    (notes / "composed.md").write_text(f"# Other\n\n{unicodedata.normalize('NFD', text)}\n")
    (daemon.data.rejects / "r.jsonl").write_text(json.dumps({"body": json.dumps({"p": text})}) + "\n")
    daemon.wait(lambda: daemon.search("body of it", observations=False), "the hand edit")
    work(daemon, shop, prompt="go on with this session of the project")
    committed(daemon)

    receipt = forget(daemon, "text", text, history=True)
    assert receipt["found"] == {} and not holds(daemon, "to Rm-5")
    assert forget(daemon, "text", f"it's {WORD}", history=True)["found"] == {} and not holds(daemon)

    before = {path: path.read_text().split("---")[1] for path in daemon.pages("*/*/[sh]*s/**/*.md")}
    for word in ("session", "project", "type", "github.com/acme", "title", "handoff"):
        status, _, answer = daemon.request("POST", "/api/v1/forget", {"what": "text", "name": word, "apply": True})
        assert status in (200, 404), answer
    for path, front in before.items():
        if path.exists():
            assert [row.partition(":")[0] for row in path.read_text().split("---")[1].splitlines()] == [
                row.partition(":")[0] for row in front.splitlines()
            ]
    (page,) = daemon.pages("*/*/shop.md")
    assert "type: project" in page.read_text() and "github.com/acme" not in page.read_text()
    daemon.stop()
    daemon.start()
    status, answer = daemon.event("generic", "note", {"session_id": "later", "text": "goes on", "cwd": str(shop)})
    assert (status, answer["outcome"]) == (202, "stored") and daemon.pages("*/*/*shop*.md") == [page]
    daemon.event("generic", "note", {"session_id": f"id-{WORD}", "text": "called so", "cwd": str(shop)})
    shown = daemon.cli("forget", "text", WORD)
    assert shown.returncode == 0 and "names and ids: " in shown.stdout and "journal/" in shown.stdout
    refused = daemon.cli("forget", "text", WORD, "--apply")
    assert refused.returncode != 0 and "names and ids: " in refused.stderr
    for part in ("forgotten", "redacted:forgotten]", "dacted-forg"):
        status, _, answer = daemon.request("POST", "/api/v1/forget", {"what": "text", "name": part, "apply": True})
        assert status == 400 and b"mark" in answer
    is_right(daemon)


@pytest.mark.promise("P10.172")
def test_a_forgotten_project_goes_with_what_was_merged_into_it_and_under_all_its_names(daemon, shop, tmp_path):
    fork = repository(tmp_path / "forkling", remote="git@github.com:acme/forkling.git")
    work(daemon, fork, "s5", f"plant {WORD}")
    daemon.event("generic", "note", {"text": f"{WORD} without a session", "cwd": str(fork)})
    (daemon.data.wiki / "default/forkling/mine.md").write_text(f"# Mine\n\n{WORD}\n")
    daemon.wait(lambda: daemon.search("mine", observations=False), "the hand edit")
    committed(daemon)
    assert daemon.cli("project", "rename", "shop", "storehouse", "--apply").returncode == 0
    assert daemon.cli("project", "merge", "forkling", "storehouse", "--apply").returncode == 0
    other = repository(tmp_path / "shop2" / "shop", remote="git@github.com:other/shop.git")
    daemon.event("generic", "note", {"session_id": "s6", "text": "another shop stays", "cwd": str(other)})
    assert (daemon.data.wiki / "default/shop/shop.md").exists()
    committed(daemon)

    refused = daemon.cli("forget", "project", "forkling", "--apply")
    assert refused.returncode == 2 and "default/storehouse" in refused.stderr
    receipt = forget(daemon, "project", "storehouse", history=True)

    assert receipt["found"] == {}
    for word in (WORD, "forkling", "storehouse", "acme"):
        assert not holds(daemon, word), word
    assert (daemon.data.wiki / "default/shop/shop.md").exists() and daemon.search("another shop stays")
    is_right(daemon)


@pytest.mark.promise("P10.146", "P10.147")
def test_a_forgotten_page_comes_back_by_a_persons_word_alone(daemon, shop):
    page = write(daemon, "Bulbs", f"The word of the bulbs is {WORD} for sure.\n")
    committed(daemon)
    old = git(daemon.data.wiki, "rev-parse", "HEAD").strip()
    file = daemon.data.wiki / page["path"]
    before = file.read_bytes()

    receipt = forget(daemon, "page", page["path"])
    assert not file.exists() and list(receipt["found"]) == ["wiki/.git (history)"]
    assert page["path"] not in json.dumps(daemon.lines())

    git(daemon.data.wiki, "checkout", old, "--", page["path"])
    daemon.wait(lambda: daemon.status()["wiki"]["held"], "the page is held")
    assert daemon.status()["wiki"]["held"] == {page["path"]: "it was forgotten"}
    assert daemon.search(WORD) == [] and "lies there again" in daemon.status()["problems"][0]
    daemon.cli("reindex")
    assert daemon.search(WORD) == []

    done = daemon.cli("rescan", "--accept", page["path"])
    assert done.returncode == 0, done.stderr
    assert daemon.search(WORD, observations=False) and daemon.status()["wiki"]["held"] == {}
    daemon.stop()
    shutil.rmtree(daemon.data.cache)
    daemon.start()
    daemon.wait(lambda: daemon.status()["index"]["state"] == "level", "the index is built")
    assert daemon.search(WORD, observations=False)
    committed(daemon)
    daemon.level()
    live = dumped(daemon)
    daemon.cli("reindex")
    assert dumped(daemon) == live
    assert file.read_bytes() == before
    committed(daemon)
    is_right(daemon)


@pytest.mark.promise("P10.148")
def test_a_forgotten_project_goes_whole_from_sealed_segments_backups_and_packs(daemon, shop, tmp_path):
    work(daemon, shop)
    write(daemon, "Bulbs", f"The word of the bulbs is {WORD} for sure.\n")
    daemon.event("generic", "note", {"text": "without a session", "cwd": str(shop)}, at=10**18, pid=7)
    elsewhere = repository(tmp_path / "elsewhere")
    daemon.event("generic", "note", {"session_id": "s9", "text": "what is elsewhere stays", "cwd": str(elsewhere)})
    committed(daemon)
    daemon.stop()
    daemon.settings["storage_segment_bytes"] = 1 << 16
    (segment,) = daemon.data.journal.rglob("*.jsonl")
    raw = segment.read_bytes()
    cut = raw.index(b"\n", len(raw) // 2) + 1
    segment.write_bytes(raw[:cut])
    segment.with_name("0002.jsonl").write_bytes(raw[cut:])
    assert seal(daemon.data.journal)
    git(daemon.data.wiki, "gc", "-q", "--prune=now")
    daemon.start()
    assert daemon.cli("backup").returncode == 0
    shutil.copytree(daemon.data.wiki / ".git", daemon.data.backups / "damaged-git-20260101T000000Z")

    receipt = forget(daemon, "project", "shop", history=True)
    (archive,) = daemon.data.backups.glob("*.tar.gz")
    assert "backups/damaged-git-20260101T000000Z" in "".join(receipt["remains"])
    assert f"backups/{archive.name}" in "".join(receipt["remains"])
    assert f"backups/{archive.name}" in receipt["found"] and all(x.startswith("backups/") for x in receipt["found"])
    assert not (daemon.data.wiki / "default/shop").exists()
    assert {x["data"]["text"] for x in daemon.lines() if x["type"] == "observation"} == {"what is elsewhere stays"}
    again = daemon.cli("forget", "text", WORD, "--apply", "--backups")
    assert again.returncode in (0, 2)
    assert again.returncode or not list(daemon.data.backups.glob("*-*"))
    is_right(daemon)
    again = daemon.event("generic", "note", {"text": "without a session", "cwd": str(shop)}, at=10**18, pid=7)
    assert again[1]["reason"] == "it was forgotten"
    assert (
        daemon.event("generic", "note", {"session_id": "new", "text": "begin anew", "cwd": str(shop)})[1]["outcome"]
        == "stored"
    )
    assert (daemon.data.wiki / "default/shop/shop.md").exists()


@pytest.mark.promise("P2.140")
def test_capture_goes_on_while_something_is_forgotten_and_loses_and_doubles_nothing(daemon, shop):
    words = [f"word-{number}-Zq7" for number in range(3)]
    with Load(daemon, 3) as load:
        for word in words:
            write(daemon, f"Bulbs {word}", f"The word of the bulbs is {word} for sure.\n")
            assert load.enough.wait(LIMIT_S)
            before = len(load.acknowledged)
            receipt = forget(daemon, "text", word, history=True)
            assert receipt["found"] == {}
            assert len(load.acknowledged) > before
        # lines that were written into a segment while it was rewritten would be gone with its old file
        assert not [problem for problem in daemon.status()["problems"] if str(daemon.data.journal) in problem]
        daemon.kill()
    daemon.start()
    daemon.wait(lambda: daemon.status()["index"]["lag"] == 0, "the index is level")
    check(daemon, load.acknowledged)
    assert not any(holds(daemon, word) for word in words)  # whole ones: three letters may stand in compressed bytes


def test_a_forgotten_page_of_a_handoff_is_offered_no_more_and_not_made_again(daemon, shop):
    work(daemon, shop)
    committed(daemon)
    (page,) = daemon.pages("*/*/handoffs/**/*.md")
    (session,) = daemon.pages()
    for path in (page, session):
        forget(daemon, "page", path.relative_to(daemon.data.wiki).as_posix(), history=True)
        assert [line for line in daemon.lines() if path.name in json.dumps(line)] == []
    (handoff,) = daemon.get("/api/v1/handoffs", project="shop")["handoffs"]
    assert (handoff["state"], handoff["title"]) == ("cancelled", "")

    base = {"session_id": "s1", "cwd": str(shop)}
    done = len(daemon.lines("done"))
    daemon.event("claude-code", "SessionStart", {**base, "source": "resume"})
    daemon.event("claude-code", "SessionEnd", {**base, "reason": "clear"})
    daemon.wait(lambda: len(daemon.lines("done")) > done, "it is closed once more")

    assert daemon.pages() == daemon.pages("*/*/handoffs/**/*.md") == []
    is_right(daemon)


KILLS = ("begun", "pages", "switched", "journal", "told")
ALL_KILLS = (*KILLS, "decided", "prepared", "history", "files", "index", "searched")


def kill_at(daemon, where, steps):
    """Forget a text out of everything, be killed at each step, and see that the next start ends it."""
    for number, step in enumerate(steps):
        word = f"word-{number}-Zq7"
        write(daemon, f"Bulbs {word}", f"The word of the bulbs is {word} for sure.\n")
        daemon.event("generic", "note", {"session_id": "n", "text": f"a note on {word}", "cwd": str(where)})
        daemon.arm(f"purge.{step}")
        with pytest.raises((OSError, IndexError, ValueError)):
            forget(daemon, "text", word, history=True)
        daemon.dies()
        daemon.start()
        daemon.wait(lambda: not daemon.data.purge_pending.exists(), f"the purge is finished after {step}")
        assert not holds(daemon, word), step
        done = [x["data"] for x in daemon.lines() if x["type"] == "purge" and x["data"]["op"] == "done"]
        assert len(done) == number + 1, step
    committed(daemon)
    is_right(daemon)
    assert len(daemon.pages("*/*/notes/*.md")) == len(steps)


@pytest.fixture
def killed(tmp_path):
    made = Pointed(tmp_path)
    made.start()
    yield made
    made.close()


@pytest.mark.promise("P10.149")
def test_a_purge_that_is_killed_is_finished_by_the_next_start(killed, tmp_path):
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    work(killed, where)

    kill_at(killed, where, KILLS)


@pytest.mark.soak
def test_a_purge_that_is_killed_at_any_step_is_finished_by_the_next_start(killed, tmp_path):
    where = repository(tmp_path / "shop", remote="git@github.com:acme/shop.git")
    work(killed, where)

    assert {f"purge.{step}" for step in ALL_KILLS} == {one for one in points_in_source() if one.startswith("purge.")}
    kill_at(killed, where, ALL_KILLS)
