"""What pages say of each other, in a ranking: what took a page's place comes with it, and so do cause and cure."""

from collections.abc import Mapping, Sequence

from aimemory.index.ranked import Standing, standings
from aimemory.index.read import Plan
from aimemory.index.search import Scope, in_scope
from aimemory.index.typed import Related, related_to
from aimemory.model.links import LinkRole
from aimemory.recall.fusion import Fused

SUPERSEDED = 0.5
"""What is left of the score of a page whose place another took."""

LED_FROM = 10
"""So many of the best pages bring others with them."""

GIVES: Mapping[LinkRole, float] = {
    LinkRole.SUPERSEDED_BY: 1.0, LinkRole.FIXES: 0.5, LinkRole.FIXED_BY: 0.5, LinkRole.CAUSES: 0.5,
    LinkRole.CAUSED_BY: 0.5,
}  # fmt: skip
"""Part of its own score that a page gives to one to which it stands so."""

_STEPS = 4
_TITLE_CHARS = 80


def led_to(
    fused: Sequence[Fused], standing: Mapping[int, Standing], scope: Scope
) -> Plan[tuple[list[Fused], dict[int, Standing]]]:
    """The ranking with what its best pages lead to, and what is known of the rows that it had not.

    A successor gets the whole score that the page had before it was put back, also over several steps; a page that was
    superseded itself gets none.
    """
    owed = {f.row: f.score - f.shares.get("superseded", 0.0) for f in fused[:LED_FROM]}
    given: dict[int, float] = {}
    known = dict(standing)
    for step in range(_STEPS):
        found = yield from related_to(list(owed))
        new = [one.other for one in found if one.role in GIVES and one.other not in known]
        if new:
            inside = yield from in_scope("page", new, scope)
            known |= yield from standings("page", inside)
        further: dict[int, float] = {}
        for one in found:
            part = GIVES.get(one.role, 0.0)
            if not part or one.other not in known or (step and one.role != LinkRole.SUPERSEDED_BY):
                continue
            score = part * owed[one.page]
            if not known[one.other].is_superseded:
                given[one.other] = max(score, given.get(one.other, 0.0))
            elif one.role == LinkRole.SUPERSEDED_BY:
                further[one.other] = max(score, further.get(one.other, 0.0))
        owed = further
        if not owed:
            break
    if not given:
        return list(fused), known
    return _given(fused, given), known


def _given(fused: Sequence[Fused], given: Mapping[int, float]) -> list[Fused]:
    out = []
    there = set()
    for one in fused:
        there.add(one.row)
        more = given.get(one.row, 0.0) - one.score
        out.append(Fused(one.row, one.score + more, {**one.shares, "links": more}) if more > 0 else one)
    out += [Fused(row, score, {"links": score}) for row, score in given.items() if row not in there]
    return sorted(out, key=lambda f: (-f.score, -f.row))


def labels_of(related: Sequence[Related]) -> dict[int, tuple[str, ...]]:
    """By page what a reader of a list should know: which page took its place, and which contradicts it."""
    found: dict[int, list[str]] = {}
    for one in related:
        if one.role in (LinkRole.SUPERSEDED_BY, LinkRole.CONTRADICTS):
            found.setdefault(one.page, []).append(f"{one.role} {_name(one)}")
    return {row: tuple(dict.fromkeys(names)) for row, names in found.items()}


def why_led(related: Sequence[Related], page: int) -> str | None:
    """How a page without any of the words stands to the first of those that brought it, or None."""
    led = [one for one in related if one.page == page and one.role.inverse in GIVES]
    return f"{led[0].role} {_name(led[0])}" if led else None


def _name(one: Related) -> str:
    title = " ".join(one.title.split())
    return f"'{title[:_TITLE_CHARS]}'" if title else one.path
