"""What git knows of where a page was before, and what any commit holds of it. Blocks, as `repo` does."""

from collections.abc import Sequence
from dataclasses import dataclass

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from aimemory.wiki.names import PAGE_SUFFIX

_RENAMES_SCAN = 5_000
"""Changed files of a commit among which a rename is looked for."""
_ALIKE = 60
"""Per cent of itself that a renamed page keeps."""


@dataclass(frozen=True, slots=True)
class PageThen:
    """What a commit's tree holds of a page. path, blob: None where it holds none of it."""

    commit: str
    when_ns: int
    path: str | None
    blob: str | None


def renamed_from(repo: pygit2.Repository, path: str, commit: str) -> str | None:
    """Under which path a page was before the commit that brought it to `path`; None where it began there."""
    now = repo[commit].peel(pygit2.Commit)
    if not now.parents:
        return None
    diff = now.parents[0].tree.diff_to_tree(now.tree, flags=DiffOption.SKIP_BINARY_CHECK, context_lines=0)
    if len(diff) > _RENAMES_SCAN:
        return None
    diff.find_similar(flags=DiffFind.FIND_RENAMES, rename_threshold=_ALIKE)
    for delta in diff.deltas:
        if delta.status == DeltaStatus.RENAMED and delta.new_file.path == path:
            old: str = delta.old_file.path
            return old if old.endswith(PAGE_SUFFIX) else None
    return None


def unified(before: bytes, after: bytes, old_name: str, new_name: str) -> str:
    """What differs, as a unified diff under these names; "" for the same bytes. Fast for pages of any size."""
    patch = pygit2.Patch.create_from(before, after, "a", "b", flag=DiffOption.FORCE_TEXT, context_lines=3)
    raw = patch.data if patch is not None else b""
    first = raw.find(b"\n@@ ")
    if first < 0:
        return ""
    return f"--- {old_name}\n+++ {new_name}\n{raw[first + 1 :].decode('utf-8', 'replace')}"


def page_at(repo: pygit2.Repository, named: str, paths: Sequence[str]) -> PageThen | None:
    """The first of these pages that a commit's tree holds. named: the commit's id or the beginning of it; None: there
    is no such commit."""
    try:
        commit = repo[named].peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError):
        return None
    when_ns = commit.commit_time * 1_000_000_000
    for path in paths:
        try:
            entry = commit.tree[path]
        except KeyError:
            continue
        if isinstance(entry, pygit2.Blob):
            return PageThen(str(commit.id), when_ns, path, str(entry.id))
    return PageThen(str(commit.id), when_ns, None, None)
