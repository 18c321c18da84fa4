"""Front matter: reading it without surprises, changing one field without touching another byte, writing new pages.

What a known key means is left to `parse`, reading YAML to `nodes`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aimemory.errors import UserError
from aimemory.wiki.nodes import Entry, Node, Refused, Value, read_front
from aimemory.wiki.ownshape import RESERVED, is_plain, own_fields

_MAX_CHARS = 64 * 1024
_FENCE = re.compile(r"---[ \t]*\r?\n?")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_END = re.compile(r"\n(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_KEY_LINE = re.compile(r"[\w-]+[ \t]*:")
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_FOREIGN_BREAK = re.compile(r"[\x85\u2028\u2029]|\r(?!\n)")
_COLON = re.compile(r"[ \t]*:")
_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")
_TYPED = re.compile(
    r"[-+]?[0-9][0-9_.:eE+-]*(?:[Tt ][0-9:.]+(?: ?Z|[-+][0-9:]+)?)?|true|false|yes|no|on|off", re.IGNORECASE
)
_MAX_INLINE = 100


@dataclass(frozen=True, slots=True)
class Parts:
    """A page cut in two.

    front_text: what stands between the fences, or None without front matter. front: its fields, None when there are
    none or they can't be read. body: everything after the closing fence; the whole text without front matter.
    problem: one sentence with the line in the file; set beside `front` where the front matter is readable but not
    what was probably meant. newline: how the first line ends. bom: whether the text began with a byte order mark.
    """

    front_text: str | None
    front: dict[str, Value] | None
    body: str
    problem: str | None = None
    newline: str = "\n"
    bom: bool = False


def split(text: str) -> Parts:
    """Cut a page into front matter and body; never raises.

    Front matter starts in the first line. Broken front matter is kept as `front_text` with a `problem`; two rules (---)
    with prose between them, and TOML between +++, belong to the body.
    """
    bom = text.startswith("\ufeff")
    content = text[1:] if bom else text
    first = _LINE.match(content)
    newline = "\r\n" if first and first.group().endswith("\r\n") else "\n"
    whole = Parts(None, None, content, None, newline, bom)
    if first is None or not _FENCE.fullmatch(first.group()):
        if first is not None and first.group().strip() == "+++":
            return _with_problem(whole, "line 1: front matter in TOML (+++) is not read. Use YAML between --- lines.")
        return whole
    end = _closing_fence(content, first.end())
    if end is None:
        if _KEY_LINE.match(content, first.end()):
            return _with_problem(whole, _unclosed(content, first.end()))
        return whole
    front_text, body = content[first.end() : end[0]], content[end[1] :]
    if (fields := own_fields(front_text)) is not None:
        return Parts(front_text, fields, body, None, newline, bom)
    try:
        front = read_front(front_text)
    except Refused as refused:
        problem = f"line {refused.line + 2}: {refused}"
        if not any(_KEY_LINE.match(line) for line in front_text.splitlines()):
            return _with_problem(whole, problem)
        return Parts(front_text, None, body, problem, newline, bom)
    hint = f"line {front.hint[1] + 2}: {front.hint[0]}" if front.hint else None
    return Parts(front_text, front.fields(), body, hint, newline, bom)


def edit_field(text: str, key: str, value: str | Sequence[str] | None) -> str:
    """Set one field of a page's front matter (None: remove it) and keep every other byte.

    The new value takes the old one's quoting and list style where that can hold it; a new field is added last.
    Raises UserError, and changes nothing, where that can't be done for certain: no or broken front matter, the key
    twice, comments inside the value, a nested mapping as old value. The message names the line.
    """
    _check_key(key)
    parts = split(text)
    if parts.front_text is None or parts.front is None:
        why = (parts.problem or "the page has none").rstrip(".")
        raise UserError(f"The front matter can't be edited: {why}. Edit the file by hand.")
    old_front = parts.front_text
    new_front = _edited(old_front, key, value, parts.newline)
    _verify(old_front, new_front, key, value)
    start = text.index("\n") + 1
    return text[:start] + new_front + text[start + len(old_front) :]


def add_fields(text: str, fields: Mapping[str, Value]) -> str:
    """Add fields that the front matter doesn't have, last, and keep every other byte.

    Raises UserError where that can't be done for certain: no or broken front matter, one written as {…}, a field that
    is there already.
    """
    parts = split(text)
    if parts.front_text is None or parts.front is None:
        why = (parts.problem or "the page has none").rstrip(".")
        raise UserError(f"The front matter can't be added to: {why}.")
    old = parts.front_text
    doc = read_front(old)
    if doc.is_flow or _FOREIGN_BREAK.search(old):
        raise UserError("The front matter can't be added to: it is written in a way that allows no further line.")
    indent = _indent(old, doc.entries[0].start, "") if doc.entries else ""
    lines = []
    for key, value in fields.items():
        _check_key(key)
        lines += [indent + line for line in _field_lines(key, value, parts.newline)]
    new = old + "".join(lines)
    wanted = [(entry.key, entry.node.value) for entry in doc.entries] + list(fields.items())
    try:
        found = [(entry.key, entry.node.value) for entry in read_front(new).entries]
    except Refused:
        found = []
    if found != wanted or len(dict(wanted)) < len(dict(wanted[: len(doc.entries)])) + len(fields):
        raise UserError(
            "The front matter can't be added to: a field is there already, or others would read differently."
        )
    start = text.index("\n") + 1
    return text[:start] + new + text[start + len(old) :]


def render(fields: Mapping[str, Value], body: str) -> str:
    """A new page: front matter with these fields in this order, an empty line, the body.

    YAML 1.1 and 1.2 readers see the same text in every field: what could be read as a number, a date, a boolean or
    syntax is quoted. Raises UserError for a key that is no plain word.
    """
    lines = ["---\n"]
    for key, value in fields.items():
        _check_key(key)
        lines += _field_lines(key, value)
    lines.append("---\n")
    if body:
        lines += ["\n", body]
    return "".join(lines)


# -- fences ----------------------------------------------------------------------------------------------------------


def _with_problem(parts: Parts, problem: str) -> Parts:
    return Parts(None, None, parts.body, problem, parts.newline, parts.bom)


def _closing_fence(content: str, start: int) -> tuple[int, int] | None:
    # begins with the newline before it: a single character is what the engine finds fastest
    found = _END.search(content, start - 1, start + _MAX_CHARS)
    if found is None or not (found.group().endswith("\n") or found.end() == len(content)):
        return None
    return found.start() + 1, found.end()


def _unclosed(content: str, start: int) -> str:
    """Why no end of the front matter was found: it lies behind what is read, or there is none."""
    far = _END.search(content, start - 1)
    if far is None:
        return "line 1: the front matter is not closed. Add a line with --- after it."
    line = content.count("\n", 0, far.start() + 1) + 1
    return (
        f"line 1: the front matter is longer than the {_MAX_CHARS:,} characters that are read of it; the next line "
        f"with --- is line {line:,}. Move what is long into the text."
    )


# -- editing ---------------------------------------------------------------------------------------------------------


def _edited(front: str, key: str, value: str | Sequence[str] | None, newline: str) -> str:
    if _FOREIGN_BREAK.search(front):
        raise _refusal(key, "it holds line breaks that other YAML readers don't count")
    doc = read_front(front)
    if doc.is_flow:
        raise _refusal(key, "it is written as one {…}")
    entries = [entry for entry in doc.entries if entry.key == key]
    if len(entries) > 1:
        line = front.count("\n", 0, entries[1].start) + 2
        raise _refusal(key, f"the field stands there twice, again in line {line}")
    if entries:
        return _replaced(front, entries[0], value, newline)
    if value is None:
        return front
    indent = _indent(front, doc.entries[0].start, key) if doc.entries else ""
    return front + "".join(indent + line for line in _field_lines(key, _listed(value), newline))


def _replaced(front: str, entry: Entry, value: str | Sequence[str] | None, newline: str) -> str:
    node, key = entry.node, entry.key
    if _has_comment(front, node):
        raise _refusal(key, f"comments stand inside the value in line {front.count(chr(10), 0, node.start) + 2}")
    if value is None:
        start = entry.start - len(_indent(front, entry.start, key))
        return front[:start] + front[front.index("\n", max(node.end, entry.key_end)) + 1 :]
    if isinstance(node.value, dict):
        raise _refusal(key, "its value is a mapping")
    style = node.style if isinstance(node.value, str) else front[node.spans[0][0]] if node.spans else ""
    typed = isinstance(node.value, str) and not node.style and _TYPED.fullmatch(node.value) is not None
    is_block = isinstance(node.value, list) and not node.flow
    if is_block and value and not isinstance(value, str):
        indent = _indent(front, node.start, key)
        items = [f"- {_text(item, style=style)}" for item in value]
        return front[: node.start] + f"{newline}{indent}".join(items) + front[node.end :]
    inline = _text(value, style=style, typed=typed) if isinstance(value, str) else _flow(list(value), style=style)
    if is_block or node.start == node.end:
        colon = _COLON.match(front, entry.key_end)
        gap = front[colon.end() : node.start] if colon else "#"
        if colon is None or (is_block and "#" in gap):
            raise _refusal(key, "a comment stands between the field and its value")
        return front[: colon.end()] + f" {inline}" + front[node.end if is_block else colon.end() :]
    return front[: node.start] + inline + front[node.end :]


def _verify(old: str, new: str, key: str, value: str | Sequence[str] | None) -> None:
    """The edit is right if every other field reads as before and this one as asked for."""
    wanted = [(entry.key, entry.node.value) for entry in read_front(old).entries]
    if value is None:
        wanted = [pair for pair in wanted if pair[0] != key]
    elif any(pair[0] == key for pair in wanted):
        wanted = [(name, _listed(value) if name == key else now) for name, now in wanted]
    else:
        wanted.append((key, _listed(value)))
    try:
        found = [(entry.key, entry.node.value) for entry in read_front(new).entries]
    except Refused:
        found = []
    if found != wanted:
        raise _refusal(key, "the change would touch other fields, or the value would read differently")


def _indent(front: str, position: int, key: str) -> str:
    indent = front[front.rfind("\n", 0, position) + 1 : position]
    if indent.strip(" "):
        raise _refusal(key, "something stands before it in its line")
    return indent


def _has_comment(front: str, node: Node) -> bool:
    """Whether a # stands within the value, outside its texts."""
    if node.style in ("|", ">"):
        return "#" in front[node.start : node.end].split("\n", 1)[0]
    position = node.start
    for start, end in sorted(node.spans):
        if "#" in front[position:start]:
            return True
        position = max(position, end)
    return "#" in front[position : node.end]


