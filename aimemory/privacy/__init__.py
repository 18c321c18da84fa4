"""The privacy boundary: what makes a `Sanitized` value, and what one is.

Standard library only, since the hook client's detached child sanitises before it spools. Capture rules and the worker
process are imported from their own modules by the daemon alone.
"""

from aimemory.privacy.caps import cap_text, cap_tree
from aimemory.privacy.rules import DEFAULT, RuleSet, put_in_force
from aimemory.privacy.sanitize import sanitize, sanitize_payload, sanitize_tree
from aimemory.privacy.sanitized import Sanitized
from aimemory.privacy.scrub import repair

__all__ = [
    "DEFAULT",
    "RuleSet",
    "Sanitized",
    "cap_text",
    "cap_tree",
    "put_in_force",
    "repair",
    "sanitize",
    "sanitize_payload",
    "sanitize_tree",
]
