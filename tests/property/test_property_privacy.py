"""After any mixture of text, secrets, tags and cuts: the same in windows as in one piece, the same when done again."""

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aimemory.privacy import cap_text, cap_tree, sanitize, sanitize_payload, sanitize_tree
from aimemory.privacy.assignment import leads, may_name
from aimemory.privacy.commands import COMMANDS
from aimemory.privacy.contexts import CONTEXTS, FORMS
from aimemory.privacy.find import WINDOW, private_spans, secret_spans
from aimemory.privacy.patterns import VENDORS
from aimemory.privacy.prefilter import ROWS, active, everything, lowered
from aimemory.privacy.rules import DEFAULT
from aimemory.privacy.scrub import ONE_PIECE, repair

KEY = "\n".join(
    ["-----BEGIN PRIVATE KEY-----", *["MIIEvQ" + "IBADANBgkqhkiG9w0BAQ" * 2] * 3, "-----END PRIVATE KEY-----"]
)
VENDOR_EXAMPLES = [example for row in VENDORS for example in row.examples]
EXAMPLES = [
    *VENDOR_EXAMPLES,
    *(example.replace("«", "").replace("»", "") for row in (*CONTEXTS, *COMMANDS, *FORMS) for example in row.examples),
    *(text for row in (*VENDORS, *CONTEXTS, *COMMANDS, *FORMS) for text in row.lookalikes),
    KEY, KEY.replace("\n", "\\n"), "<private>mine</private>", "<private>", "</private>", "&lt;PRIVATE x=1&gt;", "[… 1,234 bytes cut …]", "[redacted:jwt]",
    "password", "token", "=", ": ", '"', "'", "\\n", "Bearer ", "://", "@", "-----", "eyJ", "sk-", "key", "İ", "密码", "\x00", "\ud83c", "🍸", "-p", " --",
]  # fmt: skip
FILLER = st.sampled_from(["", " ", "\n", "x", "_", "-", ".", "ab ", "lorem ipsum ", "0", "文", ", ", "; "])


@st.composite
def pieces(draw, most=8):
    """Examples, whole or cut, and filler in any order."""
    parts = []
    for _ in range(draw(st.integers(0, most))):
        example = draw(st.sampled_from(EXAMPLES))
        if draw(st.booleans()) and len(example) > 2:
            example = example[: draw(st.integers(1, len(example)))][draw(st.integers(0, 3)) :]
        parts += [draw(FILLER) * draw(st.integers(0, 12)), example]
    return "".join(parts)


TREES = st.recursive(
    st.one_of(
        pieces(3), st.none(), st.booleans(), st.integers(-5, 99999), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.one_of(pieces(1), st.sampled_from(["password", "token", "name", "value", "Authorization"])),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
RELAXED = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.promise("P4.9")
@RELAXED
@given(pieces(), st.integers(1, 200))
def test_windows_of_any_size_find_what_one_piece_finds(text, window):
    text = sanitize(text).derive(lambda _: text.replace("\x00", "").encode("utf-8", "ignore").decode()).value
    called = active(text, DEFAULT)
    whole = max(len(text), 1)

    assert secret_spans(text, DEFAULT, called, window) == secret_spans(text, DEFAULT, called, whole)
    assert private_spans(text, window) == private_spans(text, whole)


@RELAXED
@given(pieces(4))
def test_the_first_look_misses_nothing(text):
    text = repair(text)
    low, called = lowered(text), active(text, DEFAULT)

    if any(lead.lastgroup != "end" for lead in leads(low, 0)):
        assert called.assigned
    if any(lead.lastgroup == "end" for lead in leads(low, 0)):
        assert called.assigned or may_name(low)
    for i, row in enumerate(ROWS):
        where = low if row.scope == "low" else text
        if row.scope != "run" and any(literal in where for literal in row.literals):
            assert i in called.rows or (row.hint and re.search(row.hint, where) is None), row
        elif row.scope == "run" and any(literal in text for literal in row.literals):
            found = (m for m in re.finditer(row.regex, text) if row.check is None or row.check(m))
            assert i in called.rows or next(found, None) is None, row


@pytest.mark.promise("P4.9")
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-1100, 80), pieces(2)), min_size=1, max_size=4),
    st.sampled_from(["lorem ipsum ", "x", "0a", "- ", "\n"]),
)
def test_large_text_with_secrets_at_the_seams_is_clean_as_in_one_piece(planted, filler):
    text = filler * ((ONE_PIECE + WINDOW) // len(filler))
    for seam, offset, piece in planted:
        at = seam * WINDOW + offset
        piece = piece.replace("\x00", "").encode("utf-8", "ignore").decode()
        text = text[:at] + piece + text[at + len(piece) :]
    called = everything(DEFAULT)

    assert secret_spans(text, DEFAULT, called) == secret_spans(text, DEFAULT, active(text, DEFAULT), len(text))
    assert private_spans(text) == private_spans(text, len(text))


@RELAXED
@given(pieces(), st.one_of(st.none(), st.integers(40, 400)))
def test_sanitising_again_changes_nothing(text, cap_bytes):
    once = sanitize(text, cap_bytes=cap_bytes).value

    assert sanitize(once, cap_bytes=cap_bytes).value == once
    assert cap_bytes is None or len(once.encode()) <= cap_bytes


@pytest.mark.promise("P4.10")
@RELAXED
@given(TREES, st.sampled_from([60, 100, 300, 65536]))
def test_payload_sanitised_again_stays_the_same(tree, leaf_cap_bytes):
    body = json.dumps(tree).encode()

    once = sanitize_payload(body, leaf_cap_bytes=leaf_cap_bytes).value
    again = sanitize_payload(json.dumps(once).encode(), leaf_cap_bytes=leaf_cap_bytes).value

    assert again == once
    assert sanitize_tree(once, leaf_cap_bytes=leaf_cap_bytes).value == once
    json.dumps(once, ensure_ascii=False).encode()


@RELAXED
@given(pieces(4), st.sampled_from(VENDOR_EXAMPLES), pieces(4))
def test_no_vendor_secret_survives_between_anything(before, secret, after):
    assume(secret not in before + after)  # glued to a letter it may stay

    assert secret not in sanitize(f"{before} {secret} {after}").value
    assert secret not in str(sanitize_tree({"a": [before, f"{secret}\n{after}"]}).value)


@RELAXED
@given(st.text(st.characters(), max_size=200), st.integers(0, 300))
def test_any_text_comes_out_as_utf8_within_the_limit(text, cap_bytes):
    assert len(sanitize(text, cap_bytes=cap_bytes).value.encode()) <= cap_bytes
    assert len(cap_text(text, cap_bytes).encode("utf-8", "surrogatepass")) <= cap_bytes
    assert cap_text(cap_text(text, cap_bytes), cap_bytes) == cap_text(text, cap_bytes)


@RELAXED
@given(TREES, st.integers(64, 2000))
def test_any_tree_is_cut_to_its_limit_and_stays(tree, cap_bytes):
    capped = cap_tree(tree, cap_bytes)

    assert cap_tree(capped, cap_bytes) == capped
    json.dumps(capped)
