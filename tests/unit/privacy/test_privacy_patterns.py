"""Walks the tables: every example must go, alone and embedded; every look-alike must stay byte for byte."""

import base64
import json
import re
from itertools import product
from urllib.parse import quote

import pytest

from aimemory.privacy import RuleSet, sanitize, sanitize_payload, sanitize_tree
from aimemory.privacy.assignment import leads, may_assign, may_name
from aimemory.privacy.commands import COMMANDS
from aimemory.privacy.contexts import CONTEXTS, FORMS
from aimemory.privacy.encoded import ENCODED
from aimemory.privacy.find import secret_spans
from aimemory.privacy.patterns import VENDORS
from aimemory.privacy.prefilter import ROWS, active, everything, lowered, narrowed
from aimemory.privacy.rules import DEFAULT
from aimemory.privacy.tools import TOOLS

TABLE = [(row[0], row.examples, row.lookalikes) for row in (*VENDORS, *CONTEXTS, *COMMANDS, *TOOLS, *FORMS, *ENCODED)]
NAMES = [f"{i}-{row[0]}" for i, row in enumerate(TABLE)]


def plain(example: str) -> str:
    return example.replace("«", "").replace("»", "")


def secrets(example: str) -> list[str]:
    return re.findall("«(.*?)»", example, re.DOTALL) or [example]


def test_tables_are_as_large_as_promised():
    assert len({row.kind for row in VENDORS}) >= 120
    assert len({row.kind for row in CONTEXTS}) + len(FORMS) >= 16


@pytest.mark.promise("P4.2")
@pytest.mark.parametrize(("examples", "lookalikes"), [row[1:] for row in TABLE], ids=NAMES)
def test_examples_go_and_lookalikes_stay(examples, lookalikes):
    for example in examples:
        text = plain(example)
        for form in (text, f"before {text} after\nnext line", f"line\n{text}\nline"):
            clean = sanitize(form).value
            assert "[redacted:" in clean
            assert not [secret for secret in secrets(example) if secret in clean], form
            assert sanitize(clean).value == clean
    for text in lookalikes:
        for form in (text, f"before {text} after\nnext line", f"{text}\n"):
            assert sanitize(form).value == form


@pytest.mark.parametrize("row", VENDORS, ids=[f"{i}-{row.kind}" for i, row in enumerate(VENDORS)])
def test_vendor_secret_goes_when_glued_to_something(row):
    for secret in row.examples:
        for before, after in (
            ("中", "文"),
            ("_", ""),
            ("\\n", "\\n"),
            ("\x1b[32m", "\x1b[0m"),
            ("=", "&x=1"),
            ("%3D", ""),
            ('"', '"'),
        ):
            clean = sanitize(before + secret + after).value
            assert secret not in clean, before
            assert clean.startswith(before)


@pytest.mark.parametrize("row", (*CONTEXTS, *COMMANDS, *TOOLS), ids=lambda row: row.kind)
def test_context_is_redacted_around_the_secret_only(row):
    for example in row.examples:
        parts = re.split("«.*?»", example, flags=re.DOTALL)
        pattern = r"\[redacted:[\w-]+\]".join(map(re.escape, parts))
        assert re.fullmatch(pattern, sanitize(plain(example)).value)


def test_secrets_go_from_every_place_of_a_payload():
    for row in VENDORS:
        for secret in row.examples:
            tree = {"a": [f"x {secret} y", {secret: 1}], "b": "nothing to see"}
            assert secret not in str(sanitize_tree(tree).value)


def test_prefilter_asks_for_every_row_that_matches():
    for i, row in enumerate(ROWS):
        for example in row.examples:
            for text in (plain(example), "x " * 300 + plain(example) + " y" * 300):
                assert i in active(text, DEFAULT).rows
                assert i in narrowed(text, active("z " + text, DEFAULT), DEFAULT).rows


def test_prefilter_passes_whatever_a_row_would_match():
    for text in [
        around.format(plain(example))
        for row in ROWS
        for example in row.examples
        for around in ("{}", "x{}y", "\\n{}", "中{}")
    ]:
        called = active(text, DEFAULT).rows
        for i, row in enumerate(ROWS):
            if i not in called:
                assert not [m for m in re.finditer(row.regex, text) if row.check is None or row.check(m)], (
                    row.kind,
                    text,
                )


