"""What counts as text on standard input and in an editor's file."""

import pytest

from aimemory.cli.textin import decoded_text
from aimemory.errors import UserError

TEXT = "Grüße, 世界 🌍\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_read_by_its_mark_and_comes_without_it(encoding):
    assert decoded_text(TEXT.encode(encoding), "It can't be read") == TEXT


def test_a_big_endian_text_with_its_mark_is_read():
    assert decoded_text(b"\xfe\xff" + TEXT.encode("utf-16-be"), "It can't be read") == TEXT


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"caf\xe9", "byte 3 is no UTF-8"),
        ("plain".encode("utf-16-le"), "holds NUL"),
        (b"a\0b", "holds NUL"),
        (b"\xff\xfea\0b", "byte 4 is no UTF-16"),
        ("plain".encode("utf-32"), "UTF-32"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(raw, why):
    with pytest.raises(UserError, match=rf"^It can't be read: .*{why}"):
        decoded_text(raw, "It can't be read")
