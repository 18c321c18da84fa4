"""Writes against an older version of a page: merged where the changes don't touch, else refused, and the text is kept.

What stood at the writer's version is taken from memory, if it was read lately, else from git.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from aimemory.errors import AimemoryError, Conflict, NotFound, UserError
from aimemory.model.ids import Version, page_version
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized
from aimemory.store.committer import Committer
from aimemory.store.conflicts import Conflicts
from aimemory.store.pages import Pages
from aimemory.wiki.merge import merge

_ATTEMPTS = 5
"""A page that changes that often while it is written is somebody's at work on it."""
_LOOK_BACK = 200
_MAX_CHARS = 8 << 20
_MAX_TEXTS = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """What a write came to. merged: somebody had changed the page since `expected`, and both changes are in it."""

    version: Version
    merged: bool


class Merging:
    """Between the operations and `Pages.write`."""

    def __init__(self, *, pages: Pages, committer: Committer, conflicts: Conflicts) -> None:
        self._pages = pages
        self._committer = committer
        self._conflicts = conflicts
        self._read: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    async def read(self, path: str) -> tuple[str, Version]:
        """As `Pages.read`; what is read is remembered as the base of a write that may come of it."""
        text, version = await self._pages.read(path)
        self._remember(text, version)
        return text, version

    async def editable(self, path: str) -> tuple[str, Version]:
        """As `read`. Raises UserError for a page that is no UTF-8: a text made of it would damage it."""
        text, version = await self.read(path)
        if page_version(text.encode("utf-8")) != version:
            raise UserError(f"{path} is no UTF-8, so a copy would damage it. Edit the file itself.")
        return text, version

    async def base(self, path: str, version: Version) -> str | None:
        """The page's text at this version, present or past; None when neither memory nor git have it.

        Raises UserError for a page that is no UTF-8.
        """
        try:
            text, current = await self.editable(path)
            if current == version:
                return text
        except NotFound:
            pass
        if version in self._read:
            return self._read[version]
        try:
            for past in await self._committer.past(path, _LOOK_BACK):
                if past.version == version and past.commit.blob is not None:
                    return (await self._committer.content(past.commit.blob)).decode("utf-8")
        except (AimemoryError, UnicodeDecodeError):  # without a base nothing is merged
            pass
        return None

    async def write(
        self, path: str, content: Sanitized[str], *, base: str | None, expected: Version | None, actor: Actor,
        summary: str, op: str = "write",
    ) -> Merged:  # fmt: skip
        """Write a page for somebody who read it at `expected`, when its text was `base` (None: not known).

        Raises as `Pages.write` does, after the text was kept: `Conflict.kept` is the copy's id, a NotFound names it.
        """
        at, text = expected, content
        for attempt in range(_ATTEMPTS):
            try:
                version = await self._pages.write(
                    path, text, expected=at, actor=actor, summary=f"{summary}, merged" if attempt else summary,
                    look_first=True, op=op,
                )  # fmt: skip
                self._remember(text.value, version)
                await asyncio.to_thread(self._conflicts.settle, path, actor)
                return Merged(version, attempt > 0)
            except NotFound as error:
                kept = await self._keep(path, content, expected, None, actor, summary)
                where = f" What you wrote is kept: `aimemory conflicts {kept}`." if kept else ""
                raise NotFound(f"{error}{where}") from error
            except Conflict as error:
                standing = error
            current = standing.current
            if current is None or standing.version is None or page_version(current.encode("utf-8")) != standing.version:
                break
            self._remember(current, Version(standing.version))
            joined = await asyncio.to_thread(_merged, base, current, content) if expected and base is not None else None
            if joined is None:
                break
            if joined.value == current:
                return Merged(Version(standing.version), True)
            at, text = Version(standing.version), joined
        kept = await self._keep(path, content, expected, standing.version, actor, summary)
        raise Conflict(str(standing), current=standing.current, version=standing.version, kept=kept) from standing

    async def _keep(
        self, path: str, content: Sanitized[str], expected: Version | None, stands: str | None, actor: Actor,
        summary: str,
    ) -> str | None:  # fmt: skip
        """None where the disk refuses: the answer says what stands all the same."""
        try:
            copy = await asyncio.to_thread(
                lambda: self._conflicts.keep(
                    path, content, expected=expected, stands=stands, actor=actor, summary=summary
                )
            )
        except OSError:
            return None
        return copy.id

    def _remember(self, text: str, version: Version) -> None:
        if version in self._read:
            self._read.move_to_end(version)
            return
        self._read[version] = text
        self._chars += len(text)
        while self._chars > _MAX_CHARS or len(self._read) > _MAX_TEXTS:
            _, oldest = self._read.popitem(last=False)
            self._chars -= len(oldest)


def _merged(base: str, current: str, content: Sanitized[str]) -> Sanitized[str] | None:
    """What stands keeps every byte that was not to be changed, as typed in the file; what comes in passed the gate."""
    found = content.derive(lambda new: merge(base, current, new))
    return None if found.value is None else found.derive(lambda text: text or "")