ANNOUNCING = [
    "key", "my_Token", "password", "SECRET_KEY_BASE", "auth-2", "clave de la api", "contraseña", "kata sandi", "пароль", "密码", "senha", "passe",
    "key-value", "authorization_production_value", "api key", "wachtwoord", "adgangskode", "credentials", "chave da api", "clé d'api",
]  # fmt: skip
CLOSED = ["", "'", '"]', '\\"', "**", "&quot;"]
SIGNS = [
    "=", " = ", " := ", "::", ": ", " : ", " => ", "%3D", "：", " is ", " war: ", " for the db is ", " of x y z: ", " jest ", " equals ", '">', ">", "('",
    "', '", ", value: ", "\n  + value = ", "-value=", "value'=", "value::", " a1b2c3d4e5f6g7", " 是", "就是", " merge ", " invalid\n", "\n", " value ", " for ",
]  # fmt: skip
VALUES = ["", "x", "a1B2", "12345678901234", "'", "\n", " "]


def test_first_look_at_names_misses_none_that_leads_to_a_value():
    for parts in product(("", "x_", "the "), ANNOUNCING, CLOSED, SIGNS, VALUES):
        low = lowered("".join(parts))
        found = {lead.lastgroup for lead in leads(low, 0)}
        assert may_assign(low) or found <= {"end"}, low
        assert may_assign(low) or may_name(low) or not found, low


def test_first_look_at_names_spares_most_sentences_about_them():
    for text in (
        "the token merged\n",
        "a key of the map",
        "tokens and keys",
        "parser token index",
        "pass the key on",
    ):
        assert not may_assign(text), text


def test_long_secret_goes_whole_over_many_windows():
    for secret in (
        "github_pat_" + "a1B2c3_" * 2000,
        "eyJ" + "hbGci" * 900 + ".eyJ" + "a1B2" * 900 + ".x1",
        "password=" + "a1!" * 2000,
    ):
        text = f"before {secret} after"
        spans = secret_spans(text, DEFAULT, everything(DEFAULT), window=100)

        assert spans == secret_spans(text, DEFAULT, everything(DEFAULT), window=len(text))
        assert [text[span.end :] for span in spans] == [" after"]


def test_what_a_row_has_read_in_one_window_it_does_not_read_again_in_the_next():
    text = "Bearer " + "bearer" * 5 + "+zq8f7d6a5b4c3e2f1a0b"
    called = everything(DEFAULT)

    for window in range(1, len(text)):
        assert secret_spans(text, DEFAULT, called, window) == secret_spans(text, DEFAULT, called, len(text))


def test_placeholders_and_marks_call_for_nothing_more():
    for row in (*VENDORS, *CONTEXTS, *COMMANDS, *TOOLS):
        text = f"[redacted:{row.kind}]=[redacted:{row.kind}]: hunter2xyz [… 12,345 bytes cut …]"
        assert sanitize(text).value == text


def test_kinds_that_are_not_wanted_stay():
    secret = VENDORS[1].examples[0]

    assert sanitize(secret, RuleSet(frozenset({"jwt"}))).value == secret
    assert sanitize(secret, RuleSet(frozenset({"github-token"}))).value == "[redacted:github-token]"


def test_vendor_names_what_context_finds_too():
    secret = VENDORS[1].examples[0]

    assert sanitize(f"GITHUB_TOKEN={secret}").value == "GITHUB_TOKEN=[redacted:github-token]"


def test_placeholder_holds_nothing_of_the_secret():
    one, other = sanitize("password=hunter2xyz"), sanitize("password=hunter3abc")

    assert one.value == other.value == "password=[redacted:password]"


BODY = "\n".join("MIIEvQ" + "IBADANBgkqhkiG9w0BAQEFAASC" * 2 for _ in range(6))


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("join", ["\n", "\\n", "\r\n", '\\n" +\n  "', "\n+", "\n    "])
def test_private_key_goes_however_its_lines_are_joined(label, join):
    begin, end = f"-----BEGIN {label}PRIVATE KEY-----", f"-----END {label}PRIVATE KEY-----"
    text = "before " + join.join([begin, *BODY.split("\n"), end]) + " after"

    assert sanitize(text).value == "before [redacted:private-key] after"


def test_private_key_goes_when_either_end_is_cut_away():
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"

    assert sanitize(f"cat key\n{begin}\n{BODY}").value == "cat key\n[redacted:private-key]"
    assert "MIIE" not in sanitize(f"tail key\n{BODY}\n{end}\ndone").value
    assert sanitize(f"tail key\n{BODY}\n{end}\ndone").value.endswith("[redacted:private-key]\ndone")


