"""Payloads and JSON values: every string and key, siblings that announce a secret, broken input of every kind."""

import json

import pytest

from aimemory.privacy import sanitize, sanitize_payload, sanitize_tree

TOKEN = "zq8f7d6a5b4c3e2f1a0b"


@pytest.mark.promise("P4.6")
@pytest.mark.parametrize(
    ("tree", "clean"),
    [
        ({"password": "hunter2xyz"}, {"password": "[redacted:password]"}),
        ({"db": {"userPassword": "correct-horse"}}, {"db": {"userPassword": "[redacted:password]"}}),
        ({"pwd": 123456}, {"pwd": "[redacted:password]"}),
        ({"api_key": TOKEN}, {"api_key": "[redacted:api-key]"}),
        ({"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Bearer [redacted:bearer-token]"}),
        ({"authorization": "Basic YWRtaW46aHVudGVyMg=="}, {"authorization": "Basic [redacted:authorization]"}),
        ({"headers": [{"name": "X-Api-Key", "value": TOKEN}]}, {"headers": [{"name": "X-Api-Key", "value": "[redacted:api-key]"}]}),
        ({"env": [{"key": "DB_PASSWORD", "value": "hunter2xyz"}]}, {"env": [{"key": "DB_PASSWORD", "value": "[redacted:password]"}]}),
        ([["X-Auth-Token", TOKEN], ["Accept", "text/html"]], [["X-Auth-Token", "[redacted:token]"], ["Accept", "text/html"]]),
        (["tool", "--password", "hunter2xyz", "-v"], ["tool", "--password", "[redacted:password]", "-v"]),
        ({"passwords": "x", "password": ["hunter2xyz", "hunter3xyz"]}, {"passwords": "x", "password": ["[redacted:password]"] * 2}),
        ({"kty": "oct", "k": 2 * TOKEN}, {"kty": "oct", "k": "[redacted:private-key]"}),
        ({"env": [f"API_TOKEN={TOKEN}"]}, {"env": ["API_TOKEN=[redacted:token]"]}),
    ],
)  # fmt: skip
def test_value_goes_where_a_sibling_announces_a_secret(tree, clean):
    assert sanitize_tree(tree).value == clean
    assert sanitize_tree(clean).value == clean


@pytest.mark.parametrize(
    "tree",
    [
        {"max_tokens": 4096, "token": None, "password": "", "secret": True},
        {"type": "object", "properties": {"password": {"type": "string", "description": "The password to use"}}},
        {"name": "password", "type": "text"},
        {"token": "${TOKEN}", "password": "<password>", "api_key": "{{ key }}"},
        {"key": "value", "keys": ["password", "username"]},
        {"next_page_token": "CAUQAA8f7d6a5b4c3e"},
        [["password", "username"], "x"],
    ],
)
def test_value_stays_where_nothing_is_announced_or_hidden(tree):
    assert sanitize_tree(tree).value == tree


def test_keys_are_sanitised_and_stay_apart():
    one, other = "ghp_" + "a1B2c3" * 6, "ghp_" + "d4E5f6" * 6

    clean = sanitize_tree({one: 1, other: 2}).value

    assert clean == {"[redacted:github-token]": 1, "[redacted:github-token] (2)": 2}
    assert sanitize_tree(clean).value == clean


def test_counts_say_what_was_redacted():
    clean = sanitize_tree({"a": "password=hunter2xyz", "b": ["<private>x</private>", "password=hunter3xyz"]})

    assert clean.counts == {"password": 2, "private": 1}


def test_result_shares_nothing_with_the_input():
    raw = {"list": ["a"]}

    clean = sanitize_tree(raw)
    raw["list"].append("password=hunter2xyz")

    assert clean.value == {"list": ["a"]}


