"""A page's line in the journal whose write or deletion never came to the disk: what a crash between the two leaves."""

from aimemory.errors import NotFound, Unavailable, UserError
from aimemory.index.events import written
from aimemory.journal.lines import Line, Record
from aimemory.model.ids import Seq
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize_tree
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Append, Writer
from aimemory.wiki.files import WikiFiles

_OPS = ("write", "add", "edit", "restore", "delete")


def withdrawal(path: str, announced: Seq, actor: Actor, at_ns: int) -> Record:
    """Takes a line back whose write or deletion was refused: it is in no history, and what stood before counts."""
    said = {"op": "withdraw", "path": path, "of": announced, "user": actor.user, "machine": actor.machine}
    return Record("page", at_ns, sanitize_tree(said))


async def take_back_cut_off(
    last: Line | None, *, files: WikiFiles, reader: Reader, writer: Writer, projector: Projector, clock: Clock,
    actor: Actor,
) -> bool:  # fmt: skip
    """At a start: take back the line that the journal ended with, if it announces what never came to the disk; returns
    whether it did.

    The writer brings each deed to the disk before it does anything else, so only the very last line can be without its
    own. Raises Unavailable when the journal takes nothing now.
    """
    if last is None or last.type != "page" or last.data.get("op") not in _OPS:
        return False
    path = str(last.data["path"])
    row = (await reader.read(written([path]))).get(path)
    if row is None or row.seq != last.seq:  # a newer one speaks of the page
        return False

    def operation(append: Append) -> bool:
        never = _never_came(files, path, last, is_first=row.before is None)
        if never:
            append(withdrawal(path, Seq(last.seq), actor, clock.now_ns()))
        return never

    done = await writer.call(operation)
    await projector.reached(writer.last_seq)
    return done


def _never_came(files: WikiFiles, path: str, line: Line, *, is_first: bool) -> bool:
    """Whether what was there before the line stands there still; False where nobody can tell."""
    version = line.data.get("version")
    try:
        stands = files.version(path)
        if stands is None:
            return version is not None and is_first
        return stands != version and (files.root / path).stat().st_mtime_ns <= line.at_ns
    except (OSError, NotFound, UserError, Unavailable):
        return False