def _listed(value: str | Sequence[str]) -> Value:
    return value if isinstance(value, str) else list(value)


def _refusal(key: str, why: str) -> UserError:
    return UserError(f"The field {key!r} can't be changed in this front matter: {why}. Edit the file by hand.")


def _check_key(key: str) -> None:
    if not _PLAIN_KEY.fullmatch(key) or key.lower() in RESERVED:
        raise UserError(f"{key!a} can't be a field name. Use a word of letters, digits, - and _.")


# -- writing ---------------------------------------------------------------------------------------------------------


def _field_lines(key: str, value: Value, newline: str = "\n") -> list[str]:
    if isinstance(value, str):
        return [f"{key}: {_text(value)}{newline}"]
    inline = f"{key}: {_flow(value)}{newline}"
    if isinstance(value, dict) or not value or (len(inline) <= _MAX_INLINE and all(isinstance(v, str) for v in value)):
        return [inline]
    return [f"{key}:{newline}", *(f"  - {_text(v) if isinstance(v, str) else _flow(v)}{newline}" for v in value)]


def _flow(value: Value, style: str = "") -> str:
    if isinstance(value, str):
        return _text(value, style=style, flow=True)
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item, style) for item in value) + "]"
    return "{" + ", ".join(f"{_text(key, flow=True)}: {_flow(item)}" for key, item in value.items()) + "}"


def _text(value: str, *, style: str = "", flow: bool = False, typed: bool = False) -> str:
    """One text as YAML, in one line. typed: a plain number or date was there, another one may stay plain."""
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and ((value[:1].isalpha() and is_plain(value, flow)) or (typed and _TYPED.fullmatch(value))):
        return value
    quoted = json.dumps(value, ensure_ascii=False)  # a JSON string is a double-quoted YAML one, but for these:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)
