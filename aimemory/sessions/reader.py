"""Session states read from the index: folded on demand, kept for the sessions that were asked for last."""

import asyncio
import os.path
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from aimemory.errors import Unavailable
from aimemory.facts.known import Unknown
from aimemory.facts.transcript.read import Transcript, read_transcript
from aimemory.index.events import observations_of
from aimemory.model.ids import SessionId
from aimemory.model.session import SessionState
from aimemory.model.transcript import TranscriptSource
from aimemory.project.bounds import Bounds
from aimemory.sessions.enrich import enrich, without_ignored, without_places
from aimemory.sessions.state import apply, fold
from aimemory.store.reader import Reader

_KEPT = 64
_READ_S = 10.0
_SLACK_S = 5.0
"""More than reading may take by itself: a file on a share that hangs holds its thread, not the caller."""

_THREADS = 4
"""Of our own, so that such files hold nobody else's work."""

BoundsOf = Callable[[SessionId, str | None], Awaitable[Bounds]]
"""What may be kept of a session in a directory."""


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Where harnesses keep their own records. source_of: None for a harness that keeps none we can read. is_off:
    whether nothing may be recorded of a directory; raises Unavailable when that can't be told. is_untold: whether
    something of a session was forgotten, which its transcript would bring back."""

    source_of: Callable[[str], TranscriptSource | None]
    bounds_of: BoundsOf
    is_off: Callable[[str | None], bool]
    home: str
    env: Mapping[str, str]
    is_untold: Callable[[SessionId], bool] = lambda session: False


class Sessions:
    """`state` of a session, as of what the index shows; `enriched` with what its harness's own record adds."""

    def __init__(self, reader: Reader, transcripts: Transcripts | None = None) -> None:
        self._reader = reader
        self._transcripts = transcripts
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="transcripts")
        self._reading: dict[str, asyncio.Future[Transcript | Unknown]] = {}
        self._states: OrderedDict[SessionId, tuple[SessionState, int]] = OrderedDict()

    async def state(self, session: SessionId) -> SessionState | None:
        """The fold over the session's observations by capture time; None if there are none.

        Goes on from the kept state; an observation that was captured earlier but arrived later folds anew.
        """
        kept = self._states.pop(session, None)
        state, seq = kept if kept is not None else (None, 0)
        news = await self._reader.read(observations_of(session, after_seq=seq))
        if state is None:
            state = fold(news)
        elif any(not apply(state, observation) for observation in news):  # one came late: fold anew
            state = fold(await self._reader.read(observations_of(session)))
        if state is not None:
            self._states[session] = state, max([seq, *(o.seq for o in news)])
            if len(self._states) > _KEPT:
                self._states.popitem(last=False)
        return state

    def drop_all(self) -> None:
        """Fold everything anew at the next question: what the journal said has changed."""
        self._states.clear()

    async def enriched(self, session: SessionId, *, limit_s: float = _READ_S) -> SessionState | None:
        """As `state`, with what the harness's transcript adds; a value of its own, to be kept by nobody.

        Where the transcript can't be read within the limit, `transcript` of the state says why, and the rest is as
        observed. Costs a read of the whole file: for closing a session, not for each question.
        """
        state = await self.state(session)
        if state is None or self._transcripts is None:
            return state
        source = self._transcripts.source_of(state.harness)
        if source is None:
            return state
        try:
            found = await self._transcript(state, source, limit_s)
        except Unavailable as error:
            found = Unknown(str(error))
        if isinstance(found, Unknown):
            return replace(state, transcript=f"not read: {found.reason}")
        observations = await self._reader.read(observations_of(session))
        return await asyncio.to_thread(enrich, observations, found) or state

    async def _transcript(self, state: SessionState, source: TranscriptSource, limit_s: float) -> Transcript | Unknown:
        """Read in a thread, and only what the capture rules of the session's directory let through."""
        where = self._transcripts
        if where is None or state.transcript_path is None:
            return Unknown("the hooks named none")
        if where.is_untold(state.id):
            return Unknown("something of this session was forgotten")
        bounds = await where.bounds_of(state.id, state.cwd)
        if bounds.rules.mode != "full":
            return Unknown(f"capture of this project is {bounds.rules.mode}")
        path, native = state.transcript_path, state.native or None

        def read() -> Transcript | Unknown:
            found = read_transcript(source, path, session=native, home=where.home, env=where.env, limit_s=limit_s)
            if isinstance(found, Unknown):
                return found
            try:
                return without_places(without_ignored(found, bounds, os.path.realpath), where.is_off)
            except Unavailable as error:
                return Unknown(str(error))

        try:
            async with asyncio.timeout(limit_s + _SLACK_S):
                return await self._read_alone(path, read)
        except TimeoutError:
            return Unknown(f"it did not answer within {limit_s + _SLACK_S:.0f} s")

    async def _read_alone(self, path: str, read: Callable[[], Transcript | Unknown]) -> Transcript | Unknown:
        """Run `read` in a thread, once an earlier look at the same file has ended: one that hangs holds one thread,
        however often it is asked for."""
        while (earlier := self._reading.get(path)) is not None:
            await asyncio.shield(earlier)
        reading = asyncio.get_running_loop().run_in_executor(self._threads, read)
        self._reading[path] = reading
        reading.add_done_callback(lambda _: self._reading.pop(path, None))
        return await asyncio.shield(reading)
