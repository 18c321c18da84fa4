"""Patterns as in `.gitignore`, read as git reads them.

Our own, and not a library: the hook's detached child needs them, and has the standard library only; and a word of a
shell command may be a pattern itself, so that two patterns have to be held against each other. Every step is linear or
a product of two lengths: a repository writes its patterns, and must not be able to hold the daemon with one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_PATTERN_CHARS = 1000
_MAX_PARTS = 64
_MAX_PATH_PARTS = 256
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": r"\x21-\x7e", "lower": "a-z", "print": r"\x20-\x7e", "punct": r"!-/:-@\[-`{-~", "space": r"\s",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_ANY, _STAR = "?", "*"
"""Tokens of one path part. Others: `=x`, the character x; `[…`, a class as a regular expression."""


class BadPattern(ValueError):
    """A pattern that git would never match, or that can't mean what was meant; the message says why."""


class Part(NamedTuple):
    """What one name of a path has to be. regex: for the whole name."""

    tokens: tuple[str, ...]
    regex: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern. parts: one for each name, None for `**`. dir_only: it ended with a slash."""

    text: str
    negated: bool
    dir_only: bool
    parts: tuple[Part | None, ...]

    def __str__(self) -> str:
        return self.text


def parse_pattern(text: str) -> Pattern | None:
    """The pattern, None for a blank line or a comment. Raises BadPattern."""
    if len(text) > MAX_PATTERN_CHARS:
        raise BadPattern(f"it has more than {MAX_PATTERN_CHARS:,} characters")
    if "\0" in text or "\n" in text:
        raise BadPattern("it has a line end or a NUL in it")
    body = _without_trailing_space(text)
    if not body or body.startswith("#"):
        return None
    negated = body.startswith("!")
    body = body[1:] if negated else body
    dir_only = body.endswith("/") and not body.endswith("\\/")
    body = body[:-1] if dir_only else body
    is_anchored = "/" in body
    body = body.removeprefix("/")
    if not body:
        raise BadPattern("it names nothing")
    if body == "~" or body.startswith("~/"):
        raise BadPattern("`~` is no home folder in a pattern; patterns count from the folder of the file")
    names = [list(name) for name in _names(body)]
    if any(not name for name in names):
        raise BadPattern("two slashes follow each other")
    if any("".join(name) in ("=.", "=.=.") for name in names):
        raise BadPattern("`.` and `..` mean nothing in a pattern")
    parts: list[Part | None] = []
    for name in names:
        doubled = is_anchored and len(name) > 1 and set(name) == {_STAR}
        if doubled and parts and parts[-1] is None:
            continue
        parts.append(None if doubled else part_of(name))
    if not is_anchored:
        parts.insert(0, None)
    if len(parts) > _MAX_PARTS:
        raise BadPattern(f"it has more than {_MAX_PARTS} names")
    return Pattern(text, negated, dir_only, tuple(parts))


def _without_trailing_space(text: str) -> str:
    body = text.rstrip(" ")
    slashes = len(body) - len(body.rstrip("\\"))
    return body + " " if slashes % 2 and len(body) < len(text) else body


def _names(body: str) -> Iterator[list[str]]:
    """The tokens of each name between slashes; a slash in brackets separates nothing."""
    name: list[str] = []
    at = 0
    while at < len(body):
        char = body[at]
        at += 1
        if char == "/":
            yield name
            name = []
        elif char == "\\":
            if at >= len(body):
                raise BadPattern("it ends with a backslash")
            name.append("=" + body[at])
            at += 1
        elif char == "[":
            token, at = _class(body, at)
            name.append(token)
        else:
            name.append(char if char in (_ANY, _STAR) else "=" + char)
    yield name


def _class(body: str, at: int) -> tuple[str, int]:
    """A class as a token, and where it ends; `at` is behind its bracket."""
    is_negated = body[at : at + 1] in ("!", "^") and body[at : at + 1] != ""
    at += is_negated
    out: list[str] = []
    first = True
    while True:
        char = body[at : at + 1]
        if not char:
            raise BadPattern("a bracket is not closed")
        if char == "]" and not first:
            break
        first = False
        if body.startswith("[:", at) and (end := body.find(":]", at + 2)) >= 0:
            name = body[at + 2 : end]
            if name not in _POSIX:
                raise BadPattern(f"[:{name}:] is no class of characters")
            out.append(_POSIX[name])
            at = end + 2
            continue
        char, at = _one(body, at)
        if body[at : at + 1] == "-" and body[at + 1 : at + 2] not in ("", "]"):
            last, at = _one(body, at + 1)
            if char <= last:
                out.append(f"{re.escape(char)}-{re.escape(last)}")
        else:
            out.append(re.escape(char))
    inner = "".join(out)
    if is_negated:
        return (f"[^{inner}]" if inner else "[^/]"), at + 1
    return (f"[{inner}]" if inner else "[^\x00-\U0010ffff]"), at + 1


def _one(body: str, at: int) -> tuple[str, int]:
    if body[at] == "\\":
        at += 1
        if at >= len(body):
            raise BadPattern("a bracket is not closed")
    return body[at], at + 1


def part_of(tokens: Sequence[str]) -> Part:
    """A name's pattern from its tokens. The expression never goes back over what a star has passed."""
    chunks: list[list[str]] = [[]]
    kept: list[str] = []
    for token in tokens:
        if token == _STAR:
            if kept[-1:] != [_STAR]:
                chunks.append([])
                kept.append(token)
            continue
        kept.append(token)
        chunks[-1].append({_ANY: "."}.get(token) or (re.escape(token[1:]) if token[0] == "=" else token))
    first, *rest = ["".join(chunk) for chunk in chunks]
    out = first + "".join(f"(?>.*?{chunk})" for chunk in rest[:-1])
    return Part(tuple(kept), rf"(?s:{out}.*{rest[-1]})\Z" if rest else rf"(?s:{out})\Z")


