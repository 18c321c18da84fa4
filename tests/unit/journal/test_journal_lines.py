"""The journal line: what is written is what is read, and damage is seen."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aimemory.journal.lines import BadLine, decode, encode, encode_data

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.integers(1, 2**60), st.integers(0, 2**62), st.dictionaries(texts, values, max_size=5))
def test_every_line_reads_back_as_it_was_written(seq, at, data):
    line = decode(encode(seq, "observation", at, encode_data(data)))

    assert (line.seq, line.type, line.at_ns, line.data) == (seq, "observation", at, data)


def test_a_line_is_one_json_object_with_readable_characters():
    raw = encode(1, "observation", 5, encode_data({"prompt": "导出 PDF"}))

    assert raw.endswith(b"\n")
    assert "导出" in raw.decode()
    assert json.loads(raw)["data"] == {"prompt": "导出 PDF"}


def test_content_that_looks_like_a_checksum_is_still_content():
    data = {"x": '","crc":"00000000"}'}

    assert decode(encode(1, "a", 0, encode_data(data))).data == data


@pytest.mark.promise("P2.3")
def test_every_flipped_byte_is_noticed():
    raw = encode(7, "observation", 5, encode_data({"prompt": "add a pdf export"}))

    for position in range(len(raw) - 1):
        damaged = raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
        with pytest.raises(BadLine):
            decode(damaged)


@pytest.mark.parametrize("raw", [b"", b"\n", b"null\n", b"42", b"[]", b"{}", b'{"seq":1}', b"\x00" * 64])
def test_what_is_not_a_line_is_refused(raw):
    with pytest.raises(BadLine):
        decode(raw)


def test_a_cut_line_is_refused_wherever_it_is_cut():
    raw = encode(7, "observation", 5, encode_data({"prompt": "add a pdf export"}))

    for length in range(len(raw) - 1):
        with pytest.raises(BadLine):
            decode(raw[:length])
