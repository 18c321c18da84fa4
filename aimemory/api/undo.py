"""Taking back what one session wrote to pages, where nobody changed them since."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

from aimemory.errors import AimemoryError, NotFound
from aimemory.index.pagelines import PageLine, lines_of_session
from aimemory.model.answers import Caller, Undo, Undone
from aimemory.model.ids import SessionId, Version
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize
from aimemory.sessions.caller import CallerSessions
from aimemory.sessions.named import session_named
from aimemory.store.pagerows import is_project_page
from aimemory.store.pages import Pages
from aimemory.store.past import PageHistory, PastVersion
from aimemory.store.reader import Reader


class Undoing:
    """Reached as `Memory.undoing`."""

    def __init__(
        self, *, pages: Pages, history: PageHistory, reader: Reader, callers: CallerSessions, actor: Actor
    ) -> None:
        self._pages = pages
        self._history = history
        self._reader = reader
        self._callers = callers
        self._actor = actor

    async def undo_session(self, *, session: str, caller: Caller, apply: bool = False) -> Undo:
        """What taking back a session's page writes would do, page by page; with `apply`, do it.

        session: our id, its beginning, or the harness's own. Pages it created are deleted, those it changed get the
        version before, those it deleted come back; what somebody changed since is left and named. Generated pages
        (the session's own, handoffs) are no writes of the session. Raises NotFound, UserError when several fit.
        """
        await self._history.level()
        identifier, lines = await self._lines(session)
        plans = [await self._plan(path, identifier) for path in dict.fromkeys(line.path for line in lines)]
        if apply:
            of = await self._callers.find(caller)
            harness = caller.harness or (of.row.harness if of.row else None)
            actor = replace(self._actor, harness=harness, session=of.session)
            plans = [await self._applied(plan, identifier, actor) for plan in plans]
        return Undo(identifier, apply, tuple(plans))

    async def _lines(self, session: str) -> tuple[SessionId, list[PageLine]]:
        try:
            identifier = (await session_named(self._reader, session)).id
        except NotFound:  # it may have written pages without any event of its own
            lines = await self._reader.read(lines_of_session(session.strip()))
            if not lines:
                raise
            return SessionId(session.strip()), lines
        return identifier, await self._reader.read(lines_of_session(identifier))

    async def _plan(self, path: str, session: SessionId) -> Undone:
        if is_project_page(path):
            return _left(path, None, "it declares its project")
        versions = await self._history.versions(path)
        mine = _trailing(versions, session)
        now = versions[0] if versions else None
        if now is None or not mine:
            return _left(path, now, f"changed since: {_who(now)}" if now else "nothing is known of it any more")
        before = versions[len(mine)] if len(mine) < len(versions) else None
        below = any(one.session == session for one in versions[len(mine) :])
        note = "earlier writes of the session lie under changes of others and stay" if below else ""
        if now.version is not None and now.blob is None:
            return _left(path, now, "its present text is in no commit, so this could not be taken back")
        if before is None or before.version is None:
            if now.version is None:
                return _left(path, now, "the session took it away again itself")
            return Undone(path, "delete", now.version, None, note, f"aimemory undelete {shlex.quote(path)}")
        if before.version == now.version:
            return _left(path, now, "it stands as it was before the session")
        if before.blob is None:
            return _left(path, now, "the text before is in no commit")
        if now.version is None:
            return Undone(path, "restore", None, before.version, note, f"aimemory delete {shlex.quote(path)} --apply")
        back = f"aimemory undelete {shlex.quote(path)} --from {now.version[:12]}"
        return Undone(path, "revert", now.version, before.version, note, back)

    async def _applied(self, plan: Undone, session: SessionId, actor: Actor) -> Undone:
        if plan.action == "leave":
            return plan
        expected = Version(plan.version) if plan.version else None
        summary = f"Undo {session}"
        try:
            if plan.action == "delete" and expected is not None:
                await self._pages.delete(plan.path, expected=expected, actor=actor, summary=summary)
            else:
                target = next(v for v in await self._history.versions(plan.path) if v.version == plan.to and v.blob)
                content = sanitize((await self._history.content(plan.path, target)).decode("utf-8"))
                await self._pages.write(
                    plan.path, content, expected=expected, actor=actor, summary=summary, op="restore"
                )
        except (AimemoryError, UnicodeDecodeError) as error:
            why = str(error) if isinstance(error, AimemoryError) else "the text before is no UTF-8"
            return replace(plan, action="leave", note=why, back="")
        return replace(plan, done=True)


def _trailing(versions: Sequence[PastVersion], session: SessionId) -> list[PastVersion]:
    """The newest versions, as far as they are all of this session."""
    count = next((n for n, one in enumerate(versions) if one.session != session), len(versions))
    return list(versions[:count])


def _who(version: PastVersion) -> str:
    who = "by hand" if version.by_hand else version.harness or version.user or "somebody"
    return f"{version.what} {who if version.by_hand else f'by {who}'}"


def _left(path: str, now: PastVersion | None, why: str) -> Undone:
    return Undone(path, "leave", now.version if now else None, None, why, "")
