"""Any text is a valid query, and means what the person typed."""

import random
import string

import pytest

from aimemory.index.read import read
from aimemory.index.search import Scope, scope_count
from aimemory.recall.answer import Request, search
from aimemory.recall.query import MAX_TERMS, any_of, expression, parse
from aimemory.recall.words import stem_start

ODD_QUERIES = [
    "multi-agent", "pre-edit-check", "foo:bar", "C++", "*", "(", ")", '"', '""', "'", "`", "--", "-", "NEAR", "a AND",
    "NOT", "OR OR", "AND NOT x", "NEAR(a b, 5)", "title : x", "^start", "{a b}", "a + b", "body:", "forms : x", "",
    " \n\t ", "don't use agents", "Downloads/transcripts", r"C:\Users\ana\My Files\a.txt",
    "https://example.org/a/b?q=1&r=%20x#frag", "20.04", "38.101", "-38.101", "health.base", "CLAUDE.md", "ADR-016",
    "CVE-2026-1234", "PROJ-42", "2026-12-15", "v1.2.3-rc.1", '"--error-on-warnings"', "-Wall", "a\x00b", "\ud800 lone",
    "🦓🦓", "⚠️", "'; drop table page; --", "%_%", "\\", "?1 ?2", "é" * 300, "飞" * 300, "x" * 10_000, '"' * 999,
    " ".join(f"word{n}" for n in range(3000)), "-".join("ab" for _ in range(5000)), '"' + "a b " * 4000 + '"',
    '"unclosed phrase', "-draft", '-draft "x"', '-"x y"', 'x -"', 'x -""', 'x -"飞书 y"', 'x -"?!"', "“curly” quotes", "库", "역사 API", "เกม", "ß", "İ", "١٢٣",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD_QUERIES, ids=range(len(ODD_QUERIES)))
def test_any_text_is_a_query_that_the_index_accepts(store, text: str) -> None:  # type: ignore[no-untyped-def]
    store.page("a.md", "some text")
    store.page("same.md", text.encode(errors="replace").decode())
    store.observation(prompt="some text")
    store.observation(prompt=text.encode(errors="replace").decode())
    query = parse(text)

    assert len(query.terms) <= MAX_TERMS
    answer = read(store.db, search(Request(text)))
    assert query.is_empty or any(hit.path == "same.md" for hit in answer.hits)
    if not query.is_empty:
        for table in ("page", "observation"):
            read(store.db, scope_count(table, expression(query, query.terms, query.terms[:1]), Scope(), 5))


def test_random_text_is_a_query_too(store) -> None:  # type: ignore[no-untyped-def]
    chance = random.Random(7)
    alphabet = string.printable + "éß飞书กくअ\u0301\u200d\ufeff🦓" + '"-()*:^' * 5
    store.page("a.md", "some text")
    for _ in range(300):
        read(store.db, search(Request("".join(chance.choices(alphabet, k=chance.randint(0, 40))))))


def test_function_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert [t.shown for t in parse("where is the session brief wired").terms] == ["session", "brief", "wired"]
    assert [t.shown for t in parse("to be or not to be").terms] == ["to", "be", "or", "not"]


def test_a_german_question_is_told_by_two_of_its_words() -> None:
    asked = parse("Wie lange ist der Token für die Schnittstelle gültig?")
    assert [t.shown for t in asked.terms] == ["lange", "token", "schnittstelle", "gultig"]
    assert [t.shown for t in parse("die war file").terms] == ["die", "war", "file"]
    assert [t.shown for t in parse("the man page of im").terms] == ["man", "page", "im"]
    assert [t.shown for t in parse("wie und wo").terms] == ["wie", "und", "wo"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Was wurde im Standup besprochen?", ["standup", "besprochen"]), ("Standup im Büro", ["standup", "buro"]),
        ("wurde Standup", ["standup"]), ("Cache für Sitzungen", ["cache", "sitzungen"]), ("im", ["im"]),
        ("Cache und Pool", ["cache", "pool"]), ("IM BÜRO", ["buro"]), ("DER Format", ["der", "format"]),
        ("die hard", ["die", "hard"]), ("mit license", ["mit", "license"]), ("man page", ["man", "page"]),
        ("fur coat", ["fur", "coat"]), ("uber driver", ["uber", "driver"]), ("war plan", ["war", "plan"]),
        ("the im server", ["im", "server"]), ("DES und DER im Vergleich", ["des", "der", "vergleich"]),
    ],
)  # fmt: skip
def test_german_words_that_are_nothing_else_are_left_out_however_few(text: str, words: list[str]) -> None:
    assert [t.shown for t in parse(text).terms] == words


