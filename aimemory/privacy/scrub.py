"""One text made clean: repaired, private parts and secrets replaced until nothing more is found, then cut."""

import re
from collections import Counter

from aimemory.privacy.caps import cap_text
from aimemory.privacy.find import WINDOW, private_spans, secret_spans
from aimemory.privacy.judge import Place, secret_part
from aimemory.privacy.prefilter import Active, active, everything
from aimemory.privacy.rules import RuleSet
from aimemory.privacy.spans import Span, replaced

ONE_PIECE = 4 * WINDOW
"""A text up to this long, in characters, is looked at in one piece."""
_PASSES = 8
UNSETTLED = "[redacted:unsettled]"
_WIDE = r"(?:[^\x00]\x00){4,}"


def repair(text: str) -> str:
    """Text that every UTF-8 reader takes: halves of a character joined, lone halves and NUL replaced by U+FFFD.

    NUL is replaced and not dropped, since it separates (`env -0`, `find -print0`); but where every second character is
    one, the text is UTF-16 read as bytes and reads well without.
    """
    if "\x00" in text:
        text = re.compile(_WIDE).sub(lambda m: m[0].replace("\x00", ""), text).replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def called_for(text: str, rules: RuleSet) -> Active:
    """What the text, or the texts joined in it, calls for; a long one is asked window by window later."""
    return active(text, rules) if len(text) <= ONE_PIECE else everything(rules)


def scrubbed(
    text: str, rules: RuleSet, called: Active, cap_bytes: int | None, counts: "Counter[str]", place: Place | None = None
) -> str:
    """A repaired text without what must not be kept, then cut to `cap_bytes`; doing it again changes nothing.

    place: where the text as a whole stands, if that is where a secret may stand. A cut, like a replacement, can bring
    about what a pattern takes for a secret, so both are repeated; should that not end, nothing of the text is kept.
    """
    for _ in range(_PASSES):
        clean = _replaced_once(text, rules, called, counts, place)
        if cap_bytes is not None:
            clean = cap_text(clean, cap_bytes)
        if clean == text:
            return text
        # asked anew: where a secret was, what stood behind it begins at an edge now
        text, called = clean, called_for(clean, rules)
    counts["unsettled"] += 1
    return UNSETTLED if cap_bytes is None else cap_text(UNSETTLED, cap_bytes)


def _replaced_once(text: str, rules: RuleSet, called: Active, counts: "Counter[str]", place: Place | None) -> str:
    window = max(len(text), 1) if len(text) <= ONE_PIECE else WINDOW
    if called.tags:
        text = replaced(text, private_spans(text, window), counts)
    if called.rows or called.keys or called.assigned:
        text = replaced(text, secret_spans(text, rules, called, window), counts)
    if place is not None and rules.wants(place.kind):
        part = secret_part(text, place)
        if part is not None and text[part[0] : part[1]] not in rules.allow:
            text = replaced(text, [Span(*part, place.kind)], counts)
    return text
