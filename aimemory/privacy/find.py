"""Finding private parts and secrets in one text, in windows where it is long."""

import re
from collections.abc import Iterator

from aimemory.privacy import assignment, pem, tags
from aimemory.privacy.patterns import Row
from aimemory.privacy.prefilter import Active, active, lowered, row_at
from aimemory.privacy.rules import RuleSet
from aimemory.privacy.spans import MARGIN, Span, merged

WINDOW = 65536
_MOST_LAYERS = 3
"""How often what an encoding hid is looked at for further encodings; each layer is shorter than the one before."""
_BACK = 320
"""A window is looked at with this much before it: more than any look-behind or hint, and than the shortest run."""
_KEYS, _ASSIGNED = -1, 1 << 30
"""Places of the two that are no rows: before all rows, since a key in armour is whole; after them, as the vaguest."""


def private_spans(text: str, window: int = WINDOW) -> list[Span]:
    """The parts marked as private, in order, without overlap."""
    state = tags.OpenTags()
    read = 0
    for base, start, stop, end in _windows(len(text), window):
        read = state.tags(lowered(text[base:end]), base, max(read, start), stop)
    return merged(state.spans(len(text)))


def secret_spans(text: str, rules: RuleSet, called: Active, window: int = WINDOW, layer: int = 0) -> list[Span]:
    """Secrets in `text`, in order, without overlap; vendors' kinds before those of context.

    called: what the prefilter said of this text, or of one that holds it. The window's size makes no difference to the
    result: every pattern decides where a secret begins by looking less than a margin ahead, and how far it reaches by
    looking at the whole text; where each has read to is carried from window to window.
    layer: how many encodings the text was behind.
    """
    state = _Finder(text, rules, layer)
    many = len(text) > window
    for base, start, stop, end in _windows(len(text), window):
        state.look(active(text[base:end], rules) if many else called, base, start, stop, end)
    return merged(state.spans())


class _Finder:
    """How far each pattern has read, and what it found; by the order in which patterns name what several found."""

    def __init__(self, text: str, rules: RuleSet, layer: int) -> None:
        self._text = text
        self._rules = rules
        self._layer = layer
        self._read: dict[int, int] = {}
        self._found: dict[int, list[Span]] = {}

    def look(self, called: Active, base: int, start: int, stop: int, end: int) -> None:
        """Take what begins in `[start, stop)`; `[base, end)` is that with a margin on either side."""
        for i in called.rows:
            if (at := max(self._read.get(i, 0), start)) < stop:
                self._note(i, *self._row(i, at, stop))
        if called.keys and (at := max(self._read.get(_KEYS, 0), start)) < stop:
            self._note(_KEYS, *pem.keys(self._text, at, stop))
        if called.assigned and (at := max(self._read.get(_ASSIGNED, 0), start)) < stop:
            spans, read = assignment.assigned(self._text, lowered(self._text[base:end]), base, at, stop)
            self._note(_ASSIGNED, [span for span in spans if self._rules.wants(span.kind)], read)

    def spans(self) -> Iterator[Span]:
        for i in sorted(self._found):
            yield from self._found[i]

    def _note(self, i: int, spans: list[Span], read: int) -> None:
        self._read[i] = read
        if spans and self._rules.allow:
            spans = [span for span in spans if self._text[span.start : span.end] not in self._rules.allow]
        if spans:
            self._found.setdefault(i, []).extend(spans)

    def _row(self, i: int, at: int, stop: int) -> tuple[list[Span], int]:
        row, text = row_at(i, self._rules), self._text
        pattern = re.compile(row.regex)
        group = "s" if "s" in pattern.groupindex else 0
        spans: list[Span] = []
        while at < stop and (m := pattern.search(text, at, stop + MARGIN)) is not None and m.start() < stop:
            if m.end() >= stop:
                m = pattern.match(text, m.start()) or m  # the window may have cut it short
            if row.decode is not None:
                spans += self._decoded(row, m)
            elif row.check is None or row.check(m):
                spans.append(Span(*m.span(group), row.kind))
            at = m.end()
        return spans, max(at, stop)

    def _decoded(self, row: Row, m: "re.Match[str]") -> list[Span]:
        """Where in an encoded run secrets stand; the whole run where that can't be told."""
        decoded = row.decode(m) if row.decode is not None and self._layer < _MOST_LAYERS else None
        if decoded is None:
            return []
        called = active(decoded.text, self._rules)
        found = secret_spans(decoded.text, self._rules, called, layer=self._layer + 1)
        if found and decoded.starts is None:
            return [Span(m.start(), m.end(), found[0].kind)]
        at, starts = m.start(), decoded.starts or []
        return [Span(at + starts[span.start], at + starts[span.end], span.kind) for span in found]


def _windows(length: int, window: int) -> Iterator[tuple[int, int, int, int]]:
    """Base and end of what is looked at, and between them start and stop of what may begin there."""
    for start in range(0, max(length, 1), window):
        stop = min(start + window, length)
        yield max(0, start - _BACK), start, stop, min(length, stop + MARGIN)
