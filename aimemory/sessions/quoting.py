"""Recorded text inside markdown, so that it is readable and can't become structure of the page that quotes it."""

import re

INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters but tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control, zero-width, bidi and tag characters, which show nothing and can hide or reorder text. The variation
selector that makes a symbol an emoji (U+FE0F) is harmless and stays."""

_LINE_BREAK = re.compile("\r\n|[\r\u2028\u2029]")
_STRUCTURE = re.compile(
    r"^[ \t]*(?:[#>|~+*-]|=+[ \t]*$|\d{1,9}[.)]|\t|    )|[`<\[\]]|^[ \t]*$|\\$|%%|\$\$|(?<!\S)#\w", re.MULTILINE
)
"""What markdown, or Obsidian's dialect of it, would take for more than words: then a fence is needed."""

_MAX_QUOTE_LINES = 12
_BACKTICKS = re.compile("`+")
_MAX_BACKTICKS = 24
_LONG_BACKTICKS = re.compile(f"`{{{_MAX_BACKTICKS + 1},}}")


def visible(text: str) -> str:
    """The text without characters that can't be seen, its line ends as `\\n`."""
    if text.isascii() and text.isprintable():
        return text
    return INVISIBLE.sub("", _LINE_BREAK.sub("\n", text))


def one_line(text: str) -> str:
    """The visible text on one line, runs of white space as one space."""
    return " ".join(visible(text).split())


def clip(text: str, limit_chars: int) -> str:
    """The beginning of the text, at most so many characters, cut at a word where one ends near, with an ellipsis."""
    if len(text) <= limit_chars:
        return text
    head = text[: limit_chars - 1]
    space = head.rfind(" ")
    if space > limit_chars * 2 // 3:
        head = head[:space]
    return head.rstrip() + "…"


def clip_bytes(text: str, limit_bytes: int) -> str:
    """Beginning and end of the text within so many UTF-8 bytes, with a mark that says how many characters are cut."""
    raw = text.encode("utf-8")
    if len(raw) <= limit_bytes:
        return text
    room = max(limit_bytes - 64, 0)
    head = raw[: room * 3 // 4].decode("utf-8", "ignore")
    tail = raw[len(raw) - room // 4 :].decode("utf-8", "ignore")
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"


def code(text: str) -> str:
    """One line as a code span that no backtick inside it can close."""
    text, ticks = _outticked(one_line(text))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else "` `"


def block(text: str) -> str:
    """Text as a block of its own: a block quote where it is plain words, else a code fence it can't close."""
    text = visible(text).strip("\n")
    if text.count("\n") < _MAX_QUOTE_LINES and not _STRUCTURE.search(text):
        return "\n".join(f"> {line}" for line in text.split("\n"))
    text, ticks = _outticked(text)
    ticks = ticks.ljust(3, "`")
    return f"{ticks}text\n{text}\n{ticks}"


def _outticked(text: str) -> tuple[str, str]:
    """The text and a run of backticks longer than any in it; absurd runs are shortened."""
    if "`" not in text:
        return text, "`"
    text = _LONG_BACKTICKS.sub("`" * _MAX_BACKTICKS, text)
    return text, "`" * (1 + max(len(run) for run in _BACKTICKS.findall(text)))
