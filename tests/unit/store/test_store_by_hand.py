"""Whose a version on the disk is, while the index is behind: the answer comes behind all that was under way."""

import asyncio

import pytest

from aimemory.errors import Unavailable
from aimemory.index.events import WrittenRow
from aimemory.model.ids import Version
from aimemory.store.handedits import HandEdits

OURS = WrittenRow(
    path="a/b/ours.md", version="new", before="old", op="write", seq=7, at_ns=0, user="ada", harness=None, session=None
)  # fmt: skip


class Behind:
    """Reader, writer and projector in one: the record of our write shows only when what was under way is through."""

    last_seq = 7

    def __init__(self, comes: bool) -> None:
        self.comes, self.behind, self.order = comes, True, []

    async def read(self, plan):
        return {} if self.behind else {OURS.path: OURS}

    async def call(self, function):
        self.order.append("behind what the writer has")
        return function(None)

    async def reached(self, seq):
        self.order.append(f"shown up to {seq}")
        if not self.comes:
            raise Unavailable("The index is being built.")
        self.behind = False


def whose(found: dict[str, str], comes: bool = True):
    edits, behind = HandEdits.__new__(HandEdits), Behind(comes)
    edits._reader = edits._writer = edits._projector = behind
    by_hand, ours = asyncio.run(edits._by_hand({path: Version(version) for path, version in found.items()}))
    return by_hand, list(ours), behind.order


@pytest.mark.promise("P6.151")
def test_our_write_whose_record_the_index_does_not_show_yet_is_no_hand_edit():
    by_hand, ours, order = whose({"a/b/ours.md": "new", "a/b/other.md": "x"})

    assert (by_hand, ours) == (["a/b/other.md"], ["a/b/ours.md"])
    assert order == ["behind what the writer has", "shown up to 7"]


def test_a_version_that_we_did_not_write_is_a_persons_also_of_a_page_of_ours():
    assert whose({"a/b/ours.md": "typed"})[0] == ["a/b/ours.md"]


def test_while_the_index_can_not_tell_a_page_is_neither_and_waits_for_the_next_walk():
    assert whose({"a/b/ours.md": "new"}, comes=False)[:2] == ([], [])
