"""Rewriting the wiki's history so that something was never in it.

Works on raw objects, so that what isn't concerned keeps every byte and its id. `prepare` only adds objects; `switch`
moves each branch in one step, by compare-and-set; `prune` (its own module) then removes what nothing names any more.
Killed in between, a branch has the old history or the new one, and doing it again finishes it. All of it blocks, in the
committer's thread.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import ObjectType, ReferenceType, RepositoryState, SortMode

from aimemory.datadir import write_atomic
from aimemory.errors import Unavailable
from aimemory.model.ids import Version, page_version
from aimemory.wiki.gitindex import edit_index
from aimemory.wiki.gitobjects import ObjectSync
from aimemory.wiki.locks import names_are_held
from aimemory.wiki.rawobject import GITLINK, TREE, entries_of, message_of, named_in, with_changed

_REMOTES = "refs/remotes/"
_ASIDE = ("ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG", "AUTO_MERGE")
"""Files in which git remembers its last doings; none is needed while nothing is in progress."""
_REFLOG = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\t\n]*)(?:\t([^\n]*))?\n?")
_ZERO = b"0" * 40


class Filter(Protocol):
    """What the history shall have been."""

    def blob(self, path: str, read: Callable[[], bytes]) -> bytes | None:
        """The content of a file at a path: None if it shall not have been there. What stays must compare equal."""

    def name(self, path: str) -> str:
        """Its path; only the last part may differ."""

    def message(self, raw: bytes) -> bytes:
        """A commit's, a tag's or a reflog's message."""


@dataclass(slots=True)
class Prepared:
    """A new history beside the old one. commits: new ids by old ones, of all. refs: (old, new) id of those that move.

    concerned: how many commits hold it, in a file or in their message. versions: of every file that had another content
    its version then and now; None where it went. held: path and version of each.
    """

    commits: dict[str, str] = field(default_factory=dict)
    refs: dict[str, tuple[str, str]] = field(default_factory=dict)
    versions: dict[Version, Version | None] = field(default_factory=dict)
    held: set[tuple[str, Version]] = field(default_factory=set)
    remotes: list[str] = field(default_factory=list)
    concerned: int = 0

    @property
    def changed_commits(self) -> int:
        """How many get a new id, since they or one before them hold it."""
        return sum(1 for old, new in self.commits.items() if old != new)


def refuse_unready(root: Path) -> None:
    """Raises Unavailable where the history can't be rewritten now, with what to do about it."""
    if (root / ".git").is_file():
        raise Unavailable(f"The repository of {root} lies elsewhere, so its history is left to you.")
    repo = pygit2.Repository(str(root))
    try:
        if repo.state() != RepositoryState.NONE:
            what = RepositoryState(repo.state()).name.lower().replace("_", " ")
            raise Unavailable(f"A {what} is in progress in {root}. Finish or abort it first; nothing was done.")
        if repo.lookup_reference("HEAD").type != ReferenceType.SYMBOLIC:
            raise Unavailable(f"HEAD of {root} is detached. `git -C {root} switch main` first; nothing was done.")
        git_dir = Path(repo.path)
        for name, what in (("worktrees", "has other work trees"), ("shallow", "is shallow")):
            found = git_dir / name
            if found.is_file() or (found.is_dir() and any(found.iterdir())):
                raise Unavailable(f"The repository in {root} {what}, which can't be rewritten here. Nothing was done.")
    finally:
        repo.free()


def remotes_of(root: Path) -> dict[str, str]:
    """The remotes that the wiki's repository knows: their addresses by name. Empty where it can't be read."""
    try:
        repo = pygit2.Repository(str(root))
    except pygit2.GitError:
        return {}
    try:
        return {str(remote.name): str(remote.url) for remote in repo.remotes}
    finally:
        repo.free()


def prepare(root: Path, change: Filter, *, dry: bool = False) -> Prepared:
    """Make the new history's objects, durably; no branch names them yet. dry: write nothing, for the numbers alone.

    Raises Unavailable where the history can't be read or the disk refuses.
    """
    try:
        repo = pygit2.Repository(str(root))
        try:
            return _Rewriting(repo, change, dry=dry).run()
        finally:
            repo.free()
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise Unavailable(f"The history of {root} can't be read or written: {error}.") from error


