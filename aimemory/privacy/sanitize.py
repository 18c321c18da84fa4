"""The gate: raw text, JSON values and payloads in, `Sanitized` out. Private tags, then patterns, then the cap.

What is looked for is in `patterns.py`, `contexts.py` and `assignment.py`; how, in `find.py`; the seal is set here.
"""

from collections import Counter
from typing import TYPE_CHECKING

from aimemory.privacy.jsonin import parsed
from aimemory.privacy.rules import RuleSet, in_force
from aimemory.privacy.sanitized import PRIVACY_SEAL, Sanitized
from aimemory.privacy.scrub import called_for, repair, scrubbed
from aimemory.privacy.tree import clean_tree, plain_copy

if TYPE_CHECKING:  # `model.event` brings dataclasses along, which the hook client's child can do without
    from aimemory.model.event import Json


def sanitize(raw: str, rules: RuleSet | None = None, cap_bytes: int | None = None) -> Sanitized[str]:
    """`raw` without private parts and secrets, each replaced by `[redacted:<kind>]`, then cut to `cap_bytes`.

    Scrubbed first and cut second: half a secret no longer looks like one. Halves of characters are joined or become
    U+FFFD, as does NUL. Sanitising the result again gives the same text. Without `rules` those in force count.
    """
    counts: Counter[str] = Counter()
    rules = rules or in_force()
    text = repair(raw)
    return Sanitized(scrubbed(text, rules, called_for(text, rules), cap_bytes, counts), counts, PRIVACY_SEAL)


def sanitize_tree(raw: "Json", rules: RuleSet | None = None, leaf_cap_bytes: int | None = None) -> "Sanitized[Json]":
    """A JSON value with every string and key sanitised, each string cut to `leaf_cap_bytes`.

    A string is also redacted where its key, its `name` or the flag before it announces a secret. Containers deeper than
    64 levels become a mark; tuples become lists; keys that become equal are numbered. The result shares nothing with
    `raw`. Sanitising it again changes nothing.
    Raises TypeError for a value that JSON can't hold.
    """
    counts: Counter[str] = Counter()
    return Sanitized(clean_tree(plain_copy(raw), rules or in_force(), leaf_cap_bytes, counts), counts, PRIVACY_SEAL)


def sanitize_payload(body: bytes, rules: RuleSet | None = None, leaf_cap_bytes: int = 65536) -> "Sanitized[Json]":
    """The JSON value in `body`, sanitised as by `sanitize_tree`.

    Raises ValueError for anything that is not JSON; its message has the position and nothing of the content.
    """
    counts: Counter[str] = Counter()
    return Sanitized(clean_tree(parsed(body), rules or in_force(), leaf_cap_bytes, counts), counts, PRIVACY_SEAL)
