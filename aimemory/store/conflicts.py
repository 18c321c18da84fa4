"""Conflict copies: texts that could not be written since their page had changed, until a person has looked at them.

They lie in `conflicts/`, not in the wiki: a copy is no page, so nothing may index, brief, commit or send it; and not in
`cache/`, since it is the only one. A file is one line of JSON about it, then the sanitised text that was to be written.
Bounded in number and size: first goes what its writer has written anew, then what agents wrote, and it is counted.
"""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

from aimemory.datadir import write_atomic
from aimemory.errors import NotFound
from aimemory.model.answers import ConflictCopy
from aimemory.model.ids import digest
from aimemory.model.protocols import Clock, rfc3339_local
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized, sanitize, sanitize_tree

MAX_COPIES = 200
MAX_BYTES = 64 << 20
_HEAD_BYTES = 65_536
_DATE = re.compile(r"^updated:.*\n", re.MULTILINE)
"""A second try of the same text differs by it."""
_DROPPED = "dropped"
_SUFFIX = ".txt"


class Conflicts:
    """The copies below `folder`. `load` once before anything else; all methods but `open_copies` block."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._copies: dict[str, ConflictCopy] = {}
        self.dropped = 0

    def load(self) -> None:
        """Read what lies there, anew. A file that can't be read as a copy is left alone."""
        self._copies.clear()
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")) if self._folder.is_dir() else ():
            try:
                with file.open("rb") as opened:
                    copy = ConflictCopy(**json.loads(opened.readline(_HEAD_BYTES)))
            except (OSError, ValueError, TypeError):
                continue
            self._copies[copy.id] = copy
        try:
            self.dropped = int((self._folder / _DROPPED).read_text(encoding="ascii"))
        except (OSError, ValueError):
            self.dropped = 0

    @property
    def all(self) -> list[ConflictCopy]:
        """Newest first."""
        return sorted(self._copies.values(), key=lambda copy: (copy.at, copy.id), reverse=True)

    @property
    def unsettled(self) -> list[ConflictCopy]:
        """Those whose writer has not written the page since; newest first."""
        return [copy for copy in self.all if not copy.settled]

    def keep(
        self, path: str, text: Sanitized[str], *, expected: str | None, stands: str | None, actor: Actor, summary: str
    ) -> ConflictCopy:
        """Keep a text that was to be written against `expected`; the same one twice is one copy. Raises OSError."""
        clean = sanitize(text.value)  # once more: it may hold parts of the page as a person typed them
        name = digest(
            "conflict", path, expected or "", _DATE.sub("", clean.value, 1), actor.session or actor.user, size=4
        )
        about = sanitize_tree({
            "path": path, "summary": summary, "user": actor.user, "harness": actor.harness, "expected": expected,
        })  # fmt: skip
        redacted = sum(clean.counts.values()) + sum(text.counts.values())
        copy = ConflictCopy(
            id=name, path=about.value["path"], at=rfc3339_local(self._clock.now_ns()), user=about.value["user"],
            harness=about.value["harness"], session=actor.session, summary=about.value["summary"],
            expected=about.value["expected"],
            stands=stands, size=len(clean.value.encode("utf-8")), redacted=redacted,
        )  # fmt: skip
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._put(copy, clean)
        self._make_room(copy)
        return copy

    def text(self, name: str) -> tuple[ConflictCopy, str]:
        """A copy by its id and the text in it. Raises NotFound."""
        copy = self._copies.get(name)
        try:
            if copy is not None:
                return copy, self._read(copy)
        except FileNotFoundError:  # removed by hand
            self._copies.pop(name, None)
        raise NotFound(f"There is no conflict copy {name[:40]!r}. `aimemory conflicts` lists them.")

    def drop(self, names: list[str]) -> None:
        """Remove copies; ids that are gone are ignored."""
        for name in names:
            (self._folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)
            self._copies.pop(name, None)

    def settle(self, path: str, actor: Actor) -> None:
        """Who wrote `path` now has seen what stood there: the copies he left of it ask for nobody's attention."""
        for copy in self.unsettled:
            same = copy.session == actor.session if actor.session else copy.user == actor.user and not copy.session
            if copy.path == path and same:
                try:
                    text = self._read(copy)
                except OSError:
                    continue
                self._put(replace(copy, settled=True), sanitize(text))

    def _put(self, copy: ConflictCopy, text: Sanitized[str]) -> None:
        head = json.dumps(asdict(copy), ensure_ascii=False)
        content = text.derive(lambda kept: f"{head}\n{kept}".encode())
        write_atomic(self._folder / f"{copy.id}{_SUFFIX}", content.value)
        self._copies[copy.id] = copy

    def _read(self, copy: ConflictCopy) -> str:
        raw = (self._folder / f"{copy.id}{_SUFFIX}").read_bytes()
        return raw.partition(b"\n")[2].decode("utf-8", "replace")

    def _make_room(self, newest: ConflictCopy) -> None:
        queue = sorted(self._copies.values(), key=lambda copy: (not copy.settled, copy.harness is None, copy.at))
        gone = 0
        size = sum(copy.size for copy in queue)
        for copy in queue:
            if len(self._copies) <= MAX_COPIES and size <= MAX_BYTES:
                break
            if copy.id != newest.id:
                self.drop([copy.id])
                size -= copy.size
                gone += 0 if copy.settled else 1
        if gone:
            self.dropped += gone
            write_atomic(self._folder / _DROPPED, str(self.dropped).encode())
