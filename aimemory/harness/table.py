"""One TOML table being read: typed getters that note every problem instead of stopping at the first."""

import re
from datetime import date
from typing import Any, TypeAlias

Keys: TypeAlias = tuple[str, ...]
"""A dotted path into the payload, split: `tool_input.command` is `("tool_input", "command")`."""

Paths: TypeAlias = tuple[Keys, ...]
"""Alternatives, the first one with a usable value wins."""


def split(path: str) -> Keys:
    """The keys of a dotted path."""
    return tuple(path.split(".")) if path else ()


class Table:
    """Every getter takes its key out of `left` and notes what is wrong with it in `problems`, shared by all tables."""

    def __init__(self, left: dict[str, Any], where: str, problems: list[str]) -> None:
        self.left = dict(left)
        self.where = where
        self.problems = problems

    def report(self, key: str, what: str) -> None:
        self.problems.append(f"{self.where}{key} {what}")

    def done(self) -> None:
        for key in self.left:
            self.report(key, "is not a known key")

    def table(self, key: str) -> "Table":
        value = self.left.pop(key, {})
        if not isinstance(value, dict):
            self.report(key, "is not a table")
            value = {}
        return Table(value, f"{self.where}{key}.", self.problems)

    def tables(self, key: str) -> "list[Table]":
        """A list of tables."""
        value = self.left.pop(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.report(key, "is not a list of tables")
            return []
        return [Table(item, f"{self.where}{key}[{n}].", self.problems) for n, item in enumerate(value)]

    def text(self, key: str, default: str | None = None) -> str:
        value = self.left.pop(key, default)
        if isinstance(value, str):
            return value
        self.report(key, "is missing" if value is None else "is not text")
        return default or ""

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        before = len(self.problems)
        value = self.text(key, default)
        if value in choices:
            return value
        if len(self.problems) == before:
            self.report(key, f"is none of {', '.join(choices)}")
        return choices[0]

    def flag(self, key: str, default: bool) -> bool:
        value = self.left.pop(key, default)
        if isinstance(value, bool):
            return value
        self.report(key, "is not true or false")
        return default

    def number(self, key: str) -> int | None:
        value = self.left.pop(key, None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        self.report(key, "is not a whole number above 0")
        return None

    def day(self, key: str) -> date:
        value = self.left.pop(key, None)
        if type(value) is date:
            return value
        self.report(key, "is not a date")
        return date.min

    def texts(self, key: str) -> list[str]:
        value = self.left.pop(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        self.report(key, "is not a list of texts")
        return []

    def paths(self, key: str) -> Paths:
        """One path as text, or a list of alternatives."""
        if isinstance(self.left.get(key), str):
            self.left[key] = [self.left[key]]
        found = tuple(split(path) for path in self.texts(key))
        if not all(keys and all(keys) for keys in found):
            self.report(key, "has an empty path")
        return found

    def pattern(self, key: str) -> re.Pattern[str] | None:
        source = self.text(key, "")
        if not source:
            return None
        try:
            compiled = re.compile(source)
        except re.error as error:
            self.report(key, f"is no regular expression: {error}")
            return None
        if compiled.groups != 1:
            self.report(key, "needs exactly one group, the exit code")
        return compiled
