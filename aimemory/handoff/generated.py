"""Writing a page that we generate: a person's edit is only added to, a page he deleted is not made again."""

from functools import partial

from aimemory.errors import Conflict, NotFound, UserError
from aimemory.index.events import written
from aimemory.model.ids import Version
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized, sanitize
from aimemory.sessions.digest import SessionPage
from aimemory.store.pages import Pages
from aimemory.store.reader import Reader
from aimemory.wiki.frontmatter import edit_field
from aimemory.wiki.merge import appended
from aimemory.wiki.nodes import Value
from aimemory.wiki.parse import readable

_ATTEMPTS = 5
"""A page that somebody saves that often within milliseconds gets what is new with the session's next closing."""


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
        for _ in range(_ATTEMPTS):
            current = await self._pages.version(path)
            if current is None and was_written:
                return False
            try:
                if current is None or await self._may_replace(path, current):
                    await self._pages.write(path, content, expected=current, actor=self._actor, summary=summary)
                else:
                    await self._append(path, addition)
                return True
            except (Conflict, NotFound):  # edited or deleted in this very moment: what stands now counts
                was_written = was_written or current is not None
        return True

    async def set_field(self, path: str, key: str, value: str, summary: str) -> None:
        """Set one field of a page's front matter. Raises UserError where that can't be done, NotFound, Conflict."""
        for attempt in range(_ATTEMPTS):
            raw, version = await self._pages.read_bytes(path)
            text = _decoded(path, raw)
            op = "write" if await self._may_replace(path, version) else "add"
            try:
                changed = sanitize(value).derive(partial(edit_field, text, key))
                await self._pages.write(
                    path, changed, expected=version, actor=self._actor, summary=summary, op=op
                )  # fmt: skip
                return
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise

    async def _may_replace(self, path: str, current: Version) -> bool:
        ours = (await self._reader.read(written([path]))).get(path)
        return ours is not None and ours.may_replace(current)

    async def _append(self, path: str, addition: Sanitized[str]) -> None:
        """A person wrote in this page: keep every byte of it and add what came since, once."""
        raw, version = await self._pages.read_bytes(path)
        standing = readable(raw).replace("\r\n", "\n")
        if not addition.value.strip() or addition.value.strip() in standing:
            return
        joined: Sanitized[bytes] = addition.derive(lambda added: appended(raw, added))
        await self._pages.write(path, joined, expected=version, actor=self._actor, summary="Session went on", op="add")


def _decoded(path: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is no UTF-8, so a field of it can't be set. Edit the file itself.") from None
