"""Twelve situations on a real daemon, as text. Regenerate by `python tests/golden/regenerate.py` and read the diff."""

import pytest
import situations

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("name", situations.SITUATIONS)
def test_pages_and_brief_are_as_they_were_reviewed(name, tmp_path):
    assert situations.play(name, tmp_path) == (situations.HERE / f"{name}.txt").read_text(encoding="utf-8")


def test_every_golden_situation_has_its_play():
    assert {path.stem for path in situations.HERE.glob("*.txt")} == set(situations.SITUATIONS)
