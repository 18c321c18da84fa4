"""The `[privacy]` settings as a rule set, checked; and the file by which the hook's child learns of them.

The daemon writes the settings it is under to `bin/privacy.json` at each start, so that an event that finds no daemon is
sanitised by the very same rules; the child needs no TOML parser for it.
"""

import json
from collections.abc import Mapping, Sequence

from aimemory.errors import UserError
from aimemory.privacy.own import MOST_PATTERNS, WIDTH_OF_ALL, own_row, width_of
from aimemory.privacy.patterns import Row
from aimemory.privacy.pii import PII
from aimemory.privacy.rules import RuleSet

_ALLOWED_LEAST = 4
_MOST_ALLOWED = 1000


def rules_of(table: Mapping[str, object]) -> tuple[RuleSet, list[str]]:
    """The rules for `pii`, `allow` and `patterns`, and every problem found; what is wrong is left out.

    A last part of a pattern that is repeated without a limit ends with the text.
    """
    problems: list[str] = []
    rows: list[Row] = []
    for kind in _texts(table.get("pii", ()), "pii", problems):
        if kind in PII:
            rows.append(PII[kind])
        else:
            problems.append(f"privacy.pii: {kind!r} is not one of {', '.join(PII)}")
    patterns = table.get("patterns", {})
    width = 0
    for name, pattern in patterns.items() if isinstance(patterns, Mapping) else ():
        try:
            row = own_row(str(name), str(pattern))
            width += width_of(row)
            if width > WIDTH_OF_ALL:
                raise ValueError(f"with it the patterns look at more than {WIDTH_OF_ALL} characters together")
            if len(rows) >= MOST_PATTERNS + len(PII):
                raise ValueError(f"there may be {MOST_PATTERNS} patterns")
            rows.append(row)
        except ValueError as error:
            problems.append(f"privacy.patterns: {name} = {pattern!r}: {error}")
    allowed = _texts(table.get("allow", ()), "allow", problems)
    for text in allowed:
        if len(text) < _ALLOWED_LEAST:
            problems.append(f"privacy.allow: {text!r} is shorter than {_ALLOWED_LEAST} characters")
    if len(allowed) > _MOST_ALLOWED:
        problems.append(f"privacy.allow: there may be {_MOST_ALLOWED} texts")
    kept = frozenset(text for text in allowed[:_MOST_ALLOWED] if len(text) >= _ALLOWED_LEAST)
    return RuleSet(extra=tuple(rows), allow=kept), problems


def _texts(value: object, name: str, problems: list[str]) -> Sequence[str]:
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return value
    problems.append(f"privacy.{name} takes a list of texts")
    return ()


def checked(table: Mapping[str, object]) -> RuleSet:
    """The rules. Raises UserError that lists every problem."""
    rules, problems = rules_of(table)
    if problems:
        raise UserError("The configuration has problems:\n" + "\n".join(f"  {problem}" for problem in problems))
    return rules


def render(table: Mapping[str, object]) -> bytes:
    """The bytes of the file."""
    return json.dumps(table, ensure_ascii=False, indent=1).encode() + b"\n"


def read(path: str) -> RuleSet | None:
    """The rules that a daemon wrote, None where there are none. What can't be understood of them is left out.

    The daemon sanitises again what it drains, by the rules it is under then.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- pathlib costs the hook's child more than all of this
            table = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return rules_of(table)[0] if isinstance(table, dict) else None
