# ruff: noqa: E501 -- one row of the table, one line
"""The table of encodings behind which a secret can stand: base64, hexadecimal, percent-encoding, escapes, entities.

A row's pattern finds a run that decodes to text; `find.py` looks for secrets in what it decodes to, and only then is
something redacted. That a run decodes to text at all is rare enough for that to cost nothing: of a random digest's
quadruples one in twelve could be text.
"""

import base64
import binascii
import re

from aimemory.privacy.patterns import Decoded, Row, edge

_QUAD = r"[I-Za-f][ACDEFGHQSTUVWXgijklmnwyz0123][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9]"
"""Four characters of base64 that stand for three of text."""
_LEAD = r" (?=[A-Za-z0-9]{20})(?:[nrt]|[0-9A-Fa-f]{2}|[0-9]{0,2}m)?"
_NEXT_LINE = r"(?:\\n|\r?\n)[ \t+]{0,16}"
_ESCAPE = r"\\\\{0,7}+(?:u00|u\{|x)[2-7][0-9A-Fa-f]\}?"
_ENTITY = r"&#(?:x[2-7][0-9A-Fa-f]|[3-9][0-9]|1[0-2][0-9]);"
_PERCENT = r"%[2-7][0-9A-Fa-f]"
_PIECE = r"\\{1,8}+(?:u00|u\{|x)([0-9A-Fa-f]{2})\}?|&#x([0-9A-Fa-f]{2});|&#([0-9]{2,3});|%([0-9A-Fa-f]{2})"
_LEAST = 12
"""Fewer characters of text hold no secret that could be told from anything else."""


def _text_of(raw: bytes) -> str | None:
    """The text, or None for what holds control characters or is no UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if len(text) < _LEAST or any((c < " " and c not in "\t\r\n") or c == "\x7f" for c in text):
        return None
    return text


def from_base64(m: "re.Match[str]") -> Decoded | None:
    """What a run of base64 stands for. Cut off in a quadruple it is read up to there."""
    run = re.sub(_NEXT_LINE, "", m[0]).replace("-", "+").replace("_", "/").rstrip("=")
    run = run[: len(run) - 1] if len(run) % 4 == 1 else run
    try:
        text = _text_of(base64.b64decode(run + "=" * (-len(run) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None
    return None if text is None else Decoded(text, None)


def from_hex(m: "re.Match[str]") -> Decoded | None:
    run = m[0].removeprefix("0x")
    text = _text_of(bytes.fromhex(run[: len(run) // 2 * 2]))
    return None if text is None else Decoded(text, None)


def from_escapes(m: "re.Match[str]") -> Decoded | None:
    """Text with its escapes replaced, and where in the run each character of it begins."""
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for piece in re.finditer(_PIECE, m[0]):
        parts.append(m[0][at : piece.start()])
        starts.extend(range(at, piece.start()))
        code = int(piece[3]) if piece[3] else int(piece[1] or piece[2] or piece[4], 16)
        parts.append(chr(code))
        starts.append(piece.start())
        at = piece.end()
    parts.append(m[0][at:])
    starts.extend(range(at, len(m[0]) + 1))
    return Decoded("".join(parts), starts)


def _example(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_SECRET = "ghp_" + "q7Zk2Xw9Vb4Lm8Rt1Yp6Ns3Hd5Jf0Gcq7Zk2"

ENCODED: tuple[Row, ...] = (
    Row("base64", (), edge(0) + rf"(?:{_QUAD}){{5}}[A-Za-z0-9+/_-]*+={{0,2}}(?>(?:{_NEXT_LINE}[A-Za-z0-9+/]{{60,}}+={{0,2}})*)(?:{_NEXT_LINE}[A-Za-z0-9+/]{{2,76}}={{1,2}})?",
        (_example(_SECRET), _example("DB_PASSWORD=hunter2xyz\nDEBUG=1\n"), _example("postgres://app:hunter2xyz@db.example.com/app")),
        (_example("just some words without any meaning"), _example('{"alg": "none", "typ": "JWT"}'), "TheNameOfAFunctionThatIsLong" * 2),
        hint=rf"{_LEAD}(?:{_QUAD}){{5}}", decode=from_base64),
    Row("hex", (), edge(0) + r"(?:0x)?(?:[2-7][0-9A-Fa-f]){16}(?>(?:[0-9A-Fa-f]{2})*)(?![0-9A-Za-z])",
        (_SECRET.encode().hex(), "0x" + _SECRET.encode().hex(), b"password=hunter2xyz".hex()), (b"just some words without any meaning".hex(), "4f4a" * 16),
        hint=rf"{_LEAD}(?:0x)?(?:[2-7][0-9A-Fa-f]){{16}}", decode=from_hex),
    Row("percent-encoded", ("%",), rf"(?:{_PERCENT}[\w.~*+-]{{0,64}}){{3}}(?>(?:%[0-9A-Fa-f]{{2}}|[\w.~*+-])*)",
        ("".join(f"%{c:02X}" for c in _SECRET.encode()), "postgres%3A%2F%2Fapp%3A«hunter2xyz»%40db.example.com%3A5432%2Fapp", "%7B%22password%22%3A%20%22«hunter2xyz»%22%7D"),
        ("%E4%B8%AD%E6%96%87", "a%20b%20c%20d", "%7B%22user%22%3A%20%22anna%22%7D"), scope="low", hint=rf"{_PERCENT}[\w.~*+-]{{0,64}}+{_PERCENT}[\w.~*+-]{{0,64}}+{_PERCENT}", decode=from_escapes),
    Row("escaped", ("\\",), rf"{_ESCAPE}(?:[\w.~*+-]{{0,2}}+{_ESCAPE}){{7}}(?>(?:{_ESCAPE}|[\w.~*+-])*)",
        ("".join(f"\\u{ord(c):04x}" for c in _SECRET), "".join(f"\\x{ord(c):02x}" for c in _SECRET), "".join(f"\\\\u{ord(c):04x}" for c in _SECRET)),
        ("\\x41\\x42\\x43\\x44\\x45\\x46\\x47\\x48\\x49", "\\u0041\\u0042"), scope="low", hint=rf"{_ESCAPE}[\w.~*+-]{{0,2}}+{_ESCAPE}[\w.~*+-]{{0,2}}+{_ESCAPE}", decode=from_escapes),
    Row("entities", ("&",), rf"{_ENTITY}(?:[\w.~*+-]{{0,2}}+{_ENTITY}){{7}}(?>(?:{_ENTITY}|[\w.~*+-])*)", ("".join(f"&#{ord(c)};" for c in _SECRET), "".join(f"&#x{ord(c):02x};" for c in _SECRET)),
        ("&#65;&#66;", "&#65;" * 12), scope="low", hint=rf"{_ENTITY}[\w.~*+-]{{0,2}}+{_ENTITY}[\w.~*+-]{{0,2}}+{_ENTITY}", decode=from_escapes),
)  # fmt: skip
