"""Cutting: within the limit, head and tail, a mark that says how much is missing, the same when cut again."""

import json

import pytest

from aimemory.privacy import cap_text, cap_tree, sanitize


def test_short_text_is_kept_whole():
    assert cap_text("short", 5) == "short"
    assert cap_text("日本", 6) == "日本"


def test_long_text_keeps_head_and_tail_around_a_mark():
    text = "a" * 600 + "b" * 600

    capped = cap_text(text, 200)

    assert len(capped.encode()) <= 200
    assert capped.startswith("aaa")
    assert capped.endswith("bbb")
    assert "[… 1,025 bytes cut …]" in capped


@pytest.mark.parametrize("letter", ["a", "é", "日", "🍸"])
@pytest.mark.parametrize("cap_bytes", [0, 1, 7, 30, 31, 32, 33, 34, 100])
def test_no_character_is_split_at_any_limit(letter, cap_bytes):
    capped = cap_text(letter * 500, cap_bytes)

    assert len(capped.encode()) <= cap_bytes
    assert capped.replace(letter, "").strip("[…] ,0123456789bytescut") == ""
    assert cap_text(capped, cap_bytes) == capped


def test_cutting_again_adds_up_what_is_missing():
    once = cap_text("x" * 100_000, 1000)

    twice = cap_text(once, 200)

    missing = 100_000 - twice.count("x")
    assert f"[… {missing:,} bytes cut …]" in twice


@pytest.mark.promise("P4.5")
def test_a_secret_at_the_cut_is_redacted_before_it_is_cut():
    secret = "ghp_" + "a1B2c3" * 6
    for lead in range(60, 140):
        text = "x" * lead + " " + secret + " " + "y" * 400
        assert "a1B2" not in sanitize(text, cap_bytes=220).value


def test_sanitising_what_was_cut_changes_nothing():
    text = "password is " * 50 + "hunter2xyz " + "AKIA" + "Q7ZK" * 9 + " end" * 50
    for cap_bytes in range(40, 300):
        once = sanitize(text, cap_bytes=cap_bytes).value
        assert sanitize(once, cap_bytes=cap_bytes).value == once
        assert len(once.encode()) <= cap_bytes


def test_tree_keeps_short_strings_whole_and_lets_long_ones_share():
    tree = {"path": "src/app.py", "old": "a" * 5000, "new": "b" * 5000, "n": 3}

    capped = cap_tree(tree, 2000)

    assert capped["path"] == "src/app.py"
    assert capped["n"] == 3
    assert 800 < len(capped["old"].encode()) == len(capped["new"].encode()) < 1000
    assert " bytes cut …]" in capped["old"]
    assert tree["old"] == "a" * 5000


def test_tree_that_fits_is_left_alone():
    tree = {"a": ["b", None, True, 1.5]}

    assert cap_tree(tree, 100) is tree


@pytest.mark.parametrize(
    "tree",
    [
        {"items": [f"item number {n}" for n in range(5000)]},
        {f"key {n}": n for n in range(5000)},
        [[[f"x{n}"] * 10] * 10 for n in range(100)],
        {"k" * 10_000: "v"},
        "x" * 50_000,
        [],
    ],
)
@pytest.mark.parametrize("cap_bytes", [256, 1000, 4096])
def test_tree_of_any_shape_fits_and_stays_when_cut_again(tree, cap_bytes):
    capped = cap_tree(tree, cap_bytes)

    assert len(json.dumps(capped, ensure_ascii=False, separators=(",", ":")).encode()) <= cap_bytes
    assert cap_tree(capped, cap_bytes) == capped
    assert type(capped) is type(tree) or isinstance(capped, str)


def test_first_and_last_of_many_entries_stay_around_a_mark():
    capped = cap_tree([f"line {n}" for n in range(10_000)], 4096)

    assert capped[0] == "line 0"
    assert capped[-1] == "line 9999"
    assert [item for item in capped if "entries cut" in item]
