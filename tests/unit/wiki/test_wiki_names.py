"""Names we choose, and paths a caller may name."""

import fnmatch
import unicodedata

import pytest

from aimemory.errors import UserError
from aimemory.wiki.names import GITIGNORE, check_new_page_path, check_page_path, is_ours_ignored, slug, unusable

TITLES = {
    "データベースの選択": "データベースの選択",
    "メモリ リーク": "メモリ-リーク",
    "데이터베이스 선택": "데이터베이스-선택",
    "Выбор базы данных": "выбор-базы-данных",
    "Ёлка: план": "ёлка-план",
    "اختيار قاعدة البيانات": "اختيار-قاعدة-البيانات",
    "การเลือกฐานข้อมูล": "การเลือกฐานข้อมูล",
    "हिन्दी में": "हिन्दी-में",
    "🚀🔥": "id-1",
    "❤️ 👩‍💻": "id-1",
}
DEVICES = ["con", "CON", "prn", "aux", "nul", "Com1", "lpt9", "com¹", "nul.", "aux "]
ESCAPES = [
    "", "..", "../a.md", "a/../b.md", "a/..//b.md", "a//b.md", "/etc/passwd.md", "//a.md", "./a.md",
    "a/./b.md", "a/", "a.md/", "..\\a.md", "a\\b.md", "C:\\a.md", "a\0.md", "a\n.md", "a\x7f.md", "\ud800.md",
    "%2e%2e/a.md", "%2E%2e%2fa.md", "a/%2e%2e/b.md", "%252e%252e/a.md", "%25252525252e.md", "%2fetc/a.md",
    "a%00.md", "a%5cb.md", "a/%2egit/b.md", ".git/config.md", "a/.git/b.md", ".obsidian/a.md", ".hidden.md",
    "a.txt", "md", "notes/a", "x" * 253 + ".md", "é" * 127 + ".md", "/".join(["x" * 200] * 20) + ".md",
]  # fmt: skip


@pytest.mark.parametrize(("title", "name"), TITLES.items())
def test_a_title_in_any_script_stays_readable_and_one_without_letters_gives_its_id(title: str, name: str) -> None:
    assert slug(title, "id-1") == unicodedata.normalize("NFC", name)


@pytest.mark.promise("P1.31")
def test_ten_titles_in_different_scripts_give_ten_names() -> None:
    assert len({slug(title, f"id-{number}") for number, title in enumerate(TITLES)}) == len(TITLES)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Add PDF export", "add-pdf-export"),
        ('  --Use: SQLite? <yes> "no" | a/b\\c*  ', "use-sqlite-yes-no-a-b-c"),
        ("don't", "dont"),
        ("v1.2 (beta).", "v1-2-beta"),
        ("Cafe\u0301", "café"),
        ("İstanbul", unicodedata.normalize("NFC", "İstanbul".lower())),
        ("a\u200bb\u202ec", "abc"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("a\0b\nc", "a-b-c"),
        ("1\ufe0f\u20e3 first", "1-first"),
    ],
)
def test_what_file_systems_dislike_is_left_out(title: str, name: str) -> None:
    assert slug(title, "id") == name


@pytest.mark.parametrize("title", DEVICES)
def test_a_windows_device_name_is_never_chosen(title: str) -> None:
    assert slug(title, "id") == title.strip(". ").lower() + "_"


def test_a_long_title_is_cut_between_characters() -> None:
    assert slug("あ" * 100, "id") == "あ" * 26
    assert slug("word " * 40, "id", max_bytes=10) == "word-word"
    assert slug("e" + "\u0331" * 3 + "x", "id", max_bytes=4) == "id"


def test_an_unusable_fallback_still_gives_a_name() -> None:
    assert slug("", "") == "untitled"
    assert slug("!", "con") == "con_"


def test_a_name_once_made_stays_the_same() -> None:
    for title in [*TITLES, *DEVICES]:
        assert slug(slug(title, "id"), "other").rstrip("_") == slug(title, "id").rstrip("_")


@pytest.mark.promise("P9.31")
@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="can't be a page"):
        check_page_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "default/app/notes/a b.md",
        "default/app/notes/100%.md",
        "日本語/メモ.md",
        "a/con.md",
        "a/b:c?.md",
        "a..b.md",
    ],
)
def test_a_persons_own_names_are_taken_as_they_are(path: str) -> None:
    assert check_page_path(path) == path


def test_a_decomposed_path_is_composed() -> None:
    assert check_new_page_path("notes/Cafe\u0301.md") == "notes/Café.md"
    assert check_page_path("notes/Cafe\u0301.md") == "notes/Cafe\u0301.md"


@pytest.mark.parametrize(
    "path", ["a/con.md", "NUL.md", "aux .x.md", "a./b.md", "a /b.md", "a:b.md", "a?.md", "com1/a.md"]
)
def test_a_page_made_through_us_has_a_name_for_every_platform(path: str) -> None:
    assert check_page_path(path) == path
    with pytest.raises(UserError, match="can't be created"):
        check_new_page_path(path)


@pytest.mark.parametrize("path", ["x" * 241 + ".md", "é" * 119 + ".md", "/".join(["x" * 200] * 5) + ".md"])
def test_what_is_made_through_us_is_shorter_than_what_may_lie_there(path: str) -> None:
    assert check_page_path(path) == path
    with pytest.raises(UserError, match="Choose a shorter name"):
        check_new_page_path(path)


@pytest.mark.parametrize("name", ["a\nb.md", "a\nb", "a\x1b[31m.md", "a\\b.md", "\udcff.md", "%2e%2e%2fx.md", "a%00"])
def test_a_name_that_no_request_could_give_is_no_pages(name: str) -> None:
    assert unusable(name)


@pytest.mark.parametrize("name", ["a b.md", "日本語", "100%.md", "a\xa0b.md", "é" * 125 + ".md", "x.", "con"])
def test_a_persons_own_name_is_a_pages_where_a_request_can_give_it(name: str) -> None:
    assert unusable(name) is None


def test_a_portable_path_may_be_created() -> None:
    assert check_new_page_path("default/app/notes/console.md") == "default/app/notes/console.md"


IGNORED = [
    ".git", ".obsidian", ".trash", ".DS_Store", ".a.md.swp", ".#a.md", "#a.md#", "a.md~", "a.md.tmp", "a.orig",
    "a.md.bak", ".aimemory-tmp-0123", "a.sync-conflict-20260101-120000-ABC.md",
    "a (Ann's conflicted copy 2026-01-02).md",
]  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_hidden_temporary_and_conflict_names_are_no_pages(name: str) -> None:
    assert is_ours_ignored(name)


@pytest.mark.parametrize("name", ["a.md", "notes", "conflict.md", "temp.md", "a~b.md", "#1 priority.md"])
def test_ordinary_names_are_pages(name: str) -> None:
    assert not is_ours_ignored(name)


def test_git_ignores_what_the_walk_ignores() -> None:
    patterns = [line.lstrip("\\").rstrip("/") for line in GITIGNORE.splitlines() if not line.startswith("# ")]
    for name in IGNORED:
        assert name == ".git" or any(fnmatch.fnmatch(name, pattern) for pattern in patterns), name
