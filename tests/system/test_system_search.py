"""Any text is a query: what people type finds its page over HTTP, MCP and the command line, and nothing typed is an error."""

import json
from pathlib import Path

import pytest
from living import Agent, Daemon, repository
from queries import FINDS, NOTHING, ODD, PAGES
from shim import Client

CPU_S = 2.0
"""Of the daemon for one query; the slowest took .1 on this machine. CPU, so that a busy machine changes nothing."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A daemon with the pages of `queries`, and a project with events."""
    root = tmp_path_factory.mktemp("library")
    made = Daemon(root)
    folder = made.data.wiki / "default" / "app" / "notes"
    folder.mkdir(parents=True)
    for name, text in PAGES.items():
        front = f"type: note\nid: {name}\ntitle: Page {name}\ncreated: 2026-11-01T12:00:00Z\ntags: [about-{name}]\n"
        (folder / f"{name}.md").write_text(f"---\n{front}---\n\n{text}\n", encoding="utf-8")
    made.start()
    made.wait(lambda: len(made.search("page", kind="note")) == len(PAGES), "every page is found")
    yield made
    made.close()


def ask(daemon, query, **more):
    status, _, body = daemon.request("POST", "/api/v1/search", {"query": query, "project": "*", "limit": 5, **more})
    return status, json.loads(body)


def names(found):
    return [Path(hit["path"]).stem for hit in found["answer"]["hits"] if hit["path"]]


def cpu_s(daemon):
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.promise("P5.280")
def test_what_people_type_finds_its_page(library):
    missed = {}
    for query, wanted in FINDS:
        status, found = ask(library, query)
        if status != 200 or names(found)[:1] != [wanted]:
            missed[query] = (wanted, names(found) if status == 200 else found)

    assert missed == {}


@pytest.mark.promise("P5.281")
def test_no_text_is_an_error_or_takes_long(library):
    for query in (*NOTHING, *ODD):
        before = cpu_s(library)
        status, found = ask(library, query)
        assert status == 200, (query[:40], found)
        assert cpu_s(library) - before < CPU_S, query[:40]
        raw = json.dumps(found)
        assert "fts5" not in raw and "syntax error" not in raw
    for query in NOTHING:
        assert ask(library, query)[1]["answer"]["notes"] == ["The query has no words, so these are the newest pages."]


def test_the_command_line_and_mcp_take_the_same_texts(library, tmp_path):
    typed = [q for q, _ in FINDS if not q.startswith("-")][::8]
    typed += ["", "*", '"', "a AND", "to be or not to be", "x" * 10_000]
    wanted = dict(FINDS)
    client = Client(library, tmp_path).begin()
    for query in typed:
        done = library.cli("search", "-p", "*", "-n", "3", "--json", "--", query)
        assert done.returncode == 0, (query[:40], done.stderr)
        assert query not in wanted or names(json.loads(done.stdout))[0] == wanted[query]
    for query in [*(q for q, _ in FINDS), *NOTHING, *ODD]:
        text, failed = client.tool("memory_search", query=query, project="*", limit=3)
        assert not failed, (query[:40], text)
        assert query not in wanted or f"{wanted[query]}.md" in text
    client.close()


