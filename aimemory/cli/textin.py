"""Texts that people hand in, on standard input or in a file: what is text, and what is refused as none."""

import codecs
import sys

from aimemory.errors import UserError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def text_from_stdin(what: str, option: str) -> str:
    """All of standard input as text. what: the name of what is wanted, `text`; option: that takes it as well.

    Raises UserError on a terminal, where nobody would know what is waited for, and for what is no text.
    """
    if sys.stdin.isatty():
        raise UserError(f"Give the {what} with {option} or on standard input.")
    return decoded_text(sys.stdin.buffer.read(), f"Standard input can't be the {what}")


def decoded_text(raw: bytes, refused: str) -> str:
    """UTF-8, or what a byte order mark says (UTF-8, UTF-16), without that mark.

    refused: how the message of the UserError begins, for other encodings and for what holds NUL as binary files do:
    a text with other characters in place of those that were meant helps nobody.
    """
    mark, encoding = next((one for one in _MARKS if raw.startswith(one[0])), (b"", "utf-8"))
    if raw.startswith(_WIDE):
        raise UserError(f"{refused}: it is UTF-32. Give UTF-8.")
    try:
        text = raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        raise UserError(f"{refused}: byte {at:,} is no {encoding[:6].upper().rstrip('-')}. Give UTF-8.") from None
    if "\0" in text:
        raise UserError(f"{refused}: it holds NUL, as binary files and UTF-16 without its mark do. Give UTF-8.")
    return text