def switch(root: Path, prepared: Prepared, change: Filter) -> None:
    """Let every branch, tag and stash name the new history, and change the reflogs and git's own index along.

    Remote-tracking branches go: they speak of copies elsewhere, and the next fetch makes them again. Raises Unavailable
    when a branch moved since `prepare`: begin again.
    """
    repo = pygit2.Repository(str(root))
    git_dir = Path(repo.path)
    logs = {path: path.read_bytes() for path in sorted((git_dir / "logs").rglob("*")) if path.is_file()}
    try:
        for name, (old, new) in prepared.refs.items():
            if str(repo.lookup_reference(name).target) != old:
                raise Unavailable(f"{name} of {root} moved meanwhile.")
            if old != new:
                repo.lookup_reference(name).set_target(pygit2.Oid(hex=new), "rewritten")
        for name in prepared.remotes:
            repo.references.delete(name)
        packed = git_dir / "packed-refs"
        if packed.exists() and any(old in packed.read_text("ascii", "replace") for old, new in _moved(prepared)):
            repo.compress_references()  # else a line of the file still names what is to go
        _change_index(repo, change)
    except (pygit2.GitError, KeyError, ValueError) as error:
        names_are_held(git_dir, root)  # what a kill in this very place has left goes, and the next attempt succeeds
        raise Unavailable(f"The history of {root} can't be changed just now: {error}.") from error
    finally:
        repo.free()
    known = set(prepared.commits.values())
    for log, raw in logs.items():
        if log.relative_to(git_dir / "logs").as_posix().startswith(_REMOTES):
            log.unlink(missing_ok=True)
        else:
            write_atomic(log, b"".join(_log_lines(raw, prepared.commits, known, change.message)))
    for name in _ASIDE:
        (git_dir / name).unlink(missing_ok=True)


def _change_index(repo: pygit2.Repository, change: Filter) -> None:
    """Entries that HEAD doesn't have as they are: what a person has staged, and what was not in step yet.

    Raises Unavailable while the index is locked.
    """
    tree = repo.head.peel(pygit2.Tree) if not repo.head_is_unborn else None
    if not edit_index(repo, lambda index: _is_changed(index, repo, tree, change)):
        raise Unavailable(f"Another git holds the index of {repo.workdir}. Try again when it is done.")


def _is_changed(index: pygit2.Index, repo: pygit2.Repository, tree: pygit2.Tree | None, change: Filter) -> bool:
    changed = False
    for entry in list(index):
        if (tree is not None and entry.path in tree and tree[entry.path].id == entry.id) or entry.id not in repo:
            continue

        def read(oid: pygit2.Oid = entry.id) -> bytes:
            return bytes(repo.odb.read(oid)[1])

        new, place = change.blob(entry.path, read), change.name(entry.path)
        if new == read() and place == entry.path:
            continue
        index.remove(entry.path)
        if new is not None:
            index.add(pygit2.IndexEntry(place, repo.create_blob(new), entry.mode))
        changed = True
    return changed


def _moved(prepared: Prepared) -> Iterable[tuple[str, str]]:
    return [pair for pair in (*prepared.refs.values(), *prepared.commits.items()) if pair[0] != pair[1]]


def _log_lines(
    raw: bytes, commits: Mapping[str, str], known: set[str], message: Callable[[bytes], bytes]
) -> Iterable[bytes]:
    """A reflog's lines in the new history's ids; what leads to a commit that no ref leads to goes."""

    def mapped(oid: bytes) -> bytes | None:
        text = oid.decode("ascii")
        new = commits.get(text) or (text if text in known or oid == _ZERO else None)
        return new.encode("ascii") if new else None

    for line in raw.splitlines(keepends=True):
        m = _REFLOG.fullmatch(line)
        if m is not None and (new := mapped(m[2])) is not None:
            text = b"\t" + message(m[4]) if m[4] is not None else b""
            yield b"%b %b %b%b\n" % (mapped(m[1]) or _ZERO, new, m[3], text)