@pytest.mark.promise("P12.280")
def test_filters_mean_the_same_everywhere_and_what_cant_be_is_refused_with_a_reason(library, tmp_path):
    assert names(ask(library, "page", tag="about-zh")[1]) == ["zh"]
    assert names(json.loads(library.cli("search", "-p", "*", "--json", "-t", "#About-zh", "page").stdout)) == ["zh"]
    client = Client(library, tmp_path).begin()
    text, failed = client.tool("memory_search", query="page", project="*", tag="about-zh")
    assert not failed and "zh.md" in text and "ja.md" not in text

    refused = {
        "since": ({"since": "soon"}, "give a date like"),
        "turned": ({"since": "2026-12-01", "until": "2026-11-01"}, "since (2026-12-01) is after until"),
        "file": ({"file": "***"}, "has no letter or digit"),
        "limit": ({"limit": 0}, "give 1 to 50"),
        "cursor": ({"cursor": "zz"}, "not one of ours"),
        "project": ({"project": "nowhere"}, "There is no project 'nowhere'"),
        "workspace": ({"workspace": "nowhere"}, "There is no workspace 'nowhere'"),
        "both": ({"kind": "note", "harness": "codex"}, "nothing can be both"),
        "none": ({"session": "s", "observations": False}, "which were to be left out"),
    }
    for given, says in refused.values():
        status, answer = ask(library, "page", **given)
        assert status in (400, 404) and says in answer["error"]["message"], answer
        if given.keys() <= {"since", "until", "file", "project", "workspace", "cursor"}:
            options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
            everywhere = [] if given.keys() & {"project", "workspace"} else ["-p", "*"]
            done = library.cli("search", *everywhere, *options, "page")
            assert done.returncode != 0 and says in done.stderr
            text, failed = client.tool("memory_search", **{"query": "page", "project": "*", **given})
            assert failed and says in text
    client.close()

    assert names(ask(library, "page", since="2026-11-01", until="2026-11-01")[1]), "a day counts to its end"
    assert ask(library, "page", until="2026-10-31")[1]["answer"]["hits"] == []


@pytest.mark.promise("P12.281")
def test_an_answer_without_hits_says_which_filter_stood_in_the_way(library):
    def notes(**given):
        status, found = ask(library, "diyarbakir", **given)
        assert status == 200 and found["answer"]["hits"] == []
        return " ".join(found["answer"]["notes"])

    assert "No page here is of the kind 'nonsense'. Kinds that there are: note, observation." in notes(kind="nonsense")
    assert "Without the kind: 1." in notes(kind="nonsense")
    assert "Nothing is recorded of 'nope'" in notes(harness="nope")
    assert "No session has the id 'nope'." in notes(session="nope")
    assert "Without the tag: 1." in notes(tag="about-ja")
    assert "Without the dates: 1." in notes(until="2026-10-01")
    assert "Without these filters: 1." in notes(tag="about-ja", kind="decision")


@pytest.mark.promise("P12.282")
def test_requirements_are_dropped_step_by_step_and_the_answer_says_so(library):
    def said(query):
        status, found = ask(library, query)
        assert status == 200
        return names(found), found["answer"]["loosened"]

    assert said('"session brief" -draft') == (["brief"], None)
    found, note = said('"brief session" -gateway')
    assert found[0] == "brief" and "wide" not in found
    assert note == 'Nothing meets "brief session"; taken as plain words instead.'
    found, note = said('"v2 gateway" -width')
    assert found[0] == "wide" and note == 'Nothing meets "v2 gateway", -width; taken as plain words instead.'


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("gateway", "-pool"), "'redis -pool'"), (("gateway", "-draft"), "'redis -draft'"),
        (("gateway", "-nginx"), "'redis -nginx'"), (("-p", "*", "gateway", "-kube"), "'redis -kube'"),
        (("gateway", "-pool size"), "'redis -\"pool size\"'"), (("-p", "nowhere", "gateway"), None),
        (("-p", "*", "gateway", "--", "-pool"), None), (("-p", "*", "gateway -width"), None),
    ],
)  # fmt: skip
def test_a_word_behind_a_minus_that_the_shell_made_an_option_is_told(library, arguments, hint):
    done = library.cli("search", *arguments)

    assert (hint in done.stderr) if hint else ("in quotes" not in done.stderr)


@pytest.mark.promise("P4.280")
def test_a_misspelt_word_is_never_taken_as_one_of_another_project(daemon, tmp_path):
    here, there = (repository(tmp_path / name) for name in ("here", "there"))
    for where, words in ((here, "the walrus swims"), (there, "the codename zanzibarium is secret")):
        daemon.event("generic", "note", {"session_id": where.name, "text": words, "cwd": str(where)})
    daemon.level()

    def ask_in(where, query):
        return daemon.post("/api/v1/search", {"query": query, "cwd": str(where)})["answer"]

    told = ask_in(here, "walrus zanzibarum")
    assert told["hits"] and "zanzibarium" not in json.dumps(told)
    assert ask_in(here, "zanzibarum")["hits"] == []
    assert "zanzibarium" in ask_in(there, "zanzibarum")["loosened"]
    there_only = ask_in(here, "wallrus")
    assert there_only["loosened"] == "'wallrus' occurs nowhere; taken as 'walru'."
    daemon.event("generic", "note", {"session_id": "there", "text": "wallrus", "cwd": str(there)})
    daemon.level()
    assert ask_in(here, "wallrus")["hits"], "what another project holds hinders no correction"


