"""Forgetting for good, and today's privacy rules over what is stored: shown first, done with `apply`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aimemory.api.versions import Find
from aimemory.config import Config
from aimemory.errors import NotFound, UserError
from aimemory.index.purges import written_by
from aimemory.model.answers import Accepted, Caller, Forgetting, Rescanning, Retaining
from aimemory.model.protocols import rfc3339_local
from aimemory.model.scope import Actor
from aimemory.privacy import sanitize
from aimemory.sessions.named import session_named
from aimemory.store.pages import Pages
from aimemory.store.past import PageHistory
from aimemory.store.projects import Projects
from aimemory.store.reader import Reader
from aimemory.upkeep.purge.pending import Pending
from aimemory.upkeep.purge.places import archives, change_files, copies_beside
from aimemory.upkeep.purge.plan import Planner
from aimemory.upkeep.purge.rescan import Rescan
from aimemory.upkeep.purge.run import Purge, Receipt
from aimemory.upkeep.purge.search import search_all
from aimemory.upkeep.retention import Retention
from aimemory.wiki.rewrite import remotes_of

KINDS = ("page", "session", "project", "text")
_NAMED = 50
_PLACES = 20


class Forget:
    """Reached as `Memory.forget`. What it does can't be taken back."""

    def __init__(
        self, *, find: Find, planner: Planner, purge: Purge, rescan: Rescan, pages: Pages, history: PageHistory,
        projects: Projects, reader: Reader, config: Config, actor: Actor, retention: Retention,
    ) -> None:  # fmt: skip
        self._find = find
        self._planner = planner
        self._purge = purge
        self._rescan = rescan
        self._pages = pages
        self._history = history
        self._projects = projects
        self._reader = reader
        self._config = config
        self._actor = actor
        self._retention = retention

    async def forget(
        self, *, what: str, name: str, caller: Caller, project: str | None = None, apply: bool = False,
        history: bool = False, backups: bool = False, pages: bool = False,
    ) -> Forgetting:  # fmt: skip
        """Take a page, a session, a project or a text out of everything that is stored; without `apply` only look.

        history: out of git's history too. backups: also remove archives in the data directory's own folder, and
        settings kept by `connect` that hold it. pages: with a session, also pages that it wrote itself.
        Raises NotFound, UserError; Busy while another is under way; Unavailable where git can't be changed now.
        """
        await self._history.level()
        actor = replace(self._actor, harness=caller.harness)
        pending = await self._pending(what, name, caller, project, actor, pages=pages)
        counts, past = await self._planner.look(pending)
        change = self._planner.change_of(pending)
        affected = await asyncio.to_thread(self._planner.affected, change)
        kept = await self._kept_pages(pending, pages)
        if not apply:
            files = await asyncio.to_thread(change_files, self._config.data, change, dry=True)
            shown = counts | {f"{place} files": count for place, count in files.items()} | {"pages": len(affected)}
            said = "" if any(shown.values()) else await self._where_it_stays(pending)
            stays = [said] if said else []
            left = archives(self._config.data)
            names = [path.relative_to(self._config.data.root).as_posix() for path in left]
            return Forgetting(
                what=what, applied=False, counts={k: n for k, n in shown.items() if n}, pages=tuple(affected[:_NAMED]),
                history=history, commits=past.concerned, rewritten=past.changed_commits, versions=len(past.held),
                remains=(*kept, *stays, *self._remains(what, history, past.concerned, names)),
            )  # fmt: skip
        if not counts and not affected and not past.held and not await self._is_elsewhere(pending):
            raise NotFound(await self._where_it_stays(pending) or "Nothing that is stored holds it.")
        pending.history, pending.backups = history, backups
        receipt = await self._purge.run(pending)
        return self._told(receipt, affected, kept)

    async def rescan(self, *, caller: Caller, apply: bool = False, history: bool = False) -> Rescanning:
        """What today's rules find in what is stored; with `apply` it is taken out, but for a person's own pages."""
        await self._history.level()
        found = await self._rescan.look()
        kinds = {place: dict(sorted(count.items())) for place, count in sorted(found.found.items())}
        persons = {sanitize(place).value: dict(sorted(one.items())) for place, one in sorted(found.persons.items())}
        remains = [_stays(place) for place in sorted(found.persons)]
        if found.commits and not history:
            remains.append(f"{found.commits} commits of git's history hold a finding. --history rewrites them.")
        if history and (known := self._remote_names()):
            remains.append(_REMOTES.format(known))
        if names := [path.name for path in archives(self._config.data)]:
            remains.append(f"Backups made before may hold them: {', '.join(names)}.")
        answer = Rescanning(
            applied=False, found=kinds, persons=persons, pages=tuple(found.pages[:_NAMED]), commits=found.commits,
            history=history, remains=tuple(remains),
        )  # fmt: skip
        if not apply or not (kinds and (history or set(kinds) != {"history"})):
            return answer
        receipt = await self._purge.run(
            self._rescan.pending(replace(self._actor, harness=caller.harness), history=history)
        )
        return replace(
            answer, applied=True, counts=receipt.counts, seq=receipt.seq, at=rfc3339_local(receipt.at_ns),
        )  # fmt: skip

    async def retain(self, *, caller: Caller, apply: bool = False) -> Retaining:
        """What is older than `[retention]` keeps it; with `apply` it goes now, else the scheduler sees to it.

        Raises Busy while something else is being taken out; Unavailable where git can't be changed now.
        """
        due = await self._retention.look(replace(self._actor, harness=caller.harness))
        history = self._config.retention.history
        remains = [] if history or not due.pages else [_VERSIONS]
        if due.pages and history and (known := self._remote_names()):
            remains.append(_REMOTES.format(known))
        remains += [_OLD_BACKUPS, _OLD_TRANSCRIPTS] if not due.is_nothing else []
        receipt = await self._retention.apply(due) if apply else None
        return Retaining(
            applied=receipt is not None, days=self._retention.days, history=history,
            counts=receipt.counts if receipt else due.counts, bytes=due.bytes, pages=due.pages[:_NAMED],
            spared=due.spared, remains=tuple(remains), seq=receipt.seq if receipt else None,
            at=rfc3339_local(receipt.at_ns) if receipt else None,
        )  # fmt: skip

    async def accept(self, *, page: str, caller: Caller, project: str | None = None) -> Accepted:
        """Acknowledge what looks like a secret in a page of one's own, as the page stands now.

        Raises NotFound; UserError when nothing keeps it back.
        """
        path = page if page in self._pages.gate.held else (await self._find(page, project, caller))[0]
        return Accepted(path, await self._pages.accept(path, replace(self._actor, harness=caller.harness)))

    # -- helpers -----------------------------------------------------------------------------------------------------

    async def _pending(
        self, what: str, name: str, caller: Caller, project: str | None, actor: Actor, *, pages: bool
    ) -> Pending:
        if what == "page":
            path = name if name in self._pages.gate.held else (await self._find(name, project, caller))[0]
            return await self._planner.page(path, actor)
        if what == "session":
            return await self._planner.session((await session_named(self._reader, name)).id, actor, pages=pages)
        if what == "project":
            found = self._projects.named(name)
            if found is None:
                raise NotFound(f"There is no project {name[:80]!r}. `aimemory project list` shows all.")
            if name.strip().casefold() not in {one.casefold() for one in (found.path, found.folder, found.id)}:
                raise UserError(
                    f"{name[:80]!r} means {found.path}, which goes as a whole. Name it so if you want that."
                )
            others = {one.path for one in self._projects.all() if one.id != found.id}
            return await self._planner.project(found, actor, others=others)
        if what == "text":
            return await self._planner.text(name, actor)
        raise UserError(f"{what[:40]!r} can't be forgotten; {', '.join(KINDS)} can.")

    async def _is_elsewhere(self, pending: Pending) -> bool:
        """In a file that is neither page nor journal."""
        change = self._planner.change_of(pending)
        return bool(await asyncio.to_thread(change_files, self._config.data, change, dry=True))

    async def _where_it_stays(self, pending: Pending) -> str:
        """A sentence on a text that nothing would be changed for, and that is there all the same; "" for none."""
        if pending.text is None:
            return ""
        found = await asyncio.to_thread(search_all, self._config.data.root, [pending.text], disguised=pending.text)
        if not found.found:
            return _OTHER_FORMS.format(_listed(sorted(found.other))) if found.other else ""
        return (
            f"It stands only where it can't be taken out alone, as a part of names and ids: "
            f"{_listed(sorted(found.found))}. Forget the session or the project that is called so."
        )

    async def _kept_pages(self, pending: Pending, with_pages: bool) -> list[str]:
        """Sentences on pages that a session wrote by itself."""
        if pending.what != "session" or with_pages:
            return []
        wrote = [path for path in await self._reader.read(written_by(pending.sessions)) if path not in pending.paths]
        if not wrote:
            return []
        return [f"Pages that it wrote itself stay: {_listed(wrote)}. --pages takes them along."]

    def _told(self, receipt: Receipt, affected: Sequence[str], kept: Sequence[str]) -> Forgetting:
        searched = receipt.searched
        elsewhere = {
            place: count
            for place, count in searched.found.items()
            if not place.startswith("backups/") and (receipt.history or not place.endswith("(history)"))
        }
        remains = [*kept]
        if elsewhere:
            remains.append(
                f"Some of the texts that were looked for are still in {_listed(sorted(elsewhere))}: other things that "
                "hold the same words or link to what went, names of folders, branches and people, or files that are "
                "yours." + (" `aimemory forget text` takes a text out everywhere." if receipt.what != "text" else "")
            )
        if other := searched.other - searched.found.keys():
            remains.append(_OTHER_FORMS.format(_listed(sorted(other))))
        remains += self._remains(receipt.what, receipt.history, receipt.commits, receipt.archives)
        return Forgetting(
            what=receipt.what, applied=True, counts=receipt.counts, pages=tuple(affected[:_NAMED]),
            history=receipt.history, commits=receipt.commits, rewritten=receipt.rewritten if receipt.history else 0,
            versions=receipt.versions, remains=tuple(remains), other_forms=tuple(sorted(other)[:_PLACES]),
            texts=searched.texts, files=searched.files, bytes=searched.bytes, found=_named(searched.found),
            unread=tuple(searched.unread[:_PLACES]), backups_removed=tuple(receipt.removed_archives), seq=receipt.seq,
            at=rfc3339_local(receipt.at_ns),
        )  # fmt: skip

    def _remains(self, what: str, history: bool, commits: int, names: Sequence[str]) -> list[str]:
        """Sentences on what forgetting does not reach, and how to remove that too."""
        said = []
        if commits and not history:
            said.append(f"{commits} commits of the wiki's git history hold it. --history rewrites them.")
        if remotes := self._remote_names():
            said.append(_REMOTES.format(remotes))
        said.append("Clones and copies of the wiki or the data directory that were made elsewhere are not known here.")
        if names:
            said.append(f"Backups made before hold it: {_listed(names)}. --backups removes these.")
        folder = self._config.backup.folder
        if folder and Path(folder) != self._config.data.backups:
            said.append(f"Backups made before in {folder} hold it; delete them there.")
        if beside := copies_beside(self._config.data):
            said.append(
                f"A restore moved aside or left unfinished what may hold it: {_listed(beside)}. Delete that when you "
                "don't need it any more."
            )
        said.append(_BACKUP)
        if what != "page":
            said.append(_TRANSCRIPTS)
        else:
            said.append("What sessions recorded about it stays; `aimemory forget session` or `forget text` takes that.")
        said.append(_DISK)
        return said

    def _remote_names(self) -> str:
        found = remotes_of(self._config.data.wiki)
        return ", ".join(f"{name} ({sanitize(url).value})" for name, url in sorted(found.items()))


