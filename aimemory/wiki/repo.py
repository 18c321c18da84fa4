"""The wiki's git repository: commits of single pages, what HEAD holds, and the history of a page.

Works on changed subtrees only, so the cost does not grow with the tree. No hook, signing or configuration of the
user's takes part. All methods block; the owner calls them from one thread. What a merge, a detached HEAD or somebody's
lock forbids is refused with Unavailable and left as it is: the pages are safe on disk and can be committed later.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pygit2
from pygit2.enums import ConfigLevel, FileMode, ReferenceType, RepositoryOpenFlag, RepositoryState

from aimemory import points
from aimemory.datadir import write_atomic
from aimemory.errors import Damaged, NotFound, Unavailable, UserError
from aimemory.model.protocols import Clock, SystemClock
from aimemory.wiki.files import WikiFiles
from aimemory.wiki.gitindex import sync_index
from aimemory.wiki.gitobjects import ObjectSync
from aimemory.wiki.gitpast import PageThen, page_at, renamed_from
from aimemory.wiki.gitrefs import read_log
from aimemory.wiki.locks import is_changing, names_are_held
from aimemory.wiki.names import GITIGNORE, PAGE_SUFFIX, is_ours_ignored

_Nested: TypeAlias = dict[str, "_Nested | pygit2.Oid | None"]

_US = ("aimemory", "aimemory@localhost.invalid")
_ATTEMPTS = 20
_PAUSE_S = 0.02
"""Another git holds a branch for some milliseconds; all attempts together wait 0.4 s."""
_HISTORY_SCAN = 20_000


@dataclass(frozen=True, slots=True)
class PageCommit:
    """One commit that changed a page. blob: git's id of the new content, None where the page was deleted."""

    id: str
    author: str
    when_ns: int
    message: str
    blob: str | None


@dataclass(frozen=True, slots=True)
class _Tip:
    ref: str
    commit: pygit2.Commit | None

    @property
    def tree(self) -> pygit2.Tree | None:
        return self.commit.tree if self.commit else None


