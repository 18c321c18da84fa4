"""What is whole of a history in which something is missing: what is newer than the gap goes on, under new ids.

A commit is taken as it is when it and all that is behind it can be read; with new parents when something behind it is
left out; and left out when it can't be read itself, or something in its tree. Reads every object once, and believes
none whose bytes don't give its id. Adds objects to the new repository only. All of it blocks.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from aimemory.wiki.rawobject import GITLINK, TREE, entries_of, message_of, named_in, with_changed


class Salvage:
    """rewritten: ids of commits that go on under new ones. left: ids of those that are left out. cut: those of them of
    which nobody can tell what came before."""

    def __init__(
        self, repo: pygit2.Repository, old_objects: Path, *, before: Mapping[str, str], shallow: Collection[str],
        lend: Callable[[str, str], bool],
    ) -> None:  # fmt: skip
        """repo: the new repository. before: what a log says came before a commit, for those that can't be read.
        shallow: commits whose parents were never there. lend: makes a missing object of the file at a path."""
        self._repo = repo
        self._odb = pygit2.Odb(str(Path(repo.path) / "objects"))
        self._odb.add_disk_alternate(str(old_objects))
        self._before = before
        self._shallow = shallow
        self._lend = lend
        self._sound: set[bytes] = set()
        self._now: dict[str, tuple[str, ...]] = {}
        self.rewritten: set[str] = set()
        self.left: set[str] = set()
        self.cut: set[str] = set()

    def tip(self, oid: str) -> str | None:
        """What stands for this commit: itself, its copy, or the newest before it; None when nothing is whole."""
        waiting, begun = [oid], set[str]()
        while waiting:
            one = waiting[-1]
            if one in self._now:
                waiting.pop()
                continue
            raw = self._read(one, ObjectType.COMMIT)
            parents = self._parents(one, raw)
            begun.add(one)  # a ruined log may lead in a circle
            behind = [parent for parent in parents if parent not in self._now and parent not in begun]
            if behind:
                waiting += behind
            else:
                self._place(one, raw, parents)
        if not self._now[oid]:
            self.left.clear()  # nothing is left out of a history that isn't gone on from
            self.cut.clear()
            return None
        return self._now[oid][0]

    def stands_for_itself(self, oid: str) -> bool:
        """Whether this commit, which `tip` came upon, is in the history as it was, with all that is behind it."""
        return self._now.get(oid) == (oid,)

    def _parents(self, oid: str, raw: bytes | None) -> list[str]:
        if raw is None:
            return [self._before[oid]] if oid in self._before else []
        return [] if oid in self._shallow else named_in(raw)[1]

    def _place(self, oid: str, raw: bytes | None, parents: list[str]) -> None:
        now = tuple(dict.fromkeys(one for parent in parents for one in self._now.get(parent, ())))
        if raw is None or not self._is_whole(named_in(raw)[0]):
            self.left.add(oid)
            self._now[oid] = now
            if raw is None and not now:
                self.cut.add(oid)
        elif list(now) == parents:
            self._now[oid] = (oid,)
        else:
            made = with_changed(raw, tree=named_in(raw)[0], parents=now, message=message_of(raw))
            self._now[oid] = (str(self._repo.write(ObjectType.COMMIT, made)),)
            self.rewritten.add(oid)

    def _is_whole(self, tree: str, prefix: str = "") -> bool:
        """Whether every folder and file of a tree is there as it was."""
        key = bytes.fromhex(tree)
        if key in self._sound:
            return True
        raw = self._read(tree, ObjectType.TREE)
        if raw is None:
            return False
        for mode, name, target in entries_of(raw):
            path = prefix + name.decode("utf-8", "surrogateescape")
            if mode == TREE:
                if not self._is_whole(target.hex(), f"{path}/"):
                    return False
            elif mode != GITLINK and not self._has_file(target, path):
                return False
        self._sound.add(key)
        return True

    def _has_file(self, oid: bytes, path: str) -> bool:
        if oid not in self._sound:
            if self._read(oid.hex(), ObjectType.BLOB) is None and not self._lend(path, oid.hex()):
                return False
            self._sound.add(oid)
        return True

    def _read(self, oid: str, kind: ObjectType) -> bytes | None:
        """An object's bytes; None for one that is missing, can't be read, or isn't what its id says."""
        try:
            found, raw = self._odb.read(pygit2.Oid(hex=oid))
            if kind == ObjectType.COMMIT:
                named_in(raw)
        except (pygit2.GitError, KeyError, ValueError):
            return None
        return bytes(raw) if found == kind else None
