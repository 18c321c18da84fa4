"""Ids as types of their own, and how the derived ones are made.

Derived ids are hashes of what they name, so a rebuild, a retry or a second delivery gives the same id.
"""

from hashlib import blake2b
from typing import NewType

Seq = NewType("Seq", int)
"""Position in the journal: 1, 2, 3 … over all segments, never reused."""

ObservationId = NewType("ObservationId", str)
SessionId = NewType("SessionId", str)
"""Ours: derived from harness and the harness's own id (`session_id`)."""

ProjectId = NewType("ProjectId", str)
PageId = NewType("PageId", str)
Version = NewType("Version", str)
"""Version token of a page: a hash of the file's bytes."""


def digest(*parts: str, size: int = 8) -> str:
    """Hex digest of `size` bytes over the parts; parts can't run into one another."""
    joined = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def imported_id(bundle: str, path: str) -> PageId:
    """Id of a page that was imported, whatever its own front matter says: others' ids may be ours too."""
    return PageId(f"okf-{digest('okf', bundle, path, size=6)}")


def session_id(harness: str, native: str) -> SessionId:
    """Our id of a harness's session; the same for every event that carries that session's own id."""
    return SessionId(digest("session", harness, native, size=6))


def observation_id(key: str) -> ObservationId:
    """From an event's key, which is a digest itself: its first 16 hex digits."""
    return ObservationId(key[:16])


def page_version(content: bytes) -> Version:
    """The version token of a page with this content."""
    return Version(blake2b(content, digest_size=16).hexdigest())
