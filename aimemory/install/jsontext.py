"""JSON text, comments and trailing commas allowed, edited in place: every byte that is not ours stays.

The standard library's parser decides what the text says. What is ours is the way to it: comments and trailing commas
are replaced by blanks of the same length, so that positions in what is parsed are positions in the text.
"""

import json
import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from aimemory.install.agent import CannotEdit
from aimemory.install.filetext import line_end

Steps: TypeAlias = tuple[str | int, ...]

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = r"//[^\r\n]*|/\*.*?\*/"
_COMMENTS = re.compile(rf"{_STRING}|(?P<it>{_COMMENT})", re.DOTALL)
_COMMAS = re.compile(rf"{_STRING}|(?P<it>,)(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*.*?\*/))*", re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Members(tuple[tuple[str, Any], ...]):
    """An object as it stands: pairs in order, keys that come twice included."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Element:
    """A member of an object or an item of an array: `start` is where its key or itself begins, `end` is behind it."""

    key: str | int
    start: int
    value: int
    end: int


class JsonText:
    """One text, parsed. Raises CannotEdit with the line if it is no JSON.

    tree: as it stands, objects as `Members`. data: as a program reads it, of a key that comes twice the last value.
    """

    def __init__(self, text: str) -> None:
        self.text = text if text.strip("\r\n\t ") else "{}" + (text or "\n")
        self.comments: list[str] = []
        self._commas = self.plain = self.text
        self.is_strict = True
        try:
            self.tree, self.data = _parsed(self.text)
        except CannotEdit:
            self._commas = _COMMENTS.sub(self._blank_comment, self.text)
            self.plain = _COMMAS.sub(self._blank_comma, self._commas)
            self.is_strict = False
            self.tree, self.data = _parsed(self.plain)
        self.root = _skip(self.plain, 0)
        self._line_end = line_end(self.text)

    # -- edits, each the new text ------------------------------------------------------------------------------------

    def put(self, path: Steps, value: object) -> str:
        """Set the value at a path; objects on the way are made."""
        at = self.root
        for depth, key in enumerate(path):
            found = self._find(at, key)
            if found is None:
                for outer in reversed(path[depth + 1 :]):
                    value = {outer: value}
                return self._insert(at, str(key), value)
            at = found.value
        _, end = _DECODER.raw_decode(self.plain, at)
        indent = self._indent_of_line(at)
        return self.text[:at] + self._rendered(value, indent, "\n" in self.text[at:end]) + self.text[end:]

    def append(self, path: Steps, value: object) -> str:
        """Add an item at the end of the array at a path, which is made where it is missing."""
        at = self._at(path)
        return self.put(path, [value]) if at is None else self._insert(at, None, value)

    def remove(self, path: Steps) -> str:
        """Take out what stands at a path, with its comma and, where it had lines of its own, these lines."""
        at = self._at(path[:-1])
        assert at is not None, path
        elements = self._elements(at)
        index = max(i for i, element in enumerate(elements) if element.key == path[-1])
        found = elements[index]
        comma = self._comma_after(found.end)
        end = found.end if comma is None else comma + 1
        _, close = _DECODER.raw_decode(self.plain, at)
        if not (self.text[at + 1 : found.start] + self.text[end : close - 1]).strip():
            return self.text[: at + 1] + self.text[close - 1 :]
        if comma is not None:
            return self._without_line(found.start, end)
        text = self.text[: self._begin_of_gap(found.start)] + self.text[found.end :]
        if index:
            before = self._comma_after(elements[index - 1].end)
            assert before is not None
            text = text[:before] + text[before + 1 :]
        return text

    # -- looking -----------------------------------------------------------------------------------------------------

    def _at(self, path: Steps) -> int | None:
        at = self.root
        for key in path:
            found = self._find(at, key)
            if found is None:
                return None
            at = found.value
        return at

    def _find(self, at: int, key: str | int) -> Element | None:
        found = [element for element in self._elements(at) if element.key == key]
        return found[-1] if found else None

    def _elements(self, at: int) -> list[Element]:
        plain, close = self.plain, {"{": "}", "[": "]"}[self.plain[at]]
        found: list[Element] = []
        i = _skip(plain, at + 1)
        while plain[i] != close:
            start, key = i, len(found)
            if close == "}":
                key, i = scanstring(plain, i + 1)
                i = _skip(plain, _skip(plain, i) + 1)
            _, end = _DECODER.raw_decode(plain, i)
            found.append(Element(key, start, i, end))
            i = _skip(plain, end)
            if plain[i] == ",":
                i = _skip(plain, i + 1)
        return found

    def _comma_after(self, end: int) -> int | None:
        at = _skip(self._commas, end)
        return at if self._commas[at : at + 1] == "," else None

    # -- writing -----------------------------------------------------------------------------------------------------

    def _insert(self, at: int, key: str | None, value: object) -> str:
        elements = self._elements(at)
        if not elements:
            return self._insert_first(at, key, value)
        text, last = self.text, elements[-1]
        has_lines = "\n" in text[at : elements[0].start]
        indent = self._indent_of(elements[0].start, at)
        member = self._member(key, value, indent, has_lines)
        comma = self._comma_after(last.end)
        if not has_lines:
            gap = " " if self._is_spaced() else ""
            if comma is None:
                return f"{text[: last.end]},{gap}{member}{text[last.end :]}"
            return f"{text[: comma + 1]}{gap}{member},{text[comma + 1 :]}"
        behind = last.end if comma is None else comma + 1
        place = self._behind_comments(behind)
        own, missing = ("", ",") if comma is None else (",", "")
        new = f"{self._line_end}{indent}{member}{own}"
        return f"{text[:behind]}{missing}{text[behind:place]}{new}{text[place:]}"

    def _insert_first(self, at: int, key: str | None, value: object) -> str:
        text = self.text
        _, close = _DECODER.raw_decode(self.plain, at)
        inside = text[at + 1 : close - 1]
        if "\n" not in text.strip() and text.strip() != "{}":
            comment = f"{inside.rstrip()} " if inside.strip() else ""
            return text[: at + 1] + comment + self._member(key, value, "", False) + text[close - 1 :]
        outer = self._indent_of_line(at)
        kept = inside.rstrip()
        closing = inside[len(kept) :] if kept and "\n" in inside[len(kept) :] else self._line_end + outer
        indent = outer + self._unit()
        member = self._member(key, value, indent, True)
        return f"{text[: at + 1]}{kept}{self._line_end}{indent}{member}{closing}{text[close - 1 :]}"

    def _member(self, key: str | None, value: object, indent: str, has_lines: bool) -> str:
        rendered = self._rendered(value, indent, has_lines)
        if key is None:
            return rendered
        colon = ": " if has_lines or self._is_spaced() else ":"
        return f"{json.dumps(key, ensure_ascii=False)}{colon}{rendered}"

    def _rendered(self, value: object, indent: str, has_lines: bool) -> str:
        if not has_lines or isinstance(value, str | int):
            separators = (", ", ": ") if has_lines or self._is_spaced() else (",", ":")
            return json.dumps(value, ensure_ascii=False, separators=separators)
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return f"{self._line_end}{indent}".join(lines)

    def _is_spaced(self) -> bool:
        """Does this file write a blank behind colons?"""
        return not re.search(r'":[^ \t\r\n]', self.plain)

    def _unit(self) -> str:
        """One step of indentation."""
        for element in self._elements(self.root) if self.plain[self.root] in "{[" else []:
            if self._is_first_in_line(element.start):
                return self._indent_of_line(element.start)
        return "  "

    def _indent_of(self, start: int, container: int) -> str:
        if self._is_first_in_line(start):
            return self._indent_of_line(start)
        return self._indent_of_line(container) + self._unit()

    def _indent_of_line(self, at: int) -> str:
        line = self.text[self._line_start(at) : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _is_first_in_line(self, at: int) -> bool:
        start = self._line_start(at)
        return start > 0 and not self.text[start:at].strip(" \t")

    def _behind_comments(self, at: int) -> int:
        """Behind what is said on the same line of what stands before `at`."""
        match = _SAME_LINE.match(self.text, at)
        return match.end() if match else at

    def _begin_of_gap(self, start: int) -> int:
        """Where the blanks before `start` begin, the line's end before them included."""
        text = self.text
        at = start
        while at and text[at - 1] in " \t":
            at -= 1
        if at and text[at - 1] == "\n":
            at -= 2 if text[at - 2 : at - 1] == "\r" else 1
        return at

    def _without_line(self, start: int, end: int) -> str:
        """The text without a span; without its whole lines where nothing else stands on them, else with what follows
        moved up to it."""
        text, begin = self.text, self._line_start(start)
        stop = text.find("\n", end)
        if self._is_first_in_line(start) and stop >= 0 and not text[end:stop].strip():
            return text[:begin] + text[stop + 1 :]
        follows = _skip(text, end)
        if text[follows : follows + 1] in ("}", "]"):
            return text[:start].rstrip(" \t") + text[end:]
        return text[:start] + text[follows:]

    # -- reading -----------------------------------------------------------------------------------------------------

    def _blank_comment(self, match: re.Match[str]) -> str:
        if match["it"] is None:
            return match[0]
        self.comments.append(match[0])
        return re.sub(r"[^\r\n]", " ", match[0])

    def _blank_comma(self, match: re.Match[str]) -> str:
        if match["it"] is None or match.string[: match.start()].rstrip(" \t\r\n")[-1:] in ("", ",", "[", "{", ":"):
            return match[0]
        return " "


def _parsed(text: str) -> tuple[Any, Any]:
    """The tree and the data."""
    try:
        tree = json.loads(text, object_pairs_hook=Members, parse_constant=_no_constant)
        return tree, as_data(tree)
    except json.JSONDecodeError as error:
        raise CannotEdit(f"It is not valid JSON: {error.msg} (column {error.colno}).", error.lineno) from None
    except RecursionError:
        raise CannotEdit("It is nested too deeply to be read.") from None
    except ValueError as error:
        raise CannotEdit(f"It is not valid JSON: {error}.") from None


def as_data(tree: Any) -> Any:
    """A parsed tree as dicts and lists."""
    if isinstance(tree, Members):
        return {key: as_data(value) for key, value in tree}
    return [as_data(item) for item in tree] if isinstance(tree, list) else tree


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
