"""Where a secret lies in a text, how two finds become one, and how text is put together without them."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

MARGIN = 1024
"""No pattern looks further than this, in characters, to decide whether a secret begins somewhere."""


class Span(NamedTuple):
    start: int
    end: int
    kind: str


def merged(spans: Iterable[Span]) -> list[Span]:
    """In order and without overlap; of kinds that meet, the one that was given first stays."""
    ranked = sorted(enumerate(spans), key=lambda item: (item[1].start, item[0]))
    out: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if out and span.start < out[-1][1].end:
            last_rank, last = out[-1]
            kind = last.kind if last_rank < rank else span.kind
            out[-1] = (min(last_rank, rank), Span(last.start, max(last.end, span.end), kind))
        else:
            out.append((rank, span))
    return [span for _, span in out]


def replaced(text: str, spans: list[Span], counts: "Counter[str]") -> str:
    """`text` with a placeholder for each span; adds to `counts`. The spans must be as `merged` gives them."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], f"[redacted:{span.kind}]"]
        counts[span.kind] += 1
        at = span.end
    parts.append(text[at:])
    return "".join(parts)
