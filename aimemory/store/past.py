"""What a page was: its versions, from git's commits and the journal's lines together, and the text of each.

Git knows the texts, the journal who wrote them; what only git knows was done by hand.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from aimemory.errors import NotFound
from aimemory.index.pagelines import PageLine, page_lines
from aimemory.model.ids import Version
from aimemory.store.committer import Committer, Past
from aimemory.store.pages import Pages
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.gitpast import PageThen

_COMMITS = 1000
_NAMES = 20
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PastVersion:
    """One change of a page. version: None where it was deleted.

    what: created, changed, edited (a person's `aimemory edit`), deleted, restored or moved. by_hand: no write of ours
    explains it. commit, blob: where git has it; None for what was never committed. path: the name that it has there.
    """

    version: Version | None
    what: str
    at_ns: int
    user: str | None
    harness: str | None = None
    session: str | None = None
    by_hand: bool = False
    commit: str | None = None
    blob: str | None = None
    source: str | None = None
    path: str = ""


class PageHistory:
    """Answers for one page at a time; reads only."""

    def __init__(
        self, *, files: WikiFiles, pages: Pages, committer: Committer, reader: Reader, projector: Projector,
        writer: Writer,
    ) -> None:  # fmt: skip
        self._files = files
        self._pages = pages
        self._committer = committer
        self._reader = reader
        self._projector = projector
        self._writer = writer

    async def level(self, path: str | None = None) -> None:
        """Take in what changed outside, of one page or everywhere; wait until the index shows every durable line."""
        if path is None:
            await self._pages.hand_edits.reconcile()
        else:
            await self._pages.hand_edits.look_at([path])
        await self._projector.reached(self._writer.last_seq)

    async def versions(self, path: str) -> list[PastVersion]:
        """All known versions, newest first; what lies on the disk and is in no commit is the first. Empty: none."""
        lines = await self._reader.read(page_lines(path, _COMMITS))
        past = await self._committer.past(path, _COMMITS)
        for former in await self._former(path, past, lines):
            past += former.past
            lines += former.lines
        past.sort(key=lambda one: -one.commit.when_ns)
        lines.sort(key=lambda line: line.seq)
        found = joined(past[::-1], lines)[::-1]
        current = await self._pages.version(path)
        if current != (found[0].version if found else None):
            found.insert(0, await self._on_disk(path, current, found))
        return found

    async def at_commit(self, path: str, named: str) -> PageThen | None:
        """What any commit of the wiki holds of a page, under whichever name it had then; None: no such commit."""
        lines = await self._reader.read(page_lines(path, _COMMITS))
        past = await self._committer.past(path, _COMMITS)
        names = [path, *(former.name for former in await self._former(path, past, lines))]
        return await self._committer.at(named, names)

    async def committed(self, blob: str) -> bytes:
        """The bytes that `at_commit` names."""
        return await self._committer.content(blob)

    async def _former(self, path: str, past: Sequence[Past], lines: Sequence[PageLine]) -> list["_Former"]:
        """The names that a page had before, the latest first, each with what belongs to this page of it.

        The journal knows of moves of ours, and its lines follow them; git knows of those made by hand.
        """
        begun = [one.commit for one in _beginnings(past)]
        until = begun[0].when_ns + _SECOND_NS if begun else None  # git's times have seconds
        todo: list[tuple[str, int | None, bool]] = [
            (line.source, until, False) for line in lines[::-1] if line.source and line.source != path
        ]
        for commit in begun[:_NAMES]:
            if (old := await self._committer.renamed_from(path, commit.id)) is not None:
                todo.append((old, commit.when_ns + _SECOND_NS, True))
        found: dict[str, _Former] = {}
        while todo and len(found) < _NAMES:
            name, until, by_hand = todo.pop(0)
            if name in found or name == path:
                continue
            told = await self._reader.read(page_lines(name, _COMMITS)) if by_hand else []
            left = [
                one for one in await self._committer.past(name, _COMMITS) if until is None or one.commit.when_ns < until
            ]
            found[name] = _Former(
                name,
                [one for one in left if one.version is not None],  # its going from there is the move
                [line for line in told if line.version is not None and until is not None and line.at_ns < until],
            )
            for one in _beginnings(left)[:1]:
                if (old := await self._committer.renamed_from(name, one.commit.id)) is not None:
                    todo.append((old, one.commit.when_ns + _SECOND_NS, True))
        return list(found.values())

    async def content(self, path: str, version: PastVersion) -> bytes:
        """The bytes of one of `versions`; nothing for a deletion. Raises NotFound for one that no commit holds."""
        if version.version is None:
            return b""
        if version.blob is not None:
            return await self._committer.content(version.blob)
        if await self._pages.version(path) == version.version:
            raw, _ = await asyncio.to_thread(self._files.read, path)
            return raw
        why = self._pages.gate.held.get(path)
        raise NotFound(
            f"The text of version {version.version} of {path} was never committed"
            f"{f', because of {why}' if why else ''}; it can't be restored."
        )

    async def _on_disk(self, path: str, current: Version | None, found: Sequence[PastVersion]) -> PastVersion:
        stat = await asyncio.to_thread(self._files.stat, path)
        before = found[0].version if found else None
        return PastVersion(
            current, _what(None, before, current, bool(found)), stat.mtime_ns if stat else 0, None, by_hand=True
        )


@dataclass(frozen=True, slots=True)
class _Former:
    """A name that a page had. past, lines: commits and journal lines of it that belong to the page."""

    name: str
    past: list[Past]
    lines: list[PageLine]


def _beginnings(past: Sequence[Past]) -> list[Past]:
    """Of a page's commits, newest first, those that made it: the first ever, and each after it was deleted."""
    return [
        one
        for one, before in zip(past, [*past[1:], None], strict=False)
        if one.version is not None and (before is None or before.version is None)
    ]


def joined(past: Sequence[Past], lines: Sequence[PageLine]) -> list[PastVersion]:
    """One list of commits and lines of a page, all oldest first: those of one version, in order, are one change."""
    found: list[PastVersion] = []
    before: Version | None = None
    past = [  # without those that gave it another name alone
        one for n, one in enumerate(past) if not n or one.version is None or one.version != past[n - 1].version
    ]
    for commit, line in _pairs(past, lines):
        version = Version(line.version) if line and line.version else commit.version if commit and not line else None
        found.append(
            PastVersion(
                version, _what(line, before, version, bool(found)),
                line.at_ns if line else commit.commit.when_ns if commit else 0,
                line.user if line else commit.commit.author if commit else None,
                line.harness if line else None, line.session if line else None, line is None,
                commit.commit.id if commit else None, commit.commit.blob if commit else None,
                line.source if line else None, commit.path if commit else line.path if line else "",
            )
        )  # fmt: skip
        before = version
    return found


def _pairs(past: Sequence[Past], lines: Sequence[PageLine]) -> Iterator[tuple[Past | None, PageLine | None]]:
    matcher = SequenceMatcher(None, [p.version for p in past], [line.version for line in lines], autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(past[first:last], lines[start:end], strict=True)
            continue
        apart: list[tuple[int, Past | None, PageLine | None]] = [
            *((p.commit.when_ns, p, None) for p in past[first:last]), *((x.at_ns, None, x) for x in lines[start:end]),
        ]  # fmt: skip
        yield from ((p, line) for _, p, line in sorted(apart, key=lambda one: one[0]))


def _what(line: PageLine | None, before: Version | None, version: Version | None, has_past: bool) -> str:
    if version is None:
        return "deleted"
    if line is not None and line.op in ("move", "edit", "restore"):
        return {"move": "moved", "edit": "edited", "restore": "restored"}[line.op]
    if before is not None:
        return "changed"
    return "restored" if has_past else "created"