class _Rewriting:
    def __init__(self, repo: pygit2.Repository, change: Filter, *, dry: bool) -> None:
        self._repo = repo
        self._odb = repo.odb
        self._change = change
        self._dry = dry
        self._trees: dict[tuple[bytes, str], bytes | None] = {}
        self._files: dict[tuple[bytes, str], bytes | None] = {}
        self._roots: dict[str, bytes] = {}
        self._written: list[pygit2.Oid] = []
        self.done = Prepared()

    def run(self) -> Prepared:
        heads = self._heads()
        for commit in self._walk([*heads.values(), *self._stashed()]):
            self._commit(str(commit.id))
        for name, oid in heads.items():
            new = self._object(oid)
            self.done.refs[name] = (oid, new)
        if not self._dry and self._written:
            sync = ObjectSync(Path(self._repo.path))
            try:
                sync.sync(self._written)
            finally:
                sync.close()
        return self.done

    def _heads(self) -> dict[str, str]:
        found = {}
        for name in self._repo.references:
            ref = self._repo.lookup_reference(name)
            if name.startswith(_REMOTES):
                self.done.remotes.append(name)
            elif ref.type == ReferenceType.DIRECT:
                found[name] = str(ref.target)
        return found

    def _stashed(self) -> list[str]:
        log = Path(self._repo.path) / "logs" / "refs" / "stash"
        lines = log.read_bytes().splitlines() if log.exists() else []
        oids = [m[2].decode() for line in lines if (m := _REFLOG.fullmatch(line)) is not None]
        return [oid for oid in oids if oid in self._repo]

    def _walk(self, oids: list[str]) -> Iterable[pygit2.Commit]:
        walker = None
        for oid in dict.fromkeys(oids):
            found = self._repo[oid]
            target = found.peel(pygit2.Commit) if isinstance(found, pygit2.Commit | pygit2.Tag) else None
            if target is None:
                continue
            if walker is None:
                walker = self._repo.walk(target.id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
            else:
                walker.push(target.id)
        return walker or ()

    def _object(self, oid: str) -> str:
        """The new id of what a ref names: a commit, or a tag of one."""
        if oid in self.done.commits:
            return self.done.commits[oid]
        kind, raw = self._odb.read(pygit2.Oid(hex=oid))
        if kind != ObjectType.TAG:
            return oid
        head, gap, text = raw.partition(b"\n\n")
        target = head.split(b"\n", 1)[0].removeprefix(b"object ").decode()
        new = self._object(target)
        made = head.replace(target.encode(), new.encode(), 1) + gap + self._change.message(text)
        return oid if made == raw else self._write(ObjectType.TAG, made)

    def _commit(self, oid: str) -> None:
        _, raw = self._odb.read(pygit2.Oid(hex=oid))
        old_tree, parents = named_in(raw)
        tree = self._tree(bytes.fromhex(old_tree), "")
        new_tree = tree.hex() if tree is not None else self._write(ObjectType.TREE, b"")
        self._roots[oid] = bytes.fromhex(new_tree)
        new_parents = [self.done.commits.get(parent, parent) for parent in parents]
        message = self._change.message(message_of(raw))
        if new_tree == old_tree and new_parents == parents and message == message_of(raw):
            self.done.commits[oid] = oid
            return
        self.done.concerned += new_tree != old_tree or message != message_of(raw)
        if len(parents) == 1 and self._is_emptied(old_tree, new_tree, parents[0]):
            self.done.commits[oid] = new_parents[0]
            return
        made = with_changed(raw, tree=new_tree, parents=new_parents, message=message)
        self.done.commits[oid] = self._write(ObjectType.COMMIT, made)

    def _is_emptied(self, old_tree: str, new_tree: str, parent: str) -> bool:
        """Whether all that the commit did to its parent was done to what goes."""
        had = self._repo[parent].tree.id != pygit2.Oid(hex=old_tree)
        return had and self._roots.get(parent) == bytes.fromhex(new_tree)

    def _tree(self, oid: bytes, prefix: str) -> bytes | None:
        """The new id of a folder, None when nothing is left in it."""
        key = oid, prefix
        if key not in self._trees:
            self._trees[key] = self._new_tree(oid, prefix)
        return self._trees[key]

    def _new_tree(self, oid: bytes, prefix: str) -> bytes | None:
        _, raw = self._odb.read(pygit2.Oid(raw=oid))
        entries: list[tuple[bytes, bytes, bytes]] = []
        for mode, name, target in entries_of(raw):
            path = prefix + name.decode("utf-8", "surrogateescape")
            if mode == GITLINK:
                new: bytes | None = target
            elif mode == TREE:
                new = self._tree(target, f"{path}/")
            else:
                new = self._file(target, path)
                renamed = self._change.name(path).rpartition("/")[2].encode("utf-8", "surrogateescape")
                if renamed != name and b" %b\0" % renamed in raw:
                    new = None  # it stands under its new name beside it already
                name = renamed
            if new is not None:
                entries.append((mode, name, new))
        entries.sort(key=lambda entry: entry[1] + b"/" if entry[0] == TREE else entry[1])
        made = b"".join(b"%b %b\0%b" % entry for entry in entries)
        if made == raw:
            return oid
        return bytes.fromhex(self._write(ObjectType.TREE, made)) if entries else None

    def _file(self, oid: bytes, path: str) -> bytes | None:
        key = oid, path
        if key not in self._files:
            read: list[bytes] = []

            def content() -> bytes:
                if not read:
                    read.append(self._odb.read(pygit2.Oid(raw=oid))[1])
                return read[0]

            new = self._change.blob(path, content)
            if new is None or new != content():
                version = page_version(content())
                self.done.versions[version] = None if new is None else page_version(new)
                self.done.held.add((path, version))
                self._files[key] = None if new is None else bytes.fromhex(self._write(ObjectType.BLOB, new))
            else:
                self._files[key] = oid
        return self._files[key]

    def _write(self, kind: ObjectType, raw: bytes) -> str:
        if self._dry:
            return hashlib.sha1(b"%b %d\0" % (_NAMES[kind], len(raw)) + raw, usedforsecurity=False).hexdigest()
        made = self._odb.write(kind, raw)
        self._written.append(made)
        return str(made)


_NAMES = {ObjectType.TREE: b"tree", ObjectType.COMMIT: b"commit", ObjectType.TAG: b"tag", ObjectType.BLOB: b"blob"}
