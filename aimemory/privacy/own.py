"""A person's own patterns: a small regular language that can't be made slow, whatever is written in it.

What is understood: characters, `\\d \\w \\s` and their opposites, `[…]`, `.`, `\b`, groups of alternatives `(?:a|b)` of
fixed width, and `? * + {n} {m,n}` behind a single one of these. A repetition that is not the last thing must end where
the next thing begins, so that there is one way to read any text and nothing is ever tried twice; how far a pattern
looks before it knows is bounded. So an own pattern costs at most `WIDTH` steps at each place of a text, in any text.
"""

import re
from typing import NamedTuple

from aimemory.privacy.patterns import Row

WIDTH = 256
"""Most characters that a pattern may look at before it is decided, and so the most steps at each place of a text."""
WIDTH_OF_ALL = 1024
MOST_PATTERNS = 32
_LITERAL_LEAST = 3
_SHORTEST = 4
_NAME = r"[a-z][a-z0-9-]{1,30}"
_ATOM = r"\\[dwsDWS]|\\[^A-Za-z0-9\s]|\[\^?\]?(?:\\.|[^\]\\\n])*\]|[^\\\[\](){}?*+|^$.]|\."
_COUNT = r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}|[?*+]"
_SAMPLE = "".join(map(chr, range(1, 0x250))) + "中日文Яя€"
"""Characters by which two sets are compared: classes treat all beyond these as they treat some of these."""
_OURS = ("[redacted:own-pattern]", "[… 12,345 bytes cut …]", "[… 3 entries cut …]", "[… deeper levels cut …]")


class _Part(NamedTuple):
    """source: a pattern of one width. chars: what it may begin with. literal: the text where it is only that."""

    source: str
    chars: frozenset[str]
    width: int
    least: int
    most: int | None
    literal: str | None


def own_row(name: str, pattern: str) -> Row:
    """The row for a person's pattern. Raises ValueError that says what can't be taken, where, and what to write."""
    if not re.fullmatch(_NAME, name):
        raise ValueError("its name must be 2 to 31 of a-z, 0-9 and -, and begin with a letter")
    body, flags = (pattern[4:], "(?i)") if pattern.startswith("(?i)") else (pattern, "")
    parts = _parts(body, flags)
    literal = _longest_literal(parts)
    if len(literal) < _LITERAL_LEAST:
        raise ValueError(
            f"it needs {_LITERAL_LEAST} characters in a row that stand in every match, by which texts are chosen"
        )
    if sum(part.width * part.least for part in parts) < _SHORTEST:
        raise ValueError(f"it can match fewer than {_SHORTEST} characters")
    _check_readings(parts)
    regex = flags + "".join(_written(part, last=n == len(parts) - 1) for n, part in enumerate(parts))
    if any(re.search(regex, text) for text in (*_OURS, f"[redacted:{name}]")):
        raise ValueError("it matches the marks that aimemory itself leaves behind")
    return Row(name, (literal.lower() if flags else literal,), regex, (), (), scope="low" if flags else "text")


def width_of(row: Row) -> int:
    """How many characters the row's pattern may look at before it is decided."""
    parts = _parts(row.regex.removeprefix("(?i)").replace("}+", "}"), "")
    return _width(parts)


def _width(parts: list[_Part]) -> int:
    """The last part counts by what it needs: from there on it takes what comes and can't fail."""
    return sum(part.width * (part.most or part.least) for part in parts[:-1]) + parts[-1].width * parts[-1].least


def _parts(body: str, flags: str) -> list[_Part]:
    found: list[_Part] = []
    at = 0
    while at < len(body):
        if body.startswith("\\b", at):
            found.append(_Part("\\b", frozenset(_SAMPLE), 0, 1, 1, None))
            at += 2
            continue
        if body.startswith("(?:", at):
            end = body.find(")", at)
            if end < 0:
                raise ValueError(f"the group at character {at + 1} is not closed")
            part = _group(body[at + 3 : end], flags, at)
            at = end + 1
        else:
            atom = re.compile(_ATOM).match(body, at)
            if atom is None:
                raise ValueError(
                    f"{body[at]!r} at character {at + 1} is not understood here; own patterns have characters, "
                    r"classes, `\b`, groups `(?:a|b)` and counts, and no look-around, no captures and no anchors"
                )
            part = _one(atom[0], flags, at)
            at = atom.end()
        count = re.compile(_COUNT).match(body, at)
        if count is not None:
            least, most = _counted(count)
            part = part._replace(least=least, most=most, literal=None)
            at = count.end()
            if body[at : at + 1] in ("?", "+"):
                raise ValueError(f"{body[at]!r} behind a count, at character {at + 1}, is not understood")
        found.append(part)
    return found


def _one(source: str, flags: str, at: int) -> _Part:
    try:
        one = re.compile(flags + source)
    except re.error as error:
        raise ValueError(f"{source!r} at character {at + 1}: {error.msg}") from None
    chars = frozenset(c for c in _SAMPLE if one.fullmatch(c))
    plain = source[1:] if re.fullmatch(r"\\[^A-Za-z0-9\s]", source) else source
    is_literal = source == "\\." or (len(plain) == 1 and plain not in ".\\")
    return _Part(source, chars, 1, 1, 1, plain if is_literal else None)


def _group(inner: str, flags: str, at: int) -> _Part:
    """Alternatives of one width, without counts."""
    options = [re.findall(_ATOM, option) for option in inner.split("|")]
    if any("".join(atoms) != option or not atoms for atoms, option in zip(options, inner.split("|"), strict=True)):
        raise ValueError(f"the group at character {at + 1} may hold characters and classes only, and no empty choice")
    if len({len(atoms) for atoms in options}) > 1:
        raise ValueError(
            f"the choices of the group at character {at + 1} must be of one length; write several patterns"
        )
    firsts = [_one(atoms[0], flags, at).chars for atoms in options]
    return _Part(f"(?:{inner})", frozenset().union(*firsts), len(options[0]), 1, 1, None)


def _counted(count: "re.Match[str]") -> "tuple[int, int | None]":
    if count[0] in "?*+":
        return int(count[0] == "+"), 1 if count[0] == "?" else None
    least = int(count[1])
    most = least if count[2] is None else int(count[3]) if count[3] else None
    if most is not None and most < least:
        raise ValueError(f"{count[0]!r} counts from more to less")
    return least, most


def _longest_literal(parts: list[_Part]) -> str:
    runs = [""]
    for part in parts:
        if part.literal is not None:
            runs[-1] += part.literal
        elif part.width:
            runs.append("")
    return max(runs, key=len)


def _check_readings(parts: list[_Part]) -> None:
    """Every repetition but a last one ends where what follows begins, and the way to the last one is bounded."""
    for n, part in enumerate(parts[:-1]):
        if part.most is None:
            raise ValueError(f"{part.source!r} is repeated without a limit and is not the last part; write {{m,n}}")
        if part.most == part.least:
            continue
        for following in parts[n + 1 :]:
            if following.width and part.chars & following.chars:
                raise ValueError(
                    f"where {part.source!r} ends can't be told, since {following.source!r} takes the same characters"
                )
            if following.width and following.least:
                break
    if (width := _width(parts)) > WIDTH:
        raise ValueError(f"it looks at up to {width} characters before it is decided; {WIDTH} are allowed")


def _written(part: _Part, *, last: bool) -> str:
    if part.least == part.most == 1:
        return part.source
    most = "" if part.most is None else str(part.most)
    count = f"{{{part.least}}}" if part.least == part.most else f"{{{part.least},{most}}}"
    return part.source + count + ("" if last or part.least == part.most else "+")
