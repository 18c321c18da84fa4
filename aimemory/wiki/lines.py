"""The lines of a page that are no fenced code. What knows quotes and lists too, for links, is in `links`."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(```+(?=[^`]*$)|~~~+)")


def unfenced(text: str, begin: int = 0) -> Iterator[tuple[int, str]]:
    """Place and text, line end included, of each line from `begin` on; an empty text stands for a block of code.

    A block ends with its own sign, at least as often as at its begin and alone on the line, or with the text.
    """
    fence = ""
    for match in _LINE.finditer(text, begin):
        line = match.group()
        if fence:
            bare = line.strip()
            if bare.startswith(fence) and not bare.strip(fence[0]) and _FENCE.match(line):
                fence = ""
        elif opened := _FENCE.match(line):
            fence = opened[1]
            yield match.start(), ""
        else:
            yield match.start(), line
