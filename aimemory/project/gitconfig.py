"""A repository's `config` file: its remotes, which of them its branches track, and where its work tree is.

Read in place and not by a git process: the answer must not depend on a time limit, on the owner of the folder or on
the environment, or one repository would get two identities. Included files don't count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_SIMPLE = re.compile(r'([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*([^"\\;#\n]*)\n')
"""A whole line without quotes, escapes and comments, which nearly all are."""

_PLAIN = re.compile(r'[^"\\;#\n]+')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class GitConfig:
    """What identity needs of a repository's configuration.

    remotes: first URL by name, in the order of the file. tracked: remote by branch, in the order of the file.
    work_tree: `core.worktree` as written. bad_lines: numbers of the lines that could not be read.
    """

    remotes: dict[str, str]
    tracked: dict[str, str]
    work_tree: str | None = None
    bad_lines: tuple[int, ...] = ()


NO_CONFIG = GitConfig({}, {})
"""Of a repository without a readable configuration. Constant, so that what was decided from it can be kept."""


class Entry(NamedTuple):
    """One variable; `section` and `key` in lower case. value: None for a key without `=`, which means true."""

    section: str
    subsection: str
    key: str
    value: str | None


def read_git_config(_path: str, data: bytes) -> GitConfig:
    """The configuration as far as it can be read: a bad line is left out and named, the rest counts."""
    remotes: dict[str, str] = {}
    tracked: dict[str, str] = {}
    work_tree = None
    bad_lines = []
    for entry in parse_git_config(data):
        if isinstance(entry, int):
            bad_lines.append(entry)
        elif entry.value and (entry.section, entry.key) == ("remote", "url"):
            remotes.setdefault(entry.subsection, entry.value)
        elif entry.value and (entry.section, entry.key) == ("branch", "remote"):
            tracked[entry.subsection] = entry.value
        elif (entry.section, entry.subsection, entry.key) == ("core", "", "worktree"):
            work_tree = entry.value
    return GitConfig(remotes, tracked, work_tree, tuple(bad_lines))


def parse_git_config(data: bytes) -> Iterator[Entry | int]:
    """Every variable in order, and the number of each line that git would refuse.

    Source: git-config(1), "Syntax"; compared with git itself by the tests.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    section, subsection, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char in " \t\r\n":
            at += 1
        elif char in "#;":
            at = _line_end(text, at)
        elif char == "[":
            header = _HEADER.match(text, at)
            if header is None:
                yield _line_number(text, at)
                section, at = "", _line_end(text, at)
                continue
            section, subsection, at = *_section(header), header.end()
        elif simple := _SIMPLE.match(text, at):
            at = simple.end()
            yield Entry(section, subsection, simple[1].lower(), simple[2].rstrip(" \t"))
        else:
            key = _KEY.match(text, at)
            value = _value(text, key.end()) if key else None
            if key is None or value is None:
                yield _line_number(text, at)
                at = _line_end(text, at)
                continue
            at = value[1]
            yield Entry(section, subsection, key[1].lower(), value[0])


def _section(header: re.Match[str]) -> tuple[str, str]:
    name = header[1].lower()
    if header[2] is not None:
        return name, re.sub(r"\\(.)", r"\1", header[2])
    section, _, subsection = name.partition(".")  # the old `[remote.origin]`
    return section, subsection


def _value(text: str, at: int) -> tuple[str | None, int] | None:
    """The value that starts at `at`, and where it ends; None if it is not well formed."""
    if at >= len(text) or text[at] == "\n":
        return None, at
    if text[at] != "=":
        return None
    at += 1
    while at < len(text) and text[at] in " \t":
        at += 1
    value, quoted, keep = "", False, 0  # keep: characters of `value` that trailing blanks can't be cut from
    while at < len(text) and (quoted or text[at] not in "\n#;"):
        char = text[at]
        if char == "\n":
            return None
        if char == '"':
            quoted = not quoted
            at, keep = at + 1, len(value)
        elif char == "\\":
            escaped = text[at + 1 : at + 2]
            at += 2
            if escaped == "\n":
                continue
            if escaped not in _ESCAPES:
                return None
            value += _ESCAPES[escaped]
            keep = len(value)
        elif plain := _PLAIN.match(text, at):
            value, at = value + plain[0], plain.end()
        else:  # a comment sign inside quotes
            value, at = value + char, at + 1
        if quoted:
            keep = len(value)
    if quoted:
        return None
    return value[:keep] + value[keep:].rstrip(" \t"), _line_end(text, at)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
