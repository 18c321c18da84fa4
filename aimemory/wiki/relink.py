"""Giving links of a page another target; every byte that is not a link's path stays. Pure."""

import re
from collections.abc import Mapping

from aimemory.model.links import role_of
from aimemory.wiki.frontmatter import split
from aimemory.wiki.links import Spot, as_url, spots
from aimemory.wiki.nodes import read_front


def relinked(text: str, targets: Mapping[str, str]) -> tuple[str, int]:
    """The page with links to these targets led to others, and how many links that changed.

    targets: new by old, as `Link.target` has them. A link of the front matter is changed where it stands there as it
    reads, so not with escapes in it.
    """
    parts = split(text)
    head = text[: len(text) - len(parts.body)]
    out, position, count = [], 0, 0
    for spot in spots(parts.body):
        if spot.link.target and (new := targets.get(spot.link.target)) is not None:
            out += [parts.body[position : spot.path_start], _written(parts.body, spot, new)]
            position, count = spot.path_end, count + 1
    body = "".join((*out, parts.body[position:]))
    if parts.front and parts.front_text is not None:
        front, changed = _front(parts.front_text, targets)
        at = text.index(parts.front_text, text.index("\n"))
        head, count = head[:at] + front + head[at + len(parts.front_text) :], count + changed
    return head + body, count


def _front(front: str, targets: Mapping[str, str]) -> tuple[str, int]:
    """Texts of the front matter that are such a link and nothing else; keys and comments stay."""
    spans = sorted((*span, role_of(entry.key)) for entry in read_front(front).entries for span in entry.node.spans)
    count = 0
    for start, end, role in reversed(spans):
        quote_mark = front[start] if front[start : start + 1] in ("'", '"') else ""
        raw = front[start + len(quote_mark) : end - len(quote_mark)]
        spot = next(spots(raw), None)
        if spot and (spot.start, spot.end) == (0, len(raw)) and (new := targets.get(spot.link.target)) is not None:
            changed = raw[: spot.path_start] + _written(raw, spot, new) + raw[spot.path_end :]
            front = front[: start + len(quote_mark)] + changed + front[end - len(quote_mark) :]
            count += 1
        elif role and spot is None and (new := targets.get(raw)) is not None:  # a bare name
            front = front[: start + len(quote_mark)] + new + front[end - len(quote_mark) :]
            count += 1
    return front, count


def _written(text: str, spot: Spot, new: str) -> str:
    """The new path as this kind of link spells it, with the white space of the old one."""
    old = text[spot.path_start : spot.path_end]
    if not text.startswith(("[[", "![["), spot.start):
        in_angles = text[spot.path_start - 1 : spot.path_start] == "<"
        return new if in_angles and not re.search(r"[<>\n]", new) else as_url(new)
    lead = old[: len(old) - len(old.lstrip())]
    return lead + new + old[len(old.rstrip()) :] if old.strip() else new
