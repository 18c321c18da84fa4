"""Session pages and briefs as people and models read them. Regenerate by `python tests/golden/regenerate.py`."""

import pytest
from golden_cases import HERE, golden_texts

TEXTS = golden_texts()


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_is_as_it_was_reviewed(name: str) -> None:
    assert TEXTS[name] == (HERE / name).read_text(encoding="utf-8")


def test_every_golden_file_has_its_case() -> None:
    kept = {path.name for pattern in ("session-*.md", "brief-*.txt") for path in HERE.glob(pattern)}
    assert kept == set(TEXTS)
