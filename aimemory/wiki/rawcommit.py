"""A commit as git stores it: what it names, and the same commit with something else in its place. Pure."""

from collections.abc import Sequence

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
