"""The one-line title of a session's page, taken from what the user asked for."""

import re

from aimemory.model.protocols import rfc3339_local
from aimemory.model.session import SessionState
from aimemory.sessions.quoting import clip, one_line, visible

MAX_TITLE_CHARS = 80

_POLITE = re.compile(r"(?:please,?|(?:can|could|would|will) you(?: please)?) +", re.IGNORECASE)
_FENCE_OR_RULE = re.compile(r"[ \t]*(?:```|~~~|---|\*\*\*|___)")
_MARKUP = str.maketrans(
    {"[": "(", "]": ")", "<": "‹", ">": "›", "`": "'", "|": "/", "\\": "/", "#": "", "*": "", "^": ""}
)
"""Characters that would make links, tags, headings or comments of a title, in markdown or in front matter."""


def plain_title(text: str) -> str:
    """A title that somebody gave, on one line, without markup or what can't be seen; "" where nothing is left."""
    return clip(_words(text), MAX_TITLE_CHARS)


def page_title(state: SessionState, harness: str) -> str:
    """A short form of the goal: its first line with words in it, at most MAX_TITLE_CHARS characters.

    Without a goal that has words: harness and start time.
    """
    for line in visible(state.goal or "").split("\n"):
        words = _words(line)
        if sum(char.isalnum() for char in words) < 2 or _FENCE_OR_RULE.match(line):
            continue
        request = _POLITE.sub("", words, count=1) if _POLITE.match(words) else ""
        return clip(request[0].upper() + request[1:] if request else words, MAX_TITLE_CHARS)
    return clip(f"{harness} session of {rfc3339_local(state.first_at_ns)}", MAX_TITLE_CHARS)


def _words(text: str) -> str:
    return one_line(text.translate(_MARKUP)).lstrip("-+=~/.'\"› ")
