"""Which page and which version of it somebody means: by name, also of a page that is gone; by number, token, commit or
time."""

from collections.abc import Awaitable, Callable, Sequence

from aimemory.api.lookup import Located, Where, none_here
from aimemory.api.times import last_ns
from aimemory.errors import NotFound, UserError
from aimemory.index.pagelines import paths_named
from aimemory.model.answers import Caller
from aimemory.model.ids import page_version
from aimemory.model.protocols import rfc3339_local
from aimemory.store.past import PageHistory, PastVersion
from aimemory.store.reader import Reader
from aimemory.wiki.names import check_page_path

_MIN_PREFIX = 4
_MIN_COMMIT = 7
_HEX = frozenset("0123456789abcdef")

Find = Callable[[str, str | None, Caller], Awaitable[tuple[str, Located]]]
"""The path of a page by path, id, title or alias. Raises NotFound; UserError when it fits several."""


async def find_ever(
    find: Find, near: Where, reader: Reader, page: str, project: str | None, caller: Caller
) -> tuple[str, Located]:
    """As `find`, and by path or file name for a page that is gone."""
    try:
        return await find(page, project, caller)
    except NotFound:
        where = await near(project, caller)
        wanted = page.strip().removeprefix("[[").removesuffix("]]").strip()
        if "/" in wanted:
            return check_page_path(wanted if wanted.endswith(".md") else f"{wanted}.md"), where
        named = await reader.read(paths_named(wanted.removesuffix(".md")))
        if where.is_named and where.project is not None:
            here = [path for path in named if path.startswith(f"{where.project.path}/")]
            if named and not here:
                raise none_here(wanted, where, ", ".join(named)) from None
            named = here
        if len(named) == 1:
            return named[0], where
        if named:
            raise UserError(f"{wanted[:80]!r} was the name of several pages: {', '.join(named)}.") from None
        raise


async def version_at(history: PageHistory, path: str, found: Sequence[PastVersion], named: str) -> PastVersion:
    """The version of a page at an instant or a commit, or the one of this number or token.

    found: of `PageHistory.versions`. A day means its end, a time the whole of its last unit that was given. Raises
    NotFound where the page wasn't there then, UserError for what is none of these.
    """
    wanted = named.strip()
    if wanted.isascii() and wanted.isdigit() and len(wanted) < _MIN_PREFIX:
        return chosen(path, found, wanted)
    if set(wanted.lower()) <= _HEX and len(wanted) >= _MIN_PREFIX:
        try:
            return chosen(path, found, wanted.lower())
        except NotFound:
            if (one := await _at_commit(history, path, found, wanted.lower())) is not None:
                return one
    try:
        instant = last_ns(wanted)
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f"{named[:40]!r} is no time, commit or version. Give a day (2026-11-30), a time (2026-11-30T14:12), a "
            f"commit, or a number from `aimemory history {path}`."
        ) from None
    before = next((one for one in found if one.at_ns <= instant), None)
    if before is None:
        first = f"; its first known version is of {rfc3339_local(found[-1].at_ns)}" if found else ""
        raise NotFound(f"{path} was not there yet at {named[:40]}{first}.")
    if before.version is None:
        raise NotFound(f"{path} was deleted at {rfc3339_local(before.at_ns)} and not there at {named[:40]}.")
    return before


async def _at_commit(history: PageHistory, path: str, found: Sequence[PastVersion], wanted: str) -> PastVersion | None:
    """The version in the tree of any commit, also one that didn't change the page. None: there is no such commit."""
    then = await history.at_commit(path, wanted) if len(wanted) >= _MIN_COMMIT else None
    if then is None:
        return None
    if then.blob is None or then.path is None:
        raise NotFound(f"Commit {then.commit[:12]} of {rfc3339_local(then.when_ns)} holds no {path}.")
    for one in found:
        if one.blob == then.blob:
            return one
    version = page_version(await history.committed(then.blob))
    return PastVersion(version, "changed", then.when_ns, None, commit=then.commit, blob=then.blob, path=then.path)


def chosen(path: str, found: Sequence[PastVersion], named: str | None) -> PastVersion:
    """The version that was meant. Raises NotFound, UserError when the name fits several."""
    with_text = [one for one in found if one.version is not None]
    if named is None:
        if with_text:
            return with_text[0]
        raise NotFound(f"Nothing is known of a page {path}: neither git nor the journal has it.")
    if named.isascii() and named.isdigit() and len(named) < _MIN_PREFIX:
        if 0 < int(named) <= len(found) and found[int(named) - 1].version is not None:
            return found[int(named) - 1]
        lists = f"`aimemory history {path}` lists its versions."
        if 0 < int(named) <= len(found):
            raise NotFound(f"Version {named} of {path} is its deletion and has no text. {lists}")
        raise NotFound(f"{path} has no version {named}: they are numbered from 1, the newest, to {len(found)}. {lists}")
    fits = [
        one
        for one in with_text
        if len(named) >= _MIN_PREFIX and (
            str(one.version).startswith(named) or (one.commit or "").startswith(named)
        )
    ]  # fmt: skip
    if len({one.version for one in fits}) > 1:
        raise UserError(f"{named[:40]!r} fits several versions of {path}. Give more of it.")
    if not fits:
        raise NotFound(f"{path} has no version {named[:40]!r}. `aimemory history {path}` lists its versions.")
    return next((one for one in fits if one.blob is not None), fits[0])


def decoded(path: str, version: PastVersion, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(
            f"That version of {path} is no UTF-8. `git show {version.commit}:{path}` in the wiki prints its bytes."
        ) from None
