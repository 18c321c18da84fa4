"""Page writes: a journal line (who, which version), then the file, then the index, then, grouped, a commit."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from aimemory import points
from aimemory.errors import AimemoryError, Conflict, Damaged, NotFound, Unavailable, UserError
from aimemory.journal.lines import Record
from aimemory.model.ids import Seq, Version, page_version
from aimemory.model.protocols import Clock
from aimemory.model.scope import Actor
from aimemory.privacy import Sanitized, sanitize
from aimemory.store.committer import Change, Committer, author_of
from aimemory.store.cutoff import withdrawal
from aimemory.store.forgotten import Forgotten
from aimemory.store.gate import FORGOTTEN, PageGate, findings
from aimemory.store.handedits import HandEdits
from aimemory.store.pageindex import PageIndex
from aimemory.store.projector import Projector
from aimemory.store.reader import Reader
from aimemory.store.writer import Append, Writer
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.names import check_new_page_path, check_page_path
from aimemory.wiki.spelling import spelling, twin


class Pages:
    """Reads and writes pages; the only caller of `WikiFiles.write`."""

    def __init__(
        self, *, files: WikiFiles, writer: Writer, projector: Projector, reader: Reader, committer: Committer,
        clock: Clock, actor: Actor, forgotten: Forgotten,
    ) -> None:  # fmt: skip
        self._files = files
        self._writer = writer
        self._projector = projector
        self._committer = committer
        self._clock = clock
        self.gate = PageGate(committer, forgotten, clock)
        self.index = PageIndex(files, projector, clock)
        self.hand_edits = HandEdits(
            files=files, writer=writer, projector=projector, reader=reader, committer=committer, actor=actor,
            gate=self.gate, index=self.index,
        )  # fmt: skip

    async def read(self, path: str) -> tuple[str, Version]:
        """The page's text and version token. Raises NotFound; UserError for a path that leaves the wiki."""
        raw, version = await asyncio.to_thread(self._files.read, check_page_path(path))
        return raw.decode("utf-8", "replace"), version

    async def read_bytes(self, path: str) -> tuple[bytes, Version]:
        """As `read`, byte for byte."""
        return await asyncio.to_thread(self._files.read, check_page_path(path))

    async def spelled(self, path: str) -> str | None:
        """The path as the disk spells it; None when there is nothing. Raises UserError for one that leaves the wiki."""
        return await asyncio.to_thread(spelling, self._files.root, check_page_path(path))

    async def existing(self, paths: Sequence[str]) -> set[str]:
        """Those of these pages that lie on the disk now, or may: what can't be looked at counts as there."""
        return await asyncio.to_thread(self._files.existing, paths)

    async def version(self, path: str) -> Version | None:
        """The version that stands now; None when there is no such page."""
        return await asyncio.to_thread(self._files.version, check_page_path(path))

    async def write(
        self, path: str, content: Sanitized[str] | Sanitized[bytes], *, expected: Version | None, actor: Actor,
        summary: str, look_first: bool = False, op: str = "write",
    ) -> Version:  # fmt: skip
        """Create (`expected` None) or replace a page; returns the new version when it is durable and indexed.

        op: what the journal calls it; `edit` and `restore` are a person's own text, as if typed into the file, `add` is
        what we added to one.
        look_first: take in what happened to this page outside before, so that a person's version has its own commit:
        for writes that somebody asked for. The page itself is compared with the disk in any case, up to its rename.
        Raises Conflict, with the current text, when the page is not at `expected`; NotFound when it is gone.
        """
        path = check_page_path(path) if expected else check_new_page_path(path)
        if sanitize(path).counts:
            raise UserError("The page's path looks as if it held a secret. Choose another name.")
        if look_first:
            await self.hand_edits.look_at([path])
        raw = content.derive(_as_bytes)
        record = self._line(op, path, page_version(raw.value), actor)
        wanted_again = self.gate.is_forgotten(path, page_version(raw.value))

        def operation(append: Append) -> Version:
            self._check(path, expected)
            if expected is None:
                self._refuse_twin(path)
            if wanted_again:
                append(self.gate.acknowledgement(path, page_version(raw.value), actor, FORGOTTEN))
            announced = append(record)  # who wrote this version is known before it can be seen
            try:
                points.reached("page.announced")
                return self._files.write(path, raw, expected)
            except (OSError, Unavailable) as error:
                if self._files.standing(path, expected) == page_version(raw.value):
                    unconfirmed.append(error)  # it was replaced, and then the disk refused to say that this lasts
                    return page_version(raw.value)
                append(self._taken_back(path, announced, expected, actor))
                raise Unavailable(f"{path} can't be written: {_reason(error)}. It is as it was.") from error
            except AimemoryError:  # somebody was faster, at the last instant
                append(self._withdrawal(path, announced, actor))
                raise

        unconfirmed: list[OSError | Unavailable] = []
        version = await self._writer.call(operation)
        if wanted_again:
            self.gate.accept(path, version)
        self.gate.commit(path, raw.value, actor, summary)  # gated too: what a person typed may be part of the page
        if op in ("edit", "restore"):
            self.hand_edits.edited(path, raw.value)
        try:
            await self.index.put([(path, raw.value)])
        except (Unavailable, Damaged):  # it is written; the next walk or the rebuild shows it
            pass
        for error in unconfirmed:
            raise Unavailable(f"{path} was written, but the disk failed behind it: {_reason(error)}. Read it again.")
        return version

    async def delete(self, path: str, *, expected: Version, actor: Actor, summary: str = "Delete") -> None:
        """Take a page away: file, index and, grouped, a commit in the actor's name. Durable and unfindable on return.

        Raises Conflict, with the current text, when the page is not at `expected`; NotFound when it is gone.
        """
        path = check_page_path(path)
        record = self._line("delete", path, None, actor)
        unconfirmed: list[OSError | Unavailable] = []

        def operation(append: Append) -> None:
            self._check(path, expected)
            announced = append(record)
            try:
                points.reached("page.deletion-announced")
                self._files.delete(path, expected)
            except (OSError, Unavailable) as error:
                if self._files.standing(path, expected) is None:
                    unconfirmed.append(error)
                    return
                append(self._taken_back(path, announced, expected, actor))
                raise Unavailable(f"{path} can't be deleted: {_reason(error)}. It is as it was.") from error
            except AimemoryError:
                append(self._withdrawal(path, announced, actor))
                raise

        async with self.hand_edits.taking:  # else a look may see the file gone first, and call that a deletion by hand
            await self._writer.call(operation)
            self.gate.release(path)
            self._committer.add(Change(path, None, *author_of(actor), summary))
            try:
                await self.index.remove([path])
            except (Unavailable, Damaged):  # it is gone; the next walk or the rebuild shows it
                pass
        for error in unconfirmed:
            raise Unavailable(f"{path} was deleted, but the disk failed behind it: {_reason(error)}.")

    async def relocate(
        self, operation: Callable[[Append], Mapping[str, str]], *, actor: Actor, summary: str
    ) -> Mapping[str, str]:
        """Let `operation`, in the writer's thread, write its line and move files; follow with index and commit.

        It returns new paths by old ones, and may raise; so does this.
        """
        async with self.hand_edits.taking:  # else a look may take the files for deleted and others for made by hand
            moves = await self._writer.call(operation)
            try:
                await self._projector.reached(self._writer.last_seq)
                self.index.forget_folders()
                await self.index.remove(list(moves))
                pages = await asyncio.to_thread(self._moved, moves)
                for old, new, raw in pages:
                    self.gate.release(old)
                    self._committer.add(Change(old, None, *author_of(actor), summary))
                    self.gate.commit(new, raw, actor, summary)
                await self.index.put([(new, raw) for _, new, raw in pages])
            except (Unavailable, Damaged):  # the files are in their places; the next walk or the rebuild shows it
                pass
        return moves

    def _moved(self, moves: Mapping[str, str]) -> list[tuple[str, str, bytes]]:
        found = []
        for old, new in moves.items():
            try:
                found.append((old, new, self._files.read(new)[0]))
            except (NotFound, UserError, Unavailable):  # gone again, a link, closed: the walk says what became of it
                continue
        return found

    async def rewrite(
        self, operation: Callable[[Append], Mapping[str, tuple[str, bytes] | None]], *, actor: Actor, summary: str
    ) -> None:
        """Let `operation`, in the writer's thread, write its lines and change files; follow with index and commit.

        It returns, by the path that a page had, the one it has and its bytes, or None for a page that went.
        """
        async with self.hand_edits.taking:  # else a look may take what it finds for a person's doing
            done = await self._writer.call(operation)
            gone = [old for old, now in done.items() if now is None or now[0] != old]
            for path in gone:
                self.gate.release(path)
                self._committer.add(Change(path, None, *author_of(actor), summary))
            left = [now for now in done.values() if now is not None]
            for path, raw in left:
                self.gate.commit(path, raw, actor, summary)
            try:
                await self._projector.reached(self._writer.last_seq)
                if gone:
                    await self.index.remove(gone)
                await self.index.put(left)
            except (Unavailable, Damaged):  # the files are as they shall be; the walk or the rebuild shows it
                pass

    async def accept(self, path: str, actor: Actor) -> str:
        """Acknowledge what is held in a page, as it stands now: it is committed and indexed, until it changes.

        Returns what was found. Raises NotFound; UserError when nothing keeps the page back.
        """
        path = check_page_path(path)
        if (clean := sanitize(path)).counts:
            raise UserError(f"The name of {clean.value} looks as if it held a secret. Rename the page instead.")
        await self.hand_edits.look_at([path])
        raw, version = await asyncio.to_thread(self._files.read, path)
        found = FORGOTTEN if self.gate.is_forgotten(path, version) else findings(path, raw)
        if not found:
            raise UserError(f"Nothing in {path} looks like a secret as it stands; it needs no acknowledgement.")
        await self._writer.record(self.gate.acknowledgement(path, version, actor, found))
        await self._projector.reached(self._writer.last_seq)
        self.gate.accept(path, version)
        async with self.hand_edits.taking:
            self.gate.commit(path, raw, actor, "Accept")
            await self.index.put([(path, raw)])
        return found

    def _refuse_twin(self, path: str) -> None:
        """Names that differ by case or composition alone are one name on other systems."""
        other = twin(self._files.root, path)
        if other is None:
            return
        message = (
            f"{other} is there already; the two names are one on other systems. Write that page, or choose another."
        )
        try:
            raw, version = self._files.read(other)
        except (NotFound, UserError):  # a folder
            raise Conflict(message) from None
        raise Conflict(message, current=raw.decode("utf-8", "replace"), version=version)

    def _check(self, path: str, expected: Version | None) -> None:
        current = self._files.version(path)
        if current == expected:
            return
        if current is None:
            raise NotFound(f"{path} does not exist any more. Write it without a version to create it again.")
        raw, version = self._files.read(path)
        if expected is None:
            message = f"{path} exists already. Read it, and give its version to replace it."
        else:
            message = f"{path} changed on disk since it was read. Read it again and repeat the write."
        raise Conflict(message, current=raw.decode("utf-8", "replace"), version=version)

    def _line(self, op: str, path: str, version: Version | None, actor: Actor) -> Record:
        texts = sanitize(path)
        return Record(
            "page",
            self._clock.now_ns(),
            texts.derive(
                lambda p: (
                    {"op": op, "path": p, "version": version, "user": actor.user, "machine": actor.machine}
                    | ({"harness": actor.harness} if actor.harness else {})
                    | ({"session": actor.session} if actor.session else {})
                )
            ),
        )

    def _taken_back(self, path: str, announced: Seq, stood: Version | None, actor: Actor) -> Record:
        """After a failure of the disk: takes a line back; where it can't be told what lies there, lets both count."""
        try:
            self._files.version(path)
        except (OSError, UserError, Unavailable):
            return self._line("add", path, stood, actor)
        return self._withdrawal(path, announced, actor)

    def _withdrawal(self, path: str, announced: Seq, actor: Actor) -> Record:
        return withdrawal(path, announced, actor, self._clock.now_ns())


def _reason(error: OSError | Unavailable) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8")
