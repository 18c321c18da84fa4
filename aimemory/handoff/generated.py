"""Writing a page that we generate: a person's edit is only added to, a page he deleted is not made again."""

from aimemory.errors import Conflict, NotFound
from aimemory.index.events import written
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized
from aimemory.sessions.digest import SessionPage
from aimemory.store.pages import Pages
from aimemory.store.reader import Reader
from aimemory.wiki.nodes import Value


def front_fields(page: SessionPage) -> dict[str, Value]:
    """Front matter in the type that its writer takes: mappings are invariant, so a copy."""
    return {
        name: value if isinstance(value, str) else [*value] if isinstance(value, list) else {**value}
        for name, value in page.fields.items()
    }


class Generated:
    """Puts generated pages in their place."""

    def __init__(self, *, pages: Pages, reader: Reader, actor: Actor) -> None:
        self._pages = pages
        self._reader = reader
        self._actor = actor

    async def put(
        self, path: str, content: Sanitized[str], addition: Sanitized[str], *, was_written: bool, summary: str
    ) -> bool:
        """Write the page, or replace it where its text is ours; else add `addition`, once. False if it stays absent.

        was_written: this page was finished before, so that its absence is somebody's wish.
        """
        current = await self._pages.version(path)
        if current is None and was_written:
            return False
        ours = (await self._reader.read(written([path]))).get(path)
        if current is not None and (ours is None or not ours.may_replace(current)):
            await self._append(path, addition)
            return True
        try:
            await self._pages.write(path, content, expected=current, actor=self._actor, summary=summary)
        except (Conflict, NotFound):  # edited or deleted in this very moment: the person's version stands
            pass
        return True

    async def _append(self, path: str, addition: Sanitized[str]) -> None:
        """A person wrote in this page: keep every byte of it and add what came since, once."""
        text, version = await self._pages.read(path)
        if not addition.value.strip() or addition.value in text:
            return
        joined: Sanitized[str] = addition.derive(lambda added: f"{text.rstrip()}\n\n{added}")
        await self._pages.write(path, joined, expected=version, actor=self._actor, summary="Session went on")
