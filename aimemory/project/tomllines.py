"""On which lines of a TOML text the values of a table stand: the parser keeps no positions."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[A-Za-z0-9_-]+|\n|[=\[\]{}.,]',
    re.DOTALL,
)


def value_lines(text: str, table: str, values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """For each key of the table the lines of its texts, in order: one for a text, one for each item of a list.

    values: what the parser found there. A key whose values aren't found where they are looked for is left out.
    """
    tokens = list(_tokens(text))
    found: dict[str, tuple[int, ...]] = {}
    for key, value in values.items():
        wanted = value if isinstance(value, list) else [value]
        for at, (line, kind, name) in enumerate(tokens):
            if kind == "string" or name != key or tokens[at + 1 : at + 2] == [] or tokens[at + 1][2] != "=":
                continue
            if not _belongs(tokens, at, table):
                continue
            behind = [(number, text) for number, kind, text in tokens[at + 2 :] if kind == "string"][: len(wanted)]
            texts = [item for item in wanted if isinstance(item, str)]
            if len(texts) == len(wanted) and [n for _, n in behind] == texts:
                found[key] = tuple(number for number, _ in behind)
            else:
                found[key] = (line,) * max(1, len(wanted))
            break
    return found


def _tokens(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, kind, text) of strings, bare words and marks; comments left out."""
    line, at = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        raw = found[0]
        if raw[0] in "\"'":
            try:
                yield line, "string", str(tomllib.loads(f"x={raw}")["x"])
            except (tomllib.TOMLDecodeError, RecursionError):
                continue
        elif raw[0] not in "#\n":
            yield line, "word" if raw[0].isalnum() or raw[0] in "_-" else "mark", raw


def _belongs(tokens: list[tuple[int, str, str]], at: int, table: str) -> bool:
    """Whether a key lies in the table: below its head, as `table.key`, or in `table = {…}`."""
    names = [name for _, _, name in tokens[:at]]
    if names[-2:] == [table, "."]:
        return True
    head = next((i for i in range(at - 1, -1, -1) if names[i] == "[" and _is_head(tokens, i)), None)
    if head is not None and names[head + 1 : head + 3] == [table, "]"]:
        return True
    opened = next((i for i in range(at - 1, 1, -1) if names[i] == "{"), None)
    return opened is not None and names[opened - 2 : opened] == [table, "="]


def _is_head(tokens: list[tuple[int, str, str]], at: int) -> bool:
    """A bracket that begins its line and is no value."""
    return at == 0 or (tokens[at - 1][0] < tokens[at][0] and tokens[at - 1][2] not in ("=", ",", "["))