class Patterns:
    """A list of patterns; the last that says something counts, and a folder's verdict goes before its content's.

    Paths are relative to where the patterns count from, with `/` between names. fold: the file system ignores case.
    """

    __slots__ = ("_flags", "_names", "patterns", "texts")

    def __init__(self, texts: Sequence[str] = (), *, fold: bool = False) -> None:
        """Raises BadPattern for the first that can't be used."""
        self.texts = tuple(texts)
        self.patterns = tuple(found for text in texts if (found := parse_pattern(text)) is not None)
        self._names = tuple(p for p in self.patterns if len(p.parts) == 2 and p.parts[0] is None)
        self._flags = re.IGNORECASE if fold else 0

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patterns) and (self.texts, self._flags) == (other.texts, other._flags)

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        return f"Patterns({list(self.texts)!r})"

    def folded(self) -> "Patterns":
        """The same for a file system that ignores case."""
        return Patterns(self.texts, fold=True)

    def decides(self, path: str, is_dir: bool | None = None) -> Pattern | None:
        """The pattern by which git ignores this path, or a folder above it; None when it doesn't.

        is_dir: None when it isn't known; then each pattern counts as what ignores more.
        """
        return self._decides(self.patterns, path, is_dir)

    def takes_outside(self, path: str, is_dir: bool | None = None) -> Pattern | None:
        """As `decides`, for a path that lies elsewhere: of it only patterns for a mere name say anything."""
        return self._decides(self._names, path, is_dir) if self._names else None

    def _decides(self, patterns: Sequence[Pattern], path: str, is_dir: bool | None) -> Pattern | None:
        names = path.rstrip("/").split("/")[:_MAX_PATH_PARTS]
        is_dir = True if path.endswith("/") else is_dir
        hits = [(pattern, self._prefixes(pattern.parts, names)) for pattern in patterns]
        for upto in range(1, len(names) + 1):
            last = None
            for pattern, lengths in hits:
                can_be_dir = upto < len(names) or (is_dir if is_dir is not None else not pattern.negated)
                if upto in lengths and (can_be_dir or not pattern.dir_only):
                    last = pattern
            if last is not None and not last.negated:
                return last
        return None

    def takes(self, path: str, is_dir: bool | None = None) -> Pattern | None:
        """As `decides`, and also for a folder all of whose content a pattern names (`secrets/**` names `secrets`)."""
        found = self.decides(path, is_dir)
        if found is not None or is_dir is False:
            return found
        names = path.rstrip("/").split("/")[:_MAX_PATH_PARTS]
        for pattern in self.patterns:
            folder = _folder_parts(pattern)
            if folder and len(names) in self._prefixes(folder, names):
                return pattern
        return None

    def may_take(self, word: Sequence[Part | None]) -> Pattern | None:
        """A pattern that takes something which a shell's own pattern can name; negations are not looked at."""
        for pattern in self.patterns:
            if pattern.negated:
                continue
            for parts in filter(None, (pattern.parts, _folder_parts(pattern))):
                if _meet(word, parts, bool(self._flags)):
                    return pattern
        return None

    def _prefixes(self, parts: Sequence[Part | None], names: Sequence[str]) -> set[int]:
        """How many names from the first on are matched, in every way that is possible."""
        if len(parts) == 2 and parts[0] is None and (only := parts[1]) is not None:  # most patterns are a mere name
            return {n for n, name in enumerate(names, 1) if re.match(only.regex, name, self._flags)}
        end, found = len(parts), set()
        states = _closed({0}, parts)
        for number, name in enumerate(names, 1):
            after = set()
            for state in states:
                if state == end:
                    continue
                part = parts[state]
                if part is None:
                    after.add(state)
                    if state == end - 1:
                        after.add(end)
                elif re.match(part.regex, name, self._flags):
                    after.add(state + 1)
            states = _closed(after, parts)
            if end in states:
                found.add(number)
            if not states:
                break
        return found


