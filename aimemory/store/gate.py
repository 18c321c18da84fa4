"""What keeps a page that somebody wrote out of git, and out of answers, until a person says otherwise."""

from aimemory.journal.lines import Record
from aimemory.model.ids import Version, page_version
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize, sanitize_tree
from aimemory.store.committer import Change, Committer, author_of
from aimemory.store.forgotten import Forgotten
from aimemory.wiki.merge import has_conflict_markers

FORGOTTEN = "it was forgotten"
"""Why a page is held whose very bytes were forgotten at this place, and lie there again."""

CONFLICT_MARKERS = "conflict markers of git"
"""In place of the kinds of findings."""


class PageGate:
    """Knows which pages are held, and what was acknowledged; queues the commits of all others."""

    def __init__(self, committer: Committer, forgotten: Forgotten, clock: Clock) -> None:
        self._committer = committer
        self._forgotten = forgotten
        self._clock = clock
        self._accepted: dict[str, str] = {}
        self._held: dict[str, str] = {}

    @property
    def held(self) -> dict[str, str]:
        """Pages edited by hand that are not committed, with the kinds of findings that keep them back, or `FORGOTTEN`:
        those are in no answer either."""
        return dict(sorted(self._held.items()))

    def commit(self, path: str, raw: bytes, actor: Actor, summary: str, *, outside: bool = False) -> None:
        """Queue a commit, unless something in the page or its name looks like a secret, or a conflict of git's is left
        in it; then it is held and named."""
        if has_conflict_markers(raw.decode("utf-8", "replace")):
            self._held[path] = CONFLICT_MARKERS
            return
        found = findings(path, raw)
        if found and not self.is_accepted(path, page_version(raw)):
            self._held[path] = found
            return
        self._held.pop(path, None)
        self._committer.add(Change(path, raw, *author_of(actor), summary, outside))

    def hold_forgotten(self, path: str) -> None:
        """Its very bytes were forgotten at this place."""
        self._held[path] = FORGOTTEN

    def release(self, path: str) -> None:
        """It is gone, or another page now."""
        self._held.pop(path, None)

    def is_accepted(self, path: str, version: Version) -> bool:
        """Whether a person has acknowledged what is in this very version of the page."""
        return path in self._accepted and self._accepted[path] == self._forgotten.veil("file", path, version)

    def is_forgotten(self, path: str, version: Version) -> bool:
        """Whether these very bytes were forgotten at this place, and nobody wants them again."""
        return self._forgotten.is_file(path, version) and not self.is_accepted(path, version)

    def accept(self, path: str, version: Version) -> None:
        """From now on nothing in this version holds it."""
        self._accepted[path] = self._forgotten.veil("file", path, version)

    def take_accepted(self, accepted: dict[str, str]) -> None:
        """What the journal says of acknowledged pages: veiled versions by path."""
        self._accepted = accepted

    def acknowledgement(self, path: str, version: Version, actor: Actor, found: str) -> Record:
        """The version is veiled: from a plain hash of a page that is known but for one word, the word could be told."""
        veiled = self._forgotten.veil("file", path, version)
        said = {"path": path, "version": veiled, "found": found, "user": actor.user, "machine": actor.machine}
        return Record("accept", self._clock.now_ns(), sanitize_tree(said))


def findings(path: str, raw: bytes) -> str:
    """What looks like a secret in a page or its name: kinds and numbers; empty for nothing."""
    found = sanitize(f"{path}\n{raw.decode('utf-8', 'replace')}").counts
    return ", ".join(f"{count} × {kind}" for kind, count in sorted(found.items()))
