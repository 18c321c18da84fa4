"""Why a hit stands where it does, in one sentence. Pure."""

from collections.abc import Sequence

_SAYS = {
    "words": "how often and how rare the words are",
    "phrases": "words in the same order",
    "near": "words close together",
    "cover": "how many of the words it has",
    "exact": "words in exactly this form",
    "title": "words in the title",
    "paths": "words in the paths",
    "idents": "words in identifiers",
    "context": "what stands around it",
    "who": "the agent, tool or kind that was named",
    "date": "the date that was named",
    "recent": "that it is newer, as the question is about now",
    "links": "what a better hit says of it",
    "meaning": "how near it comes to what the query means",
}
_COUNT = frozenset(_SAYS) - {"words"}
_UP = {
    "authority": "written down as knowledge, pinned or kept up by several sessions",
    "here": "about files of your session",
}
"""Signals that only order equals; they are said apart, since they are never among those that count most."""
_MOST = 2


def because(what: str, shares: Sequence[tuple[str, float]]) -> str:
    """What matched, and the two signals beside the plain words that gave most to the score."""
    more = sorted(((share, name) for name, share in shares if name in _COUNT and share > 0), reverse=True)
    said = [_SAYS[name] for _, name in more[:_MOST]]
    counts = f"; for its place count most {' and '.join(said)}" if said else ""
    up = [text for name, text in _UP.items() if any(given == name for given, _ in shares)]
    little = f"; a little up, as it is {' and '.join(up)}" if up else ""
    outdated = "; marked as superseded" if any(name == "superseded" for name, _ in shares) else ""
    moved = next((share for name, share in shares if name == "feedback"), 0.0)
    readers = f"; moved {'up' if moved > 0 else 'down'} a little by what readers said" if moved else ""
    return f"{what}{counts}{little}{readers}{outdated}"
