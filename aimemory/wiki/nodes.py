"""The YAML of front matter as nodes that know their place in the text.

Read event by event, so depth, anchors, tags and repeated keys are seen before anything is built from them. All values
are text, lists and mappings of text; nothing is taken for a number, a date or a boolean, and null is empty text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

Value: TypeAlias = str | list["Value"] | dict[str, "Value"]

_Event: TypeAlias = Any  # the stubs say that every event may lack its marks, which parsed ones never do
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # a build without libyaml reads the same, but slower
_NULLS = ("~", "null", "Null", "NULL")
_MAX_DEPTH = 16
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Refused(Exception):
    """Front matter that can't be taken; the text says why, `line` counts from 0 within the front matter."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.line = line


@dataclass(slots=True)
class Node:
    """A value with its place: offsets of its first character and behind its last one, in the front matter's text."""

    value: Value
    start: int
    end: int
    style: str = ""
    flow: bool = False
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Where the texts in it stand."""


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    start: int
    key_end: int
    node: Node


@dataclass(frozen=True, slots=True)
class Front:
    entries: list[Entry]
    is_flow: bool = False
    hint: tuple[str, int] | None = None

    def fields(self) -> dict[str, Value]:
        return {entry.key: entry.node.value for entry in self.entries}


def read_front(front_text: str) -> Front:
    """Front matter to entries in order, values as text. Raises Refused."""
    try:
        events = _events(front_text)
        root = next(events, None)
        if root is None:
            return Front([])
        if not isinstance(root, yaml.MappingStartEvent):
            raise Refused("the front matter is no list of `key: value` lines.", root.start_mark.line)
        return _Builder(events, front_text).front(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Refused(f"the front matter is no valid YAML ({error.problem}).", mark.line if mark else 0) from error
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        bad = _UNPRINTABLE.search(front_text)
        line = front_text.count("\n", 0, bad.start()) if bad else 0
        raise Refused("the front matter holds a character that YAML does not allow.", line) from error


def _events(front_text: str) -> Iterator[_Event]:
    """The events of the one document; anchors, aliases, tags, further documents and deep nesting are refused."""
    documents = depth = 0
    event: _Event
    for event in yaml.parse(front_text, Loader=_LOADER):
        if type(event) is yaml.ScalarEvent and event.anchor is None and event.tag is None:
            yield event  # nearly all are such, and this is asked of every page of an index
            continue
        line = event.start_mark.line
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.explicit or event.version or event.tags:
                raise Refused("the front matter holds a second document or a directive.", line)
        elif isinstance(event, yaml.AliasEvent):
            raise Refused("aliases (*) are not read. Quote the value if it is text.", line)
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                raise Refused("anchors (&) are not read. Quote the value if it is text.", line)
            if getattr(event, "tag", None) is not None:
                raise Refused("tags (!) are not read. Quote the value if it is text.", line)
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > _MAX_DEPTH:
                raise Refused(f"values are nested more than {_MAX_DEPTH} deep.", line)
            yield event
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            yield event


class _Builder:
    """Builds nodes from events; holds the first hint and the offset behind the collection closed last."""

    def __init__(self, events: Iterator[_Event], text: str) -> None:
        self._events = events
        self._text = text
        self._hint: tuple[str, int] | None = None
        self._closed_at = 0

    def front(self, root: _Event) -> Front:
        entries: list[Entry] = []
        seen: set[str] = set()
        for key, event in self._pairs():
            if key.value in seen:
                self._note("a field stands here for the second time; the last one counts.", key.start_mark.line)
            seen.add(key.value)
            entries.append(Entry(key.value, key.start_mark.index, key.end_mark.index, self._node(event)))
        return Front(entries, bool(root.flow_style), self._hint)

    def _node(self, event: _Event) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.ScalarEvent):
            style = event.style or ""
            if style in ("|", ">"):  # the blank lines behind it stay when the value goes
                end = start + len(self._text[start:end].rstrip())
            value = "" if not style and event.value in _NULLS else event.value
            return Node(value, start, end, style, spans=[(start, end)])
        node = Node([], start, end, flow=bool(event.flow_style))
        if isinstance(event, yaml.SequenceStartEvent):
            self._fill_list(node)
        else:
            self._fill_mapping(node)
        if node.flow:  # a block's own end event stands at the next token, behind blank lines and comments
            node.end = self._closed_at
        return node

    def _add(self, node: Node, event: _Event) -> Value:
        child = self._node(event)
        node.spans += child.spans
        node.end = child.end
        return child.value

    def _fill_list(self, node: Node) -> None:
        items: list[Value] = []
        node.value = items
        for event in self._events:
            self._closed_at = event.end_mark.index
            if isinstance(event, yaml.SequenceEndEvent):
                return
            if node.flow and self._text.startswith("[[", node.start):
                self._note("[[…]] is read as a list in a list. Put links in quotes.", event.start_mark.line)
            items.append(self._add(node, event))

    def _fill_mapping(self, node: Node) -> None:
        fields: dict[str, Value] = {}
        node.value = fields
        for key, event in self._pairs():
            node.spans.append((key.start_mark.index, key.end_mark.index))
            fields[key.value] = self._add(node, event)

    def _pairs(self) -> Iterator[tuple[_Event, _Event]]:
        for key in self._events:
            self._closed_at = key.end_mark.index
            if isinstance(key, yaml.MappingEndEvent):
                return
            if not isinstance(key, yaml.ScalarEvent):
                raise Refused("a list or mapping stands where a field name belongs. Quote {{…}}.", key.start_mark.line)
            yield key, next(self._events)

    def _note(self, hint: str, line: int) -> None:
        self._hint = self._hint or (hint, line)
