"""Text to words, and the other forms under which a word must be found. Pure; used for what is stored and what is asked.

FTS5's own tokenizer splits at everything that is no letter or digit, folds case and Latin accents, and stems. What it
can't do is made here as additional words: pairs of characters for scripts written without spaces, spellings folded
over width, composition, vowel marks and ligatures, and the parts of camelCase names.
"""

import re
import unicodedata

WORD = re.compile(
    r"[^\W_](?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0e4e\u0e81-\u109f\u1780-\u17dd\u3099\u309a])*"
)
"""A word as FTS5 with our categories sees it: letters and digits of any script with their combining marks."""

SPACELESS = re.compile(
    "[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17dd\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""A run of Chinese, Japanese, Korean, Thai, Lao, Khmer or Burmese after NFKC."""

_LETTERS = str.maketrans(
    {"æ": "ae", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ł": "l", "ŋ": "n", "œ": "oe", "ŧ": "t"}
)
"""Letters that Unicode doesn't take apart and keyboards lack."""

_FOLDED_BY_FTS = re.compile(
    r"[0-9A-Za-z\u00c0-\u00c5\u00c7-\u00cf\u00d1-\u00d6\u00d9-\u00dd\u00e0-\u00e5\u00e7-\u00ef\u00f1-\u00f6\u00f9-\u00fd"
    r"\u00ff-\u010f\u0112-\u0125\u0128-\u0130\u0134-\u013e\u0143-\u0148\u014c-\u0151\u0154-\u0165\u0168-\u017e\u0300-\u036f]+"
)
_NASAL = re.compile(
    "\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
"""Devanagari: a nasal before a consonant of its own row is as often written as the dot above."""

_ENCLOSED = re.compile("[\u2100-\u214f\u2460-\u249b\u3200-\u33ff]")
"""Words in one character: `㈱`, `№`, `㎏`."""

_SIGN = re.compile("[\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3297\u3299\U0001f000-\U0001faff]")
_OF_LANGUAGE = re.compile(r"(?<=[A-Za-z])(?:\+\+|#)(?![\w+#])")
_SPELLED = {"++": "plusplus", "#": "sharp"}
_SHAPE = bytes(65 if 65 <= c <= 90 else 97 if 97 <= c <= 122 else 48 if 48 <= c <= 57 else 32 for c in range(256))
_TURNS = (re.compile(rb"A(?:(?<=[a0]A)|(?<=AA)a)"), re.compile(rb"0(?:(?<=[Aa]0)|(?<=00)a)"))
"""Where a word of a shape (`A` for capitals, `a` for other letters, `0` for digits) turns from one to another.

All caps, plain numbers and `2nd` have no such turn. Each pattern begins with one character, for which the engine goes
through text twenty times as fast as for a class of them.
"""
_CAMEL_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_THAI_LAO_MARKS = frozenset((103, 107, 118, 122))


def fold(word: str) -> str:
    """One spelling for all that a reader takes for the same word.

    Width and ligatures (NFKC), case (`ß` is `ss`, `İ` is `i`), accents, Arabic and Hebrew vowel marks go; marks that
    make another letter stay (Indic vowels, kana with dakuten, Thai tones).
    """
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
    folded = unicodedata.normalize("NFC", "".join(c for c in apart if not _is_dropped_mark(c)).translate(_LETTERS))
    return _NASAL.sub("\u0902", folded)


def _is_dropped_mark(char: str) -> bool:
    order = unicodedata.combining(char)  # 7 to 9: nukta, dakuten, virama, which make another letter or syllable
    return order >= 10 and order not in _THAI_LAO_MARKS and not 84 <= order <= 132


def pairs(run: str) -> list[str]:
    """Every two neighbouring characters, then the last one alone: a single character is found as the start of one."""
    return [run[i : i + 2] for i in range(len(run))]


def camel_parts(text: str) -> list[str]:
    """`getUserById` gives get, User, By, Id, once each and in order; other words and single letters nothing."""
    parts: dict[str, None] = {}
    for word in camel_words(text):
        parts.update((part, None) for part in _CAMEL_PART.findall(word) if len(part) > 1)
    return list(parts)


def camel_words(text: str) -> list[str]:
    """The different words of a text that are camelCase or mix letters with digits."""
    shape = text.encode("ascii", "replace").translate(_SHAPE)  # a byte for each character
    words: dict[int, int] = {}
    for turn in _TURNS:
        end = 0
        for found in turn.finditer(shape):
            if (at := found.start()) >= end:
                end = shape.find(b" ", at)
                end = len(shape) if end < 0 else end
                words[shape.rfind(b" ", 0, at) + 1] = end
    return list(dict.fromkeys(text[start : words[start]] for start in sorted(words)))


def signs(text: str) -> dict[str, str]:
    """Words for what is no word, each with what stands there: `🦓` gives u1f993, `C++` cplusplus, `C#` csharp."""
    found: dict[str, str] = {}
    if "#" in text or "++" in text:
        for match in _OF_LANGUAGE.finditer(text):
            start = match.start() - 1
            if start == 0 or not text[start - 1].isalnum():
                found[f"{text[start].lower()}{_SPELLED[match[0]]}"] = text[start] + match[0]
    if not text.isascii():
        found |= {f"u{ord(c):x}": c for c in _SIGN.findall(text) if unicodedata.category(c) == "So"}
    return found


def other_forms(text: str) -> str:
    """The additional words of a text, separated by spaces; empty for plain English."""
    out = list(signs(text))
    if text.isascii():
        return " ".join(out)
    for word in (*WORD.findall(text), *_ENCLOSED.findall(text)):
        if word.isascii() or _FOLDED_BY_FTS.fullmatch(word):
            continue
        wide = unicodedata.normalize("NFKC", word)
        runs = SPACELESS.findall(wide)
        for run in runs:
            out.extend(pairs(run))
        folded = fold(SPACELESS.sub(" ", wide) if runs else word)
        if runs or folded != word.lower():
            out.extend(WORD.findall(folded))
    return " ".join(out)