@pytest.mark.parametrize(
    "text", ["Was wurde im Standup besprochen?", "standup im Mai", "Standup im Büro", "wurde Standup"]
)
def test_a_title_with_german_grammar_does_not_come_before_what_was_asked_for(store, paths, text: str) -> None:  # type: ignore[no-untyped-def]
    for day in range(4, 9):
        store.page(f"standup-{day}.md", f"Besprochen: Punkt {day}.", title=f"Standup {day}. 5. 2026")
    store.page("umzug.md", "Die Datenbank wurde im Juli umgezogen.", title="Datenbank-Umzug im Sommer")

    assert paths(text)[0].startswith("standup")


def test_a_german_question_finds_its_page_among_german_pages_that_share_its_grammar(store, paths) -> None:  # type: ignore[no-untyped-def]
    for number in range(20):
        store.page(f"english-{number}.md", "The interface sends orders to the warehouse every ten minutes.")
    store.page(
        "grammar.md",
        "Wie der Lauf für die Konten ist: der Beginn ist um zehn, und der Lauf ist für die Konten wie immer.",
    )
    store.page("token.md", "Token laufen nach fünfzehn Minuten ab.")

    assert paths("Wie lange ist der Token für die Konsole gültig?")[0] == "token.md"


@pytest.mark.parametrize("text", ["-Wall", "--flag", "-38.101", "ADR-016", "rm -rf", "gcc -fno-strict", "a -", "-x"])
def test_hyphens_that_belong_to_a_word_exclude_nothing(text: str) -> None:
    assert parse(text).excluded == () and not parse(text).is_empty


def test_phrases_and_exclusions_count_where_they_were_typed() -> None:
    query = parse('"session brief" hook -draft')

    assert [t.shown for t in query.required] == ["session brief"]
    assert [t.shown for t in query.terms] == ["hook"]
    assert [t.shown for t in query.excluded] == ["draft"]
    assert parse("-draft").excluded == (), "a query can't consist of what isn't wanted"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('redis -"use redis"', {"b.md"}), ('-"use redis" redis', {"b.md"}), ("redis -“use redis”", {"b.md"}),
        ('redis -"飞书插件"', {"a.md"}), ('"the pool" -"use redis"', {"b.md"}),
    ],
)  # fmt: skip
def test_a_phrase_behind_a_minus_is_left_out(store, paths, text: str, left: set[str]) -> None:  # type: ignore[no-untyped-def]
    store.page("a.md", "We use redis for the pool.")
    store.page("b.md", "The pool of redis: its use, 飞书插件.")

    assert set(paths(text)) == left
    assert paths('-"use redis"')[0] == "a.md", "a query can't consist of what isn't wanted"


def test_a_sentence_that_quotes_requires_nothing() -> None:
    query = parse('Updates to how the options of "git help" are handled')

    assert query.required == ()
    assert '"git help"' in any_of(query.terms)


def test_names_are_looked_for_whole_and_in_parts() -> None:
    matches = [t.match for t in parse("getUserById session-rec ADR-016").terms]

    assert {'"getuserbyid"', '"get"', '"user"', '"id"'} <= set(matches)
    assert {'"session"', '"rec" *', '"session rec"', '"adr"', '"016"', '"adr 016"'} <= set(matches)


def test_runs_without_spaces_become_pairs_and_one_character_the_start_of_one() -> None:
    assert [t.match for t in parse("飞书插件").terms] == ['forms : "飞书"', 'forms : "书插"', 'forms : "插件"']
    assert [t.match for t in parse("库").terms] == ['forms : "库" *']
    assert [t.match for t in parse('"飞书插件"').required] == ['forms : "飞书 书插 插件"']


@pytest.mark.parametrize(
    ("word", "start"),
    [
        ("exporting", "export"),
        ("policies", "polic"),
        ("running", "run"),
        ("cache", "cach"),
        ("db", "db"),
        ("飞书", "飞书"),
    ],
)
def test_the_start_of_a_word_is_what_its_other_forms_share(word: str, start: str) -> None:
    assert stem_start(word) == start
