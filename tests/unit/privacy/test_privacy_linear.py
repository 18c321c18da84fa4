"""No text makes a pattern slow: a megabyte made for it costs a bounded multiple of one plain pass, in the same run."""

import re
import time

import pytest
from bounded import is_done_within

from aimemory.privacy import pem
from aimemory.privacy.assignment import assigned
from aimemory.privacy.find import private_spans
from aimemory.privacy.patterns import Row
from aimemory.privacy.prefilter import ROWS, active, lowered
from aimemory.privacy.rules import DEFAULT

MEGABYTE = 1 << 20
SIZE = MEGABYTE // 4
"""What each row gets of its text; a cost that grows with the square shows at this size as well."""
PASSES_OF_A_PATTERN = 25
"""The slowest row takes about 5; one that is quadratic takes thousands."""
PASSES_OF_JUDGING = 600
"""A text that is nothing but names and signs asks for a judgement at every few characters; the slowest takes about 120."""


@pytest.fixture(scope="module")
def pass_s():
    """Seconds for one plain pass over a megabyte of prose."""
    text = repeated("the quick brown fox jumps over 12 lazy dogs. ", MEGABYTE)
    return min(timed(lambda: sum(1 for _ in re.finditer(r"\w+", text))) for _ in range(3))


def repeated(seed: str, size: int) -> str:
    return (seed * (size // len(seed) + 1))[:size]


def timed(work) -> float:
    start = time.process_time()  # others on the machine don't count
    work()
    return time.process_time() - start


def run(row: Row, text: str) -> None:
    for m in re.finditer(row.regex, text):
        if row.check is not None:
            row.check(m)


@pytest.mark.promise("P4.12")
@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row.kind}" for i, row in enumerate(ROWS)])
def test_row_is_linear_on_text_made_for_it(row, pass_s):
    example = row.examples[0].replace("«", "").replace("»", "")

    for seed in (*row.literals[:2], example[:-1], example[: len(example) // 2], example[:1]):
        assert is_done_within(PASSES_OF_A_PATTERN * pass_s / 4, lambda seed=seed: run(row, repeated(seed, SIZE))), seed


@pytest.mark.parametrize(
    "seed",
    [
        "password=", "token: ", "key=", '"password":"', "password for a b c d e ", "secret='", "password is ", "密码是", "token=//a", "pw=(", "api_key = ",
        "/v1?token=zq8f7d6a5b4c3e2f1a0b ", "a" * 40 + "key=" + "b1" * 20,
    ],
)  # fmt: skip
def test_assignments_are_linear_on_text_made_for_them(seed, pass_s):
    size = MEGABYTE // 16
    text = repeated(seed, size)

    assert is_done_within(PASSES_OF_JUDGING * pass_s / 16, lambda: assigned(text, lowered(text), 0, 0, size))


@pytest.mark.parametrize(
    "seed",
    [
        "token ", "key for a b c d e ", "key" + " " * 50, "keykey", "key_value_", "key " + "a" * 24, "clave ", "пароль ", "-" * 50, "= ", "-b", " -p",
        "password", "secret", ":aa", "ghp_" * 4, "AKIA" * 4, "a" * 16 + " ", "a_" * 8 + " ", "Z" * 24 + ".", "\\", "://", "&%~",
    ],
)  # fmt: skip
def test_the_first_look_is_linear_on_text_made_for_it(seed, pass_s):
    text = repeated(seed, MEGABYTE // 16)
    active(text, DEFAULT)  # what is compiled at the first use is compiled

    assert is_done_within(4 * PASSES_OF_A_PATTERN * pass_s / 16, lambda: active(text, DEFAULT))


@pytest.mark.parametrize(
    "seed",
    [
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "-",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
        "A" * 64 + "\n-----END PRIVATE KEY-----\n",
        "\\n-----BEGIN",
    ],
)
def test_keys_are_linear_on_text_made_for_them(seed, pass_s):
    text = repeated(seed, MEGABYTE)

    assert is_done_within(PASSES_OF_A_PATTERN * pass_s, lambda: pem.keys(text, 0, MEGABYTE))


@pytest.mark.parametrize("seed", ["<private>", "</private>", "<private", "<", "&lt;private ", "</   "])
def test_tags_are_linear_on_text_made_for_them(seed, pass_s):
    text = repeated(seed, MEGABYTE)

    assert is_done_within(PASSES_OF_A_PATTERN * pass_s, lambda: private_spans(text))
