"""A page's text in parts of some 900 characters, each of which gets a vector of its own. Pure."""

import re

CHUNK_CHARS = 900
MOST_CHUNKS = 7
"""Of a longer page the rest has no vector; all of it is searched by words."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n")


def chunks(title: str, body: str) -> list[str]:
    """Parts on borders of paragraphs where there are any, else of lines, else anywhere; the title before each."""
    parts: list[str] = []
    for piece in _pieces(body):
        if parts and len(parts[-1]) + len(piece) < CHUNK_CHARS:
            parts[-1] += f"\n{piece}"
        elif len(parts) == MOST_CHUNKS:
            break
        else:
            parts.append(piece)
    return [f"{title}\n{part}" for part in parts] or [title]


def _pieces(body: str) -> list[str]:
    """Paragraphs; of a long one its lines; of a long line what fits."""
    pieces: list[str] = []
    left = 2 * CHUNK_CHARS * MOST_CHUNKS
    for paragraph in _PARAGRAPH.split(body[:left]):
        lines = [paragraph] if len(paragraph) <= CHUNK_CHARS else paragraph.splitlines()
        for line in lines:
            pieces += [line[at : at + CHUNK_CHARS] for at in range(0, len(line), CHUNK_CHARS)]
    return [piece for piece in pieces if piece.strip()]
