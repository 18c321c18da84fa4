"""What was forgotten and must not come back by itself: sessions, retries of events, files of pages.

The journal's `purge` lines say what; nothing in them says what it was. Where something has to be recognised again, they
hold a keyed hash of it (`veil`) whose key lies in `private/`: without that key a short secret can't be guessed from it.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from aimemory.model.ids import SessionId

REASON = "its session was forgotten"
EVENT_REASON = "it was forgotten"


class Forgotten:
    """Asked at every event; answers from memory. Filled from `purge` lines by `take`, in any order, twice is fine."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._sessions: set[str] = set()
        self._events: set[str] = set()
        self._files: set[str] = set()
        self._untold: set[str] = set()
        self.redacted = False
        """Whether events may be stored under a veiled key, so that a retry has to be looked up under that too."""

    def veil(self, kind: str, *parts: str) -> str:
        """A keyed hash, 32 hex digits. kind: what it is of, so that two kinds never agree."""
        text = "".join(f"{len(part)}:{part}" for part in (kind, *parts))
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key[:64]).hexdigest()

    def veiled_key(self, key: str) -> str:
        """Under what an event is known whose own key was made from text that it no longer holds."""
        return self.veil("event", key)

    def take(self, data: Mapping[str, Any]) -> None:
        """The data of one `purge` line; unknown fields and ops are ignored."""
        self._sessions.update(_texts(data.get("sessions")))
        self._events.update(_texts(data.get("events")))
        self._files.update(_texts(data.get("files")))
        self._untold.update(_texts(data.get("untold")))
        self.redacted = self.redacted or data.get("redacted") is True

    def is_session(self, session: SessionId | str | None) -> bool:
        """Nothing more of this session is recorded."""
        return session is not None and session in self._sessions

    def is_event(self, key: str) -> bool:
        """This very event, which belonged to no session, was forgotten."""
        return bool(self._events) and self.veiled_key(key) in self._events

    def is_untold(self, session: SessionId | str) -> bool:
        """Something of this session was forgotten, which its harness's own transcript still holds."""
        return session in self._untold or session in self._sessions

    def is_file(self, path: str, version: str) -> bool:
        """A page with exactly these bytes was forgotten at this place: who puts it there again is asked first."""
        return bool(self._files) and self.veil("file", path, version) in self._files


def _texts(value: Any) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
