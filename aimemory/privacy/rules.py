"""`RuleSet`: what is looked for beside what the tables say, and which rules this process is under."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aimemory.privacy.patterns import Row


class RuleSet(NamedTuple):
    """A choice among the rows of the pattern tables, and what a person added. `<private>` tags always count.

    kinds: the kinds to look for (`github-token`, `password`, …), or None for all.
    extra: rows beside those of the tables: a person's own patterns, and personal data where that is asked for.
    allow: texts that are no secrets, whatever they look like, compared as a whole.
    """

    kinds: frozenset[str] | None = None
    extra: "tuple[Row, ...]" = ()
    allow: frozenset[str] = frozenset()

    def wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    def wants_row(self, row: "Row") -> bool:
        """A row that decodes is asked always: what it finds has kinds of its own."""
        return self.kinds is None or row.decode is not None or row.kind in self.kinds


DEFAULT = RuleSet()
_in_force = DEFAULT


def put_in_force(rules: RuleSet) -> None:
    """From now on this process sanitises by these rules where it is not told others.

    Called once, where a process is put together (daemon, command line, hook's child, sanitising process): of forty
    places that sanitise, one that forgot to pass the rules on would be a leak that no type shows.
    """
    global _in_force
    _in_force = rules


def in_force() -> RuleSet:
    return _in_force
