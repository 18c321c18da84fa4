"""Capture rules: how much a project wants kept of its events, and which paths are no business of a memory."""

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from aimemory.model.event import Event

Mode: TypeAlias = Literal["full", "metadata", "off"]
_STRICTNESS: tuple[str, ...] = get_args(Mode)
_KEYS = ("mode", "ignore")
_COMMAND_PARTS = re.compile(r"[\s=:<>|&;()`'\",{}$]+")


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """mode: how much is kept. ignore: patterns as in `.gitignore`, relative to the project's root."""

    mode: Mode = "full"
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """An event that must not be kept, and why, in words without content."""

    reason: str


def rules_from_table(table: Mapping[str, object]) -> tuple[CaptureRules, list[str]]:
    """The rules in the `[capture]` table of `.aimemory.toml`, and all problems found.

    What can't be understood counts as the strictest thing it could mean: an unknown mode keeps metadata only.
    """
    problems = [f"[capture] {key} is not a known setting ({', '.join(_KEYS)})" for key in table if key not in _KEYS]
    mode: Mode = "full"
    given = table.get("mode", "full")
    if given == "full" or given == "metadata" or given == "off":
        mode = given
    else:
        mode = "metadata"
        problems.append(f"[capture] mode is not one of {', '.join(_STRICTNESS)}; metadata is used")
    ignore: list[str] = []
    patterns = table.get("ignore", [])
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        if isinstance(pattern, str) and pattern.strip():
            ignore.append(pattern)
        else:
            problems.append("[capture] ignore takes a list of patterns in quotes")
    return CaptureRules(mode, tuple(ignore)), problems


def stricter(a: CaptureRules, b: CaptureRules) -> CaptureRules:
    """The rules that keep nothing which either of the two would not."""
    mode = a.mode if _STRICTNESS.index(a.mode) >= _STRICTNESS.index(b.mode) else b.mode
    return CaptureRules(mode, tuple(dict.fromkeys((*a.ignore, *b.ignore))))


def apply(event: Event, rules: CaptureRules, root: str) -> Event | Dropped:
    """What may be kept of an event.

    root: the project's root, absolute; empty where there is none, then patterns count from the event's own directory.
    An event is dropped whole if it wrote or read an ignored path, or if a word of its command names one: its output
    would hold what the path holds.
    """
    if rules.mode == "off":
        return Dropped("capture is off")
    if rules.ignore and any(_ignored(path, rules.ignore) for path in _touched(event, root)):
        return Dropped("ignored path")
    return _metadata(event) if rules.mode == "metadata" else event


def _metadata(event: Event) -> Event:
    """Names, times and outcomes. No transcript path either: a later reader would follow it to the content."""
    return Event(
        harness=event.harness,
        event=event.event,
        kind=event.kind,
        native_session=event.native_session,
        cwd=event.cwd,
        at_ns=event.at_ns,
        pid=event.pid,
        agent_id=event.agent_id,
        agent_type=event.agent_type,
        model=event.model,
        tool=event.tool,
        call_id=event.call_id,
        failed=event.failed,
        exit_code=event.exit_code,
        reason=event.reason,
        identity=event.identity,
    )


def _touched(event: Event, root: str) -> Iterable[str]:
    """Paths relative to the root with `/` between; absolute where they lie outside."""
    base = event.cwd or root or "/"
    for path in (*event.files_written, *event.files_read, *_words(event.command or "")):
        whole = posixpath.normpath(posixpath.join(base, path.replace("\\", "/")))
        inside = posixpath.normpath(root or base).rstrip("/") + "/"
        yield whole.removeprefix(inside)


def _words(command: str) -> list[str]:
    """Words of a shell command that could be paths, quoted ones whole as well as in parts."""
    try:
        words = shlex.split(command, posix=True)
    except ValueError:  # an unfinished quote
        words = []
    quoted = [word for word in words if not word.startswith("-") or "/" in word]
    parts = [part for part in _COMMAND_PARTS.split(command) if "/" in part or "." in part]
    return [word for word in (*quoted, *parts) if 0 < len(word) < 4096]


def _ignored(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether the last pattern that says something of the path, or of a folder it lies in, ignores it."""
    verdict = False
    for pattern in patterns:
        wanted = not pattern.startswith("!")
        if re.match(_regex(pattern.removeprefix("!")), path):
            verdict = wanted
    return verdict


def _regex(pattern: str) -> str:
    """A pattern of `.gitignore` as one over relative paths; it also takes what lies below, and the folder of `x/**`."""
    pattern = pattern.strip()
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/").removesuffix("/**")
    out = "" if anchored else r"(?:.*/)?"
    i = 0
    while i < len(body):
        if body.startswith("**/", i):
            out, i = out + r"(?:.*/)?", i + 3
        elif body.startswith("**", i):
            out, i = out + r".*", i + 2
        elif body[i] == "*":
            out, i = out + r"[^/]*", i + 1
        elif body[i] == "?":
            out, i = out + r"[^/]", i + 1
        elif body[i] == "[" and (end := body.find("]", i + 2)) > 0:
            inner = body[i + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out, i = out + "[" + ("^" + inner[1:] if inner[0] == "!" else inner) + "]", end + 1
        else:
            out, i = out + re.escape(body[i]), i + 1
    return rf"{out}(?:/.*)?\Z"
