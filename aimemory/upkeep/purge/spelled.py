"""One text in every way in which files may spell it: composed or not, escaped, encoded for an address, wrapped.

A text that is to be forgotten stands in a tool's output as JSON in JSON, in front matter between quotes, in a mail
behind `>`. What it shall be found by is one pattern, for text and for bytes; it is tried only where the longest plain
part of the text stands, which no spelling changes.
"""

import base64
import re
import unicodedata
from collections.abc import Iterator
from html.entities import codepoint2name

LONGEST_BYTES = 1 << 16
"""How long a spelling can be that is still found where a file is read in pieces."""

_ESC = r"\\{1,16}"
_GAP = "(?:\u00a0|" r"[ \t\r\n\f\v]|\\{1,16}[nrtfv]|%20|%0[AaDd9]|&nbsp;|&#(?:10|13|32|160);|(?<=\n)>|(?<=\\n)>){1,64}"
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_LOOSE_CHARS = 6
"""So many letters and digits a text needs to be looked for without its capitals: shorter ones are parts of others."""
_BASE64_LEAST = 7
_PIECE_BYTES = 8 << 20
_PLACEHOLDER = r"\[redacted:[\w.-]{1,64}\]"


class Spelled:
    """Finds a text; what already is a placeholder of ours is never taken for it."""

    def __init__(self, text: str) -> None:
        composed = unicodedata.normalize("NFC", text)
        pattern = "|".join(_pattern(one) for one in dict.fromkeys((composed, text)))
        self._rare = max(_PLAIN.findall(composed), key=len, default="")
        self._rare_bytes = self._rare.encode()
        pattern = rf"(?P<kept>{_PLACEHOLDER})|{pattern}"
        self._in_text = re.compile(pattern)
        self._in_bytes = re.compile(pattern.encode("utf-8", "surrogatepass"))

    def replaced(self, text: str, new: str) -> str:
        """The text with `new` in each such place."""
        if self._rare not in text:
            return text
        return self._in_text.sub(lambda m: m[0] if m["kept"] is not None else new, text)

    def replaced_raw(self, raw: bytes, new: bytes) -> bytes:
        """The same in bytes."""
        if self._rare_bytes not in raw:
            return raw
        return self._in_bytes.sub(lambda m: m[0] if m["kept"] is not None else new, raw)

    def is_in(self, raw: bytes) -> bool:
        """Whether it stands in these bytes."""
        if self._rare_bytes not in raw:
            return False
        return any(m["kept"] is None for m in self._in_bytes.finditer(raw))


class Disguised:
    """Finds a text in forms that are not taken out: in other capitals, its words joined otherwise (`ProjectFalcon`,
    `project_falcon`), as UTF-16, behind base64. Call `where` for what `Spelled` does not find."""

    def __init__(self, text: str) -> None:
        composed = unicodedata.normalize("NFC", text)
        words = re.findall(r"[^\W_]+", composed)
        joined = r"(?:[\W_]|%20|\\[nrt]){0,3}".join(map(re.escape, words))
        self._text = text
        self._longest = max(words, key=len, default="")
        self._loose = re.compile(joined, re.IGNORECASE) if sum(map(len, words)) >= _LOOSE_CHARS else None
        self._raw = tuple(dict.fromkeys([
            *(form.encode(code, "surrogatepass") for code in ("utf-16-le", "utf-16-be") for form in (text, composed)),
            *_in_base64(text.encode("utf-8", "surrogatepass")),
        ]))  # fmt: skip

    def where(self, raw: bytes) -> bool:
        """Whether it stands in these bytes in such a form."""
        if any(form in raw for form in self._raw):
            return True
        if self._loose is None:
            return False
        return any(_is_loose(self._loose, piece) for piece in _texts(raw))


def _is_loose(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def _texts(raw: bytes) -> Iterator[str]:
    for at in range(0, len(raw), _PIECE_BYTES):
        yield raw[at : at + _PIECE_BYTES + LONGEST_BYTES].decode("utf-8", "ignore")


def _in_base64(raw: bytes) -> list[bytes]:
    """The part of its base64 that doesn't depend on what stands around it, at each of the three places it may begin."""
    found = []
    for lead in range(3):
        code = base64.b64encode(b"\0" * lead + raw).rstrip(b"=")
        first = -(-lead * 8 // 6)
        sure = code[first : (lead + len(raw)) * 8 // 6]
        if len(sure) >= _BASE64_LEAST:
            found += [sure, sure.replace(b"+", b"-").replace(b"/", b"_")]
    return found


def _pattern(text: str) -> str:
    """Each sign in all its spellings; white space matches any other, as text is wrapped and put on one line."""
    parts = []
    for piece in re.findall(r"\s+|\\+|.", text, re.DOTALL):
        if piece.isspace():
            parts.append(_GAP)
        elif piece[0] == "\\":
            count = len(piece)
            parts.append(rf"(?:\\{{{count},{16 * count}}}|(?:%5[cC]){{{count}}}|(?:&#92;){{{count}}})")
        elif _PLAIN.fullmatch(piece):
            parts.append(piece)
        else:
            parts.append("(?:" + "|".join(_spellings(piece)) + ")")
    return "".join(parts)


def _spellings(char: str) -> list[str]:
    code = ord(char)
    units = [f"{unit:04x}" for unit in _utf16(char)]
    found = [re.escape(char)]
    if char.isascii():
        found = [rf"\\{{0,16}}{re.escape(char)}"]
        if char == "'":
            found.append("''")
    elif (parts := unicodedata.normalize("NFD", char)) != char:
        found.append("".join(_any(_spelled_alone(one)) for one in parts))
    found.append("".join(rf"{_ESC}u{_any_case(unit)}" for unit in units))
    found.append(rf"{_ESC}(?:u\{{0{{0,4}}{_any_case(f'{code:x}')}\}}|U{_any_case(f'{code:08x}')})")
    if code < 256:
        found.append(rf"{_ESC}x{_any_case(f'{code:02x}')}")
    found.append("".join(f"%{_any_case(f'{byte:02x}')}" for byte in char.encode("utf-8", "surrogatepass")))
    found.append(rf"&#(?:0{{0,4}}{code}|[xX]0{{0,4}}{_any_case(f'{code:x}')});")
    if code in codepoint2name:
        found.append(f"&{codepoint2name[code]};")
    if char == "'":
        found.append("&apos;")
    return found


def _spelled_alone(char: str) -> list[str]:
    """A part of a character that was taken apart."""
    if char.isascii():
        return [re.escape(char)]
    units = "".join(rf"{_ESC}u{_any_case(f'{unit:04x}')}" for unit in _utf16(char))
    return [re.escape(char), units, "".join(f"%{_any_case(f'{byte:02x}')}" for byte in char.encode("utf-8"))]


def _any(spellings: list[str]) -> str:
    return spellings[0] if len(spellings) == 1 else "(?:" + "|".join(spellings) + ")"


def _utf16(char: str) -> list[int]:
    raw = char.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]


def _any_case(digits: str) -> str:
    return re.sub("[a-f]", lambda m: f"[{m[0]}{m[0].upper()}]", digits)