@pytest.mark.parametrize("depth", [63, 64, 65, 500, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"k":', b"}")])
def test_any_depth_is_taken_and_cut(depth, opening, closing):
    clean = sanitize_payload(opening * depth + b'"password=hunter2xyz"' + closing * depth)

    text = json.dumps(clean.value, ensure_ascii=False)
    assert "hunter2" not in text
    assert ("deeper levels cut" in text) == (depth > 64)
    assert sanitize_payload(text.encode()).value == clean.value


def test_deep_python_value_is_cut_too():
    raw = "x"
    for _ in range(5000):
        raw = [raw]

    assert "deeper levels cut" in str(sanitize_tree(raw).value)


def test_tuples_and_numbers_as_keys_become_json():
    assert sanitize_tree((1, {2: ("a",), True: None})).value == [1, {"2": ["a"], "true": None}]


@pytest.mark.parametrize("raw", [{"a": b"bytes"}, [object()], {(1, 2): 3}])
def test_what_json_cannot_hold_is_refused_by_its_type(raw):
    with pytest.raises(TypeError, match=r"bytes|object|tuple"):
        sanitize_tree(raw)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"secret-canary",
        b'{"a": secret-canary}',
        b'{"a": 1} secret-canary',
        b'["secret-canary',
        b"[" * 9000,
        b"1" * 5000,
    ],
)
def test_what_is_no_json_is_refused_without_a_word_of_it(body):
    with pytest.raises(ValueError, match="not JSON") as caught:
        sanitize_payload(body)

    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in str(error)
        assert getattr(error, "doc", None) is None
        error = error.__cause__ or error.__context__


def test_byte_order_mark_bad_bytes_and_infinite_numbers_are_repaired():
    assert sanitize_payload(b'\xef\xbb\xbf{"a": "x\xff\xfey", "n": [NaN, Infinity, 1e999, 1.5]}').value == {
        "a": "x\ufffd\ufffdy",
        "n": [None, None, None, 1.5],
    }


@pytest.mark.promise("P4.7")
def test_escaped_halves_and_raw_character_give_the_same_text():
    escaped = sanitize_payload(rb'{"text": "\ud83c\udf78 cheers"}').value
    raw = sanitize_payload('{"text": "🍸 cheers"}'.encode()).value
    joined = sanitize_tree({"text": "\ud83c\udf78 cheers"}).value

    assert escaped == raw == joined == {"text": "🍸 cheers"}


@pytest.mark.promise("P4.7")
@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\ud83cb", "a\ufffdb"), ("\udf78", "\ufffd"), ("x\ud83c", "x\ufffd"), ("\udf78\ud83c", "\ufffd\ufffd"), ("a\x00b", "a\ufffdb"),
        ("HOME=/root\x00API_TOKEN=" + TOKEN + "\x00PWD=/", "HOME=/root\ufffdAPI_TOKEN=[redacted:token]\ufffdPWD=/"),
        ("p\x00a\x00s\x00s\x00w\x00o\x00r\x00d\x00=\x00h\x00u\x00n\x00t\x00e\x00r\x002\x00x\x00y\x00z\x00", "password=[redacted:password]"),
    ],
)  # fmt: skip
def test_lone_halves_and_nul_are_repaired_before_anything_is_looked_for(raw, clean):
    assert sanitize(raw).value == clean
    assert sanitize_tree({"k": [raw]}).value == {"k": [clean]}
    clean.encode()


def test_leaves_are_cut_after_they_are_scrubbed():
    secret = "ghp_" + "a1B2c3" * 6
    body = json.dumps({"output": "x" * 90 + secret + "y" * 300, "other": "short"}).encode()

    clean = sanitize_payload(body, leaf_cap_bytes=200).value

    assert "a1B2" not in clean["output"]
    assert len(clean["output"].encode()) <= 200
    assert clean["other"] == "short"


def test_turkish_capital_i_moves_no_redaction():
    assert sanitize("İİİİ password=hunter2xyz İ").value == "İİİİ password=[redacted:password] İ"
