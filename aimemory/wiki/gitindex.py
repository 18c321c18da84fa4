"""The wiki repository's own index (`.git/index`), kept in step with what we commit past it.

Without this `git status` shows our pages as deleted, and the next commit made by hand deletes them. What a person
has staged stays: an entry is ours to move only if it is a version of the page that the branch had.
"""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from aimemory import points
from aimemory.datadir import sync_fd
from aimemory.errors import Unavailable
from aimemory.wiki.locks import taken

_SCAN = 500
"""How many commits back an entry is looked for before it counts as staged by a person."""


def sync_index(repo: pygit2.Repository, head: pygit2.Commit, paths: Iterable[str] | None) -> bool:
    """Bring the entries of `paths` (None: of every path) in step with the commit; False when the index is locked.

    Raises as `edit_index` does.
    """
    return edit_index(repo, lambda index: _update(index, head, Path(repo.workdir), paths))


def edit_index(repo: pygit2.Repository, edit: Callable[[pygit2.Index], bool]) -> bool:
    """Replace the index by what `edit` makes of it, if that says that it changed anything; False when it is locked.

    Takes git's own lock, with our mark, so an index that a person's git writes meanwhile is never overwritten, and a
    kill leaves none that looks like somebody else's.
    Raises Unavailable when the index is in a form that can't be read here.
    """
    git_dir, worktree = Path(repo.path), Path(repo.workdir)
    index_file, temp = git_dir / "index", git_dir / "aimemory-index"
    with taken(git_dir / "index.lock", worktree) as free:
        if not free:
            return False
        try:
            points.reached("git.index-locked")
            temp.unlink(missing_ok=True)
            index = pygit2.Index(
                str(temp)
            )  # opened before there is a file: pygit2 1.21 complains on stderr if this fails
            if index_file.exists():
                shutil.copyfile(index_file, temp)
                index.read()
            if edit(index):
                index.write()
                with temp.open("rb") as written:  # an index torn by power loss would have to be repaired by hand
                    sync_fd(written.fileno())
                points.reached("git.index-written")
                temp.replace(index_file)
                points.reached("git.index-named")
        except (pygit2.GitError, OSError) as error:
            raise Unavailable(
                f"{index_file} can't be brought in step ({error}). Commits go on; `git -C {worktree} reset` repairs it."
            ) from error
        finally:
            temp.unlink(missing_ok=True)
    return True


def _update(index: pygit2.Index, head: pygit2.Commit, worktree: Path, paths: Iterable[str] | None) -> bool:
    """Whether anything was changed."""
    if paths is None:  # told by libgit2 at once: asking for each of 100,000 paths took seconds at every start
        deltas = head.tree.diff_to_index(index).deltas
        paths = {file.path for delta in deltas for file in (delta.old_file, delta.new_file)}
    missing, behind = [], {}
    unmerged = {side.path for sides in index.conflicts or () for side in sides if side is not None}
    for path in set(paths) - unmerged:  # a conflict of somebody's git is his to resolve
        staged, wanted = _entry_id(index, path), _blob(head.tree, path)
        if staged is None and wanted is not None:
            missing.append(path)
        elif staged is not None and (wanted is None or staged != wanted.id):
            behind[path] = staged
    changes = _were_committed(head, behind)
    # an entry that is missing though the page exists is ours; without the page, a person has staged its removal
    changes |= {path for path in missing if os.path.lexists(worktree / path)}
    for path in sorted(changes, key=lambda path: _blob(head.tree, path) is not None):  # removals first: a page may
        blob = _blob(head.tree, path)  # have become a folder
        if blob is None:
            index.remove(path)
        else:
            index.add(pygit2.IndexEntry(path, blob.id, FileMode(blob.filemode)))
    return bool(changes)


def _were_committed(head: pygit2.Commit, staged: dict[str, pygit2.Oid]) -> set[str]:
    """The paths whose staged content the branch has had; what it never had was staged by a person."""
    left = dict(staged)
    found: set[str] = set()
    commit = head
    for _ in range(_SCAN):
        if not left:
            break
        for path, oid in list(left.items()):
            blob = _blob(commit.tree, path)
            if blob is not None and blob.id == oid:
                found.add(path)
                del left[path]
        if not commit.parents:
            break
        commit = commit.parents[0]
    return found


def _entry_id(index: pygit2.Index, path: str) -> pygit2.Oid | None:
    try:
        return index[path].id
    except KeyError:
        return None


def _blob(tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    return None if isinstance(found, pygit2.Tree) else found