def test_private_key_goes_from_numbered_lines_and_behind_its_headers():
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    lines = [begin, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123", "", *BODY.split("\n"), end]

    assert "MIIE" not in sanitize("\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 1))).value
    assert sanitize("\n".join(lines)).value == "[redacted:private-key]"


def test_names_of_armour_and_certificates_stay():
    for text in (
        'if "-----BEGIN PRIVATE KEY-----" in text:\n    raise ValueError("no keys here, please")\n',
        'BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"\n',
        f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n",
        f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----\n",
    ):
        assert sanitize(text).value == text


def test_key_behind_escapes_in_a_json_payload_goes():
    body = (
        b'{"output": "-----BEGIN PRIVATE KEY-----\\n'
        + BODY.replace("\n", "\\n").encode()
        + b'\\n-----END PRIVATE KEY-----\\n"}'
    )

    assert sanitize_payload(body).value == {"output": "[redacted:private-key]\n"}


TOKEN = "ghp_" + "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq7Zk2"
ENV = f"DB_HOST=db\nDB_PASSWORD=hunter2xyz\nGITHUB_TOKEN={TOKEN}\nDEBUG=1\nLOG_LEVEL=info\nPORT=8080\n"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def wrapped(text: str, join: str) -> str:
    return join.join(re.findall(".{1,76}", b64(text)))


@pytest.mark.promise("P4.120")
@pytest.mark.parametrize("encode", [
    b64, lambda text: b64(b64(text)), lambda text: b64(json.dumps({"auths": {"x": {"auth": b64(f"me:{text}")}}})), lambda text: b64(f"x{text}"), lambda text: b64(f"xy{text}"),
    lambda text: text.encode().hex(), lambda text: text.encode().hex().upper(), lambda text: b64(text).encode().hex(), lambda text: "".join(f"%{c:02x}" for c in text.encode()), lambda text: quote(b64(text + "??>>")),
    lambda text: "".join(f"\\u{ord(c):04x}" for c in text), lambda text: "".join(f"\\\\x{ord(c):02X}" for c in text), lambda text: "".join(f"&#{ord(c)};" for c in text), lambda text: "".join(f"\\u{{{ord(c):x}}}" for c in text),
])  # fmt: skip
def test_a_secret_behind_an_encoding_goes(encode):
    text = encode(TOKEN)
    for form in (text, f"before {text} after\nnext", f"line\n{text}\nline", f'x="{text}"', f"?q={text}&x=1"):
        clean = sanitize(form).value
        assert text not in clean and "[redacted:" in clean, form
        assert sanitize(clean).value == clean
    assert text not in str(sanitize_tree({"a": [text], text: 1}).value)


@pytest.mark.promise("P4.120")
@pytest.mark.parametrize("join", ["\n", "\r\n", "\\n", "\n    ", "\n+"])
def test_wrapped_base64_of_a_file_with_secrets_goes_whole(join):
    clean = sanitize(f"data:\n{wrapped(ENV, join)}\nkind: Secret\n").value

    assert re.fullmatch(r"data:\n\[redacted:[\w-]+\]\nkind: Secret\n", clean)


@pytest.mark.promise("P4.120")
def test_of_escaped_text_the_secret_alone_goes():
    assert sanitize("dsn=postgres%3A%2F%2Fapp%3Ahunter2xyz%40db%3A5432").value == "dsn=postgres%3A%2F%2Fapp%3A[redacted:url-password]%40db%3A5432"  # fmt: skip


@pytest.mark.promise("P4.120")
def test_encoded_text_without_a_secret_stays():
    for text in ("just some words that mean nothing at all", json.dumps({"alg": "RS256", "typ": "JWT"}), "select * from users where id = 1"):  # fmt: skip
        for form in (b64(text), text.encode().hex(), quote(text), "".join(f"\\u{ord(c):04x}" for c in text)):
            assert sanitize(form).value == form


@pytest.mark.parametrize(
    "lead", ["mein Passwort: ", "mot de passe : ", "Thanks. My password: ", "la clave de la base: "]
)
def test_password_at_the_end_of_a_sentence_of_words_goes(lead):
    for secret in ("Kestrel#2024", "Xk9mQ2vL7pR4"):
        assert sanitize(f"Hello\n{lead}{secret}\n").value == f"Hello\n{lead}[redacted:password]\n"
    for text in (f"{lead}required\n", f"{lead}Base64String\n", f"{lead}see the wiki\n"):
        assert sanitize(text).value == text


@pytest.mark.promise("P4.10")
def test_secret_glued_to_another_goes_with_it():
    clean = sanitize("shpat_" + "4f9a1c7e2b8d0365" * 2 + "AKIA" + "Q7ZK2XW4VB5LM3RT").value

    assert clean == "[redacted:shopify-token][redacted:aws-access-key]"
    assert sanitize(clean).value == clean
