"""After any front matter: what is read without the YAML library is exactly what the library reads."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from aimemory.wiki.frontmatter import render, split
from aimemory.wiki.nodes import Refused, Value, read_front
from aimemory.wiki.ownshape import own_fields

PIECES = st.sampled_from([
    "a", "b: c", "key", "x y", "word", ": ", ":", " #c", "#", '"', "'", "\\", "[", "]", "{", "}", ", ", ",", "- ", "-",
    "?", "!", "&a", "*a", "|", ">", "%", "@", "`", "~", "null", "Null", "yes", "1", "2026-03-01T09:00:00Z", "https://x/y",
    "  - ", "  ", " ", "\t", "\r", "é", "日本", "🚀", "\u00a0", "\u2028", "\x85", "\ufeff", "\x01", "...", "---", "<<", "=",
])  # fmt: skip
VALUES = st.lists(PIECES, max_size=4).map("".join)
LINES = (
    st.tuples(st.sampled_from(["a", "b", "key", "a-b", "null", "1a", "é", " a", "- a"]), st.just(": "), VALUES).map("".join)
    | VALUES.map(lambda value: f"  - {value}")
    | st.sampled_from(["a:", "b:", "key:", "", "# c", "  - [a, b]", "key: [a, b]", 'key: ["a, b", c]', "key: {by: me, at: x}"])
    | VALUES
)  # fmt: skip
FRONTS = st.lists(LINES, max_size=6).map(lambda lines: "".join(f"{line}\n" for line in lines))
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | VALUES
FIELDS = st.dictionaries(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(lambda key: key.lower() not in ("y", "n", "on", "no")),
    TEXTS | st.lists(TEXTS, max_size=4) | st.dictionaries(st.sampled_from(["by", "at", "how"]), TEXTS, max_size=3),
    max_size=5,
)  # fmt: skip


@settings(max_examples=1500)
@given(FRONTS | st.text(max_size=30))
@example("key: " + "word " * 1000 + "end\n")
@example("key:\n  - " + "word " * 1000 + "end\n  - b\n")
@example("key: value\n  goes on\n")
@example("key: [[a, b]]\n")
@example("key:\n  - a\n    b\n")
@example('key: "a" "b"\n')
def test_what_is_read_quickly_is_what_yaml_reads(front_text: str) -> None:
    quick = own_fields(front_text)
    if quick is None:
        return
    try:
        front = read_front(front_text)
    except Refused as refused:
        raise AssertionError(f"YAML refuses it: {refused}") from refused
    assert list(quick.items()) == list(front.fields().items())
    assert front.hint is None


@settings(max_examples=500)
@given(FIELDS)
def test_what_we_write_is_read_back(fields: dict[str, Value]) -> None:
    assert split(render(fields, "Body\n")).front == fields


def test_our_own_pages_need_no_yaml() -> None:
    fields: dict[str, Value] = {
        "type": "session", "title": "What did we do: all of it", "tags": ["session", "claude-code"], "id": "session-1",
        "generated": {"by": "aimemory", "at": "2026-11-30T09:00:03+00:00"}, "commits": [],
        "files": [f"src/a/rather/long/name/of/a/file_{n}.py" for n in range(5)],
    }  # fmt: skip
    assert own_fields(render(fields, "").removeprefix("---\n").removesuffix("---\n")) == fields
