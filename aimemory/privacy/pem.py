"""Private keys in PEM armour: whole, cut at either end, behind `\\n` escapes, quoted, numbered or in a diff."""

import re

from aimemory.privacy.spans import MARGIN, Span

KIND = "private-key"
_MARK = r"-{4,5} ?(BEGIN|END)[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----| ----)"
BREAK = r"(?:\\[nrt]|[\s\"'+,>|#→:-]|\\(?=[\s\\])|\d{1,5}[\t→:|])"
"""What may stand between two lines of an armour: newlines, escaped ones, quotes, diff marks, line numbers."""
_HEADER = r"[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,120}(?=\n|\\n)"
_LAST = rf"{BREAK}{{0,40}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![\w+/])"
_BODY = (
    rf"(?>(?:{BREAK}{{0,40}}(?:{_HEADER}|[A-Za-z0-9+/=]{{16,}}+))+)"
    rf"(?:(?:{_LAST})?{BREAK}{{0,40}}{_MARK.replace('(BEGIN|END)', 'END')}|{_LAST})?"
)
_MARGIN_MARKS = " \t\r\n+->|#"
_FARTHEST = 16384
_BASE64_LINE = r"[\s\"'+,>|#→:-]*(?:\d{1,5}[\t→:|])?\s*[A-Za-z0-9+/=]{2,}[\s\"'+,\\]*"


def keys(text: str, start: int, stop: int) -> tuple[list[Span], int]:
    """Private keys whose armour begins in `[start, stop)`, and where to read on."""
    spans: list[Span] = []
    at = start
    while (mark := re.compile(_MARK).search(text, at, stop + MARGIN)) is not None and mark.start() < stop:
        at = mark.end()
        if mark[1] == "END":
            first = _start_of_tail(text, mark.start())
            if first < mark.start():
                spans.append(Span(first, at, KIND))
        elif body := re.compile(_BODY).match(text, at):
            at = body.end()
            spans.append(Span(mark.start(), at, KIND))
    return spans, max(at, stop)


def _start_of_tail(text: str, end_at: int) -> int:
    """Where the base64 lines before an END line begin, if its BEGIN line was cut away; else `end_at`."""
    least = max(0, end_at - _FARTHEST)
    dashes = text.rfind("----", least, end_at)
    first = end_at
    for line in reversed(re.split(r"(?<=\n)|(?<=\\n)", text[max(least, dashes + 4 if dashes >= 0 else 0) : end_at])):
        if line.strip(_MARGIN_MARKS) and not re.compile(_BASE64_LINE).fullmatch(line.removesuffix("\\n")):
            break
        first -= len(line)
    return first if re.search(r"[A-Za-z0-9+/=]{16}", text[first:end_at]) else end_at
