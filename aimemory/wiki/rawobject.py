"""Commits and trees as git stores them: what they name, and a commit with something else in its place. Pure."""

from collections.abc import Iterator, Sequence

TREE, GITLINK = b"40000", b"160000"
"""Modes of entries: a folder, and another repository in it, whose commit is not here."""

_SIGNED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")


def named_in(raw: bytes) -> tuple[str, list[str]]:
    """The tree and the parents of a commit. Raises ValueError for what is none."""
    lines = raw.partition(b"\n\n")[0].split(b"\n")
    if not lines[0].startswith(b"tree "):
        raise ValueError("no commit")
    parents = [line.removeprefix(b"parent ").decode() for line in lines if line.startswith(b"parent ")]
    return lines[0].removeprefix(b"tree ").decode(), parents


def message_of(raw: bytes) -> bytes:
    return raw.partition(b"\n\n")[2]


def with_changed(raw: bytes, *, tree: str, parents: Sequence[str], message: bytes) -> bytes:
    """The commit with these in place of its own: authors and times stay, signatures go, since they would be false."""
    kept = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents)]
    skipping = False
    for line in raw.partition(b"\n\n")[0].split(b"\n")[1:]:
        skipping = line.startswith(b" ") if skipping else line.split(b" ", 1)[0] in _SIGNED
        if not skipping and not line.startswith(b"parent "):
            kept.append(line)
    return b"\n".join(kept) + b"\n\n" + message


def entries_of(tree: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Mode, name and id (20 bytes) of each entry. Raises ValueError for what is no tree."""
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        yield tree[at:space], tree[space + 1 : end], tree[end + 1 : end + 21]
        at = end + 21