class WikiRepo:
    """The repository in `root`; made there, with a `.gitignore` as first commit, when there is none.

    Raises UserError if it belongs to another user, Damaged if it can't be opened. `close` frees it.
    """

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self.root = root
        self._clock = clock or SystemClock()
        self._files = WikiFiles(root)
        self._repo = _open(root)
        self._objects = ObjectSync(Path(self._repo.path))
        self._in_step = False
        self._index_ns = 0
        self._unsynced: dict[str, pygit2.Oid | None] = {}
        self._last: pygit2.Oid | None = None
        self._first_commit()
        self._base = self._branch_id()

    def head(self) -> str | None:
        """Id of the newest commit; None without one, and where that can't be read."""
        found = self._branch_id()
        return str(found) if found is not None else None

    def close(self) -> None:
        self._objects.close()
        self._repo.free()

    def commit(
        self, changes: Mapping[str, bytes | None], *, author_name: str, author_email: str, message: str, when_ns: int
    ) -> str | None:
        """Commit the new content of these pages (None: deleted) on the branch that HEAD names.

        Durable on return. Returns the commit's id, or None when HEAD holds all of it already. A branch that moves
        meanwhile is built upon, never overwritten; see `overtaken` for pages that somebody else committed.
        Raises Unavailable during a merge, rebase or bisect, on a detached HEAD and when the branch stays locked;
        Damaged when HEAD can't be read.
        """
        for path in changes:
            if any(part.startswith(".") or not part for part in path.split("/")):
                raise UserError(f"{path!a} is no page. Only pages are committed.")
        self._put_back_dropped()
        blobs = {path: None if raw is None else self._repo.create_blob(raw) for path, raw in changes.items()}
        points.reached("git.blobs-written")
        made = self._commit(blobs, (author_name, author_email), message, when_ns)
        self._base = self._last if made else self._base
        return made

    def overtaken(self, changes: Sequence[tuple[str, bytes | None, int]]) -> set[int]:
        """Positions of those changes (path, content, when it was queued) that are older than what HEAD has: somebody
        else committed the page since our last commit and since then, as the end of a merge for instance, and its file
        says something else too.

        To be asked once for all that waits; what is asked for again later is measured from where HEAD is now.
        """
        tip, before, self._base = self._tip(), self._base, self._branch_id()
        if tip.commit is None or before is None or tip.commit.id == before:
            return set()
        try:
            old = self._repo[before].peel(pygit2.Commit).tree
        except (KeyError, ValueError, pygit2.GitError):  # pruned since: nothing can be told
            return set()
        return {
            number
            for number, (path, raw, queued_ns) in enumerate(changes)
            if queued_ns < tip.commit.commit_time * 1_000_000_000
            and _blob_id(tip.tree, path) != _blob_id(old, path)
            and self._differs(path, None if raw is None else pygit2.hash(raw))
        }

    def sync_index(self, paths: Iterable[str] | None = None) -> bool:
        """Bring the repository's own index in step with HEAD for our pages; what a person has staged stays.

        paths: besides those committed since the last call. None, and always the first call, when what an earlier run
        left behind isn't known: every path.
        Returns False when the index is locked or a merge is in progress: call again later.
        """
        if self._repo.state() != RepositoryState.NONE:
            return False
        self._put_back_dropped()
        tip = self._tip()
        if tip.commit is None:
            return True
        wanted = {*paths, *self._unsynced} if paths is not None and self._in_step else None
        done = sync_index(self._repo, tip.commit, wanted)
        if done:
            self._unsynced.clear()
            self._in_step = True
            self._index_ns = _time_of(Path(self._repo.path) / "index")
        return done

    def is_changing(self) -> bool:
        """Whether somebody's git is changing files just now: what is found on the disk may be half of a checkout."""
        return is_changing(Path(self._repo.path), self.root, self._index_ns)

    def is_past(self, path: str, raw: bytes) -> bool:
        """Whether the file says something else by now, and this text is in the repository already."""
        blob = pygit2.hash(raw)
        return self._differs(path, blob) and blob in self._repo

    def tracked(self) -> dict[str, str]:
        """All pages that HEAD holds: path → git's id of the content."""
        found: dict[str, str] = {}
        tree = self._tip().tree
        folders = [("", tree)] if tree is not None else []
        while folders:
            prefix, folder = folders.pop()
            for entry in folder:
                name = str(entry.name)
                if is_ours_ignored(name):
                    continue
                if isinstance(entry, pygit2.Tree):
                    folders.append((f"{prefix}{name}/", entry))
                elif name.endswith(PAGE_SUFFIX):
                    found[prefix + name] = str(entry.id)
        return found

    def differing(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The paths for which disk and HEAD differ: new, changed, or deleted on disk.

        What can't be read as a page (a link, too large, closed to us) counts as equal: it is not ours to commit.
        """
        tree = self._tip().tree
        return tuple(path for path in paths if self._differs(path, _blob_id(tree, path)))

    def history(self, path: str, limit: int = 20) -> tuple[PageCommit, ...]:
        """The newest commits that changed this page, newest first, along the branch's first parents."""
        found: list[PageCommit] = []
        parts = path.split("/")
        commit = self._tip().commit
        nothing: list[pygit2.Oid | None] = [None] * len(parts)
        here = _ids_along(commit.tree, parts, nothing) if commit else nothing
        for _ in range(_HISTORY_SCAN):
            if commit is None or len(found) >= limit:
                break
            parent = commit.parents[0] if commit.parents else None
            before = _ids_along(parent.tree, parts, here) if parent else nothing
            if here[-1] != before[-1]:
                when_ns = commit.commit_time * 1_000_000_000
                found.append(PageCommit(str(commit.id), commit.author.name, when_ns, commit.message, _text(here[-1])))
            commit, here = parent, before
        return tuple(found)

    def renamed_from(self, path: str, commit: str) -> str | None:
        """As `gitpast.renamed_from`."""
        return renamed_from(self._repo, path, commit)

    def at(self, commit: str, paths: Sequence[str]) -> PageThen | None:
        """As `gitpast.page_at`."""
        return page_at(self._repo, commit, paths)

    def content(self, blob: str) -> bytes:
        """The bytes of a version that `history` names. Raises Damaged when the repository has lost them."""
        try:
            found = self._repo[blob]
        except (KeyError, ValueError) as error:
            raise Damaged(f"{self.root} lacks the object {blob}. `git -C {self.root} fsck` says more.") from error
        return bytes(found.data) if isinstance(found, pygit2.Blob) else b""

    # -- HEAD --------------------------------------------------------------------------------------------------------

    def _tip(self) -> _Tip:
        """The branch that HEAD names and its newest commit, read anew: people and `git pull` move it."""
        try:
            head = self._repo.lookup_reference("HEAD")
            if head.type != ReferenceType.SYMBOLIC:
                return _Tip("HEAD", self._repo[head.target].peel(pygit2.Commit))
            ref = str(head.target)
            try:
                branch = self._repo.lookup_reference(ref).resolve()
            except KeyError:
                if read_log(Path(self._repo.path), ref):  # a branch that was deleted, or never was, has no log
                    raise ValueError(f"{ref} is gone, though its log names commits") from None
                return _Tip(ref, None)
            return _Tip(branch.name, self._repo[branch.target].peel(pygit2.Commit))
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise Damaged(
                f"HEAD of {self.root} can't be read: {error}. The pages are not affected. `git -C {self.root} fsck` "
                "says what is missing; `aimemory doctor --fix` goes on with the history that is whole."
            ) from error

    def _require_branch(self, tip: _Tip) -> None:
        state = self._repo.state()
        if state != RepositoryState.NONE:
            what = RepositoryState(state).name.lower().replace("_", " ")
            raise Unavailable(f"A {what} is in progress in {self.root}. Finish or abort it; commits wait until then.")
        if tip.ref == "HEAD":
            raise Unavailable(
                f"HEAD of {self.root} is detached. `git -C {self.root} switch main` ends that; commits wait until then."
            )

    def _differs(self, path: str, head: pygit2.Oid | None) -> bool:
        try:
            return bool(self._on_disk(path) != head)
        except (UserError, Unavailable):
            return False

    def _on_disk(self, path: str) -> pygit2.Oid | None:
        try:
            return pygit2.hash(self._files.read(path)[0])
        except NotFound:
            return None

    # -- commits -----------------------------------------------------------------------------------------------------

    def _commit(
        self, blobs: Mapping[str, pygit2.Oid | None], author: tuple[str, str], message: str, when_ns: int
    ) -> str | None:
        nested = _nest(blobs)
        for _ in range(_ATTEMPTS):
            tip = self._tip()
            self._require_branch(tip)
            written = [blob for blob in blobs.values() if blob is not None]
            tree = self._write_tree(tip.tree, nested, written) or self._repo.TreeBuilder().write()
            if tip.commit is not None and tree == tip.commit.tree.id:
                return None
            by, through = _signature(*author, when_ns), _signature(*_US, when_ns)
            text = _clean(message).rstrip() + "\n"
            parents = [tip.commit.id] if tip.commit else []
            try:
                made = self._repo.create_commit(None, by, through, text, tree, parents)
                points.reached("git.commit-written")
                self._objects.sync([*written, tree, made])
                points.reached("git.objects-synced")
                self._move_branch(tip, made, text.split("\n", 1)[0])
            except (pygit2.GitError, OSError, ValueError) as error:
                self._wait_or_raise(tip, error)
                continue
            points.reached("git.branch-moved")
            self._last = made
            self._unsynced.update(blobs)
            return str(made)
        raise Unavailable(
            f"The branch {tip.ref} of {self.root} is locked or keeps moving. Another git is at work; commits wait."
        )

    def _move_branch(self, tip: _Tip, commit: pygit2.Oid, subject: str) -> None:
        """Compare and set: fails with one of git's errors when the branch is no longer where `tip` says, or locked."""
        if tip.commit is None:
            self._repo.create_reference_direct(tip.ref, commit, False, message=f"commit (initial): {subject}")
            return
        branch = self._repo.lookup_reference(tip.ref)
        if branch.target != tip.commit.id:
            raise ValueError("the branch moved")
        branch.set_target(commit, f"commit: {subject}")  # git compares once more, under its lock

    def _wait_or_raise(self, tip: _Tip, error: Exception) -> None:
        """Return when another attempt makes sense: the branch moved, or its lock may go away."""
        now = self._tip()
        moved = (now.ref, now.commit and now.commit.id) != (tip.ref, tip.commit and tip.commit.id)
        if moved:
            return
        if "lock" not in str(error):
            raise Unavailable(f"git could not commit in {self.root}: {error}. Check space and permissions.") from error
        if names_are_held(Path(self._repo.path), self.root):
            time.sleep(_PAUSE_S)

    def _write_tree(self, base: pygit2.Tree | None, nested: _Nested, written: list[pygit2.Oid]) -> pygit2.Oid | None:
        """Write a folder with these changes, each level once, and note it; None when nothing is left in it."""
        builder = self._repo.TreeBuilder(base) if base is not None else self._repo.TreeBuilder()
        for name, change in nested.items():
            old = builder.get(name)
            if isinstance(change, dict):
                below = old if isinstance(old, pygit2.Tree) else None
                folder = self._write_tree(below, change, written)
                if folder is not None:
                    builder.insert(name, folder, FileMode.TREE)
                elif below is not None:
                    builder.remove(name)
            elif change is not None:
                was_executable = old is not None and old.filemode == FileMode.BLOB_EXECUTABLE
                builder.insert(name, change, FileMode.BLOB_EXECUTABLE if was_executable else FileMode.BLOB)
            elif old is not None and not isinstance(old, pygit2.Tree):
                builder.remove(name)
        if not len(builder):
            return None
        written.append(builder.write())
        return written[-1]

    def _put_back_dropped(self) -> None:
        """Commit again what a commit by hand took back because the index was not in step yet.

        Only pages that still stand on disk as we committed them: another content is the person's own will.
        """
        tip = self._tip()
        if not self._unsynced or tip.commit is None or tip.commit.id == self._last:
            return
        dropped = {
            path: blob
            for path, blob in self._unsynced.items()
            if _blob_id(tip.tree, path) != blob and not self._differs(path, blob)
        }
        if dropped:
            self._commit(dropped, _US, "Keep pages that a commit by hand had left out", self._clock.now_ns())

    def _branch_id(self) -> pygit2.Oid | None:
        """Where the branch is; None without a commit, and where that can't be read."""
        try:
            commit = self._tip().commit
        except Damaged:
            return None
        return commit.id if commit else None

    def _first_commit(self) -> None:
        if not self._repo.head_is_unborn or any(True for _ in self._repo.references):
            return
        path = self.root / ".gitignore"
        if not path.exists():
            write_atomic(path, GITIGNORE.encode(), mode=0o644)
        blob = self._repo.create_blob(path.read_bytes())
        self._commit({".gitignore": blob}, _US, "Begin the wiki", self._clock.now_ns())
        self.sync_index([])


def _time_of(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _open(root: Path) -> pygit2.Repository:
    """Open or make the repository with no configuration but its own."""
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.enable_fsync_gitdir(True)
    try:
        if not (root / ".git").is_file() and not (root / ".git" / "HEAD").exists():
            pygit2.init_repository(str(root), initial_head="main").config["core.autocrlf"] = False
        repo = pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH)
        repo.lookup_reference("HEAD")  # what refs do is settled here: they are synced by libgit2
        pygit2.settings.enable_fsync_gitdir(False)  # objects are not, since `ObjectSync` does it faster
        repo.set_ident(*_US)
        return repo
    except pygit2.GitError as error:
        if "owned by" in str(error):
            raise UserError(f"{root} belongs to another user, so git refuses it. Change the owner to yours.") from error
        raise Damaged(
            f"The repository in {root} can't be opened: {error}. `git -C {root} status` may say more."
        ) from error


def _nest(blobs: Mapping[str, pygit2.Oid | None]) -> _Nested:
    root: _Nested = {}
    for path, blob in blobs.items():
        *folders, name = path.split("/")
        level = root
        for folder in folders:
            below = level.get(folder)
            if not isinstance(below, dict):
                below = level[folder] = {}
            level = below
        if blob is not None or not isinstance(level.get(name), dict):
            level[name] = blob
    return root


def _blob_id(tree: pygit2.Tree | None, path: str) -> pygit2.Oid | None:
    try:
        found = tree[path] if tree is not None else None
    except KeyError:
        return None
    return found.id if isinstance(found, pygit2.Blob) else None


def _ids_along(tree: pygit2.Tree, parts: list[str], known: list[pygit2.Oid | None]) -> list[pygit2.Oid | None]:
    """Ids of the folders and the file on a path, None from where it ends.

    known: those of another tree; from the first equal one on they are the same, and nothing more is read.
    """
    found: list[pygit2.Oid | None] = []
    for level, part in enumerate(parts):
        if part not in tree:
            break
        entry = tree[part]
        is_last = level == len(parts) - 1
        if not isinstance(entry, pygit2.Blob if is_last else pygit2.Tree):
            break
        if entry.id == known[level]:
            return found + known[level:]
        found.append(entry.id)
        if isinstance(entry, pygit2.Tree):
            tree = entry
    return found + [None] * (len(parts) - len(found))


def _text(oid: pygit2.Oid | None) -> str | None:
    return None if oid is None else str(oid)


def _signature(name: str, email: str, when_ns: int) -> pygit2.Signature:
    at = datetime.fromtimestamp(when_ns // 1_000_000_000, tz=UTC).astimezone()
    offset = at.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    name, email = (re.sub(r"[<>\n]", "", _clean(part)).strip() for part in (name, email))
    return pygit2.Signature(name or "unknown", email or "unknown@localhost.invalid", when_ns // 1_000_000_000, minutes)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")
