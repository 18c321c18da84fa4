"""One text in all its spellings."""

import html
import json
import random
import unicodedata
from urllib.parse import quote

import pytest

from aimemory.upkeep.purge.spelled import Spelled

TEXTS = (
    'Zoë said "hi"\nto Rm 5', "it's a\\b <c> & d/e", "[.*+?]{2}(x)|^$", "漢字のパスワード", "emoji 🦊 fox", "Ünïcödé\tand tab",
    "가나다 hangul", unicodedata.normalize("NFD", "typed apart: é, 가"), "plain-word", 'C:\\Users\\ada\\x "q"',
)  # fmt: skip


def spellings(text):
    once = json.dumps(text)[1:-1]
    yield from (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
    yield from (
        text.replace("\n", "\r\n"),
        text.replace("\n", "\n> "),
        " ".join(text.split()),
        text.replace(" ", "\n  "),
    )
    yield from (once, json.dumps(once)[1:-1], json.dumps(json.dumps(once))[3:-3])
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield json.dumps(unicodedata.normalize("NFD", text))[1:-1]
    yield from (quote(text), quote(text, safe=""))
    yield from (html.escape(text), html.escape(text, quote=False), text.encode("ascii", "xmlcharrefreplace").decode())
    yield text.replace("'", "''")


@pytest.mark.promise("P10.170")
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_found_and_taken_out_in_every_spelling(text):
    spelled = Spelled(text)

    for one in spellings(text):
        raw = f"before {one} after".encode()
        assert spelled.is_in(raw), one
        assert spelled.replaced(f"before {one} after", "X") == "before X after", one
        assert spelled.replaced_raw(raw, b"X") == b"before X after", one


def test_other_texts_and_placeholders_stay():
    spelled = Spelled("Zoë at 5")

    for other in ("Zoe at 5", "Zoëat5", "zoë at 5", "Zoë at", "", "[redacted:Zoë]"):
        assert not spelled.is_in(other.encode()) and spelled.replaced(other, "X") == other
    mark = Spelled("token")
    assert mark.replaced("a token and [redacted:github-token]", "X") == "a X and [redacted:github-token]"
    assert not mark.is_in(b"[redacted:github-token]")


def test_no_text_makes_it_slow():
    rows = ("\\" * 100_000, " " * 100_000, "\n>" * 50_000, "ab \\" * 25_000, "%2" * 50_000, "e\u0301" * 50_000)
    for text in ("ab cd", 'a"b"c"', "\\\\\\\\ab", "éé é", "a a a a a a a b"):
        spelled = Spelled(text)
        for row in rows:
            assert spelled.replaced(row + "ab", "X").endswith(("ab", "X"))


def test_a_long_text_of_any_signs():
    rnd = random.Random(5)
    text = "".join(chr(rnd.choice((rnd.randrange(33, 127), rnd.randrange(0xA1, 0x2FF)))) for _ in range(1000))

    assert Spelled(text).replaced(json.dumps({"a": text}), "X") == '{"a": "X"}'
