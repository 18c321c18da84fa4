"""The other forms of words agree with what FTS5's tokenizer makes of the text itself."""

import sqlite3
import unicodedata

import pytest

from aimemory.index.schema import DDL
from aimemory.index.words import camel_parts, fold, other_forms, pairs, signs


def _tokens(text: str) -> list[str]:
    tokenizer = DDL.split('tokenize="')[1].split('"')[0].replace("porter ", "")
    db = sqlite3.connect(":memory:")
    try:
        db.execute(f'create virtual table t using fts5(x, tokenize="{tokenizer}")')
        db.execute("create virtual table v using fts5vocab(t, instance)")
        db.execute("insert into t values (?)", (text,))
        return [row[0] for row in db.execute("select term from v order by offset")]
    finally:
        db.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", unicodedata.normalize("NFD", "café")), ("CAFÉ", "cafe"), ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"), ("ＡＰＩ", "api"), ("ﬁle", "file"), ("مُحَمَّد", "محمد"), ("Ёлка", "елка"), ("Ά", "α"),
        ("역사", unicodedata.normalize("NFD", "역사")),
    ],
)  # fmt: skip
def test_spellings_of_one_word_fold_to_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("हिन्दी", "हनद"), ("ก่", "ก"), ("ő", "u")])
def test_other_letters_stay_other(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def test_whatever_a_word_folds_to_is_found_in_its_text_or_its_other_forms() -> None:
    letters = [chr(c) for c in (*range(0xC0, 0x180), *range(0x380, 0x528)) if chr(c).isalpha()]
    words = [f"x{letter}x" for letter in letters]
    assert [w for w in words if not set(_tokens(fold(w))) <= set(_tokens(f"{w} {other_forms(w)}"))] == []


def test_scripts_without_spaces_become_pairs_with_the_last_character_alone() -> None:
    assert pairs("飞书的") == ["飞书", "书的", "的"]
    assert other_forms("见 飞书的API文档") == "见 飞书 书的 的 文档 档 api"
    assert other_forms("plain English") == "" and other_forms("naïve café") == ""


def test_pairs_survive_the_tokenizer_whole() -> None:
    for text in ("ภาษาไทยง่าย", "日本語です", "데이터베이스", "ພາສາລາວ", "ភាសាខ្មែរ"):
        forms = other_forms(text).split()
        assert _tokens(" ".join(forms)) == forms


def test_names_in_camel_case_are_taken_apart() -> None:
    assert camel_parts("call getUserById(HTTPServer2) in snake_case, plain HTTP") == [
        "get",
        "User",
        "By",
        "Id",
        "HTTP",
        "Server",
    ]
    assert camel_parts("nothing here, not 2026 or USA") == []
    assert camel_parts("éclairFooBar") == ["clair", "Foo", "Bar"]


def test_signs_that_mean_something_become_words() -> None:
    assert signs("C++ and C#, not C+, a++b, #1 or issue#; F# 🦓 ⚠️ ©") == {
        "cplusplus": "C++", "csharp": "C#", "fsharp": "F#", "u1f993": "🦓", "u26a0": "⚠", "ua9": "©",
    }  # fmt: skip
    assert other_forms("in C++") == "cplusplus" and other_forms("# heading") == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Łódź", "lodz"),
        ("ısı", "ISI"),
        ("smørrebrød", "smorrebrod"),
        ("Æsir", "aesir"),
        ("हिन्दी", "हिंदी"),
        ("đường", "duong"),
    ],
)
def test_letters_that_keyboards_lack_are_the_letters_that_people_type(one: str, other: str) -> None:
    assert fold(one) == fold(other)