def _folder_parts(pattern: Pattern) -> tuple[Part | None, ...]:
    """Of `x/**` and `x/*` the parts of `x`; else nothing."""
    last = pattern.parts[-1]
    whole = last is None or last.tokens == (_STAR,)
    folder = pattern.parts[:-1]
    return folder if whole and not pattern.negated and any(part is not None for part in folder) else ()


def _closed(states: set[int], parts: Sequence[Part | None]) -> set[int]:
    """A `**` may stand for nothing, but not at the end: `x/**` is not `x`."""
    out = set(states)
    for state in states:
        while state < len(parts) - 1 and parts[state] is None:
            state += 1
            out.add(state)
    return out


def _meet(word: Sequence[Part | None], parts: Sequence[Part | None], fold: bool) -> bool:
    """Whether some path fits both, or fits `word` and lies below one that fits `parts`."""
    todo, seen = [(0, 0)], set()
    while todo:
        at, here = todo.pop()
        if (at, here) in seen:
            continue
        seen.add((at, here))
        if here == len(parts):
            return True
        mine, theirs = word[at] if at < len(word) else "end", parts[here]
        if theirs is None and here < len(parts) - 1:
            todo.append((at, here + 1))
        if mine == "end":
            continue
        if mine is None:
            todo += [(at + 1, here), (at, here + 1)]
        if theirs is None:
            todo += [(at + 1, here), (at + 1, here + 1)]
        elif isinstance(mine, Part) and _names_meet(mine.tokens, theirs.tokens, fold):
            todo.append((at + 1, here + 1))
    return False


def _names_meet(shell: Sequence[str], ours: Sequence[str], fold: bool) -> bool:
    """Whether one name fits both; the shell's wildcards don't take a dot at the beginning."""
    todo, seen = [(0, 0, True)], set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        i, j, is_first = state
        if i == len(shell) and j == len(ours):
            return True
        left, right = shell[i] if i < len(shell) else "", ours[j] if j < len(ours) else ""
        if left == _STAR:
            todo.append((i + 1, j, is_first))
        if right == _STAR:
            todo.append((i, j + 1, is_first))
        if not left or not right or (is_first and left[0] != "=" and right == "=."):
            continue
        if _chars_meet(left, right, fold):
            todo.append((i if left == _STAR else i + 1, j if right == _STAR else j + 1, False))
    return False


def _chars_meet(a: str, b: str, fold: bool) -> bool:
    if a[0] == "=" and b[0] == "=":
        return a == b or (fold and a.casefold() == b.casefold())
    for one, other in ((a, b), (b, a)):
        if one[0] == "[" and other[0] == "=":
            return re.match(one, other[1:], re.IGNORECASE if fold else 0) is not None
    return True


def shell_parts(path: str) -> list[Part | None]:
    """The parts of a path with a shell's wildcards in it; brackets that don't close are characters."""
    parts: list[Part | None] = []
    for name in path.strip("/").split("/"):
        try:
            parts.append(None if name == "**" else part_of(next(iter(_names(name)))))
        except BadPattern:
            parts.append(part_of([f"={char}" for char in name]))
    return parts
