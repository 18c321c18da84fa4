"""HEAD, branches and their logs, read from git's files as far as they can be read: where git refuses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{40}\b")
_LINE = re.compile(r"([0-9a-f]{40}) ([0-9a-f]{40}) [^\t\n]*(?:\t(.*))?")
_BRANCH = re.compile(r"ref: (refs/heads/[A-Za-z0-9_][A-Za-z0-9._/-]*)\n?")
_NONE = "0" * 40


@dataclass(frozen=True, slots=True)
class Head:
    """ref: the branch that HEAD names; None where it is detached or nonsense. id: the commit that it leads to, as far
    as one is named at all; "" where something is written that is no id."""

    ref: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of a log: the commit that a branch came to, what git says was done, and where it was before ("" for
    nowhere)."""

    id: str
    said: str
    before: str = ""


def head_of(git_dir: Path) -> Head:
    """Raises OSError when it can't be read; a missing HEAD is nonsense like any other."""
    try:
        text = (git_dir / "HEAD").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Head(None, "")
    found = _BRANCH.fullmatch(text)
    if found is None:
        given = _ID.match(text)
        return Head(None, given[0] if given else "")
    return Head(found[1], read_refs(git_dir).get(found[1]))


def read_refs(git_dir: Path) -> dict[str, str]:
    """All names below `refs/`, with the id that each holds, "" where that is none; a loose one counts before a packed
    one. What can't be read is left out."""
    found: dict[str, str] = {}
    try:
        for line in (git_dir / "packed-refs").read_text(encoding="utf-8", errors="replace").splitlines():
            oid, _, name = line.partition(" ")
            if _ID.fullmatch(oid) and name.startswith("refs/"):
                found[name] = oid
    except OSError:
        pass
    for path in sorted((git_dir / "refs").rglob("*")):
        if path.is_file() and not path.name.endswith(".lock"):
            try:
                given = _ID.match(path.read_text(encoding="ascii", errors="replace"))
            except OSError:
                continue
            found[path.relative_to(git_dir).as_posix()] = given[0] if given else ""
    return found


def read_log(git_dir: Path, name: str) -> list[Logged]:
    """What the log of a branch, or of HEAD, has, newest first. Lines that a power cut ruined are left out."""
    try:
        text = (git_dir / "logs" / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = [line for line in map(_LINE.fullmatch, text.splitlines()) if line is not None]
    return [
        Logged(line[2], line[3] or "", "" if line[1] == _NONE else line[1])
        for line in reversed(lines)
        if line[2] != _NONE
    ]


def candidates(git_dir: Path) -> Iterator[str]:
    """Ids of commits that the history could go on from, each once, the likeliest first."""
    head, refs = head_of(git_dir), read_refs(git_dir)
    named = [head.id or ""]
    if head.ref is not None:
        named += [one.id for one in read_log(git_dir, head.ref)]
    named += [one.id for one in read_log(git_dir, "HEAD")]
    named += [oid for name, oid in refs.items() if name.startswith("refs/heads/")]
    named += [oid for name, oid in refs.items() if name.startswith("refs/remotes/")]
    yield from dict.fromkeys(oid for oid in named if oid)
