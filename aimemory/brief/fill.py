"""Fills a brief to its budget with whole items, and says what was left out and how to read it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from aimemory.brief.fence import FENCE_OVERHEAD
from aimemory.brief.parts import BriefItem, BriefPart

_HOW = "More: `memory_search` finds earlier work; `memory_read_page` opens a page by its path."
_LEFT_OUT = "Left out for length: {}."


@dataclass(frozen=True, slots=True)
class Filled:
    """text: the brief's content, to be fenced. dropped: what did not fit."""

    text: str
    dropped: tuple[BriefItem, ...]


@dataclass(slots=True)
class _Room:
    """What is left of the budget, counted both ways; a budget of None is no limit."""

    chars: int
    bytes: int | None

    def take(self, text: str) -> bool:
        """Take the text's room if there is enough of both."""
        chars, size = len(text), len(text.encode("utf-8"))
        if chars > self.chars or (self.bytes is not None and size > self.bytes):
            return False
        self.chars -= chars
        self.bytes = None if self.bytes is None else self.bytes - size
        return True


@dataclass(slots=True)
class _Page:
    """The brief while it grows: kept lines per part, and the sources they name, numbered as they come."""

    room: _Room
    parts: list[list[str]] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)
    dropped: list[BriefItem] = field(default_factory=list)


def fill(parts: Sequence[BriefPart], budget_chars: int, *, budget_bytes: int | None = None) -> Filled:
    """Keep the most important items that fit.

    Parts go in by rank, within a rank as given, items in their order. An item is kept whole or dropped, because half a
    statement reads as another statement; smaller ones behind a dropped one still get their chance.

    budget_chars: Unicode characters, budget_bytes: UTF-8 bytes; both hold for the text with its fence around it.
    The text is empty when there is nothing to say, or no item fits. Equal parts give equal bytes.
    """
    ordered = [part for part in sorted(parts, key=lambda part: part.rank) if part.items]
    whole = _lay_out(ordered, budget_chars, budget_bytes, reserve="")
    if whole is not None and not whole.dropped:
        return _finished(ordered, whole)
    # Room for the longest possible note is kept free, so that the note never pushes an item out in its turn.
    note = _note([(part, len(part.items)) for part in ordered])
    cut = _lay_out(ordered, budget_chars, budget_bytes, reserve=note)
    if cut is None or not cut.sources:
        return Filled("", tuple(item for part in ordered for item in part.items))
    return _finished(ordered, cut)


def _lay_out(parts: Sequence[BriefPart], budget_chars: int, budget_bytes: int | None, *, reserve: str) -> _Page | None:
    limit_bytes = None if budget_bytes is None else budget_bytes - FENCE_OVERHEAD
    page = _Page(_Room(budget_chars - FENCE_OVERHEAD, limit_bytes))
    if not page.room.take(f"\n{_HOW}\n{reserve}\n"):
        return None
    for part in parts:
        lines: list[str] = []
        for item in part.items:
            known = item.source in page.sources
            number = page.sources.get(item.source, len(page.sources) + 1)
            line = f"- {item.text} [{number}]"
            costs = [line, *([] if known else [_source(number, item.source)]), *([] if lines else [_heading(part)])]
            if not page.room.take("\n".join(costs) + "\n"):
                page.dropped.append(item)
                continue
            page.sources[item.source] = number
            lines.append(line)
        page.parts.append(lines)
    return page


def _finished(parts: Sequence[BriefPart], page: _Page) -> Filled:
    if not page.sources:
        return Filled("", tuple(page.dropped))
    lines: list[str] = []
    left: list[tuple[BriefPart, int]] = []
    for part, kept in zip(parts, page.parts, strict=True):
        lines += [_heading(part), *kept] if kept else []
        if len(kept) < len(part.items):
            left.append((part, len(part.items) - len(kept)))
    lines += [_HOW, *([_note(left)] if left else [])]
    lines += [_source(number, source) for source, number in page.sources.items()]
    return Filled("\n".join(lines), tuple(page.dropped))


def _heading(part: BriefPart) -> str:
    return f"## {part.heading}"


def _source(number: int, source: str) -> str:
    return f"[{number}] {source}"


def _note(left: Sequence[tuple[BriefPart, int]]) -> str:
    named = [f"{number} of “{part.heading.partition(':')[0]}”" for part, number in left]
    return _LEFT_OUT.format(", ".join(named))
