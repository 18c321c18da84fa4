"""`<private>`: what lies between the tags is gone, however they are written, nested, cut or left open."""

import pytest

from aimemory.privacy import sanitize, sanitize_payload

GONE = "[redacted:private]"


@pytest.mark.promise("P4.4")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", f"a {GONE} b"),
        ("a <PRIVATE>x</Private> b", f"a {GONE} b"),
        ("a <private>x <private>y</private> z</private> b", f"a {GONE} b"),
        ("a <private>x</private> b <private>y</private> c", f"a {GONE} b {GONE} c"),
        ("a <private reason='mine' level=2>x</private> b", f"a {GONE} b"),
        ("a <private\n>x</private\n> b", f"a {GONE} b"),
        ("a <private>x", f"a {GONE}"),
        ("a <private>x <private>y</private> z", f"a {GONE}"),
        ("a <private>x</priv", f"a {GONE}"),
        ("a <private>x</private", f"a {GONE}"),
        ("a <private", f"a {GONE}"),
        ("rivate>x</private> b", f"{GONE} b"),
        ("x</private> b <private>y</private>", f"{GONE} b {GONE}"),
        ("a &lt;private&gt;x&lt;/private&gt; b", f"a {GONE} b"),
        (r"a \u003cprivate\u003ex\u003c/private\u003e b", f"a {GONE} b"),
        (r"a <private>x<\/private> b", f"a {GONE} b"),
        ("a <private>" + "ghp_" + "a1" * 20 + "</private> b", f"a {GONE} b"),
    ],
)
def test_private_parts_go(text, left):
    assert sanitize(text).value == left
    assert sanitize(left).value == left


@pytest.mark.parametrize(
    "text",
    [
        "a private matter",
        "if a <private_key:",
        "if x < private and y:",
        "class A : private B {",
        "</privateer>",
        "<privately>",
        "a / private",
    ],
)
def test_the_word_alone_stays(text):
    assert sanitize(text).value == text


def test_tags_end_with_the_string_they_stand_in():
    body = b'{"prompt": "do this <private>x", "cwd": "/home/dev", "list": ["<private>y</private>", "z"], "<private>k</private>": 1}'

    assert sanitize_payload(body).value == {
        "prompt": f"do this {GONE}",
        "cwd": "/home/dev",
        "list": [GONE, "z"],
        GONE: 1,
    }
