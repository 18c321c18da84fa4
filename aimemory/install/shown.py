"""A change as a unified diff for a terminal, a log or a chat: our lines as they are, of all others only the form.

What stands in an agent's settings may be a key or a token, whatever its name says, so values that are not ours are
never printed; what is left goes through the privacy boundary too.
"""

import difflib
import re
from collections.abc import Iterable

from aimemory.install.agent import CannotEdit
from aimemory.install.change import Change
from aimemory.install.filetext import decode
from aimemory.privacy import sanitize

_LONG = 160
_TOKENS = re.compile(
    r"""(?P<comment>//.*|/\*.*?(?:\*/|$)|\#.*)
    |(?P<text>"(?:[^"\\]|\\.)*"?|'[^']*'?)(?P<key>\s*[:=])?
    |(?P<word>[^\s"'{}\[\]:=,]+)(?P<name>\s*[:=])?""",
    re.VERBOSE,
)
_TABLE = re.compile(r"\[{1,2}[\w\s.\"'/:*@-]+\]{1,2}\s*")
_OLD_ENTRY = re.compile(r"[^\n]*/bin/(?:hook'? [a-z-]+ \w+|mcp)")
_PLAIN = frozenset(["true", "false", "null"])


def diff(change: Change, ours: Iterable[str]) -> str:
    """The unified diff; empty where nothing changes. ours: texts of our own entries, which are shown."""
    if change.action in ("none", "refuse"):
        return ""
    old, new = _lines(change.before), _lines(change.after)
    head = (
        "/dev/null" if change.before is None else str(change.path),
        "/dev/null" if change.after is None else str(change.path),
    )
    is_toml = change.path.suffix == ".toml"
    known = {text for one in ours for text in (one, one.replace("\\", "\\\\").replace('"', '\\"'))}
    out = []
    for line in difflib.unified_diff(old, new, *head, n=2, lineterm=""):
        is_head = line.startswith(("--- ", "+++ ", "@@"))
        out.append(line if is_head else line[:1] + _cut(_form(line[1:], known, is_toml)))
    return sanitize("\n".join(out)).value


def _lines(raw: bytes | None) -> list[str]:
    try:
        return decode(raw).text.splitlines() if raw is not None else []
    except CannotEdit:
        return []


def _form(line: str, ours: set[str], is_toml: bool) -> str:
    """A line with every value that is not ours replaced by `…`."""
    if is_toml and _TABLE.fullmatch(line):
        return line

    def shown(match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return match["comment"][:2].rstrip() + " …"
        if match["text"] is not None:
            value = match["text"][1:-1]
            kept = match["key"] is not None or value in ours or _OLD_ENTRY.fullmatch(value) is not None
            return match["text"] + (match["key"] or "") if kept else f'"…"{match["key"] or ""}'
        kept = match["name"] is not None or match["word"] in _PLAIN or match["word"] in ours
        return match[0] if kept else "…"

    return _TOKENS.sub(shown, line)


def _cut(line: str) -> str:
    """A file on one line shows its ends and what is ours in the middle of it, not all of it."""
    if len(line) <= _LONG:
        return line
    return f"{line[: _LONG // 2]} … {line[-_LONG // 2 :]}"
