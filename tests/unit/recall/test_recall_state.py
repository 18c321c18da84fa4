"""Questions about now, and what a page is: cases of their own, each beside one that must stay as it was."""

from typing import Any

import pytest

from aimemory.index.apply import apply_lines
from aimemory.index.read import read
from aimemory.index.search import Scope, files_of
from aimemory.journal.lines import Line
from aimemory.recall.answer import Request, search
from aimemory.recall.authority import weight
from aimemory.recall.state import asks_for_now

NOW = (
    ("which cache do we use", "Cache", "The cache: we use Memcached, use it through the cache module.", "Our cache is Redis, use it."),
    ("what is the current node version", "Node", "The current node version is 18.", "The node version is 22 since spring."),
    ("latest deploy status?", "Deploy", "Deploy in progress: deploy status is running.", "Deploy done, with status green and no errors."),
    ("Welche Datenbank nutzen wir?", "Wahl", "Die Datenbank, die wir nutzen, ist MySQL.", "Die Datenbank ist Postgres; das nutzen alle seit Mai."),
    ("aktueller Stand der Migration", "Umzug", "Aktueller Stand der Migration: begonnen.", "Der Stand der Migration ist: fertig, alles läuft."),
    ("目前使用的数据库", "数据库", "使用的数据库是 MySQL，数据库版本 5。", "数据库改为 Postgres。"),
    ("is the api still on python 3.9", "API python", "The api is on python 3.9, api and python 3.9.", "The api moved to python 3.12."),
)  # fmt: skip
"""(question, title of both, text of the older page, of the newer one)."""


def _first(store: Any, query: str) -> Any:
    return read(store.db, search(Request(query))).hits[0]


@pytest.mark.promise("P6.364")
@pytest.mark.parametrize(("query", "title", "old", "new"), NOW)
def test_of_two_answers_about_now_the_newer_comes_first(store: Any, query: str, title: str, old: str, new: str) -> None:
    store.page("old.md", old, title=title, updated="2025-03-01")
    store.page("new.md", new, title=title, updated="2026-11-01")
    for n in range(30):
        store.page(f"other{n}.md", f"heron{n} and the otter of part {n}", title=f"Other {n}", updated="2026-11-20")

    first = _first(store, query)

    assert first.path == "new.md" and dict(first.shares)["recent"] > 0
    told = f"it was said that {title}: {old}"
    assert _first(store, told).path == "old.md" and "recent" not in dict(_first(store, told).shares)


def test_an_old_page_that_answers_stays_before_new_ones_that_share_a_word(store: Any) -> None:
    store.page("old.md", "The staging proxy listens on port 8443.", title="Staging proxy port", updated="2024-01-01")
    for n in range(20):
        store.page(f"n{n}.md", f"The port of heron {n} is now open.", title=f"Heron {n}", updated="2026-11-20")

    assert _first(store, "which port does the staging proxy use now?").path == "old.md"


def test_now_in_a_text_that_tells_asks_for_nothing() -> None:
    tells = (
        "The configuration element can now use a wildcard pattern for the credential subsystem", "why did it fail yesterday",
        "plugin loader will now load config data by name", "", "now " * 200, "what is a nowhere node",
    )  # fmt: skip
    assert [text for text in tells if asks_for_now(text)] == []
    assert asks_for_now("deploy status now") and asks_for_now("现在用什么数据库？")
    assert not asks_for_now("what failed in May 2023")


def _wrote(store: Any, path: str, *sessions: str) -> None:
    for session in sessions:
        store.seq = getattr(store, "seq", 5000) + 1
        data = {"op": "write", "path": path, "version": "v1", "user": "ada", "harness": "codex", "session": session}
        apply_lines(store.db, [Line(store.seq, "page", store.seq, data)])


@pytest.mark.promise("P12.362")
def test_of_equal_pages_knowledge_pinned_and_kept_up_ones_come_first_and_a_better_one_before_all(store: Any) -> None:
    said = {"title": "Walrus feeding", "body": "The walrus is fed at noon by the keeper"}
    for path, more in (
        ("plain", {}), ("session", {"kind": "session"}), ("kept", {}), ("decision", {"kind": "decision"}),
        ("pinned", {"kind": "decision", "tags": ("pinned",)}),
    ):  # fmt: skip
        newest = "2026-11-20" if path in ("plain", "session") else "2026-11-01"
        store.page(f"{path}.md", f"{said['body']}, page {path}.", title=said["title"], updated=newest, **more)
    _wrote(store, "kept.md", "s1", "s2", "s3")

    hits = read(store.db, search(Request("walrus fed noon keeper"))).hits

    assert [hit.path for hit in hits[:3]] == ["pinned.md", "decision.md", "kept.md"]
    assert dict(hits[0].shares)["authority"] > dict(hits[2].shares)["authority"] > 0
    assert "authority" not in dict(hits[3].shares)
    store.page("best.md", "The walrus is fed at midnight by the second keeper", title="Walrus midnight", kind="session")
    assert _first(store, "walrus fed midnight second keeper").path == "best.md"
    assert weight("rule", True, 100) == pytest.approx(0.09) and weight("note", False, 1) == 0


@pytest.mark.promise("P12.363")
def test_of_equal_hits_those_about_files_of_the_callers_session_come_first_and_no_better_one_falls(store: Any) -> None:
    for n, path in enumerate(("src/cart/view.py", "src/net/http.py", "/srv/app/src/pool/size.py")):
        store.page(
            f"p{n}.md", f"The timeout of part {n} is thirty.", title="Timeout", paths=path, updated=f"2026-11-0{9 - n}"
        )
    store.page("best.md", "The timeout budget of checkout.", title="Timeout budget", updated="2024-01-01")
    store.observation(
        kind="post-tool", tool="Read", cwd="/srv/app", files_read=["/srv/app/README", "/srv/app/src/pool/size.py"]
    )
    store.observation(kind="post-tool", tool="Edit", cwd="/srv/app", files_written=["/srv/app/src/net/http.py"])
    store.observation(kind="post-tool", tool="Edit", session="s2", files_written=["/srv/app/src/cart/view.py"])

    files = tuple(read(store.db, files_of("s1", 8)))
    assert files == ("src/net/http.py", "README", "src/pool/size.py")

    def order(query: str, **more: Any) -> list[str | None]:
        hits = read(store.db, search(Request(query, Scope(observations=False), **more))).hits
        assert all(sum(share for _, share in hit.shares) == pytest.approx(hit.score, abs=0.002) for hit in hits)
        return [hit.path for hit in hits]

    assert order("timeout part thirty")[:3] == ["p0.md", "p1.md", "p2.md"]
    assert order("timeout part thirty", files=files)[:3] == ["p1.md", "p2.md", "p0.md"]
    assert order("timeout budget checkout", files=files)[0] == "best.md"
    hit = read(store.db, search(Request("timeout part thirty", files=files))).hits[0]
    assert "files of your session" in hit.explanation
