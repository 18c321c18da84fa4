"""`<private>…</private>`: what the person marked as not to be kept."""

import re

from aimemory.privacy.spans import Span

KIND = "private"
_LESS, _GREATER = r"(?:<|&lt;|\\u003c)", r"(?:>|&gt;|\\u003e)"
TAG = (
    rf"(?P<open>{_LESS}private(?=\s|{_GREATER}|\Z))"
    rf"|(?P<close>{_LESS}\s{{0,4}}\\?/\s{{0,4}}private(?![\w-])(?:\s{{0,8}}{_GREATER})?)"
)
"""One tag over lowered text, as typed, as HTML entities, or as JSON escapes; its `>` may be cut off."""


_LEAD, _TAIL = 24, 16
"""What of a tag can stand before and behind its word, in characters."""
_NEAR = r"private(?<=[<;c/\s]private)(?=[\s>&\\/]|\Z)"


def any_tag(low: str) -> bool:
    """Whether lowered text may hold a tag; says yes wherever there is one.

    The word with its surroundings is found much faster than the tag, which is then looked for around it alone.
    """
    if "private" not in low:
        return False
    tag = re.compile(TAG)
    return any(tag.search(low, max(0, m.start() - _LEAD), m.end() + _TAIL) for m in re.compile(_NEAR).finditer(low))


class OpenTags:
    """Folds tags, in the order of the text, into private spans."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._depth = 0
        self._opened_at = 0

    def tags(self, low: str, base: int, start: int, stop: int) -> int:
        """Take the tags that begin in `[start, stop)`; `low` is lowered text from `base` on. Gives where to go on."""
        at = start
        if not any_tag(low):
            return stop
        for m in re.compile(TAG).finditer(low, start - base):
            if base + m.start() >= stop:
                break
            at = base + m.end()
            if m["open"]:
                if not self._depth:
                    self._opened_at = base + m.start()
                self._depth += 1
            elif self._depth > 1:
                self._depth -= 1
            else:  # without an opening tag the head was cut away: all before it was private
                self._spans.append(Span(self._opened_at if self._depth else 0, at, KIND))
                self._depth = 0
        return max(at, stop)

    def spans(self, length: int) -> list[Span]:
        """The private parts of a text of that length; a tag that is never closed reaches to the end."""
        return [*self._spans, Span(self._opened_at, length, KIND)] if self._depth else self._spans
