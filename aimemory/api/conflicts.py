"""Conflict copies: what could not be written since the page had changed, to look at, take over and drop."""

import asyncio
import difflib
from collections.abc import Sequence

from aimemory.errors import NotFound
from aimemory.model.answers import ConflictCopy, ConflictView
from aimemory.store.conflicts import Conflicts
from aimemory.store.pages import Pages


class ConflictCopies:
    """Reached as `Memory.conflicts`. A copy goes when a person drops it, or when the bound forces it out."""

    def __init__(self, *, conflicts: Conflicts, pages: Pages) -> None:
        self._conflicts = conflicts
        self._pages = pages

    def listed(self, *, with_settled: bool = False) -> list[ConflictCopy]:
        """Newest first; those whose writer has written the page since only on request."""
        return self._conflicts.all if with_settled else self._conflicts.unsettled

    async def get(self, name: str) -> ConflictView:
        """One copy, its text, and what taking it over would change in the page now. Raises NotFound."""
        copy, text = await asyncio.to_thread(self._conflicts.text, name)
        try:
            current, _ = await self._pages.read(copy.path)
        except NotFound:
            return ConflictView(copy, text, "")
        lines = difflib.unified_diff(
            current.splitlines(keepends=True), text.splitlines(keepends=True),
            f"{copy.path} (as it is)", f"{copy.path} (conflict copy {copy.id})",
        )  # fmt: skip
        diff = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
        return ConflictView(copy, text, diff)

    async def drop(self, names: Sequence[str], *, apply: bool) -> list[ConflictCopy]:
        """The copies of these ids, all of them when none is named; with `apply` they are removed. Raises NotFound."""
        known = {copy.id: copy for copy in self._conflicts.all}
        if unknown := next((name for name in names if name not in known), None):
            raise NotFound(f"There is no conflict copy {unknown[:40]!r}. `aimemory conflicts` lists them.")
        chosen = [known[name] for name in names] if names else list(known.values())
        if apply:
            await asyncio.to_thread(self._conflicts.drop, [copy.id for copy in chosen])
        return chosen
