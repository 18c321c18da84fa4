"""Half a character in a message costs that half, not the message."""

import json

import pytest

from aimemory.server.halves import without_halves


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "low \udfff", "🦓 whole", "\\ud800 is text", "a\\\ud83d", "\ud83d\ud83d\ude00", "plain"]
)
def test_only_halves_are_replaced(text: str) -> None:
    raw = json.dumps({"query": text}).encode()

    mended = without_halves(raw)

    assert len(mended) == len(raw)
    assert json.loads(mended)["query"] == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
