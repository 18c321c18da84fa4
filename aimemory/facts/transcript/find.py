"""Which transcripts on this machine belong to a directory: the youngest first, and never all of them opened.

Folder names of Claude Code are lossy (`/a-b` and `/a/b` are one), so a transcript's own word for its directory counts.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aimemory.facts.transcript.locate import peek, roots
from aimemory.model.transcript import TranscriptSource

MAX_FILES = 20_000
MAX_PEEKED = 400
_MAX_DEPTH = 4
_CWD = re.compile(rb'"cwd": ?("(?:[^"\\]|\\.){1,4096}")')
_SESSION = re.compile(rb'"(?:sessionId|session_id|id)": ?"([0-9A-Za-z-]{1,128})"')
_SUB_AGENT = re.compile(rb'\{[^\n]{0,4000}"(?:thread_source": ?"subagent"|source": ?\{"subagent")')


@dataclass(frozen=True, slots=True)
class Candidate:
    """A transcript and what its first records say. cwd: None where they don't. changed_ns: of the file."""

    source: TranscriptSource
    path: str
    changed_ns: int
    size: int
    cwd: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """files: (changed_ns, path, size, source), the youngest first. complete: False if the limit left some out."""

    files: tuple[tuple[int, str, int, TranscriptSource], ...]
    complete: bool


def listing(sources: list[TranscriptSource], home: str, env: Mapping[str, str]) -> Listing:
    """All transcripts of these harnesses, sub-agents' own files left out. Missing folders hold none."""
    found: list[tuple[int, str, int, TranscriptSource]] = []
    for source in sources:
        for root in roots(source, home, env):
            for path, changed_ns, size in _files(root, 0):
                if len(found) >= MAX_FILES:
                    return Listing(_sorted(found), complete=False)
                found.append((changed_ns, path, size, source))
    return Listing(_sorted(found), complete=True)


def candidates(files: Listing, near: str) -> Iterator[Candidate]:
    """What files say of themselves, the youngest first; threads of sub-agents are left out.

    near: the directory that is asked about. Files are opened only if they are among the youngest, or if the name of
    their folder is one that this directory could have.
    """
    named = re.sub(r"[^0-9A-Za-z]", "-", near)
    hinted = [file for file in files.files if Path(file[1]).parent.name.startswith(named)]
    chosen = dict.fromkeys((*files.files[:MAX_PEEKED], *hinted[:MAX_PEEKED]))
    for changed_ns, path, size, source in _sorted(list(chosen)):
        head = next(peek(path), b"")
        if not head or _SUB_AGENT.match(head):
            continue
        cwd, session = _CWD.search(head), _SESSION.search(head)
        yield Candidate(
            source, path, changed_ns, size, _text(cwd[1]) if cwd else None, session[1].decode() if session else None
        )


def _text(quoted: bytes) -> str | None:
    try:
        return str(json.loads(quoted.decode("utf-8", "replace")))
    except ValueError:
        return None


def _sorted(
    found: list[tuple[int, str, int, TranscriptSource]],
) -> tuple[tuple[int, str, int, TranscriptSource], ...]:
    return tuple(sorted(found, key=lambda file: file[:2], reverse=True))


def _files(folder: Path, depth: int) -> Iterator[tuple[str, int, int]]:
    """Younger folders first, where their names are dates, so that a limit leaves out the oldest."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return
    for entry in listed:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth < _MAX_DEPTH and entry.name != "subagents":
                    yield from _files(Path(entry.path), depth + 1)
            elif entry.name.endswith(".jsonl") and not entry.name.startswith("agent-"):
                state = entry.stat(follow_symlinks=False)
                if entry.is_file(follow_symlinks=False):
                    yield entry.path, state.st_mtime_ns, state.st_size
        except OSError:
            continue
