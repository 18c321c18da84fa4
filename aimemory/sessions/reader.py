"""Session states read from the index: folded on demand, kept for the sessions that were asked for last."""

from collections import OrderedDict

from aimemory.index.events import observations_of
from aimemory.model.ids import SessionId
from aimemory.model.session import SessionState
from aimemory.sessions.state import apply, fold
from aimemory.store.reader import Reader

_KEPT = 64


class Sessions:
    """`state` of a session, as of what the index shows."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
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
