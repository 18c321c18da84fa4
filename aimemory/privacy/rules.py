"""`RuleSet`: which kinds of secrets are looked for."""

from typing import NamedTuple


class RuleSet(NamedTuple):
    """A choice among the rows of the pattern tables.

    kinds: the kinds to look for (`github-token`, `password`, …), or None for all. `<private>` tags always count.
    """

    kinds: frozenset[str] | None = None

    def wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds


DEFAULT = RuleSet()
