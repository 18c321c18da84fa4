"""TOML text edited in place: one table goes in, changes a value, or comes out; every other byte stays.

A new table is a block at the end, so that no line of the user's moves; where the tables around it stand inline, tomlkit
edits them. Removing takes out the lines of the block itself, since comments behind it belong to what follows.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from aimemory.install.agent import CannotEdit, Keys
from aimemory.install.filetext import line_end

_VALUE = re.compile(
    r"""(?P<name>[ \t]*["'\w-]+[ \t]*)=(?P<gap>[ \t]*)(?:"(?:[^"\\]|\\.)*"|'[^']*')(?P<rest>[ \t]*(?:\#.*)?\s*)"""
)
_HEADER = re.compile(r"[ \t]*\[.*\][ \t]*(?:#.*)?")


def put_table(text: str, key: Keys, entry: Mapping[str, Any]) -> str:
    """Add a table that is not there yet."""
    block = _block(text, key, entry)
    if _is_valid(text + block):
        return text + block
    document = _document(text)  # the tables around it stand inline: nothing can be added to them from outside
    inline = tomlkit.inline_table()
    inline.update(dict(entry))
    _inner(document, key[:-1])[key[-1]] = inline
    return _with_own_line_ends(text, tomlkit.dumps(document))


def put_value(text: str, key: Keys, value: str) -> str:
    """Set a text value that is there already."""
    lines = text.splitlines(keepends=True)
    name, new = key[-1], tomlkit.item(value).as_string()
    for begin, end in _blocks(lines, key[:-1]):
        for i in range(begin + 1, end):
            found = _VALUE.fullmatch(lines[i])
            if found and found["name"].strip(" \t\"'") == name and _is_valid(lines[i]):
                lines[i] = f"{found['name']}={found['gap']}{new}{found['rest']}"
                return "".join(lines)
    document = _document(text)
    _inner(document, key[:-1])[name] = value
    return _with_own_line_ends(text, tomlkit.dumps(document))


def remove_table(text: str, key: Keys) -> str:
    """Take a table and those below it out, with the blank line that sets it off."""
    lines = text.splitlines(keepends=True)
    spans = _blocks(lines, key)
    if spans:
        for begin, end in reversed(spans):
            lines = _without(lines, begin, end)
        return "".join(lines)
    document = _document(text)
    del _inner(document, key[:-1])[key[-1]]
    return _with_own_line_ends(text, tomlkit.dumps(document))


def _document(text: str) -> tomlkit.TOMLDocument:
    """Raises CannotEdit where the library would not give the same bytes back."""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise CannotEdit(f"It can't be edited safely: {error}.", getattr(error, "line", None)) from None
    if tomlkit.dumps(document).replace("\r\n", "\n") != text.replace("\r\n", "\n"):
        raise CannotEdit("It can't be edited without changing other lines of it.")
    return document


def _inner(document: Any, key: Keys) -> Any:
    at = document
    for name in key:
        at = at[name]
    return at


def _is_valid(text: str) -> bool:
    try:
        tomllib.loads(text)
        return True
    except tomllib.TOMLDecodeError:
        return False


def _block(text: str, key: Keys, entry: Mapping[str, Any]) -> str:
    table = tomlkit.table()
    for name, value in entry.items():
        table[name] = value
    header = ".".join(tomlkit.key(part).as_string() for part in key)
    end = line_end(text)
    block = f"[{header}]\n{table.as_string()}".replace("\n", end)
    if not text:
        return block
    if text.endswith("\n"):
        return end + block
    return end + end + block.removesuffix(end)


def _with_own_line_ends(before: str, after: str) -> str:
    """The new text, in which only what differs from the old is new: kept lines keep the line ends that they had."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    end = line_end(before)
    out: list[str] = []
    a, b = ([line.replace("\r\n", "\n") for line in lines] for lines in (old, new))
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        out += old[i1:i2] if tag == "equal" else [line.rstrip("\r\n") + end for line in new[j1:j2]]
    text = "".join(out)
    return text if before.endswith("\n") or not text.endswith(end) else text.removesuffix(end)


def _blocks(lines: list[str], key: Keys) -> list[tuple[int, int]]:
    """Line ranges of the tables with this key and below it, each from its header to its last line with something in it
    that is no comment."""
    headers = [(i, name) for i, line in enumerate(lines) if (name := _header(line)) is not None]
    spans: list[tuple[int, int]] = []
    for n, (begin, name) in enumerate(headers):
        if name[: len(key)] != key or not _is_outside(lines, begin):
            continue
        later = (i for i, _ in headers[n + 1 :] if _is_outside(lines, i))
        end = next(later, len(lines))
        while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        spans.append((begin, end))
    return spans


def _is_outside(lines: list[str], at: int) -> bool:
    """Whether the lines before this one are whole, so that it can't be the inside of a long text or list."""
    return _is_valid("".join(lines[:at]))


def _header(line: str) -> Keys | None:
    """The key of what looks like a table's header, or None."""
    stripped = line.strip()
    if not _HEADER.fullmatch(stripped):
        return None
    try:
        at: Any = tomllib.loads(stripped)
    except tomllib.TOMLDecodeError:
        return None
    found: list[str] = []
    while at and (at := at[0] if isinstance(at, list) else at):
        name, at = next(iter(at.items()))
        found.append(name)
    return tuple(found)


def _without(lines: list[str], begin: int, end: int) -> list[str]:
    """Without a block; the blank line before it goes too, unless it then sets off what follows."""
    at_end = end == len(lines)
    ended = lines[-1].endswith("\n")
    if begin and not lines[begin - 1].strip() and (at_end or not lines[end].strip()):
        begin -= 1
    kept = lines[:begin] + lines[end:]
    if at_end and not ended and kept:
        kept[-1] = kept[-1].rstrip("\r\n")
    return kept
