"""Which version of a page an instant, a commit, a number or a token means."""

import asyncio
from datetime import datetime
from typing import Any, ClassVar

import pytest

from aimemory.api.versions import version_at
from aimemory.errors import NotFound, UserError
from aimemory.model.ids import Version
from aimemory.store.past import PastVersion
from aimemory.wiki.gitpast import PageThen


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone().timestamp() * 1000) * 1_000_000


VERSIONS = [
    PastVersion(None, "deleted", ns("2026-11-05T10:00:00"), "ada", commit="c4" * 20),
    PastVersion(Version("aa33" * 8), "changed", ns("2026-11-03T18:30:20.500"), "ada", commit="c3" * 20, blob="b3"),
    PastVersion(Version("aa22" * 8), "changed", ns("2026-11-03T18:30:20.100"), "ada", commit="c2" * 20, blob="b2"),
    PastVersion(Version("bb11" * 8), "created", ns("2026-11-01T09:00:00"), "ada", commit="c1" * 20, blob="b1"),
]


class History:
    """Commits that did not change the page."""

    commits: ClassVar = {"dddddddd": "b2", "eeeeeeee": None}

    async def at_commit(self, path: str, named: str) -> PageThen | None:
        if named not in self.commits:
            return None
        blob = self.commits[named]
        return PageThen(named * 5, ns("2026-11-04"), path if blob else None, blob)


def which(named: str) -> int:
    """Number of the version."""
    history: Any = History()
    return VERSIONS.index(asyncio.run(version_at(history, "a.md", VERSIONS, named))) + 1


@pytest.mark.parametrize(
    ("named", "number"),
    [
        ("2", 2), ("4", 4), ("bb11", 4), ("aa22" * 8, 3), ("c3c3c3c", 2), ("C1C1C1C1", 4), ("dddddddd", 3),
        ("2026-11-01", 4), ("20261101", 4), ("2026-11-03", 2), ("2026-11-04", 2), ("2026-11-03T18:30", 2),
        ("2026-11-03T18:30:20", 2), ("2026-11-03 18:29", 4), ("2026-11-01T09:00:00", 4), ("2026-11-01T08:59", None),
        ("2026-10-31", None), ("2026-11-05", None), ("1", None), ("5", None), ("eeeeeeee", None), ("f00dfeed", None),
    ],
)  # fmt: skip
def test_what_names_a_version(named: str, number: int | None) -> None:
    if number is not None:
        assert which(named) == number
    else:
        with pytest.raises((NotFound, UserError)):
            which(named)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("2026-10-31", "not there yet.*first known version is of 2026-11-01T09:00:00"), ("2026-11-05", "was deleted at"),
        ("eeeeeeee", "holds no a.md"), ("teatime", "is no time, commit or version"), ("aa", "is no time"),
    ],
)  # fmt: skip
def test_what_names_none_is_told_why(named: str, said: str) -> None:
    with pytest.raises((NotFound, UserError), match=said):
        which(named)