_REMOTES = (
    "Remotes keep what was pushed to them: {}. After --history, `git push --force` there, and let the host remove what "
    "no branch names any more."
)
_OTHER_FORMS = (
    "In other forms, which are not taken out (other capitals, words joined otherwise, UTF-16, base64), it still stands "
    "in {}. Forget it as it is written there, or change those files."
)
_VERSIONS = (
    "The wiki's git history keeps the pages as they were; [retention] history = true takes them out of it too, from "
    "then on."
)
_OLD_BACKUPS = (
    "Backups made before hold it. One that is restored brings it back, until the next run takes it out again."
)
_OLD_TRANSCRIPTS = "Agents keep transcripts of their own, in their own folders; aimemory changes none of them."
_BACKUP = "A backup made before, when it is restored, brings it back and knows nothing of this: forget it again then."
_TRANSCRIPTS = (
    "Agents keep transcripts of their own, in their own folders; aimemory changes none of them, and reads those of the "
    "sessions concerned no more."
)
_DISK = "Blocks that the disk has freed, and snapshots of the file system, are out of reach of any program."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _PLACES} more" if len(names) > _PLACES else ""
    return ", ".join(names[:_PLACES]) + more


def _named(found: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(found.items())[:_PLACES])


def _stays(place: str) -> str:
    clean = sanitize(place)
    if clean.counts:
        return f"{clean.value} is your own, and its name looks as if it held a secret: rename it."
    return (
        f"{place} is your own: it stays as you typed it. Take the finding out of it, or acknowledge it with "
        f"`aimemory rescan --accept {place.removeprefix('wiki/')}`."
    )
