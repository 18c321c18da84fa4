"""What older releases of the Python that we promise to run on get wrong."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_group_is_repeated_possessively():
    """CPython before 3.11.5 (Debian 12 has 3.11.2) stops too early in `(?:...)*+` where the group can match in several
    ways (gh-106052): a part of a secret stayed. `(?>(?:...)*)` means the same and works everywhere."""
    for path in (ROOT / "aimemory").rglob("*.py"):
        found = re.search(r"\)(?:[*+?]|\{\d*,?\d*\})\+", path.read_text(encoding="utf-8"))
        assert not found, f"{path}: {found.group()}"


def test_no_file_is_searched_through_a_mapping():
    """CPython before 3.11.5 reads a byte behind the end in `mmap.find` (gh-105235), which killed the daemon at files of
    whole pages, such as SQLite's; and whoever cuts a mapped file short kills it on every release."""
    for path in (ROOT / "aimemory").rglob("*.py"):
        assert "import mmap" not in path.read_text(encoding="utf-8"), path