@pytest.mark.promise("P10.280")
def test_what_was_deleted_in_any_way_is_found_no_more_and_comes_back_with_its_file(daemon, tmp_path):
    """PRV-11: by tool, by hand, by git's checkout, and over a restart; nor is it what a misspelt word is taken as."""
    where = repository(tmp_path / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    written = {}
    for name in ("quokka", "numbat", "bandicoot"):
        answer = daemon.post(
            "/api/v1/page",
            {"title": f"The {name}", "body": f"A {name} lives here.", "kind": "note", "project": "shop"},
        )
        written[name] = answer["path"]

    def found(word):
        return [hit["path"] for hit in daemon.search(word, kind="note")]

    def taken_as(name):
        """What is said of a word without its last letter but one."""
        return daemon.post("/api/v1/search", {"query": name[:-2] + name[-1], "project": "*"})["answer"]["loosened"]

    daemon.wait(lambda: all(found(name) == [path] for name, path in written.items()), "all are found")
    for name in written:
        assert f"taken as '{name}'" in taken_as(name)
    client = Client(daemon, where).begin()
    version = daemon.get("/api/v1/page", page=written["quokka"])["version"]
    text, failed = client.tool("memory_delete_page", page=written["quokka"], version=version)
    client.close()
    assert not failed, text
    (daemon.data.wiki / written["numbat"]).unlink()
    kept = (daemon.data.wiki / written["bandicoot"]).read_bytes()
    (daemon.data.wiki / written["bandicoot"]).rename(tmp_path / "away")
    daemon.wait(lambda: not any(found(name) for name in written), "none is found")
    assert {taken_as(name) for name in written} == {None}
    daemon.stop()
    daemon.start()
    assert not any(found(name) for name in written)
    (daemon.data.wiki / written["bandicoot"]).write_bytes(kept)
    daemon.wait(lambda: found("bandicoot") == [written["bandicoot"]], "what lies there again is found")


@pytest.mark.promise("P11.280")
def test_the_commonest_word_of_very_long_pages_stays_a_bounded_answer(daemon, tmp_path):
    """MCP-05: fifty pages of 60 KB that are nothing but one word and its like."""
    where = repository(tmp_path / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "hello", "cwd": str(where)})
    folder = daemon.data.wiki / "default" / "shop" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(50):
        (folder / f"long-{number}.md").write_text(f"# Long {number}\n\n" + "common word 共通 " * 3_000)
    daemon.wait(lambda: len(daemon.search("common", kind="note")) >= 50, "all are found")
    client = Client(daemon, where).begin()

    text, failed = client.tool("memory_search", query="common", limit=50)
    client.close()

    assert not failed and len(text) <= 20_000
    assert "50 of 50 results" in text and "memory_read_page" in text


@pytest.mark.promise("P9.280")
def test_a_foreign_lock_on_the_index_loses_no_event_and_search_answers(daemon, tmp_path):
    """SQL-02: somebody holds a write lock in the sqlite3 shell while hooks and searches come."""
    import sqlite3

    where = repository(tmp_path / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "before the lock", "cwd": str(where)})
    daemon.level()
    db = sqlite3.connect(daemon.data.root / "cache" / "index.sqlite3", isolation_level=None)
    db.execute("begin immediate")
    for number in range(20):
        status, answer = daemon.event(
            "generic", "note", {"session_id": "s", "text": f"within {number}", "cwd": str(where)}, at=10**18 + number * 10**10
        )  # fmt: skip
        assert status == 202 and answer["seq"]
        status, found = ask(daemon, "lock")
        assert status in (200, 503), found
        if status == 200:
            assert found["answer"]["hits"]
        else:
            assert "The index is busy" in found["error"]["message"]

    def has_waited_in_vain():
        """The index's own connection has waited as long as it does, and failed."""
        assert ask(daemon, "lock")[0] in (200, 503)
        return any(task["name"] == "projector" and task["failures"] for task in daemon.status()["tasks"])

    daemon.wait(has_waited_in_vain, "the lock outlasts the waiting for it")
    db.execute("rollback")
    db.close()

    daemon.level()
    assert len({hit["snippet"] for hit in daemon.search("within", kind="observation")}) == 20


