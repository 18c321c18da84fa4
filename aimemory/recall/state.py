"""Questions about how things are now: of pages that answer about as well, the newest come first. Pure."""

import re
from collections.abc import Mapping, Sequence

from aimemory.recall.fusion import Fused

_NOW = re.compile(
    r"\b(?:current(?:ly)?|now|nowadays|these days|latest|newest|most recent|at the moment|as of today|still|up to date"
    r"|aktuell\w*|jetzt|derzeit|momentan|gegenwärtig|zurzeit|zur zeit|neueste\w*|letzte[rn]? stand|noch"
    r"|(?:do|are|should) we (?:use|using|run|running)|(?:verwenden|nutzen|benutzen) wir)\b"
    r"|目前|现在|当前|最新|现时|如今|現在|當前"
)
_ASKS = re.compile(
    r"^\W*(?:what|which|who|where|how|is|are|do|does|wie|welche\w*|wer|wo|was|womit|ist|sind|gilt)\b|[?？]\s*$"
    r"|什么|哪|怎么|多少|吗"
)
_FEW_WORDS = 5
_LOOKED_AT = 400

NEAR = 0.5
"""Part of the best score from which on a page answers about as well."""
GIVES = 0.5
"""Part of the best score that the newest of these is given, older ones less by their place, the oldest none."""


def asks_for_now(text: str) -> bool:
    """Is this a question, or a few words, about how something is now? In a sentence that tells, `now` means nothing."""
    low = text[:_LOOKED_AT].lower().strip()
    if len(text) > _LOOKED_AT or not _NOW.search(low):
        return False
    return bool(_ASKS.search(low)) or len(low.split()) <= _FEW_WORDS


def newest_first(fused: Sequence[Fused], at_ns: Mapping[int, int]) -> list[Fused]:
    """The ranking with a share `recent` for those near the best; pages of the same time get the same."""
    best = max((f.score for f in fused), default=0.0)
    near = [f for f in fused if f.score >= NEAR * best > 0]
    times = sorted({at_ns.get(f.row, 0) for f in near}, reverse=True)
    if len(times) < 2:
        return list(fused)
    part = {at: GIVES * best * (1 - i / (len(times) - 1)) for i, at in enumerate(times)}
    moved = {f.row: _given(f, more) for f in near if (more := part[at_ns.get(f.row, 0)])}
    return sorted((moved.get(f.row, f) for f in fused), key=lambda f: (-f.score, -f.row))


def _given(fused: Fused, more: float) -> Fused:
    return Fused(fused.row, fused.score + more, {**fused.shares, "recent": more})
