"""What readers say of pages: helpful, not helpful, stale, wrong; and taking that back."""

from typing import Any

from aimemory.api.lookup import Where, refuse_where_off
from aimemory.api.versions import Find
from aimemory.errors import NotFound, Unavailable, UserError
from aimemory.index.feedback import VERDICTS, WITHDRAW, FeedbackRow, feedback_of, feedback_to_withdraw
from aimemory.index.pages import page as page_info
from aimemory.journal.lines import Record
from aimemory.model.answers import Caller, FeedbackGiven, FeedbackView
from aimemory.model.ids import PageId
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize_tree
from aimemory.sessions.caller import CallerSessions
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Writer

MAX_NOTE_CHARS = 1000


class Feedback:
    """Reached as `Memory.feedback`."""

    def __init__(
        self, *, find: Find, near: Where, writer: Writer, projector: Projector, reader: Reader,
        callers: CallerSessions, clock: Clock, actor: Actor,
    ) -> None:  # fmt: skip
        self._find = find
        self._near = near
        self._writer = writer
        self._projector = projector
        self._reader = reader
        self._callers = callers
        self._clock = clock
        self._actor = actor

    async def give(
        self, *, page: str, verdict: str, caller: Caller, note: str = "", project: str | None = None,
        seq: int | None = None, surface: str | None = None,
    ) -> FeedbackGiven:  # fmt: skip
        """Record what the caller thinks of a page, as it stands; what it said of it before counts no more.

        verdict: helpful, not helpful, stale, wrong; or `withdraw`, which takes back what the caller said, or the line
        `seq` of anybody. surface: stands for the harness of a caller of whom no more is known. The answer is durable
        and in force. Raises UserError for a verdict that is none, NotFound for no such page, or nothing to withdraw.
        """
        verdict = " ".join(verdict.lower().replace("-", " ").replace("_", " ").split())
        if verdict not in (*VERDICTS, WITHDRAW):
            raise UserError(f"{verdict[:40]!r} is no verdict. Say {', '.join(VERDICTS)}, or {WITHDRAW}.")
        if len(note) > MAX_NOTE_CHARS:
            raise UserError(f"The note has {len(note):,} characters, at most {MAX_NOTE_CHARS:,}: write a page instead.")
        path, where = await self._find(page, project, caller)
        refuse_where_off(where.off_by, caller, project)
        info = await self._reader.read(page_info(path))
        if info is None:
            raise Unavailable(f"{path} is not in the index yet. Try again.")
        of = await self._callers.find(caller)
        who = {
            "user": self._actor.user, "harness": caller.harness or (of.row.harness if of.row else surface),
            "session": of.session,
        }  # fmt: skip
        taken: list[int] = []
        if verdict == WITHDRAW:
            taken = await self._reader.read(
                feedback_to_withdraw(info.id, who["user"], who["harness"], who["session"], seq)
            )
            if not taken:
                whose = f"No line {seq} of the journal says" if seq is not None else "The caller has said"
                raise NotFound(f"{whose} nothing of {path} that could be withdrawn. `aimemory read` shows what counts.")
        about: dict[str, Any] = {"op": verdict, "page": info.id, "path": path, "machine": self._actor.machine, **who}
        about |= {"of": taken} if taken else {"version": info.version, "note": " ".join(note.split())}
        data = sanitize_tree({name: value for name, value in about.items() if value not in (None, "")})
        written = await self._writer.record(Record("feedback", self._clock.now_ns(), data))
        await self._projector.reached(written)
        return FeedbackGiven(
            path=path, id=info.id, title=info.title, verdict=verdict, seq=written, withdrawn=tuple(taken),
            feedback=await said_of(self._reader, info.id), redacted=dict(data.counts),
        )  # fmt: skip


async def said_of(reader: Reader, page: PageId, limit: int = 20) -> tuple[FeedbackView, ...]:
    """What counts of what was said of a page, the newest first."""
    return tuple(map(_view, (await reader.read(feedback_of([page])))[:limit]))


def _view(row: FeedbackRow) -> FeedbackView:
    return FeedbackView(
        seq=row.seq, verdict=row.verdict, note=row.note, at=rfc3339_local(row.at_ns), user=row.user,
        harness=row.harness, session=row.session, is_current=bool(row.is_current),
    )  # fmt: skip