@pytest.mark.promise("P6.280")
def test_a_page_that_another_replaces_stands_behind_it_and_every_copy_of_a_statement_is_listed(daemon, tmp_path):
    """INJ-09 and INJ-10: in searches and in the brief the successor stands, the other page comes behind or on request."""
    where = repository(tmp_path / "shop")
    daemon.event("generic", "note", {"session_id": "s", "text": "begun", "cwd": str(where)})
    folder = daemon.wait(lambda: [p.parent for p in daemon.pages("*/*/*.md") if p.stem == "shop"], "a project")[0]
    folder /= "decisions"
    folder.mkdir(parents=True)
    (folder / "redis.md").write_text(
        "---\ntype: decision\nid: redis\ntitle: Cache sessions in Redis\n---\n\n"
        "Cache sessions in Redis. Sessions in Redis expire after 30 minutes.\n"
    )
    (folder / "postgres.md").write_text(
        "---\ntype: decision\nid: postgres\ntitle: Sessions live in Postgres\nsupersedes: redis\n---\n\n"
        "We no longer cache sessions in Redis; they are rows.\n"
    )
    for name in ("overview", "runbook"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nSessions expire after 30 minutes, as everybody knows.\n")
    daemon.wait(lambda: len(daemon.search("sessions", kind=None)) >= 4, "all are found")

    first = {Path(hit["path"]).stem: hit for hit in daemon.search("cache sessions in redis")}
    assert list(first).index("postgres") < list(first).index("redis")
    assert first["redis"]["score"] < first["postgres"]["score"], "not by the order in which they were written"
    labels = {name: hit["labels"] for name, hit in first.items()}
    assert labels["redis"] == ["superseded by 'Sessions live in Postgres'"] and labels["postgres"] == []
    brief = daemon.get("/api/v1/brief", cwd=str(where))["text"]
    assert "Sessions live in Postgres" in brief and "Cache sessions in Redis" not in brief
    assert "30 minutes" in daemon.cli("read", "-p", "*", "redis").stdout, "on request it is there"
    stating = {Path(hit["path"]).stem for hit in daemon.search('"expire after 30 minutes"')}
    assert stating == {"redis", "overview", "runbook"}


@pytest.mark.promise("P12.363")
def test_an_agent_finds_what_is_about_the_files_of_its_session_before_equals(daemon, tmp_path):
    where = repository(tmp_path / "shop")
    with Agent(daemon, where, "6f0b1c8e-0000-4000-8000-000000000001") as agent:
        edit = {"file_path": str(where / "src/net/http.py"), "old_string": "a", "new_string": "b"}
        agent.say("SessionStart", source="startup").say("UserPromptSubmit", prompt="begin")
        agent.say("PostToolUse", tool_name="Edit", tool_input=edit, tool_response={})
        daemon.level()
        folder = daemon.wait(lambda: [p.parent for p in daemon.pages("*/*/*.md") if p.stem == "shop"], "a project")[0]
        (folder / "notes").mkdir(exist_ok=True)
        for name, file, day in (("cart", "src/cart/view.py", 9), ("net", "src/net/http.py", 1)):
            (folder / "notes" / f"{name}.md").write_text(
                f"---\ntitle: Timeout\nfiles: [{file}]\nupdated: 2026-11-0{day}\n---\n\nThe timeout of {name} is thirty.\n"
            )
        daemon.wait(lambda: len(daemon.search("timeout thirty", kind="note")) == 2, "both are found")

        asked = agent.tool("memory_search", agent.session, query="timeout thirty", kind="note")

    assert [Path(hit["path"]).stem for hit in daemon.search("timeout thirty", kind="note")] == ["cart", "net"]
    assert 0 < asked.index("net.md") < asked.index("cart.md")
